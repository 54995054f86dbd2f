"""Overlapping sets, and memberships as attributes of nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import igraph
import networkx as nx
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from soffit import SoftClustering
from soffit.memberships import as_sets, to_igraph, to_networkx

ROWS = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])


@pytest.fixture(scope="module")
def karate() -> Any:
    # Names that are neither numbers nor in their order.
    graph = nx.karate_club_graph()
    return nx.relabel_nodes(graph, {node: f"member {33 - node}" for node in graph})


@pytest.fixture(scope="module")
def model(karate: Any) -> Any:
    return SoftClustering(2, random_state=7).fit(karate)


def test_an_object_belongs_to_all_clusters_that_are_half_as_probable() -> None:
    assert as_sets(ROWS) == [{0, 1, 3}, {1, 2, 3}]
    assert as_sets(ROWS.astype(np.float32)) == as_sets(ROWS)
    # The ratio decides, not the number of clusters.
    wide = np.array([[0.4, 0.2, 0.19, 0.11, 0.1]])
    assert as_sets(wide) == [{0}, {0}, set(), set(), set()]


def test_a_threshold_is_absolute() -> None:
    assert as_sets(ROWS, threshold=0.7) == [{0}, {2}]
    assert as_sets(ROWS, threshold=0.0) == [{0, 1, 2, 3}] * 2
    assert as_sets(ROWS, threshold=1.0) == [set(), set()]
    single = np.array([[0.7, 0.3]], dtype=np.float32)
    assert as_sets(single, threshold=0.7) == [{0}, set()]


def test_sets_of_nodes_serve_networkx(model: Any, karate: Any) -> None:
    sets = as_sets(model, threshold=0.5)
    assert set.union(*sets) == set(karate.nodes)
    assert nx.community.is_partition(karate, sets)
    assert nx.community.modularity(karate, sets) > 0.3
    overlapping = as_sets(model)
    assert all(small <= large for small, large in zip(sets, overlapping, strict=True))


def test_sets_of_results_and_of_given_names() -> None:
    from soffit.io import Result

    result = Result.from_memberships(ROWS, ids=["a", "b", "c", "d"])
    assert as_sets(result) == [{"a", "b", "d"}, {"b", "c", "d"}]
    assert as_sets(ROWS, names="wxyz") == [{"w", "x", "z"}, {"x", "y", "z"}]


@pytest.mark.parametrize("threshold", [-0.1, 1.5, "half", np.nan])
def test_thresholds_are_shares(threshold: Any) -> None:
    with pytest.raises(ValueError, match="threshold must be None or a number"):
        as_sets(ROWS, threshold=threshold)


def test_mistakes() -> None:
    with pytest.raises(NotFittedError):
        as_sets(SoftClustering(2))
    with pytest.raises(ValueError, match="names has 2 entries for 4 objects"):
        as_sets(ROWS, names=["a", "b"])
    with pytest.raises(ValueError, match="NaN"):
        as_sets(np.full((2, 2), np.nan))


def test_nodes_of_networkx_get_what_the_command_writes(
    model: Any, karate: Any, tmp_path: Path
) -> None:
    from soffit.io import Result, read, write_result

    marked = to_networkx(model, karate)
    assert marked is not karate
    assert "soffit" not in karate.nodes["member 0"]
    for number, node in enumerate(model.object_names_):
        attributes = marked.nodes[node]
        assert attributes["soffit"] == model.labels_[number]
        assert attributes["p1"] == model.memberships_[number, 1]
        assert attributes["club"] == karate.nodes[node]["club"]
    nx.write_graphml(karate, tmp_path / "karate.graphml")
    source = read(tmp_path / "karate.graphml")
    write_result(Result.of(model, source), tmp_path / "out.graphml", source=source)
    written = nx.read_graphml(tmp_path / "out.graphml")
    assert written.nodes["member 0"].keys() == marked.nodes["member 0"].keys()


def test_names_of_clusters_and_another_key(model: Any, karate: Any) -> None:
    named = model.rename({0: "hi", 1: "officer"})
    marked = to_networkx(named, karate, key="soft")
    first = marked.nodes[model.object_names_[0]]
    assert first["soft_name"] == named.cluster_names_[model.labels_[0]]
    assert {"soft", "soft_certainty", "soft_entropy", "soft_p0", "soft_p1"} <= first.keys()


def test_the_graph_itself_changes_only_if_asked(model: Any, karate: Any) -> None:
    own = karate.copy()
    assert to_networkx(model, own, copy=False) is own
    assert own.nodes["member 3"]["soffit"] in (0, 1)
    part = own.subgraph([f"member {i}" for i in range(5)]).copy()
    assert len(to_networkx(model, part).nodes) == 5


def test_vertices_of_igraph(model: Any, karate: Any) -> None:
    graph = igraph.Graph.from_networkx(karate)
    graph.vs["name"] = graph.vs["_nx_name"]
    marked = to_igraph(model, graph)
    assert marked.vs["soffit"] == model.labels_.tolist()
    assert "soffit" not in graph.vs.attributes()
    unnamed = igraph.Graph.Famous("Zachary")
    by_number = SoftClustering(2, random_state=7).fit(unnamed)
    assert to_igraph(by_number, unnamed, copy=False) is unnamed
    assert unnamed.vs["soffit"] == by_number.labels_.tolist()


def test_other_graphs_are_refused(model: Any) -> None:
    with pytest.raises(ValueError, match=r"not fitted to the nodes 0, 1, 2, 3, 4 and 5 more"):
        to_networkx(model, nx.path_graph(10))
    with pytest.raises(ValueError, match="10 nodes, but there are memberships of 4 objects"):
        to_networkx(ROWS, nx.path_graph(10))
