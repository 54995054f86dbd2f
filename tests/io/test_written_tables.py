"""What comes out: the user's own table, as it came in, with the clusters added."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from soffit.io import DataError, Result, read, read_result, write_result

MEMBERSHIPS = np.array([[0.75, 0.25], [0.5, 0.5], [0.125, 0.875]])


def result_of(source) -> Result:
    rows = MEMBERSHIPS[: source.n_objects]
    return Result.from_memberships(rows, ids=source.ids, id_name=source.id_name)


def written(folder: Path, content: str, name: str = "in.csv", out: str = "out.csv", **options):
    (folder / name).write_bytes(content.encode())
    source = read(folder / name, kind="table", **options)
    write_result(result_of(source), folder / out, source=source)
    return (folder / out).read_text(encoding="utf-8")


def test_all_columns_come_first_and_as_they_were(tmp_path):
    content = 'note,id,x\n"a, ""b""",k7,1.50\n,k8,2\nlong text,k9,"1,000"\n'
    text = written(tmp_path, content, text="drop")
    rows = list(csv.DictReader(text.splitlines()))
    assert list(rows[0]) == ["note", "id", "x", "cluster", "certainty", "entropy", "p0", "p1"]
    assert [row["x"] for row in rows] == ["1.50", "2", "1,000"]
    assert [row["note"] for row in rows] == ['a, "b"', "", "long text"]
    assert [row["cluster"] for row in rows] == ["0", "0", "1"]
    assert read_result(tmp_path / "out.csv").ids.tolist() == ["k7", "k8", "k9"]


def test_separator_and_decimal_sign_that_came_in(tmp_path):
    content = "Größe;Ort;Anteil\n1.000,5;Köln;5 %\n2;Łódź;7,5 %\n3;Köln;9 %\n"
    lines = written(tmp_path, content).splitlines()
    assert lines[1].startswith("1.000,5;Köln;5 %;0;0,75;")
    assert read_result(tmp_path / "out.csv").memberships.tolist() == MEMBERSHIPS.tolist()
    assert written(tmp_path, content, out="out.tsv").splitlines()[1].startswith("1.000,5\tKöln")


def test_other_formats_have_numbers(tmp_path):
    import polars as pl

    content = "w;c;d\n1,5 kg;a;2020-01-05\n2 kg;b;2021-01-05\n3 kg;a;2022-01-05\n"
    written(tmp_path, content)
    source = read(tmp_path / "in.csv")
    write_result(result_of(source), tmp_path / "out.parquet", source=source)
    frame = pl.read_parquet(tmp_path / "out.parquet")
    assert frame["w"].to_list() == [1.5, 2, 3]
    assert frame["d"][0] == "2020-01-05"
    assert read_result(tmp_path / "out.parquet").memberships.tolist() == MEMBERSHIPS.tolist()


def test_only_memberships(tmp_path):
    (tmp_path / "in.csv").write_text("name;x\nann;1,5\nbob;2\ncyd;3\n")
    source = read(tmp_path / "in.csv")
    write_result(result_of(source), tmp_path / "out.csv", source=source, only_memberships=True)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "name;cluster;certainty;entropy;p0;p1"
    assert lines[1].startswith("ann;0;0,75;")


def test_rows_are_counted_from_one(tmp_path):
    write_result(Result.from_memberships(MEMBERSHIPS), tmp_path / "out.csv")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0].startswith("row,cluster")
    assert [line.split(",")[0] for line in lines[1:]] == ["1", "2", "3"]
    assert read_result(tmp_path / "out.csv").ids.tolist() == [0, 1, 2]


def test_dropped_rows_are_not_written(tmp_path):
    content = "x,y\n1,2\n,3\n4,5\n"
    lines = written(tmp_path, content, impute="drop").splitlines()
    assert [line[:4] for line in lines] == ["x,y,", "1,2,", "4,5,"]


