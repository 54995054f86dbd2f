"""Checks of given matrices: similarities or distances, finite, square and symmetric."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._memory import check_allocation
from soffit._threads import row_blocks
from soffit._typing import FloatArray, Matrix, is_sparse

# Largest |A - A.T| that counts as rounding, as a share of the largest entry.
_ASYMMETRY = {4: 1e-5, 8: 1e-8}
_TRIPLES = 20_000
# Beyond these sizes, in single and in double precision, sums of squares overflow or vanish.
_LARGEST = {4: 1e17, 8: 1e140}
_SMALLEST = {4: 1e-17, 8: 1e-140}


def largest_number(dtype: Any) -> float:
    """The largest number whose squares can be added up in a precision."""
    return _LARGEST[np.dtype(dtype).itemsize]


def checked_csr(value: Any, *, what: str, dtype: Any = None, copy: bool = False) -> sp.csr_array:
    """Canonical CSR of any SciPy sparse matrix whose numbers of rows and columns are all in range.

    SciPy and compiled loops follow these numbers without looking: one that is out of range reads
    and writes memory of others. The given matrix is not changed; its arrays are shared if they are
    canonical and no copy is wanted.
    """
    try:
        if value.format in ("csr", "csc", "bsr"):
            # A matrix of its own: the check tidies up, and flags of an earlier state may be wrong.
            arrays = (value.data, value.indices, value.indptr)
            value = type(value)(arrays, shape=value.shape)
            value.check_format(full_check=True)
        elif value.format == "coo":
            value = type(value)((value.data, value.coords), shape=value.shape)
    except ValueError as error:
        raise ValueError(
            f"{what} is not a valid sparse matrix: {error}. It was damaged or put together from "
            "arrays that do not match; make it again, for example from its entries with "
            "scipy.sparse.coo_array."
        ) from error
    matrix = sp.csr_array(value, dtype=dtype, copy=copy)
    if matrix.ndim == 2 and not matrix.has_canonical_format:
        matrix = matrix if copy else matrix.copy()
        matrix.sum_duplicates()
    return matrix


def check_magnitude(A: Matrix, *, what: str, differences: bool) -> None:
    """Refuse numbers whose squares are infinite and, for `differences`, tables of equal squares.

    `A`: finite numbers.
    `what`: name of the matrix in the messages.
    `differences`: whether the rows are compared with each other: all columns being constant is
        fine, but differences so small that their squares vanish would silently be taken for none.
    """
    limit, least = largest_number(A.dtype), _SMALLEST[A.dtype.itemsize]
    if 0 in A.shape:
        return
    if largest_entry(A) > limit:
        row, column, number = _largest_place(A)
        raise ValueError(
            f"{what}[{row}, {column}] = {number:.6g} is too large: numbers are squared, and "
            f"squares of numbers above {limit:g} are infinite in {A.dtype}. Correct the value, or "
            f"divide all numbers by a constant such as {10 * abs(number) / limit:.0e}, or in a "
            f"table of features only those of column {column}."
        )
    if not differences:
        return
    reach = largest_entry(A) if is_sparse(A) else float((A.max(axis=0) - A.min(axis=0)).max())
    if 0 < reach < least:
        raise ValueError(
            f"{what} has no column whose values differ by more than {reach:.3g}: squares of such "
            f"differences vanish in {A.dtype}. Multiply {what} by a constant such as "
            f"{1 / reach:.0e}."
        )


def _largest_place(A: Matrix) -> tuple[int, int, float]:
    """Row, column and value of the largest |entry|."""
    if is_sparse(A):
        at = int(np.abs(A.data).argmax())
        row = int(np.searchsorted(A.indptr, at, side="right")) - 1
        return row, int(A.indices[at]), float(A.data[at])
    row, column = divmod(int(np.abs(A).argmax()), A.shape[1])
    return row, column, float(A[row, column])


def checked_similarities(value: Any, *, what: str, copy: bool = True) -> Matrix:
    """Square, finite, nonnegative, exactly symmetric similarities; `what` starts the messages."""
    A = as_float_matrix(value, what=what, copy=copy)
    check_square(A, what=what)
    _check_similarity_values(A, what=what)
    largest = largest_asymmetry(A)
    if largest > asymmetry_tolerance(A):
        raise ValueError(
            f"{what} must be symmetric, but A and A.T differ by up to {largest:.3g}. "
            "Pass (A + A.T) / 2 if the difference carries no meaning."
        )
    if not is_sparse(A) and _looks_like_distances(A):
        raise ValueError(
            f"{what} looks like distances: its diagonal is zero, the rest is positive and "
            "the triangle inequality holds. Pass metric='precomputed' with "
            "affinity='nearest_neighbors' or affinity='relative'; if these really are "
            "similarities, set the diagonal to each object's similarity to itself."
        )
    return _canonical(A if largest == 0 else (A + A.T) * A.dtype.type(0.5))


def checked_similarity_block(value: Any, n: int, *, what: str) -> Matrix:
    """Finite, nonnegative (m, n) similarities of new objects to the fitted ones."""
    B = as_float_matrix(value, what=what)
    check_width(B, n, what=what)
    _check_similarity_values(B, what=what)
    return _canonical(B)


def checked_distances(value: Any) -> Matrix:
    """Known distances: finite, >= 0, exactly symmetric, zero diagonal; sparse stays sparse."""
    what = "the precomputed distance matrix"
    D = _nonnegative_distances(value, what=what)
    check_square(D, what=what)
    _check_zero_diagonal(D, what=what)
    if is_sparse(D):
        return _both_directions(D)
    largest = largest_asymmetry(D)
    _check_asymmetry(largest, asymmetry_tolerance(D))
    if largest > 0:
        D = (D + D.T) * D.dtype.type(0.5)
    np.fill_diagonal(D, 0)
    return D


def checked_distance_block(value: Any, n: int) -> Matrix:
    """Known (m, n) distances of new objects to the fitted ones."""
    what = "the block of precomputed distances"
    D = _nonnegative_distances(value, what=what)
    check_width(D, n, what=what)
    return D


def as_float_matrix(value: Any, *, what: str, copy: bool = True) -> Matrix:
    """A float array or CSR matrix of the values; float32 is kept, all else becomes float64."""
    if is_sparse(value):
        dtype = _float_dtype(value.dtype, what=what)
        # The copy lets the clean-up below work in place without touching the caller's arrays.
        matrix = checked_csr(value, what=what, dtype=dtype, copy=True)
    else:
        array = np.asarray(value)
        if array.ndim != 2:
            raise ValueError(f"{what} must be two-dimensional, not of shape {array.shape}.")
        dtype = _float_dtype(array.dtype, what=what)
        if copy or array.dtype != dtype:
            remedy = "Pass it as a SciPy sparse matrix if most entries are zero or unknown."
            check_allocation(array.shape, dtype, what=what, remedy=remedy)
            array = array.astype(dtype)
        matrix = array
    if 0 in matrix.shape:
        raise ValueError(f"{what} is empty: its shape is {matrix.shape}.")
    check_finite(matrix, what=what)
    check_magnitude(matrix, what=what, differences=False)
    largest = largest_entry(matrix)
    if 0 < largest < _SMALLEST[matrix.dtype.itemsize]:
        raise ValueError(
            f"{what} has no entry above {largest:.3g}: squares of such numbers vanish in "
            f"{matrix.dtype}. Multiply it by a constant such as {1 / largest:.0e}."
        )
    return matrix


def check_square(A: Matrix, *, what: str) -> None:
    if A.shape[0] != A.shape[1]:
        raise ValueError(
            f"{what} must be square, not {A.shape[0]} x {A.shape[1]}: "
            "one row and one column per object."
        )


def check_width(A: Matrix, n: int, *, what: str) -> None:
    if A.shape[1] != n:
        raise ValueError(
            f"{what} must have n = {n} columns, one per fitted object, not {A.shape[1]}: "
            f"pass an (m, {n}) matrix, new objects in the rows."
        )


def check_finite(A: Matrix, *, what: str) -> None:
    count = sum(int(np.count_nonzero(~np.isfinite(values))) for values in _value_blocks(A))
    if count:
        raise ValueError(
            f"{what} must be finite, but {count} of its entries are NaN or infinite. "
            "Replace them, or pass a SciPy sparse matrix that stores only the known entries."
        )


def largest_asymmetry(A: Matrix) -> float:
    """Largest |A - A.T|."""
    if is_sparse(A):
        difference = abs(A - A.T)
        return float(difference.max()) if difference.nnz else 0.0
    return max(float(np.abs(A[rows] - A[:, rows].T).max()) for rows in row_blocks(A.shape))


def asymmetry_tolerance(A: Matrix) -> float:
    """Asymmetry that rounding can explain."""
    return _ASYMMETRY[A.dtype.itemsize] * largest_entry(A)


def largest_entry(A: Matrix) -> float:
    """Largest |entry|, 0 if nothing is stored."""
    return max((float(np.abs(values).max()) for values in _value_blocks(A)), default=0.0)


def mirror_upper(A: FloatArray) -> None:
    """Copy the upper triangle onto the lower one, in place."""
    for rows in row_blocks(A.shape):
        A[rows.stop :, rows] = A[rows, rows.stop :].T
        square = A[rows, rows]
        square[...] = np.triu(square) + np.triu(square, 1).T


def _float_dtype(dtype: np.dtype[Any], *, what: str) -> np.dtype[Any]:
    if dtype.kind not in "buif":
        raise TypeError(
            f"{what} must hold real numbers, not dtype {dtype}. Convert it with astype(float)."
        )
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def _value_blocks(A: Matrix) -> Iterator[FloatArray]:
    """The stored values in pieces, so that checks need no second matrix."""
    if is_sparse(A):
        if A.nnz:
            yield A.data
        return
    for rows in row_blocks(A.shape):
        yield A[rows]


def _check_similarity_values(A: Matrix, *, what: str) -> None:
    negative = sum(int(np.count_nonzero(values < 0)) for values in _value_blocks(A))
    if negative:
        smallest = min(float(values.min()) for values in _value_blocks(A))
        raise ValueError(
            f"{what} must be nonnegative, but {negative} entries are negative "
            f"(the smallest is {smallest:.3g}). Shift them, A - A.min(), or clip them, "
            "np.maximum(A, 0)."
        )


def _canonical(A: Matrix) -> Matrix:
    """CSR with sorted indices and no stored zeros; an array as it is."""
    if not is_sparse(A):
        return A
    A = sp.csr_array(A)
    A.eliminate_zeros()
    A.sort_indices()
    return A


def _looks_like_distances(A: FloatArray) -> bool:
    """Whether zero diagonal, positive rest and triangle inequality indicate distances."""
    n = A.shape[0]
    # Below five objects there are too few triples for the triangle inequality to be evidence.
    if n < 5 or np.any(np.diagonal(A)):
        return False
    if any(np.count_nonzero(A[rows]) < A[rows].shape[0] * (n - 1) for rows in row_blocks(A.shape)):
        return False
    # The fixed seed gives the same result for the same matrix.
    triples = np.random.default_rng(7919).integers(n, size=(_TRIPLES, 3))
    i, j, k = triples[(triples != np.roll(triples, 1, axis=1)).all(axis=1)].T
    sides = np.stack([A[i, j], A[j, k], A[k, i]]).astype(np.float64)
    # Values within a factor two of each other always satisfy the triangle inequality.
    if sides.max() <= 2 * sides.min():
        return False
    longest = sides.max(axis=0)
    return bool(np.all(longest <= (sides.sum(axis=0) - longest) * (1 + 1e-6)))


def _nonnegative_distances(value: Any, *, what: str) -> Matrix:
    D = as_float_matrix(value, what=what)
    values: FloatArray = D.data if is_sparse(D) else D
    smallest = float(values.min()) if values.size else 0.0
    if smallest < 0:
        raise ValueError(
            f"{what} must be >= 0, but its smallest entry is {smallest:.3g}. "
            "If these are similarities, pass affinity='precomputed'."
        )
    return D


def _check_zero_diagonal(D: Matrix, *, what: str) -> None:
    diagonal = D.diagonal()
    largest = float(diagonal.max())
    overall = largest_entry(D)
    if largest <= 1e-6 * overall:
        return
    if float(diagonal.min()) >= 0.999 * overall:
        guess = "These look like similarities: pass affinity='precomputed'."
    else:
        guess = "Set it to 0; if these are similarities, pass affinity='precomputed'."
    raise ValueError(f"{what} must have a zero diagonal, but it reaches {largest:.3g}. {guess}")


def _check_asymmetry(largest: float, tolerance: float) -> None:
    if largest > tolerance:
        raise ValueError(
            f"the precomputed distance matrix must be symmetric, but D and D.T differ by up to "
            f"{largest:.3g}. Pass (D + D.T) / 2 if the difference carries no meaning."
        )


def _both_directions(D: sp.csr_array) -> sp.csr_array:
    """Known distances in both directions, stored zeros kept, with a stored zero diagonal."""
    n = D.shape[0]
    known = D.tocoo()
    off = known.row != known.col
    rows = np.concatenate([known.row[off], known.col[off], np.arange(n)])
    columns = np.concatenate([known.col[off], known.row[off], np.arange(n)])
    values = np.concatenate([known.data[off], known.data[off], np.zeros(n, dtype=D.dtype)])
    order = np.lexsort((columns, rows))
    rows, columns, values = rows[order], columns[order], values[order]
    new = np.concatenate([[True], (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])])
    first = np.flatnonzero(new)
    largest = np.maximum.reduceat(values, first)
    difference = largest - np.minimum.reduceat(values, first)
    _check_asymmetry(float(difference.max()), asymmetry_tolerance(D))
    return sp.csr_array((largest, (rows[first], columns[first])), shape=D.shape)
