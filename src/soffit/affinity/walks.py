"""Affinities of several steps of a random walk, dense or in factored form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np
import scipy.sparse as sp

from soffit._matrix_checks import as_float_matrix, checked_similarities, mirror_upper
from soffit._memory import check_allocation, check_memory
from soffit._parameters import WholeNumber, check_parameter
from soffit._threads import each, one_blas_thread, row_blocks
from soffit._typing import FloatArray, Matrix
from soffit.graph import Graph, canonical, reciprocal


@dataclass(frozen=True, eq=False)
class FactoredAffinity:
    r"""The matrix :math:`B M B^\top` with few columns in B.

    An operation costs the number of entries of B times the number of columns it is applied to.

    Attributes
    ----------
    left : ndarray of shape (n, m)
        B, the weights between objects and clusters.
    core : ndarray of shape (m, m)
        M, symmetric, between the clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import FactoredAffinity
    >>> W = FactoredAffinity(np.array([[1.0, 0.0], [1.0, 2.0]]), np.eye(2))
    >>> W.toarray()
    array([[1., 1.],
           [1., 5.]])
    >>> W @ np.array([1.0, 1.0])
    array([2., 6.])
    """

    left: FloatArray
    core: FloatArray

    # NumPy must leave `array @ factored` to this class instead of making an object array.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.left.shape[0], self.left.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the factors."""
        return self.left.dtype

    def __matmul__(self, other: Any) -> FloatArray:
        return np.asarray(self.left @ (self.core @ (self.left.T @ other)))

    def __rmatmul__(self, other: Any) -> FloatArray:
        return np.asarray(((other @ self.left) @ self.core) @ self.left.T)

    def rows(self, index: Any) -> FloatArray:
        """The rows of the given objects as an array.

        Parameters
        ----------
        index : int, slice or array
            Object numbers or a mask, as in NumPy indexing.

        Returns
        -------
        ndarray of shape (r, n), or (n,) for a single number
            The affinities of these objects to all.
        """
        return np.asarray((self.left[index] @ self.core) @ self.left.T)

    def toarray(self) -> FloatArray:
        """All n x n entries, refused if they do not fit into memory.

        Returns
        -------
        ndarray of shape (n, n)
            The matrix.
        """
        remedy = "Take some rows only, with .rows(index), or multiply with @."
        check_allocation(self.shape, self.dtype, what="toarray()", remedy=remedy)
        return self.rows(slice(None))

    def diagonal(self) -> FloatArray:
        """The affinity of every object to itself.

        Returns
        -------
        ndarray of shape (n,)
            The diagonal.
        """
        return np.asarray(np.einsum("ip,ip->i", self.left @ self.core, self.left))

    @overload
    def sum(self, axis: None = None) -> float: ...

    @overload
    def sum(self, axis: Literal[-2, -1, 0, 1]) -> FloatArray: ...

    def sum(self, axis: int | None = None) -> float | FloatArray:
        """Sums of the rows, which equal those of the columns, or of all entries.

        Parameters
        ----------
        axis : {None, 0, 1}, default None
            None sums all entries.

        Returns
        -------
        ndarray of shape (n,), or float
            The sums.
        """
        if axis not in (None, 0, 1, -1, -2):
            raise ValueError(f"axis must be None, 0 or 1, got {axis!r}.")
        weights = self.core @ self.left.sum(axis=0)
        if axis is None:
            return float(self.left.sum(axis=0) @ weights)
        return np.asarray(self.left @ weights)


# Above this share of stored entries, products of CSR matrices are slower than dense ones.
_SPARSE_DENSITY = 0.1
# Maximum number of entries of one piece of a sparse product.
_PIECE_ENTRIES = 2**22
_BYTES_PER_ENTRY = 16
_REMEDY = (
    "Pass clusters= (bipartite weights or memberships of a fitted model), which avoids the "
    "n x n matrix, or take fewer steps."
)


@overload
def walk_affinity(A: Any, steps: int, clusters: None = None) -> Matrix: ...


@overload
def walk_affinity(A: Any, steps: int, clusters: Any) -> FactoredAffinity: ...


