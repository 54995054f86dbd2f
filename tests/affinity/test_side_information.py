from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.affinity import SideInformation

PAIRS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda p: p[0] != p[1]), max_size=12
)


def as_sets(pairs):
    return {frozenset(pair) for pair in pairs.tolist()}


def test_pairs_are_kept_once_whatever_their_order():
    side = SideInformation.of([(3, 1), (1, 3), (0, 2)], np.array([[4, 0], [4, 0]]), 5)
    assert side.must.tolist() == [[0, 2], [1, 3]]
    assert side.cannot.tolist() == [[0, 4]]
    assert side.n_pairs == 3


@pytest.mark.parametrize("nothing", [None, [], np.empty((0, 2), dtype=int)])
def test_no_pairs(nothing):
    side = SideInformation.of(nothing, nothing, 4)
    assert side.n_pairs == 0
    assert side.relation().nnz == 0


@given(PAIRS, PAIRS)
def test_relation_has_plus_and_minus_one(must, cannot):
    cannot = [p for p in cannot if p not in must and p[::-1] not in must]
    R = SideInformation.of(must, cannot, 8).relation(np.float32)
    expected = np.zeros((8, 8))
    for sign, pairs in ((1, must), (-1, cannot)):
        for a, b in pairs:
            expected[a, b] = expected[b, a] = sign
    assert R.dtype == np.float32
    assert np.array_equal(R.toarray(), expected)


@settings(deadline=None)
@given(PAIRS, PAIRS)
def test_closure_is_what_graph_components_say(must, cannot):
    graph = nx.Graph(must)
    graph.add_nodes_from(range(8))
    group = {node: i for i, part in enumerate(nx.connected_components(graph)) for node in part}
    cannot = [(a, b) for a, b in cannot if group[a] != group[b]]
    side = SideInformation.of(must, cannot, 8, transitive=True)
    rivals = {frozenset((group[a], group[b])) for a, b in cannot}
    every = [(a, b) for a in range(8) for b in range(a)]
    assert as_sets(side.must) == {frozenset(p) for p in every if group[p[0]] == group[p[1]]}
    assert as_sets(side.cannot) == {
        frozenset(p) for p in every if frozenset((group[p[0]], group[p[1]])) in rivals
    }


def test_contradictions_are_named():
    with pytest.raises(ValueError, match=r"\(1, 2\) in cannot_link are also in must_link"):
        SideInformation.of([(2, 1)], [(0, 3), (1, 2)], 4)
    names = np.array(["ann", "bob", "cyd", "dan"], dtype=object)
    with pytest.raises(ValueError, match=r"\('bob', 'cyd'\)"):
        SideInformation.of([(2, 1)], [(1, 2)], 4, names=names)


def test_contradictions_through_others_need_transitivity():
    must, cannot = [(0, 1), (1, 2)], [(0, 2)]
    assert SideInformation.of(must, cannot, 3).n_pairs == 3
    with pytest.raises(ValueError, match=r"must_link joins them: 0 - 1 - 2\. Remove one"):
        SideInformation.of(must, cannot, 3, transitive=True)


def test_many_contradictions_are_counted():
    pairs = [(i, i + 1) for i in range(9)]
    with pytest.raises(ValueError, match=r"\(4, 5\) and 4 more in cannot_link"):
        SideInformation.of(pairs, pairs, 10)


@pytest.mark.parametrize(
    ("pairs", "error", "message"),
    [
        ([1, 2, 3], ValueError, r"must_link must be an array of pairs, shape \(p, 2\), got \(3,\)"),
        ([(0.0, 1.0)], TypeError, "must_link must hold object numbers"),
        ([(0, 5)], ValueError, "must_link names object 5, but objects are numbered 0 to 4"),
        ([(-1, 2)], ValueError, "must_link names object -1"),
        ([(3, 3)], ValueError, "must_link pairs object 3 with itself"),
    ],
)
def test_malformed_pairs(pairs, error, message):
    with pytest.raises(error, match=message):
        SideInformation.of(pairs, None, 5)


def test_selection_renumbers_pairs():
    side = SideInformation.of([(0, 4), (1, 2)], [(2, 4), (0, 3)], 5).among(np.array([0, 2, 4]))
    assert side.n_objects == 3
    assert side.must.tolist() == [[0, 2]]
    assert side.cannot.tolist() == [[1, 2]]
    turned = SideInformation.of([(0, 4), (1, 2)], [(2, 4), (0, 3)], 5).among(np.array([4, 0, 2]))
    assert turned.must.tolist() == [[0, 1]]
    assert turned.cannot.tolist() == [[0, 2]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_joined_graph(dtype):
    A = np.array([[0, 2, 0, 0], [2, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0]], dtype=dtype)
    side = SideInformation.of([(0, 2), (1, 3)], [(0, 1)], 4)
    dense = side.joined(A, 0.5)
    stored = side.joined(sp.csr_array(A), 0.5)
    # Degrees 2, 4, 2 and, for the object without any, their mean 2; one must-link counts 1/6.
    expected = A.astype(float)
    expected[0, 2] = expected[2, 0] = 0.5 * 2 / 6
    expected[1, 3] = expected[3, 1] = 0.5 * np.sqrt(4 * 2) / 6
    np.testing.assert_allclose(dense, expected, rtol=1e-6)
    np.testing.assert_allclose(stored.toarray(), expected, rtol=1e-6)
    assert dense.dtype == stored.dtype == dtype


def test_must_links_of_a_well_known_object_weigh_as_much_as_its_affinities():
    n = 40
    A = np.ones((n, n)) - np.eye(n)
    pairs = [(i, j) for i in range(n) for j in range(i)]
    joined = SideInformation.of(pairs, None, n).joined(A, 1.0)
    np.testing.assert_allclose(joined.sum(axis=1), 2 * A.sum(axis=1))


@given(PAIRS, PAIRS)
@settings(deadline=None)
def test_the_least_number_of_clusters_is_the_largest_set_of_groups_that_differ(must, cannot):
    side = SideInformation.of(must, None, 8)
    graph = nx.Graph(side.must.tolist())
    graph.add_nodes_from(range(8))
    group = {
        node: number for number, part in enumerate(nx.connected_components(graph)) for node in part
    }
    rivals = nx.Graph([(group[a], group[b]) for a, b in cannot if group[a] != group[b]])
    rivals.add_nodes_from(group.values())
    exact = max(map(len, nx.find_cliques(rivals)))
    found = SideInformation(side.must, np.array(cannot, dtype=int).reshape(-1, 2), 8).n_clusters()
    # The search is greedy, and exact for so few groups but for rare ties.
    assert exact - 1 <= found <= exact
    assert found == exact or exact > 3


def test_pairs_need_as_many_clusters_as_groups_that_differ():
    side = SideInformation.of([(0, 1)], [(0, 2), (1, 3), (2, 3), (4, 5)], 6)
    assert side.n_clusters() == 3
    assert SideInformation.of([(0, 1)], None, 6).n_clusters() == 1
    # A pair inside a group contradicts it and proves nothing.
    contradicted = SideInformation(np.array([[0, 1]]), np.array([[0, 1]]), 3)
    assert contradicted.n_clusters() == 1


def test_many_pairs_show_the_number_of_clusters():
    rng = np.random.default_rng(0)
    labels, pairs = rng.integers(0, 5, 2000), np.sort(rng.integers(0, 2000, (30_000, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    assert SideInformation.of(pairs[same], pairs[~same], 2000).n_clusters() == 5
