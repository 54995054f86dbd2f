from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.problems import (
    block_diagonal,
    planted_memberships,
    random_matrix,
    random_rows,
    stored,
)
from tests.reference.relations import divergence, em_step, planted_graph, relation_problem

from soffit.factorize import solve_em
from soffit.factorize.divergence.em import bipartite_rows, log_likelihood


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 14),
    k=st.integers(1, 5),
    storage=st.sampled_from(["dense", "sparse"]),
    density=st.sampled_from([1.0, 0.3]),
)
def test_promises_are_kept_on_random_problems(*, seed, n, k, storage, density):
    A = random_matrix(n, seed, density)
    found = solve_em(relation_problem(stored(A, storage), k), random_rows(n, k, seed + 1))
    total = A.sum()
    assert found.factor.shape == (n, k)
    assert np.isfinite(found.factor).all()
    assert found.factor.min() >= 0.0
    np.testing.assert_allclose(found.factor.sum(axis=0), 1.0, atol=1e-12)
    np.testing.assert_allclose(found.scale.sum(), total, atol=1e-12 * total)
    np.testing.assert_allclose(
        (found.factor * found.scale).sum(axis=1), A.sum(axis=1), atol=1e-10 * total
    )
    assert len(found.history) == found.n_iter + 1
    assert np.diff(found.history).max(initial=0.0) <= 1e-12 * total
    assert found.objective == found.history[-1]
    np.testing.assert_allclose(
        found.objective, divergence(A, found.factor, found.scale), atol=1e-10 * total
    )


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_the_first_step_is_the_published_one(storage):
    A = random_matrix(30, 61, density=0.4)
    start = random_rows(30, 4, 67)
    B = em_step(A, A.sum(axis=1)[:, None] * start)
    found = solve_em(relation_problem(stored(A, storage), 4), start, max_iter=1)
    np.testing.assert_allclose(found.factor * found.scale, B, rtol=1e-10)
    assert not found.converged


def test_longer_steps_are_never_worse_than_the_start_and_need_fewer_iterations():
    A, _ = planted_graph([40, 50, 60], 71)
    start = random_rows(150, 3, 73)
    found = solve_em(relation_problem(A, 3), start, tol=1e-8)
    B = A.toarray().sum(axis=1)[:, None] * start
    for _ in range(found.n_iter):
        B = em_step(A.toarray(), B)
    lam = B.sum(axis=0)
    assert found.objective <= divergence(A.toarray(), B / lam, lam) + 1e-6


def test_dense_and_sparse_storage_agree():
    A, _ = planted_graph([30, 40], 79)
    start = random_rows(70, 3, 83)
    sparse = solve_em(relation_problem(A, 3), start, max_iter=40)
    dense = solve_em(relation_problem(A.toarray(), 3), start, max_iter=40)
    np.testing.assert_allclose(dense.factor, sparse.factor, atol=1e-10)
    np.testing.assert_allclose(dense.history, sparse.history, rtol=1e-12)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_single_precision_is_kept_and_agrees(storage):
    A, _ = planted_graph([30, 40], 89)
    start = random_rows(70, 2, 97)
    found = {
        dtype: solve_em(relation_problem(stored(A.toarray().astype(dtype), storage), 2), start)
        for dtype in (np.float32, np.float64)
    }
    assert found[np.float32].factor.dtype == np.float32
    np.testing.assert_allclose(
        bipartite_rows(found[np.float32]), bipartite_rows(found[np.float64]), atol=2e-2
    )
    assert found[np.float32].objective == pytest.approx(found[np.float64].objective, rel=1e-4)


def test_exact_factorizations_are_found():
    W = planted_memberships(40, 3, 7)
    A = W @ W.T
    found = solve_em(relation_problem(A, 3), 0.7 * W + 0.1, tol=1e-10, max_iter=5000)
    assert found.objective <= 1e-6 * A.sum()
    H, lam = found.factor, found.scale
    np.testing.assert_allclose((H * lam) @ H.T, A, atol=1e-2)


