"""One component per cluster decides where it describes the objects best, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import soffit
from soffit import SoftClustering
from soffit.datasets import make_gaussians, make_moons, make_skewed, make_unequal
from soffit.memberships import SeededMixture
from soffit.memberships.free_mixture import free_mixture
from soffit.memberships.mixture import Projection, describe_partitions
from soffit.metrics import posterior_distance


def free(X: np.ndarray, labels: np.ndarray, n_clusters: int) -> SeededMixture | None:
    found = describe_partitions(X, [labels], n_clusters, random_state=3)
    return free_mixture(found, n_clusters, random_state=3)


@pytest.mark.parametrize("n_features", [2, 10])
def test_very_unequal_sizes_that_overlap(n_features: int) -> None:
    X, _, posterior = make_unequal(1500, n_features=n_features, random_state=7)
    model = SoftClustering(3, random_state=7).fit(X)
    assert posterior_distance(posterior, model.memberships_) < 0.1
    np.testing.assert_allclose(model.predict_proba(X), model.memberships_, atol=1e-6)


def test_it_leaves_a_partition_into_even_parts() -> None:
    X, _, posterior = make_unequal(1500, random_state=19)
    even = np.digitize(X[:, 0], np.quantile(X[:, 0], [1 / 3, 2 / 3]))
    mixture = free(X, even, 3)
    assert mixture is not None
    assert mixture.alone
    assert posterior_distance(posterior, mixture.memberships(X)) < 0.1


def test_skewed_columns_are_described_by_their_logarithms() -> None:
    X, _, posterior = make_skewed(1500, random_state=7)
    model = SoftClustering(3, standardize=False, random_state=7).fit(X)
    assert posterior_distance(posterior, model.memberships_) < 0.1


def test_clusters_of_other_shapes_stay_as_they_are() -> None:
    X, labels, _ = make_moons(800, random_state=7)
    assert free(X, labels, 2) is None


def test_too_few_objects_for_the_parameters() -> None:
    X, labels, _ = make_gaussians(60, n_features=25, separation=6.0, random_state=7)
    assert free(X, labels, 3) is None


def test_components_that_lose_their_objects_are_no_clusters() -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 2))
    mixture = free(X, (X[:, 0] > 0).astype(int), 2)
    sizes = [] if mixture is None else np.bincount(mixture.memberships(X).argmax(axis=1))
    assert mixture is None or min(sizes) > 2


def test_logarithms_only_of_positive_columns_that_are_closer_to_normal() -> None:
    rng = np.random.default_rng(5)
    normal, skewed = rng.normal(10.0, 1.0, size=400), np.exp(rng.normal(size=400))
    X = np.column_stack([normal, skewed, skewed - 1.0])
    projection = Projection.logarithmic(X)
    assert projection is not None
    assert projection.floors is not None
    np.testing.assert_array_equal(projection.floors > 0, [False, True, False])
    # New values at or below zero count as the smallest one.
    X_new = X[:2].copy()
    X_new[:, 1] = [-1.0, skewed.min()]
    Z = projection.apply(np.column_stack([X[[0, 0], 0], X_new[:, 1], X[[0, 0], 2]]))
    np.testing.assert_allclose(Z[0], Z[1])
    assert Projection.logarithmic(X[:, :1] - 20.0) is None


def test_the_volume_of_a_projection_is_that_of_its_jacobian() -> None:
    X, _, _ = make_skewed(200, random_state=3)
    projection = Projection.logarithmic(X)
    assert projection is not None
    x, step = X[:1], 1e-6
    moved = np.concatenate([x + step * np.eye(2)[i] for i in range(2)])
    jacobian = (projection.apply(moved) - projection.apply(x)) / step
    expected = np.log(abs(np.linalg.det(jacobian)))
    np.testing.assert_allclose(projection.log_volume(x), expected, atol=1e-4)


def test_a_model_with_logarithms_is_saved_and_loaded(tmp_path: Path) -> None:
    X, _, _ = make_skewed(600, random_state=7)
    model = SoftClustering(3, standardize=False, random_state=7).fit(X)
    soffit.save(model, tmp_path / "model.soffit")
    loaded = soffit.load(tmp_path / "model.soffit")
    np.testing.assert_array_equal(loaded.predict_proba(X[:50]), model.predict_proba(X[:50]))


def test_units_do_not_matter() -> None:
    X, _, _ = make_unequal(600, random_state=7)
    one, other = (SoftClustering(3, random_state=7).fit(unit * X) for unit in (1.0, 1e6))
    np.testing.assert_allclose(one.memberships_, other.memberships_, atol=1e-5)
