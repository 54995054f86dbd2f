from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.checks import assert_promises_kept
from tests.reference.factorization import problem_loss, row_terms, simplex_minimum
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

from soffit.factorize import Problem, solve_growth, solve_penalty, solve_rows


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 14),
    k=st.integers(1, 5),
    scale=st.sampled_from(["none", "single", "cluster"]),
    storage=st.sampled_from(["dense", "sparse"]),
    density=st.sampled_from([1.0, 0.3]),
    with_degrees=st.booleans(),
)
def test_promises_are_kept_on_random_problems(*, seed, n, k, scale, storage, density, with_degrees):
    A = random_matrix(n, seed, density)
    degrees = A.sum(axis=1) if with_degrees else None
    problem = Problem(stored(A, storage), k, scale=scale, degrees=degrees)
    assert_promises_kept(problem, solve_rows(problem, random_rows(n, k, seed + 1), max_iter=60))


@pytest.mark.parametrize("scale", ["none", "single", "cluster"])
@pytest.mark.parametrize("with_degrees", [False, True])
def test_dense_and_sparse_storage_agree_over_several_blocks(scale, with_degrees):
    A = random_matrix(300, 83, density=0.2)
    degrees = A.sum(axis=1) if with_degrees else None
    start = random_rows(300, 4, 89)
    dense, sparse = (
        solve_rows(Problem(stored(A, storage), 4, scale=scale, degrees=degrees), start, max_iter=5)
        for storage in ("dense", "sparse")
    )
    np.testing.assert_allclose(dense.factor, sparse.factor, atol=1e-6)
    np.testing.assert_allclose(dense.history, sparse.history, rtol=1e-10)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_single_precision_agrees_with_double(storage):
    A = planted_matrix(40, 3, 53, noise=0.02)
    start = near(planted_memberships(40, 3, 53), 5)
    found = {
        dtype: solve_rows(Problem(stored(A.astype(dtype), storage), 3, scale="single"), start)
        for dtype in (np.float32, np.float64)
    }
    assert found[np.float32].factor.dtype == np.float32
    np.testing.assert_allclose(found[np.float32].factor, found[np.float64].factor, atol=2e-3)
    assert found[np.float32].objective == pytest.approx(found[np.float64].objective, rel=1e-4)


@pytest.mark.parametrize("scale", ["none", "single"])
def test_noiseless_memberships_are_recovered(scale):
    W = planted_memberships(60, 3, 7)
    A = (1.0 if scale == "none" else 0.4) * W @ W.T
    np.fill_diagonal(A, 123.0)  # the diagonal is not looked at
    found = solve_rows(Problem(A, 3, scale=scale), near(W, 11), tol=1e-9, max_iter=3000)
    np.testing.assert_allclose(found.factor, W, atol=1e-4)
    assert found.objective <= 1e-7 * np.sum((W @ W.T) ** 2)
    assert found.converged


def test_every_row_is_optimal_given_the_others():
    problem = random_problem(613, n=20, k=3, scale="single")
    found = solve_rows(problem, random_rows(20, 3, 19), tol=1e-13, max_iter=5000)
    for i in range(20):
        Q, c = row_terms(problem, found.factor, found.scale, i)
        w = found.factor[i]
        _, least = simplex_minimum(Q, c)
        assert w @ Q @ w - 2 * c @ w <= least + 1e-6


def test_relabelling_clusters_relabels_the_result():
    problem = random_problem(97, n=25, k=4, scale="cluster")
    start, order = random_rows(25, 4, 101), [2, 0, 3, 1]
    plain = solve_rows(problem, start, max_iter=3)
    relabelled = solve_rows(problem, start[:, order], max_iter=3)
    np.testing.assert_allclose(relabelled.factor, plain.factor[:, order], atol=1e-6)
    np.testing.assert_allclose(relabelled.scale, plain.scale[order], rtol=1e-6)


def test_order_of_objects_does_not_matter_in_the_end():
    A, W = planted_matrix(50, 3, 31, noise=0.03), planted_memberships(50, 3, 31)
    order = np.random.default_rng(37).permutation(50)
    start, options = near(W, 41), {"tol": 1e-12, "max_iter": 3000}
    plain = solve_rows(Problem(A, 3, scale="single"), start, **options)
    shuffled = Problem(A[np.ix_(order, order)], 3, scale="single")
    permuted = solve_rows(shuffled, start[order], **options)
    np.testing.assert_allclose(permuted.factor, plain.factor[order], atol=1e-3)


def test_start_and_matrix_are_not_changed():
    A, start = random_matrix(9, 3), random_rows(9, 2, 5)
    kept = A.copy(), start.copy()
    solve_rows(Problem(A, 2), start)
    np.testing.assert_array_equal(A, kept[0])
    np.testing.assert_array_equal(start, kept[1])


