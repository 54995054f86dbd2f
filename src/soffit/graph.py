"""Weights between objects, dense or sparse: storage is decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike
from scipy.sparse.csgraph import connected_components

from soffit._matrix_checks import mirror_upper
from soffit._memory import check_allocation
from soffit._threads import each, pieces, row_blocks
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse

Result = TypeVar("Result")

# Below this number of products, SciPy finishes before a thread has started.
_FEW = 2**22
# Below this number of weights, NumPy finishes before a compiled loop is loaded.
_FEW_EDGES = 2**14
_ROWS = 2**14
_PIECES = 16
# Rows of a dense matrix that the search for components reads at once.
_FRONTIER = 256
# A separate component below this share of an even cluster is a stray group, not a cluster.
_STRAY_SHARE = 0.02


@dataclass(frozen=True, eq=False)
class Graph:
    """Nonnegative weights of pairs of objects, as an array or in CSR form.

    The weights are symmetric, except in blocks: rows of new objects with one column per object of
    the graph support `degrees`, `product`, `scaled`, `values` and `array` as well. Functions that
    take a matrix start with ``Graph.of(matrix)`` and are then the same for both storages. A graph
    is a view and copies nothing.

    Parameters
    ----------
    matrix : ndarray or csr_array of shape (n, n)
        The weights.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from soffit.graph import Graph
    >>> A = np.array([[1.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 5.0]])
    >>> for graph in (Graph.of(A), Graph.of(sp.csr_array(A))):
    ...     graph.degrees(), graph.components()
    (array([3., 2., 5.]), array([0, 0, 1], dtype=int32))
    (array([3., 2., 5.]), array([0, 0, 1], dtype=int32))
    """

    matrix: Matrix

    @classmethod
    def of(cls, weights: Any) -> Graph:
        """The graph of an array or of any SciPy sparse matrix; a graph is returned unchanged."""
        if isinstance(weights, Graph):
            return weights
        if is_sparse(weights):
            return cls(weights if isinstance(weights, sp.csr_array) else sp.csr_array(weights))
        return cls(np.asarray(weights))

    # --- properties ----------------------------------------------------------------------------

    @property
    def is_sparse(self) -> bool:
        """Whether the weights are stored in CSR form, as compiled loops over edges require."""
        return is_sparse(self.matrix)

    @property
    def csr(self) -> sp.csr_array:
        """The matrix of a sparse graph, for compiled loops over its edges."""
        if not is_sparse(self.matrix):
            raise TypeError("This graph is an array; check `is_sparse` before reading its edges.")
        return self.matrix

    def edges(self) -> tuple[IntArray, IntArray, FloatArray]:
        """`indptr`, `indices` and `data` of a sparse graph, for compiled loops.

        Numbers are short where they suffice, and weights are in double precision: a loop is
        compiled once, whatever the graph was made of.
        """
        A = self.csr
        dtype = np.int32 if max(A.nnz, *A.shape) < np.iinfo(np.int32).max else np.int64
        return (
            A.indptr.astype(dtype, copy=False),
            A.indices.astype(dtype, copy=False),
            A.data.astype(np.float64, copy=False),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return int(self.matrix.shape[0]), int(self.matrix.shape[1])

    @property
    def n(self) -> int:
        """Number of objects."""
        return int(self.matrix.shape[0])

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """Precision of the weights."""
        return np.dtype(self.matrix.dtype)

    @property
    def values(self) -> FloatArray:
        """The stored weights, in the shape of their storage; not a copy."""
        return np.asarray(self.matrix.data if is_sparse(self.matrix) else self.matrix)

    @property
    def n_stored(self) -> int:
        """Number of stored weights: the cost of a pass over the graph."""
        return int(self.values.size)

    def diagonal(self) -> FloatArray:
        """Weight of each object with itself."""
        return np.asarray(self.matrix.diagonal())

    def array(self, rows: slice = slice(None)) -> FloatArray:
        """Some rows as an array; a view if the storage is dense."""
        return as_array(self.matrix[rows])

    def at(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """Weights of the given pairs."""
        if not len(rows):
            return np.zeros(0, dtype=self.dtype)
        return np.asarray(self.matrix[rows, columns]).ravel()

    # --- sums, products and extremes -------------------------------------------------------------

    def degrees(self) -> FloatArray:
        """Sum of the weights of each object, in double precision.

        SciPy adds the few weights of a sparse row in their own precision.
        """
        return np.asarray(self.matrix.sum(axis=1, dtype=np.float64)).ravel()

    def linked(self) -> IntArray:
        """The objects with a positive degree, in ascending order."""
        return np.flatnonzero(self.degrees() > 0)

    def product(self, V: FloatArray) -> FloatArray:
        """The matrix times the (n, k) array V, in pieces that do not depend on the threads."""
        A = self.matrix
        if is_sparse(A):
            return self._sparse_product(V)
        result = np.empty((A.shape[0], V.shape[1]), dtype=np.result_type(A.dtype, V.dtype))

        def multiply(rows: slice) -> None:
            np.matmul(A[rows], V, out=result[rows])

        each(multiply, row_blocks(A.shape))
        return result

    def _sparse_product(self, V: FloatArray) -> FloatArray:
        A = self.csr
        if A.nnz * V.shape[1] < _FEW:
            return np.asarray(A @ V)
        from soffit.graph_kernels import multiply_rows

        V = np.ascontiguousarray(V)
        result = np.empty((A.shape[0], V.shape[1]), dtype=np.result_type(A.dtype, V.dtype))

        def multiply(rows: range) -> None:
            multiply_rows(A.indptr, A.indices, A.data, V, result, rows.start, rows.stop)

        # Small pieces for small matrices: no thread waits long for the last one.
        each(multiply, pieces(A.shape[0], min(_ROWS, -(-A.shape[0] // _PIECES))))
        return result

    def column_forms(self, U: FloatArray, *, diagonal: bool = True) -> FloatArray:
        """The forms u'A u of all columns u of U, in double precision, with or without diagonal."""
        A = self.matrix
        if is_sparse(A) and A.nnz * U.shape[1] >= _FEW:
            from soffit.graph_kernels import forms_of_rows

            edges, columns = self.edges(), np.ascontiguousarray(U, dtype=np.float64)

            def form(rows: range) -> FloatArray:
                return np.asarray(forms_of_rows(*edges, columns, rows.start, rows.stop, diagonal))

            # Summed in the order of the pieces.
            return np.sum(each(form, pieces(A.shape[0], _ROWS)), axis=0)
        forms = np.einsum("ic,ic->c", U, A @ U, dtype=np.float64)
        if not diagonal:
            own = self.diagonal()
            if own.any():
                forms -= (own[:, None] * U * U).sum(axis=0, dtype=np.float64)
        return np.asarray(forms)

    def between(self, labels: IntArray, n_groups: int) -> FloatArray:
        """Total weight between every two groups of objects, in double precision."""
        A, labels = self.matrix, np.asarray(labels, dtype=np.int64)
        if is_sparse(A):
            if A.nnz < _FEW_EDGES:
                pairs = np.repeat(labels * n_groups, np.diff(A.indptr)) + labels[A.indices]
                sums = np.bincount(pairs, A.data, minlength=n_groups**2)
                return sums.astype(np.float64).reshape(n_groups, n_groups)
            from soffit.graph_kernels import weights_between

            return np.asarray(weights_between(*self.edges(), labels, n_groups))
        n = len(labels)
        indicator = sp.csr_array((np.ones(n), (np.arange(n), labels)), shape=(n, n_groups))
        columns = indicator.toarray()
        total = np.zeros((n_groups, n_groups))
        for rows in row_blocks(A.shape):
            total += indicator[rows].T @ (A[rows] @ columns)
        return total

    def inside(self, labels: IntArray) -> FloatArray:
        """Total weight of each object with the objects of its own group, in double precision."""
        A, n = self.matrix, len(labels)
        if is_sparse(A):
            rows = row_numbers(A)
            same = labels[rows] == labels[A.indices]
            return np.bincount(rows[same], A.data[same], minlength=n).astype(np.float64)
        total = np.zeros(n)
        for group in np.unique(labels):
            members = np.flatnonzero(labels == group)
            total[members] = A[np.ix_(members, members)].sum(axis=1, dtype=np.float64)
        return total

    def row_max(self) -> FloatArray:
        """The largest weight of each object; at least 0 in CSR form, where zeros are not stored."""
        return as_array(self.matrix.max(axis=1)).ravel()

    def squared_norm(self, *, diagonal: bool = True) -> float:
        """Sum of squared weights, in double precision, with or without the diagonal."""
        values = self.values.ravel()
        total = float(np.dot(values, values)) if values.dtype == np.float64 else _dot64(values)
        if not diagonal:
            own = np.asarray(self.diagonal(), dtype=np.float64)
            total -= float(np.dot(own, own))
        return total

    def range_of_pairs(self) -> tuple[float, float]:
        """The smallest and the largest weight of two different objects, and zero."""
        ranges = [(v.min(initial=0.0), v.max(initial=0.0)) for v in self._off_diagonal()]
        return float(min(low for low, _ in ranges)), float(max(high for _, high in ranges))

    def _off_diagonal(self) -> Iterator[FloatArray]:
        A = self.matrix
        if is_sparse(A):
            yield A.data[row_numbers(A) != A.indices]
            return
        for rows in row_blocks(A.shape):
            piece = A[rows].copy()
            np.fill_diagonal(piece[:, rows], 0.0)
            yield piece

    def over_pairs(
        self,
        function: Callable[[FloatArray, FloatArray], Result],
        left: FloatArray,
        right: FloatArray,
    ) -> list[Result]:
        """Results of function(a_ij, left_i right_j) for the stored weights, piece by piece.

        The weights are views: writing to them changes the matrix.
        """
        A = self.matrix
        if not is_sparse(A):
            return each(
                lambda rows: function(A[rows], left[rows, None] * right), row_blocks(A.shape)
            )

        def apply(rows: range) -> Result:
            begins = A.indptr[rows.start : rows.stop + 1]
            entries = slice(begins[0], begins[-1])
            own = np.repeat(left[rows.start : rows.stop], np.diff(begins))
            return function(A.data[entries], own * right[A.indices[entries]])

        return each(apply, pieces(A.shape[0], _ROWS))

    # --- structure -------------------------------------------------------------------------------

    def components(self) -> IntArray:
        """The connected component of each object, numbered in the order of their first objects."""
        A = self.matrix
        if is_sparse(A):
            return np.asarray(connected_components(A, directed=False)[1])
        component = np.full(len(A), -1, dtype=np.int32)
        count = 0
        while (component < 0).any():
            frontier: IntArray = np.flatnonzero(component < 0)[:1]
            while len(frontier):
                component[frontier] = count
                frontier = self._reached(frontier, component < 0)
            count += 1
        return component

    def _reached(self, frontier: IntArray, free: Any) -> IntArray:
        """The free objects linked to one of the frontier, in a dense matrix."""
        reached = np.zeros(len(free), dtype=bool)
        for first in range(0, len(frontier), _FRONTIER):
            if reached[free].all():
                break
            reached |= (self.matrix[frontier[first : first + _FRONTIER]] > 0).any(axis=0)
        return np.flatnonzero(reached & free)

    def subgraph(self, objects: IntArray) -> Graph:
        """The weights among some objects, in the given order; the graph itself for all of them."""
        if len(objects) == self.n and np.array_equal(objects, np.arange(self.n)):
            return self
        return self.permuted(objects)

    def permuted(self, order: IntArray) -> Graph:
        """The same graph with its objects, or some of them, in another order."""
        A = self.matrix
        if not is_sparse(A):
            return Graph(A[np.ix_(order, order)])
        if len(order) < self.n or A.nnz <= _FEW_EDGES:
            part = A[order][:, order]
            part.sort_indices()
            return Graph(part)
        from soffit.graph_kernels import permute_rows

        edges = self.edges()
        place = inverse_order(order, edges[0].dtype)
        indptr = np.zeros(len(order) + 1, dtype=edges[0].dtype)
        np.cumsum(np.diff(A.indptr)[order], out=indptr[1:])
        indices, data = np.empty_like(edges[1]), np.empty_like(edges[2])
        order = np.asarray(order, dtype=place.dtype)

        def permute(rows: range) -> None:
            permute_rows(*edges, order, place, indptr, indices, data, rows.start, rows.stop)

        each(permute, pieces(len(order), _ROWS))
        data = data.astype(A.dtype, copy=False)
        return Graph(sp.csr_array((data, indices, indptr), shape=A.shape))

    # --- other weights ---------------------------------------------------------------------------

    def scaled(self, left: FloatArray, right: FloatArray) -> Graph:
        """diag(left) A diag(right) in the same storage, exactly symmetric if left is right."""
        A = self.matrix
        if not is_sparse(A):
            remedy = "Use affinity='nearest_neighbors' with normalization='degree' or 'sinkhorn'."
            what = "the normalized affinity matrix"
            check_allocation(A.shape, A.dtype, what=what, remedy=remedy)
            out = np.empty(A.shape, dtype=A.dtype)
            for block in row_blocks(A.shape):
                out[block] = A[block] * (left[block, None] * right)
            return Graph(out)
        data = np.empty_like(A.data)

        def scale(rows: range) -> None:
            begins = A.indptr[rows.start : rows.stop + 1]
            entries = slice(begins[0], begins[-1])
            # The two factors are multiplied first: x_i x_j is symmetric, (a_ij x_i) x_j is not.
            factors = np.repeat(left[rows.start : rows.stop], np.diff(begins))
            factors *= right[A.indices[entries]]
            np.multiply(A.data[entries], factors, out=data[entries], casting="same_kind")

        each(scale, pieces(A.shape[0], _ROWS))
        return Graph(sp.csr_array((data, A.indices.copy(), A.indptr.copy()), shape=A.shape))

    def plus(self, extra: sp.csr_array) -> Graph:
        """The sum with a few further weights; zeros are not stored."""
        A = self.matrix
        if is_sparse(A):
            return Graph(canonical(A + extra))
        total = A.copy()
        entries = extra.tocoo()
        total[entries.row, entries.col] += entries.data
        return Graph(total)

    def at_least(self, floor: sp.csr_array) -> Graph:
        """The weights, raised where `floor` is higher."""
        A = self.matrix
        if is_sparse(A):
            return Graph(sp.csr_array(A.maximum(floor)))
        raised = A.copy()
        entries = floor.tocoo()
        place = entries.row, entries.col
        raised[place] = np.maximum(raised[place], entries.data)
        return Graph(raised)

    def without_negative(self) -> Graph:
        """Negative weights replaced by zero; the graph itself if there are none."""
        A = self.matrix
        if self.values.min(initial=0.0) >= 0:
            return self
        if not is_sparse(A):
            return Graph(np.maximum(A, 0))
        # Not A.maximum(0), which shares its indices with A in older releases of SciPy.
        cut = sp.csr_array(A, copy=True)
        cut.data = np.maximum(cut.data, 0)
        return Graph(canonical(cut))

    def with_positive_diagonal(self) -> Graph:
        """Objects without self-similarity get their largest similarity to others.

        A positive diagonal guarantees that a doubly stochastic scaling exists.
        """
        own = self.diagonal()
        if np.all(own > 0):
            return self
        missing = np.where(own > 0, 0, self.row_max()).astype(self.dtype)
        return self.plus(sp.csr_array(sp.diags_array(missing)))

    def without_zeros(self) -> Graph:
        """No stored zeros, columns in order; sparse weights are rewritten in place."""
        if is_sparse(self.matrix):
            self.matrix.eliminate_zeros()
            self.matrix.sort_indices()
        return self

    def without_diagonal(self) -> Graph:
        """Self-similarities set to zero, as they say nothing about clusters; itself if they are."""
        A, own = self.matrix, self.diagonal()
        if not np.any(own):
            return self
        if is_sparse(A):
            return Graph(canonical(A - sp.diags_array(own, dtype=A.dtype)))
        trimmed = A.copy()
        np.fill_diagonal(trimmed, 0.0)
        return Graph(trimmed)

    def is_full(self) -> bool:
        """Whether more than half of all pairs of objects are linked."""
        pairs = np.count_nonzero(self.values) - np.count_nonzero(self.diagonal())
        return bool(2 * pairs > self.n * (self.n - 1))

    def above_expected(self, left: FloatArray, right: FloatArray) -> Graph:
        """Weights above those that degrees alone predict; zero for all others.

        Parameters
        ----------
        left : array of shape (m,)
            Degrees of the rows.
        right : array of shape (n,)
            Degrees of the columns, the sum of which is the weight of all links.
        """
        share = np.divide(right, right.sum(), out=np.zeros_like(right), where=right > 0)
        if self.is_sparse:
            A = self.csr.copy()
            excess = A.data - left[row_numbers(A)] * share[A.indices]
            A.data = np.maximum(excess, 0).astype(A.dtype)
            A.eliminate_zeros()
            return Graph.of(A)
        excess = np.multiply.outer(left, share).astype(self.dtype)
        np.subtract(self.matrix, excess, out=excess)
        return Graph.of(np.maximum(excess, 0, out=excess))

    def without_strays(self, n_clusters: int) -> Graph:
        """Without the edges inside tiny separate components, so that none becomes a cluster.

        Their objects become isolated: their cluster is unknown. Nothing is removed if less than
        half of the objects would remain.
        """
        component = self.components()
        sizes = np.bincount(component)
        stray = (sizes < _STRAY_SHARE * self.n / n_clusters)[component]
        if len(sizes) == 1 or not stray.any() or 2 * stray.sum() > self.n:
            return self
        A = self.matrix
        if is_sparse(A):
            return Graph(canonical(sp.diags_array((~stray).astype(A.dtype)) @ A))
        trimmed = A.copy()
        trimmed[stray] = 0.0
        return Graph(trimmed)


