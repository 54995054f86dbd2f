from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from soffit.neighbors.distances import distances as all_distances
from soffit.neighbors.kernels import nearest_by_rank, shared_neighbors
from soffit.neighbors.search import (
    _among_themselves,
    _by_products,
    _dtype_of_ranks,
    _one_by_one,
    _ordered,
    _rounds,
    nearest_neighbors,
    neighbors_of,
)

TREE, PRODUCTS = 3, 12
both_paths = pytest.mark.parametrize("n_columns", [TREE, PRODUCTS])
both_precisions = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def brute_force(X, n_neighbors, metric="euclidean"):
    """Sort all others by (distance, index), one object at a time."""
    D = cdist(X.astype(np.float64), X.astype(np.float64), metric)
    indices, distances = [], []
    for i, row in enumerate(D):
        order = sorted((value, j) for j, value in enumerate(row) if j != i)[:n_neighbors]
        indices.append([j for _, j in order])
        distances.append([value for value, _ in order])
    return np.array(indices), np.array(distances)


def assert_valid(X, indices, distances, metric="euclidean", rtol=1e-6):
    """The listed distances are those of the listed objects, in order; nobody lists itself."""
    n = len(X)
    D = cdist(X.astype(np.float64), X.astype(np.float64), metric)
    np.testing.assert_allclose(
        distances, np.take_along_axis(D, indices, axis=1), rtol=rtol, atol=rtol * D.max()
    )
    assert not np.any(indices == np.arange(n)[:, None])
    assert all(len(set(row)) == len(row) for row in indices.tolist())
    assert_ordered(indices, distances)


def assert_ordered(indices, distances):
    later = np.diff(distances, axis=1) > 0
    tied = np.diff(distances, axis=1) == 0
    assert np.all(later | (tied & (np.diff(indices, axis=1) > 0)))


@pytest.fixture
def rng():
    return np.random.default_rng(6571)


# --- Euclidean distances -------------------------------------------------------------------------


@both_paths
@both_precisions
@pytest.mark.parametrize("n", [2, 37, 600])
def test_equals_brute_force(rng, n, n_columns, dtype):
    X = rng.normal(size=(n, n_columns)).astype(dtype)
    indices, distances = nearest_neighbors(X, min(9, n - 1))
    expected = brute_force(X, min(9, n - 1))
    assert np.array_equal(indices, expected[0])
    np.testing.assert_allclose(distances, expected[1], rtol=1e-6 if dtype == np.float32 else 1e-12)
    assert distances.dtype == dtype


@both_paths
@pytest.mark.parametrize("asked", [11, 12, 500])
def test_more_neighbors_than_others_lists_all_others(rng, n_columns, asked):
    X = rng.normal(size=(12, n_columns))
    indices, distances = nearest_neighbors(X, asked)
    assert indices.shape == (12, 11)
    assert np.array_equal(indices, brute_force(X, 11)[0])
    assert_ordered(indices, distances)


@both_precisions
@pytest.mark.parametrize("gap", [1e3, 1e5, 1e7])
def test_far_apart_groups_do_not_cost_precision(rng, dtype, gap):
    # |x|^2 + |y|^2 - 2xy alone would have lost all digits here.
    X = rng.normal(size=(300, PRODUCTS)) + gap * rng.integers(0, 2, size=(300, 1))
    X = X.astype(dtype)
    _, distances = nearest_neighbors(X, 6)
    np.testing.assert_allclose(distances, brute_force(X, 6)[1], rtol=1e-6)


def test_products_that_overflow_do_not_matter(rng):
    X = (rng.normal(size=(60, PRODUCTS)) * 1e25).astype(np.float32)
    for n_jobs in (1, 2):
        indices, _ = nearest_neighbors(X, 5, n_jobs=n_jobs)
        assert np.array_equal(indices, brute_force(X, 5)[0])


@both_paths
@both_precisions
def test_many_copies(rng, n_columns, dtype):
    X = np.repeat(rng.normal(size=(6, n_columns)), 20, axis=0).astype(dtype)
    X = X[rng.permutation(len(X))]
    for n_neighbors in (5, 19, 30):
        indices, distances = nearest_neighbors(X, n_neighbors)
        assert_valid(X, indices, distances)
        assert np.all(distances[:, : min(n_neighbors, 19)] == 0)
        assert np.all(distances[:, 19:] > 0)


@both_paths
def test_all_objects_are_copies(n_columns):
    X = np.full((30, n_columns), 0.1)
    indices, distances = nearest_neighbors(X, 4)
    assert_valid(X, indices, distances)
    assert np.all(distances == 0)


