"""Plain NumPy twins of the solvers for a nonnegative factor, and what those promise."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from tests.reference.factorization import dense, pair_weights, problem_loss

from soffit.factorize import Problem


def nonnegative_problem(F, k, storage="dense", weight=None):
    def kept(A):
        return A if A is None or storage == "dense" else sp.csr_array(A)

    return Problem(kept(F), k, constraint="nonnegative", pair_weight=kept(weight))


def positive_start(n, k, seed):
    return np.random.default_rng(seed).uniform(0.1, 1.0, size=(n, k))


def naive_sweep(problem, start, *, limit=None):
    """Entry by entry in the order of the rows: eq. 6 and 7, or the exact minimum up to a limit."""
    F, weights = dense(problem.matrix).astype(float), pair_weights(problem)
    G = np.array(start, dtype=float)
    for i, r in np.ndindex(G.shape):
        others = weights[i] * G[:, r]
        linear, fitted, curvature = others @ F[i], others @ (G @ G[i]), others @ G[:, r]
        if curvature == 0:
            G[i, r] = 0.0
        elif limit is None:
            G[i, r] *= linear / fitted
        else:
            G[i, r] = np.clip(G[i, r] + (linear - fitted) / curvature, 0.0, limit)
    return G


def ratios(problem, G):
    """The ratios of eq. 6 and 7 for all entries at the same G."""
    F, weights = dense(problem.matrix).astype(float), pair_weights(problem)
    return ((weights * F) @ G) / ((weights * (G @ G.T)) @ G)


def assert_nonnegative_promises(problem, found):
    G, dtype = found.factor, problem.matrix.dtype
    model = float(((G.astype(float) @ G.astype(float).T) ** 2).sum())
    size = float((dense(problem.matrix).astype(float) ** 2).sum()) + model
    rounding = float(np.finfo(dtype).eps) * size * max(1.0, pair_weights(problem).max(initial=0.0))
    assert G.shape == (problem.n_objects, problem.n_clusters)
    assert G.dtype == dtype
    assert np.isfinite(G).all()
    assert G.min() >= 0.0
    np.testing.assert_array_equal(found.scale, 1.0)
    assert len(found.history) == found.n_iter + 1
    assert np.diff(found.history).max(initial=0.0) <= 10 * rounding
    assert found.objective == found.history[-1]
    assert abs(found.objective - problem_loss(problem, G, found.scale)) <= 50 * rounding
    assert found.converged == (found.stopped == "converged")
