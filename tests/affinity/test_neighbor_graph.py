from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from soffit.affinity import NeighborGraph
from soffit.neighbors.search import ExactSearch, nearest_neighbors

WEIGHTS = ("overlap", "local", "binary")
KEEP = ("mutual", "union")
every_rule = pytest.mark.parametrize("keep", KEEP)
every_weight = pytest.mark.parametrize("weights", WEIGHTS)


def n_components(A):
    return sp.csgraph.connected_components(A, directed=False)[0]


def listed(X, n_neighbors):
    """Who lists whom, as a matrix of truth values."""
    indices, _ = nearest_neighbors(X, n_neighbors)
    lists = np.zeros((len(X), len(X)), dtype=bool)
    np.put_along_axis(lists, indices, True, axis=1)
    return lists


def assert_graph(A, n, dtype=np.float64):
    assert isinstance(A, sp.csr_array)
    assert A.shape == (n, n)
    assert A.dtype == dtype
    assert A.indices.dtype == A.indptr.dtype == np.int32
    assert A.has_canonical_format
    assert abs(A - A.T).nnz == 0
    assert not np.any(A.diagonal())
    assert np.all((A.data > 0) & (A.data <= 1))


def blobs(rng, gap=50.0, n_blobs=4, size=30, n_columns=2):
    centers = gap * np.arange(n_blobs)[:, None] * np.ones(n_columns)
    return np.repeat(centers, size, axis=0) + rng.normal(size=(n_blobs * size, n_columns))


@pytest.fixture
def rng():
    return np.random.default_rng(5519)


# --- the edges -----------------------------------------------------------------------------------


def test_mutual_and_union_edges(rng):
    X = rng.normal(size=(120, 3))
    lists = listed(X, 6)
    mutual = NeighborGraph(6, keep="mutual", weights="binary", connect=False).fit(X).matrix_
    union = NeighborGraph(6, keep="union", weights="binary", connect=False).fit(X).matrix_
    assert np.array_equal(mutual.toarray(), (lists & lists.T).astype(float))
    assert np.array_equal(union.toarray(), (lists | lists.T).astype(float))


points = st.tuples(st.integers(1, 25), st.sampled_from([1, 2, 9])).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
)


@given(
    points,
    st.integers(1, 30),
    st.sampled_from(KEEP),
    st.sampled_from(WEIGHTS),
    st.sampled_from([np.float32, np.float64]),
)
def test_any_points_give_one_connected_graph(X, n_neighbors, keep, weights, dtype):
    X = X.astype(dtype)
    A = NeighborGraph(n_neighbors, keep=keep, weights=weights).fit(X).matrix_
    assert_graph(A, len(X), dtype)
    assert n_components(A) == 1


@every_rule
@every_weight
def test_far_apart_groups_are_joined_by_single_links(rng, keep, weights):
    X = blobs(rng)
    apart = NeighborGraph(8, keep=keep, weights=weights, connect=False).fit(X).matrix_
    joined = NeighborGraph(8, keep=keep, weights=weights).fit(X).matrix_
    count = n_components(apart)
    assert count >= 4
    assert n_components(joined) == 1
    links = sp.triu((joined != 0).astype(int) - (apart != 0).astype(int)).tocoo()
    assert np.all(links.data == 1)
    assert links.nnz == count - 1
    # Groups lie on a line: the three links between them are the shortest ones.
    D = cdist(X, X)
    group = np.repeat(np.arange(4), 30)
    for g in range(3):
        between = (group[links.row] == g) & (group[links.col] == g + 1)
        shortest = D[np.ix_(group == g, group == g + 1)].min()
        assert D[links.row[between], links.col[between]].tolist() == [shortest]
    kept = apart != 0
    assert abs(joined * kept - apart).max() == 0


def test_links_of_a_mutual_graph_are_tried_among_the_lists_first():
    # Object 4 lists others but nobody lists it: its shortest listed pair becomes the link.
    X = np.array([[0.0], [1.0], [2.0], [3.0], [20.0]])
    A = NeighborGraph(2, weights="binary").fit(X).matrix_.toarray()
    assert A[4].tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]


