from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh, subspace_angles
from scipy.sparse.linalg import ArpackNoConvergence
from tests.reference.problems import block_diagonal
from threadpoolctl import threadpool_limits

from soffit.affinity import NeighborGraph
from soffit.normalize import normalize
from soffit.partition import eigenvectors as _spectral
from soffit.partition.eigenvectors import leading_eigenvectors


def normalized(A):
    return normalize(A, "degree").matrix


def random_graph(n, rng, n_neighbors=12, n_columns=12):
    """Neighbours in many dimensions: an expander, whose factors would fill in."""
    return NeighborGraph(n_neighbors).fit(rng.normal(size=(n, n_columns))).matrix_


def grid(width, height):
    """A long strip of unit squares."""
    line = [sp.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n)) for n in (width, height)]
    return sp.csr_array(
        sp.kron(line[0], sp.eye_array(height)) + sp.kron(sp.eye_array(width), line[1])
    )


def assert_leading(N, values, V, tol):
    """Orthonormal eigenvectors of the largest eigenvalues, descending, with fixed signs."""
    dense = N.toarray() if sp.issparse(N) else N
    k = len(values)
    expected = eigh(dense, eigvals_only=True)[::-1][:k]
    np.testing.assert_allclose(values, expected, atol=tol)
    assert np.linalg.norm(dense @ V - V * values) <= tol * np.sqrt(k)
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=tol)
    assert np.all(V[np.abs(V).argmax(axis=0), np.arange(k)] > 0)


