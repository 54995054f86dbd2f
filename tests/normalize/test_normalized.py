from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from soffit.normalize import degree, sinkhorn

matrices = (
    st.integers(1, 9)
    .flatmap(lambda n: arrays(np.float64, (n, n), elements=st.sampled_from([0.0, 0.5, 3.0])))
    .map(lambda A: A + A.T)
)


@given(matrices)
def test_follows_the_definition_and_keeps_zero_rows(A):
    result = degree(A)
    d = A.sum(axis=1)
    expected = A / np.sqrt(np.outer(np.where(d > 0, d, 1), np.where(d > 0, d, 1)))
    np.testing.assert_allclose(result.matrix, expected, rtol=1e-12)
    assert np.array_equal(result.matrix, result.matrix.T)
    assert np.all(result.factors[d == 0] == 1)
    assert np.abs(np.linalg.eigvalsh(result.matrix)).max() <= 1 + 1e-12


@given(matrices)
def test_sparse_equals_dense_and_fitted_rows_stay_the_same(A):
    dense, sparse = degree(A), degree(sp.csr_array(A))
    assert isinstance(sparse.matrix, sp.csr_array)
    np.testing.assert_allclose(sparse.matrix.toarray(), dense.matrix, rtol=1e-14)
    np.testing.assert_allclose(dense.cross(A), dense.matrix, rtol=1e-12)
    block = sparse.cross(sp.csr_array(A))
    assert isinstance(block, sp.csr_array)
    np.testing.assert_allclose(block.toarray(), dense.matrix, rtol=1e-12)


@given(matrices, st.randoms(use_true_random=False))
def test_permuting_the_objects_permutes_the_result(A, random):
    order = list(range(len(A)))
    random.shuffle(order)
    expected = degree(A).matrix[np.ix_(order, order)]
    np.testing.assert_allclose(degree(A[np.ix_(order, order)]).matrix, expected, rtol=1e-12)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_single_precision_is_kept_and_input_unchanged(storage, limits):
    limits(block_entries=64)
    A = np.random.default_rng(317).random((40, 40))
    A += A.T
    narrow = storage(A.astype(np.float32))
    result = degree(narrow)
    assert result.matrix.dtype == result.factors.dtype == np.float32
    assert result.cross(narrow).dtype == np.float32
    assert abs(result.matrix - degree(A).matrix).max() < 1e-6
    assert abs(result.matrix - result.matrix.T).max() == 0
    assert abs(narrow - A.astype(np.float32)).max() == 0


def test_negative_affinities_are_refused():
    with pytest.raises(ValueError, match=r"'degree' needs affinities >= 0.*-1.*'additive'"):
        degree(np.array([[1.0, -1.0], [-1.0, 1.0]]))


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_subnormal_degrees_are_none(storage):
    A = np.array([[0, 6.4e-318, 0], [6.4e-318, 0, 0], [0, 0, 1.0]])
    for result in (degree(storage(A)), sinkhorn(storage(A))):
        for matrix in (result.matrix, result.cross(storage(A))):
            dense = matrix.toarray() if sp.issparse(matrix) else matrix
            assert np.isfinite(dense).all()
            assert dense[2, 2] == 1
