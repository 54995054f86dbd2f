"""Compressed files, standard input, JSON, GEXF and sheets: other ways in which data arrive."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from soffit.io import DataError, describe, read, read_result
from soffit.io import formats as _local_files

TABLE = "name,x,y\nann,1.5,2\nbob,3,4.25\ncyd,0,1\n"
VALUES = [[1.5, 2], [3, 4.25], [0, 1]]


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip), (".bz2", bz2), (".xz", lzma)])
def test_compressed_files(tmp_path, ending, pack):
    path = tmp_path / f"t.csv{ending}"
    path.write_bytes(pack.compress(TABLE.encode()))
    source = read(path)
    assert source.data.tolist() == VALUES
    assert source.path == str(path)
    copy = source.file.path
    assert copy.exists()
    del source
    assert not copy.parent.exists(), "the copy is deleted with the source"
    assert describe(path).lines()[0] == f"{path}: delimited text"


def test_errors_name_the_compressed_file(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"x,y\n1,2\n3\n4,5\n6,7\n"))
    with pytest.raises(DataError, match=r"t\.csv\.gz: line 3 has 1 entry.*sep") as caught:
        read(path)
    assert "soffit-" not in str(caught.value)
    assert caught.value.parameter == "sep"
    (tmp_path / "data.gz").write_bytes(gzip.compress(b"x\n"))
    with pytest.raises(DataError, match=r"does not tell what is compressed.*data\.csv\.gz"):
        read(tmp_path / "data.gz")


def test_what_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"0" * 10_000_000))
    monkeypatch.setattr(_local_files, "memory_budget", lambda: 2_000_000.0)
    with pytest.raises(DataError, match=r"bomb\.csv\.gz: its content has more than 2 MB"):
        read(path)


@pytest.fixture
def standard_input(monkeypatch):
    def give(data: bytes) -> str:
        _local_files._standard_input.cache_clear()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        return "-"

    yield give
    _local_files._standard_input.cache_clear()


def frame_bytes(kind: str) -> bytes:
    import polars as pl

    buffer = io.BytesIO()
    getattr(pl.DataFrame({"x": [1.5, 3, 0], "y": [2.0, 4.25, 1.0]}), f"write_{kind}")(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        TABLE.encode(),
        gzip.compress(TABLE.encode()),
        frame_bytes("parquet"),
        frame_bytes("ipc"),
        frame_bytes("ndjson"),
        json.dumps([{"x": x, "y": y} for x, y in VALUES]).encode(),
    ],
    ids=["csv", "csv.gz", "parquet", "arrow", "jsonl", "json"],
)
def test_standard_input(standard_input, data):
    source = read(standard_input(data), kind="table")
    np.testing.assert_array_equal(source.data, VALUES)
    assert source.path == "-"
    # It can be read only once, but is kept.
    np.testing.assert_array_equal(read("-", kind="table").data, VALUES)


def test_standard_input_without_data(standard_input, monkeypatch):
    with pytest.raises(DataError, match=r"standard input is empty"):
        read(standard_input(b""))
    with pytest.raises(DataError, match=r"^standard input: line 3 has 1 entry"):
        read(standard_input(b"x,y\n1,2\n3\n4,5\n6,7\n"))
    standard_input(b"")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(DataError, match=r"standard input is closed"):
        read("-")


# --- JSON -----------------------------------------------------------------------------------------

RECORDS = [{"x": 1.5, "c": "a"}, {"x": 3, "c": "b"}, {"x": 0, "c": "a"}, {"x": 1, "c": "a"}]


@pytest.mark.parametrize(
    "content",
    [
        RECORDS,
        {"x": [1.5, 3, 0, 1], "c": ["a", "b", "a", "a"]},
        {"x": {"0": 1.5, "1": 3, "2": 0, "3": 1}, "c": {"0": "a", "1": "b", "2": "a", "3": "a"}},
        {str(number): record for number, record in enumerate(RECORDS)},
        {"columns": ["x", "c"], "data": [[1.5, "a"], [3, "b"], [0, "a"], [1, "a"]]},
        {"schema": {"fields": []}, "data": RECORDS},
        [["x", "c"], [1.5, "a"], [3, "b"], [0, "a"], [1, "a"]],
    ],
    ids=["records", "columns", "pandas", "index", "split", "table", "lists"],
)
def test_tables_in_json(tmp_path, content):
    path = tmp_path / "t.json"
    path.write_text(json.dumps(content))
    source = read(path)
    assert source.columns == ("x", "c=a", "c=b")
    assert source.data[:, 0].tolist() == [1.5, 3, 0, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1, {}]", r"a list of different things"),
        ("3", r"does not hold a table"),
        ("[{]", r"not valid JSON"),
        ("[]", r"no rows"),
        ('{"type": "Topology", "objects": {}}', r"shapes of a map \(TopoJSON\)"),
        ('{"x": [1], "y": [1, 2]}', r"differ in length"),
        ('{"title": "x", "n": 3}', r"an object with 'title', 'n', not a table"),
        ("[" * 100_000, r"not valid JSON"),
        ('[["x", "y"], [1, 2], [3]]', r"row 2 has 1 values, not 2"),
    ],
)
def test_json_that_is_not_a_table(tmp_path, content, message):
    path = tmp_path / "t.json"
    path.write_text(content)
    with pytest.raises(DataError, match=message):
        read(path)


def test_json_with_a_new_key_in_every_row_is_refused(tmp_path):
    path = tmp_path / "t.json"
    path.write_text(json.dumps([{f"k{number}": 1} for number in range(5000)]))
    with pytest.raises(DataError, match=r"5,000 different keys"):
        read(path)


@pytest.mark.parametrize("numbers", [False, True])
def test_graphs_in_json(tmp_path, numbers):
    pytest.importorskip("networkx")
    ends = [(0, 1), (1, 2)] if numbers else [("ann", "bob"), ("bob", "cyd")]
    content = {
        "nodes": [{"name": name, "group": len(name)} for name in ("ann", "bob", "cyd")],
        "links": [{"source": a, "target": b, "value": 2} for a, b in ends],
    }
    (tmp_path / "g.json").write_text(json.dumps(content))
    source = read(tmp_path / "g.json", label="group")
    assert (source.kind, source.ids.tolist()) == ("graph", ["ann", "bob", "cyd"])
    assert source.data.toarray().tolist() == [[0, 2, 0], [2, 0, 2], [0, 2, 0]]
    assert source.truth.tolist() == ["3", "3", "3"]
    assert describe(tmp_path / "g.json").looks_like == "graph"


# --- GEXF and Excel -------------------------------------------------------------------------------


def test_gexf(tmp_path):
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_edge(0, 1, weight=2.0)
    graph.add_edge(1, 2, weight=1.0)
    networkx.set_node_attributes(graph, {0: "ann", 1: "bob", 2: "cyd"}, "label")
    networkx.write_gexf(graph, tmp_path / "g.gexf")
    source = read(tmp_path / "g.gexf")
    assert source.ids.tolist() == ["ann", "bob", "cyd"]
    assert source.data.toarray().tolist() == [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    laughs = '<?xml version="1.0"?><!DOCTYPE g [<!ENTITY a "b">]><gexf></gexf>'
    (tmp_path / "l.gexf").write_text(laughs)
    with pytest.raises(DataError, match=r"document type"):
        read(tmp_path / "l.gexf")


@pytest.fixture
def workbook(tmp_path) -> Path:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    path = tmp_path / "w.xlsx"
    with xlsxwriter.Workbook(path) as book:
        first = book.add_worksheet("notes")
        first.write_row(0, 0, ["text", "n"])
        first.write_row(1, 0, ["a", 1])
        first.write_row(2, 0, ["a", 2])
        second = book.add_worksheet("data")
        second.write(0, 0, "A title")
        rows = [
            ["name", "x", "w"],
            ["ann", 1.5, "3.75 kg"],
            [],
            ["bob", 3, "4 kg"],
            ["cyd", 0, "n"],
        ]
        for number, row in enumerate(rows, start=1):
            second.write_row(number, 0, row)
    return path


@pytest.mark.parametrize("sheet", ["data", 2, "2"])
def test_sheets_rows_and_missing_values_of_a_workbook(workbook, sheet):
    source = read(workbook, sheet=sheet, skip_rows=1, na="n", impute="median")
    assert source.columns == ("x", "w")
    assert source.ids.tolist() == ["ann", "bob", "cyd"]
    assert source.data.tolist() == [[1.5, 3.75], [3, 4], [0, 3.875]]
    assert "Left out 1 empty row of the sheet." in source.notes


def test_the_first_sheet_is_read_and_others_are_mentioned(workbook):
    assert any("first of 2 sheets" in n and "sheet for another" in n for n in read(workbook).notes)
    with pytest.raises(DataError, match=r"no sheet=\"x\".*'notes', 'data'"):
        read(workbook, sheet="x")


def test_numbers_that_were_saved_as_text(tmp_path):
    import polars as pl

    columns = {"share": ["5 %", "7 %"] * 3, "code": ["007", "123"] * 3, "n": ["1.5", "2"] * 3}
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    source = read(tmp_path / "t.parquet")
    assert source.columns == ("share", "code=007", "code=123", "n")
    assert source.data[0].tolist() == [5, 1, 0, 1.5]
    assert "'share', 'n'" in " ".join(source.notes)


def test_results_may_be_compressed(tmp_path):
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(b"id,p0,p1\na,0.5,0.5\nb,0,1\n"))
    assert read_result(tmp_path / "r.csv.gz").ids.tolist() == ["a", "b"]
