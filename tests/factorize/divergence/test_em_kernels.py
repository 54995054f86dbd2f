from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.problems import random_matrix, random_rows

from soffit.factorize.divergence.kernels import (
    dense_shares,
    edge_ratios,
    mixture_weights,
    move_rows,
)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m", [1, 3, 17])
def test_edge_ratios_agree_with_products(dtype, m):
    A = sp.csr_array(random_matrix(20, 7, density=0.4).astype(dtype))
    B = (random_rows(20, m, 11) * np.asarray(A.sum(axis=1))[:, None]).astype(dtype)
    H = (B / B.sum(axis=0)).astype(dtype)
    ratios, terms = np.full((20, m), np.nan, dtype=dtype), np.full(20, np.nan)
    for first, last in ((0, 5), (5, 5), (5, 20)):
        edge_ratios(A.indptr, A.indices, A.data, B, H, first, last, 1e-30, ratios, terms)
    Q = B.astype(float) @ H.T.astype(float)
    W = A.toarray().astype(float)
    np.testing.assert_allclose(ratios, (W / Q) @ H, rtol=1e-5 if dtype is np.float32 else 1e-12)
    np.testing.assert_allclose(terms.sum(), (W * np.log(Q)).sum(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_shares_agree_with_quotients(dtype):
    W = random_matrix(20, 7, density=0.4).astype(dtype)
    B = (random_rows(20, 3, 11) * W.sum(axis=1, keepdims=True)).astype(dtype)
    Q = B @ (B / B.sum(axis=0)).T
    terms, shares = np.empty(20), Q.copy()
    for rows in (slice(0, 7), slice(7, 20)):
        dense_shares(W[rows], rows.start, 1e-30, shares[rows], terms)
    np.testing.assert_allclose(shares, W / Q, rtol=1e-6)
    np.testing.assert_allclose(terms.sum(), (W * np.log(Q)).sum(), rtol=1e-6)


def test_unexplained_pairs_have_no_ratio():
    A = sp.csr_array(np.array([[0.0, 2.0], [2.0, 0.0]]))
    H = np.eye(2)
    ratios, terms = np.empty((2, 2)), np.empty(2)
    edge_ratios(A.indptr, A.indices, A.data, 2 * H, H, 0, 2, 1e-30, ratios, terms)
    np.testing.assert_array_equal(ratios, 0.0)
    np.testing.assert_allclose(terms, [0.0, 4.0 * np.log(2e-30)])


@pytest.mark.parametrize("power", [1, 2, 5])
def test_moved_rows_keep_their_sums(power):
    B, ratios = random_rows(15, 4, 13), 2 * random_rows(15, 4, 17)
    moved = np.empty_like(B)
    move_rows(B, ratios, power, 1e-18, moved)
    plain = (B * ratios).sum(axis=1, keepdims=True)
    expected = B * ratios**power
    np.testing.assert_allclose(moved, expected * plain / expected.sum(axis=1, keepdims=True))


def test_tiny_shares_vanish():
    moved = np.empty((2, 2))
    B = np.array([[1.0, 1e-19], [0.0, 0.0]])
    move_rows(B, np.ones((2, 2)), 1, 1e-18, moved)
    np.testing.assert_array_equal(moved, [[1.0, 0.0], [0.0, 0.0]])


def test_mixture_weights_solve_the_concave_problem():
    rng = np.random.default_rng(19)
    H = rng.dirichlet(np.ones(30), size=3).T
    block = sp.csr_array(rng.random((8, 30)) * (rng.random((8, 30)) < 0.5))
    weights = np.empty((8, 3))
    prior = np.full(3, 1 / 3)
    mixture_weights(block.indptr, block.indices, block.data, H, prior, 20000, 1e-9, weights)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    # At the optimum no component's gradient exceeds the mean weight.
    dense = block.toarray()
    gradient = (dense / (weights @ H.T)) @ H / dense.sum(axis=1, keepdims=True)
    assert gradient.max() <= 1.0 + 1e-8


def test_rows_without_pairs_keep_the_prior():
    block = sp.csr_array((2, 4))
    weights = np.empty((2, 2))
    prior = np.array([0.2, 0.8])
    H = np.full((4, 2), 0.25)
    mixture_weights(block.indptr, block.indices, block.data, H, prior, 10, 1e-9, weights)
    np.testing.assert_allclose(weights, [prior, prior])


def test_new_objects_whose_only_explained_affinity_is_tiny_or_huge_are_placed():
    H = np.array([[0.0, 0.0], [0.9, 0.1], [0.1, 0.9]])
    prior = np.array([0.5, 0.5])
    for value in (1e-320, 1e300):
        block = sp.csr_array([[1.0, value, 0.0], [1.0, 0.0, value]])
        weights = np.empty((2, 2))
        mixture_weights(block.indptr, block.indices, block.data, H, prior, 1000, 1e-9, weights)
        np.testing.assert_allclose(weights, [[1.0, 0.0], [0.0, 1.0]], atol=1e-4)


def test_objects_with_vanishing_shares_explain_nothing():
    H = np.array([[0.0, 0.0], [9.7e-250, 1.3e-246]])
    block = sp.csr_array([[1.0, 1.5e-131]])
    weights = np.empty((1, 2))
    prior = np.array([0.3, 0.7])
    mixture_weights(block.indptr, block.indices, block.data, H, prior, 10, 1e-9, weights)
    np.testing.assert_array_equal(weights[0], prior)
