from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.factorization import pair_weights, problem_loss
from tests.reference.nonnegative import naive_sweep, nonnegative_problem, positive_start
from tests.reference.problems import random_matrix

from soffit.factorize.nonnegative.kernels import (
    nonnegative_qp,
    solve_new_rows,
    sweep_block,
    sweep_sparse,
    sweep_weighted,
    weighted_terms,
)
from soffit.factorize.problem import exact_gram
from soffit.factorize.simplex.rows import known_pairs
from soffit.graph import Graph

steps = pytest.mark.parametrize(("exact", "limit"), [(False, np.inf), (True, np.inf), (True, 0.8)])


@pytest.fixture(params=[1.0, 0.4], ids=["full", "holes"])
def F(request):
    F = random_matrix(11, 907, density=request.param)
    F[4] = F[:, 4] = 0.0
    return F


@steps
def test_sweeps_are_naive_gauss_seidel(F, exact, limit):
    start = 0.7 * positive_start(11, 3, 313)
    expected = naive_sweep(nonnegative_problem(F, 3), start, limit=limit if exact else None)
    for storage in ("sparse", "block"):
        G = start.copy()
        gram = exact_gram(G)
        least = 1e-14 * np.diag(gram)
        if storage == "sparse":
            A = sp.csr_array(F)
            b = sweep_sparse(A.indptr, A.indices, A.data, G, gram, least, exact, limit)
        else:
            b = np.zeros(3)
            for rows in (slice(0, 4), slice(4, 11)):
                earlier = F[rows, : rows.start] @ G[: rows.start]
                later = F[rows, rows.stop :] @ G[rows.stop :]
                b += sweep_block(rows.start, F[rows], earlier, later, G, gram, least, exact, limit)
        np.testing.assert_allclose(G, expected, atol=1e-12)
        np.testing.assert_allclose(gram, G.T @ G, atol=1e-12)
        np.testing.assert_allclose(b, Graph.of(F).column_forms(G, diagonal=False), atol=1e-12)


@steps
def test_weighted_sweep_is_naive_gauss_seidel(F, exact, limit):
    weight = random_matrix(11, 23, density=0.6)
    weight[7] = weight[:, 7] = 0.0
    problem = nonnegative_problem(F, 3, weight=weight)
    start = 0.7 * positive_start(11, 3, 17)
    G = start.copy()
    loss = sweep_weighted(*known_pairs(problem), G, exact, limit)
    expected = naive_sweep(problem, start, limit=limit if exact else None)
    np.testing.assert_allclose(G, expected, atol=1e-12)
    assert loss == pytest.approx(problem_loss(problem, G, np.ones(3)), rel=1e-12)


def test_weighted_terms_are_sums_over_pairs(F):
    problem = nonnegative_problem(F, 3, weight=random_matrix(11, 29, density=0.5))
    G = positive_start(11, 3, 31)
    linear, fitted = np.empty((11, 3)), np.empty((11, 3))
    loss = weighted_terms(*known_pairs(problem), G, linear, fitted)
    weights = pair_weights(problem)
    np.testing.assert_allclose(linear, (weights * F) @ G, atol=1e-12)
    np.testing.assert_allclose(fitted, (weights * (G @ G.T)) @ G, atol=1e-12)
    assert loss == pytest.approx(problem_loss(problem, G, np.ones(3)), rel=1e-12)


def least_over_supports(Q, c):
    """The least value of g'Qg - 2c'g over g >= 0, by trying every support."""
    best = 0.0
    for size in range(1, len(c) + 1):
        for support in map(list, combinations(range(len(c)), size)):
            g = np.zeros(len(c))
            g[support] = np.linalg.lstsq(Q[np.ix_(support, support)], c[support], rcond=None)[0]
            if g.min() >= 0:
                best = min(best, g @ Q @ g - 2 * c @ g)
    return best


@given(k=st.integers(1, 5), extra=st.integers(0, 4), seed=st.integers(0, 2**32 - 1))
def test_nonnegative_qp_finds_the_minimum_over_all_supports(k, extra, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k + extra, k))
    Q, c = root.T @ root, rng.normal(size=k)
    g = rng.random(k)
    nonnegative_qp(Q, c, g)
    assert g.min() >= 0.0
    assert g @ Q @ g - 2 * c @ g <= least_over_supports(Q, c) + 1e-6


def test_new_rows_are_solved_one_by_one():
    rng = np.random.default_rng(37)
    root = rng.random((9, 3))
    Q, C = root.T @ root, rng.normal(size=(6, 3))
    G = np.zeros((6, 3))
    solve_new_rows(Q, C, G)
    for c, g in zip(C, G, strict=True):
        assert g @ Q @ g - 2 * c @ g == pytest.approx(least_over_supports(Q, c), abs=1e-9)


def test_a_column_that_nobody_has_stays_out():
    Q, c, g = np.diag([1.0, 0.0]), np.array([0.5, 0.0]), np.array([0.0, 7.0])
    nonnegative_qp(Q, c, g)
    np.testing.assert_allclose(g, [0.5, 0.0])
