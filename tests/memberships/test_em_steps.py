from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, multivariate_t

from soffit.memberships.em_steps import begin_fit, moments_of, n_parameters


@pytest.fixture
def drawn():
    rng = np.random.default_rng(5471)
    Z = rng.standard_t(5, size=(240, 3)) + np.repeat([[0.0] * 3, [3.0] * 3], 120, axis=0)
    return Z, np.eye(2)[np.repeat([0, 1], 120)]


def densities(Z, pieces):
    """Weighted densities by SciPy, which knows both families."""
    found = []
    for log_weight, mean, whitening in zip(
        pieces.log_weights, pieces.means, pieces.whitening, strict=True
    ):
        inverse = np.linalg.inv(whitening)
        shape = inverse @ inverse.T
        if np.isinf(pieces.tails):
            density = multivariate_normal(mean, shape).pdf(Z)
        else:
            density = multivariate_t(mean, shape, df=pieces.tails).pdf(Z)
        found.append(np.exp(log_weight) * density)
    return np.stack(found, axis=1)


def fit_pieces(Z, members, tails, *, common=False, n_steps=10):
    fit = advanced(begin_fit(moments_of(Z), members, tails, common=common), n_steps)
    return fit.pieces, fit.log_likelihood


def advanced(fit, n_steps):
    for _ in range(n_steps):
        fit = fit.advanced()
    return fit


@pytest.mark.parametrize("tails", [np.inf, 4.0, 11.0])
@pytest.mark.parametrize("common", [False, True])
def test_shares_and_likelihood_agree_with_scipy(drawn, tails, common):
    Z, members = drawn
    pieces, likelihood = fit_pieces(Z, members, tails, common=common)
    joint = densities(Z, pieces)
    total = joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pieces.shares(Z), joint / total, atol=1e-9)
    assert likelihood == pytest.approx(np.log(total).sum())


@pytest.mark.parametrize("tails", [np.inf, 4.0])
def test_more_steps_raise_the_likelihood(drawn, tails):
    Z, members = drawn
    # Without pseudo-points every step is a maximum, and EM never falls.
    likelihoods = [
        fit_pieces(Z, members, tails, common=True, n_steps=steps)[1] for steps in range(12)
    ]
    assert np.all(np.diff(likelihoods) > -1e-9 * abs(likelihoods[0]))


def test_without_steps_pieces_describe_their_members(drawn):
    Z, members = drawn
    pieces, _ = fit_pieces(Z, members, np.inf, n_steps=0)
    np.testing.assert_allclose(pieces.means, [Z[:120].mean(axis=0), Z[120:].mean(axis=0)])
    np.testing.assert_allclose(np.exp(pieces.log_weights), [0.5, 0.5])


def test_heavy_tails_resist_an_outlier(drawn):
    Z = drawn[0][:120]
    far = np.vstack([Z, [[500.0] * 3]])
    shift = {}
    for tails in (np.inf, 4.0):
        with_it, _ = fit_pieces(far, np.ones((121, 1)), tails)
        without, _ = fit_pieces(Z, np.ones((120, 1)), tails)
        shift[tails] = np.abs(with_it.means - without.means).max()
    assert shift[np.inf] > 4.0
    assert shift[4.0] < 0.1


def test_parameters_are_counted():
    assert n_parameters(4, 3) == 4 * (1 + 3 + 6)
    assert n_parameters(4, 3, common=True) == 4 * (1 + 3) + 6


@pytest.mark.parametrize("d", [1, 2, 7])
def test_moments_are_products_coordinates_and_one(d):
    Z = np.random.default_rng(3).normal(size=(5, d))
    for z, found in zip(Z, moments_of(Z), strict=True):
        row, column = np.triu_indices(d)
        np.testing.assert_allclose(found, [*np.outer(z, z)[row, column], *z, 1.0])


@pytest.mark.parametrize("tails", [np.inf, 4.0])
def test_the_compiled_loop_does_what_numpy_does(drawn, tails, limits):
    Z, members = drawn
    expected = advanced(begin_fit(moments_of(Z), members, tails), 3)
    limits(em_entries=0)
    found = advanced(begin_fit(moments_of(Z), members, tails), 3)
    np.testing.assert_allclose(found.shares, expected.shares, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(found.pull, expected.pull, rtol=1e-9, atol=1e-15)
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-12)
