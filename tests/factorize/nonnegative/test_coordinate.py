from __future__ import annotations

import numpy as np
import pytest
from tests.reference.nonnegative import naive_sweep, nonnegative_problem, positive_start
from tests.reference.problems import planted_matrix, random_matrix

from soffit.factorize import solve_coordinate, solve_multiplicative
from soffit.factorize.nonnegative.sweeps import descend, largest_entry


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_iterations_are_exact_steps(storage, weighted):
    weight = random_matrix(40, 5, density=0.5) if weighted else None
    problem = nonnegative_problem(random_matrix(40, 3), 4, storage, weight)
    G = positive_start(40, 4, 7)
    found = solve_coordinate(problem, G, max_iter=3, tol=0.0)
    for _ in range(3):
        G = naive_sweep(problem, G, limit=largest_entry(problem))
    np.testing.assert_allclose(found.factor, G, atol=1e-9)


def test_needs_fewer_sweeps_than_the_published_update():
    problem = nonnegative_problem(planted_matrix(80, 3, 11, noise=0.02), 3)
    start = positive_start(80, 3, 13)
    exact = solve_coordinate(problem, start, tol=1e-6)
    published = solve_multiplicative(problem, start, tol=1e-6)
    assert exact.converged
    assert exact.n_iter < 0.5 * published.n_iter
    assert exact.objective <= 1.001 * published.objective


@pytest.mark.parametrize("weighted", [False, True])
def test_entries_stay_bounded_where_the_problem_has_no_minimum(weighted):
    # A star: the hub's entry grows for ever while the others shrink.
    star = np.zeros((30, 30))
    star[0, 1:] = star[1:, 0] = 1.0
    weight = np.ones((30, 30)) if weighted else None
    problem = nonnegative_problem(star, 2, weight=weight)
    start = positive_start(30, 2, 17)
    free = descend(problem, start, exact=True, limit=np.inf, max_iter=2000, tol=0.0, callback=None)
    assert free.factor.max() > 10.0
    held = solve_coordinate(problem, start, max_iter=2000)
    assert held.converged
    assert held.factor.max() == pytest.approx(3.0)
    assert held.factor.max() <= largest_entry(problem)
    # What the bound costs is small beside what is fitted.
    assert held.objective < 0.2 * 58.0


def test_the_bound_is_far_above_the_entries_of_clusters():
    problem = nonnegative_problem(planted_matrix(80, 4, 19, noise=0.05), 4)
    found = solve_coordinate(problem, positive_start(80, 4, 23))
    assert found.factor.max() < 0.6 * largest_entry(problem)


def test_a_start_above_the_bound_is_taken_as_it_is():
    problem = nonnegative_problem(random_matrix(10, 29), 2)
    found = solve_coordinate(problem, 100 * positive_start(10, 2, 31))
    assert found.converged
    assert np.all(np.diff(found.history) <= 1e-9 * found.history[0])


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_negative_entries_keep_objects_apart(storage):
    F = np.kron(np.eye(2), np.ones((4, 4)))
    F[0, 4] = F[4, 0] = -1.0
    found = solve_coordinate(nonnegative_problem(F, 2, storage), positive_start(8, 2, 37))
    assert found.factor[0] @ found.factor[4] == 0.0
