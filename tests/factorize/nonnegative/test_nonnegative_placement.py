from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import nnls

from soffit.factorize import Factorization, Problem, solve_coordinate
from soffit.factorize.nonnegative.placement import NonnegativeRows

storages = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def solved(G):
    n, k = G.shape
    problem = Problem(np.zeros((n, n), dtype=G.dtype), k, constraint="nonnegative")
    return problem, Factorization(G, np.ones(k), 0.0, np.zeros(1), 0, "converged")


def rows_of(G):
    return NonnegativeRows.of(*solved(G))


def fitted_of(G):
    return NonnegativeRows.fitted(*solved(G))


@pytest.fixture
def rng():
    return np.random.default_rng(7013)


def test_fitted_rows_are_divided_by_their_sums(rng):
    G = rng.random((20, 3))
    np.testing.assert_allclose(fitted_of(G), G / G.sum(axis=1, keepdims=True))


def test_zero_rows_get_the_mean_of_the_others(rng):
    G = rng.random((20, 3))
    G[[4, 11]] = 0.0
    fitted = fitted_of(G)
    expected = np.delete(fitted, [4, 11], axis=0).mean(axis=0)
    np.testing.assert_allclose(fitted[[4, 11]], [expected, expected])
    np.testing.assert_allclose(fitted.sum(axis=1), 1.0)


def test_nothing_at_all_is_uniform():
    rows = rows_of(np.zeros((5, 4)))
    np.testing.assert_array_equal(fitted_of(np.zeros((5, 4))), 0.25)
    np.testing.assert_array_equal(rows.place(np.ones((2, 5)), np.full(2, 5.0)), 0.25)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tiny_rows_are_still_probabilities(dtype):
    G = np.full((4, 3), np.finfo(dtype).tiny, dtype=dtype)
    G[1] = [1e-30, 3e-30, 0.0]
    fitted = fitted_of(G)
    assert fitted.dtype == dtype
    np.testing.assert_allclose(fitted[:2], [[1 / 3] * 3, [0.25, 0.75, 0.0]], rtol=1e-6)


@storages
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_new_rows_solve_nonnegative_least_squares(rng, storage, k):
    G = rng.random((30, k)) * (rng.random((30, k)) < 0.7)
    block = rng.random((8, 30)) * (rng.random((8, 30)) < 0.6)
    placed = rows_of(G).place(storage(block), block.sum(axis=1))
    expected = np.array([nnls(G, b)[0] for b in block])
    np.testing.assert_allclose(placed, expected / expected.sum(axis=1, keepdims=True), atol=1e-6)


def test_size_of_the_affinities_does_not_matter(rng):
    rows, block = rows_of(rng.random((30, 3))), rng.random((5, 30))
    placed = rows.place(block, block.sum(axis=1))
    np.testing.assert_allclose(rows.place(1e-6 * block, 1e-6 * block.sum(axis=1)), placed)


@storages
def test_objects_without_affinity_get_the_prior(rng, storage):
    G = rng.random((30, 3))
    rows = rows_of(G)
    block = rng.random((3, 30))
    block[1] = 0.0
    placed = rows.place(storage(block), block.sum(axis=1))
    np.testing.assert_allclose(placed[1], fitted_of(G).mean(axis=0))
    # What the normalization makes of an object without ties does not count.
    placed = rows.place(rng.random((3, 30)), block.sum(axis=1))
    np.testing.assert_allclose(placed[1], fitted_of(G).mean(axis=0))


def test_fitted_objects_find_their_own_rows(rng):
    labels = np.repeat([0, 1, 2], 20)
    F = np.where(labels[:, None] == labels, 0.7, 0.05) + 0.02 * rng.random((60, 60))
    F = (F + F.T) / 2
    problem = Problem(F, 3, constraint="nonnegative")
    found = solve_coordinate(problem, 0.1 + np.eye(3)[labels], tol=1e-9)
    rows = NonnegativeRows.of(problem, found)
    placed = rows.place(F, F.sum(axis=1))
    np.testing.assert_array_equal(placed.argmax(axis=1), labels)
    assert np.abs(placed - NonnegativeRows.fitted(problem, found)).max() < 0.05


def test_rows_do_not_depend_on_their_company(rng):
    rows, block = rows_of(rng.random((30, 3))), rng.random((6, 30))
    sums = block.sum(axis=1)
    together = rows.place(block, sums)
    alone = np.vstack([rows.place(block[[i]], sums[[i]]) for i in range(6)])
    np.testing.assert_allclose(together, alone, atol=1e-9)


def test_single_precision(rng):
    G, block = rng.random((30, 3)), rng.random((6, 30))
    single = rows_of(G.astype(np.float32)).place(block.astype(np.float32), block.sum(axis=1))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, rows_of(G).place(block, block.sum(axis=1)), atol=1e-4)
    np.testing.assert_allclose(single.sum(axis=1), 1.0, atol=1e-6)


def test_input_is_left_alone_and_pickling_changes_nothing(rng):
    G, block = rng.random((30, 3)), rng.random((4, 30))
    before = G.copy(), block.copy()
    rows = rows_of(G)
    placed = rows.place(block, block.sum(axis=1))
    np.testing.assert_array_equal(G, before[0])
    np.testing.assert_array_equal(block, before[1])
    again = pickle.loads(pickle.dumps(rows)).place(block, block.sum(axis=1))
    assert placed.tobytes() == again.tobytes()
