"""Spectral clustering: bound and cut, awkward graphs, memberships that keep the labels."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris
from tests.reference.problems import block_diagonal

from soffit import SpectralClustering
from soffit.datasets import Sample, make_moons
from soffit.metrics import accuracy, adjusted_rand
from soffit.models.spectral_clustering import with_label_ahead
from soffit.partition.cut import normalized_cut

WAYS = [
    {"variant": variant, "rounding": rounding}
    for variant, rounding in product(("njw", "ncut"), ("kmeans", "cluster_qr"))
]
every_way = pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))


def _fit(A: Any, k: int, **parameters: Any) -> SpectralClustering:
    return SpectralClustering(k, affinity="precomputed", random_state=29, **parameters).fit(A)


def _cliques(*sizes: int, bridge: float = 0.0) -> np.ndarray[Any, np.dtype[np.float64]]:
    A = block_diagonal([np.ones((n, n)) for n in sizes]).toarray()
    ends = np.cumsum(sizes)[:-1]
    A[ends - 1, ends] = A[ends, ends - 1] = bridge
    np.fill_diagonal(A, 0.0)
    return np.asarray(A)


def _check(model: SpectralClustering, k: int) -> None:
    n = len(model.labels_)
    assert model.memberships_.shape == model.embedding_.shape == (n, k)
    assert np.isfinite(model.memberships_).all()
    np.testing.assert_allclose(model.memberships_.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_array_equal(model.labels_, model.memberships_.argmax(axis=1))
    assert model.eigenvalues_.shape == (k,)
    assert np.all(np.diff(model.eigenvalues_) <= 0)
    assert 0.0 <= model.relaxed_bound_ <= model.cut_ <= k


@every_way
def test_moons(way: dict[str, Any]) -> None:
    sample = make_moons(240, random_state=6007)
    model = SpectralClustering(2, random_state=29, **way).fit(sample.X)
    _check(model, 2)
    assert adjusted_rand(sample.labels, model.labels_) == 1.0
    assert model.cut_ == pytest.approx(normalized_cut(model.affinity_matrix_, model.labels_))


@every_way
@settings(max_examples=15)
@given(seed=st.integers(1, 10**6), k=st.integers(1, 5))
def test_bound_is_below_the_cut_of_any_graph(way: dict[str, Any], seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((12, 12)) * (rng.random((12, 12)) < rng.uniform(0.05, 0.9)), 1)
    model = _fit(sp.csr_array(A + A.T), k, **way)
    _check(model, k)


@every_way
def test_relaxed_bound_against_all_partitions(way: dict[str, Any]) -> None:
    A = _cliques(3, 3, 2, bridge=0.2)
    model = _fit(A, 3, **way)
    best = min(normalized_cut(A, p) for p in product(range(3), repeat=8) if len(set(p)) == 3)
    assert model.relaxed_bound_ <= best
    assert model.cut_ == pytest.approx(best)


@every_way
def test_complete_graph_has_repeated_eigenvalues(way: dict[str, Any]) -> None:
    model = _fit(np.ones((12, 12)), 4, **way)
    _check(model, 4)
    np.testing.assert_allclose(model.eigenvalues_, [1, -1 / 11, -1 / 11, -1 / 11], atol=1e-9)
    assert len(np.unique(model.labels_)) == 4
    assert model.cut_ == pytest.approx(12 * 3 / 11)


@every_way
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_symmetric_ring_of_cliques(way: dict[str, Any], storage: Any) -> None:
    # Rotation makes the leading eigenvalues equal in pairs.
    A = _cliques(*[6] * 5, bridge=0.1)
    A[0, 29] = A[29, 0] = 0.1
    model = _fit(storage(A), 5, **way)
    _check(model, 5)
    assert adjusted_rand(np.repeat(np.arange(5), 6), model.labels_) == 1.0


@every_way
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_fewer_components_than_clusters(way: dict[str, Any], storage: Any) -> None:
    A = np.zeros((30, 30))
    A[:20, :20] = _cliques(10, 10, bridge=0.1)
    A[20:, 20:] = 1.0
    model = _fit(storage(A), 3, **way)
    _check(model, 3)
    assert adjusted_rand(np.repeat([0, 1, 2], 10), model.labels_) == 1.0


@every_way
def test_more_components_than_clusters(way: dict[str, Any]) -> None:
    A = block_diagonal([np.ones((m, m)) for m in (9, 5, 4, 3, 3, 2)])
    sparse, dense = _fit(A, 3, **way), _fit(A.toarray(), 3, **way)
    _check(sparse, 3)
    component = np.repeat(np.arange(6), (9, 5, 4, 3, 3, 2))
    for c in range(6):
        assert np.ptp(sparse.labels_[component == c]) == 0
    assert len(np.unique(sparse.labels_)) == 3
    assert sparse.cut_ == sparse.relaxed_bound_ == 0.0
    np.testing.assert_array_equal(sparse.labels_, dense.labels_)


@every_way
def test_isolated_objects_get_the_mean_membership(way: dict[str, Any]) -> None:
    A = np.zeros((25, 25))
    A[:20, :20] = _cliques(10, 10, bridge=0.1)
    for matrix in (A, sp.csr_array(A)):
        model = _fit(matrix, 2, **way)
        _check(model, 2)
        assert model.labels_[0] != model.labels_[10]
        assert not model.embedding_[20:].any()
        expected = np.tile(model.factor_[:20].mean(axis=0), (5, 1))
        np.testing.assert_allclose(model.memberships_[20:], expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore::soffit.exceptions.EmptyClusterWarning")
@every_way
def test_hardly_any_tie(way: dict[str, Any]) -> None:
    A = np.zeros((6, 6))
    A[1, 4] = A[4, 1] = 1.0
    for k in (1, 2, 3, 6):
        _check(_fit(A, k, **way), k)
    model = _fit(np.eye(6), 2, **way)
    np.testing.assert_allclose(model.memberships_, 0.5)


@every_way
def test_dense_and_sparse_agree(way: dict[str, Any], blobs: Sample) -> None:
    distance = np.linalg.norm(blobs.X[:, None] - blobs.X[None], axis=2)
    A = np.where(distance < 6.0, np.exp(-(distance**2) / 8), 0.0)
    dense, sparse = _fit(A, 3, **way), _fit(sp.csr_array(A), 3, **way)
    np.testing.assert_allclose(dense.eigenvalues_, sparse.eigenvalues_, atol=1e-9)
    assert dense.cut_ == pytest.approx(sparse.cut_, abs=1e-12)
    assert adjusted_rand(dense.labels_, sparse.labels_) == 1.0


def test_memberships_never_overrule_the_labels() -> None:
    rng = np.random.default_rng(4021)
    X = rng.normal(size=(150, 2))
    model = SpectralClustering(4, affinity="relative", random_state=29).fit(X)
    _check(model, 4)
    assert len(np.unique(model.labels_)) == 4
    assert np.mean(model.factor_.argmax(axis=1) != model.labels_) > 0
    single = SpectralClustering(4, affinity="relative", random_state=29).fit(X.astype(np.float32))
    assert single.memberships_.dtype == np.float32
    np.testing.assert_array_equal(single.labels_, single.memberships_.argmax(axis=1))


@given(seed=st.integers(1, 10**6), k=st.integers(2, 6))
def test_nearest_row_with_the_label_ahead(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.ones(k), size=20)
    labels = rng.integers(k, size=20)
    found = with_label_ahead(rows, labels)
    np.testing.assert_array_equal(found.argmax(axis=1), labels)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-12)
    assert (found >= 0).all()
    # No mixture with the label alone, the only other way that is always open, is nearer.
    alone = np.eye(k)[labels]
    for share in np.linspace(0, 1, 41):
        mixed = (1 - share) * rows + share * alone
        allowed = mixed.argmax(axis=1) == labels
        nearer = np.linalg.norm(mixed - rows, axis=1) < np.linalg.norm(found - rows, axis=1) - 1e-4
        assert not (allowed & nearer).any()


def test_random_state_seeds_kmeans_only(blobs: Sample) -> None:
    seeds = (29, 31)
    by_qr = [
        SpectralClustering(3, rounding="cluster_qr", random_state=seed).fit(blobs.X)
        for seed in seeds
    ]
    assert by_qr[0].memberships_.tobytes() == by_qr[1].memberships_.tobytes()


def test_uncertain_objects_lie_on_the_border() -> None:
    A = _cliques(10, 10, bridge=6.0)
    model = _fit(A, 2)
    assert set(np.argsort(model.entropy_)[-2:].tolist()) == {9, 10}


def test_real_data() -> None:
    X, y = load_iris(return_X_y=True)
    model = SpectralClustering(3, random_state=29).fit(X)
    assert accuracy(y, model.labels_) >= 0.9
