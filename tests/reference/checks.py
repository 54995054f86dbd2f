"""What every solver promises, as assertions."""

from __future__ import annotations

import numpy as np
from tests.reference.factorization import dense, pair_weights, problem_loss


def size_of(problem, found):
    """Size of the terms of the loss: the yardstick of its rounding errors."""
    U = problem.row_factors().astype(float)[:, None] * found.factor.astype(float)
    model = float((((U * found.scale) @ U.T) ** 2).sum())
    weights = pair_weights(problem)
    A = dense(problem.matrix).astype(float)
    side = 0.0 if problem.side is None else float(abs(problem.side).sum())
    return float((weights * A**2).sum()) + model * max(1.0, weights.max()) + side


def assert_promises_kept(problem, found):
    W = found.factor
    dtype = problem.matrix.dtype
    rounding = float(np.finfo(dtype).eps) * size_of(problem, found)
    assert W.shape == (problem.n_objects, problem.n_clusters)
    assert W.dtype == dtype
    assert np.isfinite(W).all()
    assert W.min() >= 0.0
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=8 * np.finfo(dtype).eps)
    assert found.scale.shape == (problem.n_clusters,)
    assert np.all(found.scale >= 0.0)
    assert len(found.history) == found.n_iter + 1
    assert np.diff(found.history).max(initial=0.0) <= 50 * rounding
    assert found.objective == found.history[-1]
    assert abs(found.objective - problem_loss(problem, W, found.scale)) <= 100 * rounding + 1e-300
    assert found.stopped in {"converged", "max_iter"}
    assert found.converged == (found.stopped == "converged")
