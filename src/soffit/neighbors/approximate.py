"""Approximate nearest neighbours of many points, with an estimate of their recall.

A random tree sorts the points, and the points of a leaf are compared with each other. Every further
tree makes other leaves, whose points are compared with all that any of them lists. Leaves are
processed one by one for any number of threads. The exact neighbours of a sample give the recall of
the lists and decide when to stop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray
from soffit.graph import inverse_order

# Points per leaf: of the first tree, whose lists are empty, and of later ones.
_FIRST_LEAF, _LEAF = 368, 136
# New points descend to leaves of this size, which are parts of the first tree's leaves.
_LAST_LEAF = 46
# From this number of columns on, leaves are compared by matrix products, with this many candidates
# at a time.
_MANY_COLUMNS = 48
_CANDIDATES = 2**10
# Points whose distances are measured for each true neighbour.
_TIMES_COMPARED = 4
# Lists are longer than requested during the search, which gives more paths to each neighbour.
_SPARE = 5
_SHORTEST_LIST = 20
# Trees stop at this recall on the sample (a little above the target of 0.9, to allow for sampling
# error), or when they gain little.
ENOUGH = 0.91
# A tree misses neighbours across its splits: with few trees, all edges across one may be missing.
_FEWEST_TREES, _MOST_TREES = 4, 16
_LEAST_GAIN = 0.002
# Maximum number of points whose lists are read for a new point.
_MOST_ASKED = 40


@dataclass(frozen=True, eq=False)
class NeighborIndex:
    """Points sorted so that near ones are close in memory, and their neighbour lists."""

    points: FloatArray
    order: IntArray  # (n,): the object of each sorted point.
    # Planes (normals and offsets) that lead to the leaves, and the bounds of the leaves.
    tree: tuple[FloatArray, FloatArray, IntArray]
    # (n, length): lists of the sorted points and their squared distances, nearest first.
    members: IntArray
    squares: FloatArray
    shift: FloatArray
    size: float
    recall: float  # Share of a sample's true neighbours that the lists contain.
    n_jobs: int | None
    # Planes of N nodes lead to N + 1 leaves, and those are ranges of points.
    _arrays: ClassVar[dict[str, str]] = {
        "points": "finite n p",
        "order": "int n <n",
        "tree.0": "finite N p",
        "tree.1": "finite N",
        "tree.2": "int N+2 <n+1",
        "members": "int n m -1<n",
        "squares": "nonnegative n m",
        "shift": "finite p",
        "size": "positive",
        "recall": "finite",
        "n_jobs": "int?",
    }

    @classmethod
    def of(cls, X: FloatArray, n_neighbors: int, n_jobs: int | None = None) -> NeighborIndex:
        """Search the neighbours of all rows of X by Euclidean distance."""
        points, shift, size = _standard(X, n_jobs)
        tree = grow_tree(points, _LAST_LEAF, 0, n_jobs, keep_planes=True)
        points = np.take(points, tree.order, axis=0)
        members, squares, recall = _lists(points, tree, n_neighbors, n_jobs)
        planes = (tree.normals, tree.offsets, tree.bounds)
        return cls(points, tree.order, planes, members, squares, shift, size, recall, n_jobs)

    def neighbors(
        self, n_neighbors: int, rows: IntArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Indices and distances of the neighbours of all objects, in the objects' own order.

        Or of some objects, by their numbers.
        """
        from soffit.neighbors.kernels import copy_lists

        n, size = len(self.order), np.float32(self.size)
        n_neighbors = min(n_neighbors, self.members.shape[1])
        if rows is not None:
            place = inverse_order(self.order, np.int32)[rows]
            found = self.members[place, :n_neighbors]
            lengths = np.sqrt(self.squares[place, :n_neighbors]) * size
            return np.where(found >= 0, self.order[found], -1), lengths
        indices = np.empty((n, n_neighbors), dtype=np.int32)
        distances = np.empty((n, n_neighbors), dtype=np.float32)

        def copy(part: range) -> None:
            copy_lists(
                self.order, self.members, self.squares, size, part.start, part.stop,
                indices, distances,
            )  # fmt: skip

        each(copy, ranges(n), self.n_jobs)
        return indices, distances

    def query(
        self, X_new: FloatArray, n_neighbors: int, *, quick: bool = False
    ) -> tuple[IntArray, FloatArray]:
        """Indices and distances of the fitted objects nearest to new ones.

        `quick`: compare only with the points of the leaf, of the size of the first leaves. What is
            found is near, though rarely nearest: the true distances are at most these.
        """
        from soffit.neighbors.kernels import leaves_of

        normals, offsets, bounds = self.tree
        indices = np.empty((len(X_new), n_neighbors), dtype=np.int32)
        distances = np.empty((len(X_new), n_neighbors), dtype=np.float32)
        leaves = np.empty(len(X_new), dtype=np.int32)

        def descend(part: range) -> None:
            rows = slice(part.start, part.stop)
            leaves_of(self._standard_rows(X_new[rows]), normals, offsets, leaves[rows])

        each(descend, ranges(len(X_new)), self.n_jobs)
        # Leaf by leaf: new points of the same leaf are compared with the same candidates.
        by_leaf = np.argsort(leaves, kind="stable")

        if quick:
            leaves //= _step(bounds)
            nobody = np.empty((len(self.points), 0), dtype=np.int32)
            search = _Nearest(self.points, _every(bounds, _step(bounds)), nobody, 0)
            length = n_neighbors
        else:
            search = _Nearest(self.points, bounds, self.members, _MOST_ASKED)
            length = list_length(n_neighbors)

        def place(part: range) -> None:
            rows = by_leaf[part.start : part.stop]
            near, squares = search(self._standard_rows(X_new[rows]), leaves[rows], length)
            found = near[:, :n_neighbors]
            indices[rows] = np.where(found >= 0, self.order[found], -1)
            distances[rows] = np.sqrt(squares[:, :n_neighbors]) * np.float32(self.size)

        each(place, ranges(len(X_new)), self.n_jobs)
        return indices, distances

    def without_distances(self) -> NeighborIndex:
        """The same for queries only."""
        return replace(self, squares=np.empty((len(self.order), 0), dtype=np.float32))

    def rows(self, numbers: IntArray) -> FloatArray:
        """Some of the points, in single precision."""
        place = inverse_order(self.order, np.int64)
        return np.asarray(self.points[place[numbers]] * self.size + self.shift, dtype=np.float32)

    def _standard_rows(self, X: FloatArray) -> FloatArray:
        return np.asarray((X - self.shift) / self.size, dtype=np.float32)


