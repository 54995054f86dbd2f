"""Multiplicative update of all entries of G at once, with the root of the ratio."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from soffit._typing import FloatArray
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.nonnegative.sweeps import check_targets, weighted_norm
from soffit.factorize.problem import Factorization, Problem, check_support, copy_start, exact_gram
from soffit.factorize.simplex.rows import KnownPairs, known_pairs
from soffit.graph import Graph

# A column sum over the other objects below this share of the total is only rounding error.
_ROUNDING = 1e-14
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
