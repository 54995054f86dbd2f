"""Equal objects: which rows of a table are copies of each other.

Counts, grades and rounded measurements repeat. To a neighbour graph, copies are a defect: an object
whose nearest neighbours are all copies of it is linked to nothing else, and has no scale of
distances. Models therefore fit each distinct object once, with the number of its copies as weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from soffit._typing import IntArray, is_sparse
from soffit.graph import row_numbers

Codes = NDArray[np.uint64]

# Columns read at a time: of most tables the first shows that all rows differ.
_FIRST, _GROWTH = 1, 4
# Constants of the generator SplitMix64, whose output has no visible pattern.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_A, _MIX_B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def copies_of_rows(table: Any) -> IntArray | None:
    """The number of each row's distinct object; None if no two rows are equal.

    Parameters
    ----------
    table : ndarray or csr_array of shape (n, d)
        Finite numbers. Zero and minus zero are equal.

    Returns
    -------
    int array of shape (n,) or None
        Distinct objects are numbered in the order of their first rows.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity.distinct import copies_of_rows
    >>> copies_of_rows(np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 2.0]]))
    array([0, 1, 0])
    """
    if table.shape[0] < 2:
        return None
    if table.shape[1] == 0:
        return np.zeros(table.shape[0], dtype=np.int64)
    codes = _codes_of_sparse(table) if is_sparse(table) else _codes_of_dense(table)
    return None if codes is None else numbered(codes)


def first_rows(copies: IntArray) -> IntArray:
    """The first row of each distinct object."""
    return np.unique(copies, return_index=True)[1]


def repeated_rows(table: Any) -> IntArray:
    """Rows that are equal to an earlier one; the same values may be missing."""
    copies = copies_of_rows(table)
    every = np.arange(table.shape[0])
    return every[:0] if copies is None else np.setdiff1d(every, first_rows(copies))


def numbered(codes: NDArray[Any]) -> IntArray | None:
    """Numbers of the distinct codes in the order of their first places; None if all differ."""
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    if len(first) == len(codes):
        return None
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.asarray(rank[inverse.ravel()])


def _codes_of_dense(table: Any) -> Codes | None:
    """A code per row; None if all differ.

    Different rows have the same code of 64 bits with a chance of 1e-7 per million rows.
    """
    n, d = table.shape
    codes = np.zeros(n, dtype=np.uint64)
    open_rows: IntArray = np.arange(n)
    first, size = 0, _FIRST
    while first < d:
        # Rows that differ in the columns so far are read no further.
        part = np.asarray(table[open_rows, first : first + size])
        code = codes[open_rows]
        for column in range(part.shape[1]):
            code = mixed((code + _STEP) ^ _bits(part[:, column]))
        codes[open_rows] = code
        open_rows = open_rows[_repeated(code)]
        if len(open_rows) == 0:
            return None
        first, size = first + size, size * _GROWTH
    return codes


def _codes_of_sparse(table: Any) -> Codes | None:
    n = table.shape[0]
    stored = table.copy()
    stored.sum_duplicates()
    stored.eliminate_zeros()
    codes = np.zeros(n, dtype=np.uint64)
    if stored.nnz:
        rows = row_numbers(stored)
        entry = mixed((stored.indices.astype(np.uint64) * _STEP) ^ _bits(stored.data))
        np.add.at(codes, rows, entry)
    return codes if _repeated(codes).any() else None


def mixed(codes: Codes) -> Codes:
    """Codes in which every bit depends on every bit: the finalizer of SplitMix64."""
    codes = (codes ^ (codes >> np.uint64(30))) * _MIX_A
    codes = (codes ^ (codes >> np.uint64(27))) * _MIX_B
    return np.asarray(codes ^ (codes >> np.uint64(31)))


def _bits(values: Any) -> Codes:
    """The bits of numbers; adding zero makes minus zero plus zero."""
    wide = np.asarray(values, dtype=np.float64) + 0.0
    return np.asarray(wide.view(np.uint64))


def _repeated(codes: Codes) -> NDArray[np.bool_]:
    """Which codes occur more than once."""
    order = np.argsort(codes, kind="stable")
    same = codes[order][1:] == codes[order][:-1]
    repeated = np.zeros(len(codes), dtype=bool)
    repeated[order[1:][same]] = True
    repeated[order[:-1][same]] = True
    return repeated


@dataclass(frozen=True, eq=False)
class DistinctColumns:
    """The columns of distinct objects in rows of distances to all objects."""

    kept: IntArray
    n_objects: int
    center: ClassVar[None] = None
    _arrays: ClassVar[dict[str, str]] = {"kept": "int * <p", "n_objects": "size p"}

    def apply(self, table: Any) -> Any:
        """Distances to the distinct objects."""
        return table[:, self.kept]

    def grown(self, m: int) -> DistinctColumns:
        """The same with m further objects, which are all distinct."""
        further = self.n_objects + np.arange(m)
        return DistinctColumns(np.concatenate([self.kept, further]), self.n_objects + m)
