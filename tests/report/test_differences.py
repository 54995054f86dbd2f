from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.report._differences import ColumnMeans

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
        outside = np.average(X, axis=0, weights=1 - G[:, cluster])
        np.testing.assert_allclose(means.inside[cluster], inside)
        expected = (inside - outside) / X.std(axis=0)
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
