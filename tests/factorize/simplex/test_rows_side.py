"""Row blocks with side information."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.factorization import problem_loss
from tests.reference.problems import random_matrix, random_rows, stored

from soffit.affinity import SideInformation
from soffit.factorize import SOLVERS, Problem, labels_start, solve_rows

storages = pytest.mark.parametrize("storage", ["dense", "sparse"])


def random_side(n, seed, strength=0.4, n_pairs=14):
    rng = np.random.default_rng(seed)
    pairs = np.unique(np.sort(rng.integers(n, size=(n_pairs, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    sign = rng.random(len(pairs)) < 0.5
    return SideInformation.of(pairs[sign], pairs[~sign], n).relation() * strength


def naive_loss(problem, W, s):
    """The definition: misfit, and pair by pair what side information asks."""
    S, together = problem.side.toarray(), W @ W.T
    plain = Problem(problem.matrix, problem.n_clusters, problem.scale, problem.degrees)
    return problem_loss(plain, W, s) + np.sum(np.maximum(S, 0) - S * together)


def problem_with_side(seed, storage="dense", degrees=True, scale="cluster", n=13):
    A = random_matrix(n, seed, density=0.5)
    np.fill_diagonal(A, 0.0)
    return Problem(
        stored(A, storage),
        3,
        scale=scale,
        degrees=A.sum(axis=1) if degrees else None,
        side=random_side(n, seed + 1),
    )


@storages
@pytest.mark.parametrize("degrees", [False, True])
@pytest.mark.parametrize("scale", ["none", "single", "cluster", "held"])
def test_history_is_the_loss_by_definition_and_falls(storage, degrees, scale):
    problem = problem_with_side(71, storage, degrees, scale)
    start = random_rows(13, 3, 5)
    for sweeps in (1, 2, 7):
        found = solve_rows(problem, start, max_iter=sweeps, tol=0.0)
        assert found.objective == pytest.approx(naive_loss(problem, found.factor, found.scale))
        assert np.all(np.diff(found.history) <= 1e-10 * found.history[0])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**20))
def test_no_single_row_can_be_improved_at_the_end(seed):
    problem = problem_with_side(seed, scale="held")
    found = solve_rows(problem, random_rows(13, 3, seed), max_iter=3000, tol=1e-14)
    rng = np.random.default_rng(seed)
    for i in range(13):
        for other in rng.dirichlet(np.ones(3), size=5):
            W = found.factor.copy()
            W[i] = 0.9 * W[i] + 0.1 * other
            better = naive_loss(problem, W, found.scale)
            assert better >= found.objective - 1e-6 * (1 + found.objective)


@storages
def test_an_object_without_affinities_follows_its_must_link(storage):
    A = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)
    A = np.pad(A, ((0, 1), (0, 1)))
    side = SideInformation.of([(8, 5)], None, 9).relation()
    problem = Problem(stored(A, storage), 2, degrees=A.sum(axis=1), scale="held", side=side)
    start = labels_start(np.array([0, 0, 0, 0, 1, 1, 1, 1, 0]), 2)
    found = solve_rows(problem, start)
    assert found.factor[8, 1] == pytest.approx(1.0)


def test_strong_pairs_are_kept():
    rng = np.random.default_rng(12347)
    A = random_matrix(20, 99)
    labels = np.arange(20) % 3
    pairs = rng.permutation(np.array([(i, j) for i in range(20) for j in range(i)]))[:80]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    side = SideInformation.of(pairs[same], pairs[~same], 20).relation() * 100.0
    problem = Problem(A, 3, scale="held", side=side)
    found = solve_rows(problem, labels_start(labels, 3, spread=0.5), max_iter=500)
    assert np.array_equal(found.factor.argmax(axis=1), labels)


def test_storages_agree_and_float32_is_kept():
    sparse, dense = (problem_with_side(31, storage) for storage in ("sparse", "dense"))
    start = random_rows(13, 3, 77)
    a, b = (solve_rows(p, start, max_iter=20, tol=0.0) for p in (sparse, dense))
    np.testing.assert_allclose(a.factor, b.factor, atol=1e-9)
    single = Problem(
        dense.matrix.astype(np.float32),
        3,
        scale="cluster",
        degrees=dense.degrees,
        side=dense.side.astype(np.float32),
    )
    c = solve_rows(single, start, max_iter=20, tol=0.0)
    assert c.factor.dtype == np.float32
    np.testing.assert_allclose(c.factor, b.factor, atol=2e-3)


@pytest.mark.parametrize("solver", ["gradient", "penalty", "growth"])
def test_other_solvers_refuse(solver):
    problem = Problem(np.eye(4), 2, side=sp.csr_array((4, 4)), diagonal=True)
    with pytest.raises(ValueError, match="side"):
        SOLVERS[solver](problem, random_rows(4, 2, 3))


def test_pair_weights_together_with_side_are_refused():
    problem = Problem(np.eye(4), 2, side=sp.csr_array((4, 4)), pair_weight=np.ones((4, 4)))
    with pytest.raises(ValueError, match="side together with pair_weight"):
        solve_rows(problem, random_rows(4, 2, 3))
