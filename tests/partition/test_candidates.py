from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from soffit.metrics import adjusted_rand
from soffit.normalize import normalize
from soffit.partition import candidates as _partition
from soffit.partition.candidates import (
    best_partition,
    conductance_gain,
    cut_gain,
    group_weights,
    linked_objects,
    merge_groups,
    merged_partitions,
    n_fine_vectors,
    rounded_partitions,
    size_aware_cut,
)
from soffit.partition.eigenvectors import leading_eigenvectors
from soffit.partition.rounding import cluster_kmeans, cluster_qr, unit_rows

storages = pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
RULES = {"conductance": conductance_gain, "cut": cut_gain}
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def block_graph(sizes, rng, inside=0.5, across=0.02):
    """A graph whose edges are drawn more often inside blocks, and the blocks."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    share = np.where(labels[:, None] == labels, inside, across)
    upper = np.triu(rng.random(share.shape) < share, 1)
    A = (upper | upper.T).astype(float)
    A[np.arange(len(A) - 1), np.arange(1, len(A))] = 1  # no object is left without a tie
    return np.maximum(A, A.T), labels


@pytest.fixture(autouse=True)
def one_thread():
    """As in the models: many threads for small matrices only wait for one another."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(8467)


# --- rounding eigenvectors -----------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_qr_recovers_indicators_turned_at_will(rng, k):
    labels = rng.permutation(np.repeat(np.arange(k), rng.integers(5, 20, size=k)))
    indicator = (labels[:, None] == np.arange(k)) / np.sqrt(np.bincount(labels))
    turned = indicator @ np.linalg.qr(rng.normal(size=(k, k)))[0]
    assert adjusted_rand(labels, cluster_qr(turned)) == 1.0
    assert adjusted_rand(labels, cluster_kmeans(turned, random_state=11)) == 1.0


@storages
def test_blocks_are_recovered(rng, storage):
    A, labels = block_graph([40, 25, 60], rng)
    _, V = leading_eigenvectors(normalize(storage(A), "degree").matrix, 3)
    assert adjusted_rand(labels, cluster_qr(V)) == 1.0
    assert adjusted_rand(labels, best_partition(storage(A), V, 3, random_state=5)) == 1.0


def test_qr_does_not_depend_on_the_basis_or_the_order(rng):
    A, _ = block_graph([30, 30, 30], rng)
    _, V = leading_eigenvectors(normalize(A, "degree").matrix, 3)
    labels = cluster_qr(V)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    assert adjusted_rand(labels, cluster_qr(V @ turn)) == 1.0
    order = rng.permutation(90)
    assert adjusted_rand(labels[order], cluster_qr(V[order])) == 1.0


def test_as_many_clusters_as_objects(rng):
    V = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    assert sorted(cluster_qr(V)) == list(range(6))
    assert sorted(cluster_kmeans(V, random_state=3)) == list(range(6))


def test_zero_rows_get_some_label(rng):
    V = np.vstack([np.eye(3), np.eye(3), np.zeros((2, 3))])
    labels = cluster_qr(V)
    assert np.array_equal(labels[:3], labels[3:6])
    assert set(labels[:3].tolist()) == {0, 1, 2}
    assert np.array_equal(unit_rows(V), V)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_unit_rows(rng, dtype):
    V = rng.normal(size=(20, 3)).astype(dtype)
    assert unit_rows(V).dtype == dtype
    np.testing.assert_allclose(np.linalg.norm(unit_rows(V), axis=1), 1.0, rtol=1e-5)


# --- merging -------------------------------------------------------------------------------------


@storages
def test_group_weights(rng, storage):
    A, _ = block_graph([10, 12], rng)
    labels = rng.integers(0, 4, size=22)
    labels[labels == 2] = 0  # an empty group in the middle
    between = group_weights(storage(A), labels, 4)
    expected = [[A[np.ix_(labels == a, labels == b)].sum() for b in range(4)] for a in range(4)]
    np.testing.assert_allclose(between, expected)


