"""Searches that share the passes over a matrix."""

from __future__ import annotations

import numpy as np
import pytest
from tests.reference.checks import assert_promises_kept
from tests.reference.problems import planted_matrix, random_rows, stored

from soffit.factorize import Factorization, Problem, solve_gradient, solve_gradients
from soffit.factorize.simplex.gradient import answered


class Counted:
    """A matrix that counts its products, and is interrupted at one of them."""

    def __init__(self, A, interrupted_at=None):
        self.A = A
        self.n_products = 0
        self.interrupted_at = interrupted_at

    def __matmul__(self, U):
        self.n_products += 1
        if self.n_products == self.interrupted_at:
            raise KeyboardInterrupt
        return self.A @ U


def found(W, n_iter, stopped="converged"):
    return Factorization(W, np.ones(W.shape[1]), 0.0, np.zeros(n_iter + 1), n_iter, stopped)


def powers(W, n_steps):
    """A times itself so many times; ends where it is when interrupted."""
    step = 0
    try:
        for step in range(n_steps):  # noqa: B007
            W = yield W
    except KeyboardInterrupt:
        return found(W, step, "interrupted")
    return found(W, n_steps)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("scale", ["none", "cluster"])
def test_the_same_as_one_after_the_other(storage, scale):
    problem = Problem(stored(planted_matrix(40, 3, 53, noise=0.02), storage), 3, scale=scale)
    starts = [random_rows(40, 3, seed) for seed in (3, 5, 7)]
    together = solve_gradients(problem, starts, tol=1e-9)
    for start, result in zip(starts, together, strict=True):
        alone = solve_gradient(problem, start, tol=1e-9)
        assert_promises_kept(problem, result)
        assert result.n_iter == pytest.approx(alone.n_iter, abs=3)
        np.testing.assert_allclose(result.factor, alone.factor, atol=1e-5)


def test_single_precision_stays():
    A = planted_matrix(30, 2, 11).astype(np.float32)
    starts = [random_rows(30, 2, seed) for seed in (3, 5)]
    for result in solve_gradients(Problem(A, 2), starts):
        assert result.factor.dtype == np.float32


def test_no_start_gives_no_result():
    assert solve_gradients(Problem(planted_matrix(10, 2, 3), 2), []) == []


def test_a_start_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="start"):
        solve_gradients(Problem(planted_matrix(10, 2, 3), 2), [random_rows(9, 2, 3)])


def test_one_pass_serves_all_and_each_gets_its_own_product():
    A = Counted(np.diag([1.0, 2.0]))
    starts = [np.array([[1.0], [1.0]]), np.array([[3.0, 5.0], [7.0, 9.0]]), np.ones((2, 1))]
    results = answered(A, [powers(W, n) for W, n in zip(starts, (3, 1, 0), strict=True)])
    assert A.n_products == 3
    np.testing.assert_array_equal(results[0].factor, [[1.0], [8.0]])
    np.testing.assert_array_equal(results[1].factor, [[3.0, 5.0], [14.0, 18.0]])
    np.testing.assert_array_equal(results[2].factor, starts[2])


def test_an_interrupt_ends_all_searches_where_they_are():
    A = Counted(np.diag([1.0, 2.0]), interrupted_at=3)
    results = answered(A, [powers(np.ones((2, 1)), n) for n in (1, 9, 9)])
    assert [result.stopped for result in results] == ["converged", "interrupted", "interrupted"]
    for result in results[1:]:
        np.testing.assert_array_equal(result.factor, [[1.0], [4.0]])


def test_an_interrupt_inside_one_search_ends_the_others_too():
    def interrupted_at_once(W):
        yield W
        return found(W, 1, "interrupted")

    A = np.diag([1.0, 2.0])
    for order in (1, -1):
        searches = [interrupted_at_once(np.ones((2, 1))), powers(np.ones((2, 1)), 99)][::order]
        assert [result.stopped for result in answered(A, searches)] == ["interrupted"] * 2


def test_a_search_that_does_not_catch_it_hands_the_interrupt_on():
    def deaf(W):
        yield W

    with pytest.raises(KeyboardInterrupt):
        answered(Counted(np.eye(2), interrupted_at=1), [deaf(np.ones((2, 1)))])
