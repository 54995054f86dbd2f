"""Approximate nearest neighbours of many points, with the share of true ones that were found.

Random trees sort the points and give first lists; then neighbours of neighbours, in both
directions, improve them round by round (W. Dong, C. Moses & K. Li, 2011). Everything is compared
within ranges of points that depend on their number alone, so that the result does not depend on
threads. The exact neighbours of a sample tell how good the lists are and when to stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray

_N_TREES = 10
_LEAF = 64
# Points are compared in so many ranges at least, and subtrees grown in pieces of so many points.
_RANGE = 2**14
_MOST_RANGES = 64
# Lists are longer than asked for while the search lasts: more ways lead to each neighbour.
_SPARE = 5
_SHORTEST_LIST = 20
_LISTED_BY = 10
_MOST_ROUNDS = 12
# Rounds end at this share of true neighbours in the sample, or when they change hardly anything.
_ENOUGH = 0.9
_FEW_CHANGES = 0.002
_ASKED = 15
_SAMPLE = 256
# Sparse rows are searched first among projections to this many columns.
_PROJECTED_COLUMNS = 64

Lists = tuple[IntArray, FloatArray, Any]


@dataclass(frozen=True, eq=False)
class NeighborIndex:
    """Points sorted so that near ones lie near in memory, and their neighbour lists.

    Attributes
    ----------
    order : array of shape (n,)
        The object that each sorted point is.
    recall : float
        Share of a sample's true neighbours that the lists contain.
    """

    points: FloatArray
    order: IntArray
    tree: tuple[FloatArray, FloatArray, IntArray]
    members: IntArray
    squares: FloatArray
    others: IntArray
    count: IntArray
    shift: FloatArray
    size: float
    recall: float
    n_jobs: int | None

    @classmethod
    def of(cls, X: FloatArray, n_neighbors: int, n_jobs: int | None = None) -> NeighborIndex:
        """Search the neighbours of all rows of X by Euclidean distance."""
        points, shift, size = _standard(X)
        order, bounds, normals, offsets = _tree(points, 0, n_jobs, keep_planes=True)
        points = np.take(points, order, axis=0)
        length = max(n_neighbors + _SPARE, _SHORTEST_LIST)
        lists = _first_lists(points, bounds, length, n_jobs)
        judge = _Judge.dense(points, n_neighbors, n_jobs)

        def improve_range(part: range, graph: Any, new: Lists, stamp: IntArray) -> int:
            from soffit.affinity._index_kernels import improve

            return int(improve(points, part.start, part.stop, graph, new, stamp))

        lists, recall = _improved(lists, improve_range, judge, n_jobs)
        others, _, count = _listed_by(lists, n_jobs)
        tree = (normals, offsets, bounds)
        members, squares, _ = lists
        return cls(
            points, order, tree, members, squares, others, count, shift, size, recall, n_jobs
        )

    def neighbors(self, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices and distances of the neighbours of all objects, in the objects' own order."""
        n = len(self.order)
        indices = np.empty((n, n_neighbors), dtype=np.int32)
        distances = np.empty((n, n_neighbors), dtype=np.float32)
        for part in _ranges(n):
            rows = slice(part.start, part.stop)
            found = self.members[rows, :n_neighbors]
            indices[self.order[rows]] = np.where(found >= 0, self.order[found], -1)
            roots = np.sqrt(self.squares[rows, :n_neighbors])
            distances[self.order[rows]] = roots * np.float32(self.size)
        return indices, distances

    def query(self, X_new: FloatArray, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices and distances of the fitted objects nearest to new ones."""
        from soffit.affinity._index_kernels import find_nearest, leaves_of

        normals, offsets, bounds = self.tree
        indices = np.empty((len(X_new), n_neighbors), dtype=np.int32)
        distances = np.empty((len(X_new), n_neighbors), dtype=np.float32)
        breadth = max(n_neighbors + _SPARE, _SHORTEST_LIST)
        graph = (self.members, self.others, self.count)

        leaves = np.empty(len(X_new), dtype=np.int32)

        def descend(part: range) -> None:
            rows = slice(part.start, part.stop)
            leaves_of(self._standard_rows(X_new[rows]), normals, offsets, leaves[rows])

        each(descend, _ranges(len(X_new)), self.n_jobs)
        # Leaf by leaf, so that what one row has looked at is still at hand for the next.
        by_leaf = np.argsort(leaves, kind="stable")

        def search(part: range) -> None:
            rows = by_leaf[part.start : part.stop]
            Y = self._standard_rows(X_new[rows])
            near = np.full((len(Y), breadth), -1, dtype=np.int32)
            squares = np.full((len(Y), breadth), np.inf, dtype=np.float32)
            stamp = np.zeros(len(self.order), dtype=np.int32)
            unasked = np.zeros(near.shape, dtype=np.bool_)
            find_nearest(
                Y, leaves[rows], self.points, bounds, graph, stamp, near, squares, unasked, _ASKED
            )
            found = near[:, :n_neighbors]
            indices[rows] = np.where(found >= 0, self.order[found], -1)
            distances[rows] = np.sqrt(squares[:, :n_neighbors]) * np.float32(self.size)

        each(search, _ranges(len(X_new)), self.n_jobs)
        return indices, distances

    def _standard_rows(self, X: FloatArray) -> FloatArray:
        return np.asarray((X - self.shift) / self.size, dtype=np.float32)


def sparse_neighbors(
    X: sp.csr_array, n_neighbors: int, n_jobs: int | None = None
) -> tuple[IntArray, FloatArray, float]:
    """Approximate neighbours of the rows of a CSR matrix; indices, distances, recall.

    Lists of the rows' random projections are the start; the rounds compare the rows themselves.
    """
    from soffit.affinity._index_kernels import improve_sparse, measure_sparse

    n, d = X.shape
    X = sp.csr_array(X, dtype=np.float32)
    norms = np.asarray(X.multiply(X).sum(axis=1), dtype=np.float32).ravel()
    signs = np.random.default_rng(0).integers(0, 2, (d, _PROJECTED_COLUMNS), dtype=np.int8)
    projected = np.asarray(X @ (2.0 * signs - 1.0).astype(np.float32))
    points = _standard(projected)[0]
    length = max(n_neighbors + _SPARE, _SHORTEST_LIST)
    order, bounds, *_ = _tree(points, 0, n_jobs)
    lists = _first_lists(points[order], bounds, length, n_jobs)
    sorted_rows = sp.csr_array(X[order])
    arrays = (sorted_rows.indptr, sorted_rows.indices, sorted_rows.data, norms[order])

    def measure(part: range) -> None:
        wide = np.zeros(d, dtype=np.float32)
        measure_sparse(*arrays, part.start, part.stop, *lists, wide)

    each(measure, _ranges(n), n_jobs)

    def improve_range(part: range, graph: Any, new: Lists, stamp: IntArray) -> int:
        wide = np.zeros(d, dtype=np.float32)
        return int(improve_sparse(*arrays, part.start, part.stop, graph, new, stamp, wide))

    judge = _Judge.sparse(arrays, d, n_neighbors, n_jobs)
    (members, squares, _), recall = _improved(lists, improve_range, judge, n_jobs)
    indices = np.empty((n, n_neighbors), dtype=np.int32)
    indices[order] = np.where(members >= 0, order[members], -1)[:, :n_neighbors]
    distances = np.empty((n, n_neighbors), dtype=np.float32)
    distances[order] = np.sqrt(squares[:, :n_neighbors])
    return indices, distances, recall


@dataclass(frozen=True, eq=False)
class _Judge:
    """The true neighbours of a sample of the sorted points."""

    chosen: IntArray
    members: IntArray

    @classmethod
    def dense(cls, points: FloatArray, n_neighbors: int, n_jobs: int | None) -> _Judge:
        from soffit.affinity._index_kernels import compare_with_all

        def compare(part: range, judge: _Judge, squares: FloatArray) -> None:
            compare_with_all(points, judge.chosen, part.start, part.stop, judge.members, squares)

        return cls._of(len(points), n_neighbors, compare, n_jobs)

    @classmethod
    def sparse(
        cls, arrays: tuple[Any, Any, Any, Any], d: int, n_neighbors: int, n_jobs: int | None
    ) -> _Judge:
        from soffit.affinity._index_kernels import compare_with_all_sparse

        def compare(part: range, judge: _Judge, squares: FloatArray) -> None:
            wide = np.zeros(d, dtype=np.float32)
            chosen, members = judge.chosen, judge.members
            compare_with_all_sparse(*arrays, chosen, part.start, part.stop, members, squares, wide)

        return cls._of(len(arrays[3]), n_neighbors, compare, n_jobs)

    @classmethod
    def _of(cls, n: int, n_neighbors: int, compare: Any, n_jobs: int | None) -> _Judge:
        size = min(_SAMPLE, n)
        chosen = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        judge = cls(chosen, np.full((size, n_neighbors), -1, dtype=np.int32))
        squares = np.full((size, n_neighbors), np.inf, dtype=np.float32)
        each(lambda part: compare(part, judge, squares), pieces(size, 16), n_jobs)
        return judge

    def recall(self, members: IntArray) -> float:
        """Share of the true neighbours that the lists contain."""
        n_neighbors = self.members.shape[1]
        listed = members[self.chosen, :n_neighbors]
        return float((self.members[:, :, None] == listed[:, None, :]).any(axis=2).mean())


def _standard(X: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Points in single precision, moved to their mean and made at most one in size.

    Squares then neither overflow nor lose the digits that a common offset takes.
    """
    shift = X.mean(axis=0, dtype=np.float64)
    largest = float(max(np.max(X.max(axis=0) - shift), np.max(shift - X.min(axis=0))))
    size = largest if largest > 0 else 1.0
    points = np.empty(X.shape, dtype=np.float32)
    for part in _ranges(len(X)):
        rows = slice(part.start, part.stop)
        points[rows] = (X[rows] - shift) / size
    return points, shift, size


def _tree(
    points: FloatArray, seed: int, n_jobs: int | None, *, keep_planes: bool = False
) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Points in the order of the leaves of a random tree, bounds of leaves, planes of nodes."""
    from soffit.affinity._index_kernels import grow

    n, d = points.shape
    depth = max(int(np.ceil(np.log2(n / _LEAF))), 0)
    n_kept = 2**depth - 1 if keep_planes else 0
    normals = np.zeros((n_kept, d), dtype=np.float32)
    offsets = np.zeros(n_kept, dtype=np.float32)
    order = np.arange(n, dtype=np.int32)
    heights = np.empty(n, dtype=np.float32)
    bounds = np.array([0, n], dtype=np.int64)
    state = np.uint64(0x9E3779B97F4A7C15 ^ (seed * 0x2545F491))

    def grow_level(node: int, steps: int) -> None:
        own = np.uint64(int(state) + (1 << len(bounds)) + node)
        grow(
            points, order, heights, normals, offsets,
            bounds[node], bounds[node + 1], len(bounds) - 2 + node, steps, own,
        )  # fmt: skip

    done = 0
    while done < depth:
        # The first halvings one level at a time, then whole subtrees, which fit into the cache.
        steps = 1 if n / (len(bounds) - 1) > 2 * _RANGE else depth - done
        each(partial(grow_level, steps=steps), range(len(bounds) - 1), n_jobs)
        for _ in range(steps):
            middle = (bounds[:-1] + bounds[1:]) // 2
            bounds = np.sort(np.concatenate([bounds, middle]))
        done += steps
    return order, bounds, normals, offsets


def _first_lists(points: FloatArray, bounds: IntArray, length: int, n_jobs: int | None) -> Lists:
    """Lists from the leaves of several trees; the points are sorted by the first one."""
    from soffit.affinity._index_kernels import compare_leaves

    n = len(points)
    lists = (
        np.full((n, length), -1, dtype=np.int32),
        np.full((n, length), np.inf, dtype=np.float32),
        np.ones((n, length), dtype=np.bool_),
    )
    order: IntArray = np.arange(n, dtype=np.int32)
    for number in range(1, _N_TREES + 1):

        def compare(part: range, order: IntArray = order, bounds: IntArray = bounds) -> None:
            compare_leaves(points, order, bounds, part.start, part.stop, *lists)

        each(compare, pieces(len(bounds) - 1, _RANGE // _LEAF), n_jobs)
        if number < _N_TREES:
            order, bounds, *_ = _tree(points, number, n_jobs)
    return lists


def _improved(
    lists: Lists, improve_range: Any, judge: _Judge, n_jobs: int | None
) -> tuple[Lists, float]:
    """Rounds of neighbours of neighbours until the sample's lists are right or nothing changes."""
    n = len(lists[0])
    spare: Lists = (np.empty_like(lists[0]), np.empty_like(lists[1]), np.empty_like(lists[2]))
    recall = judge.recall(lists[0])
    for _ in range(_MOST_ROUNDS):
        if recall >= _ENOUGH:
            break
        graph = (*lists, *_listed_by(lists, n_jobs))

        def improve(part: range, graph: Any = graph, new: Lists = spare) -> int:
            return int(improve_range(part, graph, new, np.zeros(n, dtype=np.int32)))

        changes = sum(each(improve, _ranges(n), n_jobs))
        lists, spare = spare, lists
        recall = judge.recall(lists[0])
        if changes < _FEW_CHANGES * lists[0].size:
            break
    return lists, recall


def _listed_by(lists: Lists, n_jobs: int | None) -> tuple[IntArray, Any, IntArray]:
    """Who lists each point: their numbers, whether that is new, and how many they are."""
    from soffit.affinity._index_kernels import listed_by

    members, _, fresh = lists
    n = len(members)
    others = np.zeros((n, _LISTED_BY), dtype=np.int32)
    others_fresh = np.zeros((n, _LISTED_BY), dtype=np.bool_)
    count = np.zeros(n, dtype=np.int32)

    def collect(part: range) -> None:
        listed_by(members, fresh, part.start, part.stop, others, others_fresh, count)

    # Each half reads all lists, so more pieces would be no gain.
    each(collect, pieces(n, -(-n // 2)), n_jobs)
    return others, others_fresh, count


def _ranges(n: int) -> list[range]:
    """Ranges of points for threads: few enough that each may have a mark for every point."""
    return pieces(n, max(_RANGE, -(-n // _MOST_RANGES)))