def naive_merge(between, n_clusters, rule):
    """Score every pair of groups afresh from the members' weights."""
    groups = [[g] for g in range(len(between))]

    def weight(a, b):
        return between[np.ix_(a, b)].sum()

    def gain(a, b):
        volume_a, volume_b = weight(a, everyone), weight(b, everyone)
        if rule is conductance_gain:
            return weight(a, b) / min(volume_a, volume_b)
        joined = weight(a + b, a + b) / (volume_a + volume_b)
        return joined - weight(a, a) / volume_a - weight(b, b) / volume_b

    everyone = list(range(len(between)))
    while len(groups) > n_clusters:
        pairs = list(itertools.combinations(groups, 2))
        linked = [pair for pair in pairs if weight(*pair) > 0]
        a, b = max(linked or pairs, key=lambda pair: gain(*pair))
        groups = [g for g in groups if g not in (a, b)] + [a + b]
    return {frozenset(g) for g in groups}


@every_rule
@given(st.integers(0, 2**31), st.integers(2, 9), st.floats(0.2, 1.0), st.data())
def test_merging_agrees_with_a_naive_loop(rule, seed, n_groups, density, data):
    rng = np.random.default_rng(seed)
    between = rng.random((n_groups, n_groups)) * (rng.random((n_groups, n_groups)) < density)
    between = between + between.T + np.diag(1 + rng.random(n_groups))
    before = between.copy()
    n_clusters = data.draw(st.integers(1, n_groups))
    cluster = merge_groups(between, n_clusters, rule)
    assert np.array_equal(between, before)
    assert set(cluster.tolist()) == set(range(n_clusters))
    found = {frozenset(np.flatnonzero(cluster == c).tolist()) for c in range(n_clusters)}
    # Below that number unlinked groups are joined, and all of them may be equally good.
    if sp.csgraph.connected_components(between, directed=False)[0] <= n_clusters:
        assert found == naive_merge(between, n_clusters, rule)


@every_rule
def test_unlinked_groups_are_joined_last(rule):
    between = np.diag([5.0, 5.0, 5.0, 5.0])
    between[0, 3] = between[3, 0] = 0.01
    assert merge_groups(between, 3, rule).tolist() == [0, 1, 2, 0]
    assert set(merge_groups(between, 1, rule).tolist()) == {0}


@every_rule
def test_groups_without_any_weight_can_be_merged(rule):
    assert set(merge_groups(np.zeros((4, 4)), 2, rule).tolist()) == {0, 1}


# --- choosing ------------------------------------------------------------------------------------


def score(conductance, share):
    return np.log(conductance + _partition._LEAST_CUT) - _partition._SIZE_WEIGHT * np.log(
        share + _partition._LEAST_SHARE
    )


@storages
def test_cut_by_hand(storage):
    # Two pairs with weight 3 each and one tie of weight 1 between them.
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 0] = A[2, 3] = A[3, 2] = 3.0
    A[1, 2] = A[2, 1] = 1.0
    A = storage(A)
    # Volumes 7 and 7, conductances 1/7; the smallest cluster has 2 * 2 / 4 = 1 of its share.
    assert size_aware_cut(A, np.array([0, 0, 1, 1]), 2) == pytest.approx(score(1 / 7, 1.0))
    # One object against three: conductances 1 and 3/11.
    expected = score((1 + 3 / 11) / 2, 0.5)
    assert size_aware_cut(A, np.array([0, 1, 1, 1]), 2) == pytest.approx(expected)
    # An empty cluster counts as one that keeps nothing inside.
    assert size_aware_cut(A, np.array([0, 0, 0, 0]), 2) == pytest.approx(score(0.5, 0.0))
    assert size_aware_cut(A, np.zeros(4, dtype=int), 1) == pytest.approx(score(0.0, 1.0))


def test_cut_prefers_the_true_blocks(rng):
    A, labels = block_graph([40, 40, 20], rng)
    truth = size_aware_cut(A, labels, 3)
    assert size_aware_cut(A, (labels + 2) % 3, 3) == pytest.approx(truth)
    splinter = np.where(labels == 2, 1, labels)
    splinter[0] = 2
    assert truth < size_aware_cut(A, splinter, 3)
    assert truth < size_aware_cut(A, rng.permutation(labels), 3)


