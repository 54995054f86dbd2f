"""Crossing lines with their exact posterior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from soffit.datasets import make_lines


def test_sample_is_well_formed():
    sample = make_lines(331, n_lines=4, n_features=5, random_state=503)
    assert sample.X.shape == (331, 5)
    assert sample.posterior.shape == (331, 4)
    assert np.isfinite(sample.X).all()
    np.testing.assert_allclose(sample.posterior.sum(axis=1), 1.0, atol=1e-12)
    assert np.ptp(np.bincount(sample.labels)) == 1
    assert sample.name == "lines"


def test_same_seed_same_points():
    first, second = make_lines(60, random_state=509), make_lines(60, random_state=509)
    np.testing.assert_array_equal(first.X, second.X)
    assert not np.array_equal(first.X, make_lines(60, random_state=521).X)


def test_points_lie_near_their_segments():
    sample = make_lines(900, n_lines=3, noise=0.01, offset=0.2, random_state=523)
    for line, (angle, shift) in enumerate([(0, 0.2), (np.pi / 3, -0.2), (2 * np.pi / 3, 0.2)]):
        X = sample.X[sample.labels == line]
        across = X @ [-np.sin(angle), np.cos(angle)] - shift
        assert abs(across.mean()) < 0.003
        assert 0.008 < across.std() < 0.012
        assert np.abs(X @ [np.cos(angle), np.sin(angle)]).max() < 1.05


def test_posterior_is_bayes_rule():
    sample = make_lines(40, n_lines=2, noise=0.3, offset=0.1, random_state=541)

    def density(x, along, across, middle):
        u, v = x @ along, x @ across - middle
        inside = quad(lambda s: 0.5 * norm.pdf(u, s, 0.3), -1, 1)[0]
        return inside * norm.pdf(v, 0, 0.3)

    for x, row in zip(sample.X, sample.posterior, strict=True):
        first = density(x, np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.1)
        second = density(x, np.array([0.0, 1.0]), np.array([-1.0, 0.0]), -0.1)
        np.testing.assert_allclose(row[0], first / (first + second), atol=1e-6)


def test_posterior_is_calibrated():
    """Labels must look like draws from the posterior."""
    sample = make_lines(20_000, noise=0.2, random_state=547)
    hit = np.eye(3)[sample.labels]
    for j in range(3):
        p = sample.posterior[:, j]
        assert abs(np.mean((hit[:, j] - p) * p)) < 0.01


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_samples": 2}, ValueError, "n_samples must be at least the number of clusters"),
        ({"n_lines": 0}, ValueError, "n_lines must be an integer of at least 1"),
        ({"noise": 0.0}, ValueError, "noise must be a number above 0"),
        ({"offset": -1.0}, ValueError, "offset must be a number of at least 0"),
        ({"n_features": 1}, ValueError, "n_features must be an integer of at least 2"),
        ({"n_lines": 2.5}, ValueError, "n_lines must be an integer"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        make_lines(**({"n_samples": 30} | arguments))
