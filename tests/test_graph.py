from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit import graph as module
from soffit.graph import Graph, Locality


@pytest.fixture
def rng():
    return np.random.default_rng(6047)


def graph(rng, n, dtype):
    A = sp.random_array((n, n), density=0.1, rng=rng, dtype=dtype)
    return sp.csr_array(A + A.T)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_multiply_like_scipy(rng, dtype, monkeypatch):
    monkeypatch.setattr(module, "_FEW", 0)
    monkeypatch.setattr(module, "_ROWS", 17)
    A = graph(rng, 150, dtype)
    V = rng.normal(size=(150, 4)).astype(dtype)
    result = Graph.of(A).product(V)
    assert result.dtype == dtype
    np.testing.assert_allclose(result, A @ V, rtol=1e-5, atol=1e-6)


def test_dense_and_small_products(rng):
    A = graph(rng, 30, np.float64)
    V = rng.normal(size=(30, 2))
    np.testing.assert_allclose(Graph.of(A.toarray()).product(V), Graph.of(A).product(V))


def test_an_order_permutes_and_comes_back(rng):
    A = graph(rng, 120, np.float64)
    locality = Locality(rng.permutation(120))
    moved = locality.matrix(A)
    order = locality.order
    assert np.array_equal(moved.toarray(), A.toarray()[np.ix_(order, order)])
    assert moved.has_sorted_indices
    assert moved.has_canonical_format
    V = rng.normal(size=(120, 3))
    assert np.array_equal(locality.rows(V), V[order])
    assert np.array_equal(locality.back(locality.rows(V)), V)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_forms_of_columns(rng, dtype, monkeypatch):
    A = graph(rng, 90, dtype)
    U = rng.random((90, 3)).astype(dtype)
    expected = np.diag(U.T.astype(float) @ A.toarray().astype(float) @ U)
    np.testing.assert_allclose(Graph.of(A).column_forms(U), expected, rtol=1e-5)
    monkeypatch.setattr(module, "_FEW", 0)
    monkeypatch.setattr(module, "_ROWS", 64)
    np.testing.assert_allclose(Graph.of(A).column_forms(U), expected, rtol=1e-5)


@pytest.mark.parametrize("diagonal", [True, False])
def test_forms_of_columns_with_few_entries_a_row(rng, diagonal, monkeypatch):
    monkeypatch.setattr(module, "_FEW", 0)
    monkeypatch.setattr(module, "_ROWS", 17)
    A = graph(rng, 150, np.float64)
    U = rng.random((150, 80))
    # Some rows have so few entries that only these are looked at, others have not.
    U[rng.random(U.shape) > np.where(np.arange(150) % 2, 0.03, 0.5)[:, None]] = 0.0
    full = A.toarray() - (0.0 if diagonal else np.diag(A.diagonal()))
    expected = np.einsum("ic,ij,jc->c", U, full, U)
    np.testing.assert_allclose(Graph.of(A).column_forms(U, diagonal=diagonal), expected, rtol=1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaled_rows_are_exactly_symmetric(rng, dtype, monkeypatch):
    monkeypatch.setattr(module, "_ROWS", 16)
    A = graph(rng, 90, dtype)
    x = rng.random(90)
    result = Graph.of(A).scaled(x, x).matrix
    assert result.dtype == dtype
    assert (result != result.T).nnz == 0
    np.testing.assert_allclose(result.toarray(), x[:, None] * A.toarray() * x, rtol=1e-6)
    # The given matrix may be changed later on without changing the result.
    assert not np.shares_memory(result.indices, A.indices)
    y = rng.random(90)
    np.testing.assert_allclose(
        Graph.of(A).scaled(x, y).array(), x[:, None] * A.toarray() * y, rtol=1e-6
    )
