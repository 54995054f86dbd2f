"""Operations on a symmetric matrix, stored as an array or as CSR."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse

# Below so many products SciPy is done before a thread has begun.
_FEW = 2**22
_ROWS = 2**14
_PIECES = 16


def product(A: Matrix, V: FloatArray) -> FloatArray:
    """A times the (n, k) array V."""
    if not is_sparse(A) or A.nnz * V.shape[1] < _FEW:
        return np.asarray(A @ V)
    from soffit.graph_kernels import multiply_rows

    V = np.ascontiguousarray(V)
    result = np.empty((A.shape[0], V.shape[1]), dtype=np.result_type(A.dtype, V.dtype))

    def multiply(rows: range) -> None:
        multiply_rows(A.indptr, A.indices, A.data, V, result, rows.start, rows.stop)

    # Small pieces of small matrices: no thread waits long for the last one.
    each(multiply, pieces(A.shape[0], min(_ROWS, -(-A.shape[0] // _PIECES))))
    return result


def scaled_rows(A: sp.csr_array, left: FloatArray, right: FloatArray) -> sp.csr_array:
    """diag(left) A diag(right) in the precision of A."""
    from soffit.graph_kernels import scale_rows

    data = np.empty_like(A.data)

    def scale(rows: range) -> None:
        scale_rows(A.indptr, A.indices, A.data, left, right, data, rows.start, rows.stop)

    each(scale, pieces(A.shape[0], _ROWS))
    return sp.csr_array((data, A.indices.copy(), A.indptr.copy()), shape=A.shape)


def column_forms(A: Matrix, U: FloatArray, *, diagonal: bool = True) -> FloatArray:
    """The forms u'A u of all columns u of U, in double precision, with or without the diagonal."""
    if is_sparse(A) and A.nnz * U.shape[1] >= _FEW:
        from soffit.graph_kernels import forms_of_rows

        def form(rows: range) -> FloatArray:
            return np.asarray(
                forms_of_rows(A.indptr, A.indices, A.data, U, rows.start, rows.stop, diagonal)
            )

        # Summed in the order of the pieces.
        return np.sum(each(form, pieces(A.shape[0], _ROWS)), axis=0)
    forms = np.einsum("ic,ic->c", U, A @ U, dtype=np.float64)
    if not diagonal:
        own = np.asarray(A.diagonal())
        if own.any():
            forms -= (own[:, None] * U * U).sum(axis=0, dtype=np.float64)
    return np.asarray(forms)


@dataclass(frozen=True, eq=False)
class Locality:
    """An order of the objects in which tied ones lie near one another in memory."""

    order: IntArray

    def matrix(self, A: sp.csr_array) -> sp.csr_array:
        """Rows and columns in this order."""
        from soffit.graph_kernels import permute_rows

        n = len(self.order)
        place = self._places(A.indices.dtype)
        indptr = np.zeros(n + 1, dtype=A.indptr.dtype)
        np.cumsum(np.diff(A.indptr)[self.order], out=indptr[1:])
        indices, data = np.empty_like(A.indices), np.empty_like(A.data)

        def permute(rows: range) -> None:
            permute_rows(
                A.indptr, A.indices, A.data, self.order, place,
                indptr, indices, data, rows.start, rows.stop,
            )  # fmt: skip

        each(permute, pieces(n, _ROWS))
        return sp.csr_array((data, indices, indptr), shape=A.shape)

    def rows(self, V: FloatArray) -> FloatArray:
        """The rows of an array in this order."""
        return np.take(V, self.order, axis=0)

    def back(self, V: FloatArray, *, out: FloatArray | None = None) -> FloatArray:
        """Rows in this order, put back into the objects' own order, and into `out` if given."""
        # Only with "clip" NumPy writes there at once; all places are valid.
        mode: Literal["clip", "raise"] = "raise" if out is None else "clip"
        return np.take(V, self._places(self.order.dtype), axis=0, out=out, mode=mode)

    def _places(self, dtype: DTypeLike) -> IntArray:
        """Where each object has gone."""
        place = np.empty(len(self.order), dtype=dtype)
        place[self.order] = np.arange(len(self.order))
        return place


# A separate component below this share of an even cluster is no cluster, but a stray group.
_STRAY_SHARE = 0.02


def without_diagonal(A: Matrix) -> Matrix:
    """A with zero self-similarities, which say nothing about clusters; A itself if they are."""
    if not np.any(A.diagonal()):
        return A
    if is_sparse(A):
        trimmed = sp.csr_array(A - sp.diags_array(A.diagonal(), dtype=A.dtype))
        trimmed.eliminate_zeros()
        return trimmed
    trimmed = A.copy()
    np.fill_diagonal(trimmed, 0.0)
    return trimmed


def same_entries(A: Matrix, B: Matrix) -> bool:
    """Whether two matrices are equal in storage and in every entry."""
    if A is B:
        return True
    if A.shape != B.shape or A.dtype != B.dtype or is_sparse(A) != is_sparse(B):
        return False
    if is_sparse(A) and is_sparse(B):
        return (
            np.array_equal(A.indptr, B.indptr)
            and np.array_equal(A.indices, B.indices)
            and np.array_equal(A.data, B.data)
        )
    return np.array_equal(A, B)


def with_positive_diagonal(K: Matrix) -> Matrix:
    """K where each object is at least as similar to itself as to others, if it was not at all.

    A positive diagonal guarantees that a doubly stochastic scaling exists.
    """
    diagonal = np.asarray(K.diagonal())
    if np.all(diagonal > 0):
        return K
    largest = K.max(axis=1).toarray().ravel() if is_sparse(K) else K.max(axis=1)
    missing = np.where(diagonal > 0, 0, largest).astype(K.dtype)
    if is_sparse(K):
        return sp.csr_array(K + sp.diags_array(missing))
    K = K.copy()
    K[np.diag_indices(len(K))] += missing
    return K


def without_strays(A: Matrix, n_clusters: int) -> Matrix:
    """A without the ties inside tiny separate components, so that none passes for a cluster.

    Their objects become unlinked: which cluster they belong to is not known. Nothing is removed
    where that would leave less than half of the objects.
    """
    if not is_sparse(A):
        return A
    from soffit.graph_kernels import components_of_rows

    count, component = components_of_rows(A.indptr, A.indices)
    if count == 1:
        return A
    n = A.shape[0]
    sizes = np.bincount(component)
    stray = (sizes < _STRAY_SHARE * n / n_clusters)[component]
    if not stray.any() or 2 * stray.sum() > n:
        return A
    keep: FloatArray = (~stray).astype(A.dtype)
    trimmed = sp.csr_array(sp.diags_array(keep) @ A)
    trimmed.eliminate_zeros()
    trimmed.sort_indices()
    return trimmed