def walk_affinity(A: Any, steps: int, clusters: Any = None) -> Matrix | FactoredAffinity:
    r"""Affinities after several steps of a random walk on the graph.

    .. math:: W^{(t)} = W (D^{-1} W)^{t-1}, \qquad D = \mathrm{diag}(W 1),

    the weight of walking from i to j in t steps. It is symmetric and keeps the degrees,
    :math:`W^{(t)} 1 = W 1`; longer walks reflect larger parts of the graph. It is computed by
    repeated squaring. With weights B between objects and m clusters,
    :math:`W \approx B \Lambda^{-1} B^\top`, the walk goes through the clusters,

    .. math:: W^{(t)} \approx B \Lambda^{-1} (C \Lambda^{-1})^{t-1} B^\top, \qquad
              C = B^\top D^{-1} B, \quad \Lambda = \mathrm{diag}(B^\top 1),

    and stays a product of small factors. It is exact if W has exactly this form.

    Parameters
    ----------
    A : array or sparse matrix of shape (n, n)
        Symmetric nonnegative weights W. An isolated object keeps its zero row.
    steps : int
        The number of steps t, at least 1; one step gives W itself. On a bipartite graph an even
        number of steps returns to the same side.
    clusters : array or sparse matrix of shape (n, m), optional
        Weights B between objects and clusters: `bipartite_` of a fitted `RelationFactorization`,
        or memberships of any model. Rows are scaled to the degrees of W; a zero row is replaced by
        the mean row.

    Returns
    -------
    ndarray, csr_array or FactoredAffinity
        An array for an array. A sparse matrix gives CSR as long as at most a tenth of the entries
        of any power is stored, else an array. With `clusters`, a `FactoredAffinity`. float32 is
        kept.

    Raises
    ------
    ValueError
        If `A` is not symmetric or has negative entries, or `steps` is below 1.
    MemoryError
        If the matrix would not fit into memory.

    Notes
    -----
    Proposition 3.1 of the paper is off by one: level l of the hierarchy corresponds to
    :math:`t = 2^{l-1}` steps, as its introduction says, not to :math:`2^l`.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import walk_affinity
    >>> path = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> walk_affinity(path, 2)
    array([[0.5, 0. , 0.5],
           [0. , 2. , 0. ],
           [0.5, 0. , 0.5]])

    References
    ----------
    K. Yu, S. Yu, V. Tresp (2005). Soft clustering on graphs. NIPS. Section 3.2.
    """
    check_parameter("steps", steps, WholeNumber(1))
    W = checked_similarities(A, what="A", copy=False)
    with one_blas_thread():
        if clusters is not None:
            return _through_clusters(W, int(steps), clusters)
        return W if steps == 1 else _exact(W, int(steps))


# --- through clusters -----------------------------------------------------------------------------


def _through_clusters(W: Matrix, steps: int, clusters: Any) -> FactoredAffinity:
    degrees = Graph.of(W).degrees()
    B = _bipartite(clusters, degrees)
    weights = B.sum(axis=0)
    root = np.sqrt(reciprocal(weights))
    # The symmetric form of C L^-1, so that the core is exactly symmetric.
    C = (B * reciprocal(degrees)[:, None]).T @ B
    step = C * np.outer(root, root)
    power = np.linalg.matrix_power((step + step.T) / 2, steps - 1)
    core = (power + power.T) / 2 * np.outer(root, root)
    return FactoredAffinity(B.astype(W.dtype), core.astype(W.dtype))


def _bipartite(clusters: Any, degrees: FloatArray) -> FloatArray:
    """Weights between objects and clusters in float64, with the degrees as row sums."""
    B = as_float_matrix(clusters, what="clusters")
    B = Graph.of(B).array().astype(np.float64)
    if B.min() < 0:
        raise ValueError(
            f"clusters must be nonnegative, but its smallest entry is {B.min():.3g}. Pass weights "
            "or memberships, not coordinates."
        )
    if B.shape[0] != len(degrees):
        raise ValueError(
            f"clusters must have n = {len(degrees)} rows, one per object of A, got {B.shape[0]}."
        )
    sums = B.sum(axis=1)
    if not sums.any():
        raise ValueError("clusters must have a positive entry, but all its entries are zero.")
    memberships = B * reciprocal(sums)[:, None]
    memberships[sums == 0] = memberships[sums > 0].mean(axis=0)
    return np.asarray(memberships * degrees[:, None])


