from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.exceptions import ConvergenceWarning

from soffit.normalize import sinkhorn
from soffit.normalize.sinkhorn import check_total_support


def symmetric(values):
    return lambda n: arrays(np.float64, (n, n), elements=st.sampled_from(values)).map(
        lambda A: np.triu(A) + np.triu(A, 1).T
    )


zero_or_more = st.integers(2, 8).flatmap(symmetric([0.0, 0.0, 0.5, 1.0, 4.0]))
with_diagonal = zero_or_more.map(lambda A: A + np.eye(len(A)))
patterns = st.integers(1, 5).flatmap(symmetric([0.0, 1.0]))

PATH = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]])
STAR = np.array([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0.0]])
UNBALANCED = np.block([[np.zeros((2, 2)), np.ones((2, 3))], [np.ones((3, 2)), np.zeros((3, 3))]])
CORNER = np.array([[1, 1], [1, 0.0]])
IMPOSSIBLE = {"path": PATH, "star": STAR, "unbalanced bipartite": UNBALANCED}


def on_a_positive_diagonal(A):
    """Which entries lie on a positive diagonal: every permutation is tried."""
    n = len(A)
    found = np.zeros(A.shape, dtype=bool)
    for p in itertools.permutations(range(n)):
        if np.all(A[range(n), p] > 0):
            found[range(n), p] = True
    return found


@given(with_diagonal)
def test_doubly_stochastic(A):
    result = sinkhorn(A)
    np.testing.assert_allclose(result.matrix.sum(axis=0), 1, atol=1.1e-8)
    assert np.array_equal(result.matrix, result.matrix.T)
    assert np.all((result.matrix > 0) == (A > 0))
    x = result.factors
    np.testing.assert_allclose(result.matrix, x[:, None] * A * x, rtol=1e-12)


@given(with_diagonal)
def test_sparse_equals_dense_and_fitted_rows_stay_the_same(A):
    dense, sparse = sinkhorn(A), sinkhorn(sp.csr_array(A))
    assert isinstance(sparse.matrix, sp.csr_array)
    np.testing.assert_allclose(sparse.matrix.toarray(), dense.matrix, rtol=1e-9)
    np.testing.assert_allclose(dense.cross(A), dense.matrix, rtol=1e-7)
    np.testing.assert_allclose(sparse.cross(sp.csr_array(A)).toarray(), dense.matrix, rtol=1e-7)


@given(with_diagonal, st.randoms(use_true_random=False), st.floats(1e-3, 1e3))
def test_permutation_and_scale(A, random, factor):
    order = list(range(len(A)))
    random.shuffle(order)
    tight = {"tol": 1e-12}
    expected = sinkhorn(A, **tight).matrix[np.ix_(order, order)]
    moved = sinkhorn(factor * A[np.ix_(order, order)], **tight).matrix
    np.testing.assert_allclose(moved, expected, atol=1e-9)


def test_limit_of_repeated_degree_normalization():
    A = np.random.default_rng(107).random((12, 12))
    A = A + A.T
    repeated = A
    for _ in range(200):
        d = repeated.sum(axis=1)
        repeated = repeated / np.sqrt(np.outer(d, d))
    np.testing.assert_allclose(sinkhorn(A, tol=1e-13).matrix, repeated, atol=1e-11)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_zero_rows_stay_zero(storage):
    A = np.diag([2.0, 0, 3.0])
    A[0, 2] = A[2, 0] = 1
    result = sinkhorn(storage(A))
    assert result.factors[1] == 1
    np.testing.assert_allclose(abs(result.matrix).sum(axis=0), [1, 0, 1], atol=1e-8)
    assert abs(result.cross(storage(np.zeros((2, 3))))).max() == 0
    np.testing.assert_array_equal(sinkhorn(np.zeros((3, 3))).matrix, np.zeros((3, 3)))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_new_rows_sum_to_one(storage):
    A = np.random.default_rng(53).random((9, 9))
    block = sinkhorn(A + A.T).cross(storage(np.random.default_rng(59).random((4, 9))))
    assert sp.issparse(block) == (storage is sp.csr_array)
    np.testing.assert_allclose(block.sum(axis=1), 1)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_matrices_without_support_are_refused(name, storage):
    with pytest.raises(ValueError, match=r"no support.*positive diagonal.*'degree'"):
        sinkhorn(storage(IMPOSSIBLE[name]))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_matrix_without_total_support_is_refused(storage):
    message = r"lacks total support. 1 positive entries \(the first is \(0, 0\)\)"
    with pytest.raises(ValueError, match=message):
        sinkhorn(storage(CORNER))


