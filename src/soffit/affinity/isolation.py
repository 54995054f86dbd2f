"""How isolated objects are, and how far outside everything seen: a tail probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from soffit._threads import each, pieces, row_blocks
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse

if TYPE_CHECKING:
    from soffit.affinity.abstract import Affinity

# The neighbour whose distance, or the neighbours whose similarities, tell how isolated an object
# is. Few enough for small clusters, enough for a steady distance.
N_NEIGHBORS = 7
# Rows of a sparse matrix per thread at a time.
_ROWS = 2**14
# An object is outside what was seen if its novelty is at least this: one ordinary object in a
# hundred is.
OUTSIDE_FROM = 0.99
# Share of the most isolated fitted objects from which the tail is continued, and their least
# number.
_TAIL = 0.1
_FEWEST = 5
# The mean excess of a logarithm that counts like this many objects, to steady that of few.
_USUAL_EXCESS = 0.2
_WEIGHT = 3


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """How far objects are from their neighbours, and which these are."""

    # (m,): distance to the last of a few neighbours, in any unit; infinite if there are none.
    spacing: FloatArray
    neighbors: IntArray  # (m, l): numbers of the neighbours; negative where there are fewer.
    nearest: FloatArray | None = None  # (m,): distance to the first neighbour, in the same unit.

    @classmethod
    def of_lists(
        cls, neighbors: IntArray, distances: FloatArray, rank: int = N_NEIGHBORS
    ) -> Neighborhood:
        """From neighbours in the order of their distances, infinite where there are fewer."""
        if not distances.shape[1]:
            return cls.of_nobody(len(distances))
        count = np.minimum(np.count_nonzero(np.isfinite(distances), axis=1), rank)
        last = distances[np.arange(len(distances)), np.maximum(count - 1, 0)]
        return cls(np.where(count > 0, last, np.inf), neighbors, distances[:, 0])

    @classmethod
    def of_nobody(cls, m: int) -> Neighborhood:
        """That of objects without any neighbour."""
        far = np.full(m, np.inf)
        return cls(far, np.empty((m, 0), dtype=np.int64), far)

    @classmethod
    def of_similarities(
        cls, rows: Matrix, *, among_themselves: bool, rank: int = N_NEIGHBORS
    ) -> Neighborhood:
        """From similarities: a distance is the reciprocal of a similarity.

        The spacing is that of their mean. See `strongest` for the arguments.
        """
        neighbors, values = strongest(rows, among_themselves=among_themselves, rank=rank)
        if not values.shape[1]:
            return cls.of_nobody(len(values))
        return cls(_reciprocal(values.mean(axis=1)), neighbors, _reciprocal(values[:, 0]))


def distances_of_similarities(rows: Matrix, rank: int) -> tuple[IntArray, FloatArray]:
    """The most similar others of each object, and the reciprocals of the similarities."""
    neighbors, values = strongest(rows, among_themselves=True, rank=rank)
    return neighbors, _reciprocal(values)


def _reciprocal(values: FloatArray) -> FloatArray:
    return np.divide(1.0, values, out=np.full(values.shape, np.inf), where=values > 0)


def relative_spacing(around: Neighborhood, spacing: FloatArray) -> FloatArray:
    """Distances of objects to their neighbours over the mean of the same for these neighbours.

    `around`: that of the objects.
    `spacing` (n,): that of the fitted objects.
    Returns (m,): about 1 inside clusters of any density, 0 for one of many copies, large outside.
    """
    own, lists = around.spacing, around.neighbors
    is_known = (spacing > 0) & np.isfinite(spacing)
    # Copies of one another say nothing about distances: they count as ordinary objects.
    typical = float(np.median(spacing[is_known])) if is_known.any() else 1.0
    known = np.where(is_known, spacing, typical).astype(np.float64)
    usual = np.empty(len(own))

    def average(part: range) -> None:
        rows = slice(part.start, part.stop)
        listed = lists[rows] >= 0
        sums = np.where(listed, known[np.where(listed, lists[rows], 0)], 0.0).sum(axis=1)
        count = listed.sum(axis=1)
        usual[rows] = np.where(count > 0, sums / np.maximum(count, 1), typical)

    each(average, pieces(len(own), _ROWS))
    return np.asarray(own / usual, dtype=np.float64)


def strongest(
    rows: Matrix, *, among_themselves: bool, rank: int = N_NEIGHBORS
) -> tuple[IntArray, FloatArray]:
    """The largest positive entries of each row, largest first, ties by their columns.

    `rows` (m, n): similarities.
    `among_themselves`: whether row i belongs to object i, whose similarity to itself is left out.
    `rank`: the most entries of a row.
    Returns (m, l): columns are -1 and values 0 where a row has fewer positive entries.
    """
    from soffit.affinity.kernels import strongest_of_array, strongest_of_csr

    m, n = rows.shape
    length = min(rank, n - 1 if among_themselves else n)
    columns = np.full((m, length), -1, dtype=np.int64)
    values = np.zeros((m, length))
    if length == 0:
        return columns, values
    if is_sparse(rows):

        def search(part: range) -> None:
            strongest_of_csr(
                *(rows.indptr, rows.indices, rows.data, among_themselves),
                *(columns, values, part.start, part.stop),
            )

        each(search, pieces(m, _ROWS))
    else:

        def compare(part: slice) -> None:
            strongest_of_array(rows, among_themselves, columns, values, part.start, part.stop)

        each(compare, row_blocks(rows.shape))
    return columns, values


# --- novelty --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Surroundings:
    r"""How isolated the fitted objects are, to judge new ones by.

    The isolation s of an object is its distance to its 7th neighbour among the fitted objects,
    divided by the mean of the same distances of its neighbours. The tail probability of a new
    object is its rank among the n fitted ones, each compared with the others,

    .. math:: p(s) = \frac{1 + \#\{i : s_i \ge s\}}{n + 1},

    and, beyond the largest of them, :math:`p(s) = \frac{1}{n + 1} (s / \max_i s_i)^{-1 / \xi}`,
    where :math:`\xi` is the mean excess of :math:`\log s_i` over the tenth most isolated ones.
    """

    spacing: FloatArray  # (n,): distance of each fitted object to its 7th neighbour.
    isolation: FloatArray  # (n,): the same, relative to its neighbours.
    _arrays: ClassVar[dict[str, str]] = {"spacing": "float n", "isolation": "float n"}

    @classmethod
    def of(cls, affinity: Affinity) -> Surroundings:
        """Measure the fitted objects."""
        around = affinity.neighborhood()
        if len(around.spacing) == 1:
            # A single object is not isolated, for lack of others.
            return cls(np.zeros(1), np.zeros(1))
        spacing = np.asarray(around.spacing, dtype=np.float64)
        return cls(spacing, relative_spacing(around, spacing))

    def tail(self, affinity: Affinity, table: Any, *, quick: bool = False) -> FloatArray:
        """Tail probabilities of new objects; if `quick`, from distances that may be too large."""
        around = affinity.nearby(table) if quick else affinity.neighborhood(table)
        isolation = relative_spacing(around, self.spacing)
        return tail_probability(isolation, self.isolation)

    def inner_tail(self) -> FloatArray:
        """Tail probabilities of the fitted objects, each compared with the others."""
        isolation = self.isolation
        n = len(isolation)
        if n == 1:
            return np.ones(1)
        # Others that are at least as isolated: all of these but the object itself.
        ranked = np.sort(isolation)
        p = (n - np.searchsorted(ranked, isolation, side="left")) / n
        if ranked[-1] > ranked[-2]:
            top = int(isolation.argmax())
            p[top] = tail_probability(isolation[[top]], np.delete(isolation, top))[0]
        return np.asarray(p)


def tail_probability(isolation: FloatArray, fitted: FloatArray) -> FloatArray:
    """Share of fitted objects that are at least as isolated, continued beyond the largest."""
    ranked = np.sort(fitted)
    n = len(ranked)
    p = (1 + n - np.searchsorted(ranked, isolation, side="left")) / (n + 1)
    beyond = isolation > ranked[-1]
    if ranked[-1] > 0 and beyond.any():
        exponent = -1.0 / _mean_excess(ranked)
        p[beyond] = (isolation[beyond] / ranked[-1]) ** exponent / (n + 1)
    return np.asarray(p)


def _mean_excess(ranked: FloatArray) -> float:
    """Mean of log s over the most isolated objects, above the next one: Hill's estimate."""
    usable = ranked[(ranked > 0) & np.isfinite(ranked)]
    count = min(max(int(np.ceil(_TAIL * len(usable))), _FEWEST), len(usable) - 1)
    total = float(np.log(usable[-count:] / usable[-count - 1]).sum()) if count > 0 else 0.0
    return (total + _WEIGHT * _USUAL_EXCESS) / (max(count, 0) + _WEIGHT)
