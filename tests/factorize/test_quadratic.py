from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.reference.factorization import problem_loss, scale_statistics
from tests.reference.problems import random_matrix, random_rows

from soffit.factorize import Problem
from soffit.factorize.problem import (
    best_scale,
    exact_gram,
    loss,
    misfit,
    pair_gram,
    scale_limit,
    squared_norm,
)


def statistics(problem, W):
    U = problem.row_factors()[:, None] * W
    b = problem.graph.column_forms(U, diagonal=problem.diagonal)
    return b, pair_gram(U, exact_gram(U), diagonal=problem.diagonal)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("with_degrees", [False, True])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_statistics_and_loss_are_the_sums_they_stand_for(diagonal, with_degrees, convert):
    degrees = np.random.default_rng(7).uniform(0, 2, size=10) if with_degrees else None
    A = convert(random_matrix(10, 431, density=0.7))
    problem = Problem(A, 3, scale="cluster", degrees=degrees, diagonal=diagonal)
    W, s = random_rows(10, 3, 433), np.array([0.2, 1.1, 2.3])
    b, H = statistics(problem, W)
    expected = scale_statistics(problem, W)
    np.testing.assert_allclose(b, expected[0], rtol=1e-12)
    np.testing.assert_allclose(H, expected[1], rtol=1e-12)
    norm = squared_norm(A, diagonal=diagonal)
    assert loss(norm, b, H, s) == pytest.approx(problem_loss(problem, W, s), rel=1e-12)


@pytest.mark.parametrize("diagonal", [False, True])
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 4))
def test_scales_minimise_the_loss(diagonal, seed, k):
    A, W = random_matrix(9, seed), random_rows(9, k, seed + 1)
    for rule in ("single", "cluster"):
        problem = Problem(A, k, scale=rule, diagonal=diagonal)
        b, H = statistics(problem, W)
        s = best_scale(problem, b, H)
        assert s.min() >= 0.0
        value = misfit(0.0, b, H, s)
        # Optimality: no scale can gain by moving, alone or (single) together with the others.
        slope = 2 * (H @ s - b)
        directions = [slope.sum()] if rule == "single" else slope
        levels = [s[0]] if rule == "single" else s
        for level, direction in zip(levels, directions, strict=True):
            assert direction >= -1e-6 * np.abs(b).max()
            assert level * direction <= 1e-6 * abs(value)


def test_cluster_scales_agree_with_a_general_solver():
    problem = Problem(random_matrix(12, 19, density=0.4), 4, scale="cluster")
    b, H = statistics(problem, random_rows(12, 4, 23))
    s = best_scale(problem, b, H)
    found = minimize(
        lambda t: misfit(0.0, b, H, t),
        np.ones(4),
        jac=lambda t: 2 * (H @ t - b),
        bounds=[(0, None)] * 4,
        tol=1e-14,
    )
    np.testing.assert_allclose(s, found.x, atol=1e-4)
    assert misfit(0.0, b, H, s) <= found.fun + 1e-10


def test_single_scale_is_equation_8():
    A, Y = random_matrix(7, 5), random_rows(7, 2, 11)
    problem = Problem(A, 2, scale="single", diagonal=True)
    expected = np.trace(A @ Y @ Y.T) / np.sum((Y @ Y.T) ** 2)
    np.testing.assert_allclose(best_scale(problem, *statistics(problem, Y)), [expected] * 2)


def test_scale_none_is_one():
    problem = Problem(random_matrix(6, 5), 3)
    assert best_scale(problem, np.ones(3), np.eye(3)).tolist() == [1.0] * 3


def test_identical_columns_share_the_scale_without_trouble():
    problem = Problem(random_matrix(8, 3), 3, scale="cluster")
    b, H = statistics(problem, np.full((8, 3), 1 / 3))
    s = best_scale(problem, b, H)
    single = best_scale(Problem(problem.matrix, 3, scale="single"), b, H)
    assert misfit(0.0, b, H, s) == pytest.approx(misfit(0.0, b, H, single), rel=1e-9)


def test_unused_cluster_has_no_scale():
    W = np.zeros((5, 2))
    W[:, 0] = 1.0
    problem = Problem(random_matrix(5, 3), 2, scale="cluster")
    assert best_scale(problem, *statistics(problem, W))[1] == 0.0


@given(seed=st.integers(0, 2**32 - 1))
def test_scales_respect_the_limit_and_never_lose_to_the_previous_ones(seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, 4)) * 10.0 ** rng.integers(-6, 1, size=4)
    H, b = np.abs(root.T @ root), rng.random(4) * 10.0 ** rng.integers(-6, 1, size=4)
    H = H @ H
    problem = Problem(np.ones((4, 4)), 4, scale="cluster")
    previous = rng.random(4) * 50.0
    s = best_scale(problem, b, H, limit=50.0, previous=previous)
    assert s.min() >= 0.0
    assert s.max() <= 50.0
    assert misfit(0.0, b, H, s) <= misfit(0.0, b, H, previous)


def test_previous_scales_stay_where_rounding_hides_better_ones():
    U = np.array([[1e-5, 1e-6, 1e-8], [1e-6, 1e-7, 1.0]])
    problem = Problem(np.ones((2, 2)), 3, scale="cluster")
    b, H = statistics(problem, U)
    previous = np.array([0.0, 90.0, 300.0])
    afresh = best_scale(problem, b, H, limit=1e3)
    kept = best_scale(problem, b, H, limit=1e3, previous=previous)
    assert misfit(0.0, b, H, previous) < misfit(0.0, b, H, afresh)
    assert misfit(0.0, b, H, kept) <= misfit(0.0, b, H, previous)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_limit_follows_the_largest_similarity_per_degree(convert):
    A, degrees = random_matrix(150, 37), np.random.default_rng(5).uniform(0.1, 1, size=150)
    degrees[3] = 0.0
    theta = np.sqrt(degrees / degrees.mean())
    live = theta > 0
    ratios = A[np.ix_(live, live)] / np.outer(theta[live], theta[live])
    problem = Problem(convert(A), 2, scale="single", degrees=degrees)
    assert scale_limit(problem) == pytest.approx(200 * ratios.max())
    assert scale_limit(Problem(convert(A), 2)) == np.inf
    assert scale_limit(Problem(convert(0 * A), 2, scale="single")) == np.inf


def test_single_precision_norm_is_summed_in_double_precision():
    values = np.full((1200, 1200), 0.1, dtype=np.float32)
    expected = 1200**2 * float(np.float32(0.1)) ** 2
    assert squared_norm(values, diagonal=True) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n", "k", "used"), [(500, 100, 3), (500, 100, 60), (7, 90, 2), (300, 20, 2)]
)
def test_sums_of_products_whatever_the_share_of_zeros(dtype, n, k, used):
    rng = np.random.default_rng(4057)
    U = rng.random((n, k)).astype(dtype)
    U[rng.random((n, k)) > used / k] = 0.0
    gram = exact_gram(U)
    assert gram.dtype == np.float64
    F = U.astype(np.float64)
    np.testing.assert_allclose(gram, F.T @ F, rtol=1e-12)
    H = pair_gram(U, gram, diagonal=False)
    expected = (F.T @ F) ** 2 - (F**2).T @ F**2
    np.testing.assert_allclose(H, expected, rtol=1e-9, atol=1e-9 * expected.max())
