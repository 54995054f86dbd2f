"""Leading eigenvectors of a normalized graph, with or without regularization."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, SuperLU, eigsh, splu

from soffit._threads import check_time, each, pieces
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.graph import Graph, inverse_order, row_numbers

# Up to this size a dense decomposition is the fastest and most robust; of a sparse graph, up to the
# smaller one, beyond which Lanczos iterations alone are faster.
_DENSE, _DENSE_OF_SPARSE = 1200, 400
# Bandwidth of a planar neighbour graph, in units of sqrt(n); in three dimensions it is much larger.
_PLANAR = 7.0
# Shift slightly beyond the largest eigenvalue of a degree-normalized graph.
_SHIFT = 1.0 + 1e-4
# From so many edges on, products are computed by several threads, in pieces of so many rows.
_MANY_EDGES, _ROWS = 2**20, 2**14


def leading_eigenvectors(
    N: Matrix, n_vectors: int, *, random_state: int = 0
) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues (descending) of a degree-normalized matrix and their eigenvectors.

    The components of a graph are treated one by one: eigenvectors of a repeated eigenvalue are not
    unique, and Lanczos iterations may miss some of them. If there are more components than vectors,
    the largest components are described and the others have zero rows.

    Parameters
    ----------
    N : array or CSR of shape (n, n)
        Affinities normalized by degrees.
    n_vectors : int
        How many.
    random_state : int
        Seeds the iterations.

    Returns
    -------
    values : array of shape (n_vectors,)
        Eigenvalues.
    vectors : array of shape (n, n_vectors)
        Eigenvectors, in columns.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import leading_eigenvectors
    >>> values, vectors = leading_eigenvectors(np.kron(np.eye(2), np.full((3, 3), 1 / 3)), 2)
    >>> values.round(6), vectors.shape
    (array([1., 1.]), (6, 2))
    """
    graph = Graph.of(N)
    n_vectors = min(n_vectors, graph.n)
    component = graph.components()
    sizes = np.bincount(component)
    if len(sizes) == 1:
        values, vectors = _connected(graph, n_vectors, random_state)
        return values, _fix_signs(vectors)
    largest = np.argsort(-sizes, kind="stable")[:n_vectors]
    return _by_component(graph, component, largest, n_vectors, random_state)


def _by_component(
    N: Graph, component: IntArray, chosen: IntArray, n_vectors: int, random_state: int
) -> tuple[FloatArray, FloatArray]:
    found = []
    # Every other component has its own eigenvalue 1, except isolated objects.
    n_tied = max(int(np.sum(np.bincount(component)[chosen] > 1)), 1)
    for c in chosen:
        members = np.flatnonzero(component == c)
        wanted = min(len(members), n_vectors - n_tied + 1)
        values, vectors = _connected(N.subgraph(members), wanted, random_state)
        found += [(values[i], members, vectors[:, i]) for i in range(wanted)]
    order = np.argsort([-value for value, _, _ in found], kind="stable")[:n_vectors]
    V = np.zeros((N.n, len(order)), dtype=N.dtype)
    for place, index in enumerate(order):
        V[found[index][1], place] = found[index][2]
    return np.array([found[index][0] for index in order], dtype=N.dtype), _fix_signs(V)


def _connected(N: Graph, n_vectors: int, random_state: int) -> tuple[FloatArray, FloatArray]:
    if N.n <= (_DENSE_OF_SPARSE if N.is_sparse else _DENSE) or n_vectors > N.n // 3:
        values, vectors = _dense(N.array(), n_vectors)
    else:
        values, vectors = _lanczos(N, n_vectors, random_state)
    order = np.argsort(-values, kind="stable")
    return values[order], vectors[:, order]


