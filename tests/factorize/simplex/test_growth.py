from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from tests.reference.checks import assert_promises_kept
from tests.reference.problems import (
    near,
    planted_matrix,
    planted_memberships,
    random_matrix,
    random_problem,
    random_rows,
    relative_similarity,
    stored,
)

from soffit.factorize import Problem, solve_gradient, solve_growth


def equation_7(W, Y, alpha):
    """One step as printed, for Y of shape (n, k)."""
    n = len(Y)
    slope = (W - alpha * Y @ Y.T) @ Y
    return Y * (alpha * n + slope) / (alpha * n + (Y * slope).sum(axis=1, keepdims=True))


@pytest.mark.parametrize("scale", ["none", "single"])
def test_first_step_is_equation_7_then_8(scale):
    problem = random_problem(509, scale=scale, diagonal=True)
    A, Y = problem.matrix, random_rows(12, 3, 521)
    alpha = np.trace(A @ Y @ Y.T) / np.sum((Y @ Y.T) ** 2) if scale == "single" else 1.0
    expected = equation_7(A, Y, alpha)
    found = solve_growth(problem, Y, max_iter=1)
    np.testing.assert_allclose(found.factor, expected, rtol=1e-12)
    if scale == "single":
        alpha = np.trace(A @ expected @ expected.T) / np.sum((expected @ expected.T) ** 2)
    np.testing.assert_allclose(found.scale, alpha)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    k=st.integers(1, 5),
    scale=st.sampled_from(["none", "single"]),
    storage=st.sampled_from(["dense", "sparse"]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_promises_are_kept_on_random_problems(*, seed, n, k, scale, storage, dtype):
    A = random_matrix(n, seed, density=0.6).astype(dtype)
    problem = Problem(stored(A, storage), k, scale=scale, diagonal=True)
    found = solve_growth(problem, random_rows(n, k, seed + 1), max_iter=60)
    assert_promises_kept(problem, found)


def test_rounding_does_not_grow_as_it_does_in_the_printed_form():
    P = relative_similarity(load_iris().data[:100])
    start = random_rows(100, 3, 5)
    printed = start
    for _ in range(400):
        printed = equation_7(P, printed, 1.0)
    assert np.abs(printed.sum(axis=1) - 1).max() > 1e-10
    problem = Problem(P, 3, diagonal=True)
    found = solve_growth(problem, start, max_iter=400, tol=0.0)
    assert found.n_iter == 400
    assert np.abs(found.factor.sum(axis=1) - 1).max() < 1e-14
    assert_promises_kept(problem, found)


def test_zeros_stay_zero():
    start = np.eye(3)[np.arange(12) % 3]
    start[6:] = 0.5 * start[6:] + 0.5 * np.roll(start[6:], 1, axis=1)
    found = solve_growth(random_problem(3, diagonal=True), start, max_iter=50)
    assert np.all(found.factor[start == 0] == 0)


def test_comes_close_to_the_gradient_solver_on_a_planted_problem():
    A = planted_matrix(40, 3, 53, noise=0.02)
    start = near(planted_memberships(40, 3, 53), 5)
    problem = Problem(A, 3, scale="single", diagonal=True)
    found, best = solve_growth(problem, start), solve_gradient(problem, start, tol=1e-9)
    assert found.converged
    assert found.objective == pytest.approx(best.objective, rel=5e-3)


@pytest.mark.parametrize("scale", ["none", "single"])
def test_matrix_of_zeros_is_no_trouble(scale):
    problem = Problem(np.zeros((5, 5)), 2, scale=scale, diagonal=True)
    found = solve_growth(problem, random_rows(5, 2, 7), max_iter=50)
    assert_promises_kept(problem, found)


def test_permuting_objects_permutes_the_result():
    A, start = random_matrix(30, 3), random_rows(30, 3, 5)
    order = np.random.default_rng(11).permutation(30)
    plain = solve_growth(Problem(A, 3, diagonal=True), start, max_iter=40)
    shuffled = Problem(A[np.ix_(order, order)], 3, diagonal=True)
    permuted = solve_growth(shuffled, start[order], max_iter=40)
    np.testing.assert_allclose(permuted.factor, plain.factor[order], atol=1e-12)