def test_one_cluster_holds_everything():
    problem = random_problem(3, n=6, k=1, scale="single")
    found = solve_rows(problem, np.ones((6, 1)))
    assert found.factor.tolist() == [[1.0]] * 6
    off = problem.matrix[~np.eye(6, dtype=bool)]
    assert found.scale[0] == pytest.approx(off.mean())


@pytest.mark.parametrize("scale", ["none", "single", "cluster"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_matrix_of_zeros_is_no_trouble(scale, storage):
    problem = Problem(stored(np.zeros((5, 5)), storage), 2, scale=scale)
    found = solve_rows(problem, random_rows(5, 2, 7))
    assert_promises_kept(problem, found)
    if scale != "none":
        assert found.objective == 0.0


def test_two_objects():
    A = np.array([[0.0, 0.6], [0.6, 0.0]])
    found = solve_rows(Problem(A, 2), np.array([[0.9, 0.1], [0.2, 0.8]]))
    assert found.objective == pytest.approx(0.0, abs=1e-12)
    assert found.factor[0] @ found.factor[1] == pytest.approx(0.6)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_objects_without_degree_keep_their_start(storage):
    A = random_matrix(10, 3)
    A[4] = A[:, 4] = 0.0
    start = random_rows(10, 3, 13)
    problem = Problem(stored(A, storage), 3, scale="single", degrees=A.sum(axis=1))
    found = solve_rows(problem, start)
    assert_promises_kept(problem, found)
    np.testing.assert_array_equal(found.factor[4], start[4])
    assert np.abs(found.factor - start).max(axis=1)[[0, 1]].min() > 0


@pytest.mark.parametrize(
    ("seed", "n", "density", "with_degrees"), [(4, 4, 1.0, False), (57, 5, 0.3, True)]
)
def test_scales_that_run_away_are_held_where_the_loss_can_still_be_computed(
    seed, n, density, with_degrees
):
    # About as many clusters as objects: a cluster of one object can take any scale.
    A = random_matrix(n, seed, density)
    degrees = A.sum(axis=1) if with_degrees else None
    problem = Problem(A, 5, scale="cluster", degrees=degrees)
    found = solve_rows(problem, random_rows(n, 5, seed + 1))
    rounding = 1e-9 * np.sum(A**2)
    assert np.diff(found.history).max() <= rounding
    assert abs(found.objective - problem_loss(problem, found.factor, found.scale)) <= rounding


def test_callback_sees_every_sweep():
    seen = []
    found = solve_rows(
        random_problem(43),
        random_rows(12, 3, 47),
        callback=lambda iteration, loss: seen.append((iteration, loss)),
    )
    assert seen == list(enumerate(found.history))[1:]


def test_stops_at_the_allowed_number_of_sweeps():
    problem, start = random_problem(43), random_rows(12, 3, 47)
    found = solve_rows(problem, start, max_iter=1, tol=0.0)
    assert (found.n_iter, found.stopped) == (1, "max_iter")
    untouched = solve_rows(problem, start, max_iter=0)
    np.testing.assert_array_equal(untouched.factor, start)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (np.full((4, 3), 1 / 3), r"shape \(12, 3\), got \(4, 3\)"),
        (np.full((12, 3), 0.5), "sum to one"),
        (np.tile([1.5, -0.5, 0.0], (12, 1)), "nonnegative"),
        (np.full((12, 3), np.nan), "nonnegative"),
    ],
)
def test_bad_starts_are_refused(start, message):
    with pytest.raises(ValueError, match=message):
        solve_rows(random_problem(3), start)


def test_problem_checks_its_fields():
    A = np.eye(3)
    with pytest.raises(ValueError, match=r"scale must be one of .*'double'"):
        Problem(A, 2, scale="double")
    with pytest.raises(ValueError, match="square"):
        Problem(A[:2], 2)
    with pytest.raises(ValueError, match=r"pair_weight must have shape \(3, 3\)"):
        Problem(A, 2, pair_weight=np.eye(2))
    with pytest.raises(ValueError, match="loss"):
        Problem(A, 2, loss="kl")
    with pytest.raises(ValueError, match="constraint"):
        Problem(A, 2, constraint="cone")


def test_reaches_the_published_solvers_objective_on_glass(data_home):
    P = relative_similarity(np.load(data_home / "glass.npz")["X"].astype(float))
    start = random_rows(len(P), 6, 7)
    for scale in ("none", "single"):
        problem = Problem(P, 6, scale=scale)
        ours = solve_rows(problem, start)
        assert ours.converged
        published = [solve_growth(Problem(P, 6, scale=scale, diagonal=True), start, max_iter=3000)]
        if scale == "none":
            published.append(solve_penalty(Problem(P, 6, diagonal=True), start, max_iter=400))
        for theirs in published:
            assert ours.objective <= problem_loss(problem, theirs.factor, theirs.scale)


def test_storage_is_read_from_the_matrix():
    A = random_matrix(4, 3)
    assert Problem(sp.csr_array(A), 2).is_sparse
    assert not Problem(A, 2).is_sparse