def test_ties_of_products_go_to_the_smallest_index(rng):
    X = rng.integers(0, 2, size=(120, PRODUCTS)).astype(np.float64)
    expected = brute_force(X, 7)
    indices, distances = nearest_neighbors(X, 7)
    assert np.array_equal(indices, expected[0])
    assert np.array_equal(distances, expected[1])


grids = st.tuples(st.integers(2, 25), st.sampled_from([1, 2, 9])).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
)


@given(grids, st.integers(1, 30), st.sampled_from([np.float32, np.float64]))
def test_integer_grids(X, n_neighbors, dtype):
    X = X.astype(dtype)
    indices, distances = nearest_neighbors(X, n_neighbors)
    expected = brute_force(X, n_neighbors)
    assert indices.shape == expected[0].shape
    np.testing.assert_allclose(distances, expected[1], rtol=1e-6)
    assert_valid(X, indices, distances)


@both_paths
def test_storage_order_and_input_are_left_alone(rng, n_columns):
    X = np.asfortranarray(rng.normal(size=(90, n_columns)))
    before = X.copy()
    X.flags.writeable = False
    indices, distances = nearest_neighbors(X, 5)
    again = nearest_neighbors(np.ascontiguousarray(X), 5)
    assert np.array_equal(X, before)
    assert np.array_equal(indices, again[0])
    assert np.array_equal(distances, again[1])


@both_paths
def test_new_objects(rng, n_columns):
    X, X_new = rng.normal(size=(150, n_columns)), rng.normal(size=(20, n_columns))
    indices, distances = neighbors_of(X_new, X, 8, metric="euclidean")
    D = cdist(X_new, X)
    assert np.array_equal(indices, np.argsort(D, axis=1)[:, :8])
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :8])


def test_one_object_has_no_neighbors():
    indices, distances = nearest_neighbors(np.zeros((1, 2)), 3)
    assert indices.shape == distances.shape == (1, 0)


# --- other metrics -------------------------------------------------------------------------------


def canberra_like(x, y):
    return float(np.abs(x - y).sum() / (1.0 + np.abs(x).sum() + np.abs(y).sum()))


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev", canberra_like])
@both_precisions
def test_other_metrics_equal_brute_force(rng, metric, dtype):
    X = rng.normal(size=(80, 4)).astype(dtype)
    expected = brute_force(X, 6, "cityblock" if metric == "manhattan" else metric)
    indices, distances = nearest_neighbors(X, 6, metric=metric)
    assert distances.dtype == dtype
    np.testing.assert_allclose(distances, expected[1], rtol=1e-4 if dtype == np.float32 else 1e-9)
    if dtype == np.float64:
        assert np.array_equal(indices, expected[0])


@pytest.mark.parametrize("metric", ["mahalanobis", "seuclidean"])
def test_scales_of_a_metric_come_from_the_fitted_objects(rng, metric):
    X, X_new = rng.normal(size=(50, 3)) * [1.0, 10.0, 0.1], rng.normal(size=(4, 3))
    D = all_distances(X_new, X, metric=metric)
    indices, distances = neighbors_of(X_new, X, 5, metric=metric)
    assert np.array_equal(indices, np.argsort(D, axis=1)[:, :5])
    np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, :5])


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_sparse_features(rng, metric):
    dense = np.where(rng.random((70, 30)) < 0.3, rng.normal(size=(70, 30)), 0.0)
    indices, distances = nearest_neighbors(sp.csr_array(dense), 6, metric=metric)
    expected = brute_force(dense, 6, "cityblock" if metric == "manhattan" else metric)
    assert np.array_equal(indices, expected[0])
    np.testing.assert_allclose(distances, expected[1], rtol=1e-7)


# --- distances -----------------------------------------------------------------------------------


@both_precisions
def test_precomputed_distances(rng, dtype):
    X = rng.integers(0, 4, size=(50, 2)).astype(dtype)
    D = cdist(X, X).astype(dtype)
    indices, distances = nearest_neighbors(D, 7, metric="precomputed")
    expected = brute_force(X, 7)
    assert np.array_equal(indices, expected[0])
    np.testing.assert_allclose(distances, expected[1], rtol=1e-6)
    assert distances.dtype == dtype


@pytest.mark.parametrize("own_stored", [False, True])
def test_sparse_precomputed_distances(rng, own_stored):
    X = rng.normal(size=(40, 2))
    D = cdist(X, X)
    near = np.quantile(D, 0.3) > D
    row, column = np.nonzero(near & (own_stored | ~np.eye(40, dtype=bool)))
    stored = sp.csr_array((D[row, column], (row, column)), shape=(40, 40))
    indices, distances = nearest_neighbors(stored, 12, metric="precomputed")
    for i in range(40):
        known = sorted((D[i, j], j) for j in column[row == i] if j != i)[:12]
        assert indices[i, : len(known)].tolist() == [j for _, j in known]
        assert distances[i, : len(known)].tolist() == [value for value, _ in known]
        assert np.all(indices[i, len(known) :] == -1)
        assert np.all(np.isinf(distances[i, len(known) :]))
    assert np.any(indices == -1)


