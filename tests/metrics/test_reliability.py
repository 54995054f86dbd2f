from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.metrics import accuracy, calibration_curve, calibration_error

TRUE = ["a", "a", "a", "b", "b", "b"]
MEMBERSHIPS = np.array([[9, 1], [9, 1], [4, 6], [1, 9], [4, 6], [4, 6]]) / 10


def test_by_hand():
    curve = calibration_curve(TRUE, MEMBERSHIPS, n_bins=10)
    np.testing.assert_allclose(curve.confidence, [0.6, 0.9])
    np.testing.assert_allclose(curve.accuracy, [2 / 3, 1.0])
    assert curve.count.tolist() == [3, 3]
    assert calibration_error(TRUE, MEMBERSHIPS, n_bins=10) == pytest.approx((1 / 15 + 0.1) / 2)


def test_bins_include_their_upper_end():
    memberships = np.array([[0.6, 0.4], [0.61, 0.39], [1.0, 0.0]])
    assert calibration_curve([0, 0, 0], memberships, n_bins=5).count.tolist() == [1, 1, 1]
    assert calibration_curve([0, 0, 0], memberships, n_bins=1).count.tolist() == [3]


def test_curve_cannot_be_changed():
    curve = calibration_curve(TRUE, MEMBERSHIPS)
    with pytest.raises(FrozenInstanceError):
        curve.count = np.zeros(1)


def test_calibrated_memberships_have_a_small_error():
    rng = np.random.default_rng(271)
    memberships = rng.dirichlet(np.full(3, 0.6), size=20_000)
    drawn = (memberships.cumsum(axis=1) < rng.uniform(size=(20_000, 1))).sum(axis=1)
    assert calibration_error(drawn, memberships) < 0.02
    sharpened = memberships**3
    sharpened /= sharpened.sum(axis=1, keepdims=True)
    assert calibration_error(drawn, sharpened) > 0.08


def test_ends_of_the_range():
    assert calibration_error([0, 1, 1], np.eye(2)[[1, 0, 0]]) == 0.0
    # A class without a cluster is always wrong, here with confidence 1.
    assert calibration_error([0, 0, 1], np.ones((3, 1))) == pytest.approx(1 / 3)


def test_more_clusters_than_classes():
    memberships = np.eye(3)[[0, 0, 1, 2, 2]]
    curve = calibration_curve([0, 0, 0, 1, 1], memberships)
    assert curve.accuracy.tolist() == [0.8]
    assert calibration_error([0, 0, 0, 1, 1], memberships) == pytest.approx(0.2)


def test_one_object():
    curve = calibration_curve(["x"], [[0.25, 0.75]])
    assert (curve.confidence.tolist(), curve.accuracy.tolist()) == ([0.75], [1.0])
    assert calibration_error(["x"], [[0.25, 0.75]]) == pytest.approx(0.25)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_objects=st.integers(1, 30),
    n_clusters=st.integers(1, 5),
    n_classes=st.integers(1, 5),
    n_bins=st.integers(1, 20),
)
def test_invariants(seed, n_objects, n_clusters, n_classes, n_bins):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, size=n_objects)
    memberships = rng.dirichlet(np.ones(n_clusters), size=n_objects)
    curve = calibration_curve(labels, memberships, n_bins=n_bins)
    assert curve.count.sum() == n_objects
    assert (curve.count > 0).all()
    assert (np.diff(curve.confidence) > 0).all()
    # No matching gets more objects right than the one made for accuracy.
    overall = (curve.count * curve.accuracy).sum() / n_objects
    assert overall <= accuracy(labels, memberships.argmax(axis=1)) + 1e-12
    error = calibration_error(labels, memberships, n_bins=n_bins)
    assert 0 <= error <= 1
    shuffled = memberships[:, rng.permutation(n_clusters)]
    renamed = [f"class {9 - label}" for label in labels]
    assert calibration_error(renamed, shuffled, n_bins=n_bins) == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("n_bins", [0, -3, 2.5, True, None])
def test_bad_number_of_bins(n_bins):
    with pytest.raises(ValueError, match="n_bins"):
        calibration_error(TRUE, MEMBERSHIPS, n_bins=n_bins)


def test_nan_is_refused():
    with pytest.raises(ValueError, match="memberships contains NaN"):
        calibration_curve([0, 1], [[np.nan, 1.0], [1.0, 0.0]])