def test_more_components_than_are_searched_exactly(rng):
    X = np.repeat(rng.uniform(0, 1e4, size=(90, 2)), 4, axis=0) + rng.normal(size=(360, 2))
    apart = NeighborGraph(3, connect=False).fit(X).matrix_
    assert n_components(apart) > 64
    assert n_components(NeighborGraph(3).fit(X).matrix_) == 1


@every_rule
@every_weight
def test_copies_of_one_point(keep, weights):
    X = np.full((40, 3), 2.5)
    graph = NeighborGraph(5, keep=keep, weights=weights).fit(X)
    assert_graph(graph.matrix_, 40)
    assert n_components(graph.matrix_) == 1
    assert np.all(np.diff(graph.cross(X[:3]).indptr) > 0)


@every_rule
@every_weight
def test_one_object(keep, weights):
    graph = NeighborGraph(4, keep=keep, weights=weights).fit(np.array([[3.0, 4.0]]))
    assert graph.matrix_.shape == (1, 1)
    assert graph.matrix_.nnz == 0
    block = graph.cross(np.array([[3.0, 4.0], [30.0, -4.0]])).toarray()
    assert block.shape == (2, 1)
    assert np.all((block > 0) & (block <= 1))


@every_rule
@every_weight
def test_two_objects(keep, weights):
    graph = NeighborGraph(4, keep=keep, weights=weights).fit(np.array([[0.0], [7.0]]))
    assert_graph(graph.matrix_, 2)
    assert graph.matrix_.nnz == 2
    assert np.all(np.diff(graph.cross(np.array([[1.0], [100.0]])).indptr) > 0)


# --- the weights ---------------------------------------------------------------------------------


def test_local_weights_follow_the_definition(rng):
    X = rng.normal(size=(60, 2))
    D = cdist(X, X)
    scale = np.sort(D, axis=1)[:, 7]
    A = NeighborGraph(10, weights="local", connect=False).fit(X).matrix_.tocoo()
    expected = np.exp(-(D**2) / np.outer(scale, scale))
    np.testing.assert_allclose(A.data, expected[A.row, A.col], rtol=1e-12)


@every_weight
def test_weights_do_not_depend_on_the_unit_of_length(rng, weights):
    X = rng.normal(size=(80, 2)).astype(np.float32)
    plain = NeighborGraph(6, weights=weights).fit(X).matrix_
    for factor in (2.0**-80, 2.0**40):
        scaled = NeighborGraph(6, weights=weights).fit(X * np.float32(factor)).matrix_
        assert np.array_equal(plain.indices, scaled.indices)
        np.testing.assert_allclose(plain.data, scaled.data, rtol=1e-5)


def test_overlap_is_larger_inside_a_group_than_across(rng):
    X = blobs(rng, gap=4.0, n_blobs=2, size=100)
    A = NeighborGraph(15, keep="union", connect=False).fit(X).matrix_.tocoo()
    same = (A.row < 100) == (A.col < 100)
    assert A.data[same].mean() > A.data[~same].mean()


def test_unknown_neighbors_are_not_shared():
    # Two pairs of stored distances: lists of length 3 with two unknown members each.
    D = sp.csr_array(
        (np.ones(4), (np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2]))),
        shape=(4, 4),
    )
    few = NeighborGraph(1, metric="precomputed", connect=False).fit(D).matrix_
    many = NeighborGraph(3, metric="precomputed", connect=False).fit(D).matrix_
    assert np.all(many.data <= few.data)


# --- what the objects are given as ---------------------------------------------------------------


@every_rule
@every_weight
def test_distances_give_the_graph_of_the_features(rng, keep, weights):
    X, X_new = rng.normal(size=(70, 3)), rng.normal(size=(9, 3))
    by_features = NeighborGraph(5, keep=keep, weights=weights).fit(X)
    by_distances = NeighborGraph(5, metric="precomputed", keep=keep, weights=weights)
    by_distances.fit(cdist(X, X))
    assert abs(by_features.matrix_ - by_distances.matrix_).max() < 1e-12
    assert abs(by_features.cross(X_new) - by_distances.cross(cdist(X_new, X))).max() < 1e-12