@dataclass(frozen=True, eq=False)
class Locality:
    """An order of the objects in which linked ones are close in memory."""

    order: IntArray

    @classmethod
    def beginning_with(cls, objects: IntArray, n: int) -> Locality | None:
        """Some of n objects, then the others; None if the first are in ascending order."""
        if bool(np.all(objects[:-1] < objects[1:])):
            return None
        is_other = np.ones(n, dtype=bool)
        is_other[objects] = False
        return cls(np.concatenate([objects, np.flatnonzero(is_other)]))

    def matrix(self, A: Matrix) -> Matrix:
        """Rows and columns in this order."""
        return Graph.of(A).permuted(self.order).matrix

    def rows(self, V: Any) -> Any:
        """The rows of an array, or of a CSR matrix of few columns, in this order."""
        return V[self.order] if is_sparse(V) else np.take(V, self.order, axis=0)

    def back(self, V: Any) -> Any:
        """Rows in this order, put back into the original order."""
        return Locality(inverse_order(self.order, self.order.dtype)).rows(V)


def inverse_order(order: IntArray, dtype: DTypeLike) -> IntArray:
    """The new position of each object."""
    place = np.empty(len(order), dtype=dtype)
    place[order] = np.arange(len(order))
    return place


def pair_components(first: IntArray, second: IntArray, n_objects: int) -> IntArray:
    """The connected component of each object in the graph of the given pairs."""
    there = np.ones(len(first), dtype=np.int8)
    pairs = sp.coo_array((there, (first, second)), shape=(n_objects, n_objects))
    return np.asarray(connected_components(pairs, directed=False)[1])


