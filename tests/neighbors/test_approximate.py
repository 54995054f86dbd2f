from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.affinity import NeighborGraph
from soffit.neighbors.approximate import NeighborIndex
from soffit.neighbors.search import ApproximateSearch, ExactSearch, SparseSearch, make_search
from soffit.neighbors.sparse import sparse_neighbors


def exact(X, n_neighbors, Y=None):
    """Distances to the true neighbours, the rows of X themselves left out."""
    D = np.sqrt(((X[:, None] - (X if Y is None else Y)[None]) ** 2).sum(axis=2))
    if Y is None:
        np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1, kind="stable")[:, :n_neighbors]
    return order, np.take_along_axis(D, order, axis=1)


def share_found(found, true):
    return np.mean([len(np.intersect1d(a, b)) / len(b) for a, b in zip(found, true, strict=True)])


@pytest.fixture
def rng():
    return np.random.default_rng(8171)


@pytest.mark.parametrize("d", [2, 16, 60])
def test_lists_hold_most_true_neighbors(rng, d):
    X = rng.normal(size=(2500, d)).astype(np.float32)
    index = NeighborIndex.of(X, 15)
    lists, distances = index.neighbors(15)
    true, _ = exact(X.astype(np.float64), 15)
    measured = share_found(lists, true)
    assert measured >= 0.88
    # The estimate comes from 256 points with 15 neighbours each.
    assert abs(index.recall - measured) < 0.03
    assert np.all(lists >= 0)
    assert np.all(lists != np.arange(2500)[:, None])
    assert all(len(set(row)) == 15 for row in lists.tolist())
    own = np.linalg.norm(X[:, None] - X[lists], axis=2)
    np.testing.assert_allclose(distances, own, rtol=2e-4)
    assert np.all(np.diff(distances, axis=1) >= 0)


@pytest.mark.parametrize("offset", [0.0, 300.0])
def test_products_find_the_lists_of_single_distances(rng, limits, offset):
    # Small clusters far from one another: squared lengths are far larger than distances.
    X = rng.normal(size=(1200, 50)) + offset * rng.normal(size=(12, 50)).repeat(100, axis=0)
    by_products = NeighborIndex.of(X, 10)
    limits(wide_columns=51)
    one_by_one = NeighborIndex.of(X, 10)
    found, expected = by_products.neighbors(10), one_by_one.neighbors(10)
    assert share_found(found[0], expected[0]) > 0.995
    assert abs(by_products.recall - one_by_one.recall) < 0.005
    # Distances are measured, not computed from lengths.
    own = np.linalg.norm(X[:, None] - X[found[0]], axis=2)
    np.testing.assert_allclose(found[1], own, rtol=2e-4)
    assert np.all(np.diff(found[1], axis=1) >= 0)


def test_lists_of_some_objects(rng):
    index = NeighborIndex.of(rng.normal(size=(700, 5)), 8)
    rows = np.array([3, 699, 41])
    everything, some = index.neighbors(6), index.neighbors(6, rows)
    np.testing.assert_array_equal(some[0], everything[0][rows])
    np.testing.assert_array_equal(some[1], everything[1][rows])


@pytest.mark.parametrize("d", [2, 4])
def test_no_tree_builds_a_wall(rng, d):
    """Neighbours on two sides of a plane of the first tree are found as well as any others."""
    X = rng.normal(size=(3000, d))
    index = NeighborIndex.of(X, 15)
    normals, offsets, _ = index.tree
    height = index.points @ normals[0]
    side = np.empty(3000, dtype=bool)
    side[index.order] = height < offsets[0]
    true, _ = exact(X, 15)
    found = index.neighbors(15)[0]
    apart = side[:, None] != side[true]
    assert apart.sum() > 500
    is_found = (true[:, :, None] == found[:, None, :]).any(axis=2)
    assert is_found[apart].mean() >= 0.95


def test_new_points_find_most_of_their_neighbors(rng):
    X = rng.normal(size=(3000, 8))
    Y = rng.normal(size=(400, 8))
    index = NeighborIndex.of(X, 12)
    found, distances = index.query(Y, 12)
    order, true = exact(Y, 12, X)
    assert share_found(found, order) >= 0.9
    assert np.mean(np.isclose(distances[:, 0], true[:, 0], rtol=1e-3)) > 0.9
    np.testing.assert_allclose(distances, np.linalg.norm(Y[:, None] - X[found], axis=2), rtol=2e-4)


def test_a_fitted_point_finds_itself(rng):
    X = rng.normal(size=(1500, 6))
    found, distances = NeighborIndex.of(X, 10).query(X[::7], 10)
    assert np.mean(found[:, 0] == np.arange(1500)[::7]) == 1.0
    np.testing.assert_allclose(distances[:, 0], 0.0, atol=1e-6)


