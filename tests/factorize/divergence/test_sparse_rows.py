from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.problems import block_diagonal, random_matrix, random_rows
from tests.reference.relations import divergence, em_step, planted_graph, relation_problem

from soffit.factorize import solve_em
from soffit.factorize.divergence import sparse_rows as _em_support
from soffit.factorize.divergence.em import bipartite_rows, log_likelihood
from soffit.factorize.divergence.kernels import missing_entries, move_rows, move_support
from soffit.factorize.divergence.relations import Edges
from soffit.factorize.divergence.sparse_rows import (
    evaluate_support,
    solve_on_support,
    stored_rows,
    support_likelihood,
    support_start,
    support_step,
)

dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def _sparse_weights(A, m, seed, dtype):
    """Bipartite weights with about half of the entries, and H."""
    rng = np.random.default_rng(seed)
    B = random_rows(A.shape[0], m, seed) * (rng.random((A.shape[0], m)) < 0.5)
    B[np.arange(len(B)), rng.integers(m, size=len(B))] += 0.5
    B = B.astype(dtype)
    return B, (B / B.sum(axis=0)).astype(dtype)


@dtypes
@pytest.mark.parametrize("m", [1, 3, 17])
def test_ratios_agree_with_products(dtype, m, limits):
    limits(support_rows=7)
    A = sp.csr_array(random_matrix(20, 7, density=0.4).astype(dtype))
    B, H = _sparse_weights(A, m, 11, dtype)
    relations = Edges(A)
    W = A.toarray().astype(float) / relations.unit
    Q = B.astype(float) @ H.T.astype(float)
    shares = np.divide(W, Q, out=np.zeros_like(W), where=Q > 0)
    ratios, likelihood = support_step(relations, stored_rows(B), stored_rows(H))
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    assert ratios.dtype == dtype
    np.testing.assert_allclose(ratios, (shares @ H)[B > 0], rtol=tolerance)
    floor = np.maximum(Q, 1e-30 * W)
    expected = (W[W > 0] * np.log(floor[W > 0])).sum()
    assert likelihood == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("power", [1, 2, 5])
def test_stored_entries_move_as_rows_do(power):
    B, _ = _sparse_weights(np.empty((15, 15)), 4, 13, np.float64)
    ratios = 2 * random_rows(15, 4, 17)
    expected, stored = np.empty_like(B), stored_rows(B)
    move_rows(B, ratios, power, 1e-9, expected)
    moved = np.empty_like(stored.data)
    for first, last in ((0, 4), (4, 15)):
        values = (stored.data, ratios[B > 0], power, 1e-9, first, last, moved)
        move_support(stored.indptr, *values)
    np.testing.assert_allclose(moved, expected[B > 0], rtol=1e-12)


def test_missing_entries_are_those_with_large_ratios():
    A = sp.csr_array(random_matrix(30, 19, density=0.3))
    B, H = _sparse_weights(A, 6, 23, np.float64)
    stored = stored_rows(B)
    graph = (A.indptr, A.indices, A.data, stored.indptr, stored.indices, stored.data)
    lengths, found = missing_entries(*graph, stored_rows(H).data, 6, 0, 30, 1e-30, 1.05)
    W, Q = A.toarray(), np.maximum(B @ H.T, 1e-30 * A.toarray())
    ratios = np.divide(W, Q, out=np.zeros_like(W), where=W > 0) @ H
    expected = (B == 0) & (ratios > 1.05)
    assert expected.any()
    np.testing.assert_array_equal(lengths, expected.sum(axis=1))
    rows = np.repeat(np.arange(30), lengths)
    assert set(zip(rows, found, strict=True)) == set(zip(*np.nonzero(expected), strict=True))


def test_the_first_step_is_the_published_one():
    A = random_matrix(30, 29, density=0.4)
    start = random_rows(30, 4, 31)
    problem = relation_problem(sp.csr_array(A), 4)
    found = solve_on_support(problem, stored_rows(start), max_iter=1, tol=0.0)
    expected = em_step(A, A.sum(axis=1)[:, None] * start)
    np.testing.assert_allclose(found.factor * found.scale, expected, rtol=1e-10)


