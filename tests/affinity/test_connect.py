from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from soffit.affinity import neighbor_graph as _connect
from soffit.graph import pair_components

NOTHING = (np.empty(0, dtype=int), np.empty(0, dtype=int), np.empty(0))


def connecting_links(X, edges, candidates, radius, *, metric):
    """Links, where the candidates are written as neighbour lists; -1 where a list ends."""
    first, second, distance = candidates
    n = X.shape[0]
    place = np.array([np.sum(first[:p] == i) for p, i in enumerate(first)], dtype=int)
    lists = np.full((n, len(first)), -1)
    values = np.full((n, len(first)), np.inf)
    lists[first, place], values[first, place] = second, distance
    return _connect.connecting_links(X, edges, (lists, values), radius, metric=metric)


def kruskal(n, edges, *rounds):
    """Join components by the shortest links, one list of (distance, i, j) after the other."""
    parent = list(range(n))

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    for i, j in zip(*edges, strict=True):
        parent[root(i)] = root(j)
    lengths = []
    for links in rounds:
        for distance, i, j in sorted(links):
            if root(i) != root(j):
                parent[root(i)] = root(j)
                lengths.append(distance)
    return lengths


def all_pairs(D):
    n = len(D)
    return [(D[i, j], i, j) for i in range(n) for j in range(i + 1, n)]


def n_components(n, edges, links):
    row = np.concatenate([edges[0], links[0]])
    column = np.concatenate([edges[1], links[1]])
    graph = sp.coo_array((np.ones(len(row)), (row, column)), shape=(n, n))
    return sp.csgraph.connected_components(graph, directed=False)[0]


def groups(centers, size, rng):
    """Chains of near points around far-apart centres, and their edges."""
    X = np.repeat(centers, size, axis=0) + rng.normal(scale=0.1, size=(len(centers) * size, 2))
    first = np.concatenate([np.arange(size - 1) + g * size for g in range(len(centers))])
    return X, (first, first + 1)


@given(st.integers(0, 2**31), st.integers(2, 16), st.integers(0, 10), st.integers(0, 12))
def test_total_length_is_that_of_the_spanning_tree(seed, n, n_edges, n_candidates):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(n, 2)).astype(float)
    D = cdist(X, X)
    edges = rng.integers(0, n, size=(2, n_edges))
    first, second = rng.integers(0, n, size=(2, n_candidates))
    candidates = (first, second, D[first, second])
    links = connecting_links(X, (edges[0], edges[1]), candidates, D.max(1), metric="euclidean")
    expected = kruskal(n, edges, list(zip(candidates[2], first, second, strict=True)), all_pairs(D))
    np.testing.assert_allclose(links[2], D[links[0], links[1]], rtol=1e-12)
    np.testing.assert_allclose(np.sort(links[2]), np.sort(expected), rtol=1e-12)
    assert n_components(n, edges, links) == 1


@given(st.integers(0, 2**31), st.integers(1, 40), st.integers(1, 6))
def test_equal_links_have_one_order(seed, n, n_values):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, n_values, size=n).astype(np.float32)
    first, second = rng.integers(0, 3, size=(2, n))
    expected = np.lexsort((second, first, values))
    assert np.array_equal(_connect._in_order(values, (first, second)), expected)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_metrics(metric):
    rng = np.random.default_rng(7717)
    X, edges = groups(rng.uniform(0, 100, size=(7, 2)), 9, rng)
    D = cdist(X, X, "cityblock" if metric == "manhattan" else "euclidean")
    given_objects = D if metric == "precomputed" else X
    links = connecting_links(given_objects, edges, NOTHING, D.max(1), metric=metric)
    np.testing.assert_allclose(np.sort(links[2]), np.sort(kruskal(len(X), edges, all_pairs(D))))


