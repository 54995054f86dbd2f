from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.reference.factorization import (
    gauss_seidel_sweep,
    scale_statistics,
    simplex_minimum,
)
from tests.reference.problems import random_matrix, random_rows

from soffit.factorize import Problem
from soffit.factorize.problem import exact_gram
from soffit.factorize.simplex.kernels import (
    GAP,
    N_VECTORS,
    pair_statistics,
    simplex_qp,
    solve_new_rows,
    sweep_block,
    sweep_sparse,
    sweep_weighted,
)
from soffit.factorize.simplex.rows import known_pairs


def solve_simplex(Q, c, start):
    w = np.array(start)
    simplex_qp(Q, c, w, np.empty_like(w), 1e-9)
    return w


def random_quadratic(k, rank, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(rank, k))
    return root.T @ root, rng.normal(size=k) * rng.choice([0.1, 1.0, 10.0])


@given(k=st.integers(1, 5), rank=st.integers(0, 5), seed=st.integers(0, 2**32 - 1))
def test_simplex_qp_finds_the_minimum_over_all_supports(k, rank, seed):
    Q, c = random_quadratic(k, rank, seed)
    w = solve_simplex(Q, c, random_rows(1, k, seed)[0])
    _, least = simplex_minimum(Q, c)
    assert w.min() >= 0.0
    assert abs(w.sum() - 1.0) <= 1e-14
    assert w @ Q @ w - 2 * c @ w <= least + 1e-8 * (np.abs(c).max() + np.abs(Q).max())


def test_simplex_qp_agrees_with_a_general_solver():
    Q, c = random_quadratic(8, 8, 5171)
    w = solve_simplex(Q, c, np.full(8, 1 / 8))
    reference = minimize(
        lambda v: v @ Q @ v - 2 * c @ v,
        np.full(8, 1 / 8),
        jac=lambda v: 2 * (Q @ v - c),
        bounds=[(0, 1)] * 8,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    np.testing.assert_allclose(w, reference.x, atol=1e-6)


def test_simplex_qp_starts_from_a_vertex():
    Q, c = np.eye(3), np.array([0.0, 0.0, 1.0])
    np.testing.assert_allclose(solve_simplex(Q, c, [1.0, 0.0, 0.0]), [0.0, 0.0, 1.0], atol=1e-12)


@pytest.fixture(params=[1.0, 0.4], ids=["full", "holes"])
def degree_problem(request):
    """A matrix, degrees with a zero among them, scales, and a start."""
    A = random_matrix(11, 907, density=request.param)
    degrees = np.random.default_rng(41).uniform(0.3, 2.0, size=11)
    degrees[[2, 7]] = 0.0
    problem = Problem(A, 3, scale="cluster", degrees=degrees)
    return problem, np.array([0.7, 1.0, 1.9]), random_rows(11, 3, 313)


def test_sweeps_are_naive_gauss_seidel(degree_problem):
    problem, s, start = degree_problem
    expected = gauss_seidel_sweep(problem, start, s)
    theta, A = problem.row_factors(), sp.csr_array(problem.matrix)
    for sweep in ("sparse", "block"):
        W = start.copy()
        U = theta[:, None] * W
        gram = exact_gram(U)
        work, b = np.empty((3 + N_VECTORS, 3)), np.zeros(3)
        none = (np.zeros(12, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0))
        if sweep == "sparse":
            sweep_sparse(
                *(A.indptr, A.indices, A.data, *none, W, U, U, 0, theta, s, gram, 0, len(W)),
                *(GAP, work, b),
            )
        else:
            later = problem.matrix @ U
            earlier = np.zeros_like(later)
            sweep_block(
                *(0, problem.matrix, earlier, later, *none, W, U, U.copy(), theta, s, gram),
                *(GAP, work, b),
            )
        np.testing.assert_allclose(W, expected, atol=1e-7)
        np.testing.assert_allclose(U, theta[:, None] * W, atol=1e-15)
        np.testing.assert_allclose(gram, U.T @ U, atol=1e-12)
        np.testing.assert_allclose(b, problem.graph.column_forms(U, diagonal=False), atol=1e-12)


def test_weighted_sweep_is_naive_gauss_seidel():
    weight = random_matrix(9, 23, density=0.6)
    weight[4] = weight[:, 4] = 0.0
    problem = Problem(random_matrix(9, 29), 3, scale="cluster", pair_weight=weight)
    s, start = np.array([1.3, 0.4, 0.9]), random_rows(9, 3, 17)
    W = start.copy()
    sweep_weighted(*known_pairs(problem), W, s)
    np.testing.assert_allclose(W, gauss_seidel_sweep(problem, start, s), atol=1e-7)
    np.testing.assert_array_equal(W[4], start[4])


def test_pair_statistics_are_sums_over_pairs():
    problem = Problem(random_matrix(8, 3), 4, pair_weight=random_matrix(8, 59, density=0.5))
    W = random_rows(8, 4, 61)
    b, H = pair_statistics(*known_pairs(problem), W)
    expected = scale_statistics(problem, W)
    np.testing.assert_allclose(b, expected[0], rtol=1e-12)
    np.testing.assert_allclose(H, expected[1], rtol=1e-12)


def test_new_rows_are_solved_one_by_one():
    Q, _ = random_quadratic(3, 3, 911)
    C = np.random.default_rng(67).normal(size=(6, 3))
    W = random_rows(6, 3, 71)
    solve_new_rows(Q, C, W)
    np.testing.assert_allclose(W, [simplex_minimum(Q, c)[0] for c in C], atol=1e-7)
