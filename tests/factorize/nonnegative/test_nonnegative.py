"""What the three solvers for a nonnegative factor have in common."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.factorization import problem_loss
from tests.reference.nonnegative import (
    assert_nonnegative_promises,
    nonnegative_problem,
    positive_start,
)
from tests.reference.problems import planted_matrix, planted_memberships, random_matrix

from soffit.factorize import Problem, solve_coordinate, solve_multiplicative, solve_parallel
from soffit.factorize.nonnegative.sweeps import fit_size, pair_range

SOLVERS = {
    "multiplicative": solve_multiplicative,
    "parallel": solve_parallel,
    "coordinate": solve_coordinate,
}
every_solver = pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS)


@given(
    name=st.sampled_from(sorted(SOLVERS)),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 14),
    k=st.integers(1, 5),
    density=st.sampled_from([0.3, 1.0]),
    weighted=st.booleans(),
    storage=st.sampled_from(["dense", "sparse"]),
    dtype=st.sampled_from([np.float32, np.float64]),
)
def test_promises_are_kept_on_random_problems(
    *, name, seed, n, k, density, weighted, storage, dtype
):
    weight = random_matrix(n, seed + 2, 0.5) if weighted else None
    F = random_matrix(n, seed, density).astype(dtype)
    problem = nonnegative_problem(F, k, storage, weight)
    found = SOLVERS[name](problem, positive_start(n, k, seed + 1), max_iter=60)
    assert_nonnegative_promises(problem, found)


@every_solver
@pytest.mark.parametrize("weighted", [False, True])
def test_storages_agree(solve, weighted):
    F = random_matrix(150, 3, density=0.5)
    weight = random_matrix(150, 7, density=0.4) if weighted else None
    start = positive_start(150, 3, 5)
    array, csr = (
        solve(nonnegative_problem(F, 3, storage, weight), start, max_iter=20)
        for storage in ("dense", "sparse")
    )
    np.testing.assert_allclose(array.factor, csr.factor, atol=1e-9)
    np.testing.assert_allclose(array.history, csr.history, rtol=1e-9)


@every_solver
def test_weights_of_one_are_no_weights(solve):
    F, start = random_matrix(30, 11), positive_start(30, 3, 13)
    plain = solve(nonnegative_problem(F, 3), start, max_iter=20)
    weighted = solve(nonnegative_problem(F, 3, weight=np.ones((30, 30))), start, max_iter=20)
    np.testing.assert_allclose(weighted.factor, plain.factor, atol=1e-8)
    np.testing.assert_allclose(weighted.history, plain.history, rtol=1e-8)


@every_solver
def test_unknown_pairs_and_the_diagonal_do_not_matter(solve):
    F, weight = random_matrix(20, 17), random_matrix(20, 19, density=0.4)
    np.fill_diagonal(weight, 0.0)
    start = positive_start(20, 3, 23)
    changed = np.where(weight > 0, F, -77.0)
    with_diagonal = weight + np.eye(20)
    expected = solve(nonnegative_problem(F, 3, weight=weight), start, max_iter=20)
    for matrix, weights in product((F, changed), (weight, with_diagonal)):
        problem = nonnegative_problem(matrix, 3, weight=weights)
        found = solve(problem, start, max_iter=20)
        np.testing.assert_array_equal(found.factor, expected.factor)
    shifted = solve(nonnegative_problem(F + np.diag(np.arange(20.0)), 3), start, max_iter=20)
    plain = solve(nonnegative_problem(F, 3), start, max_iter=20)
    np.testing.assert_allclose(shifted.factor, plain.factor, atol=1e-8)


@every_solver
@pytest.mark.parametrize("share", [1.0, 0.4], ids=["all pairs", "some pairs"])
def test_a_planted_factor_is_found(solve, share):
    G = 0.3 * planted_memberships(80, 3, 29)
    known = (random_matrix(80, 31, density=share) > 0).astype(float)
    weight = None if share == 1.0 else known
    # The factor itself has as many forms as columns can be mixed; the product is what is fitted.
    start = G + 0.05 * positive_start(80, 3, 37)
    problem = nonnegative_problem(np.where(known > 0, G @ G.T, 0.0), 3, weight=weight)
    found = solve(problem, start, max_iter=4000, tol=1e-9)
    assert found.objective < 1e-4 * problem_loss(problem, start, np.ones(3))
    off = ~np.eye(80, dtype=bool)
    np.testing.assert_allclose((found.factor @ found.factor.T)[off], (G @ G.T)[off], atol=5e-3)


@every_solver
def test_permuted_objects_reach_the_permuted_result(solve):
    F = planted_matrix(60, 3, 41, noise=0.02)
    start, order = positive_start(60, 3, 43), np.random.default_rng(47).permutation(60)
    straight = solve(nonnegative_problem(F, 3), start, max_iter=4000, tol=1e-9)
    permuted = solve(
        nonnegative_problem(F[np.ix_(order, order)], 3), start[order], max_iter=4000, tol=1e-9
    )
    np.testing.assert_allclose(permuted.factor, straight.factor[order], atol=0.02)
    assert permuted.objective == pytest.approx(straight.objective, rel=1e-4)


def test_solvers_agree_on_a_planted_problem():
    problem = nonnegative_problem(planted_matrix(60, 3, 53, noise=0.02), 3)
    start = fit_size(problem, positive_start(60, 3, 59))
    losses = [
        solve(problem, start, max_iter=4000, tol=1e-8).objective for solve in SOLVERS.values()
    ]
    assert max(losses) <= 1.005 * min(losses), losses


@every_solver
def test_objects_without_any_tie_get_zero_rows(solve):
    F = random_matrix(12, 61)
    F[[3, 8]] = F[:, [3, 8]] = 0.0
    for storage in ("dense", "sparse"):
        found = solve(nonnegative_problem(F, 2, storage), positive_start(12, 2, 67), max_iter=5)
        np.testing.assert_array_equal(found.factor[[3, 8]], 0.0)
    weight = np.ones((12, 12))
    weight[[3, 8]] = weight[:, [3, 8]] = 0.0
    problem = nonnegative_problem(random_matrix(12, 61), 2, weight=weight)
    found = solve(problem, positive_start(12, 2, 67), max_iter=5)
    np.testing.assert_array_equal(found.factor[[3, 8]], 0.0)


@every_solver
def test_an_empty_matrix_has_an_empty_factor(solve):
    for F in (np.zeros((6, 6)), sp.csr_array((6, 6))):
        found = solve(Problem(F, 2, constraint="nonnegative"), positive_start(6, 2, 71))
        assert found.converged
        assert found.objective == pytest.approx(0.0, abs=1e-12)


@every_solver
def test_inputs_are_not_changed_and_the_callback_sees_every_iteration(solve):
    F, start, seen = random_matrix(15, 73, density=0.5), positive_start(15, 3, 79), []
    kept = start.copy()
    problem = nonnegative_problem(F.copy(), 3, "sparse")
    found = solve(problem, start, max_iter=7, callback=lambda *args: seen.append(args))
    np.testing.assert_array_equal(start, kept)
    np.testing.assert_array_equal(problem.matrix.toarray(), F)
    assert seen == list(enumerate(found.history.tolist()))[1:]


@pytest.mark.parametrize("name", ["multiplicative", "parallel"])
def test_ratios_refuse_negative_entries_and_name_the_remedy(name):
    F = random_matrix(8, 83)
    F[1, 2] = F[2, 1] = -0.25
    message = rf"{name}.*-0\.25.*normalization='additive'.*solver='coordinate'"
    for storage in ("dense", "sparse"):
        with pytest.raises(ValueError, match=message):
            SOLVERS[name](nonnegative_problem(F, 2, storage), positive_start(8, 2, 89))
    problem = nonnegative_problem(F, 2, weight=np.ones((8, 8)))
    with pytest.raises(ValueError, match=message):
        SOLVERS[name](problem, positive_start(8, 2, 89))


@every_solver
def test_other_problems_are_refused(solve):
    with pytest.raises(ValueError, match="does not support loss='l2' with constraint='simplex'"):
        solve(Problem(np.eye(4), 2), positive_start(4, 2, 97))
    problem = Problem(np.eye(4), 2, constraint="nonnegative", diagonal=True)
    with pytest.raises(ValueError, match="diagonal=True"):
        solve(problem, positive_start(4, 2, 97))
    with pytest.raises(ValueError, match="start must be nonnegative"):
        solve(nonnegative_problem(np.eye(4), 2), -positive_start(4, 2, 97))


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_the_range_of_pairs_leaves_the_diagonal_out(storage):
    F = np.array([[9.0, 2.0, 0.0], [2.0, -9.0, -3.0], [0.0, -3.0, 9.0]])
    assert pair_range(nonnegative_problem(F, 1, storage)) == (-3.0, 2.0)
    weight = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    assert pair_range(nonnegative_problem(F, 1, storage, weight)) == (0.0, 2.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_no_other_size_of_the_start_fits_better(weighted):
    weight = random_matrix(20, 101, density=0.5) if weighted else None
    problem = nonnegative_problem(random_matrix(20, 103), 3, weight=weight)
    rows = positive_start(20, 3, 107)
    G = fit_size(problem, rows)
    np.testing.assert_allclose(G / rows, (G / rows)[0, 0])
    best = problem_loss(problem, G, np.ones(3))
    assert all(best < problem_loss(problem, f * G, np.ones(3)) for f in (0.9, 0.99, 1.01, 1.1))


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("weighted", [False, True])
def test_negative_entries_do_not_shrink_a_start(storage, weighted):
    F = random_matrix(12, 113) - 0.8
    weight = random_matrix(12, 127, density=0.7) if weighted else None
    rows = positive_start(12, 2, 131)
    found = fit_size(nonnegative_problem(F, 2, storage, weight), rows)
    expected = fit_size(nonnegative_problem(np.maximum(F, 0), 2, storage, weight), rows)
    np.testing.assert_allclose(found, expected)
    assert found.min() > 0


def test_a_start_for_nothing_is_zero():
    rows = positive_start(5, 2, 109)
    assert not fit_size(nonnegative_problem(np.zeros((5, 5)), 2), rows).any()
    assert not fit_size(nonnegative_problem(-np.ones((5, 5)), 2), rows).any()
