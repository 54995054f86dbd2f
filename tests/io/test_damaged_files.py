"""Sound files with a few bytes changed or cut off: a result or a DataError, never anything else."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.io
import scipy.sparse as sp

from soffit.io import DataError, describe, read

FRAME = pl.DataFrame(
    {
        "id": [f"o{i}" for i in range(40)],
        "x": np.linspace(-3, 8, 40),
        "n": np.arange(40) % 7,
        "c": ["red", "blue"] * 20,
    }
)


def _frame(write: Callable[..., object]) -> Callable[[Path], None]:
    return lambda path: write(FRAME, path)


def _excel(path: Path) -> None:
    pytest.importorskip("xlsxwriter")
    pytest.importorskip("fastexcel")
    FRAME.write_excel(path)


def _sparse(path: Path) -> None:
    sp.save_npz(path, sp.random_array((30, 9), density=0.3, random_state=np.random.default_rng(3)))


def _graph(ending: str) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        networkx = pytest.importorskip("networkx")
        graph = networkx.karate_club_graph()
        getattr(networkx, f"write_{ending}")(graph, path)

    return make


def _cells(path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    cells = anndata.AnnData(X=np.random.default_rng(9).random((20, 4)))
    cells.obs_names = [f"c{i}" for i in range(20)]
    cells.var_names = list("abcd")
    cells.write_h5ad(path)


def _mtx(path: Path) -> None:
    buffer = io.BytesIO()
    scipy.io.mmwrite(
        buffer, sp.random_array((30, 9), density=0.3, random_state=np.random.default_rng(3))
    )
    path.write_bytes(buffer.getvalue())


FILES: dict[str, Callable[[Path], None]] = {
    "t.csv": _frame(pl.DataFrame.write_csv),
    "t.parquet": _frame(pl.DataFrame.write_parquet),
    "t.arrow": _frame(pl.DataFrame.write_ipc),
    "t.jsonl": _frame(pl.DataFrame.write_ndjson),
    "t.xlsx": _excel,
    "t.npy": lambda path: np.save(path, np.arange(90.0).reshape(30, 3)),
    "t.npz": lambda path: np.savez_compressed(path, X=np.arange(90.0).reshape(30, 3)),
    "s.npz": _sparse,
    "m.mtx": _mtx,
    "g.graphml": _graph("graphml"),
    "g.gml": _graph("gml"),
    "c.h5ad": _cells,
}


def _damaged(data: bytes, rng: np.random.Generator) -> bytes:
    changed = bytearray(data)
    if rng.random() < 0.3:
        return bytes(changed[: int(rng.integers(1, len(changed)))])
    # Where formats keep their structure: at the start and at the end.
    near = min(len(changed), 400)
    for _ in range(int(rng.integers(1, 4))):
        place = int(rng.integers(near))
        at = {0: place, 1: len(changed) - 1 - place}.get(int(rng.integers(3)))
        changed[int(rng.integers(len(changed))) if at is None else at] = int(rng.integers(256))
    return bytes(changed)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", list(FILES))
def test_damage_is_noticed_or_harmless(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    FILES[name](path)
    sound = path.read_bytes()
    assert read(path).n_objects >= 20
    rng = np.random.default_rng(4711)
    for _ in range(60 if name[0] != "c" else 25):
        path.write_bytes(_damaged(sound, rng))
        with suppress(DataError):
            read(path, impute="median")
        with suppress(DataError):
            describe(path).lines()
