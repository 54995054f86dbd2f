from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import KNeighborsTransformer

from soffit.neighbors.distances import distances

SCALED = ["braycurtis", "canberra", "chebyshev", "correlation", "cosine", "euclidean", "l1", "l2"]
SCALED += ["cityblock", "manhattan", "minkowski", "sqeuclidean", "nan_euclidean", "hamming"]
PRESENCE = ["dice", "jaccard", "rogerstanimoto", "russellrao", "sokalsneath", "yule"]
SPARSE = ["cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "sqeuclidean"]


@pytest.fixture
def X():
    return np.random.default_rng(2903).normal(size=(37, 5)) + 3


@pytest.fixture
def small_blocks(limits):
    """Several row blocks even for the small matrices of these tests."""
    limits(block_entries=64)


features = st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.floats(-1e3, 1e3))
)


@given(features)
def test_symmetric_with_zero_diagonal_and_equal_to_direct_differences(X):
    D = distances(X)
    assert np.array_equal(D, D.T)
    assert not D.diagonal().any()
    np.testing.assert_allclose(D, cdist(X, X), rtol=1e-9, atol=1e-150)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("metric", SCALED)
def test_agrees_with_scikit_learn(X, metric):
    D = distances(X, metric=metric)
    assert np.array_equal(D, D.T)
    np.testing.assert_allclose(D, pairwise_distances(X, metric=metric), atol=1e-12)
    np.testing.assert_allclose(distances(X[:4], X, metric=metric), D[:4], atol=1e-12)


@pytest.mark.parametrize("metric", PRESENCE)
def test_presence_metrics_need_zeros_and_ones(X, metric):
    present = X > 3
    expected = pairwise_distances(present, metric=metric)
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(distances(present.astype(float), metric=metric), expected)
    with pytest.raises(ValueError, match="0 or 1"):
        distances(X, metric=metric)


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_scales_come_from_the_fitted_objects(X, metric):
    D = distances(X, metric=metric)
    np.testing.assert_allclose(D, pairwise_distances(X, metric=metric), atol=1e-12)
    np.testing.assert_allclose(distances(X[:3], X, metric=metric), D[:3], atol=1e-12)
    constant = np.hstack([X, np.ones((len(X), 1))])
    np.testing.assert_allclose(distances(constant, metric=metric), D, atol=1e-9)


def test_haversine():
    X = np.radians([[48.2, 16.4], [52.5, 13.4], [-33.9, 151.2]])
    expected = pairwise_distances(X, metric="haversine")
    np.testing.assert_allclose(distances(X, metric="haversine"), expected, atol=1e-14)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("metric", SPARSE)
@pytest.mark.parametrize("storage", [sp.csr_array, sp.csr_matrix])
def test_sparse_features_equal_dense(X, metric, storage):
    X = np.where(X > 3, X, 0)
    X[5] = 0
    dense, sparse = distances(X, metric=metric), distances(storage(X), metric=metric)
    np.testing.assert_allclose(sparse, dense, atol=1e-12)
    np.testing.assert_allclose(
        distances(storage(X[:3]), storage(X), metric=metric), dense[:3], atol=1e-12
    )


def test_sparse_features_need_a_suitable_metric(X):
    with pytest.raises(ValueError, match=r"sparse features.*toarray"):
        distances(sp.csr_array(X), metric="chebyshev")


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_near_duplicates_are_accurate_and_duplicates_exact(X, offset, storage):
    X = X + offset
    near = X.copy()
    near[:, 0] += 1e-7
    everything = np.vstack([X, near, X])
    D = distances(storage(everything))
    np.testing.assert_allclose(D, cdist(everything, everything), rtol=1e-9)
    n = len(X)
    assert not D[:n, 2 * n :].diagonal().any()
    assert not distances(storage(X), storage(everything))[:, :n].diagonal().any()


def test_tight_groups_take_the_direct_way(X):
    tight = np.vstack([X * 1e-5, X * 1e-5 + 100])
    np.testing.assert_array_equal(distances(tight), cdist(tight, tight))


@pytest.mark.parametrize("factor", [1e-200, 1e-305, 1e200, 1e305])
def test_extreme_values_neither_overflow_nor_vanish(X, factor):
    np.testing.assert_allclose(distances(X * factor) / factor, distances(X), rtol=1e-9)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "chebyshev"])
def test_threads_do_not_change_a_bit(X, metric):
    one, two = (distances(X, metric=metric, n_jobs=jobs) for jobs in (1, 2))
    assert one.tobytes() == two.tobytes()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_single_precision_is_kept(X, metric):
    D = distances(X.astype(np.float32), metric=metric)
    assert D.dtype == np.float32
    np.testing.assert_allclose(D, distances(X, metric=metric), rtol=1e-4, atol=1e-6)


@given(features, st.randoms(use_true_random=False))
def test_permuting_the_objects_permutes_the_distances(X, random):
    order = list(range(len(X)))
    random.shuffle(order)
    np.testing.assert_allclose(
        distances(X[order]), distances(X)[np.ix_(order, order)], rtol=1e-9, atol=1e-150
    )


