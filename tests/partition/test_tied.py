from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.partition.candidates import partitions_of_linked

storages = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])


@storages
def test_tied_objects_are_partitioned_and_others_dealt_out(storage):
    A = np.zeros((7, 7))
    A[1:4, 1:4] = 1.0
    seen = []

    def find(inner):
        seen.append(inner)
        return [np.array([1, 0, 1]), np.array([0, 0, 1])]

    found = partitions_of_linked(storage(A), 2, find)
    assert seen[0].shape == (3, 3)
    np.testing.assert_array_equal(found[0], [0, 1, 0, 1, 0, 1, 0])
    np.testing.assert_array_equal(found[1], [0, 0, 0, 1, 0, 1, 0])


def test_a_graph_without_isolated_objects_is_passed_on():
    A = np.ones((4, 4))
    (labels,) = partitions_of_linked(A, 2, lambda inner: [np.arange(4) // (2 if inner is A else 4)])
    np.testing.assert_array_equal(labels, [0, 0, 1, 1])


@pytest.mark.parametrize("k", [3, 5])
def test_few_tied_objects_have_clusters_of_their_own(k):
    A = np.zeros((6, 6))
    A[3:, 3:] = 1.0
    (labels,) = partitions_of_linked(A, k, lambda inner: pytest.fail("nothing to find"))
    np.testing.assert_array_equal(labels[3:], [0, 1, 2])
