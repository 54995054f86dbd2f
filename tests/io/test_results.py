"""Results to files and back, and pairs of objects."""

from __future__ import annotations

import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from soffit import SoftClustering
from soffit.datasets import make_gaussians
from soffit.io import DataError, Result, Source, read, read_pairs, read_result, write_result

ENDINGS = ["csv", "tsv", "parquet", "arrow", "feather", "jsonl", "xlsx", "npz", "json"]


@pytest.fixture
def result() -> Result:
    rng = np.random.default_rng(61)
    rows = rng.dirichlet([0.5, 0.5, 0.5], size=30)
    return Result.from_memberships(
        rows,
        ids=[f"0{i}" for i in range(29)] + ['=1+1, "x"\n<b>'],
        id_name="who",
        overlap=rng.random(30),
        instability=rng.random(30),
        truth=["a", "", "b"] * 10,
    )


def _needs_excel(ending: str) -> None:
    if ending == "xlsx":
        pytest.importorskip("xlsxwriter")
        pytest.importorskip("fastexcel")


@pytest.mark.parametrize("ending", ENDINGS)
def test_round_trip(tmp_path, result, ending):
    _needs_excel(ending)
    path = tmp_path / f"out.{ending}"
    write_result(result, path)
    again = read_result(path)
    np.testing.assert_allclose(again.memberships, result.memberships, rtol=1e-14)
    np.testing.assert_array_equal(again.labels, result.labels)
    np.testing.assert_allclose(again.entropy, result.entropy)
    np.testing.assert_allclose(again.overlap, result.overlap)
    np.testing.assert_allclose(again.instability, result.instability)
    assert again.ids.tolist() == result.ids.tolist()
    assert again.truth.tolist() == result.truth.tolist()
    assert again.id_name == "who"
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("ending", ENDINGS)
def test_numbered_objects_stay_numbered(tmp_path, ending):
    _needs_excel(ending)
    plain = Result.from_memberships(np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]]))
    write_result(replace(plain, ids=None), tmp_path / f"out.{ending}")
    again = read_result(tmp_path / f"out.{ending}")
    assert again.ids.tolist() == [0, 1, 2]
    assert again.overlap is None
    assert again.truth is None


def test_columns_of_the_file(tmp_path, result):
    write_result(replace(result, truth=None), tmp_path / "out.csv")
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert header == "who,cluster,certainty,entropy,overlap,instability,p0,p1,p2"


def test_an_id_called_cluster_does_not_collide(tmp_path, result):
    write_result(replace(result, id_name="cluster"), tmp_path / "out.csv")
    assert read_result(tmp_path / "out.csv").ids.tolist() == result.ids.tolist()


def test_a_text_cell_of_a_workbook_is_no_formula(tmp_path, result):
    _needs_excel("xlsx")
    write_result(result, tmp_path / "out.xlsx")
    assert read_result(tmp_path / "out.xlsx").ids[-1].startswith("=1+1")


def test_files_are_replaced_whole_and_readable_by_others(tmp_path, result):
    path = tmp_path / "out.csv"
    path.write_text("old")
    write_result(result, path)
    assert path.read_text().startswith("who,")
    assert path.stat().st_mode & stat.S_IRUSR


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.xls", r"the ending '.xls'.*\.parquet"),
        ("out", r"without an ending"),
        ("no/such/folder/out.csv", r"cannot be written.*folder exists"),
        ("out.h5ad", r"only be written for an \.h5ad file or a table"),
        ("out.graphml", r"only be written for a graph"),
    ],
)
def test_what_cannot_be_written(tmp_path, result, name, message):
    with pytest.raises(DataError, match=message):
        write_result(result, tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.csv", "id,x\n1,2\n", r"not a result of soffit.*'x'"),
        ("r.csv", "id,p0,p2\n1,.5,.5\n", r"missing or incomplete"),
        ("r.csv", "id,p0,p1\na,.5,.1\n", r"row 1 are not probabilities"),
        ("r.csv", "id,p0,p1\na,.5,.5\nb,,1\n", r"row 2 are not probabilities"),
        ("r.csv", "id,p0,p1\na,red,.5\nb,blue,1\n", r"'p0' must hold numbers"),
        ("r.json", "{}", r"not a result of soffit"),
        ("r.json", "[1", r"not valid JSON"),
        ("r.json", '{"format": "soffit result", "columns": {"p0": 1}}', r"not lists"),
        (
            "r.json",
            '{"format": "soffit result", "columns": {"p0": [1], "id": []}}',
            r"differ in length",
        ),
        ("r.gml", "graph []", r"not from \.gml files"),
        ("r.json", "", r"the file is empty"),
    ],
)
def test_what_cannot_be_read(tmp_path, name, content, message):
    (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=message):
        read_result(tmp_path / name)


