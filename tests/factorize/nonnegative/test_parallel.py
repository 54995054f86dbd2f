from __future__ import annotations

import numpy as np
import pytest
from tests.reference.factorization import problem_loss
from tests.reference.nonnegative import nonnegative_problem, positive_start, ratios
from tests.reference.problems import planted_matrix, random_matrix

from soffit.factorize import solve_parallel
from soffit.factorize.nonnegative import sweeps as _parallel


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_iterations_take_the_root_of_the_published_ratio(storage, weighted):
    weight = random_matrix(40, 5, density=0.5) if weighted else None
    problem = nonnegative_problem(random_matrix(40, 3), 4, storage, weight)
    G = positive_start(40, 4, 7)
    found = solve_parallel(problem, G, max_iter=5, tol=0.0)
    for _ in range(5):
        G = G * np.sqrt(ratios(problem, G))
    np.testing.assert_allclose(found.factor, G, rtol=1e-9)


def test_without_the_root_the_loss_rises():
    problem = nonnegative_problem(planted_matrix(40, 3, 11), 3)
    G, losses = positive_start(40, 3, 13), []
    for _ in range(30):
        G = G * ratios(problem, G)
        losses.append(problem_loss(problem, G, np.ones(3)))
    assert np.any(np.diff(losses) > 0)
    found = solve_parallel(problem, positive_start(40, 3, 13), max_iter=30)
    assert np.all(np.diff(found.history) <= 1e-12)
    assert found.objective < 0.1 * losses[-1]


def test_a_step_that_fails_is_taken_with_the_fourth_root():
    problem = nonnegative_problem(random_matrix(20, 17), 3)
    G = positive_start(20, 3, 19)
    terms_at, _ = _parallel._terms_of(problem)
    # A slack below any gain makes every step a failure.
    moved, terms = _parallel._step(G, terms_at(G), terms_at, slack=-np.inf)
    np.testing.assert_allclose(moved, G * ratios(problem, G) ** 0.25, rtol=1e-9)
    assert terms.loss < terms_at(G).loss


@pytest.mark.parametrize("seed", [101, 211, 307])
def test_fourth_root_never_raises_the_loss(seed):
    problem = nonnegative_problem(
        random_matrix(12, seed, density=0.4), 3, weight=random_matrix(12, seed + 1, density=0.6)
    )
    terms_at, _ = _parallel._terms_of(problem)
    G = np.random.default_rng(seed).lognormal(sigma=2.0, size=(12, 3))
    losses = []
    for _ in range(40):
        G, terms = _parallel._step(G, terms_at(G), terms_at, slack=-np.inf)
        losses.append(terms.loss)
    assert np.all(np.diff(losses) <= 1e-12 * np.array(losses[:-1]))


def test_several_pieces_of_a_large_matrix(limits):
    problem = nonnegative_problem(random_matrix(70, 23), 3)
    start = positive_start(70, 3, 29)
    expected = solve_parallel(problem, start, max_iter=5)
    limits(block_entries=64)
    found = solve_parallel(problem, start, max_iter=5)
    np.testing.assert_allclose(found.factor, expected.factor, rtol=1e-12)
