"""Edge lists, graph files and AnnData."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.io import DataError, read


def save(tmp_path, name, content):
    path = tmp_path / name
    path.write_text(content)
    return path


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("g.edges", "ann bob 2\nbob cyd 1\n", "auto"),
        ("g.edgelist", "# a comment\nann\tbob\t2\nbob\tcyd\t1\n", "auto"),
        ("g.txt", "ann bob 2\nbob cyd 1\n", "auto"),
        ("g.csv", "source,target,weight\nann,bob,2\nbob,cyd,1\n", "graph"),
        ("g.csv", "date,to,from,weight\n1,bob,ann,2\n2,cyd,bob,1\n", "graph"),
        ("g.tsv", "ann\tbob\t2\nbob\tcyd\t1\n", "graph"),
    ],
)
def test_edge_lists(tmp_path, name, content, kind):
    source = read(save(tmp_path, name, content), kind=kind)
    assert source.kind == "graph"
    order = [source.ids.tolist().index(node) for node in ("ann", "bob", "cyd")]
    found = source.data.toarray()[np.ix_(order, order)]
    np.testing.assert_array_equal(found, [[0, 2, 0], [2, 0, 1], [0, 1, 0]])


def test_numbered_nodes_come_in_order_and_edges_add_up(tmp_path):
    source = read(save(tmp_path, "g.edges", "10 2\n2 9\n9 2\n10 10\n"))
    assert source.ids.tolist() == ["2", "9", "10"]
    np.testing.assert_array_equal(source.data.toarray(), [[0, 2, 1], [2, 0, 0], [1, 0, 1]])
    said = " ".join(source.notes)
    for expected in ("weight 1", "1 edge repeat", "1 edge from a node to itself"):
        assert expected in said


def test_measurements_in_a_text_file_are_a_table(tmp_path):
    assert read(save(tmp_path, "p.txt", "1.5 2.5\n3.5 4.5\n0.5 0.25\n")).kind == "table"


def test_a_text_file_read_as_edges_says_so(tmp_path):
    path = save(tmp_path, "p.txt", "1 2\n2 3\n")
    assert 'Pass kind="table"' in " ".join(read(path).notes)
    assert read(path, kind="table").data.shape == (2, 2)


def test_edge_lists_have_no_columns_to_choose(tmp_path):
    with pytest.raises(DataError, match=r"Leave out drop"):
        read(save(tmp_path, "g.edges", "1 2\n"), drop=["x"])


@pytest.mark.parametrize("ending", ["graphml", "gml"])
def test_graph_files(tmp_path, ending):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_weighted_edges_from([("ann", "bob", 2.0), ("bob", "zoë", 1.5)])
    networkx.set_node_attributes(graph, {"ann": "x", "bob": "y", "zoë": "x"}, "team")
    path = tmp_path / f"g.{ending}"
    getattr(networkx, f"write_{ending}")(graph, path)
    source = read(path, label="team")
    assert source.ids.tolist() == ["ann", "bob", "zoë"]
    assert source.truth.tolist() == ["x", "y", "x"]
    np.testing.assert_array_equal(source.data.toarray(), [[0, 2, 0], [2, 0, 1.5], [0, 1.5, 0]])
    assert source.origin.number_of_nodes() == 3
    with pytest.raises(DataError, match=r"label names 'club'"):
        read(path, label="club")


def test_directed_graphs_are_averaged_and_said_so(tmp_path):
    networkx = pytest.importorskip("networkx")
    networkx.write_graphml(networkx.DiGraph([("a", "b"), ("b", "c")]), tmp_path / "g.graphml")
    source = read(tmp_path / "g.graphml")
    assert source.data[0, 1] == 0.5
    assert "directed" in " ".join(source.notes)


def test_gml_without_labels(tmp_path):
    pytest.importorskip("networkx")
    path = save(
        tmp_path, "g.gml", "graph [ node [ id 3 ] node [ id 5 ] edge [ source 3 target 5 ] ]"
    )
    assert read(path).ids.tolist() == ["3", "5"]


@pytest.fixture
def cells(tmp_path):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(31)
    names = [f"cell{i}" for i in range(12)]
    obs = pandas.DataFrame({"type": pandas.Categorical(["t", "b"] * 6)}, index=names)
    made = anndata.AnnData(
        X=rng.random((12, 5)).astype("f4"),
        obs=obs,
        var=pandas.DataFrame(index=[f"gene{i}" for i in range(5)]),
    )
    made.obsm["X_pca"] = rng.random((12, 3))
    graph = sp.random_array((12, 12), density=0.4, random_state=rng)
    made.obsp["connectivities"] = sp.csr_matrix(graph + graph.T)
    made.write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


def test_annotated_data(cells):
    graph = read(cells, label="type")
    assert (graph.kind, graph.data.shape) == ("graph", (12, 12))
    assert graph.truth.tolist() == ["t", "b"] * 6
    assert graph.ids[3] == "cell3"
    table = read(cells, kind="table")
    assert table.columns == ("PC1", "PC2", "PC3")
    assert "connectivities" in table.origin.obsp
    with pytest.raises(DataError, match=r"cannot be read as distances"):
        read(cells, kind="distances")


def test_annotated_data_without_anything_computed(cells):
    anndata = pytest.importorskip("anndata")
    bare = anndata.read_h5ad(cells)
    del bare.obsp["connectivities"]
    del bare.obsm["X_pca"]
    bare.write_h5ad(cells)
    source = read(cells)
    assert source.columns[0] == "gene0"
    assert source.data.dtype == np.float32
    with pytest.raises(DataError, match=r"no neighbour graph"):
        read(cells, kind="graph")
