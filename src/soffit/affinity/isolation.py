"""How isolated objects are: their distance to neighbours, relative to that of these neighbours."""

from __future__ import annotations

import numpy as np

from soffit._threads import each, pieces, row_blocks
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse

# The neighbour whose distance, or the neighbours whose similarities, tell how isolated an object
# is. Few enough for small clusters, enough for a steady distance.
N_NEIGHBORS = 7
# Rows of a sparse matrix per thread at a time.
_ROWS = 2**14


def relative_spacing(own: FloatArray, lists: IntArray, spacing: FloatArray) -> FloatArray:
    """Distances of objects to their neighbours over the mean of the same for these neighbours.

    Parameters
    ----------
    own : array of shape (m,)
        Distance of each object to its n-th neighbour; infinite if nothing is near it.
    lists : int array of shape (m, l)
        Neighbours of each object among the fitted ones; negative where there are fewer.
    spacing : array of shape (n,)
        Distance of each fitted object to its n-th neighbour.

    Returns
    -------
    array of shape (m,)
        About 1 inside clusters of any density, 0 for one of many copies, large outside.
    """
    is_known = (spacing > 0) & np.isfinite(spacing)
    # Copies of one another say nothing about distances: they count as ordinary objects.
    typical = float(np.median(spacing[is_known])) if is_known.any() else 1.0
    known = np.where(is_known, spacing, typical).astype(np.float64)
    around = np.empty(len(own))

    def average(part: range) -> None:
        rows = slice(part.start, part.stop)
        listed = lists[rows] >= 0
        sums = np.where(listed, known[np.where(listed, lists[rows], 0)], 0.0).sum(axis=1)
        count = listed.sum(axis=1)
        around[rows] = np.where(count > 0, sums / np.maximum(count, 1), typical)

    each(average, pieces(len(own), _ROWS))
    return np.asarray(own / around, dtype=np.float64)


def spacing_of_similarities(values: FloatArray, *, decaying: bool) -> FloatArray:
    """A distance from the largest similarities of each object: infinite if there are none.

    It is the reciprocal of their mean. Similarities that decay exponentially with distance are
    turned back: it is then the distance to the last of them.
    """
    if not decaying:
        mean = values.mean(axis=1) if values.shape[1] else np.zeros(len(values))
        return np.divide(1.0, mean, out=np.full(len(mean), np.inf), where=mean > 0)
    found = np.count_nonzero(values, axis=1)
    if not values.shape[1]:
        return np.full(len(values), np.inf)
    last = values[np.arange(len(values)), np.maximum(found - 1, 0)]
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(found > 0, np.maximum(-np.log(last), 0.0), np.inf))


def strongest(rows: Matrix, *, among_themselves: bool) -> tuple[IntArray, FloatArray]:
    """The largest positive entries of each row, largest first, ties by their columns.

    Parameters
    ----------
    rows : array or CSR of shape (m, n)
        Similarities.
    among_themselves : bool
        Whether row i belongs to object i, whose similarity to itself is left out.

    Returns
    -------
    columns, values : arrays of shape (m, l)
        Columns are -1 and values 0 where a row has fewer positive entries.
    """
    from soffit.affinity.kernels import strongest_of_array, strongest_of_csr

    m, n = rows.shape
    length = min(N_NEIGHBORS, n - 1 if among_themselves else n)
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
