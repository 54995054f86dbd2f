from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.checks import assert_promises_kept
from tests.reference.problems import (
    near,
    planted_memberships,
    random_matrix,
    random_problem,
    random_rows,
    stored,
)

from soffit.factorize import Problem, solve_rows
from soffit.factorize.simplex.rows import known_pairs, solve_weighted_rows


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    k=st.integers(1, 5),
    scale=st.sampled_from(["none", "single", "cluster"]),
    density=st.sampled_from([0.2, 1.0]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_promises_are_kept_on_random_problems(*, seed, n, k, scale, density, dtype):
    problem = Problem(
        random_matrix(n, seed).astype(dtype),
        k,
        scale=scale,
        pair_weight=random_matrix(n, seed + 2, density),
    )
    found = solve_weighted_rows(problem, random_rows(n, k, seed + 1), max_iter=60)
    assert_promises_kept(problem, found)


@pytest.mark.parametrize("scale", ["none", "single", "cluster"])
def test_equal_weights_give_the_unweighted_result(scale):
    A, start = random_matrix(30, 3), random_rows(30, 3, 5)
    plain = solve_rows(Problem(A, 3, scale=scale), start, max_iter=20)
    weighted = solve_rows(
        Problem(A, 3, scale=scale, pair_weight=np.full((30, 30), 2.0)), start, max_iter=20
    )
    np.testing.assert_allclose(weighted.factor, plain.factor, atol=1e-6)
    np.testing.assert_allclose(weighted.history, 2.0 * plain.history, rtol=1e-9)


def test_storages_agree():
    A, weight = random_matrix(20, 3, density=0.5), random_matrix(20, 7, density=0.4)
    start, found = random_rows(20, 3, 5), []
    for matrix_storage, weight_storage in product(["dense", "sparse"], repeat=2):
        problem = Problem(
            stored(A, matrix_storage),
            3,
            scale="single",
            pair_weight=stored(weight, weight_storage),
        )
        found.append(solve_rows(problem, start, max_iter=20))
    for other in found[1:]:
        np.testing.assert_array_equal(other.factor, found[0].factor)
        np.testing.assert_array_equal(other.history, found[0].history)


def test_values_of_unknown_pairs_do_not_matter():
    A, weight = random_matrix(15, 3), random_matrix(15, 7, density=0.5)
    start = random_rows(15, 3, 5)
    changed = np.where(weight > 0, A, 77.0)
    first, second = (
        solve_rows(Problem(B, 3, pair_weight=weight), start, max_iter=20) for B in (A, changed)
    )
    np.testing.assert_array_equal(first.factor, second.factor)


def test_unknown_pairs_are_filled_in():
    W = planted_memberships(80, 3, 7)
    known = random_matrix(80, 13, density=0.4) > 0
    A = np.where(known, 0.5 * W @ W.T, 0.0)
    problem = Problem(A, 3, scale="single", pair_weight=known.astype(float))
    found = solve_rows(problem, near(W, 11), tol=1e-9, max_iter=2000)
    np.testing.assert_allclose(found.factor, W, atol=1e-3)
    np.testing.assert_allclose(found.scale, 0.5, rtol=1e-3)


def test_rows_without_known_pairs_keep_their_start():
    weight = random_matrix(12, 3)
    weight[[2, 5]] = 0.0
    weight[:, [2, 5]] = 0.0
    start = random_rows(12, 3, 5)
    found = solve_rows(random_problem(3, pair_weight=weight), start)
    np.testing.assert_array_equal(found.factor[[2, 5]], start[[2, 5]])
    nothing = solve_rows(random_problem(3, pair_weight=np.zeros((12, 12))), start)
    np.testing.assert_array_equal(nothing.factor, start)
    assert nothing.objective == 0.0


def test_only_the_symmetric_part_of_the_weights_counts():
    weight = np.random.default_rng(3).random((12, 12))
    start = random_rows(12, 3, 5)
    lopsided = solve_rows(random_problem(3, pair_weight=weight), start)
    even = solve_rows(random_problem(3, pair_weight=(weight + weight.T) / 2), start)
    np.testing.assert_allclose(lopsided.factor, even.factor, atol=1e-6)


def test_known_pairs_hold_the_values_at_the_places_of_the_weights():
    A, weight = random_matrix(9, 3, density=0.5), random_matrix(9, 5, density=0.5)
    for storage in ("dense", "sparse"):
        pairs = known_pairs(Problem(stored(A, storage), 2, pair_weight=weight))
        rows = np.repeat(np.arange(9), np.diff(pairs.indptr))
        assert np.all(rows != pairs.indices)
        np.testing.assert_array_equal(pairs.values, A[rows, pairs.indices])
        np.testing.assert_array_equal(pairs.weights, weight[rows, pairs.indices])
        assert len(rows) == np.count_nonzero(weight - np.diag(np.diag(weight)))


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_weights_are_refused(bad):
    weight = np.ones((12, 12))
    weight[0, 1] = bad
    with pytest.raises(ValueError, match="pair_weight must be nonnegative and finite"):
        solve_rows(random_problem(3, pair_weight=weight), random_rows(12, 3, 5))


def test_missing_weights_are_refused():
    with pytest.raises(ValueError, match="no pair_weight"):
        solve_weighted_rows(random_problem(3), random_rows(12, 3, 5))


def test_inputs_are_not_changed():
    A, weight = random_matrix(10, 3, density=0.5), random_matrix(10, 5, density=0.5)
    problem = Problem(stored(A, "sparse"), 2, pair_weight=stored(weight, "sparse"))
    start = random_rows(10, 2, 5)
    kept = start.copy()
    solve_rows(problem, start)
    np.testing.assert_array_equal(start, kept)
    np.testing.assert_array_equal(problem.matrix.toarray(), A)
    np.testing.assert_array_equal(problem.pair_weight.toarray(), weight)
