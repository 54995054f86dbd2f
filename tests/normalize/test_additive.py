from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from soffit.normalize import additive

# Negative entries are allowed here: side information makes them.
matrices = (
    st.integers(1, 9)
    .flatmap(lambda n: arrays(np.float64, (n, n), elements=st.floats(-1, 4, width=32)))
    .map(lambda A: (A + A.T) / 2)
)


@pytest.fixture
def A():
    root = np.random.default_rng(5903).random((40, 40))
    return root + root.T


def projected(A, beta):
    """Eq. 10 in matrix form: the row sums are corrected by projections on the constant vector."""
    n = len(A)
    constant = np.full((n, n), 1 / n)
    centring = np.eye(n) - constant
    return centring @ A @ centring + beta * constant


@given(matrices)
def test_row_sums_symmetry_and_smallest_entry(A):
    result = additive(A)
    F = result.matrix
    assert np.array_equal(F, F.T)
    assert F.min() == 0
    assert result.beta >= 0
    np.testing.assert_allclose(F.sum(axis=1), result.beta, atol=1e-12 * len(A))
    np.testing.assert_allclose(F, projected(A, result.beta), atol=1e-12)


@given(matrices)
def test_fitted_rows_submitted_again_stay_the_same(A):
    result = additive(A)
    np.testing.assert_allclose(result.cross(A), result.matrix, atol=1e-12)


@given(matrices, st.randoms(use_true_random=False))
def test_permuting_the_objects_permutes_the_result(A, random):
    order = list(range(len(A)))
    random.shuffle(order)
    expected = additive(A).matrix[np.ix_(order, order)]
    np.testing.assert_allclose(additive(A[np.ix_(order, order)]).matrix, expected, atol=1e-12)


def test_is_the_nearest_matrix_with_these_row_sums(A):
    result = additive(A)
    rng = np.random.default_rng(23)
    distance = np.linalg.norm(result.matrix - A)
    for _ in range(5):
        other = result.matrix + projected(rng.normal(size=A.shape), 0)
        assert np.linalg.norm(other - A) >= distance


def test_sparse_gives_the_same_array(A):
    A = np.where(A > 1, A, 0)
    result = additive(sp.csr_array(A))
    assert isinstance(result.matrix, np.ndarray)
    np.testing.assert_allclose(result.matrix, additive(A).matrix, atol=1e-14)
    np.testing.assert_allclose(result.cross(sp.csr_array(A)), result.matrix, atol=1e-12)


def test_several_row_blocks(A, limits):
    expected = additive(A).matrix
    limits(block_entries=64)
    np.testing.assert_array_equal(additive(A).matrix, expected)


def test_larger_beta_is_accepted_and_smaller_refused(A):
    smallest = additive(A).beta
    result = additive(A, beta=smallest + 3)
    assert result.beta == smallest + 3
    np.testing.assert_allclose(result.matrix.sum(axis=0), smallest + 3)
    np.testing.assert_allclose(additive(A, beta=smallest).matrix, additive(A).matrix, atol=1e-12)
    with pytest.raises(ValueError, match=r"smallest admissible value .* is .*beta=None"):
        additive(A, beta=smallest - 0.1)
    with pytest.raises(ValueError, match="beta=nan"):
        additive(A, beta=np.nan)


def test_new_rows_sum_to_beta_unless_cut_off(A):
    result = additive(A, beta=additive(A).beta + 40)
    block = np.random.default_rng(71).random((3, 40))
    np.testing.assert_allclose(result.cross(block).sum(axis=1), result.beta)
    without = additive(A).cross(np.zeros((2, 40)))
    assert np.all(np.isfinite(without))
    assert np.all(without >= 0)


def test_constant_matrix_becomes_zero():
    result = additive(np.full((7, 7), 0.1))
    assert result.beta == 0
    assert not result.matrix.any()


def test_single_precision_is_kept(A):
    narrow = additive(A.astype(np.float32))
    assert narrow.matrix.dtype == np.float32
    assert narrow.cross(A[:2].astype(np.float32)).dtype == np.float32
    assert narrow.matrix.min() == 0
    np.testing.assert_allclose(narrow.matrix, additive(A).matrix, atol=1e-5)


def test_memory_is_checked_first(A, monkeypatch):
    monkeypatch.setattr("soffit._memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match=r"result is dense even for sparse.*'degree'"):
        additive(sp.csr_array(A))
