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


@pytest.mark.parametrize("chunks", [(300, 3), (100, 2), (7, 1)])
def test_zarr_arrays_are_read_in_whole_rows(tmp_path, chunks, monkeypatch):
    zarr = pytest.importorskip("zarr")
    from soffit.distributed.row_blocks import Blocks

    monkeypatch.setattr("soffit.distributed.row_blocks.BLOCK_BYTES", 300 * 3 * 8)
    X = np.arange(3000.0).reshape(1000, 3)
    group = zarr.open_group(str(tmp_path / "cells.zarr"), mode="w")
    stored = group.create_array("obsm/X_pca", shape=X.shape, chunks=chunks, dtype="f8")
    stored[:] = X
    for found in (read_blocks(tmp_path / "cells.zarr/obsm/X_pca"), Blocks.of(stored).array):
        assert found.numblocks[1] == 1
        # Blocks begin where chunks of the file do, and are not much smaller than allowed.
        assert found.chunks[0][0] % chunks[0] == 0
        assert 200 < found.chunks[0][0] <= 300
        assert (found.compute() == X).all()
    with pytest.raises(DataError, match=r"group of arrays: 'obsm'\. Pass.*obsm/X_pca"):
        read_blocks(tmp_path / "cells.zarr")
    (tmp_path / "empty.zarr").mkdir()
    with pytest.raises(DataError, match=r"empty\.zarr"):
        read_blocks(tmp_path / "empty.zarr")


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
