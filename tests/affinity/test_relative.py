from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.neighbors import KNeighborsTransformer

from soffit.affinity import RelativeDistance
from soffit.affinity.similarity import neighbor_distances


def reference(X, neighbor, c=1.0, squared=False):
    """Straight from the definition, one pair at a time; equal objects are one neighbour."""
    D = cdist(X, X)
    n = len(D)
    distinct = np.unique(X, axis=0)
    s = []
    for i in range(n):
        others = np.sort(cdist(X[i : i + 1], distinct)[0])[1:]
        s.append(others[min(neighbor, len(others)) - 1] if len(others) else 1.0)
    P = np.empty_like(D)
    for i in range(n):
        for j in range(n):
            power = 2 if squared else 1
            P[i, j] = np.exp(-c * D[i, j] ** power / np.sqrt(s[i] ** power * s[j] ** power))
    return P


@pytest.fixture
def X():
    return np.random.default_rng(4211).normal(size=(45, 3))


points = st.tuples(st.integers(1, 14), st.integers(1, 3)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-4, 4).map(float))
)


@given(points, st.integers(1, 15), st.sampled_from([0.5, 1.0]), st.booleans())
def test_follows_the_definition(X, neighbor, c, squared):
    P = RelativeDistance(neighbor=neighbor, c=c, squared=squared).fit(X).matrix_
    assert np.array_equal(P, P.T)
    assert np.all((P >= 0) & (P <= 1))
    assert np.all(P.diagonal() == 1)
    np.testing.assert_allclose(P, reference(X, neighbor, c, squared), rtol=1e-9)


@given(points, st.floats(1e-120, 1e120), st.booleans())
def test_scale_of_the_distances_does_not_matter(X, factor, squared):
    rule = RelativeDistance(neighbor=2, squared=squared)
    np.testing.assert_allclose(
        rule.fit(X * factor).matrix_, rule.fit(X).matrix_, rtol=1e-9, atol=1e-14
    )


@given(points, st.integers(1, 5), st.booleans())
def test_fitted_objects_submitted_again_get_their_own_rows(X, neighbor, squared):
    rule = RelativeDistance(neighbor=neighbor, squared=squared).fit(X)
    np.testing.assert_allclose(rule.cross(X), rule.matrix_, rtol=1e-9)


@given(points, st.randoms(use_true_random=False))
def test_permuting_the_objects_permutes_the_result(X, random):
    order = list(range(len(X)))
    random.shuffle(order)
    rule = RelativeDistance(neighbor=3)
    expected = rule.fit(X).matrix_[np.ix_(order, order)]
    np.testing.assert_allclose(rule.fit(X[order]).matrix_, expected, rtol=1e-9)


def test_several_row_blocks(X, limits):
    whole = RelativeDistance(neighbor=4).fit(X)
    limits(block_entries=64)
    parts = RelativeDistance(neighbor=4).fit(X)
    np.testing.assert_allclose(parts.matrix_, whole.matrix_, rtol=1e-12)
    np.testing.assert_allclose(parts.cross(X + 1), whole.cross(X + 1), rtol=1e-12)


def test_new_object_by_hand():
    rule = RelativeDistance(neighbor=2).fit(np.array([[0.0], [1.0], [3.0], [7.0]]))
    np.testing.assert_allclose(rule.scales_, [3, 2, 3, 6])
    distance = np.array([2.0, 1.0, 1.0, 5.0])
    # The second nearest of the fitted objects is at distance 1.
    expected = np.exp(-distance / np.sqrt(rule.scales_))
    np.testing.assert_allclose(rule.cross(np.array([[2.0]]))[0], expected)


def test_repeated_objects():
    X = np.array([[0.0]] * 5 + [[2.0], [3.0]])
    rule = RelativeDistance(neighbor=3).fit(X)
    np.testing.assert_allclose(rule.scales_, [3] * 5 + [2, 3])
    assert np.all(rule.matrix_[:5, :5] == 1)
    same = RelativeDistance().fit(np.ones((4, 2)))
    assert np.all(same.matrix_ == 1)
    assert np.all(same.cross(np.ones((1, 2))) == 1)
    assert np.all(np.isfinite(same.cross(np.zeros((1, 2)))))


