from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from soffit.affinity import NeighborGraph
from soffit.memberships import random_walk, sharpen, walk_length
from soffit.memberships.calibration import _MOST_STEPS, random_walks

storages = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


def graph(n, rng, density=0.3):
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density), 1)
    return A + A.T


def simplex_rows(n, k, rng, dtype=np.float64):
    return rng.dirichlet(np.full(k, 0.5), size=n).astype(dtype)


def naive_walk(A, W, steps):
    """One object at a time; also the rows of every step."""
    rows = [W]
    for _ in range(steps):
        W = W.copy()
        for i, weights in enumerate(A):
            if weights.sum() > 0:
                W[i] = (rows[-1][i] + weights @ rows[-1] / weights.sum()) / 2
        rows.append(W)
    return rows


@pytest.fixture
def rng():
    return np.random.default_rng(3691)


# --- the walk ------------------------------------------------------------------------------------


@storages
@given(st.integers(0, 2**31), st.integers(1, 12), st.integers(1, 4), st.integers(0, 6))
def test_agrees_with_a_naive_walk(storage, seed, n, k, steps):
    rng = np.random.default_rng(seed)
    A, W = graph(n, rng), simplex_rows(n, k, rng)
    walked = random_walk(storage(A), W, steps).memberships
    np.testing.assert_allclose(walked, naive_walk(A, W, steps)[-1], atol=1e-12)


@storages
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-12), (np.float32, 1e-3)])
def test_rows_stay_on_the_simplex(rng, storage, dtype, tol):
    A, W = storage(graph(60, rng).astype(dtype)), simplex_rows(60, 4, rng, dtype)
    before = W.copy()
    walk = random_walk(A, W, 1024)
    assert np.array_equal(W, before)
    assert walk.memberships.dtype == dtype
    assert np.all(walk.memberships >= 0)
    np.testing.assert_allclose(walk.memberships.sum(axis=1), 1.0, atol=tol)
    sharpened = sharpen(walk.memberships, 1.5)
    np.testing.assert_allclose(sharpened.sum(axis=1), 1.0, atol=min(tol, 1e-6))


@storages
def test_isolated_objects_stay(rng, storage):
    A, W = graph(20, rng), simplex_rows(20, 3, rng)
    A[[4, 11]] = A[:, [4, 11]] = 0
    walked = random_walk(storage(A), W, 9).memberships
    assert np.array_equal(walked[[4, 11]], W[[4, 11]])
    assert not np.allclose(walked[0], W[0])


@storages
def test_no_ties_at_all(rng, storage):
    W = simplex_rows(5, 2, rng)
    walk = random_walk(storage(np.zeros((5, 5))), W, 30)
    assert np.array_equal(walk.memberships, W)
    assert np.array_equal(walk.arrive(storage(np.zeros((2, 5))), W[:2]), W[:2])


@storages
def test_two_sided_graph_does_not_oscillate(storage):
    A = np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((3, 3)))
    W = np.repeat(np.eye(2), 3, axis=0)
    even, odd = (random_walk(storage(A), W, steps).memberships for steps in (50, 51))
    np.testing.assert_allclose(even, odd, atol=1e-9)
    np.testing.assert_allclose(even, 0.5, atol=1e-9)


def test_long_walk_forgets_everything_but_the_component(rng):
    A = np.kron(np.eye(2), np.ones((6, 6)) - np.eye(6))
    W = simplex_rows(12, 3, rng)
    walked = random_walk(A, W, 400).memberships
    np.testing.assert_allclose(walked[:6], np.broadcast_to(W[:6].mean(axis=0), (6, 3)), atol=1e-9)
    np.testing.assert_allclose(walked[6:], np.broadcast_to(W[6:].mean(axis=0), (6, 3)), atol=1e-9)


def test_no_step_changes_nothing(rng):
    W = simplex_rows(7, 3, rng)
    walk = random_walk(graph(7, rng), W, 0)
    assert np.array_equal(walk.memberships, W)
    np.testing.assert_allclose(walk.arrive(np.ones((2, 7)), W[:2]), W[:2])


def test_permuting_the_objects_permutes_the_walk(rng):
    A, W = graph(30, rng), simplex_rows(30, 3, rng)
    order = rng.permutation(30)
    plain = random_walk(A, W, 7).memberships
    permuted = random_walk(A[np.ix_(order, order)], W[order], 7).memberships
    np.testing.assert_allclose(permuted, plain[order], atol=1e-12)


# --- new objects ---------------------------------------------------------------------------------


@storages
@pytest.mark.parametrize("steps", [0, 1, 2, 17, 1024])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-12), (np.float32, 1e-3)])
def test_copy_of_a_fitted_object_walks_like_the_object(rng, storage, steps, dtype, tol):
    A, W = graph(40, rng).astype(dtype), simplex_rows(40, 3, rng, dtype)
    A[7] = A[:, 7] = 0  # alone
    walk = random_walk(storage(A), W, steps)
    arrived = walk.arrive(storage(A), W)
    assert arrived.dtype == dtype
    np.testing.assert_allclose(arrived, walk.memberships, atol=tol)


