"""Neighbourhoods by distances and by similarities, and how isolated objects are in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.affinity import (
    CallableAffinity,
    Cosine,
    Gaussian,
    Laplacian,
    NeighborGraph,
    Precomputed,
    RelativeDistance,
)
from soffit.affinity.isolation import Neighborhood, relative_spacing, strongest


def largest_entries(rows: np.ndarray, among_themselves: bool, rank: int) -> tuple[Any, Any]:
    """The twin of the kernels in plain NumPy."""
    values = np.array(rows, dtype=float)
    if among_themselves:
        np.fill_diagonal(values, 0.0)
    length = min(rank, rows.shape[1] - among_themselves)
    order = np.argsort(-values, axis=1, kind="stable")[:, :length]
    found = np.take_along_axis(values, order, axis=1)
    return np.where(found > 0, order, -1), np.maximum(found, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("among_themselves", [True, False])
@pytest.mark.parametrize("rank", [1, 4, 50])
def test_strongest_agrees_with_its_twin(dtype: Any, among_themselves: bool, rank: int) -> None:
    generator = np.random.default_rng(911)
    # Ties and zeros; square, because only square matrices have objects among themselves.
    rows = generator.integers(0, 6, size=(30, 30)).astype(dtype)
    expected = largest_entries(rows, among_themselves, rank)
    for storage in (rows, sp.csr_array(rows)):
        columns, values = strongest(storage, among_themselves=among_themselves, rank=rank)
        np.testing.assert_array_equal(columns, expected[0])
        np.testing.assert_array_equal(values, expected[1])


def test_a_row_without_similar_objects_has_no_neighbours() -> None:
    found = Neighborhood.of_similarities(np.zeros((2, 5)), among_themselves=False)
    assert np.isinf(found.spacing).all()
    assert (found.neighbors == -1).all()
    np.testing.assert_array_equal(
        strongest(np.ones((1, 1)), among_themselves=True)[0], np.empty((1, 0))
    )


AFFINITIES: dict[str, Any] = {
    "neighbours": NeighborGraph(10),
    "relative": RelativeDistance(neighbor=7),
    "gaussian": Gaussian(),
    "laplacian": Laplacian(),
}


@pytest.mark.parametrize("name", AFFINITIES)
def test_spacing_is_the_distance_to_the_seventh_neighbour(name: str) -> None:
    generator = np.random.default_rng(577)
    X, new = generator.normal(size=(60, 3)), generator.normal(size=(5, 3))
    affinity = AFFINITIES[name].fit(X)
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    np.testing.assert_allclose(affinity.neighborhood().spacing, np.sort(D, axis=1)[:, 7])
    among_fitted = np.linalg.norm(new[:, None] - X[None], axis=2)
    found = affinity.neighborhood(new)
    np.testing.assert_allclose(found.spacing, np.sort(among_fitted, axis=1)[:, 6])
    np.testing.assert_allclose(found.nearest, among_fitted.min(axis=1))
    np.testing.assert_array_equal(found.neighbors[:, 0], among_fitted.argmin(axis=1))
    # Objects that are not fitted have neighbours in the same unit.
    neighbors, distances = affinity.neighborhood_among(X, 3)
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, 1:4])
    np.testing.assert_allclose(D[np.arange(60)[:, None], neighbors], distances)
    np.testing.assert_allclose(affinity.fitted_rows(np.array([4, 2])), X[[4, 2]])


@pytest.mark.parametrize("name", ["neighbours", "relative", "gaussian", "laplacian"])
def test_given_distances_have_the_same_neighbourhood(name: str) -> None:
    generator = np.random.default_rng(577)
    X, new = generator.normal(size=(60, 3)), generator.normal(size=(5, 3))
    D = np.linalg.norm(X[:, None] - X[None], axis=2)
    block = np.linalg.norm(new[:, None] - X[None], axis=2)
    by_features = AFFINITIES[name].fit(X).neighborhood(new)
    affinity = type(AFFINITIES[name])(**AFFINITIES[name].get_params())
    given = affinity.set_params(metric="precomputed").fit(D)
    np.testing.assert_allclose(given.neighborhood(block).spacing, by_features.spacing)
    np.testing.assert_allclose(given.neighborhood_among(D, 3)[1], np.sort(D, axis=1)[:, 1:4])


@pytest.mark.parametrize(
    "affinity", [Cosine(), CallableAffinity(lambda X, Y: np.maximum(X @ Y.T, 0.0))]
)
def test_similarities_become_distances(affinity: Any) -> None:
    X = np.abs(np.random.default_rng(577).normal(size=(40, 5)))
    found = affinity.fit(X).neighborhood()
    A = affinity.matrix_.copy()
    np.fill_diagonal(A, 0.0)
    np.testing.assert_allclose(found.spacing, 1.0 / np.sort(A, axis=1)[:, -7:].mean(axis=1))
    np.testing.assert_allclose(affinity.neighborhood_among(X, 2)[1][:, 0], 1.0 / A.max(axis=1))
    again = affinity.cross(affinity.fitted_rows(np.array([3, 1])))
    np.testing.assert_allclose(again, affinity.matrix_[[3, 1]], atol=1e-12)


def test_given_similarities_are_compared_as_they_are() -> None:
    A = np.ones((6, 6)) + np.eye(6)
    affinity = Precomputed().fit(A)
    np.testing.assert_allclose(affinity.neighborhood().spacing, 1.0)
    np.testing.assert_allclose(affinity.neighborhood_among(0.5 * A, 2)[1], 2.0)


def test_isolation_is_relative_to_the_neighbours() -> None:
    # Two clusters of different density: objects inside are equally isolated.
    generator = np.random.default_rng(53)
    X = np.concatenate(
        [generator.normal(size=(200, 2)), 100 + 0.01 * generator.normal(size=(200, 2))]
    )
    around = NeighborGraph(15).fit(X).neighborhood()
    isolation = relative_spacing(around, around.spacing)
    dense, sparse = np.median(isolation[200:]), np.median(isolation[:200])
    assert 0.8 < dense / sparse < 1.25
    assert 0.7 < dense < 1.2


def test_copies_are_not_isolated_and_give_no_scale() -> None:
    X = np.concatenate([np.zeros((30, 2)), np.arange(60.0).reshape(30, 2)])
    graph = NeighborGraph(10).fit(X)
    around = graph.neighborhood()
    isolation = relative_spacing(around, around.spacing)
    np.testing.assert_array_equal(isolation[1:30], 0.0)
    assert np.isfinite(isolation).all()
    beside = relative_spacing(graph.neighborhood(np.array([[0.1, 0.0]])), around.spacing)
    assert 0.0 < beside[0] < 1.0


def test_distances_of_an_approximate_search_are_remembered(
    limits: Any,
) -> None:
    limits(compared_objects=20)
    X = np.random.default_rng(7).normal(size=(300, 12))
    graph = NeighborGraph(10).fit(X)
    numbers = np.array([7, 250, 0])
    np.testing.assert_allclose(graph.fitted_rows(numbers), X[numbers], atol=1e-6)
    assert graph.neighborhood(X[numbers] + 1e-3).nearest.max() < 0.1