def distinct_pairs(pairs: IntArray) -> IntArray:
    """Each pair of objects once, the smaller number first, in ascending order.

    `numpy.unique` of rows compares structures, and turns Ctrl-C meanwhile into a TypeError.
    """
    low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
    n = np.int64(high.max(initial=0)) + 1
    keys = np.unique(low.astype(np.int64) * n + high)
    return np.stack([keys // n, keys % n], axis=1).astype(pairs.dtype)


def as_array(block: Any) -> FloatArray:
    """A part of a matrix or of a table as an array, whatever its storage."""
    return np.asarray(block.toarray() if is_sparse(block) else block)


def stacked(parts: Sequence[Any]) -> Any:
    """Blocks of rows as one, in the form of the first."""
    if len(parts) == 1:
        return parts[0]
    if is_sparse(parts[0]):
        return sp.csr_array(sp.vstack(parts, format="csr"))
    return np.concatenate(parts)


def undirected(pairs: IntArray, weights: Any, n: int) -> sp.csr_array:
    """The symmetric matrix of edges that are given in one direction; repeated ones add up."""
    tails, heads = pairs[:, 0], pairs[:, 1]
    # A self-loop has one direction only.
    between = tails != heads
    rows = np.concatenate([tails, heads[between]])
    columns = np.concatenate([heads, tails[between]])
    both = np.concatenate([weights, weights[between]])
    matrix = sp.csr_array((both, (rows, columns)), shape=(n, n))
    # Older releases of SciPy add them up without saying so.
    matrix.sum_duplicates()
    return matrix


def row_numbers(A: sp.csr_array) -> IntArray:
    """The row of every stored entry."""
    return np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))


