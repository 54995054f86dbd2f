"""Steps of a nonnegative factor: coordinate descent, and ratios of one or of all entries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from soffit._threads import each
from soffit._typing import FloatArray
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.problem import (
    Factorization,
    Problem,
    check_support,
    copy_start,
    exact_gram,
    pair_gram,
)
from soffit.factorize.simplex.rows import KnownPairs, known_pairs
from soffit.graph import Graph

# Rows whose products are computed at once, and the pieces in which threads compute them.
_BLOCK = 128
_PIECE = 64
_SMALL = 2**18
# A column that shrinks to this share in one sweep has vanished; the rest is rounding error.
_ROUNDING = 1e-14

# Updates G in place and returns the new loss.
Sweep = Callable[[FloatArray], float]


def descend(
    problem: Problem,
    start: FloatArray,
    *,
    exact: bool,
    limit: float,
    max_iter: int,
    tol: float,
    callback: Callback | None,
) -> Factorization:
    """Sweep entry by entry, row by row: exact steps bounded by the limit, or the ratio."""
    G = copy_start(problem, start)
    if problem.pair_weight is not None:
        pairs = known_pairs(problem)
        norm, measure = weighted_norm(pairs), partial(weighted_loss, pairs)
        sweep = _weighted_sweep(pairs, exact, limit)
    else:
        graph = problem.graph
        norm = graph.squared_norm(diagonal=False)
        measure = partial(_measured_loss, graph, norm)
        make = _sparse_sweep if graph.is_sparse else _dense_sweep
        sweep = make(graph.matrix, norm, exact, limit)
    ones = np.ones(problem.n_clusters)
    descent = Descent(measure(G), G, ones, norm=norm, callback=callback)
    with descent:
        while descent.running(max_iter):
            descent.record(sweep(G), G, ones)
            descent.stop_if_converged(tol)
    if descent.interrupted:
        # Rows are updated one by one: an interrupted sweep is a shorter one.
        descent.record_interrupted(measure(G), G, ones)
    return descent.result()


# --- loss -----------------------------------------------------------------------------------------


def full_loss(norm: float, agreement: float, G: FloatArray) -> float:
    """Sum of squared residuals over i != j; agreement is the sum of F_ij (GG')_ij over them."""
    H = pair_gram(G, exact_gram(G), diagonal=False)
    return max(norm - 2.0 * agreement + float(H.sum()), 0.0)


def _measured_loss(graph: Graph, norm: float, G: FloatArray) -> float:
    return full_loss(norm, float(graph.column_forms(G, diagonal=False).sum()), G)


def weighted_norm(pairs: KnownPairs) -> float:
    """Weighted sum of the squared known values."""
    return float(np.einsum("p,p,p->", pairs.weights, pairs.values, pairs.values, dtype=np.float64))


def weighted_loss(pairs: KnownPairs, G: FloatArray) -> float:
    """Weighted sum of squared residuals over the known pairs."""
    from soffit.factorize.nonnegative.kernels import weighted_terms

    return float(weighted_terms(*pairs, G, np.empty(G.shape), np.empty(G.shape)))


def pair_range(problem: Problem) -> tuple[float, float]:
    """The smallest and the largest value of the known pairs and zero."""
    if problem.pair_weight is None:
        return problem.graph.range_of_pairs()
    values = known_pairs(problem).values
    return float(values.min(initial=0.0)), float(values.max(initial=0.0))


def check_targets(solver: str, problem: Problem) -> None:
    """Ratios keep G nonnegative only if no known pair has a negative value."""
    smallest, _ = pair_range(problem)
    if smallest < 0:
        raise ValueError(
            f"Solver {solver!r} needs a matrix >= 0, but its smallest entry is {smallest:.3g}. "
            "Use normalization='additive', which shifts all entries above zero, or "
            "solver='coordinate', which accepts negative ones."
        )


def fit_size(problem: Problem, rows: FloatArray) -> FloatArray:
    """The rows times the one factor with which they fit the positive values best.

    A start of the wrong size costs many sweeps: where rows of F sum to 1, entries of G are small.
    Negative values are treated as zero, because a start that follows them may itself be zero,
    which no solver can leave.
    """
    G = copy_start(problem, rows)
    if problem.pair_weight is not None:
        from soffit.factorize.simplex.kernels import pair_statistics

        pairs = known_pairs(problem)
        b, H = pair_statistics(*pairs._replace(values=np.maximum(pairs.values, 0)), G)
    else:
        b = problem.graph.without_negative().column_forms(G, diagonal=False)
        H = pair_gram(G, exact_gram(G), diagonal=False)
    agreement, size = float(b.sum()), float(H.sum())
    share = agreement / size if agreement > 0 and size > 0 else 0.0
    return np.asarray(G * G.dtype.type(np.sqrt(share)))


# --- sweeps ---------------------------------------------------------------------------------------


def _sparse_sweep(F: Any, norm: float, exact: bool, limit: float) -> Sweep:
    from soffit.factorize.nonnegative.kernels import sweep_sparse

    def sweep(G: FloatArray) -> float:
        # Recompute the Gram matrix, so that rounding errors do not accumulate over the sweeps.
        gram = exact_gram(G)
        least = _ROUNDING * np.diag(gram)
        b = sweep_sparse(F.indptr, F.indices, F.data, G, gram, least, exact, limit)
        return full_loss(norm, float(b.sum()), G)

    return sweep


def _dense_sweep(F: Any, norm: float, exact: bool, limit: float) -> Sweep:
    """Products by BLAS for a block of rows; those inside the block follow its updates."""
    from soffit.factorize.nonnegative.kernels import sweep_block

    rows = np.ascontiguousarray(F)

    def sweep(G: FloatArray) -> float:
        gram = exact_gram(G)
        least = _ROUNDING * np.diag(gram)
        earlier, later = np.empty((2, _BLOCK, G.shape[1]), dtype=G.dtype)
        agreement = 0.0
        for first in range(0, len(rows), _BLOCK):
            block = rows[first : first + _BLOCK]
            _products(block, G, first, earlier, later)
            b = sweep_block(first, block, earlier, later, G, gram, least, exact, limit)
            agreement += float(b.sum())
        return full_loss(norm, agreement, G)

    return sweep


def _products(
    block: FloatArray, G: FloatArray, first: int, earlier: FloatArray, later: FloatArray
) -> None:
    """Products of a block of rows with the objects before it and with those after it."""
    last = first + len(block)

    def multiply(piece: int) -> None:
        part = slice(piece, min(piece + _PIECE, len(block)))
        np.matmul(block[part, :first], G[:first], out=earlier[part])
        np.matmul(block[part, last:], G[last:], out=later[part])

    # Small products finish before a second thread has started.
    each(multiply, range(0, len(block), _PIECE), 1 if block.size < _SMALL else None)


def _weighted_sweep(pairs: KnownPairs, exact: bool, limit: float) -> Sweep:
    from soffit.factorize.nonnegative.kernels import sweep_weighted

    def sweep(G: FloatArray) -> float:
        return float(sweep_weighted(*pairs, G, exact, limit))

    return sweep


# The largest entry of G, in units of the root of the largest similarity; clusters stay near 1.
_LARGEST = 3.0


def solve_coordinate(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Factorization:
    r"""Minimise the problem by exact steps over the entries of G, row by row.

    .. math:: G_{ir} \leftarrow \min\Big(L, \max\Big(0, \frac{\sum_{j \ne i} m_{ij} G_{jr}
              \big(F_{ij} - \sum_{s \ne r} G_{is} G_{js}\big)}{\sum_{j \ne i} m_{ij} G_{jr}^2}
              \Big)\Big)

    Without the diagonal, a column held by one object and traces of others fits that object's
    similarities ever better as its entry grows and the traces shrink: the problem has no minimum.
    Entries are therefore bounded by :math:`L = 3 \sqrt{\max_{i \ne j} F_{ij}}` (those of a cluster
    are near a third of this), or by their start, if higher. The loss never rises. Entries can leave
    zero again, and negative entries of F are allowed.

    Converged when a sweep lowers the loss by at most `tol` times its own value.

    Parameters
    ----------
    problem : Problem
        What to fit: constraint "nonnegative", scale "none".
    start : array of shape (n, k)
        Nonnegative; not changed.
    max_iter : int
        Maximum number of sweeps.
    tol : float
        Relative decrease below which the search stops.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every sweep; if it returns True, the
        search stops.

    Returns
    -------
    Factorization
        Factor, scale (ones), loss, history and the reason for stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_coordinate
    >>> F = np.kron(np.eye(2), np.ones((3, 3)))
    >>> start = np.random.default_rng(5).random((6, 2))
    >>> found = solve_coordinate(Problem(F, 2, constraint="nonnegative"), start)
    >>> bool(np.allclose(found.factor @ found.factor.T, F, atol=1e-2))
    True
    """
    check_support("coordinate", problem)
    return descend(
        problem,
        start,
        exact=True,
        limit=largest_entry(problem),
        max_iter=max_iter,
        tol=tol,
        callback=callback,
    )


def largest_entry(problem: Problem) -> float:
    """L, from the largest similarity of two objects."""
    return _LARGEST * float(np.sqrt(pair_range(problem)[1]))


def solve_multiplicative(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Factorization:
    r"""Minimise the problem by the published multiplicative update, entry by entry.

    .. math:: G_{ir} \leftarrow G_{ir} \frac{\sum_{j \ne i} m_{ij} F_{ij} G_{jr}}
              {\sum_{j \ne i} m_{ij} (G G^\top)_{ij} G_{jr}}

    in the order of the rows (eq. 6; with pair weights eq. 7). The loss never rises. The paper says
    that this ends at a local minimum, but a zero entry stays zero, so a start should be positive
    throughout; and eq. 7 is monotone only if the diagonal has no weight, so it is always left out.
    Where the ratio is 0/0, because no other object shares the column, the entry is not part of the
    loss and becomes zero.

    Converged when a sweep lowers the loss by at most `tol` times its own value.

    Parameters
    ----------
    problem : Problem
        What to fit: constraint "nonnegative", scale "none", no negative entries.
    start : array of shape (n, k)
        Positive; not changed.
    max_iter : int
        Maximum number of sweeps.
    tol : float
        Relative decrease below which the search stops.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every sweep; if it returns True, the
        search stops.

    Returns
    -------
    Factorization
        Factor, scale (ones), loss, history and the reason for stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_multiplicative
    >>> F = np.kron(np.eye(2), np.ones((3, 3)))
    >>> start = np.random.default_rng(5).random((6, 2))
    >>> found = solve_multiplicative(Problem(F, 2, constraint="nonnegative"), start)
    >>> labels = found.factor.argmax(axis=1)
    >>> bool(labels[0] == labels[2] != labels[3] == labels[5])
    True

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    """
    check_support("multiplicative", problem)
    check_targets("multiplicative", problem)
    return descend(
        problem, start, exact=False, limit=np.inf, max_iter=max_iter, tol=tol, callback=callback
    )


# A rise of the loss by this share of the matrix's squared norm makes a step a failure.
_NEGLIGIBLE = {4: 1e-7, 8: 1e-14}


class _Terms(NamedTuple):
    """Numerators and denominators of the ratios, and the loss."""

    linear: FloatArray
    fitted: FloatArray
    loss: float


def solve_parallel(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 5000,
    tol: float = 1e-6,
    callback: Callback | None = None,
) -> Factorization:
    r"""Minimise the problem by updating all of G at once with the root of the published ratio.

    .. math:: G_{ir} \leftarrow G_{ir} \Big(\frac{\sum_{j \ne i} m_{ij} F_{ij} G_{jr}}
              {\sum_{j \ne i} m_{ij} (G G^\top)_{ij} G_{jr}}\Big)^{1/2}

    The published eq. 6 without the root, applied to all entries at once, oscillates between two
    points. With the root no increase of the loss has been observed; if it occurs, the step is
    repeated with the fourth root, for which the loss provably does not increase. Only products of F
    with G are needed. A zero entry stays zero, so a start should be positive.

    Converged when an update lowers the loss by at most `tol` times its own value. Single updates
    gain less than sweeps, so the default is smaller than that of other solvers.

    Parameters
    ----------
    problem : Problem
        What to fit: constraint "nonnegative", scale "none", no negative entries.
    start : array of shape (n, k)
        Positive; not changed.
    max_iter : int
        Maximum number of updates.
    tol : float
        Relative decrease below which the search stops.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every update; if it returns True, the
        search stops.

    Returns
    -------
    Factorization
        Factor, scale (ones), loss, history and the reason for stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_parallel
    >>> F = np.kron(np.eye(2), np.ones((3, 3)))
    >>> start = np.random.default_rng(5).random((6, 2))
    >>> found = solve_parallel(Problem(F, 2, constraint="nonnegative"), start)
    >>> labels = found.factor.argmax(axis=1)
    >>> bool(labels[0] == labels[2] != labels[3] == labels[5])
    True

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    """
    check_support("parallel", problem)
    check_targets("parallel", problem)
    G = copy_start(problem, start)
    terms_at, norm = _terms_of(problem)
    terms = terms_at(G)
    ones = np.ones(problem.n_clusters)
    descent = Descent(terms.loss, G, ones, norm=norm, callback=callback)
    with descent:
        while descent.running(max_iter):
            G, terms = _step(G, terms, terms_at, slack=_NEGLIGIBLE[G.dtype.itemsize] * norm)
            descent.record(terms.loss, G, ones)
            descent.stop_if_converged(tol)
    return descent.result()


def _step(
    G: FloatArray, terms: _Terms, terms_at: Callable[[FloatArray], _Terms], *, slack: float
) -> tuple[FloatArray, _Terms]:
    """One update; the fourth root follows from bounding products of entries by fourth powers."""
    ratio = np.divide(terms.linear, terms.fitted, out=np.zeros(G.shape), where=terms.fitted > 0)
    root = np.sqrt(ratio)
    moved = (G * root).astype(G.dtype)
    found = terms_at(moved)
    if found.loss > terms.loss + slack:
        moved = (G * np.sqrt(root)).astype(G.dtype)
        found = terms_at(moved)
    return moved, found


def _terms_of(problem: Problem) -> tuple[Callable[[FloatArray], _Terms], float]:
    """The function that computes the terms of a factor, and the squared norm of the matrix."""
    if problem.pair_weight is not None:
        pairs = known_pairs(problem)
        return lambda G: _weighted_terms(pairs, G), weighted_norm(pairs)
    graph = problem.graph
    norm = graph.squared_norm(diagonal=False)
    diagonal = np.asarray(graph.diagonal(), dtype=np.float64)[:, None]
    return lambda G: _full_terms(graph, diagonal, norm, G), norm


def _full_terms(F: Graph, diagonal: FloatArray, norm: float, G: FloatArray) -> _Terms:
    linear = np.maximum(F.product(G) - diagonal * G, 0.0)
    gram = exact_gram(G)
    squares = np.asarray(G, dtype=np.float64) ** 2
    lengths = squares.sum(axis=1, keepdims=True)
    fitted = G @ gram - lengths * G
    # A column that no other object shares is not part of the loss: take the ratio 0/0 as 0.
    others = np.diag(gram) - squares
    fitted = np.where(others > _ROUNDING * squares, np.maximum(fitted, 0.0), 0.0)
    agreement = np.einsum("ic,ic->", G, linear, dtype=np.float64)
    loss = norm - 2.0 * agreement + float(np.sum(gram**2)) - float(np.sum(lengths**2))
    return _Terms(linear, fitted, max(float(loss), 0.0))


def _weighted_terms(pairs: KnownPairs, G: FloatArray) -> _Terms:
    from soffit.factorize.nonnegative.kernels import weighted_terms

    linear, fitted = np.empty(G.shape), np.empty(G.shape)
    return _Terms(linear, fitted, float(weighted_terms(*pairs, G, linear, fitted)))