@pytest.fixture(autouse=True)
def one_thread():
    """As in the models: many threads for small matrices only wait for one another."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def iterative(limits):
    """Call 100 objects many, so that iterations can be compared with a dense decomposition."""
    limits(dense_eigenvectors=100, dense_of_sparse=100)


@pytest.fixture
def rng():
    return np.random.default_rng(1783)


@pytest.fixture
def forbid(monkeypatch):
    """Make sure that a path is not taken."""

    def forbid(name):
        def refuse(*arguments, **options):
            raise AssertionError(f"{name} was not expected here")

        monkeypatch.setattr(_spectral, name, refuse)

    return forbid


# --- one component -------------------------------------------------------------------------------


@pytest.mark.parametrize("storage", [sp.csr_array, lambda A: A.toarray()], ids=["csr", "dense"])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-10), (np.float32, 1e-4)])
def test_small_matrix(rng, forbid, storage, dtype, tol):
    forbid("_lanczos")
    N = storage(normalized(random_graph(300, rng)).astype(dtype))
    values, V = leading_eigenvectors(N, 9)
    assert values.dtype == V.dtype == dtype
    assert_leading(N, values, V, tol)
    assert values[0] == pytest.approx(1.0, abs=tol)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrix_by_lanczos(rng, iterative, forbid, dtype):
    forbid("splu")
    forbid("eigh")
    N = normalized(random_graph(300, rng)).astype(dtype)
    values, V = leading_eigenvectors(N, 8)
    assert values.dtype == V.dtype == dtype
    assert_leading(N, values, V, 1e-4)


def test_dense_matrix_by_lanczos(rng, iterative, forbid):
    forbid("eigh")
    N = normalized(random_graph(250, rng)).toarray()
    assert_leading(N, *leading_eigenvectors(N, 5), 1e-4)


def test_large_matrix_by_lanczos(rng, forbid):
    forbid("splu")
    forbid("eigh")
    N = normalized(random_graph(1400, rng))
    values, V = leading_eigenvectors(N, 8)
    np.testing.assert_allclose(np.linalg.norm(N @ V - V * values, axis=0), 0.0, atol=1e-4)
    np.testing.assert_allclose(V.T @ V, np.eye(8), atol=1e-4)
    assert values[0] == pytest.approx(1.0, abs=1e-5)


def test_lanczos_that_stops_early_tries_again(rng, iterative, monkeypatch):
    N = normalized(random_graph(300, rng))
    plain = _spectral.eigsh
    calls = []

    def stops_early(matrix, count, **options):
        calls.append(options["ncv"])
        if len(calls) == 1:
            raise ArpackNoConvergence("stopped", np.empty(0), np.empty((0, 0)))
        return plain(matrix, count, **options)

    monkeypatch.setattr(_spectral, "eigsh", stops_early)
    assert_leading(N, *leading_eigenvectors(N, 5), 1e-3)
    assert calls[1] > calls[0]


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-8), (np.float32, 1e-4)])
def test_long_thin_graph_by_inverse_iteration(iterative, forbid, dtype, tol):
    forbid("eigh")
    N = normalized(grid(60, 5)).astype(dtype)
    assert _spectral._factorizes_cheaply(N)
    values, V = leading_eigenvectors(N, 12)
    assert values.dtype == V.dtype == dtype
    assert_leading(N, values, V, tol)


def test_large_grid_by_inverse_iteration(forbid):
    forbid("eigh")
    N = normalized(grid(130, 10))
    values, V = leading_eigenvectors(N, 12)
    np.testing.assert_allclose(np.linalg.norm(N @ V - V * values, axis=0), 0.0, atol=1e-9)


def test_wide_graph_is_not_factorized(rng):
    assert not _spectral._factorizes_cheaply(normalized(random_graph(300, rng)))


def test_many_vectors_need_the_dense_decomposition(iterative, forbid):
    forbid("_lanczos")
    N = normalized(grid(40, 3))
    assert_leading(N, *leading_eigenvectors(N, 60), 1e-10)


@pytest.mark.parametrize("storage", [sp.csr_array, np.asarray])
def test_no_more_vectors_than_objects(storage):
    N = storage(np.array([[0.0, 1.0], [1.0, 0.0]]))
    values, V = leading_eigenvectors(N, 5)
    np.testing.assert_allclose(values, [1.0, -1.0])
    assert V.shape == (2, 2)


# --- several components --------------------------------------------------------------------------


@pytest.mark.parametrize("n_vectors", [3, 4, 7, 30])
def test_components_one_by_one(rng, n_vectors):
    parts = [random_graph(n, rng, 5, 2) for n in (40, 25, 60)]
    N = normalized(block_diagonal(parts))
    values, V = leading_eigenvectors(N, n_vectors)
    assert_leading(N, values, V, 1e-10)
    np.testing.assert_allclose(values[:3], 1.0, atol=1e-10)
    # No vector mixes two components.
    component = np.repeat([0, 1, 2], [40, 25, 60])
    support = np.stack([(V[component == c] != 0).any(axis=0) for c in range(3)])
    assert np.all(support.sum(axis=0) == 1)


def test_components_by_different_solvers(rng, iterative):
    parts = [random_graph(200, rng), grid(40, 4), random_graph(30, rng, 4, 2)]
    N = normalized(block_diagonal(parts))
    values, V = leading_eigenvectors(N, 8)
    assert_leading(N, values, V, 1e-4)
    np.testing.assert_allclose(values[:3], 1.0, atol=1e-5)


def test_more_components_than_vectors_describes_the_largest():
    sizes = [3, 8, 2, 5, 4]
    N = normalized(block_diagonal([np.ones((s, s)) - np.eye(s) for s in sizes]))
    values, V = leading_eigenvectors(N, 3)
    np.testing.assert_allclose(values, 1.0)
    component = np.repeat(np.arange(5), sizes)
    described = [bool(np.any(V[component == c])) for c in range(5)]
    assert described == [False, True, False, True, True]
    np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)


def test_objects_without_ties_take_no_vector_from_the_others(rng):
    A = block_diagonal([random_graph(50, rng, 5, 2), sp.csr_array((6, 6))])
    N = normalized(A)
    values, V = leading_eigenvectors(N, 5)
    expected = eigh(N.toarray(), eigvals_only=True)[::-1][:5]
    np.testing.assert_allclose(values, expected, atol=1e-10)
    assert not np.any(V[50:])
    several = block_diagonal([A, random_graph(30, rng, 5, 2), sp.csr_array((2, 2))])
    N = normalized(several)
    assert_leading(N, *leading_eigenvectors(N, 20), 1e-10)


def test_no_ties_at_all():
    values, V = leading_eigenvectors(sp.csr_array((5, 5)), 3)
    np.testing.assert_allclose(values, 0.0)
    np.testing.assert_allclose(V.T @ V, np.eye(3))


# --- invariants ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [200, 1300])
def test_same_bytes_every_time(rng, size):
    N = normalized(random_graph(size, rng))
    first, again = (leading_eigenvectors(N, 6, random_state=37) for _ in range(2))
    assert first[0].tobytes() == again[0].tobytes()
    assert first[1].tobytes() == again[1].tobytes()


def test_seed_of_lanczos_changes_rounding_only(rng, iterative):
    N = normalized(random_graph(300, rng))
    first, other = (leading_eigenvectors(N, 6, random_state=seed)[1] for seed in (37, 38))
    assert np.max(subspace_angles(first, other)) < 1e-3


def test_permuting_the_objects_permutes_the_vectors(rng):
    N = normalized(random_graph(250, rng, 8, 2))
    order = rng.permutation(250)
    _, V = leading_eigenvectors(N, 6)
    _, permuted = leading_eigenvectors(sp.csr_array(N[order][:, order]), 6)
    np.testing.assert_allclose(np.abs(permuted), np.abs(V[order]), atol=1e-7)


def test_input_is_left_alone(rng):
    N = normalized(random_graph(60, rng)).toarray()
    before = N.copy()
    leading_eigenvectors(N, 4)
    assert np.array_equal(N, before)


def test_a_complete_graph_has_its_leading_vector() -> None:
    # All other eigenvalues are equal, which defeats LAPACK's search for a few of them.
    n = 150
    values, V = leading_eigenvectors((np.ones((n, n)) - np.eye(n)) / (n - 1), 20)
    np.testing.assert_allclose(values[0], 1.0)
    np.testing.assert_allclose(V[:, 0], n**-0.5)
    np.testing.assert_allclose(V.T @ V, np.eye(20), atol=1e-9)


@pytest.mark.parametrize("n", [12, 16, 23, 28, 29])
def test_complete_graphs_have_as_many_vectors_as_asked_for(n: int) -> None:
    # The solver for a few of many equal eigenvalues returned too few of them for some n.
    X = np.random.default_rng(16).normal(size=(n, 2))
    complete = NeighborGraph(n - 1).fit(X).matrix_
    for A in (complete, np.ones((n, n)) - np.eye(n), (np.ones((n, n)) - np.eye(n)) / 3):
        for count in (1, 2, 3):
            values, V = leading_eigenvectors(normalize(A, "degree").matrix, count)
            assert (values.shape, V.shape) == ((count,), (n, count))
            assert values[0] == pytest.approx(1)


def test_products_in_pieces_have_the_bytes_of_one_product(rng, limits):
    N = normalized(random_graph(500, rng))
    whole = leading_eigenvectors(N, 4)
    limits(eigenvector_edges=1, eigenvector_rows=70)
    x = rng.normal(size=500)
    operator = _spectral._Products(N)
    assert len(operator._parts) == 8
    assert np.array_equal(operator.matvec(x), N @ x)
    assert all(
        np.array_equal(*pair) for pair in zip(leading_eigenvectors(N, 4), whole, strict=True)
    )