def test_an_archive_without_memberships(tmp_path):
    np.savez(tmp_path / "r.npz", X=np.eye(3))
    with pytest.raises(DataError, match=r"no array 'memberships'"):
        read_result(tmp_path / "r.npz")


def test_result_of_a_model(tmp_path):
    X = make_gaussians(90, random_state=17).X
    model = SoftClustering(3, random_state=17).fit(X)
    source = Source("table", X, ids=np.array([f"o{i}" for i in range(90)]), id_name="object")
    result = Result.of(model, source)
    assert result.n_clusters == 3
    assert result.id_name == "object"
    np.testing.assert_array_equal(result.labels, model.labels_)
    np.testing.assert_allclose(result.entropy, model.entropy_)
    assert Result.of(model).ids.tolist() == list(range(90))
    write_result(result, tmp_path / "out.parquet")
    np.testing.assert_array_equal(
        read_result(tmp_path / "out.parquet").memberships, model.memberships_
    )


# --- into the data that were read -----------------------------------------------------------------


@pytest.mark.parametrize("ending", ["graphml", "gml"])
@pytest.mark.parametrize("origin", ["graphml", "edges"])
def test_graphs_get_node_attributes(tmp_path, ending, origin):
    networkx = pytest.importorskip("networkx")
    if origin == "edges":
        (tmp_path / "g.edges").write_text("ann bob 2\nbob cyd 1\n")
    else:
        graph = networkx.Graph([("ann", "bob"), ("bob", "cyd")], colour="red")
        networkx.set_node_attributes(graph, 3, "age")
        networkx.write_graphml(graph, tmp_path / "g.graphml")
    source = read(tmp_path / f"g.{origin}")
    rows = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]])
    write_result(
        Result.from_memberships(rows, ids=source.ids), tmp_path / f"out.{ending}", source=source
    )
    written = getattr(networkx, f"read_{ending}")(tmp_path / f"out.{ending}")
    node = written.nodes["cyd"]
    assert (node["soffit"], node["p0"], node["soffit_certainty"]) == (1, 0.2, 0.8)
    assert 0 < node["soffit_entropy"] < 1
    assert written.number_of_edges() == 2
    assert origin == "edges" or node["age"] == 3
    if source.origin is not None:
        assert "soffit" not in source.origin.nodes["cyd"]


def test_annotated_data_get_memberships(tmp_path):
    anndata = pytest.importorskip("anndata")
    made = anndata.AnnData(X=np.random.default_rng(5).random((4, 3)))
    made.obs_names = list("abcd")
    made.write_h5ad(tmp_path / "in.h5ad")
    source = read(tmp_path / "in.h5ad")
    rows = np.array([[0.9, 0.1], [0.5, 0.5], [0.2, 0.8], [0.0, 1.0]])
    result = Result.from_memberships(rows, ids=source.ids)
    write_result(result, tmp_path / "out.h5ad", source=source)
    written = anndata.read_h5ad(tmp_path / "out.h5ad")
    np.testing.assert_array_equal(written.obsm["X_soffit"], rows)
    assert written.obs["soffit"].tolist() == ["0", "0", "1", "1"]
    np.testing.assert_allclose(written.obs["soffit_entropy"], result.entropy)
    assert "X_soffit" not in source.origin.obsm


