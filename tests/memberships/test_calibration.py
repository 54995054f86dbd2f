"""Pairs decide how far the mixture may move the clusters that they have corrected."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.affinity import SideInformation
from soffit.memberships import fit_seeded_mixture
from soffit.memberships.calibration import choose_mixture


def told(X, labels, truth, objects, *, weight=1.0):
    """The mixture that begins at labels and is told the truth about pairs of some objects."""
    pairs = np.sort(np.asarray(objects).reshape(-1, 2), axis=1)
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    side = SideInformation.of(pairs[same], pairs[~same], len(X))
    rows = np.eye(2)[labels]
    return choose_mixture(X, rows, side, lambda start: start, weight=weight, random_state=5)


def is_the_same(one, other, X):
    return one.trust == other.trust and np.array_equal(one.memberships(X), other.memberships(X))


@pytest.fixture
def one_cloud():
    """One Gaussian cut in two far from its middle: densities know nothing of the cut."""
    rng = np.random.default_rng(41)
    X = rng.standard_normal((400, 2))
    return X, (X[:, 0] > 1.0).astype(np.int64), rng.permutation(400)[:160]


@pytest.fixture
def two_clouds():
    """Two Gaussians, with a cut between them that is out of place: densities know better."""
    rng = np.random.default_rng(43)
    truth = rng.integers(2, size=400)
    X = rng.standard_normal((400, 2)) + 3.5 * truth[:, None] * np.array([1.0, 0.0])
    return X, (X[:, 0] > 0.7).astype(np.int64), truth, rng.permutation(400)[:160]


def test_the_mixture_rests_where_its_steps_lose_what_pairs_know(one_cloud):
    X, labels, objects = one_cloud
    usual = fit_seeded_mixture(X, labels, 2, random_state=5)
    found = told(X, labels, labels, objects)
    resting = fit_seeded_mixture(X, labels, 2, random_state=5, n_steps=0)
    assert np.array_equal(found.memberships(X), resting.memberships(X))
    assert found.trust == pytest.approx(0.625 * resting.trust)
    untouched = np.setdiff1d(np.arange(len(X)), objects)

    def share_right(mixture):
        return np.mean(mixture.memberships(X).argmax(axis=1)[untouched] == labels[untouched])

    assert share_right(found) > share_right(usual)


def test_the_usual_mixture_stays_where_its_steps_help(two_clouds):
    X, labels, truth, objects = two_clouds
    usual = fit_seeded_mixture(X, labels, 2, random_state=5)
    assert is_the_same(told(X, labels, truth, objects), usual, X)


@pytest.mark.parametrize("n_touched", [2, 386, 400])
def test_without_evidence_the_usual_mixture_stays(one_cloud, n_touched):
    X, labels, _ = one_cloud
    usual = fit_seeded_mixture(X, labels, 2, random_state=5)
    assert is_the_same(told(X, labels, labels, np.arange(n_touched)), usual, X)


def test_pairs_of_little_weight_decide_nothing(one_cloud):
    X, labels, objects = one_cloud
    usual = fit_seeded_mixture(X, labels, 2, random_state=5)
    assert is_the_same(told(X, labels, labels, objects, weight=1e-6), usual, X)


def test_a_cluster_may_be_told_whole():
    X = np.random.default_rng(47).standard_normal((120, 2))
    labels = np.zeros(120, dtype=np.int64)
    labels[:6] = 1
    found = told(X, labels, labels, np.arange(10))
    np.testing.assert_allclose(found.memberships(X).sum(axis=1), 1.0, atol=1e-9)