def test_sparse_features_give_the_graph_of_dense_ones(rng):
    X = np.where(rng.random((60, 20)) < 0.4, rng.normal(size=(60, 20)), 0.0)
    dense, stored = NeighborGraph(5).fit(X), NeighborGraph(5).fit(sp.csr_array(X))
    assert abs(dense.matrix_ - stored.matrix_).max() < 1e-12
    assert abs(dense.cross(X[:7]) - stored.cross(sp.csr_array(X[:7]))).max() < 1e-12


@every_rule
@every_weight
def test_sparse_distances(rng, keep, weights):
    X = blobs(rng, n_blobs=2, size=20)
    D = cdist(X, X)
    D[D > 3] = 0
    graph = NeighborGraph(25, metric="precomputed", keep=keep, weights=weights)
    graph.fit(sp.csr_array(D))
    assert_graph(graph.matrix_, 40)
    assert np.all(D[graph.matrix_.nonzero()] > 0)
    # What no stored distance joins stays apart.
    assert n_components(graph.matrix_) == n_components(sp.csr_array(D)) >= 2
    # Equal rows get equal weights, wherever they stand and however few neighbours they know.
    row = np.zeros((1, 40))
    row[0, :3] = [0.5, 1.5, 2.5]
    block = graph.cross(sp.csr_array(np.repeat(row, 12, axis=0))).toarray()
    assert np.all(block == block[0])
    assert block[0, 0] > 0
    assert not np.any(block[0, 3:])
    assert graph.cross(sp.csr_array((2, 40))).nnz == 0


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "mahalanobis"])
def test_other_metrics(rng, metric):
    X = rng.normal(size=(50, 3))
    graph = NeighborGraph(5, metric=metric).fit(X)
    assert_graph(graph.matrix_, 50)
    assert n_components(graph.matrix_) == 1
    assert np.all(np.diff(graph.cross(X[:4]).indptr) > 0)


# --- new objects ---------------------------------------------------------------------------------


@every_weight
def test_new_objects_keep_those_in_whose_reach_they_lie(rng, weights):
    X, X_new = rng.normal(size=(100, 2)), 1.5 * rng.normal(size=(25, 2))
    block = NeighborGraph(7, weights=weights).fit(X).cross(X_new)
    radius = np.sort(cdist(X, X), axis=1)[:, 7]
    D = cdist(X_new, X)
    order = np.argsort(D, axis=1)[:, :7]
    expected = np.zeros(D.shape, dtype=bool)
    np.put_along_axis(expected, order, True, axis=1)
    expected &= radius >= D
    expected[np.arange(25), order[:, 0]] = True
    assert np.array_equal(block.toarray() > 0, expected)
    assert block.data.max() <= 1


def test_new_objects_keep_all_their_neighbors_in_a_union_graph(rng):
    X, X_new = rng.normal(size=(100, 2)), 9 * rng.normal(size=(25, 2))
    block = NeighborGraph(7, keep="union").fit(X).cross(X_new)
    assert np.all(np.diff(block.indptr) == 7)


@every_rule
def test_submitting_fitted_objects_again_finds_their_neighbors(rng, keep):
    X = rng.normal(size=(200, 3))
    graph = NeighborGraph(10, keep=keep).fit(X)
    block, A = graph.cross(X).toarray() > 0, graph.matrix_.toarray() > 0
    assert np.all(block.diagonal())
    others = block & ~np.eye(200, dtype=bool)
    shared = (others & A).sum()
    assert shared >= 0.9 * others.sum()
    if keep == "mutual":
        assert shared >= 0.85 * A.sum()


def test_precision_of_new_objects_follows_the_fit(rng):
    X = rng.normal(size=(40, 2)).astype(np.float32)
    assert NeighborGraph(5).fit(X).cross(X[:3]).dtype == np.float32


# --- invariants ----------------------------------------------------------------------------------