# --- exact ----------------------------------------------------------------------------------------


def _exact(W: Matrix, steps: int) -> Matrix:
    """D^1/2 N^t D^1/2 with N = D^-1/2 W D^-1/2: symmetric powers, by repeated squaring."""
    graph = Graph.of(W)
    root = np.sqrt(graph.degrees())
    if not graph.is_sparse or graph.n_stored > _SPARSE_DENSITY * graph.n**2:
        graph = _filled(graph)
    inverse = reciprocal(root)
    power = _power(graph.scaled(inverse, inverse), steps)
    result = power.scaled(root, root).matrix
    if power.is_sparse:
        return canonical((result + result.T) * result.dtype.type(0.5))
    return result


def _power(N: Graph, exponent: int) -> Graph:
    while exponent % 2 == 0:
        N = _product(N, N)
        exponent //= 2
    result = N
    while exponent > 1:
        N = _product(N, N)
        exponent //= 2
        if exponent % 2:
            result = _product(N, result)
    return result


def _product(P: Graph, Q: Graph) -> Graph:
    """P Q for powers of one graph, which commute, so that it is symmetric; may become dense."""
    if P.is_sparse and Q.is_sparse:
        product = _sparse_product(P.matrix, Q.matrix)
        if product is not None:
            return Graph(product)
        Q = _filled(Q)
    left, right = (Q, P) if Q.is_sparse else (P, Q)
    out = np.empty(left.shape, dtype=left.dtype)

    def fill(rows: slice) -> None:
        # For arrays the upper triangle suffices, which halves the work.
        first = 0 if left.is_sparse else rows.start
        out[rows, first:] = left.matrix[rows] @ right.matrix[:, first:]

    # Fixed pieces: the same bytes for any number of threads.
    each(fill, row_blocks(left.shape))
    mirror_upper(out)
    return Graph(out)


def _sparse_product(P: sp.csr_array, Q: sp.csr_array) -> sp.csr_array | None:
    """P Q in CSR form, or None as soon as it stores too many entries."""
    limit = _SPARSE_DENSITY * P.shape[0] ** 2
    pieces: list[sp.csr_array] = []
    stored = 0
    for rows, bound in _pieces(P, Q):
        # Room for this piece, and for the copy that joins all pieces.
        _check_room_for_entries(stored + bound)
        pieces.append(P[rows] @ Q)
        stored += pieces[-1].nnz
        if stored > limit:
            return None
    return canonical(sp.vstack(pieces, format="csr"))


def _pieces(P: sp.csr_array, Q: sp.csr_array) -> Iterator[tuple[slice, int]]:
    """Ranges of P's rows, and an upper bound on the entries of their product with Q."""
    reached = np.concatenate([[0], np.cumsum(np.diff(Q.indptr)[P.indices], dtype=np.int64)])
    bound = np.minimum(np.diff(reached[P.indptr]), P.shape[1])
    total = np.concatenate([[0], np.cumsum(bound)])
    first = 0
    while first < P.shape[0]:
        last = int(np.searchsorted(total, total[first] + _PIECE_ENTRIES, side="right")) - 1
        last = max(last, first + 1)
        yield slice(first, last), int(total[last] - total[first])
        first = last


def _filled(graph: Graph) -> Graph:
    """The graph as an array, if there is room for its powers."""
    # A power, the result so far, their product.
    check_allocation(graph.shape, graph.dtype, what="walk_affinity", remedy=_REMEDY, copies=3)
    return Graph(graph.array())


def _check_room_for_entries(entries: int) -> None:
    what = f"walk_affinity, with {entries:,} entries,"
    check_memory(entries * _BYTES_PER_ENTRY, what=what, remedy=_REMEDY)