def _dense(N: FloatArray, n_vectors: int) -> tuple[FloatArray, FloatArray]:
    n = len(N)
    # Many equal eigenvalues (a complete graph) break the solver for a few of them: it fails, or
    # finds too few.
    try:
        values, vectors = eigh(N, subset_by_index=[n - n_vectors, n - 1])
    except np.linalg.LinAlgError:
        values, vectors = np.zeros(0), np.zeros((n, 0))
    if len(values) < n_vectors:
        values, vectors = eigh(N, driver="evd")
    return values[-n_vectors:], vectors[:, -n_vectors:]


def _lanczos(graph: Graph, n_vectors: int, random_state: int) -> tuple[FloatArray, FloatArray]:
    n, N = graph.n, graph.matrix
    start = np.asarray(np.random.default_rng(random_state).uniform(0.5, 1.0, n), dtype=N.dtype)
    if graph.is_sparse and n > _DENSE and _factorizes_cheaply(N):
        # Elongated clusters crowd the eigenvalues near 1; the inverse spreads them out.
        factor = _factorized(_SHIFT * sp.eye_array(n) - N.astype(np.float64))

        def solve(x: FloatArray) -> FloatArray:
            check_time()
            return np.asarray(factor.solve(x))

        inverse = LinearOperator((n, n), matvec=solve, dtype=np.float64)
        values, vectors = eigsh(inverse, n_vectors, which="LA", v0=start.astype(np.float64))
        spread_out = np.asarray(_SHIFT - 1.0 / np.asarray(values), dtype=N.dtype)
        return spread_out, np.asarray(vectors, dtype=N.dtype)
    # Of few objects, restarts take less time than a long basis.
    width = min(max(2 * n_vectors + 20 if n > _DENSE else n_vectors + 30, 60), n)
    operator = _Products(N)
    try:
        tol = 1e-5 if n > _DENSE or N.dtype != np.float64 else 1e-8
        found = eigsh(operator, n_vectors, which="LA", v0=start, ncv=width, tol=tol, maxiter=500)
    except ArpackNoConvergence:
        found = eigsh(operator, n_vectors, which="LA", v0=start, ncv=min(3 * width, n), tol=1e-3)
    return found[0], found[1]


class _Products(LinearOperator):
    """Products with a matrix, without SciPy's checks, which take longer than those of few rows."""

    def __init__(self, N: Matrix) -> None:
        super().__init__(N.dtype, N.shape)
        self._N = N
        is_large = is_sparse(N) and N.nnz >= _MANY_EDGES
        self._parts = [N[p.start : p.stop] for p in pieces(N.shape[0], _ROWS)] if is_large else []

    def matvec(self, x: FloatArray) -> FloatArray:
        """N x, as long as there is time."""
        check_time()
        if self._parts:
            return np.concatenate(each(lambda rows: rows @ x, self._parts))
        return np.asarray(self._N @ x)

    def _matmat(self, X: FloatArray) -> FloatArray:
        return np.asarray(self._N @ X)


def _factorized(matrix: sp.csr_array) -> SuperLU:
    """Factors of a positive definite matrix, in an order suited to symmetric ones."""
    return splu(
        matrix.tocsc(),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )


def _factorizes_cheaply(N: sp.csr_array) -> bool:
    """Whether the graph is nearly planar: its bandwidth after reordering is a few times sqrt(n)."""
    n = N.shape[0]
    narrow = reverse_cuthill_mckee(sp.csr_matrix(N), symmetric_mode=True)
    place = inverse_order(narrow, np.int64)
    spread = np.abs(place[row_numbers(N)] - place[N.indices])
    return bool(len(spread) and spread.max() < _PLANAR * np.sqrt(n))


def _fix_signs(vectors: FloatArray) -> FloatArray:
    """Make the largest entry of every vector positive: the sign of eigenvectors is arbitrary."""
    place = np.abs(vectors).argmax(axis=0)
    signs = np.sign(vectors[place, np.arange(vectors.shape[1])])
    return np.asarray(vectors * np.where(signs == 0, 1.0, signs).astype(vectors.dtype))
