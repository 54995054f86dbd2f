from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from soffit.factorize import Factorization, Problem, labels_start, solve_rows
from soffit.memberships import FittedRows
from soffit.normalize import normalize

storages = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def factorization(W, s):
    return Factorization(W, s, 0.0, np.zeros(1), 0, "converged")


def fitted_rows(rng, n=30, k=3, *, degrees=True, dtype=np.float64):
    W = rng.dirichlet(np.full(k, 0.4), size=n).astype(dtype)
    s = rng.uniform(0.2, 1.5, size=k)
    problem = Problem(
        np.ones((n, n), dtype=dtype),
        k,
        scale="cluster",
        degrees=rng.uniform(0.5, 3.0, size=n) if degrees else None,
    )
    return FittedRows.of(problem, factorization(W, s)), problem, W, s


def loss(w, b, columns):
    """The new row's share of the loss; columns are theta theta_j s_c W_jc."""
    return np.sum((b - columns @ w) ** 2)


@pytest.fixture
def rng():
    return np.random.default_rng(7013)


# --- the problem of one row ----------------------------------------------------------------------


@storages
@pytest.mark.parametrize("degrees", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_row_minimises_its_loss(rng, storage, degrees, k):
    rows, problem, W, s = fitted_rows(rng, k=k, degrees=degrees)
    block = rng.random((8, 30)) * (rng.random((8, 30)) < 0.6)
    sums = rng.uniform(0.5, 3.0, size=8)
    placed = rows.place(storage(block), sums)
    assert np.all(placed >= 0)
    np.testing.assert_allclose(placed.sum(axis=1), 1.0, atol=1e-12)
    theta = np.sqrt(sums / problem.degrees.mean()) if degrees else np.ones(8)
    for i in range(8):
        arguments = (block[i], theta[i] * problem.row_factors()[:, None] * W * s)
        best = minimize(
            loss,
            np.full(k, 1 / k),
            args=arguments,
            method="SLSQP",
            bounds=[(0, 1)] * k,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert loss(placed[i], *arguments) <= best.fun + 1e-9 * (1 + best.fun)


@given(st.integers(0, 2**31))
def test_no_point_of_a_grid_is_better(seed):
    rng = np.random.default_rng(seed)
    rows, problem, W, s = fitted_rows(rng, n=8, k=3)
    block = rng.random((1, 8))
    placed = rows.place(block, np.array([1.3]))
    theta = np.sqrt(1.3 / problem.degrees.mean())
    arguments = (block[0], theta * problem.row_factors()[:, None] * W * s)
    steps = np.arange(21) / 20
    grid = [(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1]
    lowest = min(loss(np.array(w), *arguments) for w in grid)
    assert loss(placed[0], *arguments) <= lowest + 1e-9


def test_closed_form_and_steps_agree(rng, monkeypatch):
    rows, problem, W, s = fitted_rows(rng, n=40, k=4)
    theta = problem.row_factors()
    inside = rng.dirichlet(np.full(4, 9.0), size=30)
    exact = (inside * s) @ (theta[:, None] * W).T
    block = np.concatenate([exact, rng.uniform(0.0, 1.0, size=(30, 40))])
    degrees = np.full(60, rows.mean_degree)
    found = rows.place(block, degrees)
    np.testing.assert_allclose(found[:30], inside, atol=1e-9)
    assert np.any(found == 0.0)
    monkeypatch.setattr("soffit.factorize.simplex.placement._SINGULAR", 1.0)
    np.testing.assert_allclose(rows.place(block, degrees), found, atol=1e-6)


def test_fitted_objects_find_their_own_rows(rng):
    labels = np.repeat([0, 1, 2], 20)
    A = (rng.random((60, 60)) < np.where(labels[:, None] == labels, 0.7, 0.05)).astype(float)
    A = np.triu(A, 1) + np.triu(A, 1).T
    degrees = A.sum(axis=1)
    done = normalize(A, "degree")
    problem = Problem(done.matrix, 3, scale="cluster", degrees=degrees)
    found = solve_rows(problem, labels_start(labels, 3), max_iter=500, tol=1e-12)
    placed = FittedRows.of(problem, found).place(done.matrix, degrees)
    # A new object sees also the fitted one it copies, so that rows agree up to one term in 60.
    assert np.array_equal(placed.argmax(axis=1), labels)
    assert np.abs(placed - found.factor).mean() < 0.05


# --- objects that are alone, storage, precision --------------------------------------------------


@storages
@pytest.mark.parametrize("degrees", [False, True])
def test_objects_without_affinity_get_the_prior(rng, storage, degrees):
    rows, _, W, _ = fitted_rows(rng, degrees=degrees)
    block = rng.random((3, 30))
    block[1] = 0
    placed = rows.place(storage(block), block.sum(axis=1))
    assert np.array_equal(placed[1], W.mean(axis=0))
    assert not np.allclose(placed[0], W.mean(axis=0))


def test_fitted_objects_without_a_tie_get_the_mean_of_the_others(rng):
    A = np.ones((5, 5)) - np.eye(5)
    A[2] = A[:, 2] = 0
    W = rng.dirichlet(np.ones(3), size=5)
    fitted = FittedRows.fitted(Problem(A, 3), factorization(W, np.ones(3)))
    np.testing.assert_allclose(fitted[2], W[[0, 1, 3, 4]].mean(axis=0))
    assert np.array_equal(fitted[[0, 1, 3, 4]], W[[0, 1, 3, 4]])


def test_fit_without_any_tie_gives_the_prior(rng):
    problem = Problem(sp.csr_array((4, 4)), 2, degrees=np.zeros(4))
    rows = FittedRows.of(problem, factorization(rng.dirichlet([1, 1], size=4), np.ones(2)))
    placed = rows.place(sp.csr_array((3, 4)), np.zeros(3))
    assert placed.tolist() == [[0.5, 0.5]] * 3


def test_storage_does_not_matter(rng):
    rows, *_ = fitted_rows(rng)
    block = rng.random((5, 30)) * (rng.random((5, 30)) < 0.3)
    dense = rows.place(block, block.sum(axis=1))
    stored = rows.place(sp.csr_array(block), block.sum(axis=1))
    np.testing.assert_allclose(dense, stored, atol=1e-12)


def test_rows_do_not_depend_on_their_company(rng):
    rows, *_ = fitted_rows(rng)
    block = rng.random((6, 30))
    sums = block.sum(axis=1)
    together = rows.place(block, sums)
    alone = np.vstack([rows.place(block[[i]], sums[[i]]) for i in range(6)])
    np.testing.assert_allclose(together, alone, atol=1e-9)


def test_single_precision(rng):
    seed = int(rng.integers(2**31))
    block = rng.random((6, 30))
    single, double = (
        fitted_rows(np.random.default_rng(seed), dtype=dtype)[0].place(
            block.astype(dtype), block.sum(axis=1)
        )
        for dtype in (np.float32, np.float64)
    )
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=1e-4)
    np.testing.assert_allclose(single.sum(axis=1), 1.0, atol=1e-6)


def test_input_is_left_alone_and_pickling_changes_nothing(rng):
    rows, *_ = fitted_rows(rng)
    block = rng.random((4, 30))
    before = block.copy()
    placed = rows.place(block, block.sum(axis=1))
    assert np.array_equal(block, before)
    again = pickle.loads(pickle.dumps(rows)).place(block, block.sum(axis=1))
    assert placed.tobytes() == again.tobytes()


def test_rows_that_overflow_place_objects_on_the_simplex():
    rows = np.array([[1e200, 0.0], [0.0, 1e200]])
    known = FittedRows(rows=rows, scale=np.ones(2), mean_degree=None, prior=np.array([0.4, 0.6]))
    with np.errstate(all="ignore"):
        placed = known.place(np.array([[1.0, 0.0]]), np.ones(1))
    assert np.isfinite(placed).all()
    assert placed.sum() == pytest.approx(1.0)
