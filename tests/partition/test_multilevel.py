"""Multilevel eigenvectors, against dense ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.problems import block_diagonal

from soffit.normalize import normalize
from soffit.partition.kernels import pair_nodes
from soffit.partition.multilevel import (
    _orthonormal,
    _paired,
    are_accurate,
    multilevel_eigenvectors,
)


def _grid(height: int, width: int, seed: int) -> sp.csr_array:
    """A grid of three regions with weak ties between them."""
    rng = np.random.default_rng(seed)
    region = np.zeros((height, width), dtype=int)
    region[: height // 2] = 1
    region[:, width // 3 :] += 2
    place = np.arange(height * width).reshape(height, width)
    steps = [(place[1:], place[:-1]), (place[:, 1:], place[:, :-1])]
    first = np.concatenate([a.ravel() for a, _ in steps])
    second = np.concatenate([b.ravel() for _, b in steps])
    same = region.ravel()[first] == region.ravel()[second]
    weight = np.where(same, 1.0, 0.01) * rng.uniform(0.8, 1.2, len(first))
    A = sp.csr_array((weight, (first, second)), shape=(place.size, place.size))
    return sp.csr_array(A + A.T)


def _plain_pairs(A: Any, inverse: Any) -> Any:
    group = np.full(len(A), -1)
    count = 0
    for i in range(len(A)):
        if group[i] >= 0:
            continue
        strength = np.where((group < 0) & (np.arange(len(A)) != i), A[i] * inverse, 0.0)
        group[i] = count
        if strength.max() > 0:
            group[strength.argmax()] = count
        count += 1
    return group, count


@given(seed=st.integers(1, 10**6), density=st.floats(0.0, 0.9))
def test_pairs_agree_with_a_plain_loop(seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((14, 14)) * (rng.random((14, 14)) < density))
    A = A + A.T
    inverse = rng.uniform(0.5, 2.0, 14)
    sparse = sp.csr_array(A)
    group = np.full(sparse.shape[0], -1, dtype=np.int32)
    count = pair_nodes(sparse.indptr, sparse.indices, sparse.data, inverse, group)
    expected, expected_count = _plain_pairs(A, inverse)
    assert count == expected_count
    np.testing.assert_array_equal(group, expected)
    assert np.bincount(group).max() <= 2


@pytest.mark.parametrize("density", [0.02, 0.9])
def test_graph_of_pairs_has_the_sums_of_weights(density: float) -> None:
    # Few and many columns in a row: both ways of sorting them.
    rng = np.random.default_rng(7013)
    A = sp.random_array((220, 220), density=density, random_state=rng)
    A = sp.csr_array(A + A.T)
    group, joined = _paired(A)
    member = np.eye(joined.shape[0])[group]
    np.testing.assert_allclose(joined.toarray(), member.T @ A.toarray() @ member)
    assert joined.has_canonical_format


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_and_vectors_are_close_to_the_exact_ones(dtype: Any) -> None:
    A = _grid(52, 36, 7193).astype(dtype)
    values, V = multilevel_eigenvectors(A, 8)
    assert V.dtype == dtype
    N = normalize(A, "degree").matrix
    exact = np.linalg.eigvalsh(N.toarray().astype(np.float64))[::-1]
    # Ritz values lie below the exact ones; the leading four (the regions) matter most.
    tolerance = 1e-6 if dtype is np.float32 else 1e-12
    assert np.all(values <= exact[:8] + tolerance)
    np.testing.assert_allclose(1 - values[:4], 1 - exact[:4], rtol=0.05, atol=2e-5)
    np.testing.assert_allclose(V.T @ V, np.eye(8), atol=1e-5)
    residual = np.linalg.norm(N @ V - V * values, axis=0)
    assert residual[:4].max() < 0.01


def test_separate_components() -> None:
    A = block_diagonal([_grid(40, 40, 11), _grid(50, 30, 13)])
    values, V = multilevel_eigenvectors(A, 6)
    np.testing.assert_allclose(values[:2], 1.0, atol=1e-9)
    # Both leading vectors are constant on each component, up to degrees.
    degrees = np.asarray(A.sum(axis=1)).ravel()
    flat = V[:, :2] / np.sqrt(degrees)[:, None]
    assert np.ptp(flat[:1600], axis=0).max() < 1e-6
    assert np.ptp(flat[1600:], axis=0).max() < 1e-6


def test_small_graphs_are_exact() -> None:
    A = _grid(9, 7, 17)
    values, _ = multilevel_eigenvectors(A, 4)
    exact = np.linalg.eigvalsh(normalize(A, "degree").matrix.toarray())[::-1]
    np.testing.assert_allclose(values, exact[:4], atol=1e-12)


def test_graph_that_does_not_coarsen() -> None:
    # A star pairs two nodes at a time: the levels stop, and the whole graph is decomposed.
    n = 1500
    edges = (np.ones(n - 1), (np.zeros(n - 1, dtype=int), np.arange(1, n)))
    A = sp.csr_array(edges, shape=(n, n))
    values, _ = multilevel_eigenvectors(sp.csr_array(A + A.T), 2)
    np.testing.assert_allclose(values, [1.0, 0.0], atol=1e-6)


def test_same_bytes_again() -> None:
    A = _grid(52, 36, 7193).astype(np.float32)
    first, second = multilevel_eigenvectors(A, 5), multilevel_eigenvectors(A, 5)
    assert first[1].tobytes() == second[1].tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("closeness", [0.0, 1e-3, 1e-6, 1e-12])
def test_basis_is_orthonormal_however_close_the_columns(dtype, closeness):
    rng = np.random.default_rng(3)
    V = rng.normal(size=(400, 6))
    V[:, 5] = V[:, :5].sum(axis=1) + closeness * V[:, 5] if closeness else V[:, 5]
    Q = _orthonormal(V.astype(dtype))
    assert Q.dtype == dtype
    # Rounding to single precision leaves a few 1e-7.
    np.testing.assert_allclose(Q.T @ Q, np.eye(6), atol=2e-6)
    if closeness == 0.0:
        np.testing.assert_allclose(Q @ (Q.T @ V), V, atol=2e-5)


def test_eigenvectors_are_accurate_where_their_residuals_are_small() -> None:
    # Two components: two eigenvalues are 1.
    A = block_diagonal([_grid(12, 15, 3), _grid(10, 9, 5)])
    N = normalize(A, "degree").matrix
    values, V = np.linalg.eigh(N.toarray())
    values, V = values[::-1][:6], V[:, ::-1][:, :6]
    assert are_accurate(N, values, V)
    turned = V + 0.1 * np.random.default_rng(7019).normal(size=V.shape) / np.sqrt(len(V))
    assert not are_accurate(N, values, turned)


def test_a_long_strip_is_not_described_by_a_coarser_graph() -> None:
    A = _grid(3, 1200, 11)
    values, V = multilevel_eigenvectors(A, 20)
    assert not are_accurate(normalize(A, "degree").matrix, values[:6], V[:, :6])