def test_parallel_rows_have_cosine_distance_exactly_zero():
    X = np.random.default_rng(577).random((6, 9))
    assert not distances(np.vstack([X, 3 * X]), metric="cosine")[:6, 6:].diagonal().any()
    X = X.astype(np.float32)
    assert not distances(np.vstack([X, 3 * X]), metric="cosine")[:6, 6:].diagonal().any()


def test_zero_rows_have_cosine_distance_one():
    D = distances(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.0]]), metric="cosine")
    np.testing.assert_array_equal(D, 1 - np.eye(3))


def test_callable_metric(X):
    def largest_difference(x, y):
        return np.abs(x - y).max()

    expected = distances(X, metric="chebyshev")
    np.testing.assert_allclose(distances(X, metric=largest_difference), expected)
    np.testing.assert_allclose(distances(X[:2], X, metric=largest_difference), expected[:2])


def test_unsuitable_metrics_are_named(X):
    with pytest.raises(ValueError, match=r"'euclidian' is unknown.*'euclidean'.*'cosine'"):
        distances(X, metric="euclidian")
    with pytest.raises(TypeError, match="metric must be a name or a callable, not 3"):
        distances(X, metric=3)
    with pytest.raises(ValueError, match=r"negative distance.*affinity="):
        distances(X, metric=lambda x, y: -float(x @ y))
    X[4] = 1
    with pytest.raises(ValueError, match=r"'correlation' is not a number.*constant"):
        distances(X, metric="correlation")


def test_number_of_features_must_agree(X):
    with pytest.raises(ValueError, match=r"3 features.*fitted with 5"):
        distances(X[:, :3], X)


def test_memory_is_checked_first(X, monkeypatch):
    monkeypatch.setattr("soffit._memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="affinity='nearest_neighbors'"):
        distances(X)


def test_inputs_stay_as_they_are(X):
    before = X.copy()
    distances(X)
    D = distances(X)
    kept = D.copy()
    distances(D, metric="precomputed")[:] = 7
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(D, kept)


class TestPrecomputed:
    def test_valid_distances_pass(self, X):
        D = distances(X)
        rough = D + np.triu(np.full(D.shape, 1e-10), 1)
        result = distances(rough, metric="precomputed")
        assert np.array_equal(result, result.T)
        np.testing.assert_allclose(result, D, atol=1e-9)
        assert distances(D.astype(np.float32), metric="precomputed").dtype == np.float32
        assert distances((D * 10).astype(int), metric="precomputed").dtype == np.float64

    def test_block_of_new_objects(self, X):
        D = distances(X)
        block = distances(D[:3], D, metric="precomputed")
        np.testing.assert_array_equal(block, D[:3])
        with pytest.raises(ValueError, match="n = 37 columns"):
            distances(D[:3, :5], D, metric="precomputed")

    @pytest.mark.parametrize(
        ("spoil", "message"),
        [
            (lambda D: D[:5], "must be square, not 5 x 37"),
            (lambda D: D[0], "two-dimensional"),
            (lambda D: np.where(D > 3, np.nan, D), r"finite.*NaN"),
            (lambda D: D - 2, r"must be >= 0.*affinity='precomputed'"),
            (np.triu, r"symmetric.*differ by up to .*\(D \+ D\.T\) / 2"),
            (lambda D: np.exp(-D), "look like similarities: pass affinity='precomputed'"),
            (lambda D: D + np.diag(np.arange(37.0)), "zero diagonal, but it reaches 36"),
            (lambda D: D[:0, :0], "empty"),
        ],
    )
    def test_unsuitable_matrices_are_refused(self, X, spoil, message):
        with pytest.raises(ValueError, match=message):
            distances(spoil(distances(X)), metric="precomputed")

    def test_sparse_neighbours_are_completed_by_the_other_direction(self, X):
        X = np.vstack([X, X[:2]])
        known = KNeighborsTransformer(mode="distance", n_neighbors=4).fit_transform(X)
        before = known.copy()
        D = distances(known, metric="precomputed")
        full = distances(X)
        pattern = sp.csr_array((np.ones(known.nnz), known.indices, known.indptr), known.shape)
        pattern = (pattern + pattern.T).toarray() > 0
        np.testing.assert_allclose(D.toarray(), np.where(pattern, full, 0), atol=1e-7)
        # Repeated objects are known to be at distance zero, which is not the same as unknown.
        assert D.nnz == np.count_nonzero(pattern)
        assert D.has_canonical_format
        assert abs(known - before).nnz == 0
        assert np.array_equal(known.indices, before.indices)

    def test_contradicting_sparse_distances_are_refused(self):
        D = sp.coo_array(([1.0, 2.0], ([0, 1], [1, 0])), shape=(2, 2))
        with pytest.raises(ValueError, match="differ by up to 1"):
            distances(D, metric="precomputed")

    def test_sparse_without_entries(self):
        D = distances(sp.csr_array((3, 3)), metric="precomputed")
        assert D.nnz == 3
        assert not D.toarray().any()
