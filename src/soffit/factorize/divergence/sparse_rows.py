"""Expectation-maximisation on a large graph, where a row uses only a few clusters.

A zero share stays zero, so the cost of a row is its number of clusters, not k. The steps are those
of `solve_em`. A row that would gain from a cluster of its neighbours gets it during the search, so
that the result is one for all clusters. Objects are kept in the order of their main clusters, so
that neighbours are close in memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, pieces, row_blocks
from soffit._typing import FloatArray, IntArray
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.divergence.em import AnyPoint, descend, nothing_to_fit
from soffit.factorize.divergence.relations import UNEXPLAINED, Edges
from soffit.factorize.problem import Factorization, Problem
from soffit.graph import Locality, reciprocal, row_numbers
from soffit.partition.label_sweeps import weights_to_clusters

# Rows per piece of work.
_ROWS = 2**12
# A smaller share of an object explains next to nothing of its edges, and is dropped.
_NEGLIGIBLE = 1e-9
# When an iteration gains less than these shares of the divergence, rows may get more clusters:
# those with ratios above _PROMISING, with a small share.
_SLOW = (1e-4, 1e-5)
_PROMISING = 1.05
_NEW_SHARE = 0.01
# Entries are stored again when more than this share of them is zero.
_MOST_ZERO = 0.2


def solve_on_support(
    problem: Problem,
    start: sp.csr_array,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Factorization:
    """`solve_em` without priors, from sparse rows on the simplex."""
    locality = Locality(np.argsort(_main_clusters(start), kind="stable").astype(np.int32))
    relations = Edges(locality.matrix(problem.matrix))
    if relations.total <= 0:
        return nothing_to_fit(start.shape, problem.matrix.dtype)
    B = start[locality.order].astype(problem.matrix.dtype)
    B.data *= np.repeat(relations.degrees, np.diff(B.indptr)).astype(B.dtype)
    found = descend(
        relations,
        evaluate_support(relations, _without_zeros(B)),
        lambda state, power: evaluate_support(relations, moved_support(state, power)),
        max_iter=max_iter,
        tol=tol,
        callback=callback,
        widen=Widening(lambda state: _widened(relations, state), tol),
    )
    H: sp.csr_array = found.factor
    return replace(found, factor=H[np.argsort(locality.order)].toarray())


@dataclass(frozen=True, eq=False)
class SupportState:
    """Sparse B, H = B over its column sums, and the ratios of B's entries for the next step."""

    B: sp.csr_array
    H: sp.csr_array
    weights: FloatArray
    ratios: FloatArray
    divergence: float


def evaluate_support(relations: Edges, B: sp.csr_array) -> SupportState:
    """The E step at B."""
    H, weights = column_shares(B)
    ratios, likelihood = support_step(relations, B, H)
    divergence = relations.entropy - likelihood - relations.total + float(weights.sum())
    return SupportState(B, H, weights, ratios, divergence)


def column_shares(B: sp.csr_array) -> tuple[sp.csr_array, FloatArray]:
    """H = B over its column sums, and these."""
    weights: FloatArray = np.bincount(B.indices, B.data, minlength=B.shape[1]).astype(np.float64)
    return _like(B, B.data * reciprocal(weights).astype(B.dtype)[B.indices]), weights


def support_step(relations: Edges, B: sp.csr_array, H: sp.csr_array) -> tuple[FloatArray, float]:
    """Ratios for the entries of the next B, and the likelihood sum w log BH'.

    B and H have the same sparsity pattern.
    """
    from soffit.factorize.divergence.kernels import support_ratios

    n, m = B.shape
    ratios, terms = np.empty_like(B.data), np.empty(n)
    stored = (*relations.graph, B.indptr, B.indices, B.data, H.data, m)

    def step(rows: range) -> None:
        support_ratios(*stored, rows.start, rows.stop, UNEXPLAINED, ratios, terms)

    each(step, pieces(n, _ROWS))
    return ratios, float(terms.sum())


def support_likelihood(relations: Edges, H: FloatArray, weights: FloatArray) -> float:
    """The likelihood of a dense H with the weights of its clusters."""
    stored = stored_rows(H)
    B = _like(stored, stored.data * weights.astype(H.dtype)[stored.indices])
    return support_step(relations, B, stored)[1]


def support_start(
    A: sp.csr_array, labels: IntArray, n_clusters: int, *, spread: float
) -> sp.csr_array:
    """Rows with 1 - spread on the label; the rest follows the object's edges."""
    return spread_rows(weights_to_clusters(A, labels, n_clusters), labels, spread)


