from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.problems import random_matrix
from tests.reference.relations import planted_graph

from soffit.metrics import accuracy
from soffit.partition.kernels import majority, weights_to_labels
from soffit.partition.label_sweeps import information, majority_sweeps, weights_to_clusters


def _ties(A, labels, k):
    return A @ np.eye(k)[labels]


def test_majorities_agree_with_products():
    A = sp.csr_array(random_matrix(40, 5, density=0.3))
    labels = np.random.default_rng(7).integers(6, size=40).astype(np.int32)
    moved = np.empty_like(labels)
    graph = (A.indptr, A.indices, A.data)
    inside = sum(majority(*graph, labels, 6, *part, moved) for part in ((0, 11), (11, 40)))
    ties = _ties(A, labels, 6)
    np.testing.assert_array_equal(moved, ties.argmax(axis=1))
    np.testing.assert_allclose(inside, ties[np.arange(40), labels].sum())


def test_weights_to_labels_agree_with_products():
    A = sp.csr_array(random_matrix(30, 11, density=0.1))
    labels = np.random.default_rng(13).integers(5, size=30).astype(np.int32)
    graph = (A.indptr, A.indices, A.data)
    lengths, found, weights = weights_to_labels(*graph, labels, 5, 0, 30)
    ties = _ties(A, labels, 5)
    there = (ties > 0) | (np.eye(5)[labels] > 0)
    np.testing.assert_array_equal(lengths, there.sum(axis=1))
    np.testing.assert_array_equal(found, np.nonzero(there)[1])
    np.testing.assert_allclose(weights, ties[there])


def test_wrong_labels_are_put_right(limits):
    limits(sweep_rows=50)
    A, labels = planted_graph([100, 150, 200], 17, inside=14.0)
    rng = np.random.default_rng(19)
    noisy = np.where(rng.random(450) < 0.5, rng.integers(3, size=450), labels)
    given = noisy.copy()
    assert accuracy(labels, majority_sweeps(A, noisy, 3)) > 0.98
    np.testing.assert_array_equal(noisy, given)


def test_a_sweep_that_does_harm_is_not_kept():
    # Every node of a bipartite graph wants the label of the other side.
    A = sp.csr_array(np.kron([[0, 1], [1, 0]], np.ones((5, 5))))
    labels = np.repeat([0, 1], 5)
    np.testing.assert_array_equal(majority_sweeps(A, labels, 2), labels)


def test_no_cluster_vanishes():
    A = sp.csr_array(np.ones((9, 9)) - np.eye(9))
    labels = np.array([0, 0, 0, 0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(majority_sweeps(A, labels, 2), labels)


def test_weights_to_clusters_are_put_together_from_pieces(limits):
    limits(sweep_rows=7)
    A = sp.csr_array(random_matrix(30, 23, density=0.2).astype(np.float32))
    labels = np.random.default_rng(29).integers(4, size=30)
    ties = weights_to_clusters(A, labels, 4)
    assert ties.dtype == np.float32
    assert ties.has_sorted_indices
    np.testing.assert_allclose(ties.toarray(), _ties(A, labels, 4), rtol=1e-6)


def test_information_is_that_between_the_ends_of_an_edge():
    A, labels = planted_graph([100, 150, 200], 31)
    m = np.eye(3)[labels].T @ (A @ np.eye(3)[labels]) / A.sum()
    expected = (m * np.log(m / np.outer(m.sum(axis=1), m.sum(axis=0)))).sum()
    assert information(A, labels, 3) == pytest.approx(expected)
    worse = np.where(np.arange(450) % 5 == 0, 0, labels)
    assert 0 < information(A, worse, 3) < expected
    assert information(A, np.zeros(450, dtype=int), 3) == pytest.approx(0.0, abs=1e-12)
