from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.problems import block_diagonal
from tests.reference.relations import planted_graph

from soffit.selection.pruning import count_clusters, starting_number


@pytest.mark.parametrize(
    ("sizes", "seed"),
    [
        ([60, 90, 120], 3),
        ([50, 60, 70, 80, 150], 5),
        ([60, 70, 80, 90, 100, 110, 120, 150, 200], 7),
        ([60 + 7 * b for b in range(15)], 11),
    ],
)
def test_unequal_planted_blocks_are_counted(sizes, seed):
    A, _ = planted_graph(sizes, seed, inside=12.0, outside=2.0)
    count = count_clusters(A)
    assert count.n_clusters == len(sizes)
    assert count.alive.shape == count.thresholds.shape
    assert (np.diff(count.alive) <= 0).all()
    assert count.alive[-1] == 1
    assert starting_number(A) > len(sizes)


def test_separate_components_are_counted():
    blocks = [np.ones((20, 20)) - np.eye(20)] * 4
    assert count_clusters(block_diagonal(blocks)).n_clusters == 4


def test_a_random_graph_has_one_cluster():
    A, _ = planted_graph([600], 13, inside=12.0, outside=0.0)
    assert count_clusters(A).n_clusters == 1


@pytest.mark.parametrize("n", [1, 2, 9, 12])
def test_small_and_empty_graphs_have_one_cluster(n):
    assert count_clusters(np.zeros((n, n))).n_clusters == 1
    assert count_clusters(sp.csr_array((n, n))).n_clusters == 1
    assert starting_number(np.zeros((n, n))) >= 1
    assert count_clusters(np.ones((n, n)) - np.eye(n)).n_clusters == 1


def test_dense_and_sparse_storage_agree():
    A, _ = planted_graph([40, 50, 60], 17)
    assert count_clusters(A).n_clusters == count_clusters(A.toarray()).n_clusters == 3