@every_rule
@every_weight
def test_permuting_the_objects_permutes_the_graph(rng, keep, weights):
    X = rng.normal(size=(150, 3))
    order = rng.permutation(150)
    plain = NeighborGraph(6, keep=keep, weights=weights).fit(X).matrix_
    permuted = NeighborGraph(6, keep=keep, weights=weights).fit(X[order]).matrix_
    assert abs(plain[order][:, order] - permuted).max() < 1e-12


@pytest.mark.parametrize("n_columns", [2, 12])
def test_threads_do_not_change_the_bytes(rng, n_columns):
    X = np.round(blobs(rng, n_columns=n_columns, size=100), 1)
    one, two = (NeighborGraph(6, n_jobs=jobs).fit(X).matrix_ for jobs in (1, 2))
    for part in ("data", "indices", "indptr"):
        assert getattr(one, part).tobytes() == getattr(two, part).tobytes()


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_input_is_left_alone_and_the_fit_survives_pickling(rng, metric):
    X = rng.normal(size=(50, 2))
    X = cdist(X, X) if metric == "precomputed" else X
    before = X.copy()
    graph = NeighborGraph(5, metric=metric).fit(X)
    assert np.array_equal(X, before)
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph
    assert abs(again.matrix_ - graph.matrix_).nnz == 0
    assert abs(again.cross(X[:6]) - graph.cross(X[:6])).nnz == 0


@pytest.mark.parametrize(("name", "value"), [("keep", "both"), ("weights", "heavy")])
def test_unknown_choices_are_named(name, value):
    with pytest.raises(ValueError, match=f"{name} must be one of .* got '{value}'"):
        NeighborGraph(**{name: value}).fit(np.zeros((3, 1)))


@every_rule
@pytest.mark.parametrize("n", [40, 200])
def test_compiled_loops_build_the_graph_that_numpy_builds(rng, limits, keep, n):
    X = rng.normal(size=(n, 3))
    expected = NeighborGraph(9, keep=keep).fit(X).matrix_
    limits(list_comparisons=0)
    found = NeighborGraph(9, keep=keep).fit(X).matrix_
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_equal_distances_of_both_precisions_are_ties():
    # Steps of 0.1 are rounded, by more in single precision.
    X = 0.1 * np.stack(np.meshgrid(np.arange(30.0), np.arange(30.0)), axis=-1).reshape(-1, 2)
    double = NeighborGraph(n_neighbors=6).fit(X)
    single = NeighborGraph(n_neighbors=6).fit(X.astype(np.float32))
    # Four at one step, four at a diagonal one, of which two would be taken by chance.
    middle = 15 * 30 + 15
    assert len(double.matrix_[[middle]].indices) == 8
    np.testing.assert_array_equal(single._members, double._members)


def test_nearly_equal_distances_are_no_ties_in_either_precision():
    # The second neighbour of each first point is farther away by one part in 20,000.
    start = 100.0 * np.arange(20.0)[:, None] - 1000.0
    rows = [start, start + 10.0, start - 10.0 * (1 + 5e-5)]
    X = np.concatenate(rows)
    for dtype in (np.float64, np.float32):
        graph = NeighborGraph(n_neighbors=1, connect=False).fit(X.astype(dtype))
        np.testing.assert_array_equal(graph._members[:20, 0], np.arange(20, 40))
        assert graph._members.shape == (60, 1)


def test_only_tied_objects_are_searched_again(rng, monkeypatch):
    # The corners of a tetrahedron have three neighbours each at the same distance.
    corners = [[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]
    X = np.concatenate([rng.normal(size=(60, 3)) + 50.0, corners])
    searched, search = [], ExactSearch.neighbors

    def neighbors(self, count, rows=None):
        searched.append((count, rows))
        return search(self, count, rows)

    monkeypatch.setattr(ExactSearch, "neighbors", neighbors)
    graph = NeighborGraph(n_neighbors=2, connect=False).fit(X)
    assert [count for count, _ in searched] == [3, 5]
    np.testing.assert_array_equal(searched[1][1], np.arange(60, 64))
    assert graph._members.shape == (64, 3)
    assert np.all(graph._members[:60, 0] < 0)
    assert np.all(graph._members[60:] >= 60)
