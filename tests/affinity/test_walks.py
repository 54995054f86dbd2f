from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from soffit.affinity import FactoredAffinity, NeighborGraph, walk_affinity

weights = (
    st.integers(1, 8)
    .flatmap(lambda n: arrays(np.float64, (n, n), elements=st.sampled_from([0.0, 0.5, 1.0, 3.25])))
    .map(lambda A: np.triu(A) + np.triu(A, 1).T)
    .filter(lambda A: len(A) < 5 or np.diagonal(A).any() or (A == 0).sum() > len(A))
)
storages = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])


def walked(W, steps):
    """The definition, one step after the other."""
    degrees = W.sum(axis=1)
    transition = np.divide(W, degrees[:, None], out=np.zeros_like(W), where=degrees[:, None] > 0)
    for _ in range(steps - 1):
        W = W @ transition
    return W


def as_array(A):
    return A.toarray() if sp.issparse(A) else A


def latent(n=30, m=4, seed=7187):
    """Bipartite weights, and the graph that they make exactly."""
    B = np.random.default_rng(seed).gamma(0.5, size=(n, m))
    return B, B / B.sum(axis=0) @ B.T


@pytest.fixture
def graph():
    """Many small groups far apart: sparse however long the walk."""
    rng = np.random.default_rng(6977)
    X = np.repeat(100.0 * np.arange(40), 12)[:, None] + rng.normal(size=(480, 2))
    return NeighborGraph(5, keep="union", weights="local", connect=False).fit(X).matrix_


# --- exact ----------------------------------------------------------------------------------------


@given(weights, st.integers(1, 40), st.sampled_from([np.asarray, sp.csr_array]))
def test_walk_equals_its_definition_and_keeps_degrees(W, steps, storage):
    result = as_array(walk_affinity(storage(W), steps))
    np.testing.assert_allclose(result, walked(W, steps), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(result, result.T)
    np.testing.assert_allclose(result.sum(axis=1), W.sum(axis=1), rtol=1e-9)


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 16, 33])
def test_sparse_stays_sparse_while_it_is(graph, steps):
    result = walk_affinity(graph, steps)
    assert isinstance(result, sp.csr_array)
    assert result.has_canonical_format
    assert abs(result - result.T).nnz == 0
    assert np.all(result.data > 0)
    np.testing.assert_allclose(result.toarray(), walked(graph.toarray(), steps), atol=1e-12)


def test_pieces_of_a_sparse_product_fit_together(graph, limits):
    whole = walk_affinity(graph, 5)
    limits(affinity_walk_entries=900)
    pieces = walk_affinity(graph, 5)
    np.testing.assert_array_equal(pieces.toarray(), whole.toarray())


def test_what_fills_up_becomes_an_array():
    X = np.random.default_rng(6991).normal(size=(300, 2))
    A = NeighborGraph(8, keep="union", weights="binary").fit(X).matrix_
    assert isinstance(walk_affinity(A, 2), sp.csr_array)
    for steps in (9, 16, 21):
        filled = walk_affinity(A, steps)
        assert isinstance(filled, np.ndarray)
        np.testing.assert_allclose(filled, walked(A.toarray(), steps), atol=1e-12)
        np.testing.assert_allclose(filled, walk_affinity(A.toarray(), steps), atol=1e-12)


def test_dense_csr_becomes_an_array_but_one_step_gives_the_graph():
    A = sp.csr_array(np.ones((6, 6)))
    assert isinstance(walk_affinity(A, 2), np.ndarray)
    assert isinstance(walk_affinity(A, 1), sp.csr_array)
    dense = np.ones((6, 6))
    assert walk_affinity(dense, 1) is dense


@storages
def test_isolated_objects_keep_their_zero_row(storage):
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 0] = 2.0
    A[4, 4] = 3.0
    result = as_array(walk_affinity(storage(A), 3))
    np.testing.assert_allclose(result, A)


