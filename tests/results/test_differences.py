from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.results.differences import ColumnMeans, Difference
from soffit.results.summary import Summary

RNG = np.random.default_rng(417)


def memberships(n, k):
    values = RNG.random((n, k)) ** 4
    return values / values.sum(axis=1, keepdims=True)


def test_differences_follow_their_definition():
    X = RNG.normal(size=(60, 5)) * [1, 10, 0.1, 3, 1] + [0, 5, 1e3, -2, 0]
    G = memberships(60, 3)
    means = ColumnMeans.of(X, G)
    for cluster in range(3):
        inside = np.average(X, axis=0, weights=G[:, cluster])
        np.testing.assert_allclose(means.inside[cluster], inside)
        expected = (inside - X.mean(axis=0)) / X.std(axis=0)
        np.testing.assert_allclose(means.difference[cluster], expected, atol=1e-9)


def test_sparse_tables_give_the_same():
    X = sp.random(50, 8, density=0.3, random_state=417, format="csr")
    G = memberships(50, 4)
    sparse, dense = ColumnMeans.of(sp.csr_array(X), G), ColumnMeans.of(X.toarray(), G)
    for name in ("inside", "overall", "spread", "difference", "is_binary"):
        np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name), atol=1e-9)


def test_constant_columns_and_single_clusters_have_no_difference():
    X = np.column_stack([np.full(20, 7.3), RNG.normal(size=20)])
    assert ColumnMeans.of(X, memberships(20, 2)).difference[:, 0].tolist() == [0, 0]
    assert ColumnMeans.of(X, np.ones((20, 1))).difference.tolist() == [[0, 0]]
    sparse = ColumnMeans.of(sp.csr_array(X), memberships(20, 2))
    assert sparse.difference[:, 0].tolist() == [0, 0]


def test_an_empty_cluster_has_no_difference():
    G = np.column_stack([np.ones(20), np.zeros(20)])
    means = ColumnMeans.of(RNG.normal(size=(20, 3)), G)
    assert np.abs(means.difference).max() == 0


@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_only_large_differences_are_notable(shift):
    X = RNG.normal(size=(200, 6))
    X[:100, [1, 4]] += [shift, -2 * shift]
    G = np.repeat(np.eye(2), 100, axis=0)
    assert ColumnMeans.of(X, G).notable(0) == ([4, 1] if shift else [])


def test_a_cluster_of_most_objects_is_compared_with_the_others():
    X = RNG.normal(size=(200, 3))
    X[180:, 1] += 4.0
    G = np.repeat(np.eye(2), [180, 20], axis=0)
    means = ColumnMeans.of(X, G)
    assert abs(means.difference[0, 1]) < 0.5
    assert means.notable(0) == [1]
    assert means.notable(1) == [1]


def test_a_cluster_without_a_large_difference_is_told_by_its_largest():
    # Ten giants make the standard deviation large: the others are a fifth of it below the mean.
    X = np.column_stack([RNG.normal(50.0, 1.0, 100), RNG.normal(size=100)])
    X[:10, 0] += 1000.0
    G = np.repeat(np.eye(3), [10, 45, 45], axis=0)
    means = ColumnMeans.of(X, G)
    assert np.abs(means.difference[1:]).max() < 0.45
    assert means.notable(0)[0] == 0
    assert means.notable(1) == means.notable(2) == [0]


def test_a_table_in_blocks_gives_the_same(limits):
    X = RNG.normal(size=(101, 4)) + 1e4
    G = memberships(101, 3)
    whole = ColumnMeans.of(X, G)
    limits(described_rows=10)
    parts = ColumnMeans.of(X, G)
    for name in ("inside", "overall", "spread", "difference"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), atol=1e-9)


def test_columns_from_half_a_standard_deviation_on_are_named():
    # Two equal clusters: means of -d and d, 2 d apart, standard deviation sqrt(d^2 + 1).
    z = np.tile([-1.0, 1.0], 50)
    for d, expected in ((0.25, 0), (0.26, 1)):
        X = (np.repeat([-d, d], 50) + z)[:, None]
        found = Summary.of(np.repeat(np.eye(2), 50, axis=0), X, columns=["a"]).apart(1)
        assert len(found) == expected


def test_at_most_three_columns_and_the_largest_first():
    G = np.repeat(np.eye(2), 50, axis=0)
    X = np.repeat([[0.0], [1.0]], 50, axis=0) * [1, 2, 3, 4] + RNG.normal(size=(100, 4))
    summary = Summary.of(G, X, columns=list("abcd"))
    found = summary.apart(0)
    assert [difference.column for difference in found] == ["d", "c", "b"]
    assert summary.apart(0, 2) == found[:2]
    sizes = [abs(difference.difference) for difference in found]
    assert sizes == sorted(sizes, reverse=True)


def test_values_are_written_by_one_rule():
    found = Difference("petal\nlength", -1.234, 3.758, -1.3, 1.76, False)
    assert found.values() == ("\N{MINUS SIGN}1.2", "3.8")
    assert found.brief() == "petal length -1.2 (overall 3.8)"
    assert Difference("red", 0.8, 0.12, 1.9, 0.3, True).brief() == "red 80 % (overall 12 %)"
