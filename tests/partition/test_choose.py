"""Partitions of large graphs, forced on small ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit import SoftClustering
from soffit.affinity import NeighborGraph
from soffit.datasets import make_gaussians, make_student_t
from soffit.factorize import graph_partition
from soffit.memberships import align
from soffit.metrics import adjusted_rand
from soffit.normalize import normalize
from soffit.partition.compressive import _eigenvalue_behind, _slow_part, many_clusters
from soffit.partition.multilevel import coarse_graph, coarser_graphs
from soffit.partition.rounding import fill_empty_by_size


def sample(n, k, seed, distance=6.0):
    rng = np.random.default_rng(seed)
    centers = distance * rng.normal(size=(k, 6))
    labels = rng.integers(k, size=n)
    X = centers[labels] + rng.normal(size=(n, 6))
    A = NeighborGraph(10).fit(X).matrix_
    return A, normalize(A, "degree").matrix, labels


@pytest.fixture
def small_is_large(limits):
    limits(direct_nodes=200, direct_few=200, graph_nodes=400)


@pytest.mark.usefixtures("small_is_large")
def test_coarse_partition_finds_the_clusters():
    A, N, labels = sample(3000, 5, 3319)
    found = graph_partition(A, N, 5)
    assert adjusted_rand(labels, found.labels) > 0.98
    assert np.array_equal(np.sort(found.locality.order), np.arange(3000))
    assert 0.0 < found.eigenvalue < 1.0


@pytest.mark.usefixtures("small_is_large")
def test_an_order_brings_ties_together():
    A, N, _ = sample(3000, 5, 8087)
    order = graph_partition(A, N, 5).locality.order
    place = np.empty(3000, dtype=int)
    place[order] = np.arange(3000)
    rows = np.repeat(np.arange(3000), np.diff(A.indptr))
    assert np.median(np.abs(place[rows] - place[A.indices])) < 300
    assert np.median(np.abs(rows - A.indices)) > 500


def test_small_graphs_keep_their_order_and_exact_vectors():
    A, N, labels = sample(700, 4, 911)
    found = graph_partition(A, N, 4)
    assert found.locality is None
    assert adjusted_rand(labels, found.labels) > 0.98


@pytest.mark.usefixtures("small_is_large")
def test_what_is_known_corrects_the_labels_of_objects():
    A, N, _ = sample(1500, 3, 5077)
    found = graph_partition(A, N, 3, correct=lambda labels, k: (labels + 1) % k)
    plain = graph_partition(A, N, 3)
    assert np.array_equal(found.labels, (plain.labels + 1) % 3)


def test_coarse_graph_sums_the_weights_of_its_groups():
    A, _, _ = sample(500, 3, 2999)
    coarse, node = coarse_graph(A, 100)
    indicator = sp.csr_array((np.ones(500), (np.arange(500), node)))
    expected = (indicator.T @ A @ indicator).toarray()
    np.testing.assert_allclose(coarse.toarray(), expected, atol=1e-9)
    assert coarse.has_canonical_format
    assert coarse.shape[0] <= 200
    levels, groups = coarser_graphs(A, 100)
    assert len(levels) == len(groups) + 1


# --- many clusters --------------------------------------------------------------------------------


def test_many_clusters_are_told_apart_by_few_signals():
    _, N, labels = sample(4000, 60, 7411, distance=8.0)
    found, eigenvalue = many_clusters(N, 60, random_state=0)
    assert len(np.unique(found)) == 60
    assert adjusted_rand(labels, found) > 0.85
    values = np.linalg.eigvalsh(N.toarray())[::-1]
    assert values[90] < eigenvalue < values[30]


def test_eigenvalues_are_counted_from_above():
    _, N, _ = sample(1000, 5, 1877)
    values = np.linalg.eigvalsh(N.toarray())[::-1]
    estimate = _eigenvalue_behind(N, 200, np.random.default_rng(3))
    assert values[280] < estimate < values[120]


def test_the_filter_keeps_slow_modes_only():
    _, N, _ = sample(400, 3, 4639)
    values, vectors = np.linalg.eigh(N.toarray())
    kept = _slow_part(N, vectors, 0.5)
    gain = np.einsum("ij,ij->j", vectors, kept)
    assert np.all(gain[values > 0.6] > 0.85)
    assert np.all(np.abs(gain[values < 0.4]) < 0.15)


def test_empty_clusters_take_half_of_the_largest():
    labels = fill_empty_by_size(np.array([0, 0, 0, 0, 2]), 4)
    assert np.bincount(labels, minlength=4).min() == 1
    assert fill_empty_by_size(np.array([0]), 3).tolist() == [0]


def test_flagship_with_the_steps_of_large_graphs(limits):
    """Approximate search, multilevel eigenvectors and polynomial walk hardly change memberships."""
    X, _, _ = make_gaussians(2500, random_state=17)
    reference = SoftClustering(3, random_state=1).fit(X).memberships_
    limits(
        direct_nodes=200, direct_few=200, compared_objects=1000, tree_columns=0, walk_objects=1000
    )
    large = SoftClustering(3, random_state=1).fit(X)
    assert 0.9 <= large.neighbor_recall_ <= 1.0
    aligned = align(reference, large.memberships_)
    assert np.abs(aligned - reference).mean() < 0.02
    new = large.predict_proba(X)
    assert np.mean(new.argmax(axis=1) == large.labels_) > 0.97


def test_heavy_tails_do_not_make_clusters_of_outliers() -> None:
    """The usual eigenvectors describe some outliers; those with raised degrees the clusters."""
    X, _, posterior = make_student_t(1500, n_features=10, random_state=31)
    model = SoftClustering(3, random_state=3).fit(X)
    assert adjusted_rand(posterior.argmax(axis=1), model.labels_) > 0.8


def test_a_small_group_far_away_is_a_cluster_and_a_few_outliers_are_not() -> None:
    rng = np.random.default_rng(5)
    crowd, island = rng.normal(size=(3000, 2)), rng.normal(size=(25, 2)) * 0.2 + 40.0
    X = np.vstack([crowd[:1500], crowd[1500:] + 12.0, island])
    labels = np.repeat([0, 1, 2], [1500, 1500, 25])
    assert adjusted_rand(labels, SoftClustering(3, random_state=3).fit(X).labels_) > 0.99
