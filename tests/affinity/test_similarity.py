from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import cosine_similarity
from sklearn.neighbors import KNeighborsTransformer

from soffit.affinity import Cosine, Gaussian, Laplacian

KERNELS = [
    (Gaussian, lambda d, h: np.exp(-(d**2) / (2 * h**2))),
    (Laplacian, lambda d, h: np.exp(-d / h)),
]
both = pytest.mark.parametrize(("kernel", "formula"), KERNELS)


@pytest.fixture
def X():
    return np.random.default_rng(6133).normal(size=(40, 3))


features = st.tuples(st.integers(1, 12), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
)


@both
def test_copies_do_not_make_clusters_larger(X, kernel, formula):
    # 40 objects in 4 clusters: the fifth neighbour, not the fifteenth, however often they occur.
    once = kernel(neighbor=15).fit_for(X, 4)
    assert once.bandwidth_ == pytest.approx(kernel(neighbor=5).fit(X).bandwidth_)
    twice = kernel(neighbor=15).fit_for(np.repeat(X, 2, axis=0), 4)
    assert twice.bandwidth_ == pytest.approx(once.bandwidth_)
    np.testing.assert_allclose(twice.matrix_[::2, ::2], once.matrix_, rtol=1e-9)


@both
def test_formula_and_bandwidth(X, kernel, formula):
    D = cdist(X, X)
    fitted = kernel(neighbor=7).fit(X)
    assert fitted.bandwidth_ == pytest.approx(np.median(np.sort(D, axis=1)[:, 7]))
    np.testing.assert_allclose(fitted.matrix_, formula(D, fitted.bandwidth_), rtol=1e-9)
    new = X[:3] + 0.3
    np.testing.assert_allclose(fitted.cross(new), formula(cdist(new, X), fitted.bandwidth_))
    given_width = kernel(bandwidth=0.7).fit(X)
    assert given_width.bandwidth_ == 0.7
    np.testing.assert_allclose(given_width.matrix_, formula(D, 0.7), rtol=1e-9)


@given(features, st.sampled_from([kernel for kernel, _ in KERNELS]))
def test_symmetric_within_bounds_and_consistent_for_fitted_objects(X, kernel):
    fitted = kernel(neighbor=2).fit(X)
    assert np.array_equal(fitted.matrix_, fitted.matrix_.T)
    assert np.all((fitted.matrix_ >= 0) & (fitted.matrix_ <= 1))
    assert np.all(fitted.matrix_.diagonal() == 1)
    np.testing.assert_allclose(fitted.cross(X), fitted.matrix_, rtol=1e-9)


@both
def test_bandwidth_of_repeated_objects(kernel, formula):
    assert kernel().fit(np.ones((5, 2))).bandwidth_ == 1.0
    # Mostly repeated: the objects that have a positive distance to their neighbour decide.
    assert kernel(neighbor=1).fit(np.array([[0.0]] * 4 + [[5.0]])).bandwidth_ == 5.0
    # No object has one: the nearest different object decides, not an arbitrary 1.
    assert kernel(neighbor=1).fit(np.array([[0.0]] * 3 + [[5.0]] * 3)).bandwidth_ == 5.0


@both
def test_single_precision_is_kept(X, kernel, formula):
    narrow = kernel().fit(X.astype(np.float32))
    assert narrow.matrix_.dtype == np.float32
    np.testing.assert_allclose(narrow.matrix_, kernel().fit(X).matrix_, rtol=1e-4)


@both
def test_sparse_distances_stay_sparse(X, kernel, formula):
    neighbours = KNeighborsTransformer(mode="distance", n_neighbors=12).fit(X)
    fitted = kernel(metric="precomputed").fit(neighbours.transform(X))
    A = fitted.matrix_
    assert isinstance(A, sp.csr_array)
    assert abs(A - A.T).nnz == 0
    dense = kernel(metric="precomputed", bandwidth=fitted.bandwidth_).fit(cdist(X, X)).matrix_
    np.testing.assert_allclose(A.toarray(), np.where(A.toarray() > 0, dense, 0), rtol=1e-6)
    assert fitted.bandwidth_ == pytest.approx(kernel().fit(X).bandwidth_)


