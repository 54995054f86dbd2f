"""The best scale for a given factor, and the corresponding loss.

With U = theta * W and pairs (i, j), i != j unless the diagonal counts, the loss is quadratic in s:
||A||^2 - 2 s'b + s'Hs with b_c = u_c'A u_c and H = (U'U)^2 elementwise (minus the diagonal's part).

Without the diagonal a scale can diverge: a cluster of one whole object and traces of others fits
their similarities ever better as its scale grows and the traces shrink, until only rounding is
left. Scales are therefore bounded by a limit far above that of any cluster of several objects.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from soffit._threads import each, pieces
from soffit._typing import FloatArray, Matrix
from soffit.factorize.problem import Problem
from soffit.graph import Graph, reciprocal

# Largest scale in units of k times the largest similarity; uniform rows reach 1.
_LARGEST_SCALE = 100.0
# Maximum number of passes over the scales when some are at the limit.
_MAX_PASSES = 100
# Entries of the rows whose products are summed at once.
_ENTRIES = 2**20
# With more clusters than this, products are summed in this number of parts and, if fewer than this
# share of the memberships is nonzero, over the nonzero ones only.
_FEW_CLUSTERS = 64
_PARTS = 8
_SPARSE = 0.2


def squared_norm(A: Matrix, *, diagonal: bool) -> float:
    """Sum of squared entries, with or without the diagonal."""
    return Graph.of(A).squared_norm(diagonal=diagonal)


def scale_limit(problem: Problem) -> float:
    """The largest scale allowed: a multiple of the largest A_ij / (theta_i theta_j)."""
    if problem.scale == "none":
        return np.inf
    inverse = reciprocal(problem.row_factors())
    ratios = problem.graph.over_pairs(
        lambda values, factors: float(np.max(values * factors, initial=0.0)), inverse, inverse
    )
    largest = max(ratios)
    return _LARGEST_SCALE * problem.n_clusters * largest if largest > 0 else np.inf


def exact_gram(U: FloatArray) -> FloatArray:
    """U'U in double precision: H may be a difference of two almost equal matrices."""
    return _sum_of_products(U, squared=False)


def _sum_of_products(U: FloatArray, *, squared: bool) -> FloatArray:
    """F'F in double precision, where F is U or, entry by entry, its square."""
    n, k = U.shape
    many = k > _FEW_CLUSTERS
    parts = pieces(n, -(-n // _PARTS) if many else max(_ENTRIES // k, 1))
    if many and np.count_nonzero(U) < _SPARSE * U.size:
        from soffit.factorize.kernels import sum_of_products

        return _total(each(lambda part: sum_of_products(U, part.start, part.stop, squared), parts))

    def multiply(part: range) -> FloatArray:
        F = np.asarray(U[part.start : part.stop], dtype=np.float64)
        F = F**2 if squared else F
        return np.asarray(F.T @ F)

    return _total(each(multiply, parts))


def _total(parts: list[FloatArray]) -> FloatArray:
    """Their sum, in order."""
    total = parts[0]
    for part in parts[1:]:
        total += part
    return total


def pair_gram(U: FloatArray, gram: FloatArray, *, diagonal: bool) -> FloatArray:
    """H, the quadratic form of the loss in the scales."""
    H = np.asarray(gram, dtype=np.float64) ** 2
    if not diagonal:
        H -= _sum_of_products(U, squared=True)
    return H


def best_scale(
    problem: Problem,
    b: FloatArray,
    H: FloatArray,
    *,
    limit: float = np.inf,
    previous: FloatArray | None = None,
) -> FloatArray:
    """The scales that minimise the loss under the problem's rule (eq. 8 of Rota Bulo & Pelillo).

    They are never worse than the previous ones, even if H is singular.
    """
    k = problem.n_clusters
    if problem.scale == "none":
        return np.ones(k)
    if problem.scale == "single":
        denominator = float(H.sum())
        alpha = float(b.sum()) / denominator if denominator > 0 else 1.0
        return np.full(k, min(max(alpha, 0.0), limit))
    if problem.scale == "held" and previous is not None:
        return previous
    s = _nonnegative_minimum(H, b)
    if s.max() > limit:
        s = _descend_to_minimum(H, b, np.minimum(s, limit), limit)
    if previous is not None and misfit(0.0, b, H, previous) < misfit(0.0, b, H, s):
        s = _descend_to_minimum(H, b, previous, limit)
    return s


def loss(norm: float, b: FloatArray, H: FloatArray, s: FloatArray) -> float:
    """Sum of squared residuals from the sufficient statistics."""
    return max(misfit(norm, b, H, s), 0.0)


def misfit(norm: float, b: FloatArray, H: FloatArray, s: FloatArray) -> float:
    """The loss before clipping at zero."""
    return float(norm - 2.0 * s @ b + s @ H @ s)


def _nonnegative_minimum(H: FloatArray, b: FloatArray) -> FloatArray:
    """Minimise s'Hs - 2s'b over s >= 0 for a positive semidefinite H."""
    size = np.sqrt(np.maximum(np.diag(H), 0.0))
    used = size > 0
    s = np.zeros(len(b))
    if not used.any():
        return s
    scaled = H[np.ix_(used, used)] / np.outer(size[used], size[used])
    values, vectors = np.linalg.eigh(scaled)
    # A tiny floor keeps identical columns (singular H) solvable.
    roots = np.sqrt(np.maximum(values, 1e-12 * max(values[-1], 1e-300)))
    root = (vectors * roots).T
    target = (vectors / roots).T @ (b[used] / size[used])
    solution, _ = nnls(root, target)
    s[used] = solution / size[used]
    return s


def _descend_to_minimum(
    H: FloatArray, b: FloatArray, start: FloatArray, limit: float
) -> FloatArray:
    """Minimise s'Hs - 2s'b over 0 <= s <= limit by coordinate descent from the start."""
    s = np.array(start, dtype=np.float64)
    for _ in range(_MAX_PASSES):
        before = s.copy()
        for c in np.flatnonzero(np.diag(H) > 0):
            s[c] = min(max(s[c] + (b[c] - H[c] @ s) / H[c, c], 0.0), limit)
        if np.allclose(s, before, rtol=1e-10, atol=0.0):
            break
    return s