@dtypes
def test_full_rows_go_where_the_other_solver_goes(dtype, monkeypatch, limits):
    limits(support_rows=16)
    monkeypatch.setattr(_em_support, "_SLOW", ())
    A, _ = planted_graph([40, 50, 60], 37)
    problem, start = relation_problem(A.astype(dtype), 3), random_rows(150, 3, 41)
    plain = solve_em(problem, start, tol=0.0, max_iter=30)
    found = solve_on_support(problem, stored_rows(start), tol=0.0, max_iter=30)
    assert found.factor.dtype == dtype
    tolerance = 1e-3 if dtype is np.float32 else 1e-6
    np.testing.assert_allclose(found.history, plain.history, rtol=tolerance)
    np.testing.assert_allclose(found.factor, plain.factor, atol=tolerance)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 14),
    k=st.integers(1, 5),
    density=st.sampled_from([1.0, 0.3]),
)
def test_promises_are_kept_on_random_problems(*, seed, n, k, density):
    A = random_matrix(n, seed, density)
    labels = np.random.default_rng(seed).integers(k, size=n)
    start = support_start(sp.csr_array(A), labels, k, spread=0.2)
    found = solve_on_support(relation_problem(sp.csr_array(A), k), start, max_iter=200, tol=1e-6)
    total = A.sum()
    assert found.factor.shape == (n, k)
    assert np.isfinite(found.factor).all()
    assert found.factor.min() >= 0.0
    np.testing.assert_allclose(found.scale.sum(), total, atol=1e-12 * total)
    np.testing.assert_allclose(
        (found.factor * found.scale).sum(axis=1), A.sum(axis=1), atol=1e-7 * total
    )
    assert len(found.history) == found.n_iter + 1
    assert np.diff(found.history).max(initial=0.0) <= 1e-7 * total
    np.testing.assert_allclose(
        found.objective, divergence(A, found.factor, found.scale), atol=1e-10 * total
    )


def test_rows_begin_with_their_own_cluster_and_where_their_ties_go(limits):
    limits(support_rows=6)
    A = sp.csr_array(random_matrix(20, 43, density=0.3))
    A.data[A.indptr[4] : A.indptr[5]] = 0.0
    A = sp.csr_array(A.minimum(A.T))
    A.eliminate_zeros()
    labels = np.random.default_rng(47).integers(5, size=20)
    rows = support_start(A, labels, 5, spread=0.2)
    hot, degrees = np.eye(5)[labels], np.asarray(A.sum(axis=1))[:, None]
    expected = 0.8 * hot + 0.2 * np.divide(A @ hot, degrees, out=hot.copy(), where=degrees > 0)
    np.testing.assert_allclose(rows.toarray(), expected, rtol=1e-12)
    assert rows.has_sorted_indices


def test_rows_get_the_clusters_they_lack():
    A, labels = planted_graph([60, 70, 80, 90], 53)
    wrong = np.where(np.random.default_rng(59).random(300) < 0.4, 0, labels)
    start, problem = stored_rows(np.eye(4)[wrong]), relation_problem(A, 4)
    found = solve_on_support(problem, start, tol=1e-6, max_iter=500)
    spread = solve_em(problem, 0.8 * np.eye(4)[wrong] + 0.05, tol=1e-6)
    assert found.objective <= spread.objective * 1.02
    assert (bipartite_rows(found).argmax(axis=1) == labels).mean() > 0.95
    assert np.diff(found.history).max() <= 1e-9 * found.history[0]


def test_vanished_entries_are_not_kept():
    A, _ = planted_graph([60, 70], 61)
    relations = Edges(A)
    B = random_rows(130, 6, 67)
    B[:, 2:] = 0.0
    assert _em_support._without_zeros(stored_rows(B)).nnz == 260
    full = sp.csr_array((B.ravel(), np.tile(np.arange(6), 130), np.arange(131) * 6), (130, 6))
    kept = _em_support._without_zeros(full)
    assert kept.nnz == 260
    np.testing.assert_array_equal(kept.toarray(), B)
    assert evaluate_support(relations, kept).divergence == pytest.approx(
        evaluate_support(relations, full).divergence, rel=1e-12
    )


def test_likelihoods_agree(limits):
    A, _ = planted_graph([30, 40], 71)
    problem = relation_problem(A, 3)
    found = solve_em(problem, random_rows(70, 3, 73), max_iter=20)
    plain = log_likelihood(problem, found)
    limits(divergence_objects=50)
    assert log_likelihood(problem, found) == pytest.approx(plain, rel=1e-12)
    relations = Edges(A)
    step = relations.step(found.factor * found.scale, found.factor)[1]
    assert support_likelihood(relations, found.factor, found.scale) == pytest.approx(step)


def test_no_edges_and_isolated_objects():
    nothing = relation_problem(sp.csr_array((4, 4)), 2)
    rows = stored_rows(np.full((4, 2), 0.5))
    found = solve_on_support(nothing, rows, max_iter=9, tol=1e-6)
    np.testing.assert_array_equal(found.scale, 0.0)
    A, _ = planted_graph([20, 30], 79)
    padded = block_diagonal([A, sp.csr_array((2, 2))])
    start = support_start(padded, np.arange(52) % 2, 2, spread=0.2)
    found = solve_on_support(relation_problem(padded, 2), start, max_iter=99, tol=1e-6)
    np.testing.assert_array_equal(found.factor[50:], 0.0)
    prior = found.scale / found.scale.sum()
    np.testing.assert_allclose(bipartite_rows(found)[50:], [prior, prior])
