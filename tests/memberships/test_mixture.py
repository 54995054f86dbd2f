from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from soffit.datasets import make_gaussians, make_student_t
from soffit.memberships import fit_seeded_mixture
from soffit.metrics import posterior_distance


def fitted(X, labels, k, random_state=29, **settings):
    mixture = fit_seeded_mixture(X, labels, k, random_state=random_state, **settings)
    P = mixture.memberships(X)
    assert P.shape == (len(X), k)
    assert np.all(np.isfinite(P))
    assert np.all(P >= 0)
    assert P.dtype == X.dtype
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9 if X.dtype == np.float64 else 1e-6)
    return mixture, P


@pytest.fixture(autouse=True)
def one_thread():
    """As in the models: many threads for small matrices only wait for one another."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(6121)


# --- densities -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [2, 4, 10, 60])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_posterior_of_gaussians(n_features, dtype):
    sample = make_gaussians(700, n_features=n_features, separation=4.0, random_state=83)
    # The start is the best hard guess, not the labels that drew the points.
    start = sample.posterior.argmax(axis=1)
    _, P = fitted(sample.X.astype(dtype), start, 3)
    assert posterior_distance(sample.posterior, P) < 0.05


def test_covariances_of_their_own():
    sample = make_gaussians(1200, covariance="full", separation=4.0, random_state=59)
    _, P = fitted(sample.X, sample.posterior.argmax(axis=1), 3)
    assert posterior_distance(sample.posterior, P) < 0.05


def test_cluster_of_several_pieces_is_one_cluster(rng):
    # A ring around a ball: one Gaussian a cluster would put the ball into the ring.
    angle = rng.uniform(0, 2 * np.pi, 400)
    ring = 6 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.4 * rng.normal(size=(400, 2))
    X = np.vstack([ring, rng.normal(size=(200, 2))])
    labels = np.repeat([0, 1], [400, 200])
    mixture, P = fitted(X, labels, 2)
    assert np.sum(mixture.owner == 0) > 1
    assert np.mean(P.argmax(axis=1) == labels) > 0.99


def test_memberships_follow_the_seeds_numbering():
    sample = make_gaussians(300, separation=8.0, random_state=47)
    start = sample.posterior.argmax(axis=1)
    _, P = fitted(sample.X, start, 3)
    assert np.mean(P.argmax(axis=1) == start) > 0.99
    _, swapped = fitted(sample.X, (start + 1) % 3, 3)
    np.testing.assert_allclose(swapped, np.roll(P, 1, axis=1), atol=1e-6)


def test_new_points():
    sample = make_gaussians(600, separation=6.0, random_state=31)
    mixture, _ = fitted(sample.X, sample.labels, 3)
    centers = np.stack([sample.X[sample.labels == c].mean(axis=0) for c in range(3)])
    assert np.array_equal(mixture.memberships(centers).argmax(axis=1), [0, 1, 2])
    between = mixture.memberships(centers.mean(axis=0, keepdims=True))
    assert between.max() < 0.8
    far = mixture.memberships(1e6 * np.array([[1.0, 1.0], [-3.0, 2.0]]))
    assert np.all(np.isfinite(far))
    np.testing.assert_allclose(far.sum(axis=1), 1.0)


@pytest.mark.parametrize("n_columns", [2, 12])
def test_unit_and_origin_do_not_matter(n_columns):
    sample = make_gaussians(400, n_features=n_columns, separation=4.0, random_state=19)
    start = sample.posterior.argmax(axis=1)
    _, plain = fitted(sample.X, start, 3)
    _, other = fitted(1e-3 * sample.X + 0.5, start, 3)
    np.testing.assert_allclose(other, plain, atol=1e-4)


# --- awkward input -------------------------------------------------------------------------------


def test_empty_cluster_has_no_members(rng):
    X = rng.normal(size=(80, 2)) + np.repeat([[0.0, 0.0], [9.0, 0.0]], 40, axis=0)
    _, P = fitted(X, np.repeat([0, 3], 40), 5)
    assert not np.any(P[:, [1, 2, 4]])
    assert np.array_equal(P.argmax(axis=1), np.repeat([0, 3], 40))


def test_all_objects_in_one_cluster(rng):
    _, P = fitted(rng.normal(size=(50, 3)), np.ones(50, dtype=int), 3)
    assert np.all(P[:, 1] == 1)


@pytest.mark.parametrize("n_columns", [3, 8])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e5])
def test_constant_columns(rng, n_columns, value):
    X = np.full((60, n_columns), value)
    labels = np.repeat([0, 1], 30)
    X[:, 1] = rng.normal(size=60) + 8 * labels
    _, P = fitted(X, labels, 2)
    assert np.array_equal(P.argmax(axis=1), labels)


@pytest.mark.parametrize("n_columns", [1, 2, 8, 30])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_duplicates(rng, n_columns, scale):
    # Clusters without any spread.
    centers = scale * rng.normal(size=(3, n_columns))
    labels = np.repeat(np.arange(3), 20)
    X = centers[labels]
    mixture, P = fitted(X, labels, 3)
    np.testing.assert_allclose(P, np.eye(3)[labels], atol=1e-6)
    assert np.all(np.isfinite(mixture.memberships(X + scale)))


@pytest.mark.parametrize("n_columns", [2, 8])
def test_few_distinct_points_in_each_cluster(rng, n_columns):
    distinct = rng.normal(size=(6, n_columns)) + np.repeat([0.0, 9.0], 3)[:, None]
    which = np.tile(np.arange(6), 25)
    labels = which // 3
    _, P = fitted(distinct[which], labels, 2)
    assert np.array_equal(P.argmax(axis=1), labels)


@pytest.mark.parametrize("n_columns", [2, 8])
@pytest.mark.parametrize("value", [0.0, 0.1, -7e4])
def test_identical_points(n_columns, value):
    X = np.full((30, n_columns), value)
    mixture, _ = fitted(X, np.arange(30) % 3, 3)
    new = mixture.memberships(X[:4] + np.array([[1.0], [1e3], [1e9], [-1.0]]))
    assert np.all(np.isfinite(new))
    np.testing.assert_allclose(new.sum(axis=1), 1.0)


@pytest.mark.parametrize("n_columns", [1, 2, 8, 600])
def test_one_point_a_cluster(rng, n_columns):
    X = 10 * rng.normal(size=(6, n_columns))
    _, P = fitted(X, np.arange(6), 6)
    assert np.array_equal(P.argmax(axis=1), np.arange(6))


@pytest.mark.parametrize("gap", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("n_columns", [2, 9])
def test_far_apart_clusters(rng, gap, n_columns):
    labels = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, n_columns)) + gap * np.array([0, 1, 5])[labels, None]
    _, P = fitted(X, labels, 3)
    np.testing.assert_allclose(P, np.eye(3)[labels], atol=1e-6)


@pytest.mark.parametrize("n_columns", [1, 3, 9])
@pytest.mark.parametrize("value", [1e4, 1e7, 1e10])
def test_one_outlier(rng, n_columns, value):
    X = rng.normal(size=(101, n_columns)) + np.repeat([0.0, 7.0], [50, 51])[:, None]
    X[-1] = value
    labels = np.repeat([0, 1], [50, 51])
    _, P = fitted(X, labels, 2)
    assert P[-1].argmax() == 1


def test_fewer_objects_than_columns(rng):
    X = rng.normal(size=(12, 700)) + 3 * np.repeat([0.0, 1.0], 6)[:, None]
    _, P = fitted(X, np.repeat([0, 1], 6), 2)
    assert np.array_equal(P.argmax(axis=1), np.repeat([0, 1], 6))


# --- many objects, threads, seeds ----------------------------------------------------------------


def test_sample_of_many_objects():
    sample = make_gaussians(3000, separation=4.0, random_state=23)
    start = sample.posterior.argmax(axis=1)
    _, P = fitted(sample.X, start, 3, max_objects=500)
    assert posterior_distance(sample.posterior, P) < 0.06


def test_small_cluster_is_not_lost_in_the_sample(rng):
    X = rng.normal(size=(2000, 2))
    X[:12] += 40
    labels = (np.arange(2000) >= 12).astype(int)
    for seed in range(70, 75):
        _, P = fitted(X, labels, 2, random_state=seed, max_objects=100)
        assert np.array_equal(P.argmax(axis=1), labels)


@pytest.mark.parametrize("n_columns", [2, 20, 510])
def test_same_bytes_every_time_and_input_left_alone(rng, n_columns):
    X = rng.normal(size=(200, n_columns))
    X[:100] += 2
    labels = np.repeat([1, 0], 100)
    before = X.copy(), labels.copy()
    first, again = (fitted(X, labels, 2)[1] for _ in range(2))
    assert first.tobytes() == again.tobytes()
    assert np.array_equal(X, before[0])
    assert np.array_equal(labels, before[1])


# --- which mixture is taken ----------------------------------------------------------------------


def test_heavy_tails_are_recognised():
    sample = make_student_t(1500, separation=5.0, random_state=67)
    mixture, P = fitted(sample.X, sample.posterior.argmax(axis=1), 3)
    assert mixture.tails is not None
    assert mixture.trust > 0.9
    assert posterior_distance(sample.posterior, P) < 0.03
    gaussian = make_gaussians(1500, separation=4.0, random_state=67)
    assert fitted(gaussian.X, gaussian.posterior.argmax(axis=1), 3)[0].tails is None


def test_common_covariance_is_recognised():
    sample = make_gaussians(900, separation=4.0, random_state=71)
    mixture, _ = fitted(sample.X, sample.posterior.argmax(axis=1), 3)
    assert np.array_equal(mixture.whitening[0], mixture.whitening[1])
    sample = make_gaussians(900, covariance="full", separation=4.0, random_state=71)
    mixture, _ = fitted(sample.X, sample.posterior.argmax(axis=1), 3)
    assert not np.allclose(mixture.whitening[0], mixture.whitening[1])


def test_shapes_that_differ_call_for_all_directions(rng):
    # Three clusters at one place in all but one of ten directions, of different shapes.
    labels = np.repeat([0, 1, 2], 500)
    scale = np.exp(rng.normal(size=(3, 10)) / 2)
    X = rng.normal(size=(1500, 10)) * scale[labels]
    X[:, 0] += 3.0 * labels
    mixture, P = fitted(X, labels, 3)
    assert mixture.means.shape[1] == 10
    assert np.mean(P.argmax(axis=1) == labels) > 0.9
    # One shape for all: the directions in which places differ are enough.
    X = rng.normal(size=(1500, 10))
    X[:, 0] += 5.0 * labels
    assert fitted(X, labels, 3)[0].means.shape[1] == 3


def test_many_directions_do_not_hide_pieces(rng):
    # A ring around a ball, and eight columns that say nothing.
    angle = rng.uniform(0, 2 * np.pi, 600)
    ring = 6 * np.stack([np.cos(angle), np.sin(angle)], axis=1) + 0.4 * rng.normal(size=(600, 2))
    X = np.hstack([np.vstack([ring, rng.normal(size=(300, 2))]), 0.5 * rng.normal(size=(900, 8))])
    labels = np.repeat([0, 1], [600, 300])
    mixture, P = fitted(X, labels, 2)
    assert np.sum(mixture.owner == 0) > 1
    assert np.mean(P.argmax(axis=1) == labels) > 0.98


def test_no_surer_than_the_clusters_bear_out(rng):
    X = rng.normal(size=(600, 2)) + np.repeat([[0.0, 0.0], [9.0, 0.0]], 300, axis=0)
    labels = np.repeat([0, 1], 300)
    clear, P = fitted(X, labels, 2)
    assert clear.power == 1.0
    assert P.max(axis=1).mean() > 0.99
    # One object in five is said to be in the other cluster, where nothing of its kind is.
    wrong = np.where(np.arange(600) % 5 == 0, 1 - labels, labels)
    doubtful, P = fitted(X, wrong, 2)
    assert doubtful.power < 1.0
    agreement = np.mean(P.argmax(axis=1) == wrong)
    assert P.max(axis=1).mean() == pytest.approx(agreement, abs=0.01)