@storages
@given(st.integers(0, 2**31), st.integers(0, 6))
def test_new_objects_look_at_the_fitted_ones_of_every_step(storage, seed, steps):
    rng = np.random.default_rng(seed)
    A, W = graph(9, rng), simplex_rows(9, 3, rng)
    block, W_new = rng.random((4, 9)) * (rng.random((4, 9)) < 0.5), simplex_rows(4, 3, rng)
    arrived = random_walk(storage(A), W, steps).arrive(storage(block), W_new)
    expected = W_new.copy()
    for rows in naive_walk(A, W, steps)[:steps]:
        for i, weights in enumerate(block):
            if weights.sum() > 0:
                expected[i] = (expected[i] + weights @ rows / weights.sum()) / 2
    np.testing.assert_allclose(arrived, expected, atol=1e-12)
    np.testing.assert_allclose(arrived.sum(axis=1), 1.0, atol=1e-12)


# --- length and sharpness ------------------------------------------------------------------------


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_length_grows_with_the_eigenvalue(a, b):
    short, long = walk_length(min(a, b)), walk_length(max(a, b))
    assert 1 <= short <= long <= _MOST_STEPS


@pytest.mark.parametrize(
    ("eigenvalue", "steps"),
    [(-1.0, 1), (0.0, 1), (0.75, 2), (0.984375, 32), (1.0, _MOST_STEPS), (1.001, _MOST_STEPS)],
)
def test_length(eigenvalue, steps):
    assert walk_length(eigenvalue) == steps


@given(arrays(np.float64, (5, 4), elements=st.floats(0, 1)), st.floats(0.5, 4))
def test_sharpening_keeps_order_and_simplex(values, power):
    W = (values + 1e-3) / (values + 1e-3).sum(axis=1, keepdims=True)
    sharpened = sharpen(W, power)
    np.testing.assert_allclose(sharpened.sum(axis=1), 1.0)
    np.testing.assert_allclose(sharpened, W**power / (W**power).sum(axis=1, keepdims=True))
    if power >= 1:
        assert np.all(sharpened.max(axis=1) >= W.max(axis=1) - 1e-12)


def test_sharpening_edge_cases():
    W = np.array([[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]], dtype=np.float32)
    sharpened = sharpen(W, 2.0)
    assert sharpened.dtype == np.float32
    np.testing.assert_allclose(sharpened, [[1.0, 0.0], [0.5, 0.5], [0.1, 0.9]], rtol=1e-6)
    np.testing.assert_allclose(sharpen(W, 1.0), W)
    # Many clusters and a large power: the row's largest entry is its unit.
    wide = np.full((1, 2000), 1 / 2000, dtype=np.float32)
    np.testing.assert_allclose(sharpen(wide, 20.0), wide, rtol=1e-5)


@pytest.mark.parametrize("n", [60, 2500])
def test_walks_from_several_starts_are_those_of_single_ones(n):
    graph = NeighborGraph(n_neighbors=6).fit(np.random.default_rng(0).normal(size=(n, 3))).matrix_
    starts = [np.eye(k)[np.arange(n) % k] for k in (2, 3)]
    together = random_walks(graph, starts, 9)
    for start, found in zip(starts, together, strict=True):
        expected = random_walk(graph, start, 9).memberships
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-12)


def test_sparse_memberships_walk_like_dense_ones():
    random = np.random.RandomState(3)
    upper = np.triu(random.uniform(size=(60, 60)) < 0.1, 1) * random.uniform(0.5, 1, (60, 60))
    A = upper + upper.T
    A[7] = A[:, 7] = 0.0
    W = np.eye(12)[random.randint(12, size=60)]
    expected = random_walk(sp.csr_array(A), W, 3)
    new = sp.csr_array(random.uniform(size=(5, 60)) * (random.uniform(size=(5, 60)) < 0.2))
    starts = np.full((5, 12), 1 / 12)
    arrived = expected.arrive(new, starts)
    for matrix in (A, sp.csr_array(A)):
        found = random_walk(matrix, sp.csr_array(W), 3)
        np.testing.assert_allclose(found.memberships.toarray(), expected.memberships, atol=1e-3)
        np.testing.assert_allclose(found.seen.toarray(), expected.seen, atol=1e-3)
        placed = found.arrive(new, sp.csr_array(starts))
        np.testing.assert_allclose(placed.sum(axis=1), 1.0)
        np.testing.assert_allclose(placed.toarray(), arrived, atol=1e-3)
    assert np.array_equal(found.memberships[[7]].toarray()[0], W[7])