def test_stored_zeros_are_distances_of_copies():
    D = sp.csr_array(
        (np.array([0.0, 0.0, 2.0, 2.0]), (np.array([0, 1, 1, 2]), np.array([1, 0, 2, 1]))),
        shape=(3, 3),
    )
    indices, distances = nearest_neighbors(D, 2, metric="precomputed")
    assert indices.tolist() == [[1, -1], [0, 2], [1, -1]]
    assert distances.tolist() == [[0.0, np.inf], [0.0, 2.0], [2.0, np.inf]]


# --- invariants ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_columns", "metric"), [(3, "euclidean"), (12, "l2"), (3, "manhattan")])
def test_threads_do_not_change_the_bytes(rng, n_columns, metric):
    X = np.round(rng.normal(size=(700, n_columns)), 1)
    one, two = (nearest_neighbors(X, 10, metric=metric, n_jobs=jobs) for jobs in (1, 2))
    assert one[0].tobytes() == two[0].tobytes()
    assert one[1].tobytes() == two[1].tobytes()


@both_paths
def test_permuting_the_objects_permutes_the_lists(rng, n_columns):
    X = rng.normal(size=(300, n_columns))
    order = rng.permutation(300)
    indices, distances = nearest_neighbors(X, 8)
    permuted = nearest_neighbors(X[order], 8)
    assert np.array_equal(order[permuted[0]], indices[order])
    np.testing.assert_allclose(permuted[1], distances[order], rtol=1e-12)


# --- kernels and their twins ---------------------------------------------------------------------


def nearest_by_rank_twin(rows, reference, n_neighbors):
    """Exact distances alone: the ranks only save work."""
    D = np.sqrt(((rows[:, None, :] - reference[None, :, :]) ** 2).sum(axis=2))
    indices = np.argsort(D, axis=1, kind="stable")[:, :n_neighbors]
    return indices, np.take_along_axis(D, indices, axis=1)


@pytest.mark.parametrize("n_groups", [10, 25, 60])
@pytest.mark.parametrize("noise", [0.0, 0.3, 30.0])
def test_rank_kernel_agrees_with_its_twin_whatever_the_rounding(rng, noise, n_groups):
    rows, reference = rng.normal(size=(15, 4)), rng.normal(size=(60, 4))
    half_own = 0.5 * (rows**2).sum(axis=1)
    ranks = 0.5 * (reference**2).sum(axis=1) - rows @ reference.T
    ranks += rng.uniform(-noise, noise, size=ranks.shape)
    reach = noise + 1e-9 - half_own
    indices, squares = np.empty((15, 5), dtype=np.int64), np.empty((15, 5))
    room = np.empty(n_groups), np.empty(9), np.empty(9, dtype=int), np.empty(60, dtype=int)
    nearest_by_rank(ranks, reach, rows, reference, *room, indices, squares)
    expected = nearest_by_rank_twin(rows, reference, 5)
    assert np.array_equal(indices, expected[0])
    np.testing.assert_allclose(np.sqrt(squares), expected[1], rtol=1e-12)


def shared_neighbors_twin(lists_a, lists_b, first, second):
    pairs = zip(first, second, strict=True)
    return np.array([len(np.intersect1d(lists_a[i], lists_b[j])) for i, j in pairs], dtype=int)


@given(st.integers(0, 2**31), st.integers(0, 6), st.integers(0, 6))
def test_shared_kernel_agrees_with_its_twin(seed, length_a, length_b):
    rng = np.random.default_rng(seed)
    lists_a = np.array([np.sort(rng.permutation(8)[:length_a]) for _ in range(5)], dtype=np.int64)
    lists_b = np.array([np.sort(rng.permutation(8)[:length_b]) for _ in range(4)], dtype=np.int64)
    first, second = (index.ravel() for index in np.indices((5, 4)))
    count = np.empty(len(first), dtype=np.int32)
    shared_neighbors(lists_a, lists_b, first, second, count)
    assert np.array_equal(count, shared_neighbors_twin(lists_a, lists_b, first, second))