@pytest.mark.parametrize("factor", [2.0**-60, 1e-3, 1e6])
def test_the_unit_of_the_weights_does_not_matter(factor):
    A, _ = planted_graph([20, 30], 101)
    start = random_rows(50, 2, 103)
    plain = solve_em(relation_problem(A, 2), start, max_iter=30)
    scaled = solve_em(relation_problem(sp.csr_array(A * factor), 2), start, max_iter=30)
    np.testing.assert_allclose(scaled.factor, plain.factor, atol=1e-9)
    np.testing.assert_allclose(scaled.scale, factor * plain.scale, rtol=1e-9)
    np.testing.assert_allclose(scaled.history, factor * plain.history, rtol=1e-9)


def test_isolated_objects_have_zero_rows_and_the_prior_as_membership():
    A, _ = planted_graph([20, 30], 107)
    padded = block_diagonal([A, sp.csr_array((2, 2))])
    found = solve_em(relation_problem(sp.csr_array(padded), 2), random_rows(52, 2, 109))
    np.testing.assert_array_equal(found.factor[50:], 0.0)
    prior = found.scale / found.scale.sum()
    np.testing.assert_allclose(bipartite_rows(found)[50:], [prior, prior])


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_a_graph_without_edges_has_an_answer(storage):
    found = solve_em(relation_problem(stored(np.zeros((4, 4)), storage), 2), np.full((4, 2), 0.5))
    np.testing.assert_allclose(found.factor.sum(axis=0), 1.0)
    np.testing.assert_array_equal(found.scale, 0.0)
    assert found.converged
    assert log_likelihood(relation_problem(np.zeros((4, 4)), 2), found) == 0.0


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_pairs_that_a_hard_start_cannot_explain_do_no_harm(storage):
    A, labels = planted_graph([20, 30], 113)
    start = np.eye(2)[labels]
    found = solve_em(relation_problem(stored(A.toarray(), storage), 2), start)
    assert np.isfinite(found.factor).all()
    assert np.isfinite(found.history).all()
    np.testing.assert_array_equal(bipartite_rows(found).argmax(axis=1), labels)


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_of_all_sizes_stay_finite(storage, dtype):
    rng = np.random.default_rng(127)
    exponent = rng.uniform(-30 if dtype is np.float32 else -250, 0, (25, 25))
    A = 10.0 ** (exponent + exponent.T) / 2
    problem = relation_problem(stored(((A + A.T) / 2).astype(dtype), storage), 3)
    found = solve_em(problem, random_rows(25, 3, 131))
    assert np.isfinite(found.factor).all()
    assert np.isfinite(found.history).all()
    assert np.diff(found.history).max() <= 1e-5 * abs(found.history[0])


def test_log_likelihood_is_that_of_pairs_drawn_from_the_fit():
    A = random_matrix(12, 137)
    found = solve_em(relation_problem(A, 3), random_rows(12, 3, 139))
    p = (found.factor * found.scale) @ found.factor.T / found.scale.sum()
    assert p.sum() == pytest.approx(1.0)
    expected = float((A * np.log(p)).sum())
    assert log_likelihood(relation_problem(A, 3), found) == pytest.approx(expected)


def test_the_callback_sees_every_iteration():
    seen = []
    A = random_matrix(12, 149)
    found = solve_em(
        relation_problem(A, 2), random_rows(12, 2, 151), callback=lambda *state: seen.append(state)
    )
    assert [loss for _, loss in seen] == found.history[1:].tolist()


def test_starts_are_checked_and_left_alone():
    A = random_matrix(6, 157)
    with pytest.raises(ValueError, match="sum to one"):
        solve_em(relation_problem(A, 2), np.ones((6, 2)))
    start = random_rows(6, 2, 163)
    before = start.copy()
    solve_em(relation_problem(A, 2), start)
    np.testing.assert_array_equal(start, before)
