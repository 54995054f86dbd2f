from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from soffit._threads import each
from soffit.partition.rounding import _lloyd, _Rows, improved_labels, kmeans, single_runs


def groups(n, k, d, seed, spread=4.0):
    """Rows about k centres, and the centre of each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(k, size=n)
    return rng.normal(size=(n, d)) + spread * rng.normal(size=(k, d))[labels], labels


def inertia(Y, labels):
    return sum(((Y[labels == c] - Y[labels == c].mean(axis=0)) ** 2).sum() for c in set(labels))


@given(
    n=st.integers(20, 600),
    k=st.integers(1, 12),
    d=st.integers(1, 9),
    n_init=st.integers(1, 3),
    seed=st.integers(0, 10_000),
)
def test_finds_what_scikit_learn_finds(n, k, d, n_init, seed):
    Y, _ = groups(n, k, d, seed)
    expected = KMeans(k, n_init=n_init, random_state=seed).fit(Y)
    found = kmeans(Y, k, random_state=seed, n_init=n_init)
    # The same draws and rules: the same labels, or another optimum where rounding decides.
    if n_init == 1:
        assert np.array_equal(found, expected.labels_)
    assert inertia(Y, found) <= expected.inertia_ * (1 + 1e-9) + 1e-9


@given(n=st.integers(20, 300), k=st.integers(1, 8), seed=st.integers(0, 10_000))
def test_weights_count_as_in_scikit_learn(n, k, seed):
    Y, _ = groups(n, k, 3, seed)
    weights = np.random.default_rng(seed).uniform(0.1, 5.0, n)
    expected = KMeans(k, n_init=1, random_state=seed).fit(Y, sample_weight=weights)
    assert np.array_equal(kmeans(Y, k, random_state=seed, weights=weights), expected.labels_)


def test_of_one_clustering_the_first_run_is_kept():
    Y, _ = groups(400, 4, 3, 8, spread=30.0)
    expected = KMeans(4, n_init=8, random_state=5).fit(Y)
    assert np.array_equal(kmeans(Y, 4, random_state=5, n_init=8), expected.labels_)


@given(n=st.integers(20, 300), k=st.integers(1, 8), seed=st.integers(0, 10_000))
def test_labels_are_improved_by_steps_of_k_means(n, k, seed):
    Y, start = groups(n, k, 3, seed, spread=1.0)
    used = np.unique(start)
    centers = np.array([Y[start == c].mean(axis=0) for c in used])
    nearest = ((Y[:, None, :] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert np.array_equal(improved_labels(Y, start, n_steps=1), used[nearest])
    assert inertia(Y, improved_labels(Y, start, n_steps=10)) <= inertia(Y, start) + 1e-9


@pytest.mark.parametrize("n", [255, 256, 257, 513])
def test_the_compiled_loop_does_what_numpy_does(n, limits):
    Y, _ = groups(n, 5, 4, n)
    rows = _Rows.of(Y, np.random.default_rng(n).uniform(0.1, 3.0, n))
    expected = rows.nearest(Y[:5])
    limits(kmeans_entries=0)
    for found, wanted in zip(rows.nearest(Y[:5]), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [255, 256, 257, 513])
def test_blocks_of_rows_end_anywhere(n, limits):
    limits(kmeans_entries=0)
    Y, _ = groups(n, 5, 4, n)
    expected = KMeans(5, n_init=1, random_state=2).fit(Y)
    assert np.array_equal(kmeans(Y, 5, random_state=2), expected.labels_)


def test_single_precision():
    Y, labels = groups(3000, 4, 6, 1, spread=10.0)
    found = kmeans(Y.astype(np.float32), 4, random_state=0, n_init=5)
    pairs = set(zip(labels, found, strict=True))
    assert len(pairs) == 4


def test_far_from_the_origin():
    Y, _ = groups(500, 3, 2, 5)
    assert np.array_equal(kmeans(Y + 1e6, 3, random_state=1), kmeans(Y, 3, random_state=1))


def test_equal_rows_leave_clusters_empty():
    Y = np.repeat([[0.0, 1.0], [5.0, 5.0]], 10, axis=0)
    labels = kmeans(Y, 4, random_state=0)
    assert len(set(labels[:10])) == len(set(labels[10:])) == 1
    assert labels[0] != labels[10]


def test_as_many_clusters_as_rows():
    Y = np.arange(12.0).reshape(6, 2)
    assert sorted(kmeans(Y, 6, random_state=0)) == list(range(6))


def test_an_empty_cluster_gets_the_row_farthest_out():
    # Two seeds in one place: the second cluster is empty after the first step.
    rows = _Rows.of(np.array([[0.0], [0.1], [0.2], [9.0]]), np.ones(4))
    labels, left = _lloyd(rows, np.array([[0.0], [0.0]]), 0.0, 100)
    assert labels.tolist() == [0, 0, 0, 1]
    assert left == pytest.approx(0.02)


def test_runs_side_by_side_are_the_same():
    Y, _ = groups(2000, 6, 5, 3)
    alone = [kmeans(Y, 6, random_state=seed) for seed in range(8)]
    together = each(lambda seed: kmeans(Y, 6, random_state=seed), range(8), 2)
    assert all(np.array_equal(a, b) for a, b in zip(alone, together, strict=True))


def test_single_runs_are_those_of_their_seeds():
    Y = np.random.default_rng(4).normal(size=(300, 5))
    for seed, labels in zip((3, 8), single_runs(Y, 6, (3, 8)), strict=True):
        assert np.array_equal(labels, kmeans(Y, 6, random_state=seed))
