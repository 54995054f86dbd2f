from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.problems import block_diagonal
from threadpoolctl import threadpool_limits

from soffit.affinity import NeighborGraph
from soffit.factorize import diffused_start, labels_start, random_start, spectral_start
from soffit.metrics import adjusted_rand
from soffit.normalize import normalize


def assert_on_simplex(W, shape):
    assert W.shape == shape
    assert np.all(np.isfinite(W))
    assert np.all(W >= 0)
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-12)


def chance(seed):
    return np.random.RandomState(seed)


@pytest.fixture(autouse=True)
def one_thread():
    """As in the models: many threads for small matrices only wait for one another."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def two_blobs():
    rng = np.random.default_rng(5087)
    X = rng.normal(size=(120, 2)) + np.repeat([[0.0, 0.0], [6.0, 0.0]], 60, axis=0)
    return NeighborGraph(10).fit(X).matrix_, np.repeat([0, 1], 60)


@given(st.integers(1, 40), st.integers(1, 8), st.integers(0, 2**31))
def test_random_rows_lie_on_the_simplex(n, k, seed):
    W = random_start(n, k, chance(seed))
    assert_on_simplex(W, (n, k))
    assert np.array_equal(W, random_start(n, k, chance(seed)))


def test_random_rows_are_spread_evenly_over_the_simplex():
    W = random_start(20_000, 3, chance(271))
    # Flat Dirichlet: mean 1/k, variance (k - 1) / (k^2 (k + 1)).
    np.testing.assert_allclose(W.mean(axis=0), 1 / 3, atol=0.01)
    np.testing.assert_allclose(W.var(axis=0), 2 / 36, atol=0.002)


@given(st.integers(1, 6), st.floats(0.0, 0.9), st.integers(0, 2**31))
def test_labels_are_respected(k, spread, seed):
    labels = np.random.default_rng(seed).integers(0, k, size=12)
    W = labels_start(labels, k, spread=spread)
    assert_on_simplex(W, (12, k))
    assert np.array_equal(W.argmax(axis=1), labels)
    np.testing.assert_allclose(W[np.arange(12), labels], 1 - spread + spread / k)


def test_labels_lock_in_no_zero():
    assert labels_start(np.array([0, 2, 2]), 4).min() > 0


@pytest.mark.parametrize("rounding", ["qr", "kmeans"])
@pytest.mark.parametrize("dense", [False, True])
def test_spectral_start_finds_the_blobs(two_blobs, rounding, dense):
    A, labels = two_blobs
    N = normalize(A.toarray() if dense else A, "degree").matrix
    W = spectral_start(N, 2, rounding=rounding, random_state=13)
    assert_on_simplex(W, (120, 2))
    assert adjusted_rand(labels, W.argmax(axis=1)) > 0.95


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_diffused_rows_lie_on_the_simplex(two_blobs, dense, k):
    A, _ = two_blobs
    W = diffused_start(A.toarray() if dense else A, k, chance(77))
    assert_on_simplex(W, (120, k))
    assert np.array_equal(W, diffused_start(A.toarray() if dense else A, k, chance(77)))


def test_diffused_rows_tell_blobs_apart_better_than_chance(two_blobs):
    A, labels = two_blobs

    def score(make):
        found = [make(chance(seed)).argmax(axis=1) for seed in range(30, 40)]
        return np.mean([adjusted_rand(labels, f) for f in found])

    random = score(lambda seed: random_start(120, 2, seed))
    diffused = score(lambda seed: diffused_start(A, 2, seed))
    assert abs(random) < 0.1
    assert diffused > 0.5


@pytest.mark.parametrize("dense", [False, True])
def test_objects_without_ties_do_not_drown_the_others(two_blobs, dense):
    A, _ = two_blobs
    more = block_diagonal([A, sp.csr_array((3, 3))])
    W = diffused_start(more.toarray() if dense else more, 2, chance(77))
    assert_on_simplex(W, (123, 2))
    np.testing.assert_allclose(W[120:], 0.5)
    spread = W[:120].std(axis=0)
    assert np.all(spread > 0.2)


def test_diffusion_without_any_tie_is_uniform():
    W = diffused_start(sp.csr_array((4, 4)), 3, chance(77))
    np.testing.assert_allclose(W, 1 / 3)
