"""The mixed distance against a plain NumPy twin, and its search."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.neighbors.distances import distances
from soffit.neighbors.mixed.mixed_distance import MixedDistance
from soffit.neighbors.search import make_search, nearest_neighbors, neighbors_of


def twin(metric: MixedDistance, X, Y):
    """All pairs, column by column."""
    p = len(metric.weights)
    known, shared, total = 0.0, 0.0, metric.weights.sum()
    for j in range(p):
        a, b = X[:, None, j], Y[None, :, j]
        both = ~np.isnan(a) & ~np.isnan(b)
        gap = metric.mismatch[j] * (a != b) if metric.n_values[j] else (a - b) ** 2
        known = known + np.where(both, gap, 0.0)
        shared = shared + np.where(both, metric.weights[j], 0.0)
    one = total / p
    squares = known + (total - shared) * (known + one) / (shared + one)
    alike = ((X[:, None] == Y) | (np.isnan(X[:, None]) & np.isnan(Y))).all(axis=2)
    return np.sqrt(np.where(alike, 0.0, squares))


def mixed_rows(n, *, gaps, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 3, n), rng.normal(size=n), rng.integers(0, 2, n)]
    )
    X[rng.random(X.shape) < gaps] = np.nan
    metric = MixedDistance(
        np.array([1.0, 0.1, 1.0, 0.05]), np.array([0.0, 0.15, 0.0, 0.1]), np.array([0, 3, 0, 2])
    )
    return X.astype(dtype), metric


@pytest.mark.parametrize("gaps", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_agree_with_the_twin(gaps, dtype):
    X, metric = mixed_rows(60, gaps=gaps, dtype=dtype)
    found = distances(X[:40], X[30:], metric=metric)
    assert np.allclose(found, twin(metric, X[:40], X[30:]), atol=1e-6)
    among = distances(X, metric=metric)
    assert np.array_equal(among, among.T)
    assert (np.diag(among) == 0).all()


def test_neighbors_are_the_smallest_distances_and_ties_are_in_order():
    X, metric = mixed_rows(80, gaps=0.2)
    X[40:60] = X[:20]
    D = twin(metric, X, X)
    indices, lengths = neighbors_of(X, X, 7, metric=metric)
    order = np.lexsort((np.broadcast_to(np.arange(80), D.shape), D), axis=1)[:, :7]
    assert np.allclose(lengths, np.take_along_axis(D, order, 1))
    assert np.array_equal(indices[:, :2], order[:, :2])
    listed, _ = nearest_neighbors(X, 7, metric=metric)
    assert not (listed == np.arange(80)[:, None]).any()


def test_rows_with_nothing_in_common_are_at_the_mean_distance():
    metric = MixedDistance(np.array([1.0, 0.5]), np.array([0.0, 0.5]), np.array([0, 2]))
    X = np.array([[1.0, np.nan], [np.nan, 1.0], [np.nan, np.nan]])
    found = distances(X, metric=metric)
    assert np.allclose(found[np.triu_indices(3, 1)], np.sqrt(1.5))


def test_equal_rows_are_at_distance_zero_even_with_gaps():
    X, metric = mixed_rows(30, gaps=0.4)
    assert (np.diag(np.sqrt(metric.squares(X, X.copy()))) == 0).all()


def test_the_embedding_is_exact_without_gaps():
    X, metric = mixed_rows(50, gaps=0.0)
    points = metric.embedded(X)
    assert np.allclose(distances(points), distances(X, metric=metric))


def test_many_categories_are_embedded_in_few_dimensions():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 500, size=(200, 1)).astype(float)
    metric = MixedDistance(np.ones(1), np.ones(1), np.array([500]))
    points = metric.embedded(X)
    assert points.shape[1] < 64
    D = distances(points)
    apart = X != X.T
    assert abs(np.median(D[apart]) - 1) < 0.1
    assert D[~apart].max() == 0


def test_the_search_of_many_rows_is_approximate_and_its_distances_are_exact():
    X, metric = mixed_rows(20_500, gaps=0.02)
    search = make_search(X, 8, metric=metric, n_jobs=2)
    assert type(search).__name__ == "MixedSearch"
    indices, lengths = search.neighbors(8)
    some = np.arange(0, 20_500, 500)
    exact, true = neighbors_of(X[some], X, 9, metric=metric)
    hits = [len(set(indices[i]) & set(row)) for i, row in zip(some, exact, strict=True)]
    assert np.mean(hits) / 8 > 0.85
    assert np.allclose(lengths[some[0]], twin(metric, X[some[:1]], X[indices[some[0]]])[0])
    found, near = search.query(X[some], 8)
    assert np.allclose(near[:, 0], 0)
    assert (found[:, 0] >= 0).all()
    assert (np.diff(near, axis=1) >= 0).all()
    assert near[:, -1].mean() < 1.2 * true[:, 7].mean()
    assert np.array_equal(search.rows(some), X[some], equal_nan=True)


def test_a_table_of_another_width_is_refused():
    X, metric = mixed_rows(10, gaps=0.0)
    with pytest.raises(ValueError, match="the distance is of 4 columns"):
        metric.nearest(X[:, :3], X, 2, None)
    with pytest.raises(ValueError, match="the distance is of 4 columns"):
        metric.squares(X, X[:, :3])


def test_the_name_alone_is_refused_where_no_table_is_prepared():
    X = np.zeros((5, 2))
    for compute in (distances, lambda X, metric: neighbors_of(X, X, 2, metric=metric)):
        with pytest.raises(ValueError, match="parameter of models"):
            compute(X, metric="gower")
