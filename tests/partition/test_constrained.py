from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.affinity import SideInformation
from soffit.factorize import Correction


def ring(n):
    """Everybody knows the two next to them."""
    A = np.zeros((n, n))
    i = np.arange(n)
    A[i, (i + 1) % n] = A[(i + 1) % n, i] = 1.0
    return A


def test_groups_take_the_cluster_of_most_members():
    labels = np.array([0, 0, 1, 1, 1, 1])
    side = SideInformation.of([(0, 1), (1, 2)], None, 6)
    corrected = Correction(np.zeros((6, 6)), side)(labels, 2)
    assert corrected.tolist() == [0, 0, 0, 1, 1, 1]


def test_the_larger_group_chooses_first():
    labels = np.zeros(6, dtype=int)
    side = SideInformation.of([(0, 1), (1, 2), (3, 4)], [(2, 3)], 6)
    corrected = Correction(np.zeros((6, 6)), side)(labels, 2)
    assert corrected.tolist() == [0, 0, 0, 1, 1, 0]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 5))
def test_consistent_pairs_are_never_broken_when_every_group_is_known(seed, k):
    rng = np.random.default_rng(seed)
    truth = np.concatenate([np.arange(k), rng.integers(k, size=30 - k)])
    every = np.array([(i, j) for i in range(30) for j in range(i)])
    same = truth[every[:, 0]] == truth[every[:, 1]]
    side = SideInformation.of(every[same], every[~same], 30)
    corrected = Correction(ring(30), side)(rng.integers(k, size=30), k)
    assert np.all(corrected[side.must[:, 0]] == corrected[side.must[:, 1]])
    assert np.all(corrected[side.cannot[:, 0]] != corrected[side.cannot[:, 1]])


def test_surroundings_follow():
    labels = np.repeat([0, 1], 20)
    must = [(i, i + 1) for i in range(20)] + [(i, i + 2) for i in range(20, 36, 2)]
    side = SideInformation.of(must, None, 40)
    line = ring(40)
    line[0, 39] = line[39, 0] = 0.0
    corrected = Correction(line, side)(labels, 2)
    # Nine objects of the second half go with the first half; those between them follow.
    assert np.all(corrected[:37] == 0)
    assert corrected[39] == 1


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_objects_far_from_every_pair_keep_their_labels(storage):
    labels = np.repeat([0, 1, 2], 30)
    side = SideInformation.of([(14, 15)], [(15, 45)], 90)
    assert np.array_equal(Correction(storage(ring(90)), side)(labels, 3), labels)