def test_single_precision_is_kept(X):
    wide, narrow = RelativeDistance().fit(X), RelativeDistance().fit(X.astype(np.float32))
    assert narrow.matrix_.dtype == np.float32
    assert narrow.cross(X.astype(np.float32)).dtype == np.float32
    np.testing.assert_allclose(narrow.matrix_, wide.matrix_, rtol=1e-4)


def test_very_small_single_precision_distances():
    X = np.float32([[0], [0], [1e-38], [2e-38], [1]])
    P = RelativeDistance(neighbor=1).fit(X).matrix_
    assert np.all(np.isfinite(P))
    assert P[0, 4] == 0


def test_precomputed_distances_equal_features(X):
    D = cdist(X, X)
    expected = RelativeDistance(neighbor=5).fit(X)
    rule = RelativeDistance(metric="precomputed", neighbor=5).fit(D)
    np.testing.assert_allclose(rule.matrix_, expected.matrix_, rtol=1e-9)
    block = cdist(X[:4] + 0.5, X)
    np.testing.assert_allclose(rule.cross(block), expected.cross(X[:4] + 0.5), rtol=1e-9)


@pytest.mark.parametrize("squared", [False, True])
def test_sparse_distances_stay_sparse_and_equal_dense(X, squared):
    neighbours = KNeighborsTransformer(mode="distance", n_neighbors=9).fit(X)
    rule = RelativeDistance(metric="precomputed", neighbor=6, squared=squared)
    rule.fit(neighbours.transform(X))
    P = rule.matrix_
    expected = RelativeDistance(neighbor=6, squared=squared).fit(X)
    assert isinstance(P, sp.csr_array)
    assert abs(P - P.T).nnz == 0
    np.testing.assert_array_equal(P.diagonal(), 1)
    np.testing.assert_allclose(
        P.toarray(), np.where(P.toarray() > 0, expected.matrix_, 0), rtol=1e-6, atol=1e-12
    )
    new = rule.cross(neighbours.transform(X[:5] + 0.1)).toarray()
    full = expected.cross(X[:5] + 0.1)
    np.testing.assert_allclose(new, np.where(new > 0, full, 0), rtol=1e-6, atol=1e-12)
    again = rule.cross(neighbours.transform(X)).toarray()
    np.testing.assert_allclose(again, np.where(again > 0, P.toarray(), 0), rtol=1e-6)


def test_sparse_rows_with_few_or_no_distances():
    D = sp.csr_array(([2.0], ([0], [1])), shape=(3, 3))
    rule = RelativeDistance(metric="precomputed").fit(D)
    np.testing.assert_array_equal(rule.scales_, [2, 2, 1])
    np.testing.assert_allclose(rule.matrix_.toarray()[0], [1, np.exp(-1), 0])
    assert rule.cross(sp.csr_array((2, 3))).nnz == 0


def test_neighbour_distances_count_a_zero_once():
    D = np.array([[0.0, 0.0, 1.0, 4.0], [3.0, 1.0, 2.0, 5.0]])
    scales, smallest = neighbor_distances(D, 2)
    np.testing.assert_array_equal(scales, [1, 2])
    np.testing.assert_array_equal(smallest, [1, 1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"c": 0}, "c must be a number above 0, got 0"),
        ({"c": np.nan}, "c must be a number above 0"),
        ({"c": "1"}, "c must be a number above 0"),
        ({"neighbor": 0}, "neighbor must be an integer of at least 1, got 0"),
        ({"neighbor": 2.5}, r"neighbor must be .* got 2\.5"),
    ],
)
def test_unsuitable_parameters_are_named(X, parameters, message):
    with pytest.raises(ValueError, match=message):
        RelativeDistance(**parameters).fit(X)


def test_pickle(X):
    rule = RelativeDistance(neighbor=4).fit(X)
    copy = pickle.loads(pickle.dumps(rule))
    np.testing.assert_array_equal(copy.matrix_, rule.matrix_)
    np.testing.assert_array_equal(copy.cross(X + 1), rule.cross(X + 1))


def test_real_data_with_repeated_rows():
    X = load_iris().data
    P = RelativeDistance().fit(X).matrix_
    assert np.all(np.isfinite(P))
    # The spectral norm that the check of the paper found for this matrix.
    assert np.linalg.norm(P, 2) == pytest.approx(16.9, abs=0.1)