@pytest.mark.parametrize(
    ("scale", "outlier", "expected"),
    [
        (1.0, 0.0, np.float32),
        (1e-8, 0.0, np.float64),
        (1e8, 0.0, np.float64),
        (1.0, 1e6, np.float64),
    ],
)
def test_ranks_are_single_only_where_rounding_leaves_few_pairs_open(rng, scale, outlier, expected):
    X = rng.normal(size=(2400, PRODUCTS))
    X[0] += outlier
    X *= scale
    centred = X - X.mean(axis=0)
    half_norms = 0.5 * np.einsum("ij,ij->i", centred, centred)
    assert _dtype_of_ranks(centred, half_norms, 7) == expected
    # Few rows do not wait for a second loop to be compiled.
    assert _dtype_of_ranks(centred[:600], half_norms[:600], 7) == np.float64
    indices, distances = nearest_neighbors(X, 7)
    assert distances.dtype == np.float64
    assert np.array_equal(indices, brute_force(X, 7)[0])


def test_tight_groups_far_apart_are_ranked_in_double_precision(rng):
    X = rng.normal(size=(600, PRODUCTS)) + 1e4 * rng.integers(0, 2, size=(600, 1))
    centred = X - X.mean(axis=0)
    half_norms = 0.5 * np.einsum("ij,ij->i", centred, centred)
    assert _dtype_of_ranks(centred, half_norms, 7) == np.float64


def test_ctrl_c_during_the_search_leaves_the_interpreter_alive():
    # Threads that worked on after the interrupt would read and write released memory.
    code = """
import os, signal, threading, time
import numpy as np
from soffit.neighbors.search import nearest_neighbors

# Jobs in the background of a shell ignore Ctrl-C, and so do the processes that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
X = np.random.default_rng(7).normal(size=(100_000, 7))
nearest_neighbors(X[:1000], 30, n_jobs=2)
threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    nearest_neighbors(X, 30, n_jobs=2)
except KeyboardInterrupt:
    # What other threads work, without what allocating costs this one.
    begin = time.process_time() - time.thread_time()
    del X
    others = [np.ones(10**6) for _ in range(30)]
    time.sleep(1.0)
    print("alive", time.process_time() - time.thread_time() - begin < 0.2)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "alive True"), done.stderr


# --- many rows of wide tables --------------------------------------------------------------------


@pytest.mark.parametrize("n", [2000, 2051, 3500])
@pytest.mark.parametrize("noise", [1.0, 1e-4])
def test_tiles_find_what_products_find(rng, n, noise):
    """Also where rounding in single precision leaves the nearest open."""
    X = rng.normal(size=(n // 50, 70))[rng.integers(n // 50, size=n)]
    X = (X + noise * rng.normal(size=X.shape)).astype(np.float32)
    X[:4] = X[4]
    found = _ordered(*_among_themselves(X, 12, 2))
    expected = _ordered(*_by_products(X, X, 12, 1))
    assert np.array_equal(found[0], expected[0])
    assert np.array_equal(found[1], expected[1])


@given(st.integers(1, 9))
def test_rounds_hold_every_pair_once_and_no_part_twice(count):
    parts = [range(a, a + 3) for a in range(0, 3 * count, 3)]
    rounds = list(_rounds(parts))
    for pairs in rounds[1:]:
        used = [part.start for pair in pairs for part in pair]
        assert len(set(used)) == len(used)
    found = sorted(tuple(sorted((a.start, b.start))) for pairs in rounds for a, b in pairs)
    starts = [part.start for part in parts]
    assert found == sorted((a, b) for a in starts for b in starts if a <= b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 300.0])
def test_few_new_rows_find_what_many_find(rng, dtype, offset):
    X = (rng.normal(size=(3_000, 70)) + offset).astype(dtype)
    X[100:140] = X[5]  # more copies than neighbours
    new = np.ascontiguousarray(X[[5, 7, 139]])
    new[1] += dtype(0.25)
    found = _ordered(*_one_by_one(new, X, 12, 2))
    expected = _ordered(*_by_products(new, X, 12, 1))
    for values, others in zip(found, expected, strict=True):
        np.testing.assert_array_equal(values, others)
        assert values.dtype == others.dtype


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_shared_columns_find_the_true_neighbours_of_sparse_rows(rng, metric):
    X = sp.random_array((2100, 300), density=0.03, random_state=rng, format="csr")
    X[7] *= 0.0
    found = neighbors_of(X, X, 6, metric=metric)
    expected = np.sort(cdist(X.toarray(), X.toarray(), "euclidean"), axis=1)[:, :6]
    if metric == "cosine":
        norms = np.maximum(np.sqrt(X.multiply(X).sum(axis=1)), 1e-300)
        cosines = (X @ X.T).toarray() / norms[:, None] / norms
        expected = np.sort(1.0 - cosines, axis=1)[:, :6]
    np.testing.assert_allclose(found[1], np.maximum(expected, 0.0), atol=1e-7)
    again = neighbors_of(X[:50], X, 6, metric=metric, n_jobs=1)
    assert np.array_equal(again[0], found[0][:50])
