from __future__ import annotations

import numpy as np
import pytest

from soffit.selection.separation import dips, worst_dip


def two_clusters(distance: float, n: int, d: int, seed: int = 3):
    """Two Gaussian clusters, and the cluster of each object."""
    labels = np.arange(n) % 2
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, 0] += distance * labels
    return X, labels


@pytest.mark.parametrize("d", [1, 2, 8])
@pytest.mark.parametrize("n", [40, 400])
def test_a_cut_through_one_cluster_has_no_dip(n, d):
    X, _ = two_clusters(0.0, n, d)
    assert worst_dip(X, (X[:, 0] > np.median(X[:, 0])).astype(int)) > 0.8


@pytest.mark.parametrize("d", [1, 2, 8])
def test_the_dip_deepens_as_clusters_move_apart(d):
    dips = [worst_dip(*two_clusters(distance, 400, d)) for distance in (3.0, 4.5, 8.0)]
    assert dips == sorted(dips, reverse=True)
    assert dips[0] < 1.0
    assert dips[-1] < 0.05


def test_the_worst_pair_counts():
    X, labels = two_clusters(8.0, 600, 2)
    cut = np.where((labels == 1) & (X[:, 1] > 0), 2, labels)
    assert worst_dip(X, labels) < 0.05
    assert worst_dip(X, cut) > 0.7


def test_it_does_not_depend_on_order_names_or_units():
    X, labels = two_clusters(4.0, 200, 3)
    order = np.random.default_rng(5).permutation(len(X))
    expected = worst_dip(X, labels)
    assert worst_dip(X[order], 1 - labels[order]) == pytest.approx(expected, rel=1e-9)
    assert worst_dip(1000.0 * X - 7.0, labels) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("labels", [[0, 1, 2], [0, 0, 1], [0, 0, 0]])
def test_without_two_clusters_of_two_objects_there_is_no_dip(labels):
    assert worst_dip(np.eye(3), np.array(labels)) == 1.0


def test_equal_objects_are_no_reason_to_fail():
    assert worst_dip(np.zeros((6, 2)), np.array([0, 0, 0, 1, 1, 1])) == 1.0


def test_many_objects_are_represented_by_a_sample():
    X, labels = two_clusters(8.0, 4000, 2)
    found = dips(X, lambda k: labels * (k > 1), 2)
    assert found[0] == 0.0
    assert found[1] < 0.1
