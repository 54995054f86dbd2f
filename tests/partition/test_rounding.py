"""Partitions from embeddings: no empty cluster, components found in both storages."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import svd
from scipy.sparse.csgraph import connected_components

from soffit.graph import Graph
from soffit.partition import rounding
from soffit.partition.rounding import (
    cluster_qr,
    distribute_components,
    fill_empty_clusters,
    kmeans,
)


@given(seed=st.integers(1, 10**6), k=st.integers(1, 6))
def test_no_cluster_stays_empty_and_few_objects_move(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(9, k))
    labels = rng.integers(max(k // 2, 1), size=9)
    kept = labels.copy()
    filled = fill_empty_clusters(labels, Y)
    np.testing.assert_array_equal(labels, kept)
    assert set(filled.tolist()) == set(range(k))
    assert np.sum(filled != labels) == k - len(set(labels.tolist()))


def test_the_worst_fitting_object_is_taken() -> None:
    Y = np.array([[0.0, 0.0], [0.1, 0.0], [0.0, 0.1], [5.0, 5.0]])
    np.testing.assert_array_equal(fill_empty_clusters(np.zeros(4, dtype=int), Y), [0, 0, 0, 1])


def test_fewer_distinct_rows_than_clusters_make_no_noise() -> None:
    Y = np.ones((6, 3))
    labels = kmeans(Y, 3, random_state=29, n_init=2)
    assert set(fill_empty_clusters(labels, Y).tolist()) == {0, 1, 2}


@given(seed=st.integers(1, 10**6), density=st.floats(0.0, 0.2))
def test_components_agree_with_scipy(seed: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((15, 15)) < density, 1).astype(float)
    A = A + A.T
    count, expected = connected_components(sp.csr_array(A), directed=False)
    for matrix in (A, sp.csr_array(A)):
        found = Graph.of(matrix).components()
        assert found.max() + 1 == count
        assert len(set(zip(found.tolist(), expected.tolist(), strict=True))) == count


def test_components_are_dealt_out_evenly() -> None:
    component = np.repeat([0, 1, 2, 3, 4], [2, 8, 3, 5, 4])
    labels = distribute_components(component, np.ones(22), 3)
    np.testing.assert_array_equal(np.sort(np.bincount(labels)), [7, 7, 8])
    for c in range(5):
        assert np.ptp(labels[component == c]) == 0


def test_an_svd_that_does_not_converge_is_repeated_by_iteration(monkeypatch) -> None:
    # LAPACK's division does so for some orthogonal matrices, on some processors.
    V = np.linalg.qr(np.random.default_rng(5).normal(size=(40, 6)))[0]
    expected = cluster_qr(V)
    drivers = []

    def failing(matrix, lapack_driver="gesdd"):
        drivers.append(lapack_driver)
        if lapack_driver == "gesdd":
            raise np.linalg.LinAlgError("SVD did not converge")
        return svd(matrix, lapack_driver=lapack_driver)

    monkeypatch.setattr(rounding, "svd", failing)
    np.testing.assert_array_equal(cluster_qr(V), expected)
    assert drivers == ["gesdd", "gesvd"]
