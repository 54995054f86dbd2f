"""Generators: shapes, sizes, seeds, and posteriors that tell the truth."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import multivariate_normal, multivariate_t

from soffit import datasets
from soffit.datasets import Sample
from soffit.datasets.curves import log_arc, log_ring
from soffit.datasets.mixtures import random_covariance_factors, regular_centers
from soffit.datasets.sample import cluster_sizes

SEED = 90217
GENERATORS: dict[str, Callable[..., Sample]] = {
    "gaussians": datasets.make_gaussians,
    "gaussians_full": partial(datasets.make_gaussians, covariance="full", n_features=4),
    "gaussians_weighted": partial(
        datasets.make_gaussians, n_clusters=10, separation=2.0, weights=np.arange(1, 11)
    ),
    "student_t": datasets.make_student_t,
    "skewed": datasets.make_skewed,
    "unequal": datasets.make_unequal,
    "moons": datasets.make_moons,
    "moons_noisy": partial(datasets.make_moons, noise=0.4, n_features=5, weights=[3, 1]),
    "rings": datasets.make_rings,
    "rings_noisy": partial(datasets.make_rings, noise=0.5, radii=(1, 2, 3), n_features=4),
    "donut": datasets.make_donut,
    "donut_touching": partial(datasets.make_donut, noise=0.4, disc_radius=0.9),
    "bridge": partial(datasets.make_bridge, n_bridge=0, noise=2.0),
}
every_generator = pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS.keys())


@every_generator
def test_sample_is_well_formed(make: Callable[..., Sample]) -> None:
    sample = make(331, random_state=SEED)
    assert sample.X.dtype == sample.posterior.dtype == np.float64
    assert sample.X.shape[0] == sample.labels.shape[0] == sample.posterior.shape[0] == 331
    assert np.isfinite(sample.X).all()
    assert (sample.posterior >= 0).all()
    np.testing.assert_allclose(sample.posterior.sum(axis=1), 1.0, atol=1e-12)
    assert np.issubdtype(sample.labels.dtype, np.integer)
    assert set(sample.labels) == set(range(sample.posterior.shape[1]))
    X, labels, posterior = sample
    assert X is sample.X
    assert labels is sample.labels
    assert posterior is sample.posterior


@every_generator
def test_posterior_is_calibrated(make: Callable[..., Sample]) -> None:
    """Labels must look like draws from the posterior: E[(1{y=j} - p_j) p_j] = 0 for every j."""
    _, labels, posterior = make(20_000, random_state=SEED)
    n, k = posterior.shape
    hit = labels == posterior.argmax(axis=1)
    top = posterior.max(axis=1)
    spread = np.sqrt(np.mean(top * (1 - top)) / n)
    assert abs(hit.mean() - top.mean()) <= 4 * spread + 1e-12
    residual = (np.eye(k)[labels] - posterior) * posterior
    error = np.sqrt(np.mean(posterior**3 * (1 - posterior), axis=0) / n)
    assert (np.abs(residual.mean(axis=0)) <= 4.5 * error + 1e-12).all()


@every_generator
def test_same_seed_same_bytes(make: Callable[..., Sample]) -> None:
    first, second, other = (make(80, random_state=seed) for seed in (SEED, SEED, SEED + 2))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, second, strict=True))
    assert first.X.tobytes() != other.X.tobytes()


def test_default_gaussians_overlap_as_documented() -> None:
    sample = datasets.make_gaussians(200_000, random_state=SEED)
    assert sample.posterior.max(axis=1).mean() == pytest.approx(0.883, abs=0.005)


def test_gaussian_posterior_is_bayes_rule() -> None:
    centers = np.array([[0.0, 0.0], [2.0, 1.0]])
    sample = datasets.make_gaussians(50, centers=centers, weights=[4, 1], random_state=SEED)
    joint = np.stack([multivariate_normal(c, np.eye(2)).pdf(sample.X) for c in centers], axis=1)
    joint *= [0.8, 0.2]
    np.testing.assert_allclose(sample.posterior, joint / joint.sum(axis=1, keepdims=True))


def test_student_posterior_is_bayes_rule() -> None:
    sample = datasets.make_student_t(90, n_features=3, dof=5, random_state=SEED)
    centers = regular_centers(3, 3, 3.0)
    joint = np.stack([multivariate_t(c, np.eye(3), df=5).pdf(sample.X) for c in centers], axis=1)
    np.testing.assert_allclose(sample.posterior, joint / joint.sum(axis=1, keepdims=True))


def test_full_covariance_differs_between_clusters_and_has_determinant_one() -> None:
    factors = random_covariance_factors(3, 4, np.random.RandomState(SEED))
    np.testing.assert_allclose(np.linalg.det(factors), 1.0)
    covariances = factors @ factors.transpose(0, 2, 1)
    assert np.abs(covariances[0] - covariances[1]).max() > 0.1
    sample = datasets.make_gaussians(
        30_000, n_features=4, covariance="full", separation=50.0, random_state=SEED
    )
    measured = np.linalg.det(np.cov(sample.X[sample.labels == 1].T))
    assert measured == pytest.approx(1.0, abs=0.1)


def test_skewed_has_the_posterior_of_its_logarithm() -> None:
    gaussian = datasets.make_gaussians(70, random_state=SEED)
    skewed = datasets.make_skewed(70, scale=0.5, random_state=SEED)
    np.testing.assert_allclose(np.log(skewed.X) / 0.5, gaussian.X)
    np.testing.assert_array_equal(skewed.posterior, gaussian.posterior)
    with pytest.raises(ValueError, match="scale=500"):
        datasets.make_skewed(70, scale=500.0, random_state=SEED)


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (5, 1), (2, 2), (3, 2), (8, 2), (3, 7), (5, 4)])
def test_neighbouring_centers_are_one_separation_apart(shape: tuple[int, int]) -> None:
    centers = regular_centers(*shape, 2.5)
    assert centers.shape == shape
    np.testing.assert_allclose(centers.mean(axis=0), 0.0, atol=1e-12)
    distance = np.linalg.norm(centers[:, None] - centers, axis=2) + 99.0 * np.eye(shape[0])
    if shape[0] > 1:
        np.testing.assert_allclose(distance.min(axis=1), 2.5)
    if 1 < shape[0] <= shape[1] + 1:
        np.testing.assert_allclose(distance[~np.eye(shape[0], dtype=bool)], 2.5)


@pytest.mark.parametrize("noise", [0.02, 0.13, 1.5])
def test_ring_and_arc_densities_match_adaptive_integration(noise: float) -> None:
    points = np.array([[0.95, 0.1], [0.4, 0.9], [-0.3, -0.2]])

    def gaussian(angle: float, point: np.ndarray, center: tuple[float, float]) -> float:
        x, y = center[0] + np.cos(angle), center[1] + np.sin(angle)
        squared = (point[0] - x) ** 2 + (point[1] - y) ** 2
        return float(np.exp(-squared / (2 * noise**2)) / (2 * np.pi * noise**2))

    def integral(point: np.ndarray, center: tuple[float, float], stop: float) -> float:
        nearest = np.arctan2(point[1] - center[1], point[0] - center[0]) % (2 * np.pi)
        marks = [nearest] if nearest < stop else None
        value = quad(gaussian, 0, stop, (point, center), points=marks, limit=500, epsabs=0)[0]
        return value / stop

    ring = [integral(point, (0.0, 0.0), 2 * np.pi) for point in points]
    np.testing.assert_allclose(np.exp(log_ring(points, 1.0, noise)), ring, rtol=1e-7)
    arc = [integral(point, (0.1, 0.05), np.pi) for point in points]
    # Where the whole integral underflows only the logarithm is usable; skip those.
    usable = np.array(arc) > 1e-250
    got = np.exp(log_arc(points, (0.1, 0.05), 0.0, np.pi, noise))
    np.testing.assert_allclose(got[usable], np.array(arc)[usable], rtol=1e-7)


def test_far_points_and_tiny_noise_stay_finite() -> None:
    far = np.array([[1e3, 1e3], [0.0, 0.0]])
    assert np.isfinite(log_ring(far, 1.0, 1e-3)).all()
    assert np.isfinite(log_arc(far, (0.0, 0.0), 0.0, np.pi, 1e-3)).all()
    assert np.isfinite(datasets.make_moons(40, noise=1e-3, random_state=SEED).posterior).all()


def test_extra_features_carry_no_information() -> None:
    sample = datasets.make_rings(20_000, n_features=4, noise=0.2, random_state=SEED)
    extra = sample.X[:, 2:]
    np.testing.assert_allclose(extra.std(axis=0), 0.2, rtol=0.03)
    gap = extra[sample.labels == 0].mean(axis=0) - extra[sample.labels == 1].mean(axis=0)
    assert np.abs(gap).max() < 4 * 0.2 * np.sqrt(4 / 20_000)


def test_donut_has_the_published_shape() -> None:
    sample = datasets.make_donut(random_state=SEED)
    radius = np.hypot(*sample.X.T)
    assert np.bincount(sample.labels).tolist() == [100, 100]
    assert radius[sample.labels == 0].mean() == pytest.approx(1.0, abs=0.02)
    assert radius[sample.labels == 0].std() == pytest.approx(0.05, abs=0.02)
    assert radius[sample.labels == 1].max() <= 0.3
    np.testing.assert_array_equal(sample.posterior.argmax(axis=1), sample.labels)


def test_bridge_has_the_published_shape() -> None:
    sample = datasets.make_bridge(random_state=SEED)
    assert np.bincount(sample.labels[:100]).tolist() == [50, 50]
    assert sample.X[:50, 0].mean() == pytest.approx(-3.0, abs=0.3)
    assert sample.X[50:100].std(axis=0) == pytest.approx([0.5, 0.5], abs=0.15)
    bridge = sample.X[100:]
    np.testing.assert_allclose(bridge, np.c_[np.linspace(-2, 2, 10), np.zeros(10)])
    assert (np.diff(sample.posterior[100:, 0]) <= 0).all()
    # log odds of two Gaussians: 2 * center * x / variance
    np.testing.assert_allclose(
        sample.posterior[100:, 1], 1 / (1 + np.exp(-2 * 3 * bridge[:, 0] / 0.25))
    )


def test_weights_are_met() -> None:
    labels = datasets.make_unequal(1000, random_state=SEED).labels
    assert np.bincount(labels).tolist() == [800, 150, 50]
    labels = datasets.make_gaussians(100, weights=[1, 1, 2], random_state=SEED).labels
    assert np.bincount(labels).tolist() == [25, 25, 50]


@given(
    weights=st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12),
    extra=st.integers(0, 500),
)
@settings(max_examples=80, deadline=None)
def test_cluster_sizes_add_up(weights: list[float], extra: int) -> None:
    n_samples = len(weights) + extra
    sizes = cluster_sizes(n_samples, len(weights), weights)
    assert sizes.sum() == n_samples
    assert (sizes >= 1).all()
    share = n_samples * np.array(weights) / np.sum(weights)
    if (share >= 1).all():
        assert np.abs(sizes - share).max() <= 1.0 + 1e-9


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: datasets.make_gaussians(2), ValueError, "n_samples must be at least"),
        (lambda: datasets.make_gaussians(2.5), ValueError, "must be an integer of at least 1"),
        (lambda: datasets.make_gaussians(9, covariance="tied"), ValueError, "'tied'"),
        (lambda: datasets.make_gaussians(9, weights=[1, 2]), ValueError, "one number per cluster"),
        (lambda: datasets.make_gaussians(9, weights=[1, 0, 2]), ValueError, "above zero"),
        (lambda: datasets.make_gaussians(9, centers=[1.0, 2.0]), ValueError, "centers"),
        (lambda: datasets.make_gaussians(9, separation=-1), ValueError, "separation"),
        (lambda: datasets.make_gaussians(9, separation="far"), ValueError, "separation"),
        (lambda: datasets.make_student_t(9, dof=0), ValueError, "dof"),
        (lambda: datasets.make_unequal(9, weights=()), ValueError, "n_clusters"),
        (lambda: datasets.make_moons(9, noise=0), ValueError, "noise"),
        (lambda: datasets.make_moons(9, n_features=1), ValueError, "n_features"),
        (lambda: datasets.make_rings(9, radii=()), ValueError, "radii"),
        (lambda: datasets.make_rings(9, radii=(1, np.nan)), ValueError, "radii"),
        (lambda: datasets.make_bridge(11), ValueError, "must be an integer of at least 12"),
    ],
)
def test_bad_arguments_are_named(
    call: Callable[[], Sample], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call()
