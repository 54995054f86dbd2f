"""Why an object lies between two clusters."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import scipy.sparse as sp

from soffit import SoftClustering
from soffit.results.members import Comparison, between, called, least_certain
from soffit.results.sentences import headline
from soffit.results.summary import Summary


def two_groups():
    labels = np.repeat([0, 1], 20)
    X = np.column_stack([np.where(labels, 10.0, 0.0), np.where(labels, 5.0, 1.0), np.ones(40)])
    X += np.random.default_rng(31).normal(scale=0.1, size=X.shape)
    G = np.where(np.eye(2)[labels] == 1, 0.95, 0.05)
    X[7], G[7] = [9.0, 1.0, 1.0], [0.55, 0.45]
    return Summary.of(G, X, columns=["length", "width", "noise"])


def test_values_stand_beside_those_of_both_clusters():
    summary = two_groups()
    assert least_certain(summary) == [7]
    found = between(summary, 7)
    assert found.clusters == (0, 1)
    width, length = sorted(found.columns[:2], key=lambda item: item.column, reverse=True)
    assert (length.own, length.nearer) == ("9.0", 1)
    assert (width.own, width.nearer) == ("1.0", 0)
    assert found.sentence(summary) == (
        "width is nearer to cluster 0, but length is nearer to cluster 1."
    )


def test_texts_are_compared_by_how_frequent_they_are():
    frame = pd.DataFrame({"sex": ["f"] * 20 + ["m"] * 20, "age": [1.0, 2.0] * 10 + [8.0, 9.0] * 10})
    model = SoftClustering(2, metric="gower", random_state=23).fit(frame)
    found = between(Summary.of(model, frame), 0)
    sex = next(item for item in found.columns if item.column == "sex")
    assert sex.own == "f"
    assert sex.first.startswith("f (")
    assert sex.nearer == 0


def test_words_are_frequent_and_what_else_is_known_is_near():
    counts = np.kron(np.eye(2), np.ones((10, 3)))
    counts[3, 5] = 1.0
    words = sp.csr_array(counts)
    G = np.where(np.kron(np.eye(2), np.ones((10, 1))) > 0, 0.9, 0.1)
    G[3] = [0.55, 0.45]
    summary = Summary.of(G, words, columns=list("abcdef"))
    known = Comparison("age", "9", "1", "8", 1, 2.0)
    found = between(summary, 3)
    mixed = replace(found, columns=(known, *found.columns))
    assert found.sentence(summary) == (
        "a, b and c are more frequent in cluster 0, but f is more frequent in cluster 1."
    )
    assert mixed.sentence(summary).endswith(
        "but age is nearer to cluster 1, where f is more frequent."
    )


def test_clusters_are_called_by_what_is_special_if_that_tells_them_apart():
    summary = two_groups()
    assert called(summary) == ("low width", "high width")
    named = replace(summary, names=("short ones", "1"))
    assert called(named) == ("short ones", "high width")
    assert called(replace(summary, names=("high width", "1"))) == ()  # not told apart
    assert called(Summary.of(summary.memberships)) == ()  # nothing is known
    assert "into 2 clusters: low width (20) and high width (20)." in headline(summary)


def test_nodes_are_described_by_their_links():
    graph = nx.disjoint_union(nx.complete_graph(6), nx.complete_graph(6))
    graph.add_node("bridge")
    graph.add_edges_from([("bridge", 0), ("bridge", 1), ("bridge", 7)])
    model = SoftClustering(2, random_state=23).fit(graph)
    summary = Summary.of(model)
    found = between(summary, summary.ids.index("bridge"))
    words = found.sentence(summary)
    assert words.startswith("Of its 3 links, 2 lead to cluster ")
    assert "(0 and 1)" in words
    assert "(7)" in words


def test_links_to_one_cluster_alone_are_said_as_such():
    graph = nx.disjoint_union(nx.complete_graph(6), nx.complete_graph(6))
    graph.add_edges_from([("child", 0), ("child", 1), ("leaf", 2)])
    summary = Summary.of(SoftClustering(2, random_state=23).fit(graph))
    words = between(summary, summary.ids.index("child")).sentence(summary)
    assert words.startswith("Both of its links lead to cluster ")
    assert "0 to" not in words
    leaf = between(summary, summary.ids.index("leaf")).sentence(summary)
    assert leaf.startswith("Its only link leads to cluster ")
    node = between(summary, summary.ids.index("5")).sentence(summary)
    assert node.startswith("All of its 5 links lead to cluster ")


def test_pairs_of_clusters_take_turns_and_clear_objects_are_left_out():
    G = np.array([[0.5, 0.5, 0], [0.51, 0.49, 0], [0, 0.6, 0.4], [0.9, 0.1, 0]])
    assert least_certain(Summary.of(G)) == [0, 2, 1]
    assert least_certain(Summary.of(np.ones((4, 1)))) == []
    assert least_certain(Summary.of(np.eye(4))) == []
