from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.checks import assert_promises_kept
from tests.reference.problems import (
    near,
    planted_matrix,
    planted_memberships,
    random_matrix,
    random_problem,
    random_rows,
    stored,
)

from soffit.factorize import Problem, solve_gradient, solve_penalty
from soffit.factorize.simplex.penalty import _first_step, _Penalised


def penalised_loss(P, W, weight):
    """Equation 4."""
    hinge = -np.minimum(W, 0.0).sum()
    return ((P - W @ W.T) ** 2).sum() + weight * (hinge + ((W.sum(axis=1) - 1) ** 2).sum())


def test_loss_and_gradient_are_those_of_equation_4():
    P, weight = random_matrix(6, 3), 7.0
    W = np.random.default_rng(5).normal(size=(6, 3))
    state = _Penalised(P, (P**2).sum(), weight).state(W)
    assert state.value == pytest.approx(penalised_loss(P, W, weight))
    gradient = state.gradient - weight * (W < 0)
    for place in np.ndindex(W.shape):
        shift = np.zeros_like(W)
        shift[place] = 1e-6
        change = penalised_loss(P, W + shift, weight) - penalised_loss(P, W - shift, weight)
        assert gradient[place] == pytest.approx(change / 2e-6, rel=1e-5, abs=1e-4)


def test_step_is_the_papers_except_that_the_hinge_stops_at_zero():
    P, weight, gamma = random_matrix(6, 3), 7.0, 1e-3
    W = np.random.default_rng(5).normal(size=(6, 3))
    penalised = _Penalised(P, (P**2).sum(), weight)
    here = penalised.state(W)
    literal = W - gamma * (here.gradient - weight * (W < 0))
    stepped = penalised.step(here, gamma).W
    # Away from zero nothing differs.
    far = np.abs(W) > 0.1
    np.testing.assert_allclose(stepped[far], literal[far], atol=1e-12)
    assert far.sum() > 10


def test_first_step_respects_both_curvatures():
    P = random_matrix(40, 3)
    assert _first_step(P, 1e-6, 3) == pytest.approx(0.02 / np.linalg.norm(P, 2), rel=1e-6)
    assert _first_step(P, 1e6, 3) * 1e6 * 3 < 1
    assert np.isfinite(_first_step(np.zeros((4, 4)), 1.0, 2))


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 10),
    k=st.integers(1, 4),
    size=st.sampled_from([1e-4, 1.0, 1e3]),
    storage=st.sampled_from(["dense", "sparse"]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_promises_are_kept_on_random_problems(*, seed, n, k, size, storage, dtype):
    A = size * random_matrix(n, seed, density=0.6)
    problem = Problem(stored(A.astype(dtype), storage), k, diagonal=True)
    found = solve_penalty(problem, random_rows(n, k, seed + 1), max_iter=100)
    assert_promises_kept(problem, found)


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
def test_never_diverges_from_a_start_in_one_cluster(size):
    # Here ||W W'|| is far above ||A||, so that 0.02 / ||A|| alone would be too long a step.
    problem = Problem(size * random_matrix(60, 3), 3, diagonal=True)
    start = near(np.tile([1.0, 0.0, 0.0], (60, 1)), 5, share=0.05)
    found = solve_penalty(problem, start, max_iter=300)
    assert_promises_kept(problem, found)
    assert found.objective < found.history[0]


def test_comes_close_to_the_gradient_solver_on_a_planted_problem():
    A = planted_matrix(40, 3, 53, noise=0.02)
    start = near(planted_memberships(40, 3, 53), 5)
    problem = Problem(A, 3, diagonal=True)
    found, best = solve_penalty(problem, start), solve_gradient(problem, start, tol=1e-9)
    assert found.converged
    assert found.objective == pytest.approx(best.objective, rel=0.02)
    np.testing.assert_allclose(found.factor, best.factor, atol=0.05)


def test_history_has_one_entry_a_round():
    seen = []
    found = solve_penalty(
        random_problem(3, diagonal=True),
        random_rows(12, 3, 5),
        lambda0=1.0,
        mu=10.0,
        eps2=0.01,
        max_iter=50,
        callback=lambda round_, loss: seen.append((round_, loss)),
    )
    # Weights 1, 10 and 100 are used; 1000 exceeds 1 / eps2.
    assert found.n_iter == 3
    assert seen == list(enumerate(found.history))[1:]


def test_the_best_factor_is_returned_not_the_last():
    W = planted_memberships(30, 3, 7)
    problem = Problem(W @ W.T, 3, diagonal=True)
    found = solve_penalty(problem, W, max_iter=20)
    np.testing.assert_array_equal(found.factor, W)
    assert found.objective == pytest.approx(0.0, abs=1e-10)


def test_too_few_steps_are_reported():
    found = solve_penalty(random_problem(3, diagonal=True), random_rows(12, 3, 5), max_iter=1)
    assert found.stopped == "max_iter"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lambda0": 0.0}, "lambda0 must be positive, got 0.0"),
        ({"mu": 1.0}, "mu must be above 1"),
        ({"eps2": 0.0}, "eps2 must lie in"),
        ({"eps2": 0.5}, "eps2 must lie in"),
    ],
)
def test_schedules_without_beginning_or_end_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        solve_penalty(random_problem(3, diagonal=True), random_rows(12, 3, 5), **options)


def test_permuting_objects_permutes_the_result():
    A, start = random_matrix(20, 3), random_rows(20, 3, 5)
    order = np.random.default_rng(11).permutation(20)
    plain = solve_penalty(Problem(A, 3, diagonal=True), start, max_iter=30)
    shuffled = Problem(A[np.ix_(order, order)], 3, diagonal=True)
    permuted = solve_penalty(shuffled, start[order], max_iter=30)
    np.testing.assert_allclose(permuted.factor, plain.factor[order], atol=1e-8)