def replace_rows(rows: sp.csr_array, which: Any, by: sp.csr_array) -> sp.csr_array:
    """The same with other rows where `which` is True."""
    order = np.argsort(np.concatenate([np.flatnonzero(~which), np.flatnonzero(which)]))
    return stacked([rows[~which], by])[order]


def reciprocal(values: FloatArray, numerator: float = 1.0) -> FloatArray:
    """The numerator over each value; 0 where a value is not positive."""
    return np.divide(numerator, values, out=np.zeros_like(values), where=values > 0)


def make_symmetric(A: Matrix) -> Matrix:
    """Overwrite the lower triangle of an array by the upper one; CSR is symmetric when built."""
    if not is_sparse(A):
        mirror_upper(A)
    return A


def set_unit_diagonal(A: Matrix) -> Matrix:
    """A with ones on the diagonal; an array is overwritten."""
    if is_sparse(A):
        own = sp.diags_array(A.diagonal(), dtype=A.dtype)
        return canonical(A - own + sp.eye_array(A.shape[0], dtype=A.dtype))
    np.fill_diagonal(A, 1)
    return A


def without_diagonal(A: Matrix) -> Matrix:
    """A with zero self-similarities; A itself if they already are."""
    return Graph.of(A).without_diagonal().matrix


def canonical(A: Any) -> sp.csr_array:
    """CSR with sorted columns and without stored zeros."""
    matrix = sp.csr_array(A)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _dot64(values: FloatArray) -> float:
    """Squared norm of a single-precision vector, summed in double precision by pieces."""
    parts = range(0, len(values), 1 << 20)
    return float(sum(np.square(values[p : p + (1 << 20)], dtype=np.float64).sum() for p in parts))