def test_two_sides_swing_to_and_fro():
    A = np.array([[0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(walk_affinity(A, 2), np.eye(2))
    np.testing.assert_array_equal(walk_affinity(A, 3), A)


def test_a_long_walk_forgets_where_it_began(graph):
    A = walk_affinity(graph[:12][:, :12], 2048)
    degrees = np.asarray(graph[:12][:, :12].sum(axis=1)).ravel()
    np.testing.assert_allclose(as_array(A), np.outer(degrees, degrees) / degrees.sum(), rtol=1e-6)


@storages
def test_single_precision_is_kept(graph, storage):
    A = storage(graph.toarray().astype(np.float32))
    result = walk_affinity(A, 12)
    assert result.dtype == np.float32
    np.testing.assert_allclose(as_array(result), walk_affinity(graph.toarray(), 12), atol=1e-5)
    degrees = np.asarray(graph.sum(axis=1)).ravel()
    np.testing.assert_allclose(np.asarray(result.sum(axis=1)).ravel(), degrees, rtol=1e-4)


def test_whole_numbers_and_other_formats():
    A = sp.coo_matrix(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    result = walk_affinity(A, 2)
    assert result.dtype == np.float64
    np.testing.assert_allclose(as_array(result), [[0.5, 0, 0.5], [0, 2, 0], [0.5, 0, 0.5]])


@storages
def test_input_is_left_alone(graph, storage):
    A = storage(graph.toarray())
    before = A.copy()
    walk_affinity(A, 6)
    walk_affinity(A, 6, clusters=np.ones((480, 2)))
    assert abs(A - before).max() == 0


# --- through clusters -----------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 5, 32])
def test_walk_through_clusters_is_exact_where_the_graph_is_made_of_them(steps):
    B, W = latent()
    factored = walk_affinity(W, steps, clusters=B)
    assert isinstance(factored, FactoredAffinity)
    np.testing.assert_allclose(factored.toarray(), walk_affinity(W, steps), atol=1e-12)
    np.testing.assert_array_equal(factored.core, factored.core.T)


@given(weights, st.integers(1, 40), st.integers(1, 4), st.integers(0, 99))
def test_walk_through_any_clusters_keeps_degrees(W, steps, m, seed):
    clusters = np.random.default_rng(seed).dirichlet(np.ones(m), size=len(W))
    factored = walk_affinity(W, steps, clusters=clusters)
    np.testing.assert_allclose(factored.sum(axis=1), W.sum(axis=1), rtol=1e-9, atol=1e-12)
    assert np.isfinite(factored.core).all()
    assert factored.toarray().min(initial=0) >= 0


def test_memberships_serve_as_well_as_weights(graph):
    labels = np.repeat(np.arange(40), 12)
    memberships = np.eye(41)[labels]
    degrees = np.asarray(graph.sum(axis=1))[:, None]
    by_memberships = walk_affinity(graph, 4, clusters=memberships)
    by_weights = walk_affinity(graph, 4, clusters=sp.csr_array(degrees * memberships))
    np.testing.assert_allclose(by_memberships.toarray(), by_weights.toarray(), atol=1e-12)
    # Objects of different groups stay apart; the empty cluster does no harm.
    np.testing.assert_array_equal(by_memberships.rows(0)[12:], 0.0)


def test_objects_of_no_cluster_and_of_no_tie():
    B, W = latent(n=8, m=2)
    W[3], W[:, 3] = 0.0, 0.0
    memberships = B / B.sum(axis=1, keepdims=True)
    memberships[5] = 0.0
    factored = walk_affinity(W, 3, clusters=memberships)
    np.testing.assert_array_equal(factored.rows(3), 0.0)
    others = memberships[np.arange(8) != 5].mean(axis=0)
    np.testing.assert_allclose(factored.left[5], W[5].sum() * others)
    np.testing.assert_allclose(factored.sum(axis=1), W.sum(axis=1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operations_of_the_factored_matrix(dtype):
    B, W = latent()
    factored = walk_affinity(W.astype(dtype), 4, clusters=B)
    full = factored.toarray()
    close = {"rtol": 1e-4 if dtype == np.float32 else 1e-10}
    assert factored.shape == (30, 30)
    assert factored.dtype == full.dtype == dtype
    V = np.random.default_rng(7001).random((30, 3)).astype(dtype)
    np.testing.assert_allclose(factored @ V, full @ V, **close)
    np.testing.assert_allclose(factored @ V[:, 0], full @ V[:, 0], **close)
    np.testing.assert_allclose(V.T @ factored, V.T @ full, **close)
    np.testing.assert_allclose(factored @ sp.csr_array(V), full @ V, **close)
    assert (factored @ V).dtype == dtype
    for index in (4, slice(2, 9), np.array([3, 3, 29]), np.arange(30) % 2 == 0):
        np.testing.assert_allclose(factored.rows(index), full[index], **close)
    np.testing.assert_allclose(factored.diagonal(), np.diagonal(full), **close)
    np.testing.assert_allclose(factored.sum(axis=0), full.sum(axis=0), **close)
    np.testing.assert_allclose(factored.sum(axis=1), full.sum(axis=1), **close)
    np.testing.assert_allclose(factored.sum(), full.sum(), **close)
    again = pickle.loads(pickle.dumps(factored))
    np.testing.assert_array_equal(again.toarray(), full)


def test_large_graphs_walk_through_clusters():
    n = 200_000
    rng = np.random.default_rng(7013)
    i, j = rng.integers(n, size=(2, 4 * n))
    # Blocks by remainder: every edge joins objects of one block.
    j = np.minimum(j - j % 8 + i % 8, n - 8 + i % 8)
    A = sp.coo_array((np.ones(4 * n), (i, j)), shape=(n, n)).tocsr()
    A = A + A.T
    factored = walk_affinity(A, 16, clusters=np.eye(8)[np.arange(n) % 8])
    np.testing.assert_allclose(factored.sum(axis=1), np.asarray(A.sum(axis=1)).ravel())
    assert factored.rows([3])[0, np.arange(n) % 8 != 3].max() == 0


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [0, -3, 2.0, True, "two", None])
def test_steps_must_be_a_positive_whole_number(steps):
    with pytest.raises(ValueError, match=r"steps must be an integer of at least 1, got "):
        walk_affinity(np.eye(3), steps)


@storages
def test_unsuitable_graphs_are_refused(storage):
    with pytest.raises(ValueError, match=r"A must be symmetric.*\(A \+ A\.T\) / 2"):
        walk_affinity(storage(np.array([[0.0, 1.0], [2.0, 0.0]])), 2)
    with pytest.raises(ValueError, match="A must be nonnegative, but 2 entries are negative"):
        walk_affinity(storage(np.array([[1.0, -1.0], [-1.0, 1.0]])), 2)
    with pytest.raises(ValueError, match="A must be square"):
        walk_affinity(storage(np.ones((2, 3))), 2)
    with pytest.raises(ValueError, match="A must be finite"):
        walk_affinity(storage(np.array([[1.0, np.nan], [np.nan, 1.0]])), 2)


def test_unsuitable_clusters_are_refused():
    A = np.ones((4, 4))
    with pytest.raises(ValueError, match=r"clusters must have n = 4 rows.*got 3"):
        walk_affinity(A, 2, clusters=np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"clusters must be nonnegative.*-1"):
        walk_affinity(A, 2, clusters=-np.ones((4, 2)))
    with pytest.raises(ValueError, match="all its entries are zero"):
        walk_affinity(A, 2, clusters=np.zeros((4, 2)))
    with pytest.raises(ValueError, match="clusters must be two-dimensional"):
        walk_affinity(A, 2, clusters=np.ones(4))
    with pytest.raises(ValueError, match="axis must be None, 0 or 1, got 2"):
        walk_affinity(A, 2, clusters=np.ones((4, 2))).sum(axis=2)


def test_what_does_not_fit_is_refused_with_the_remedy(graph, monkeypatch):
    factored = walk_affinity(graph, 4, clusters=np.ones((480, 2)))
    monkeypatch.setattr("soffit._memory.available_memory", lambda: 2**10)
    with pytest.raises(MemoryError, match=r"walk_affinity, with .* entries, needs.*clusters="):
        walk_affinity(graph, 4)
    with pytest.raises(MemoryError, match=r"walk_affinity needs a dense 480 x 480.*clusters="):
        walk_affinity(graph.toarray(), 4)
    with pytest.raises(MemoryError, match=r"480 x 480.*rows\(index\)"):
        factored.toarray()
