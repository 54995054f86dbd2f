"""Files that are opened in blocks."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.array")

from soffit.io import DataError, read_blocks
from soffit.io.lazy_files import MappedArray


def test_an_array_is_opened_where_it_is_read(tmp_path):
    X = np.arange(3000.0).reshape(1000, 3)
    np.save(tmp_path / "x.npy", X)
    found = read_blocks(tmp_path / "x.npy", block_rows=333)
    assert found.chunks == ((333, 333, 333, 1), (3,))
    assert (found.compute() == X).all()
    # Only the name travels.
    assert len(pickle.dumps(MappedArray(str(tmp_path / "x.npy")))) < 1000


def test_tables_in_several_files(tmp_path):
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": np.arange(10.0), "b": np.arange(10), "name": list("abcdefghij")})
    frame[:4].to_parquet(tmp_path / "part-0.parquet")
    frame[4:].to_parquet(tmp_path / "part-1.parquet")
    found = read_blocks(tmp_path / "part-*.parquet")
    assert list(found.columns) == ["a", "b"]
    assert found.npartitions == 2
    assert (found.compute().to_numpy() == frame[["a", "b"]].to_numpy()).all()
    assert list(read_blocks(tmp_path / "part-*.parquet", drop=["a"]).columns) == ["b"]
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert (read_blocks(tmp_path / "x.csv", columns=["b"]).compute()["b"] == frame["b"]).all()


def test_mistakes_are_named(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_blocks(tmp_path / "part-*.parquet")
    (tmp_path / "x.docx").write_text("x")
    with pytest.raises(DataError, match=r"\.docx cannot be read in blocks"):
        read_blocks(tmp_path / "x.docx")
    (tmp_path / "x.npy").write_text("x")
    with pytest.raises(DataError, match=r"x\.npy"):
        read_blocks(tmp_path / "x.npy")
    pd.DataFrame({"a": [1.0], "b": ["x"]}).to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(DataError, match="columns names 'c'"):
        read_blocks(tmp_path / "x.csv", columns=["c"])
    with pytest.raises(DataError, match="no numeric"):
        read_blocks(tmp_path / "x.csv", drop=["a"])
