from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.checks import assert_promises_kept
from tests.reference.factorization import problem_loss
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

from soffit.factorize import Problem, solve_gradient, solve_gradients, solve_growth, solve_rows
from soffit.factorize.simplex.gradient import Objective, Point


def differences(function, X, step=1e-6):
    gradient = np.empty_like(X)
    for place in np.ndindex(X.shape):
        shift = np.zeros_like(X)
        shift[place] = step
        gradient[place] = (function(X + shift) - function(X - shift)) / (2 * step)
    return gradient


@pytest.mark.parametrize("diagonal", [False, True])
def test_gradient_agrees_with_finite_differences(diagonal):
    problem = random_problem(211, n=7, k=3, scale="cluster", diagonal=diagonal)
    objective, A = Objective(problem), problem.matrix
    U, s = np.random.default_rng(3).normal(size=(7, 3)), np.array([0.5, 1.0, 2.0])
    found = objective.gradient(Point(U, A @ U), s)
    expected = differences(lambda V: objective.value(Point(V, A @ V), s), U)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert objective.value(Point(U, A @ U), s) == pytest.approx(problem_loss(problem, U, s))


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    k=st.integers(1, 5),
    scale=st.sampled_from(["none", "single", "cluster"]),
    storage=st.sampled_from(["dense", "sparse"]),
    dtype=st.sampled_from([np.float32, np.float64]),
    diagonal=st.booleans(),
    with_degrees=st.booleans(),
)
def test_promises_are_kept_on_random_problems(
    *, seed, n, k, scale, storage, dtype, diagonal, with_degrees
):
    A = random_matrix(n, seed, density=0.6)
    problem = Problem(
        stored(A.astype(dtype), storage),
        k,
        scale=scale,
        diagonal=diagonal,
        degrees=A.sum(axis=1) if with_degrees else None,
    )
    found = solve_gradient(problem, random_rows(n, k, seed + 1), max_iter=60)
    assert_promises_kept(problem, found)


@pytest.mark.parametrize("scale", ["none", "single", "cluster"])
@pytest.mark.parametrize("with_degrees", [False, True])
def test_agrees_with_row_blocks_without_diagonal(scale, with_degrees):
    A, W = planted_matrix(50, 3, 31, noise=0.03), planted_memberships(50, 3, 31)
    degrees = A.sum(axis=1) if with_degrees else None
    problem = Problem(A, 3, scale=scale, degrees=degrees)
    start = near(W, 41)
    ours = solve_gradient(problem, start, tol=1e-10)
    rows = solve_rows(problem, start, tol=1e-10, max_iter=3000)
    assert ours.objective == pytest.approx(rows.objective, rel=1e-5)
    np.testing.assert_allclose(ours.factor, rows.factor, atol=5e-3)


def test_noiseless_memberships_are_recovered():
    W = planted_memberships(60, 4, 7)
    found = solve_gradient(
        Problem(0.4 * W @ W.T, 4, scale="single", diagonal=True), near(W, 11), tol=1e-9
    )
    np.testing.assert_allclose(found.factor, W, atol=1e-4)
    np.testing.assert_allclose(found.scale, 0.4, rtol=1e-4)


def test_goes_below_the_growth_transformation_on_real_data(data_home):
    P = relative_similarity(np.load(data_home / "glass.npz")["X"].astype(float))
    start = random_rows(len(P), 6, 7)
    for scale in ("none", "single"):
        problem = Problem(P, 6, scale=scale, diagonal=True)
        ours = solve_gradient(problem, start)
        assert ours.converged
        assert ours.objective < solve_growth(problem, start, max_iter=2000).objective
        # At a minimum a projected gradient step leads nowhere.
        objective = Objective(problem)
        point = Point(ours.factor, P @ ours.factor)
        gradient = objective.gradient(point, ours.scale)
        moved = objective.project(point.U - 1e-3 * gradient, ours.factor)
        assert np.abs(moved - ours.factor).max() < 0.02


@pytest.mark.parametrize("diagonal", [False, True])
def test_permuting_objects_permutes_the_result(diagonal):
    A, start = random_matrix(30, 3), random_rows(30, 3, 5)
    order = np.random.default_rng(11).permutation(30)
    options = {"scale": "single", "diagonal": diagonal}
    plain = solve_gradient(Problem(A, 3, **options), start, max_iter=20)
    shuffled = Problem(A[np.ix_(order, order)], 3, **options)
    permuted = solve_gradient(shuffled, start[order], max_iter=20)
    np.testing.assert_allclose(permuted.factor, plain.factor[order], atol=1e-8)


def test_storages_and_precisions_agree():
    A, start = planted_matrix(40, 3, 53, noise=0.02), random_rows(40, 3, 5)
    base = solve_gradient(Problem(A, 3, scale="single", diagonal=True), start)
    sparse = solve_gradient(Problem(stored(A, "sparse"), 3, scale="single", diagonal=True), start)
    single = Problem(A.astype(np.float32), 3, scale="single", diagonal=True)
    np.testing.assert_allclose(sparse.factor, base.factor, atol=1e-8)
    found = solve_gradient(single, start)
    assert found.factor.dtype == np.float32
    assert found.objective == pytest.approx(base.objective, rel=1e-4)


def test_objects_without_degree_keep_their_start():
    A = random_matrix(10, 3)
    A[4] = A[:, 4] = 0.0
    start = random_rows(10, 3, 13)
    problem = Problem(A, 3, scale="single", degrees=A.sum(axis=1))
    found = solve_gradient(problem, start)
    assert_promises_kept(problem, found)
    np.testing.assert_array_equal(found.factor[4], start[4])


def test_several_starts_are_deprecated_and_the_same_as_one_by_one():
    problem = Problem(planted_matrix(20, 2, 53, noise=0.02), 2)
    starts = [random_rows(20, 2, seed) for seed in (3, 5)]
    with pytest.warns(FutureWarning, match="call solve_gradient"):
        together = solve_gradients(problem, starts, max_iter=50, tol=1e-9)
    for start, result in zip(starts, together, strict=True):
        alone = solve_gradient(problem, start, max_iter=50, tol=1e-9)
        np.testing.assert_array_equal(result.factor, alone.factor)
