"""Attributes of nodes and cells describe clusters, and take no part in finding them."""

from __future__ import annotations

import numpy as np
import pytest

from soffit import SoftClustering
from soffit.inputs import read_attributes
from soffit.io import Source
from soffit.report import write_report
from soffit.results.members import between
from soffit.results.sentences import differing
from soffit.results.summary import Summary
from soffit.session.object_table import ObjectTable

nx = pytest.importorskip("networkx")


@pytest.fixture(scope="module")
def club():
    """Two rings with a bridge; the nodes of each have an age and a place, one of them a gap."""
    graph = nx.disjoint_union(nx.complete_graph(8), nx.complete_graph(8))
    graph.add_edge(7, 8)
    for node in graph:
        graph.nodes[node]["age"] = 20 + node % 3 if node < 8 else 60 + node % 3
        graph.nodes[node]["place"] = ("<b>north</b>", "south")[node >= 8]
        graph.nodes[node]["odd"] = [complex(1, 2), float("inf"), None, {"a": 1}][node % 4]
    del graph.nodes[3]["age"]
    return graph


@pytest.fixture(scope="module")
def model(club):
    return SoftClustering(2, random_state=7).fit(club)


def test_nodes_of_networkx_and_igraph_and_cells_have_attributes(club):
    known = read_attributes(club)
    assert list(known) == ["age", "place", "odd"]
    assert known["age"][:5] == [20, 21, 22, None, 21]
    assert read_attributes(np.eye(3)) == {}
    igraph = pytest.importorskip("igraph")
    same = igraph.Graph([(0, 1)], vertex_attrs={"name": ["a", "b"], "age": [3, None]})
    assert read_attributes(same) == {"age": [3, None]}
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(np.eye(3))
    cells.obs["kind"] = ["x", "y", "x"]
    assert read_attributes(cells) == {"kind": ["x", "y", "x"]}


def test_attributes_describe_the_clusters_of_a_graph(club, model):
    summary = Summary.of(model, club)
    assert (summary.table, summary.kind) == (None, "graph")
    first = int(summary.labels[0])
    apart = {found.column: found for found in summary.clusters[first].apart}
    assert apart["age"].mean < 22
    assert apart["place=<b>north</b>"].mean > 0.9
    assert differing(summary).startswith("Of what else is known, ")
    found = between(summary, 7)
    assert found.links.startswith("Of its 8 links")
    assert found.columns[0].column in ("age", "place")
    assert summary.telling_columns == ()


def test_the_label_is_not_told_as_a_discovery(club, model):
    places = [club.nodes[node]["place"] for node in club]
    known = Summary.of(model, club, truth=places).attributes
    assert known is not None
    assert not any(name.startswith("place") for name in known.columns)


def test_the_report_of_a_graph_shows_attributes(club, model, tmp_path):
    write_report(tmp_path / "club.html", model, X=club)
    page = (tmp_path / "club.html").read_text(encoding="utf-8")
    assert "not used to find the clusters" in page
    assert '"title":"age"' in page.replace(": ", ":")
    assert "<b>north</b>" not in page


def test_the_app_shows_attributes_of_nodes(club):
    source = Source("graph", nx.to_scipy_sparse_array(club, format="csr"), origin=club)
    table = ObjectTable.of(source)
    assert [column.name for column in table.columns] == [
        "age",
        "place",
        "odd",
        "linked to",
        "links",
    ]
    assert [column.is_used for column in table.columns[:3]] == [False] * 3
    assert table.columns[0].shown(3) == ""
    assert table.columns[1].shown(15) == "south"


def test_a_report_of_annotated_cells_has_genes_attributes_and_their_map(tmp_path):
    anndata = pytest.importorskip("anndata")
    rng = np.random.default_rng(7)
    side = np.repeat([0, 1], 30)
    cells = anndata.AnnData(rng.poisson(2 + 6 * side[:, None] * [1, 0, 1], (60, 3)).astype(float))
    cells.var_names = ["CD3", "CD4", "CD8"]
    cells.obs["donor"] = np.where(side, "old", "young")
    cells.obsm["X_pca"] = rng.normal(size=(60, 2)) + 9 * side[:, None]
    cells.obsm["X_umap"] = cells.obsm["X_pca"]
    model = SoftClustering(2, random_state=7).fit(cells)
    summary = Summary.of(model, cells)
    assert summary.columns == ("CD3", "CD4", "CD8")
    assert summary.attributes is not None
    assert len(summary.attributes.columns) == 2
    model.report(tmp_path / "cells.html", cells)
    page = (tmp_path / "cells.html").read_text(encoding="utf-8")
    assert "CD8" in page
    assert "donor" in page
    assert "UMAP" in page