def test_sparse_features():
    rng = np.random.default_rng(2203)
    X, edges = groups(rng.uniform(0, 100, size=(5, 2)), 6, rng)
    radius = np.ones(len(X))
    dense = connecting_links(X, edges, NOTHING, radius, metric="euclidean")
    stored = connecting_links(sp.csr_array(X), edges, NOTHING, radius, metric="euclidean")
    assert np.array_equal(dense[0], stored[0])
    assert np.array_equal(dense[1], stored[1])


def test_connected_graph_needs_no_links():
    X = np.arange(6.0)[:, None]
    edges = (np.arange(5), np.arange(1, 6))
    links = connecting_links(X, edges, NOTHING, np.ones(6), metric="euclidean")
    assert all(len(part) == 0 for part in links)


def test_sparse_distances_offer_no_other_links():
    D = sp.csr_array((4, 4))
    edges = (np.array([0, 2]), np.array([1, 3]))
    links = connecting_links(D, edges, NOTHING, np.ones(4), metric="precomputed")
    assert n_components(4, edges, links) == 2
    candidates = (np.array([1, 0]), np.array([2, 3]), np.array([5.0, 4.0]))
    links = connecting_links(D, edges, candidates, np.ones(4), metric="precomputed")
    assert (links[0].tolist(), links[1].tolist(), links[2].tolist()) == ([0], [3], [4.0])


# --- many components -----------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "precomputed"])
def test_many_components(metric):
    rng = np.random.default_rng(9413)
    X, edges = groups(rng.uniform(0, 1000, size=(150, 2)), 2, rng)
    assert len(X) // 2 > _connect._MOST_EXACT_COMPONENTS
    D = cdist(X, X)
    given_objects = D if metric == "precomputed" else X
    links = connecting_links(given_objects, edges, NOTHING, rng.random(len(X)), metric=metric)
    assert n_components(len(X), edges, links) == 1
    assert len(links[0]) == 149
    if metric == "euclidean":
        # One object speaks for its component: hardly longer than the shortest links.
        assert links[2].sum() < 1.05 * sum(kruskal(len(X), edges, all_pairs(D)))


def test_many_components_of_copies():
    X = np.zeros((200, 2))
    edges = (np.arange(0, 200, 2), np.arange(1, 200, 2))
    links = connecting_links(X, edges, NOTHING, np.zeros(200), metric="euclidean")
    assert n_components(200, edges, links) == 1
    assert np.all(links[2] == 0)


def test_representatives_are_the_densest_objects(limits):
    limits(exact_components=1)
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    edges = (np.array([0, 2]), np.array([1, 3]))
    radius = np.array([0.1, 1.0, 1.0, 0.1])
    links = connecting_links(X, edges, NOTHING, radius, metric="euclidean")
    assert {int(links[0][0]), int(links[1][0])} == {0, 3}
    assert links[2].tolist() == [11.0]


def test_links_of_wide_tables_are_short_but_not_searched_among_all_pairs(monkeypatch, limits):
    def shortest(_):
        raise AssertionError("all pairs were compared")

    monkeypatch.setattr(_connect._Sides, "shortest", shortest)
    # One less than those of a group of 30 and the 120 others.
    limits(exact_coordinates=30 * 120 * 320 - 1, link_sample=16)
    rng = np.random.default_rng(2218)
    X, edges = groups(rng.uniform(0, 100, size=(5, 2)), 30, rng)
    wide = np.tile(X, 160)
    links = connecting_links(wide, edges, NOTHING, np.ones(len(X)), metric="euclidean")
    assert n_components(len(X), edges, links) == 1
    assert links[2].sum() < 1.05 * sum(kruskal(len(X), edges, all_pairs(cdist(wide, wide))))


# --- parts ---------------------------------------------------------------------------------------


