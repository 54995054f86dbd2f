"""Partitions into every number of clusters from one set of eigenvectors."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.reference.relations import planted_graph

from soffit.affinity import NeighborGraph
from soffit.factorize import leading_eigenvectors
from soffit.normalize import degree
from soffit.partition.candidates import (
    conductance_gain,
    cut_gain,
    group_weights,
    size_aware_cut,
)
from soffit.selection.path import PartitionPath, _Grouping


@pytest.fixture
def grouping():
    """Groups of 40, 1, 50 and 2 objects; the last is tied to the second more than to any other."""
    objects = np.repeat(np.arange(4), [40, 1, 50, 2])
    between = np.array(
        [[90.0, 1.0, 2.0, 0.0], [1.0, 0.0, 3.0, 4.0], [2.0, 3.0, 80.0, 1.0], [0.0, 4.0, 1.0, 2.0]]
    )
    return _Grouping(objects, between, np.bincount(objects))


def test_splinters_go_where_they_are_tied_most_the_smallest_first(grouping):
    # The single object joins the two it is tied to most, and these three the group of 50:
    # 3 + 1 is more than 1 + 0.
    found = grouping.without_splinters(1)
    np.testing.assert_array_equal(found.sizes, [40, 53])
    np.testing.assert_array_equal(found.between, [[90.0, 3.0], [3.0, 98.0]])
    np.testing.assert_array_equal(found.labels(), np.repeat([0, 1], [40, 53]))


def test_what_is_large_enough_for_many_clusters_stays(grouping):
    # Of five clusters, one below 0.05 * 93 / 5 = 0.93 objects would be a splinter.
    assert grouping.without_splinters(5) is grouping
    # Of three, one below 1.55 objects.
    np.testing.assert_array_equal(grouping.without_splinters(3).sizes, [40, 50, 3])


@pytest.mark.parametrize("rule", [conductance_gain, cut_gain])
def test_weights_between_groups_are_those_of_the_graph(rule):
    A, _ = planted_graph([60, 40, 30], 5, inside=12.0, outside=2.0)
    groups = np.random.default_rng(3).integers(0, 12, A.shape[0])
    fine = _Grouping(groups, group_weights(A, groups, 12), np.bincount(groups))
    for found in (fine.merged(5, rule), fine.without_splinters(1).merged(4, rule)):
        labels, k = found.labels(), len(found.sizes)
        np.testing.assert_allclose(found.between, group_weights(A, labels, k))
        np.testing.assert_array_equal(found.sizes, np.bincount(labels))


def test_every_number_has_a_partition_into_as_many_clusters():
    A, _ = planted_graph([60, 40, 30], 5, inside=12.0, outside=2.0)
    _, V = leading_eigenvectors(degree(A).matrix, 20)
    path = PartitionPath(A, V, 10)
    for k in range(1, 11):
        assert len(np.unique(path.labels(k))) == k


def test_splits_find_even_clusters_that_roundings_miss():
    """Nine of the ten digits: without splits the smallest cluster is a rare handwriting."""
    graph = NeighborGraph(15).fit(load_digits().data).matrix_
    _, V = leading_eigenvectors(degree(graph).matrix, 30)
    rounded, split = (PartitionPath(graph, V, 12, by_splits=more) for more in (False, True))
    least = [np.bincount(path.labels(9)).min() * 9 / graph.shape[0] for path in (rounded, split)]
    assert least[0] < 0.3
    assert least[1] > 0.6
    # What is not better is not taken.
    for k in range(2, 13):
        cuts = [size_aware_cut(graph, path.labels(k), k) for path in (rounded, split)]
        assert cuts[1] <= cuts[0] + 0.2