@pytest.mark.parametrize("shape", [(20_000, 5), (6_000, 50)])
def test_same_bytes_for_one_and_two_threads(rng, shape, limits):
    # In several pieces of few points each, for the wide table, too.
    limits(approximate_range=2**10)
    X = rng.normal(size=shape).astype(np.float32)
    one, two = NeighborIndex.of(X, 15, n_jobs=1), NeighborIndex.of(X, 15, n_jobs=2)
    for name in ("order", "members", "squares"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes(), name
    assert one.query(X[:50], 5)[0].tobytes() == two.query(X[:50], 5)[0].tobytes()


def test_moving_and_scaling_all_points_changes_no_list(rng):
    X = rng.normal(size=(1200, 4))
    lists = NeighborIndex.of(X, 8).neighbors(8)[0]
    far = NeighborIndex.of(1e30 * (X + 100.0), 8)
    assert share_found(far.neighbors(8)[0], lists) > 0.99
    assert np.isfinite(far.neighbors(8)[1]).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 300), st.integers(1, 6), st.integers(1, 20))
def test_any_points_with_copies(seed, n, d, n_neighbors):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, d)).astype(float)
    n_neighbors = min(n_neighbors, n - 1)
    lists, distances = NeighborIndex.of(X, n_neighbors).neighbors(n_neighbors)
    known = lists >= 0
    assert np.array_equal(known, np.isfinite(distances))
    assert np.all(lists[known] < n)
    rows = np.repeat(np.arange(n), known.sum(axis=1))
    np.testing.assert_allclose(
        distances[known], np.linalg.norm(X[rows] - X[lists[known]], axis=1), atol=1e-5
    )


def test_sparse_rows(rng):
    dense = np.where(rng.random((1500, 60)) < 0.15, rng.exponential(size=(1500, 60)), 0.0)
    lists, distances, recall = sparse_neighbors(sp.csr_array(dense), 10)
    true, _ = exact(dense, 10)
    assert share_found(lists, true) >= 0.85
    assert abs(recall - share_found(lists, true)) < 0.04
    np.testing.assert_allclose(
        distances, np.linalg.norm(dense[:, None] - dense[lists], axis=2), rtol=1e-3, atol=1e-3
    )


# --- which search is taken ------------------------------------------------------------------------


@pytest.fixture
def few_compared(limits):
    limits(compared_objects=500)


@pytest.mark.usefixtures("few_compared")
def test_search_follows_size_dimension_and_metric(rng):
    X = rng.normal(size=(600, 6))
    assert isinstance(make_search(X, 5, metric="euclidean"), ApproximateSearch)
    assert isinstance(make_search(X, 5, metric="cosine"), ApproximateSearch)
    assert isinstance(make_search(sp.csr_array(X), 5, metric="cosine"), SparseSearch)
    assert type(make_search(X, 5, metric="manhattan")) is ExactSearch
    assert type(make_search(X[:500], 5, metric="euclidean")) is ExactSearch
    assert type(make_search(X[:, :3], 5, metric="euclidean")) is ExactSearch


@pytest.mark.usefixtures("few_compared")
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_approximate_search_measures_like_the_exact_one(rng, metric, store, dtype):
    X = rng.normal(size=(700, 7)).astype(dtype)
    exact_lists, exact_distances = ExactSearch(X, metric, None).neighbors(6)
    search = make_search(store(X), 6, metric=metric)
    lists, distances = search.neighbors(6)
    assert distances.dtype == dtype
    assert share_found(lists, exact_lists) > 0.9
    assert np.mean(np.isclose(distances[:, 0], exact_distances[:, 0], rtol=1e-3)) > 0.9
    assert np.median(np.abs(distances - exact_distances)) < 1e-5
    new, _ = search.query(store(X[:20] + dtype(0.01)), 6)
    assert new.shape == (20, 6)


@pytest.mark.usefixtures("few_compared")
def test_graph_of_an_approximate_search(rng):
    X = rng.normal(size=(900, 6))
    graph = NeighborGraph(10).fit(X)
    assert 0.9 <= graph.recall_ <= 1.0
    assert abs(graph.matrix_ - graph.matrix_.T).nnz == 0
    assert sp.csgraph.connected_components(graph.matrix_, directed=False)[0] == 1
    assert np.all(np.diff(graph.cross(X[:30] + 0.1).indptr) > 0)


def test_a_quick_query_finds_true_distances_that_are_at_most_too_large(rng):
    X = rng.normal(size=(4000, 6)).astype(np.float32)
    Y = rng.normal(size=(300, 6)).astype(np.float32)
    index = NeighborIndex.of(X, 10)
    lists, distances = index.query(Y, 10, quick=True)
    assert (np.diff(distances, axis=1) >= 0).all()
    assert all(len(set(row)) == 10 for row in lists.tolist())
    np.testing.assert_allclose(
        distances, np.linalg.norm(Y[:, None] - X[lists], axis=2), rtol=1e-4, atol=1e-5
    )
    _, true = exact(Y.astype(np.float64), 10, X.astype(np.float64))
    assert (distances >= true * (1 - 1e-4)).all()
    assert np.median(distances[:, -1] / true[:, -1]) < 1.5
    # A row is found alike in any company.
    again, same = index.query(Y[17:90], 10, quick=True)
    assert again.tobytes() == lists[17:90].tobytes()
    assert same.tobytes() == distances[17:90].tobytes()


def test_a_quick_query_among_fewer_points_than_a_leaf_is_exact(rng):
    X = rng.normal(size=(200, 3)).astype(np.float32)
    lists, _ = NeighborIndex.of(X, 5).query(X + np.float32(1e-3), 5, quick=True)
    true, _ = exact(X.astype(np.float64) + 1e-3, 5, X.astype(np.float64))
    assert share_found(lists, true) > 0.999