def test_columns_of_the_same_name_stay(tmp_path):
    content = "cluster,p0,x\nold,7,1\nold,8,2\nnew,9,3\n"
    text = written(tmp_path, content)
    assert text.startswith("cluster,p0,x,soffit_cluster,soffit_certainty,soffit_entropy,soffit_p0,")
    again = read_result(tmp_path / "out.csv")
    assert again.memberships.tolist() == MEMBERSHIPS.tolist()
    assert again.labels.tolist() == [0, 0, 1]
    twice = written(tmp_path, text)
    assert "soffit2_p1" in twice.splitlines()[0]
    assert read_result(tmp_path / "out.csv").memberships.tolist() == MEMBERSHIPS.tolist()


def test_a_file_that_changed_is_not_mixed_with_the_result(tmp_path):
    (tmp_path / "in.csv").write_text("x,y\n1,2\n3,4\n5,6\n")
    source = read(tmp_path / "in.csv")
    (tmp_path / "in.csv").write_text("x,y\n1,2\n3,4\n5,6\n7,8\n")
    with pytest.raises(DataError, match=r"has changed since it was read"):
        write_result(result_of(source), tmp_path / "out.csv", source=source)
    assert not (tmp_path / "out.csv").exists()


def test_blocks_do_not_show(tmp_path, monkeypatch):
    from soffit.io.text import dialect

    content = "x,t\n" + "".join(f'{i}.5,"line\n{i}"\n' for i in range(300))
    (tmp_path / "in.csv").write_text(content)
    blocks = dialect.TextFile.blocks
    monkeypatch.setattr(dialect.TextFile, "blocks", lambda self: blocks(self, 97))
    source = read(tmp_path / "in.csv", kind="table")
    result = Result.from_memberships(np.tile([[0.25, 0.75]], (300, 1)))
    write_result(result, tmp_path / "out.csv", source=source)
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["t"] for row in rows] == [f"line\n{i}" for i in range(300)]
    assert {row["p1"] for row in rows} == {"0.75"}


def test_formulas_are_marked_and_numbers_are_not(tmp_path):
    names = ["=1+1", "@SUM(A1)", "-cmd|' /C calc'!A0", "-OH", "@ann", "+49 30 1"]
    content = "name,x\n" + "".join(f'"{name}",-{i}.5\n' for i, name in enumerate(names))
    (tmp_path / "in.csv").write_text(content)
    source = read(tmp_path / "in.csv", kind="table")
    result = Result.from_memberships(np.tile([[0.25, 0.75]], (6, 1)), ids=source.ids)
    write_result(result, tmp_path / "out.csv", source=source)
    rows = list(csv.reader((tmp_path / "out.csv").read_text().splitlines()))
    assert [row[0] for row in rows[1:]] == [*("'" + name for name in names[:3]), *names[3:]]
    assert [row[1] for row in rows[1:]] == [f"-{i}.5" for i in range(6)]
    assert read_result(tmp_path / "out.csv").ids.tolist() == names


def test_attributes_of_nodes_are_written_beside_the_communities(tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([("ann", "bob"), ("bob", "cyd")])
    networkx.set_node_attributes(graph, {"ann": 31, "bob": 45, "cyd": 28}, "age")
    networkx.write_graphml(graph, tmp_path / "g.graphml")
    source = read(tmp_path / "g.graphml")
    result = Result.from_memberships(MEMBERSHIPS, ids=source.ids, id_name="node")
    write_result(result, tmp_path / "out.csv", source=source)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "node,age,cluster,certainty,entropy,p0,p1"
    assert lines[2].startswith("bob,45")
    write_result(result, tmp_path / "out.gexf", source=source)
    assert networkx.read_gexf(tmp_path / "out.gexf").nodes["cyd"]["soffit"] == 1


def test_annotations_of_cells_are_written_beside_the_clusters(tmp_path):
    anndata = pytest.importorskip("anndata")
    made = anndata.AnnData(X=np.random.default_rng(5).random((3, 2)))
    made.obs_names = list("abc")
    made.obs["batch"] = ["x", "y", "x"]
    made.write_h5ad(tmp_path / "in.h5ad")
    source = read(tmp_path / "in.h5ad")
    write_result(result_of(source), tmp_path / "out.csv", source=source)
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "id,batch,cluster,certainty,entropy,p0,p1"
    assert lines[2].startswith("b,y,0,")
