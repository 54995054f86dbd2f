from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.memberships import align, match_clusters
from soffit.memberships.matching import encode_labels


def random_memberships(seed: int, n_objects: int, n_clusters: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n_clusters, 0.4), size=n_objects)


def test_labels_by_hand():
    reference = ["a", "a", "a", "b", "b", "c"]
    other = [2, 2, 0, 0, 0, 1]
    assert match_clusters(reference, other).tolist() == [2, 0, 1]


def test_order_recovers_a_known_permutation():
    memberships = random_memberships(419, 60, 5)
    shuffle = np.array([3, 0, 4, 1, 2])
    order = match_clusters(memberships, memberships[:, shuffle])
    assert order.dtype.kind == "i"
    np.testing.assert_array_equal(memberships[:, shuffle][:, order], memberships)


def test_no_other_order_is_closer():
    reference, other = random_memberships(31, 25, 4), random_memberships(37, 25, 4)
    distances = {
        order: ((reference - other[:, list(order)]) ** 2).sum() for order in permutations(range(4))
    }
    assert min(distances, key=distances.get) == tuple(match_clusters(reference, other))


def test_more_clusters_than_the_reference():
    order = match_clusters([0, 0, 0, 1, 1, 1], [3, 1, 1, 2, 0, 0])
    assert order.tolist() == [1, 0, 2, 3]


def test_fewer_clusters_than_the_reference():
    reference = [0, 0, 0, 1, 2, 2, 2]
    other = ["y", "y", "y", "y", "x", "x", "x"]
    assert match_clusters(reference, other).tolist() == [1, 0]


def test_align_leaves_an_empty_column_for_a_missing_cluster():
    reference = [0, 0, 0, 1, 2, 2, 2]
    memberships = np.eye(2)[[1, 1, 1, 1, 0, 0, 0]]
    np.testing.assert_array_equal(
        align(reference, memberships),
        np.column_stack([memberships[:, 1], np.zeros(7), memberships[:, 0]]),
    )


def test_align_puts_spare_clusters_last():
    memberships = np.eye(4)[[3, 1, 1, 2, 0, 0]]
    aligned = align([0, 0, 0, 1, 1, 1], memberships)
    np.testing.assert_array_equal(aligned, memberships[:, [1, 0, 2, 3]])


def test_align_keeps_precision_and_input():
    memberships = random_memberships(53, 10, 3).astype(np.float32)
    kept = memberships.copy()
    aligned = align(memberships[:, ::-1], memberships)
    assert aligned.dtype == np.float32
    aligned[:] = 0
    np.testing.assert_array_equal(memberships, kept)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_reference=st.integers(1, 5),
    n_other=st.integers(1, 5),
    n_objects=st.integers(1, 12),
)
def test_order_is_a_permutation_and_align_agrees(seed, n_reference, n_other, n_objects):
    reference = random_memberships(seed, n_objects, n_reference)
    other = random_memberships(seed + 1, n_objects, n_other)
    order = match_clusters(reference, other)
    assert sorted(order) == list(range(n_other))
    aligned = align(reference, other)
    assert aligned.shape == (n_objects, max(n_reference, n_other))
    np.testing.assert_allclose(aligned.sum(axis=1), other.sum(axis=1))
    if n_other >= n_reference:
        np.testing.assert_array_equal(aligned, other[:, order])


def test_frames_and_series():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series(["u", "v", "v"], index=[9, 8, 7], dtype="category")
    frame = pandas.DataFrame({"one": [0.1, 0.9, 0.8], "two": [0.9, 0.1, 0.2]})
    assert match_clusters(labels, frame).tolist() == [1, 0]


def test_labels_of_several_types():
    codes, n_classes = encode_labels(np.array([1, "one", (2, 3)], dtype=object))
    assert n_classes == 3
    assert sorted(codes) == [0, 1, 2]
    assert encode_labels([1, "1"])[1] == 2


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_label_among_strings(missing):
    with pytest.raises(ValueError, match=r"reference.*missing"):
        match_clusters(["a", missing], [0, 1])


def test_missing_pandas_label():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"missing|NaN"):
        match_clusters(pandas.Series([1, None], dtype="Int64"), [0, 1])
    with pytest.raises(ValueError, match="NaN"):
        match_clusters(pandas.Series([1, None]), [0, 1])
    with pytest.raises(ValueError, match="missing"):
        match_clusters(pandas.Series(["a", pandas.NA], dtype="string"), [0, 1])


def test_unequal_lengths():
    with pytest.raises(ValueError, match="3 objects but other describes 2"):
        match_clusters([0, 1, 1], [0, 1])


@pytest.mark.parametrize(
    ("reference", "message"),
    [([], "empty"), (3, "vector"), (np.ones((2, 2, 2)), "vector"), ([[np.nan], [1.0]], "NaN")],
)
def test_bad_reference(reference, message):
    with pytest.raises(ValueError, match=message):
        match_clusters(reference, [0, 1])


@pytest.mark.parametrize("n_reference", [3, 5, 8])
def test_sparse_memberships_are_matched_and_aligned_like_dense_ones(n_reference):
    random = np.random.RandomState(3)
    rows = random.dirichlet(np.full(5, 0.2), 40)
    rows[rows < 0.05] = 0.0
    reference = random.dirichlet(np.full(n_reference, 0.2), 40)
    for known in (reference, sp.csr_array(reference), reference.argmax(axis=1)):
        order = match_clusters(known, rows)
        assert np.array_equal(match_clusters(known, sp.csr_array(rows)), order)
        aligned = align(known, sp.csr_array(rows))
        assert aligned.has_canonical_format
        assert np.array_equal(aligned.toarray(), align(known, rows))


def test_label_columns_above_memory_are_refused(monkeypatch):
    monkeypatch.setattr("soffit._memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="Matching clusters"):
        match_clusters(np.arange(50), np.arange(50))