@both
def test_unsuitable_parameters_are_named(X, kernel, formula):
    with pytest.raises(ValueError, match="bandwidth must be None or a number above 0, got -1"):
        kernel(bandwidth=-1).fit(X)
    with pytest.raises(ValueError, match="neighbor must be an integer"):
        kernel(neighbor=0).fit(X)


@pytest.mark.parametrize("affinity", [Gaussian(), Laplacian(), Cosine()])
def test_pickle(X, affinity):
    fitted = affinity.fit(X)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.cross(X + 1), fitted.cross(X + 1))


class TestCosine:
    @given(features)
    def test_against_scikit_learn(self, X):
        fitted = Cosine().fit(X)
        A = fitted.matrix_
        expected = np.maximum(cosine_similarity(X), 0)
        np.testing.assert_allclose(fitted.cross(X), expected, atol=1e-12)
        np.fill_diagonal(expected, 1)
        np.testing.assert_allclose(A, expected, atol=1e-12)
        assert np.array_equal(A, A.T)
        assert np.all((A >= 0) & (A <= 1))

    @given(features)
    def test_sparse_equals_dense(self, X):
        A = Cosine().fit(sp.csr_array(X)).matrix_
        A = A.toarray() if sp.issparse(A) else A
        np.testing.assert_allclose(A, Cosine().fit(X).matrix_, atol=1e-12)
        assert np.array_equal(A, A.T)

    def test_storage_follows_the_density(self, limits):
        limits(block_entries=64)
        rng = np.random.default_rng(811)
        rare = sp.random_array((60, 400), density=0.008, random_state=rng, format="csr")
        common = sp.random_array((60, 40), density=0.4, random_state=rng, format="csr")
        fitted = Cosine().fit(rare)
        assert isinstance(fitted.matrix_, sp.csr_array)
        assert fitted.matrix_.has_canonical_format
        assert abs(fitted.matrix_ - fitted.matrix_.T).nnz == 0
        np.testing.assert_array_equal(fitted.matrix_.diagonal(), 1)
        np.testing.assert_allclose(
            fitted.matrix_.toarray(), Cosine().fit(rare.toarray()).matrix_, atol=1e-12
        )
        assert isinstance(fitted.cross(rare[:50]), sp.csr_array)
        dense = Cosine().fit(common)
        assert isinstance(dense.matrix_, np.ndarray)
        np.testing.assert_allclose(
            dense.matrix_, Cosine().fit(common.toarray()).matrix_, atol=1e-12
        )

    def test_zero_rows(self):
        X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 2.0]])
        for objects in (X, sp.csr_array(X)):
            fitted = Cosine().fit(objects)
            matrix, block = fitted.matrix_, fitted.cross(objects[:1])
            matrix = matrix.toarray() if sp.issparse(matrix) else matrix
            np.testing.assert_array_equal(matrix, np.eye(3))
            assert abs(block).max() == 0

    def test_extreme_values_and_single_precision(self, X):
        np.testing.assert_allclose(Cosine().fit(X * 1e250).matrix_, Cosine().fit(X).matrix_)
        narrow = Cosine().fit(X.astype(np.float32)).matrix_
        assert narrow.dtype == np.float32
        np.testing.assert_allclose(narrow, Cosine().fit(X).matrix_, atol=1e-6)

    def test_number_of_features_must_agree(self, X):
        with pytest.raises(ValueError, match=r"2 features.*fitted with 3"):
            Cosine().fit(X).cross(X[:, :2])

    def test_memory_is_checked_first(self, X, monkeypatch):
        monkeypatch.setattr("soffit._memory.available_memory", lambda: 1000)
        with pytest.raises(MemoryError, match="affinity='nearest_neighbors'"):
            Cosine().fit(X)