def spread_rows(rows: sp.csr_array, labels: IntArray, spread: float) -> sp.csr_array:
    """The same from the weights to clusters, which are changed."""
    row = row_numbers(rows)
    degrees = np.bincount(row, rows.data, minlength=len(labels)).astype(np.float64)
    rows.data *= reciprocal(degrees, spread).astype(rows.dtype)[row]
    own = rows.indices == labels[row]
    rows.data[own] += np.where(degrees > 0, 1 - spread, 1.0).astype(rows.dtype)
    return rows


def stored_rows(rows: FloatArray) -> sp.csr_array:
    """The positive entries of an array, a few rows at a time."""
    lengths, clusters, values = [], [], []
    for block in row_blocks(rows.shape):
        part = rows[block]
        positive = part > 0
        lengths.append(positive.sum(axis=1))
        clusters.append(np.nonzero(positive)[1].astype(np.int32))
        values.append(part[positive])
    places = _places(np.concatenate(lengths))
    return sp.csr_array(
        (np.concatenate(values), np.concatenate(clusters), places), shape=rows.shape
    )


def moved_support(state: SupportState, power: int) -> sp.csr_array:
    """The next B."""
    from soffit.factorize.divergence.kernels import move_support

    B, moved = state.B, np.empty_like(state.B.data)

    def move(rows: range) -> None:
        limits = (rows.start, rows.stop)
        move_support(B.indptr, B.data, state.ratios, power, _NEGLIGIBLE, *limits, moved)

    each(move, pieces(B.shape[0], _ROWS))
    return _without_zeros(_like(B, moved))


class Widening(Generic[AnyPoint]):
    """Gives rows missing clusters, at most a few times, when a search slows down.

    `widen`: a point with more clusters, or None if nothing can be gained.
    `tol`: the tolerance of the search.
    """

    def __init__(self, widen: Callable[[AnyPoint], AnyPoint | None], tol: float) -> None:
        self._widen = widen
        self._when = [max(tol, slow) for slow in _SLOW]

    def __call__(self, state: AnyPoint, descent: Descent) -> AnyPoint | None:
        """The point to continue from, if it is another one."""
        if not self._when or not descent.has_converged(self._when[0]):
            return None
        del self._when[0]
        wider = self._widen(state)
        if wider is None or wider.divergence > state.divergence:
            self._when.clear()
            return None
        return wider


def _widened(relations: Edges, state: SupportState) -> SupportState | None:
    """The point with more clusters, if any promises a gain."""
    parts = each(partial(missing, relations.graph, state), pieces(state.B.shape[0], _ROWS))
    B = widened(state.B, relations.degrees, parts)
    return None if B is None else evaluate_support(relations, B)


def missing(graph: Any, state: SupportState, rows: range) -> tuple[IntArray, IntArray]:
    """How many clusters some rows lack whose ratios promise a gain, and which."""
    from soffit.factorize.divergence.kernels import missing_entries

    B = state.B
    stored = (*graph, B.indptr, B.indices, B.data, state.H.data, B.shape[1])
    found: tuple[IntArray, IntArray] = missing_entries(
        *stored, rows.start, rows.stop, UNEXPLAINED, _PROMISING
    )
    return found


def widened(
    B: sp.csr_array, degrees: FloatArray, parts: list[tuple[IntArray, IntArray]]
) -> sp.csr_array | None:
    """B with small shares of clusters that its rows lack; None if there are none."""
    lengths, clusters = (np.concatenate([part[a] for part in parts]) for a in range(2))
    if not len(clusters):
        return None
    share = np.repeat(_NEW_SHARE * degrees, lengths).astype(B.dtype)
    wider = B + sp.csr_array((share, clusters, _places(lengths)), shape=B.shape)
    scale = 1.0 / (1.0 + _NEW_SHARE * lengths)
    wider.data *= np.repeat(scale, np.diff(wider.indptr)).astype(B.dtype)
    return wider


def _main_clusters(rows: sp.csr_array) -> IntArray:
    from soffit.factorize.divergence.kernels import main_cluster

    main = np.empty(rows.shape[0], dtype=np.int32)
    main_cluster(rows.indptr, rows.indices, rows.data, 0, len(main), main)
    return main


def _without_zeros(B: sp.csr_array) -> sp.csr_array:
    """B itself as long as few of its entries have vanished."""
    if np.count_nonzero(B.data) > (1 - _MOST_ZERO) * B.nnz:
        return B
    kept = B.data > 0
    return sp.csr_array(
        (B.data[kept], B.indices[kept], np.concatenate([[0], np.cumsum(kept)])[B.indptr]),
        shape=B.shape,
    )


def _like(B: sp.csr_array, data: FloatArray) -> sp.csr_array:
    """Other values with the same sparsity pattern."""
    return sp.csr_array((data, B.indices, B.indptr), shape=B.shape)


def _places(lengths: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(lengths)])