class _Marks:
    """Arrays with a number for every point, one per thread: not cleared between uses."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._free: list[IntArray] = []

    @contextmanager
    def taken(self) -> Iterator[IntArray]:
        """An array for exclusive use."""
        try:
            place = self._free.pop()
        except IndexError:
            place = np.zeros(self._n, dtype=np.int32)
        try:
            yield place
        finally:
            self._free.append(place)


def _room(
    bounds: IntArray, n_columns: int, length: int, n_asked: int = 0
) -> tuple[FloatArray | IntArray, ...]:
    """Working arrays for the largest leaf and lists of this length, for exclusive use.

    The points of the leaf, the numbers of the candidates (and of those in further lists that are
    asked), the places of lists among them, the coordinates of some of the candidates, their squared
    distances to two points and the numbers of groups.
    """
    from soffit.neighbors.kernels import BLOCK, JOIN_GROUP

    widest, d = int(np.diff(bounds).max()), -(-n_columns // 4) * 4
    return (
        np.zeros((widest, d), dtype=np.float32),
        np.empty(widest * (length + 1) + n_asked * length, dtype=np.int32),
        np.empty((widest, length), dtype=np.int32),
        np.zeros((d, BLOCK), dtype=np.float32),
        np.empty((2, BLOCK + JOIN_GROUP), dtype=np.float32),
        np.empty(BLOCK // JOIN_GROUP, dtype=np.int64),
    )


class _Nearest:
    """Search for the nearest of the points for given ones, which are sorted by leaf."""

    def __init__(
        self, points: FloatArray, bounds: IntArray, members: IntArray, most_asked: int
    ) -> None:
        self._points, self._bounds, self._members = points, np.ascontiguousarray(bounds), members
        self._most_asked = most_asked
        self._order = np.arange(len(points), dtype=np.int32)
        self._marks = _Marks(len(points))

    def __call__(self, Y: FloatArray, leaves: IntArray, length: int) -> tuple[IntArray, FloatArray]:
        """Numbers and squared distances of the nearest points, as many as `length`."""
        from soffit.neighbors.kernels import find_nearest

        length_of_lists = self._members.shape[1]
        _, *room = _room(self._bounds, Y.shape[1], length_of_lists, self._most_asked)
        wide = np.zeros((len(Y), len(room[2])), dtype=np.float32)
        wide[:, : Y.shape[1]] = Y
        near = np.full((len(Y), length), -1, dtype=np.int32)
        squares = np.full(near.shape, np.inf, dtype=np.float32)
        with self._marks.taken() as place:
            find_nearest(
                wide, leaves, self._points, self._bounds, self._members, place, near, squares,
                self._order, np.empty(self._most_asked, dtype=np.int32), *room,
            )  # fmt: skip
        return near, squares


def list_length(n_neighbors: int) -> int:
    """Length of the lists during a search for `n_neighbors`."""
    return max(n_neighbors + _SPARE, _SHORTEST_LIST)


def _lists(
    points: FloatArray, first_tree: Tree, n_neighbors: int, n_jobs: int | None
) -> tuple[IntArray, FloatArray, float]:
    """Neighbour lists, their squared distances and the recall on a sample.

    The points are sorted by the leaves of the first tree.
    """
    from soffit.neighbors.kernels import join_leaves

    n = len(points)
    members = np.empty((n, list_length(n_neighbors)), dtype=np.int32)
    squares = np.empty(members.shape, dtype=np.float32)
    marks = _Marks(n)

    def clear(part: range) -> None:
        members[part.start : part.stop] = -1
        squares[part.start : part.stop] = np.inf

    each(clear, ranges(n), n_jobs)

    def join(order: IntArray, bounds: IntArray) -> None:
        bounds = np.ascontiguousarray(bounds)

        def join_range(part: range) -> None:
            with marks.taken() as place:
                if points.shape[1] >= _MANY_COLUMNS:
                    lists = members, squares
                    _join_by_products(points, (order, bounds), part, lists, place)
                    return
                room = _room(bounds, points.shape[1], members.shape[1])
                join_leaves(
                    points, order, bounds, part.start, part.stop, members, squares, place, *room
                )

        each(join_range, ranges_of_leaves(bounds), n_jobs)

    # A single leaf of all points, without lists: every point is compared.
    everywhere = np.array([0, n], dtype=np.int64)
    among_all = _Nearest(points, everywhere, np.empty((n, 0), dtype=np.int32), 0)

    def compare(part: range, chosen: IntArray, true: IntArray) -> None:
        rows = chosen[part.start : part.stop]
        if points.shape[1] >= _MANY_COLUMNS:
            near = _true_neighbors(points, rows, n_neighbors + 1)
        else:
            near, _ = among_all(points[rows], np.zeros(len(rows), dtype=np.int32), n_neighbors + 1)
        own = near == rows[:, None]
        # Among more copies of a point than neighbours, the point itself may not be listed.
        own[~own.any(axis=1), -1] = True
        true[part.start : part.stop] = near[~own].reshape(len(rows), n_neighbors)

    # Leaves are repeated halves: consecutive ones together were one leaf some halvings before.
    join(np.arange(n, dtype=np.int32), _every(first_tree.bounds, _step(first_tree.bounds)))
    exact = Recall.of(n, n_neighbors, compare, n_jobs)

    def share_found() -> float:
        lists: IntArray = members[exact.chosen]
        if points.shape[1] >= _MANY_COLUMNS:
            lists = _by_distance(points, exact.chosen, lists)
        return exact.of_lists(lists)

    recall, before = share_found(), -1.0
    for number in range(1, _MOST_TREES):
        if number >= _FEWEST_TREES and (recall >= ENOUGH or recall - before < _LEAST_GAIN):
            break
        tree = grow_tree(points, _LEAF, number, n_jobs)
        join(tree.order, tree.bounds)
        recall, before = share_found(), recall
    if points.shape[1] >= _MANY_COLUMNS:
        _measure(points, members, squares, n_jobs)
    return members, squares, recall


def _join_by_products(
    points: FloatArray,
    tree: tuple[IntArray, IntArray],
    leaves: range,
    lists: tuple[IntArray, FloatArray],
    place: IntArray,
) -> None:
    """The same as `join_leaves`, by matrix products: several times as fast for many columns.

    Squared distances are differences of squared lengths and lose digits. Lengths are taken from the
    middle of the leaf, which keeps the loss small; in the end, distances are measured exactly.
    """
    from soffit.neighbors.kernels import JOIN_GROUP, candidates_of, take_nearest

    (order, bounds), (members, squares) = tree, lists
    widest, length = int(np.diff(bounds).max()), members.shape[1]
    found = np.empty(widest * (length + 1), dtype=np.int32)
    listed = np.empty((widest, length), dtype=np.int32)
    d = points.shape[1]
    # (-2x, |x|^2, 1) times (y, 1, |y|^2) is the squared distance of x and y.
    rows = np.ones((widest, d + 2), dtype=np.float32)
    others = np.ones((_CANDIDATES, d + 2), dtype=np.float32)
    new = np.empty((widest, _CANDIDATES + JOIN_GROUP), dtype=np.float32)
    groups = np.empty(_CANDIDATES // JOIN_GROUP + 1, dtype=np.int64)
    for leaf in leaves:
        low, size = int(bounds[leaf]), int(bounds[leaf + 1] - bounds[leaf])
        n_found = candidates_of(order, low, size, members, place, found, listed)
        own = points[found[:size]]
        middle = own.mean(axis=0)
        own -= middle
        rows[:size, d] = np.einsum("ij,ij->i", own, own)
        np.multiply(own, np.float32(-2.0), out=rows[:size, :d])
        for start in range(0, n_found, _CANDIDATES):
            count = min(n_found - start, _CANDIDATES)
            near = others[:count, :d]
            np.subtract(points[found[start : start + count]], middle, out=near)
            others[:count, d + 1] = np.einsum("ij,ij->i", near, near)
            np.matmul(rows[:size], others[:count].T, out=new[:size, :count])
            take_nearest(new, size, found, listed, start, count, members, squares, groups)


def _true_neighbors(points: FloatArray, rows: IntArray, count: int) -> IntArray:
    """The nearest of all points for some of them, which may be among them themselves.

    Exact distances decide among a few times as many as are nearest up to rounding.
    """
    ranks = np.asarray(-2.0 * points[rows], dtype=np.float32) @ points.T
    ranks += np.einsum("ij,ij->i", points, points)
    few = min(_TIMES_COMPARED * count, len(points))
    near = np.argpartition(ranks, few - 1, axis=1)[:, :few]
    return _by_distance(points, rows, np.sort(near, axis=1))[:, :count]


def _by_distance(points: FloatArray, rows: IntArray, lists: IntArray) -> IntArray:
    """The lists of some points, sorted by exact distance."""
    pairs = zip(rows, lists, strict=True)
    squares = np.stack([np.square(points[i] - points[near]).sum(axis=1) for i, near in pairs])
    squares = np.where(lists >= 0, squares, np.inf)
    return np.take_along_axis(lists, np.argsort(squares, axis=1, kind="stable"), axis=1)


def _measure(
    points: FloatArray, members: IntArray, squares: FloatArray, n_jobs: int | None
) -> None:
    """Exact squared distances of the lists, which are sorted by them."""
    from soffit.neighbors.kernels import measure_lists

    def measure(part: range) -> None:
        measure_lists(points, part.start, part.stop, members, squares)

    each(measure, ranges(len(points)), n_jobs)


def _step(bounds: IntArray) -> int:
    """How many of the last leaves are one of the first, or all if there are fewer."""
    return min(_FIRST_LEAF // _LAST_LEAF, len(bounds) - 1)


def _every(bounds: IntArray, count: int) -> IntArray:
    """Bounds of groups of `count` leaves."""
    return bounds[::count]


def _standard(X: FloatArray, n_jobs: int | None) -> tuple[FloatArray, FloatArray, float]:
    """Points in single precision, centred and scaled to at most one in size.

    Squares then neither overflow nor lose digits to a common offset.
    """
    parts = [slice(part.start, part.stop) for part in ranges(len(X))]
    sums = each(lambda rows: X[rows].sum(axis=0, dtype=np.float64), parts, n_jobs)
    shift = np.sum(sums, axis=0) / len(X)
    points = np.empty(X.shape, dtype=np.float32)

    def largest_step(rows: slice) -> float:
        return float(np.abs(X[rows] - shift).max())

    size = max(each(largest_step, parts, n_jobs)) or 1.0

    def fill(rows: slice) -> None:
        points[rows] = (X[rows] - shift) / size

    each(fill, parts, n_jobs)
    return points, shift, size


_SAMPLE = 256
_COMPARED_AT_ONCE = 64

# Fills the lists of a range of the chosen objects by comparing them with all others.
Comparison = Callable[[range, IntArray, IntArray], None]


@dataclass(frozen=True, eq=False)
class Recall:
    """Recall of neighbour lists, by the true neighbours of a sample."""

    chosen: IntArray
    members: IntArray

    @classmethod
    def of(cls, n: int, n_neighbors: int, compare: Comparison, n_jobs: int | None) -> Recall:
        """Compare a sample of n objects with all of them."""
        size = min(_SAMPLE, n)
        chosen = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        members = np.full((size, n_neighbors), -1, dtype=np.int32)
        parts = pieces(size, _COMPARED_AT_ONCE)
        each(lambda part: compare(part, chosen, members), parts, n_jobs)
        return cls(chosen, members)

    def of_lists(self, lists: IntArray) -> float:
        """Share of the true neighbours that the lists of the chosen objects contain."""
        listed = lists[:, : self.members.shape[1]]
        return float((self.members[:, :, None] == listed[:, None, :]).any(axis=2).mean())


# Subtrees are grown in pieces of this many points, which fit into the cache.
_RANGE = 2**14
_MOST_RANGES = 64
# The largest prime below 2**64: powers of two modulo it separate the random numbers of levels.
_PRIME = 2**64 - 59


@dataclass(frozen=True, eq=False)
class Tree:
    """Points in the order of the leaves, bounds of the leaves, and the planes of the nodes."""

    order: IntArray
    bounds: IntArray
    normals: FloatArray
    offsets: FloatArray


def grow_tree(
    points: FloatArray, leaf: int, seed: int, n_jobs: int | None, *, keep_planes: bool = False
) -> Tree:
    """A tree whose leaves have about `leaf` points, within a factor of the square root of two."""
    from soffit.neighbors.kernels import grow

    n, d = points.shape
    depth = max(round(np.log2(n / leaf)), 0)
    n_kept = 2**depth - 1 if keep_planes else 0
    normals = np.zeros((n_kept, d), dtype=np.float32)
    offsets = np.zeros(n_kept, dtype=np.float32)
    order = np.arange(n, dtype=np.int32)
    heights = np.empty(n, dtype=np.float32)
    bounds = np.array([0, n], dtype=np.int64)
    state = np.uint64(0x9E3779B97F4A7C15 ^ (seed * 0x2545F491))

    def grow_level(node: int, steps: int) -> None:
        own = np.uint64((int(state) + pow(2, len(bounds), _PRIME) + node) % 2**64)
        # A stack of ranges to be halved; it never holds more than one per level, and one more.
        stack = np.empty((steps + 2, 4), dtype=np.int64)
        stack[0] = bounds[node], bounds[node + 1], len(bounds) - 2 + node, steps
        states = np.full(steps + 2, own, dtype=np.uint64)
        line = np.empty(d, dtype=np.float32)
        grow(points, order, heights, normals, offsets, stack, states, line)

    done = 0
    while done < depth:
        # The first halvings one level at a time, then whole subtrees.
        steps = 1 if n / (len(bounds) - 1) > 2 * _RANGE else depth - done
        each(partial(grow_level, steps=steps), range(len(bounds) - 1), n_jobs)
        for _ in range(steps):
            middle = (bounds[:-1] + bounds[1:]) // 2
            bounds = np.sort(np.concatenate([bounds, middle]))
        done += steps
    return Tree(order, bounds, normals, offsets)


def ranges(n: int) -> list[range]:
    """Ranges of points for threads: few enough that each may have a mark for every point."""
    return pieces(n, max(_RANGE, -(-n // _MOST_RANGES)))


def ranges_of_leaves(bounds: IntArray) -> list[range]:
    """Ranges of leaves, by their number of points."""
    n_leaves, n = len(bounds) - 1, int(bounds[-1])
    return pieces(n_leaves, max(_RANGE * n_leaves // n, -(-n_leaves // _MOST_RANGES), 1))
