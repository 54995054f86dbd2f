"""The factorization of sampled tuples."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.factorize import solve_tuples
from soffit.factorize.tuples.solve import flatten_tuples, known_tuples, tuple_start
from soffit.metrics import accuracy


def _loss(tuples, values, weights, G):
    fit = np.prod(G[tuples], axis=1).sum(axis=1)
    return float(np.sum(weights * (values - fit) ** 2))


def _sweep_twin(tuples, values, weights, G, steps=10):
    """One pass in plain NumPy, with the steps that the kernel takes."""
    G = G.copy()
    for i in range(len(G)):
        times = (tuples == i).sum(axis=1)
        own = times > 0
        if not own.any():
            continue
        rows = np.where((tuples[own] == i)[:, :, None], 1.0, G[tuples[own]])
        others = np.prod(rows, axis=1)
        v, m, c = values[own], weights[own], times[own]
        if c.max() == 1:
            for _ in range(steps):
                below = others.T @ (m * (others @ G[i]))
                above = others.T @ (m * v)
                G[i] *= np.divide(above, below, out=np.zeros_like(below), where=below > 0)
        else:
            terms = others * G[i] ** c[:, None]
            above = terms.T @ (m * c * v)
            below = terms.T @ (m * c * terms.sum(axis=1))
            ratio = np.divide(above, below, out=np.zeros_like(below), where=below > 0)
            G[i] *= ratio ** (1.0 / (2 * c.max() - 1))
    return G


def _problem(seed, *, n=12, order=3, n_tuples=60, repeats=True):
    rng = np.random.default_rng(seed)
    if repeats:
        tuples = rng.integers(0, n, (n_tuples, order))
    else:
        tuples = np.array([rng.choice(n, order, replace=False) for _ in range(n_tuples)])
    return tuples, rng.uniform(0, 1, n_tuples), rng.uniform(0.1, 2, n_tuples), rng


@pytest.mark.parametrize("repeats", [False, True])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_kernel_agrees_with_numpy(order, repeats):
    tuples, values, weights, rng = _problem(401, order=order, repeats=repeats)
    start = rng.uniform(0.2, 1, (12, 3))
    found = solve_tuples(tuples, values, 12, start, weights=weights, max_iter=1, tol=0.0)
    fit = np.prod(start[tuples], axis=1).sum(axis=1)
    size = np.sum(weights * values * fit) / np.sum(weights * fit**2)
    scaled = start * size ** (1.0 / order)
    scaled[np.setdiff1d(np.arange(12), tuples)] = 0.0
    twin = _sweep_twin(tuples, values, weights, scaled)
    np.testing.assert_allclose(found.factor, twin, rtol=1e-8)
    np.testing.assert_allclose(
        found.history,
        [_loss(tuples, values, weights, scaled), _loss(tuples, values, weights, twin)],
    )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    order=st.integers(2, 5),
    repeats=st.booleans(),
    k=st.integers(1, 4),
    zeros=st.floats(0, 1),
)
def test_loss_never_rises(seed, order, repeats, k, zeros):
    tuples, values, weights, rng = _problem(seed, order=order, repeats=repeats)
    values[rng.uniform(size=len(values)) < zeros] = 0.0
    start = rng.standard_exponential((12, k))
    found = solve_tuples(tuples, values, 12, start, weights=weights, max_iter=30, tol=0.0)
    assert np.isfinite(found.factor).all()
    assert (found.factor >= 0).all()
    assert np.all(np.diff(found.history) <= 1e-10 * found.history[0])
    np.testing.assert_allclose(
        found.objective, _loss(tuples, values, weights, found.factor), atol=1e-9
    )


@pytest.mark.parametrize("order", [3, 4])
def test_planted_memberships_are_recovered(order):
    rng = np.random.default_rng(409)
    planted = rng.dirichlet([0.3, 0.3, 0.3], size=40)
    tuples = np.array([rng.choice(40, order, replace=False) for _ in range(6000)])
    values = np.prod(planted[tuples], axis=1).sum(axis=1)
    start = tuple_start(tuples, values, 40, 3, random_state=np.random.RandomState(419))
    found = solve_tuples(tuples, values, 40, start, max_iter=1000, tol=1e-7)
    assert found.objective < 1e-4 * np.sum(values**2)
    assert accuracy(planted.argmax(axis=1), found.factor.argmax(axis=1)) == 1.0


def test_start_from_pairs_finds_separate_blocks():
    labels = np.repeat([0, 1, 2], 10)
    tuples = np.array(list(combinations(range(30), 3)))
    values = (np.ptp(labels[tuples], axis=1) == 0).astype(float)
    start = tuple_start(tuples, values, 30, 3, random_state=np.random.RandomState(421))
    assert accuracy(labels, start.argmax(axis=1)) == 1.0
    found = solve_tuples(tuples, values, 30, start)
    assert found.converged
    assert accuracy(labels, found.factor.argmax(axis=1)) == 1.0
    np.testing.assert_allclose(found.factor.max(axis=1), 1.0, atol=1e-3)


def test_flattened_affinities_are_sums_over_tuples():
    tuples, values, _, _ = _problem(431, order=3)
    A = np.zeros((12, 12))
    for members, value in zip(tuples, values, strict=True):
        for a, b in combinations(members, 2):
            if a != b:
                A[a, b] += value
                A[b, a] += value
    np.testing.assert_allclose(flatten_tuples(tuples, values, 12).toarray(), A)


def test_weight_zero_means_unknown():
    tuples, values, weights, rng = _problem(433)
    start = rng.uniform(0.2, 1, (12, 2))
    weights[:20] = 0.0
    some = solve_tuples(tuples, values, 12, start, weights=weights)
    rest = solve_tuples(tuples[20:], values[20:], 12, start, weights=weights[20:])
    np.testing.assert_array_equal(some.factor, rest.factor)


def test_objects_in_no_tuple_get_a_zero_row():
    tuples, values, _, rng = _problem(439)
    found = solve_tuples(tuples, values, 15, rng.uniform(0.2, 1, (15, 2)))
    np.testing.assert_array_equal(found.factor[12:], 0.0)


def test_values_of_zero_give_a_zero_factor():
    tuples, values, _, rng = _problem(443, repeats=False)
    found = solve_tuples(tuples, 0 * values, 12, rng.uniform(0.2, 1, (12, 2)))
    np.testing.assert_array_equal(found.factor, 0.0)
    assert found.objective == 0.0
    assert found.converged


def test_inputs_are_left_alone_and_callbacks_called():
    tuples, values, weights, rng = _problem(449)
    start = rng.uniform(0.2, 1, (12, 2))
    given = [array.copy() for array in (tuples, values, weights, start)]
    seen = []
    found = solve_tuples(
        tuples,
        values,
        12,
        start,
        weights=weights,
        max_iter=4,
        tol=0.0,
        callback=lambda number, loss: seen.append((number, loss)),
    )
    for before, after in zip(given, (tuples, values, weights, start), strict=True):
        np.testing.assert_array_equal(before, after)
    assert seen == list(enumerate(found.history))[1:]
    assert found.stopped == "max_iter"


@pytest.mark.parametrize(
    ("tuples", "values", "weights", "error", "message"),
    [
        ([], [], None, ValueError, r"at least one tuple.*shape \(0,\)"),
        (np.empty((0, 3), int), [], None, ValueError, r"at least one tuple"),
        ([[1], [2]], [1, 1], None, ValueError, r"at least two objects"),
        ([[0, 1, 5]], [1], None, ValueError, r"from 0 to n_objects - 1 = 4, got 5"),
        ([[0, 1, -1]], [1], None, ValueError, r"got -1"),
        ([[0.0, 1.0, 2.0]], [1], None, TypeError, r"integers, got float64"),
        ([[0, 1, 2]], [1, 2], None, ValueError, r"values .*\(1,\), got \(2,\)"),
        ([[0, 1, 2]], [-0.5], None, ValueError, r"values must be at least 0, got -0\.5"),
        ([[0, 1, 2]], [np.nan], None, ValueError, r"values must be finite"),
        ([[0, 1, 2]], [1], [-1], ValueError, r"weights must be at least 0"),
        ([[0, 1, 2]], [1], [0], ValueError, r"weights are all 0"),
    ],
)
def test_wrong_tuples_are_refused(tuples, values, weights, error, message):
    with pytest.raises(error, match=message):
        known_tuples(tuples, values, 5, weights)


@pytest.mark.parametrize("start", [np.ones((4, 2)), np.ones(5), -np.ones((5, 2))])
def test_wrong_starts_are_refused(start):
    with pytest.raises(ValueError, match="start must"):
        solve_tuples(np.array([[0, 1, 2]]), np.ones(1), 5, start)
