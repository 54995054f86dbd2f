"""Small files that ask for all of the memory or the time: refused within a small budget."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import soffit
from fuzz.outcome import refused, require
from fuzz.tables import Generator
from soffit.io import read, read_result

BUDGET = 400_000_000
# Beyond the budget: libraries, and what is measured only after it was read.
_SLACK = 250_000_000


def _far_cell(path: Path, size: int) -> None:
    import xlsxwriter

    with xlsxwriter.Workbook(str(path)) as book:
        sheet = book.add_worksheet()
        sheet.write_number(0, 0, 1.0)
        sheet.write_number(1048575 // size, 16383 // size, 1.0)


def _new_keys(path: Path, size: int) -> None:
    path.write_text("".join(f'{{"key{i}": 1}}\n' for i in range(60_000 // size)))


def _many_columns(path: Path, size: int) -> None:
    n = 200_000 // size
    path.write_text(",".join(f"c{i}" for i in range(n)) + "\n" + ("1," * (n - 1) + "1\n") * 3)


def _mtx(path: Path, size: int) -> None:
    side = 10**9 // size
    path.write_text(f"%%MatrixMarket matrix coordinate real general\n{side} {side} 1\n1 1 1\n")


def _dense_mtx(path: Path, size: int) -> None:
    side = 10**9 // size
    path.write_text(f"%%MatrixMarket matrix array real general\n{side} 1\n1\n")


def _few_edges(path: Path, size: int) -> None:
    np.savez(path, edges=np.array([[0, 1], [1, 2]]), n=np.array(10**9 // size))


def _far_edge(path: Path, size: int) -> None:
    np.savez(path, edges=np.array([[0, 1], [1, 10**9 // size]]))


def _empty_sparse(path: Path, size: int) -> None:
    parts = {"data": np.ones(1), "row": np.zeros(1, int), "col": np.zeros(1, int)}
    np.savez(path, shape=np.array([10**9 // size, 3]), format=np.array("coo"), **parts)


def _wide_sparse(path: Path, size: int) -> None:
    side = 10**8 // size
    parts = {"data": np.ones(1), "indices": np.zeros(1, int), "indptr": np.array([0, 1])}
    np.savez(path, shape=np.array([1, side]), format=np.array("csr"), **parts)


def _zeros(path: Path, size: int) -> None:
    np.savez_compressed(path, X=np.zeros((10**6 // size, 60), dtype=np.float32))


def _linked_cells(path: Path, size: int) -> None:
    import anndata
    import h5py

    n = 20_000 // size
    anndata.AnnData(X=np.zeros((n, 4), dtype=np.float32)).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        block = file.create_dataset("obsm/a0", data=np.zeros((n, 500)), compression="gzip")
        block.attrs["encoding-type"], block.attrs["encoding-version"] = "array", "0.2.0"
        for number in range(1, 60):
            file[f"obsm/a{number}"] = block


def _picture(path: Path, size: int) -> None:
    from PIL import Image

    side = 9400 // size
    Image.new("RGB", (side, side)).save(path)


def _tall_parquet(path: Path, size: int) -> None:
    import polars as pl

    n = 5 * 10**6 // size
    pl.DataFrame({f"x{i}": pl.repeat(1.0, n, eager=True) for i in range(30)}).write_parquet(path)


def _nodes(path: Path, size: int) -> None:
    n = 300_000 // size
    graph = "".join(f'<node id="{i}"/>' for i in range(n))
    path.write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="undirected">'
        f'{graph}<edge source="0" target="1"/></graph></graphml>'
    )


def _gml_nodes(path: Path, size: int) -> None:
    n = 200_000 // size
    path.write_text("graph [" + "".join(f"node [id {i}]\n" for i in range(n)) + "]")


def _json_lists(path: Path, size: int) -> None:
    n = 4_000_000 // size
    path.write_text(
        '{"format": "soffit result", "version": 1, "columns": {"p0": ['
        + ",".join(["[]"] * n)
        + "]}}"
    )


def _model_lists(path: Path, size: int) -> None:
    n = 4_000_000 // size
    document = {"format": "soffit model", "version": 2, "x": [[]] * n}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(document, separators=(",", ":")))


def _deep_json(path: Path, size: int) -> None:
    path.write_text('{"a": ' + "[" * (100_000 // size) + "]" * (100_000 // size) + "}\n")


def _long_field(path: Path, size: int) -> None:
    path.write_text('a,b\n"' + "x" * (30_000_000 // size) + '",1\n2,3\n')


def _zip_of_zeros(path: Path, size: int) -> None:
    header = io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**8 // size, 1)}
    np.lib.format.write_array_header_1_0(header, shape)
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("X.npy", "w", force_zip64=True) as member,
    ):
        member.write(header.getvalue())
        for _ in range(800 // size):
            member.write(bytes(10**6))


_BOMBS: dict[str, Callable[[Path, int], None]] = {
    "far.xlsx": _far_cell,
    "keys.jsonl": _new_keys,
    "deep.jsonl": _deep_json,
    "columns.csv": _many_columns,
    "field.csv": _long_field,
    "sparse.mtx": _mtx,
    "dense.mtx": _dense_mtx,
    "few.npz": _few_edges,
    "far.npz": _far_edge,
    "coo.npz": _empty_sparse,
    "wide.npz": _wide_sparse,
    "zeros.npz": _zeros,
    "zip.npz": _zip_of_zeros,
    "links.h5ad": _linked_cells,
    "large.png": _picture,
    "tall.parquet": _tall_parquet,
    "nodes.graphml": _nodes,
    "nodes.gml": _gml_nodes,
    "lists.json": _json_lists,
    "lists.soffit": _model_lists,
}


def bomb(rng: Generator, folder: Path) -> str:
    """Open a bomb with a budget; the process must stay within it."""
    name = list(_BOMBS)[int(rng.integers(len(_BOMBS)))]
    path = folder / name
    _BOMBS[name](path, int(rng.choice([1, 1, 3, 10])))
    os.environ["SOFFIT_MEMORY"] = str(BUDGET)
    try:
        return _open_within_budget(path)
    finally:
        del os.environ["SOFFIT_MEMORY"]
        path.unlink()


def _open_within_budget(path: Path) -> str:
    before = _reset_peak()
    try:
        _open(path)
        outcome = "read"
    except Exception as error:
        outcome = refused(error)
    grown = _peak() - before
    require(
        grown < BUDGET + _SLACK,
        f"{path.name} took {grown / 1e6:.0f} MB, {outcome}, with a budget of {BUDGET / 1e6:.0f} MB",
    )
    return outcome


def _open(path: Path) -> Any:
    if path.suffix == ".soffit":
        return soffit.load(path)
    if path.suffix == ".json":
        return read_result(path)
    if path.suffix == ".png":
        from soffit.cli.segment_command import load_image

        return load_image(path)
    return read(path)


def _reset_peak() -> int:
    """Start a new measurement; the memory in use now, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")
    return _status("VmRSS")


def _peak() -> int:
    return _status("VmHWM")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return 1024 * int(line.split()[1])
    return 0
