"""Sweeps over ranges of rows, and over the clusters around a row only."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.factorization import gauss_seidel_sweep

from soffit.factorize import Problem, labels_start, solve_locally, solve_rows
from soffit.factorize.problem import exact_gram
from soffit.factorize.simplex import rows as _rows
from soffit.factorize.simplex.kernels import GAP, sweep_supported
from soffit.graph import Graph, Locality


def blocks(rng, n, k, dtype=np.float64):
    """A sparse graph of k groups, in random order, and the groups."""
    group = rng.permutation(np.arange(n) % k)
    same = group[:, None] == group[None]
    upper = np.triu(rng.random((n, n)) < np.where(same, 0.5, 0.02), 1) * rng.uniform(0.5, 1, (n, n))
    return sp.csr_array((upper + upper.T).astype(dtype)), group


@pytest.fixture
def rng():
    return np.random.default_rng(4421)


def problem_of(A, k, scale="cluster"):
    return Problem(A, k, scale=scale, degrees=np.asarray(A.sum(axis=1)).ravel())


@pytest.mark.parametrize("at_once", [1, 3, 16])
@pytest.mark.parametrize("scale", ["single", "cluster", "held"])
def test_ranges_reach_the_loss_of_one_range(rng, limits, scale, at_once):
    A, group = blocks(rng, 300, 4)
    problem = problem_of(A, 4, scale)
    start = labels_start(group, 4)
    alone = solve_rows(problem, start, tol=1e-9, max_iter=500)
    limits(simplex_range=37, simplex_at_once=at_once)
    ranged = solve_rows(problem, start, tol=1e-9, max_iter=500)
    assert np.all(np.diff(ranged.history) <= 1e-9 * ranged.history[0])
    assert ranged.objective == pytest.approx(alone.objective, rel=1e-4)
    np.testing.assert_allclose(ranged.factor.sum(axis=1), 1.0, atol=1e-9)


def test_ranges_give_the_same_bytes_for_one_and_two_threads(rng, monkeypatch, limits):
    A, group = blocks(rng, 400, 3, np.float32)
    limits(simplex_range=50, simplex_at_once=3)
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(solve_rows(problem_of(A, 3), labels_start(group, 3)))
    assert found[0].factor.tobytes() == found[1].factor.tobytes()


def test_a_group_of_one_range_reads_what_has_become_of_the_others(rng, limits):
    A, group = blocks(rng, 120, 3)
    problem = problem_of(A, 3, "held")
    start = labels_start(group, 3)
    alone = solve_rows(problem, start, max_iter=1)
    limits(simplex_range=17, simplex_at_once=1)
    ranged = solve_rows(problem, start, max_iter=1)
    np.testing.assert_allclose(ranged.factor, alone.factor, atol=1e-7)


def test_a_sweep_that_raises_the_loss_is_undone(rng, limits):
    # In a complete bipartite graph of two ranges, moving both at once overshoots.
    n = 60
    A = np.zeros((n, n))
    A[: n // 2, n // 2 :] = 1.0
    A = sp.csr_array(A + A.T)
    limits(simplex_range=n // 2)
    start = np.tile([0.9, 0.1], (n, 1))
    start[n // 2 :] = [0.1, 0.9]
    found = solve_rows(Problem(A, 2, scale="single"), start, max_iter=50, tol=1e-10)
    assert np.all(np.diff(found.history) <= 1e-12 * found.history[0])
    limits(simplex_range=n)
    alone = solve_rows(Problem(A, 2, scale="single"), start, max_iter=50, tol=1e-10)
    assert found.objective <= alone.objective * 1.01


def test_half_a_move_is_tried_before_it_is_undone(rng, monkeypatch, limits):
    A, group = blocks(rng, 300, 3)
    limits(simplex_range=50)
    true_loss, seen = _rows.loss, []

    def loss(*arguments):
        # The first sweep is made to look as if it had gone too far.
        seen.append(true_loss(*arguments))
        return seen[-1] + (1e6 if len(seen) == 2 else 0.0)

    monkeypatch.setattr(_rows, "loss", loss)
    found = solve_rows(problem_of(A, 3, "held"), labels_start(group, 3), max_iter=1)
    assert list(found.history) == [seen[0], seen[2]]
    assert seen[1] < seen[2] < seen[0]
    np.testing.assert_allclose(found.factor.sum(axis=1), 1.0, atol=1e-12)


def test_supported_sweep_is_gauss_seidel_where_all_clusters_are_around(rng):
    A, _ = blocks(rng, 30, 3)
    problem = problem_of(A, 3)
    start = rng.dirichlet(np.ones(3), size=30)
    s = np.array([0.8, 1.1, 1.5])
    theta = problem.row_factors()
    W = start.copy()
    U = theta[:, None] * W
    gram = exact_gram(U)
    none = (np.zeros(31, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0))
    room = np.empty((3, 3)), np.empty((5, 3)), np.empty(3, dtype=np.int64)
    sweep_supported(
        *(A.indptr, A.indices, A.data, *none, W, U, U, 0, theta, s, gram, 0, 30, GAP, *room)
    )
    dense = Problem(A.toarray(), 3, scale="cluster", degrees=problem.degrees)
    np.testing.assert_allclose(W, gauss_seidel_sweep(dense, start, s), atol=1e-7)
    np.testing.assert_allclose(gram, U.T @ U, atol=1e-12)


def test_many_clusters_use_those_around_a_row(rng, limits):
    k = 40
    A, group = blocks(rng, 800, k)
    start = labels_start(group, k, spread=0.0)
    found = solve_rows(problem_of(A, k, "held"), start)
    assert np.all(np.diff(found.history) <= 1e-9 * found.history[0])
    around = (A @ start) + start > 0
    later = (A @ around.astype(float)) + around > 0
    assert found.n_iter >= 1
    assert np.all(later[found.factor > 0] | (found.n_iter > 1))
    np.testing.assert_allclose(found.factor.sum(axis=1), 1.0, atol=1e-9)
    # The same clusters as with every row's whole problem.
    limits(simplex_clusters=100)
    whole = solve_rows(problem_of(A, k, "held"), start)
    assert np.mean(found.factor.argmax(axis=1) == whole.factor.argmax(axis=1)) > 0.97


def test_an_order_changes_nothing_but_rounding(rng):
    A, group = blocks(rng, 200, 3)
    problem = problem_of(A, 3, "held")
    start = labels_start(group, 3)
    locality = Locality(rng.permutation(200))
    plain = solve_locally(solve_rows, problem, start, None, tol=1e-12, max_iter=1000)
    local = solve_locally(solve_rows, problem, start, locality, tol=1e-12, max_iter=1000)
    assert local.objective == pytest.approx(plain.objective, rel=1e-6)
    np.testing.assert_allclose(local.factor, plain.factor, atol=5e-3)


def test_gram_by_blocks_is_the_gram(rng, limits):

    U = rng.random((500, 70)) * (rng.random((500, 70)) < 0.1)
    expected = U.T @ U
    limits(product_entries=70 * 33)
    np.testing.assert_allclose(exact_gram(U), expected, atol=1e-12)
    np.testing.assert_allclose(exact_gram(U[:, :5]), expected[:5, :5], atol=1e-12)
    A = sp.csr_array(np.eye(500))
    np.testing.assert_allclose(Graph.of(A).column_forms(U, diagonal=False), 0.0, atol=1e-12)


def test_many_clusters_are_solved_in_the_precision_of_the_matrix():
    rng = np.random.default_rng(5)
    A = sp.random_array((300, 300), density=0.1, random_state=rng)
    A = sp.csr_array(A + A.T)
    start = np.eye(40)[np.arange(300) % 40]
    double, single = (
        solve_rows(Problem(A.astype(dtype), 40, scale="single"), start.astype(dtype), max_iter=5)
        for dtype in (np.float64, np.float32)
    )
    assert single.factor.dtype == np.float32
    np.testing.assert_allclose(single.objective, double.objective, rtol=1e-4)
    assert np.all(np.diff(single.history) <= 1e-6 * single.history[0])