def test_messages_count_objects_of_the_whole_matrix():
    A = np.zeros((5, 5))
    A[np.ix_([1, 2, 4], [1, 2, 4])] = PATH
    with pytest.raises(ValueError, match=r"1 of 3 objects \(the first is 4\)"):
        sinkhorn(A)


def test_wide_star_drifts_apart_without_overflow():
    A = np.zeros((400, 400), dtype=np.float32)
    A[0, 1:] = A[1:, 0] = 1
    with pytest.raises(ValueError, match="398 of 400 objects"):
        sinkhorn(A)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_zero_diagonal_is_fine_with_total_support(n):
    A = np.ones((n, n)) - np.eye(n)
    np.testing.assert_allclose(sinkhorn(A).matrix, A / (n - 1))
    cycle = np.roll(np.eye(5), 1, axis=0)
    np.testing.assert_allclose(sinkhorn(cycle + cycle.T).matrix, (cycle + cycle.T) / 2)


@given(patterns)
def test_support_check_agrees_with_all_permutations(A):
    active = A.sum(axis=1) > 0
    inner = A[np.ix_(active, active)]
    possible = np.array_equal(on_a_positive_diagonal(inner), inner > 0)
    for matrix in (A, sp.csr_array(A)):
        if possible:
            check_total_support(matrix, active)
        else:
            with pytest.raises(ValueError, match="support"):
                check_total_support(matrix, active)


@given(patterns)
def test_scaling_agrees_with_all_permutations(A):
    active = A.sum(axis=1) > 0
    inner = A[np.ix_(active, active)]
    if np.array_equal(on_a_positive_diagonal(inner), inner > 0):
        np.testing.assert_allclose(sinkhorn(A).matrix.sum(axis=1), active, atol=1.1e-8)
    else:
        with pytest.raises(ValueError, match="support"):
            sinkhorn(A)


def test_slow_convergence_is_a_warning_not_an_error():
    slow = CORNER + np.diag([0, 1e-9])
    with pytest.warns(ConvergenceWarning, match=r"max_iter=50 .*raise max_iter"):
        result = sinkhorn(slow, max_iter=50)
    assert np.all(np.isfinite(result.matrix))
    A = np.random.default_rng(19).random((6, 6))
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        sinkhorn(A + A.T, max_iter=1)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_single_precision_is_kept(storage):
    A = np.random.default_rng(7001).random((50, 50))
    A += A.T
    narrow = sinkhorn(storage(A.astype(np.float32)))
    assert narrow.matrix.dtype == narrow.factors.dtype == np.float32
    np.testing.assert_allclose(narrow.matrix.sum(axis=0), 1, atol=2e-5)
    assert abs(narrow.matrix - sinkhorn(A).matrix).max() < 1e-6
    assert narrow.cross(storage(A[:3].astype(np.float32))).dtype == np.float32


def test_unsuitable_arguments():
    with pytest.raises(ValueError, match=r"'sinkhorn' needs affinities >= 0"):
        sinkhorn(-np.eye(2))
    with pytest.raises(ValueError, match="tol must be > 0"):
        sinkhorn(np.eye(2), tol=0)
    with pytest.raises(ValueError, match="max_iter >= 1"):
        sinkhorn(np.eye(2), max_iter=0)


def test_input_is_unchanged_and_result_pickles():
    A = np.array([[2.0, 1.0], [1.0, 3.0]])
    before = A.copy()
    result = pickle.loads(pickle.dumps(sinkhorn(A)))
    np.testing.assert_array_equal(A, before)
    np.testing.assert_allclose(result.cross(A), result.matrix, rtol=1e-7)
