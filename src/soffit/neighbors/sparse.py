"""Approximate nearest neighbours of the rows of a sparse table.

The first lists come from random projections to few columns, where the rows are dense; then
neighbours of neighbours, in both directions, are compared exactly, round by round (W. Dong,
C. Moses & K. Li, 2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray
from soffit.neighbors.approximate import ENOUGH, NeighborIndex, Recall, ranges

_PROJECTED_COLUMNS = 64
_LISTED_BY = 10
_MOST_ROUNDS = 12
_FEW_CHANGES = 0.002

Lists = tuple[IntArray, FloatArray, Any]


def sparse_neighbors(
    X: sp.csr_array, n_neighbors: int, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray, float]:
    """Approximate neighbours of the rows of a CSR matrix; indices, distances, recall."""
    from soffit.neighbors.kernels import compare_sparse_with_all as compare_with_all
    from soffit.neighbors.kernels import improve, measure

    n, d = X.shape
    X = sp.csr_array(X, dtype=np.float32)
    norms = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel()
    signs = np.random.default_rng(0).integers(0, 2, (d, _PROJECTED_COLUMNS), dtype=np.int8)
    projected = np.asarray(X @ (2.0 * signs - 1.0).astype(np.float32))
    index = NeighborIndex.of(projected, n_neighbors, n_jobs)
    order = index.order
    lists = (index.members, index.squares, np.ones(index.members.shape, dtype=np.bool_))
    sorted_rows = sp.csr_array(X[order])
    arrays = (sorted_rows.indptr, sorted_rows.indices, sorted_rows.data, norms[order])

    def measure_range(part: range) -> None:
        measure(*arrays, part.start, part.stop, *lists, np.zeros(d, dtype=np.float32))

    each(measure_range, ranges(n), n_jobs)

    def improve_range(part: range, graph: Any, new: Lists) -> int:
        stamp, wide = np.zeros(n, dtype=np.int32), np.zeros(d, dtype=np.float32)
        return int(improve(*arrays, part.start, part.stop, graph, new, stamp, wide))

    def compare(part: range, chosen: IntArray, members: IntArray) -> None:
        wide = np.zeros(d, dtype=np.float32)
        squares = np.full(members.shape, np.inf, dtype=np.float32)
        compare_with_all(*arrays, chosen, part.start, part.stop, members, squares, wide)

    exact = Recall.of(n, n_neighbors, compare, n_jobs)
    (members, squares, _), recall = _improved(lists, improve_range, exact, n_jobs)
    indices = np.empty((n, n_neighbors), dtype=np.int32)
    indices[order] = np.where(members >= 0, order[members], -1)[:, :n_neighbors]
    distances = np.empty((n, n_neighbors), dtype=np.float32)
    distances[order] = np.sqrt(squares[:, :n_neighbors])
    return indices, distances, recall


def _improved(
    lists: Lists, improve_range: Any, exact: Recall, n_jobs: int | None
) -> tuple[Lists, float]:
    """Rounds of neighbours of neighbours until the recall suffices or little changes."""
    n = len(lists[0])
    spare: Lists = (np.empty_like(lists[0]), np.empty_like(lists[1]), np.empty_like(lists[2]))
    recall = exact.of_lists(lists[0][exact.chosen])
    for _ in range(_MOST_ROUNDS):
        if recall >= ENOUGH:
            break
        graph = (*lists, *_listed_by(lists, n_jobs))

        def improve(part: range, graph: Any = graph, new: Lists = spare) -> int:
            return int(improve_range(part, graph, new))

        changes = sum(each(improve, ranges(n), n_jobs))
        lists, spare = spare, lists
        recall = exact.of_lists(lists[0][exact.chosen])
        if changes < _FEW_CHANGES * lists[0].size:
            break
    return lists, recall


def _listed_by(lists: Lists, n_jobs: int | None) -> tuple[IntArray, Any, IntArray]:
    """The reverse lists: the points that list each point, whether that is new, and their number."""
    from soffit.neighbors.kernels import listed_by

    members, _, fresh = lists
    n = len(members)
    others = np.zeros((n, _LISTED_BY), dtype=np.int32)
    others_fresh = np.zeros((n, _LISTED_BY), dtype=np.bool_)
    count = np.zeros(n, dtype=np.int32)

    def collect(part: range) -> None:
        listed_by(members, fresh, part.start, part.stop, others, others_fresh, count)

    # Each half reads all lists, so more pieces would not help.
    each(collect, pieces(n, -(-n // 2)), n_jobs)
    return others, others_fresh, count
