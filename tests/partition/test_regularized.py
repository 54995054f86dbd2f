from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.normalize import normalize
from soffit.partition import candidates as _graph_partition
from soffit.partition.candidates import graph_partition, partition_rank
from soffit.partition.eigenvectors import leading_eigenvectors
from soffit.partition.multilevel import are_accurate, has_accurate_span, regularized_eigenvectors

BLOCK, SPLINTERS = 600, 12


@pytest.fixture
def graph():
    """Two overlapping blocks, and many pairs of nodes that hardly anything ties to them."""
    rng = np.random.default_rng(211)
    n_core = 2 * BLOCK
    block = np.arange(n_core) // BLOCK
    chance = np.where(block[:, None] == block, 0.04, 0.002)
    core = np.triu(rng.random((n_core, n_core)) < chance, 1)
    first, second = np.nonzero(core)
    ends = n_core + np.arange(2 * SPLINTERS).reshape(-1, 2)
    anchors = rng.integers(n_core, size=SPLINTERS)
    rows = np.concatenate([first, ends[:, 0], ends[:, 0]])
    columns = np.concatenate([second, ends[:, 1], anchors])
    weights = np.concatenate([np.ones(len(first)), np.ones(SPLINTERS), np.full(SPLINTERS, 0.01)])
    n = n_core + 2 * SPLINTERS
    half = sp.csr_array((weights, (rows, columns)), shape=(n, n))
    return sp.csr_array(half + half.T), np.concatenate([block, block[anchors].repeat(2)])


def blocks_found(labels, block):
    same = np.mean(labels[: 2 * BLOCK] == block[: 2 * BLOCK])
    return max(same, 1.0 - same)


def test_small_groups_with_few_ties_fall_behind(graph):
    A, block = graph
    _, usual = leading_eigenvectors(normalize(A, "degree").matrix, 2)
    V = regularized_eigenvectors(A, np.ones(A.shape[0]), 2)
    assert blocks_found((usual[:, 1] > 0).astype(int), block) < 0.6
    assert blocks_found((V[:, 1] > 0).astype(int), block) > 0.95
    np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-8)


def test_weights_inside_nodes_do_not_matter(graph):
    A, _ = graph
    sizes = np.ones(A.shape[0])
    inside = sp.csr_array(A + sp.diags_array(np.linspace(0.0, 50.0, A.shape[0])))
    one, other = (regularized_eigenvectors(B, sizes, 3) for B in (A, inside))
    np.testing.assert_allclose(np.abs(one.T @ other), np.eye(3), atol=1e-6)


def test_same_bytes_every_time(graph):
    sizes = np.ones(graph[0].shape[0])
    runs = [regularized_eigenvectors(graph[0], sizes, 4).tobytes() for _ in range(2)]
    assert runs[0] == runs[1]


def test_large_graphs_begin_without_splinters(graph, limits):
    A, block = graph
    # Coarse by one step of pairing at most: splinters are nodes of the coarse graph still.
    limits(graph_nodes=A.shape[0] - 1)
    labels = graph_partition(A, normalize(A, "degree").matrix, 2).labels
    assert not partition_rank(A, labels, 2)[0]
    # Nodes of the coarse graph mix a tenth of the objects.
    assert blocks_found(labels, block) > 0.85


@pytest.mark.parametrize("across", [0.0, 0.002], ids=["clean cuts", "blurred cuts"])
def test_tried_only_where_cuts_are_not_clean(across, monkeypatch, limits):
    rng = np.random.default_rng(5)
    block = np.arange(900) // 300
    chance = np.where(block[:, None] == block, 0.1, across)
    upper = np.triu(rng.random(chance.shape) < chance, 1)
    # One tie from block to block keeps the graph in one piece.
    upper[[0, 300], [300, 600]] = True
    A = sp.csr_array((upper | upper.T).astype(float))
    calls = []

    def watched(*args, **options):
        calls.append(args)
        return regularized_eigenvectors(*args, **options)

    monkeypatch.setattr(_graph_partition, "regularized_eigenvectors", watched)
    limits(graph_nodes=400)
    labels = graph_partition(A, normalize(A, "degree").matrix, 3).labels
    assert len(calls) == (0 if across == 0.0 else 1)
    assert len(set(zip(labels, block, strict=True))) == 3 or across > 0.0


@pytest.fixture
def planted():
    """Six blocks of unequal degrees, and vectors near those that separate them."""
    rng = np.random.default_rng(17)
    block = np.arange(900) % 6
    chance = np.where(block[:, None] == block, 0.12, 0.004) * rng.uniform(0.5, 1.5, 900)
    half = sp.csr_array(np.triu(rng.random((900, 900)) < chance, 1).astype(float))
    A = sp.csr_array(half + half.T)
    _, V = leading_eigenvectors(normalize(A, "degree").matrix, 20)
    return A, V


def test_vectors_near_by_are_improved_to_the_same_span(planted, monkeypatch):
    A, near = planted
    sizes = np.ones(A.shape[0])
    expected = regularized_eigenvectors(A, sizes, 20)[:, :6]
    monkeypatch.setattr("soffit.partition.multilevel.eigsh", None)
    found = regularized_eigenvectors(A, sizes, 20, near=near, n_clusters=6)
    assert found.shape == (900, 20)
    assert np.linalg.svd(expected.T @ found[:, :6])[1].min() > 0.999


def test_vectors_that_are_not_near_are_no_help_and_no_harm(planted):
    A, _ = planted
    sizes = np.ones(A.shape[0])
    useless = np.eye(900, 20)
    expected = regularized_eigenvectors(A, sizes, 20)
    found = regularized_eigenvectors(A, sizes, 20, near=useless, n_clusters=6)
    assert np.linalg.svd(expected[:, :6].T @ found[:, :6])[1].min() > 0.999


def test_vectors_in_single_precision_are_accurate_up_to_rounding(planted):
    A, _ = planted
    N = normalize(A.astype(np.float32), "degree").matrix
    values, V = leading_eigenvectors(N, 6)
    # As the products of some thousand nodes round.
    V += np.random.default_rng(1).normal(scale=1.5e-6 / 30, size=V.shape).astype(np.float32)
    assert are_accurate(N, values, V)
    assert not are_accurate(N, values, V[:, [1, 0, 2, 3, 4, 5]])


def test_a_span_is_accurate_if_vectors_of_nearly_equal_eigenvalues_are_mixed():
    values = np.array([1.0, 0.99999, 0.99998, 0.5, 0.4])
    N = sp.csr_array(np.diag(values))
    V = np.eye(5)
    V[:3, :3] = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    assert has_accurate_span(N, values, V, 3)
    assert not are_accurate(N, values, V)
    assert not has_accurate_span(N, values, V, 2)
    assert not has_accurate_span(N, values, V[:, ::-1], 3)
    assert not has_accurate_span(N, values[:3], V[:, :3], 3)
