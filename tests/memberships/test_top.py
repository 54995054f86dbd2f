"""The few largest memberships of each object."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soffit import SoftClustering
from soffit.memberships import top_memberships


@given(st.integers(1, 9), st.integers(1, 7), st.integers(1, 9), st.integers(0, 2**31))
def test_rows_keep_their_largest_values(n, k, n_top, seed):
    W = np.random.default_rng(seed).dirichlet(np.ones(k), size=n)
    found = top_memberships(W, n_top)
    assert found.shape == (n, k)
    assert found.has_sorted_indices
    dense = found.toarray()
    np.testing.assert_allclose(dense.sum(axis=1), 1.0)
    for row, top in zip(W, dense, strict=True):
        kept = np.argsort(-row)[: min(n_top, k)]
        np.testing.assert_allclose(top[kept], row[kept] / row[kept].sum())
        assert np.count_nonzero(top) == len(kept)


def test_all_clusters_kept_are_the_memberships_themselves():
    W = np.random.default_rng(7).dirichlet(np.ones(4), size=20)
    np.testing.assert_allclose(top_memberships(W, 9).toarray(), W)


def test_of_equal_memberships_the_first_are_kept():
    assert top_memberships(np.full((2, 4), 0.25), 2).indices.tolist() == [0, 1, 0, 1]


def test_zeros_are_not_stored():
    found = top_memberships([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], 2)
    assert found.nnz == 1
    assert found.indptr.tolist() == [0, 1, 1]


def test_single_precision_stays_and_other_objects_do_not_matter():
    # So many rows are done in several pieces.
    W = np.random.default_rng(11).dirichlet(np.ones(6), size=400_000).astype(np.float32)
    whole = top_memberships(W, 3)
    assert whole.dtype == np.float32
    for start in range(0, len(W), 100_000):
        rows = slice(start, start + 1000)
        assert (whole[rows] != top_memberships(W[rows], 3)).nnz == 0


@pytest.mark.parametrize("n_top", [0, -1, 2.5])
def test_n_top_is_a_positive_whole_number(n_top):
    with pytest.raises(ValueError, match="n_top must be an integer of at least 1"):
        top_memberships([[1.0]], n_top)


def test_of_a_model_of_many_clusters():
    rng = np.random.default_rng(13)
    X = rng.uniform(0, 100, size=(40, 2))[np.arange(1200) % 40] + rng.normal(size=(1200, 2))
    model = SoftClustering(40, random_state=13).fit(X)
    few = top_memberships(model.memberships_, 3)
    assert few.nnz <= 3 * 1200
    np.testing.assert_array_equal(few.toarray().argmax(axis=1), model.labels_)
