"""Fewer points with the same picture."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soffit.figures.style import thinned


@given(
    st.lists(st.integers(1, 400), min_size=1, max_size=8),
    st.integers(1, 300),
    st.integers(0, 2**32 - 1),
)
def test_shares_are_kept(sizes, most, seed):
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)), sizes))
    kept = thinned(labels, most)
    assert len(kept) <= max(most, 1)
    assert len(np.unique(kept)) == len(kept)
    if len(labels) <= most:
        assert len(kept) == len(labels)
    else:
        share = np.bincount(labels[kept], minlength=len(sizes)) / most
        # One object by systematic sampling, and room for clusters that would have vanished.
        assert np.abs(share - np.array(sizes) / len(labels)).max() <= (2 + len(sizes)) / most


def test_tiny_clusters_stay_visible():
    labels = np.array([0] * 9990 + [1] * 9 + [2])
    kept = thinned(labels, 100)
    assert set(labels[kept]) == {0, 1, 2}
    assert len(kept) == 100


def test_it_is_the_same_every_time():
    labels = np.arange(5000) % 7
    np.testing.assert_array_equal(thinned(labels, 200), thinned(labels, 200))


def test_no_points_are_refused():
    with pytest.raises(ValueError, match="max_points must be an integer of at least 1"):
        thinned(np.zeros(5, dtype=int), 0)
