"""Parquet, Arrow, JSON lines and Excel give what the same CSV gives."""

from __future__ import annotations

import builtins
import datetime
import importlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from soffit.io import DataError, describe, read

FRAME = pl.DataFrame(
    {
        "id": ["a", "b", "c", "d"],
        "size": [1.5, 2.0, 4.0, 8.0],
        "count": [1, 2, 3, 9],
        "flag": [True, False, True, True],
        "colour": ["red", "blue", "red", "red"],
        "day": [datetime.date(2020, 1, day) for day in range(1, 5)],
    }
)


def _excel(frame: pl.DataFrame, path: Path) -> None:
    pytest.importorskip("fastexcel")
    pytest.importorskip("xlsxwriter")
    frame.write_excel(path)


WRITERS = {
    "parquet": pl.DataFrame.write_parquet,
    "arrow": pl.DataFrame.write_ipc,
    "feather": pl.DataFrame.write_ipc,
    "jsonl": pl.DataFrame.write_ndjson,
    "xlsx": _excel,
    "csv": pl.DataFrame.write_csv,
}


@pytest.mark.parametrize("ending", list(WRITERS))
def test_all_formats_agree(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    WRITERS[ending](FRAME, path)
    source = read(path)
    assert source.columns == ("size", "count", "flag", "colour=blue", "colour=red")
    np.testing.assert_array_equal(source.data[3], [8, 9, 1, 0, 1])
    assert source.ids.tolist() == ["a", "b", "c", "d"]
    assert "Left out 'day'" in " ".join(source.notes)
    assert read(path, columns=["count"], label="colour").truth[1] == "blue"


@pytest.mark.parametrize("ending", ["parquet", "arrow", "jsonl"])
def test_gaps(tmp_path, ending):
    path = tmp_path / f"t.{ending}"
    WRITERS[ending](pl.DataFrame({"x": [1.0, None, 3.0], "y": [1, 2, None]}), path)
    with pytest.raises(DataError, match=r"'x' \(1\), 'y' \(1\), of 3 rows"):
        read(path)
    assert read(path, impute="median").data[2, 1] == 1.5


def test_single_precision_is_kept(tmp_path):
    pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 5.0]}).cast(pl.Float32).write_parquet(
        tmp_path / "t.parquet"
    )
    assert read(tmp_path / "t.parquet").data.dtype == np.float32


def test_blocks_do_not_show(tmp_path, limits):
    X = np.random.default_rng(83).normal(size=(257, 3))
    pl.DataFrame(X).write_parquet(tmp_path / "t.parquet")
    limits(table_entries=100)
    np.testing.assert_array_equal(read(tmp_path / "t.parquet").data, X)


def test_only_the_first_sheet_is_read_and_said_so(tmp_path):
    pytest.importorskip("fastexcel")
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(tmp_path / "t.xlsx") as book:
        for name, start in (("first", 1), ("second", 5)):
            sheet = book.add_worksheet(name)
            for row in range(4):
                sheet.write_row(row, 0, [start + row, start * row + 0.5])
    source = read(tmp_path / "t.xlsx")
    assert "first of 2 sheets was read ('first')" in " ".join(source.notes)
    assert source.data.shape == (4, 2)


@pytest.mark.parametrize(
    ("module", "ending", "extra"),
    [("fastexcel", "xlsx", "excel"), ("networkx", "gml", "graphs"), ("anndata", "h5ad", "anndata")],
)
def test_missing_libraries_are_named(tmp_path, monkeypatch, module, ending, extra):
    starts = {"xlsx": b"PK\x03\x04", "gml": b"graph", "h5ad": b"\x89HDF"}
    path = tmp_path / f"t.{ending}"
    path.write_bytes(starts[ending] + b" " * 40)
    real = importlib.import_module

    def without(name, *rest):
        if name == module:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(importlib, "import_module", without)
    assert builtins.__import__ is not None
    with pytest.raises(DataError, match=rf"not installed.*pip install \"soffit\[{extra}\]\""):
        read(path)


def test_description(tmp_path):
    FRAME.with_columns(pl.lit(None, pl.Float64).alias("gap")).write_parquet(tmp_path / "t.parquet")
    description = describe(tmp_path / "t.parquet")
    columns = {column["name"]: column for column in description.as_dict()["columns"]}
    assert columns["size"] == {
        "name": "size",
        "kind": "number",
        "n_missing": 0,
        "n_distinct": 4,
        "smallest": 1.5,
        "largest": 8.0,
    }
    assert columns["day"]["kind"] == "date"
    assert columns["gap"]["n_missing"] == 4
    assert description.n_rows == 4
    text = "\n".join(description.lines())
    assert "Parquet" in text
    assert "4 values missing" in text


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("d.csv", "a,b,c\n0,1,2\n1,0,3\n2,3,0\n", "square matrix"),
        ("g.csv", "source,target\na,b\nb,c\n", "edge list"),
        ("g.edges", "a b\nb c\n", "edge list"),
        ("t.csv", "x,y\n1,2\n3,4\n5,7\n", "table"),
        ("m.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 5\n", "square matrix"),
    ],
)
def test_descriptions_say_what_it_could_be(tmp_path, name, content, expected):
    (tmp_path / name).write_text(content)
    assert describe(tmp_path / name).looks_like == expected


@pytest.mark.parametrize("ending", list(WRITERS))
def test_brackets_and_stars_in_names_are_no_patterns(tmp_path, ending):
    for name in (f"data[1].{ending}", f"a*.{ending}", f"~x?.{ending}"):
        path = tmp_path / name
        buffer = tmp_path / f"plain.{ending}"
        WRITERS[ending](FRAME, buffer)
        path.write_bytes(buffer.read_bytes())
        assert read(path).n_objects == 4
        buffer.unlink()
        assert read(path).n_objects == 4