@given(st.integers(1, 30), st.integers(0, 40), st.integers(0, 2**31))
def test_components_are_merged_sets(n, n_edges, seed):
    first, second = np.random.default_rng(seed).integers(0, n, size=(2, n_edges))
    component = np.arange(n)
    for i, j in zip(first, second, strict=True):
        low, high = sorted((component[i], component[j]))
        component[component == high] = low
    # The root of a set is its first object, so that numbers in order of roots are as expected.
    expected = np.unique(component, return_inverse=True)[1]
    np.testing.assert_array_equal(pair_components(first, second, n), expected)


@given(st.integers(2, 12), st.integers(0, 60), st.integers(0, 2**31))
def test_spanning_links_are_those_of_kruskal(n, n_links, seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, n, size=(2, n_links))
    distance = rng.integers(0, 4, size=n_links).astype(float)  # zero and equal ones among them
    found = _connect._spanning_links(np.arange(n), (first, second, distance))
    ends = np.sort(np.stack([first, second]), axis=0)
    component, kept = np.arange(n), []
    for e in np.lexsort((second, first, ends[1], ends[0], distance)):
        low, high = sorted((component[first[e]], component[second[e]]))
        if low != high:
            component[component == high] = low
            kept.append(e)
    kept = sorted(kept, key=lambda e: (ends[0, e], ends[1, e]))
    np.testing.assert_array_equal(found[0], first[kept])
    np.testing.assert_array_equal(found[1], second[kept])
    np.testing.assert_array_equal(found[2], distance[kept])


def test_shortest_link_of_few_objects(limits):
    limits(links_compared=7)
    rng = np.random.default_rng(5519)
    X = rng.integers(0, 4, size=(60, 3)).astype(np.float32)  # many equal distances
    is_inside = rng.random(60) < 0.3
    sides = _connect._Sides(X, is_inside, "euclidean", 2)
    here, there = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
    D = cdist(X[here[:5]], X[there])
    i, j = np.unravel_index(D.argmin(), D.shape)
    assert sides._from_few(here[:5]) == (here[i], there[j], D[i, j])


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan"])
@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array])
def test_short_links_cannot_be_shortened_at_one_end(metric, stored, limits):
    """Each joins its component to another one; a move of either end alone makes it longer."""
    limits(links_compared=50, links_ranked=300, link_sample=20, link_turns=30)
    rng = np.random.default_rng(7103)
    component = rng.integers(0, 4, size=180)
    X = rng.normal(size=(4, 6))[component] * 4 + rng.normal(size=(180, 6))
    D = cdist(X, X, {"manhattan": "cityblock"}.get(metric, metric))
    D[component[:, None] == component] = np.inf
    wanted = np.array([0, 2])
    links = _connect._short_links(stored(X), component, wanted, metric, 2)
    for c, (first, second, distance) in zip(wanted, links, strict=True):
        assert component[first] == c != component[second]
        assert distance == pytest.approx(D[first, second], abs=1e-9)
        assert distance == pytest.approx(D[first].min(), abs=1e-9)
        assert distance == pytest.approx(D[component == c, second].min(), abs=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_short_links_do_not_depend_on_how_they_are_searched(offset, limits):
    """Ranking by products finds the links that measuring every pair finds."""
    rng = np.random.default_rng(911)
    component = rng.integers(0, 5, size=400)
    X = offset + rng.normal(size=(5, 8))[component] * 6 + rng.normal(size=(400, 8))
    wanted = np.arange(4)
    limits(link_sample=20)
    ranked = _connect._short_links(X, component, wanted, "euclidean", 2)
    limits(link_values=(0.0, 0.0))
    measured = _connect._short_links(X, component, wanted, "euclidean", 2)
    assert [link[:2] for link in ranked] == [link[:2] for link in measured]
    np.testing.assert_allclose([a[2] for a in ranked], [b[2] for b in measured], rtol=1e-9)


def test_links_too_long_to_measure_are_found():
    X = np.array([[-1e300], [1e300], [0.9e300]])
    sides = _connect._Sides(X, np.array([True, False, False]), "euclidean", None)
    assert sides.shortest()[:2] == (0, 1)
