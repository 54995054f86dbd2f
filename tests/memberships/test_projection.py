from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from soffit.memberships.mixture import Projection


def labelled(rng, n_columns, n=150, k=3, gap=8.0):
    """Clusters that differ in the last two columns only; the first ones are noise."""
    labels = rng.integers(0, k, size=n)
    X = rng.normal(size=(n, n_columns))
    X[:, -2:] += gap * np.stack([np.cos(2 * np.pi * labels / k), np.sin(2 * np.pi * labels / k)], 1)
    return X, labels


@pytest.fixture(autouse=True)
def one_thread():
    """As in the models: many threads for small matrices only wait for one another."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(4463)


@pytest.mark.parametrize("n_columns", [1, 2, 5])
def test_few_columns_are_kept_up_to_their_unit(rng, n_columns):
    X = rng.normal(size=(60, n_columns)) * 7 + 100
    projection = Projection.of(X, np.zeros(60, dtype=int), 1)
    Z = projection.apply(X)
    np.testing.assert_allclose(Z, (X - X.mean(axis=0)) / X.std(axis=0).max())


@pytest.mark.parametrize("n_columns", [1, 2, 5, 6, 40])
@pytest.mark.parametrize("constant", [0.0, 25.128985042953587, -1e7])
def test_constant_columns_change_nothing(rng, n_columns, constant):
    X, labels = labelled(rng, max(n_columns, 2))
    X = X[:, -n_columns:]
    beside = np.column_stack([np.full(len(X), constant), X, np.full(len(X), constant)])
    Z = Projection.of(X, labels, 3).apply(X)
    again = Projection.of(beside, labels, 3).apply(beside)
    assert again.shape == Z.shape
    np.testing.assert_allclose(np.abs(again), np.abs(Z), atol=1e-6)


def test_equal_objects_keep_one_direction():
    X = np.full((9, 3), 4.0)
    assert Projection.of(X, np.zeros(9, dtype=int), 1).apply(X).tolist() == [[0.0]] * 9


@pytest.mark.parametrize("n_columns", [6, 40, 520])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_directions_that_tell_clusters_apart_are_kept(rng, n_columns, dtype):
    X, labels = labelled(rng, n_columns)
    X = X.astype(dtype)
    Z = Projection.of(X, labels, 3).apply(X)
    assert Z.shape == (150, 3)
    assert np.all(np.isfinite(Z))
    means = np.stack([Z[labels == c].mean(axis=0) for c in range(3)])
    within = np.sqrt(((Z - means[labels]) ** 2)[:, :2].mean())
    gaps = [np.linalg.norm(means[a, :2] - means[b, :2]) for a, b in ((0, 1), (0, 2), (1, 2))]
    assert min(gaps) > 4 * within


@pytest.mark.parametrize(("k", "expected"), [(1, 3), (2, 3), (4, 3), (6, 5)])
def test_number_of_directions(rng, k, expected):
    X = rng.normal(size=(90, 12))
    projection = Projection.of(X, rng.integers(0, k, size=90), k)
    assert projection.apply(X).shape == (90, expected)
    assert np.linalg.matrix_rank(projection.directions) == expected


def test_no_more_directions_than_the_data_have(rng):
    X = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 10))
    assert Projection.of(X, rng.integers(0, 6, size=50), 6).apply(X).shape == (50, 2)


@pytest.mark.parametrize("n_columns", [3, 8])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_constant_data(n_columns, value):
    X = np.full((20, n_columns), value)
    projection = Projection.of(X, np.arange(20) % 2, 2)
    assert np.all(np.isfinite(projection.apply(X)))
    assert np.all(np.isfinite(projection.apply(X + 1.0)))


@pytest.mark.parametrize("n_columns", [3, 8])
def test_empty_clusters_and_single_objects(rng, n_columns):
    X = rng.normal(size=(12, n_columns))
    for labels, k in ((np.arange(12) % 2 * 3, 5), (np.arange(12), 12)):
        assert np.all(np.isfinite(Projection.of(X, labels, k).apply(X)))


@pytest.mark.parametrize("n_columns", [4, 9])
def test_result_is_affine_and_the_same_every_time(rng, n_columns):
    X, labels = labelled(rng, n_columns)
    projection = Projection.of(X, labels, 3)
    a, b = X[:5], X[5:10]
    np.testing.assert_allclose(
        projection.apply((a + b) / 2),
        (projection.apply(a) + projection.apply(b)) / 2,
        atol=1e-9,
    )
    again = Projection.of(X, labels, 3)
    assert projection.directions.tobytes() == again.directions.tobytes()


@pytest.mark.parametrize("n_columns", [4, 9])
def test_unit_and_origin_do_not_matter(rng, n_columns):
    X, labels = labelled(rng, n_columns)
    plain = Projection.of(X, labels, 3).apply(X)
    other = Projection.of(1000 * X + 5, labels, 3).apply(1000 * X + 5)
    np.testing.assert_allclose(np.abs(other), np.abs(plain), atol=1e-6 * np.abs(plain).max())
