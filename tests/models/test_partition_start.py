from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.factorize.starts import partition_start

storages = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


@storages
def test_cliques_are_told_apart(storage):
    A = np.kron(np.eye(3), np.ones((10, 10))) + 0.01
    labels = partition_start(storage(A), 3).argmax(axis=1)
    assert len({tuple(labels[10 * c : 10 * c + 10]) for c in range(3)}) == 3
    assert all(len(set(labels[10 * c : 10 * c + 10])) == 1 for c in range(3))


@storages
def test_rows_are_positive_and_sum_to_one(storage):
    A = np.random.default_rng(5).random((20, 20))
    rows = partition_start(storage(A + A.T), 4)
    assert rows.shape == (20, 4)
    assert rows.min() > 0
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)


@storages
def test_isolated_objects_and_negative_ties_are_harmless(storage):
    A = np.zeros((13, 13))
    A[:5, :5] = A[5:10, 5:10] = 1.0
    A[0, 5] = A[5, 0] = -1.0
    labels = partition_start(storage(A), 2).argmax(axis=1)
    assert len(set(labels[:5])) == len(set(labels[5:10])) == 1
    assert labels[0] != labels[5]


@storages
@pytest.mark.parametrize("k", [1, 3])
def test_nothing_to_go_by(storage, k):
    labels = partition_start(storage(np.eye(6)), k).argmax(axis=1)
    np.testing.assert_array_equal(np.bincount(labels), np.full(k, 6 // k))