@pytest.mark.parametrize(
    ("n", "k", "expected"),
    [(10_000, 3, 20), (10_000, 10, 40), (60, 3, 10), (9, 9, 9), (10**6, 60, 150)],
)
def test_number_of_fine_vectors(n, k, expected):
    assert n_fine_vectors(n, k) == expected


@storages
@pytest.mark.parametrize("k", [1, 2, 5])
def test_candidates_are_partitions_into_k(rng, storage, k):
    A, _ = block_graph([30, 20, 40], rng)
    A = storage(A)
    _, V = leading_eigenvectors(normalize(A, "degree").matrix, n_fine_vectors(90, k))
    rounded = rounded_partitions(V[:, :k], random_state=7)
    merged = merged_partitions(A, V, k, random_state=7)
    assert len(rounded) == 7
    assert len(merged) >= 2
    for labels in rounded + merged:
        assert labels.shape == (90,)
        assert set(labels.tolist()) <= set(range(k))
    best = size_aware_cut(A, best_partition(A, V, k, random_state=7), k)
    assert best <= min(size_aware_cut(A, labels, k) for labels in rounded)
    assert best <= min(size_aware_cut(A, labels, k) for labels in merged) + 0.2
    again = best_partition(A, V, k, random_state=7)
    assert np.array_equal(best_partition(A, V, k, random_state=7), again)


def test_splinters_are_taken_only_for_want_of_others(monkeypatch):
    # Two halves that touch, and two objects apart: the smallest cut sets the two apart.
    A = np.full((122, 122), 0.2)
    A[:60, :60] = A[60:120, 60:120] = 1.0
    A[120:] = A[:, 120:] = 0.0
    A[120:, 120:] = 1.0
    A[119, 120] = A[120, 119] = 1e-6
    fair, splinter = np.repeat([0, 1], [60, 62]), np.repeat([0, 1], [120, 2])
    assert size_aware_cut(A, splinter, 2) < size_aware_cut(A, fair, 2)
    module = "soffit.partition.candidates."
    monkeypatch.setattr(module + "merged_partitions", lambda *a, **k: [])
    for offered, expected in (([splinter, fair], fair), ([splinter], splinter)):
        monkeypatch.setattr(module + "rounded_partitions", lambda *a, o=offered, **k: o)
        chosen = best_partition(A, np.zeros((122, 2)), 2, random_state=7)
        assert np.array_equal(chosen, expected)


def test_every_object_its_own_cluster(rng):
    A, _ = block_graph([4, 4], rng)
    _, V = leading_eigenvectors(normalize(A, "degree").matrix, 8)
    assert sorted(best_partition(A, V, 8, random_state=7)) == list(range(8))


# --- the order of the objects --------------------------------------------------------------------


@storages
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_order_of_objects_depends_on_the_graph_alone(rng, storage, dtype):
    A, _ = block_graph([40, 30, 30], rng, inside=0.3)
    A *= np.round(rng.random(A.shape) * 9 + 1)
    A = np.maximum(A, A.T).astype(dtype)
    A[[5, 17]] = A[:, [5, 17]] = 0
    order = linked_objects(storage(A))
    assert np.array_equal(order, linked_objects(A.astype(np.float64) / 3))
    assert sorted(order) == [i for i in range(100) if i not in (5, 17)]
    assert not np.array_equal(order, np.sort(order))
    other = rng.permutation(100)
    # Sums in another order differ in the last digits.
    noise = 1 + np.finfo(dtype).eps * rng.integers(-2, 3, A.shape)
    again = linked_objects(storage((A * noise).astype(dtype)[np.ix_(other, other)]))
    assert np.array_equal(other[again], order)


def test_objects_that_nothing_tells_apart_keep_their_order():
    assert linked_objects(np.ones((7, 7)) - np.eye(7)).tolist() == list(range(7))
    assert linked_objects(sp.csr_array((3, 3))).tolist() == []