def test_tables_can_be_written_as_annotated_data(tmp_path):
    anndata = pytest.importorskip("anndata")
    source = Source("table", np.eye(3), columns=("x", "y", "z"))
    write_result(Result.from_memberships(np.eye(3)), tmp_path / "out.h5ad", source=source)
    assert list(anndata.read_h5ad(tmp_path / "out.h5ad").var_names) == ["x", "y", "z"]


def test_data_of_another_size_are_refused(tmp_path):
    pytest.importorskip("networkx")
    (tmp_path / "g.edges").write_text("a b\n")
    source = read(tmp_path / "g.edges")
    with pytest.raises(DataError, match=r"has 3 objects, but the data have 2"):
        write_result(Result.from_memberships(np.eye(3)), tmp_path / "o.gml", source=source)


# --- pairs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "ids", "expected"),
    [
        ("a,b\nc,a\n", "abc", [[0, 1], [2, 0]]),
        ("first,second\na,b\nc,a\n", "abc", [[0, 1], [2, 0]]),
        ("0,1\n2,0\n", "abc", [[0, 1], [2, 0]]),
        ("0,1\n2,0\n", None, [[0, 1], [2, 0]]),
        ("one;other\n5;3\n", None, [[5, 3]]),
        ("10 30\n", ["30", "20", "10"], [[2, 0]]),
        ("a,b\n", "ab", [[0, 1]]),
    ],
)
def test_pairs(tmp_path, content, ids, expected):
    (tmp_path / "p.csv").write_text(content)
    found = read_pairs(tmp_path / "p.csv", None if ids is None else list(ids))
    assert found.tolist() == expected
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("content", "ids", "message"),
    [
        ("a,b\nc,z\n", "abc", r"line 2 names 'z', which is not an identifier"),
        ("0,1\n2,9\n", "abc", r"line 2 names '9', which is not an object number"),
        ("x,y\n0,1\n1,\n", None, r"line 3 names a single object, '1'; a pair is two"),
        ("a,b,z\na,b\n", "abc", r"line 1 names 'z', which is not an identifier"),
        ("a,b\nc\n", "abc", r"line 2 names a single object, 'c'"),
        ("0,-1\n", None, r"'-1'"),
    ],
)
def test_pairs_that_name_nobody(tmp_path: Path, content, ids, message):
    (tmp_path / "p.csv").write_text(content)
    with pytest.raises(DataError, match=message):
        read_pairs(tmp_path / "p.csv", None if ids is None else list(ids))


@pytest.mark.parametrize(
    ("content", "ids", "expected"),
    [
        ("a,b,c\n", "abcd", [[0, 1, 2]]),
        ("a,b,c\nd,a\n", "abcd", [[0, 1, 2], [3, 0]]),
        ("d,a\na,b,c\n", "abcd", [[3, 0], [0, 1, 2]]),
        ("a\tb\tc\n\nd\ta\n", "abcd", [[0, 1, 2], [3, 0]]),
        ('"x, y";"z"; w\n', ["w", "z", "x, y"], [[2, 1, 0]]),
        ("0 1 2 3\n", None, [[0, 1, 2, 3]]),
    ],
)
def test_groups(tmp_path: Path, content, ids, expected):
    (tmp_path / "g.csv").write_text(content)
    assert read_pairs(tmp_path / "g.csv", None if ids is None else list(ids)) == expected


def test_groups_of_a_parquet_file(tmp_path: Path):
    import polars as pl

    frame = pl.DataFrame({"one": ["a", "d"], "two": ["b", "a"], "three": ["c", None]})
    frame.write_parquet(tmp_path / "g.parquet")
    assert read_pairs(tmp_path / "g.parquet", list("abcd")) == [[0, 1, 2], [3, 0]]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_while_a_workbook_is_written_says_nothing_besides_the_error(tmp_path):
    _needs_excel("xlsx")
    (tmp_path / "out.xlsx").symlink_to("/dev/full")
    code = (
        "import numpy as np\n"
        "from soffit.io import DataError, Result, write_result\n"
        "try: write_result(Result.from_memberships(np.eye(3)), 'out.xlsx')\n"
        "except DataError as error: print(error)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "No space left on device" in ended.stdout
    assert not ended.stderr
