from __future__ import annotations

import numpy as np
import pytest
from tests.reference.nonnegative import naive_sweep, nonnegative_problem, positive_start
from tests.reference.problems import planted_matrix, random_matrix

from soffit.factorize import solve_coordinate, solve_multiplicative


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_iterations_are_the_published_sweeps(storage, weighted):
    weight = random_matrix(40, 5, density=0.5) if weighted else None
    problem = nonnegative_problem(random_matrix(40, 3), 4, storage, weight)
    G = positive_start(40, 4, 7)
    found = solve_multiplicative(problem, G, max_iter=3, tol=0.0)
    for _ in range(3):
        G = naive_sweep(problem, G)
    np.testing.assert_allclose(found.factor, G, rtol=1e-9)


def test_several_blocks_of_rows_are_the_published_sweep():
    problem = nonnegative_problem(random_matrix(300, 11, density=0.2), 3)
    start = positive_start(300, 3, 13)
    found = solve_multiplicative(problem, start, max_iter=1, tol=0.0)
    np.testing.assert_allclose(found.factor, naive_sweep(problem, start), rtol=1e-9)


def test_zeros_never_move_but_exact_steps_leave_them():
    problem = nonnegative_problem(planted_matrix(40, 3, 17), 3)
    start = positive_start(40, 3, 19)
    start[np.random.default_rng(23).random((40, 3)) < 0.5] = 0.0
    stuck = solve_multiplicative(problem, start, max_iter=3000, tol=1e-9)
    assert not stuck.factor[start == 0.0].any()
    freed = solve_coordinate(problem, stuck.factor, max_iter=3000, tol=1e-9)
    assert freed.objective < 0.5 * stuck.objective


def test_a_column_of_one_object_is_emptied():
    G = positive_start(10, 2, 29)
    G[:, 1] = 0.0
    G[4, 1] = 3.0
    for weight in (None, np.ones((10, 10))):
        problem = nonnegative_problem(random_matrix(10, 31), 2, weight=weight)
        found = solve_multiplicative(problem, G, max_iter=1)
        assert found.factor[4, 1] == 0.0
