"""Results written to files, and read again."""

from __future__ import annotations

import io
import json
import math
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._atomic import replaced
from soffit._memory import check_allocation
from soffit._threads import row_blocks
from soffit._typing import is_sparse
from soffit.io.data_error import DataError, check_bytes, need
from soffit.io.file_options import FileOptions
from soffit.io.formats import LocalFile, recognise, size_of
from soffit.io.matrices.arrays import read_npz
from soffit.io.result_tables import (
    TextForm,
    attribute_frame,
    frame_of,
    from_columns,
    has_table,
    marked,
    memberships_in,
    own_name,
    table_blocks,
    to_columns,
)
from soffit.io.source import Source
from soffit.io.tables.typed import OPENERS
from soffit.io.text.delimited import DelimitedRows
from soffit.memberships.measures import dense_rows
from soffit.results.per_object import Result

_WRITE_A_TABLE = "Write a .csv or .parquet file instead."


def for_annotation(memberships: Any) -> Any:
    """Memberships in a form that AnnData objects of any version can hold."""
    return sp.csr_matrix(memberships) if is_sparse(memberships) else np.asarray(memberships)


def write_annotated(result: Result, path: Path, source: Source | None, _: bool = False) -> None:
    """A copy of the AnnData object with the memberships, clusters and entropies."""
    anndata = need("anndata", "anndata", "Writing .h5ad files")
    pandas = need("pandas", "anndata", "Writing .h5ad files")
    origin = None if source is None else source.origin
    annotated: Any
    if origin is not None and type(origin).__name__ == "AnnData":
        annotated = origin.copy()
    elif source is not None and source.kind == "table":
        ids = range(len(result.labels)) if result.ids is None else result.ids
        obs = pandas.DataFrame(index=[str(name) for name in ids])
        var = pandas.DataFrame(index=list(source.columns))
        annotated = anndata.AnnData(X=source.data, obs=obs, var=var)
    else:
        raise DataError(
            "an .h5ad file holds cells and their features, so it can only be written for an .h5ad "
            "file or a table.",
            _WRITE_A_TABLE,
        )
    _check_length(result, annotated.n_obs)
    annotated.obsm["X_soffit"] = for_annotation(result.memberships)
    names = result.names or [str(number) for number in range(result.n_clusters)]
    labels = pandas.Categorical.from_codes(result.labels, categories=list(names))
    annotated.obs["soffit"] = labels
    annotated.obs["soffit_certainty"] = np.asarray(result.certainty)
    annotated.obs["soffit_entropy"] = np.asarray(result.entropy)
    with warnings.catch_warnings():
        # Warnings about the layout of the original file do not concern the result.
        warnings.simplefilter("ignore")
        annotated.write_h5ad(path)


def write_graph(result: Result, path: Path, source: Source | None, _: bool = False) -> None:
    """A copy of the graph with cluster, certainty, entropy and memberships as node attributes."""
    networkx = need("networkx", "graphs", f"Writing {path.suffix} files")
    graph = _graph(networkx, source, path)
    nodes = list(graph.nodes)
    _check_length(result, len(nodes))
    for position, node in enumerate(nodes):
        attributes = graph.nodes[node]
        shares = dense_rows(result.memberships, [position])[0]
        label = int(result.labels[position])
        attributes["soffit"] = label
        if result.names is not None:
            attributes["soffit_name"] = result.names[label] if label >= 0 else ""
        attributes["soffit_certainty"] = float(result.certainty[position])
        attributes["soffit_entropy"] = float(result.entropy[position])
        for number in range(result.n_clusters):
            attributes[f"p{number}"] = float(shares[number])
    writers = {".graphml": networkx.write_graphml, ".gexf": networkx.write_gexf}
    write = writers.get(path.suffix.lower(), _write_gml)
    try:
        write(graph, path)
    except (networkx.NetworkXError, TypeError, ValueError) as error:
        raise DataError(
            f"the graph has attributes that {path.suffix} files cannot hold ({error}).",
            _WRITE_A_TABLE,
        ) from error


def _write_gml(graph: Any, path: Path) -> None:
    import networkx

    networkx.write_gml(graph, path, stringizer=str)


def _graph(networkx: Any, source: Source | None, path: Path) -> Any:
    origin = None if source is None else source.origin
    if origin is not None and hasattr(origin, "nodes"):
        return origin.copy()
    if source is None or source.kind != "graph":
        raise DataError(
            f"a {path.suffix} file holds a graph, so it can only be written for a graph.",
            _WRITE_A_TABLE,
        )
    graph = networkx.from_scipy_sparse_array(source.data)
    if source.ids is not None:
        networkx.relabel_nodes(graph, dict(enumerate(map(str, source.ids))), copy=False)
    return graph


def _check_length(result: Result, n: int) -> None:
    if len(result.labels) != n:
        raise DataError(
            f"the result has {len(result.labels):,} objects, but the data have {n:,}.",
            _WRITE_A_TABLE,
        )


_MOST_EXCEL_ROWS = 2**20
_MOST_EXCEL_COLUMNS = 2**14
_LONGEST_EXCEL_TEXT = 32_767
_JSON_NAME = "soffit result"
# Parsed JSON takes up to this many times its text, and the columns made from it as much again.
_JSON_GROWTH = 40.0
_NPZ_NAMES = {"cluster": "labels"}
_NUMERIC = ("cluster", "certainty", "entropy", "novelty", "overlap", "instability")


def write_result(
    result: Result,
    path: str | os.PathLike[str],
    *,
    source: Source | None = None,
    only_memberships: bool = False,
) -> None:
    """Write one row per object: cluster, certainty, entropy and memberships beside the data.

    If `source` is a table that was read from a file, the columns of the file come first, text files
    as they were written, with their separator and decimal sign. Names of columns that the file has
    already get the prefix ``soffit_``. Without a table, the first column identifies the objects;
    those without a name are numbered from 1.

    The ending chooses the format: ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather``,
    ``.jsonl``, ``.xlsx``, ``.npz``, ``.json``. With ``.h5ad``, ``.graphml`` and ``.gml`` a copy of
    the data that were read is written, with the results added: ``obsm["X_soffit"]``,
    ``obs["soffit"]`` and ``obs["soffit_entropy"]``, or the node attributes ``soffit``,
    ``soffit_certainty``, ``soffit_entropy`` and ``p0``, ``p1``, ...

    Text that a spreadsheet program would run as a formula, such as ``=1+1``, gets an apostrophe in
    front in ``.csv`` and ``.tsv`` files; `read_result` removes it from identifiers. In other
    formats text is text.

    Parameters
    ----------
    result : Result
        The result to write.
    path : str or path
        The file. An existing file is replaced when the new one is complete.
    source : Source, optional
        The data that were clustered, to be written beside the result.
    only_memberships : bool, default=False
        Leave out the columns of the data, except for the identifier. ``.npz`` files never have
        them, and ``.h5ad``, ``.graphml``, ``.gml`` and ``.gexf`` always do.

    Raises
    ------
    DataError
        If the ending is unknown, the file cannot be written, or the format cannot hold the
        result.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from soffit.io import Result, read_result, write_result
    >>> result = Result.from_memberships(np.array([[0.75, 0.25], [0.5, 0.5]]), ids=["a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "clusters.csv"
    ...     write_result(result, path)
    ...     print(path.read_text().splitlines()[0])
    ...     again = read_result(path)
    id,cluster,certainty,entropy,p0,p1
    >>> np.array_equal(again.memberships, result.memberships)
    True
    """
    where = Path(path)
    writer = _WRITERS.get(where.suffix.lower())
    if writer is None:
        ending = f"with the ending {where.suffix!r}" if where.suffix else "without an ending"
        raise DataError(
            f"{where}: results cannot be written {ending}.", f"Use one of {' '.join(_WRITERS)}."
        )
    try:
        with replaced(where) as temporary:
            writer(result, temporary, source, only_memberships)
    except (DataError, MemoryError):
        raise
    except Exception as error:
        # The libraries raise exceptions of many kinds when a disk is full.
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise DataError(
            f"{where}: it cannot be written ({reason.splitlines()[0]}).",
            "Check that the folder exists, that you may write to it, and that the disk is not "
            "full.",
        ) from error


def read_result(path: str | os.PathLike[str]) -> Result:
    """Read a result that `write_result` has written as a table.

    Parameters
    ----------
    path : str or path
        A ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather``, ``.jsonl``, ``.xlsx``,
        ``.npz`` or ``.json`` file.

    Returns
    -------
    Result
        Labels, certainty and entropy are computed from the memberships.

    Raises
    ------
    DataError
        If the file cannot be read or does not hold a result.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np
    >>> from soffit import io
    >>> result = io.Result.from_memberships(np.array([[0.9, 0.1], [0.2, 0.8]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "clusters.csv")
    ...     io.write_result(result, path)
    ...     io.read_result(path).labels
    array([0, 1])
    """
    local = LocalFile.of(Path(path))
    with local.named():
        return _read_result(local.path)


def _read_result(where: Path) -> Result:
    if where.suffix.lower() == ".json":
        return _read_json(where)
    format_name = recognise(where)
    if format_name == "NumPy archive":
        return _read_npz(where)
    if format_name in OPENERS or format_name == "delimited text":
        return _read_rows(where, format_name)
    raise DataError(
        f"{where}: results are read from tables, not from {where.suffix} files.",
        "Also write the result as .csv or .parquet.",
    )


# --- tables ---------------------------------------------------------------------------------------


def _written(
    result: Result, source: Source | None, lean: bool, *, as_text: bool = False
) -> Iterator[Any]:
    """Polars frames of all rows, with the columns of the data unless the result is to be lean."""
    if source is None or lean:
        for rows in row_blocks(result.memberships.shape) if is_sparse(result.memberships) else ():
            yield frame_of(to_columns(result.part(rows)))
        if not is_sparse(result.memberships):
            yield frame_of(to_columns(result))
    elif has_table(source):
        yield from table_blocks(result, source, as_text=as_text)
    else:
        yield attribute_frame(result, source)


def _whole(result: Result, source: Source | None, lean: bool) -> Any:
    import polars as pl

    if is_sparse(result.memberships):
        _check_room(result)
    return pl.concat(list(_written(result, source, lean)))


def _check_room(result: Result) -> None:
    """Refuse to write very many clusters at once to a file that is not written in blocks."""
    check_allocation(
        result.memberships.shape,
        np.float64,
        what="Writing this file",
        remedy="Write a .csv file, which is written in blocks, or save the model.",
        copies=2,
    )


def _write_csv(result: Result, path: Path, source: Source | None, lean: bool) -> None:
    form = TextForm.of(path, source)
    as_text = source is not None and isinstance(source.origin, DelimitedRows)
    with path.open("wb") as file:
        file.write(form.mark)
        for number, frame in enumerate(_written(result, source, lean, as_text=as_text)):
            marked(frame).write_csv(
                file,
                separator=form.separator,
                decimal_comma=form.decimal_comma,
                include_header=number == 0,
            )


def _write_parquet(result: Result, path: Path, source: Source | None, lean: bool) -> None:
    _whole(result, source, lean).write_parquet(path)


def _write_arrow(result: Result, path: Path, source: Source | None, lean: bool) -> None:
    _whole(result, source, lean).write_ipc(path)


def _write_json_lines(result: Result, path: Path, source: Source | None, lean: bool) -> None:
    _whole(result, source, lean).write_ndjson(path)


def _write_npz(result: Result, path: Path, source: Source | None, _: bool) -> None:
    if is_sparse(result.memberships):
        _check_room(result)
        result = replace(result, memberships=dense_rows(result.memberships))
    columns = to_columns(result)
    id_name = next(iter(columns))
    arrays: dict[str, Any] = {"memberships": result.memberships, "id_name": np.array(id_name)}
    for name, values in columns.items():
        if name not in memberships_in(columns):
            # Text of any length as NumPy's own type: arrays of objects would need pickle.
            plain = values.astype(np.str_) if values.dtype.kind == "O" else values
            arrays["ids" if name == id_name else _NPZ_NAMES.get(name, name)] = plain
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _write_json(result: Result, path: Path, source: Source | None, lean: bool) -> None:
    columns = {column.name: column.to_list() for column in _whole(result, source, lean)}
    with path.open("w", encoding="utf-8") as file:
        json.dump({"format": _JSON_NAME, "version": 1, "columns": columns}, file)


def _write_excel(result: Result, path: Path, source: Source | None, lean: bool) -> None:
    writer = need("xlsxwriter", "excel", "Writing Excel files")
    frame = _whole(result, source, lean)
    if frame.height >= _MOST_EXCEL_ROWS or frame.width > _MOST_EXCEL_COLUMNS:
        raise DataError(
            f"an Excel sheet holds at most {_MOST_EXCEL_ROWS:,} rows and "
            f"{_MOST_EXCEL_COLUMNS:,} columns.",
            _WRITE_A_TABLE,
        )
    # Each cell is written by its type: text never becomes a formula or a link.
    archive = io.BytesIO()
    book = writer.Workbook(archive, {"constant_memory": False})
    sheet = book.add_worksheet("soffit")
    for position, column in enumerate(frame):
        sheet.write_string(0, position, column.name)
        for row, value in enumerate(column.to_list(), start=1):
            if isinstance(value, (int, float)) and math.isfinite(value):
                sheet.write_number(row, position, value)
            elif value is not None:
                sheet.write_string(row, position, str(value)[:_LONGEST_EXCEL_TEXT])
    book.close()
    # On a full disk, an archive that is open would fail once more when it is forgotten, and say so.
    path.write_bytes(archive.getbuffer())


_WRITERS: dict[str, Callable[[Result, Path, Source | None, bool], None]] = {
    ".csv": _write_csv,
    ".tsv": _write_csv,
    ".parquet": _write_parquet,
    ".arrow": _write_arrow,
    ".feather": _write_arrow,
    ".jsonl": _write_json_lines,
    ".xlsx": _write_excel,
    ".npz": _write_npz,
    ".json": _write_json,
    ".h5ad": write_annotated,
    ".graphml": write_graph,
    ".gml": write_graph,
    ".gexf": write_graph,
}


# --- reading --------------------------------------------------------------------------------------


def _read_rows(path: Path, format_name: str) -> Result:
    import polars as pl

    delimited = format_name == "delimited text"
    rows: Any = DelimitedRows.open(path) if delimited else OPENERS[format_name](path, FileOptions())
    # Identifiers and labels stay as they are written: 007 is not 7.
    numbers = {*_NUMERIC, *memberships_in(rows.names)}
    words = [
        name
        for name in rows.names
        if rows.kinds[name] != "number" or own_name(name) not in numbers or name in rows.problems
    ]
    frame = pl.concat(list(rows.blocks(rows.names, words)))
    columns = {name: frame[name].to_list() for name in frame.columns}
    return from_columns(path, columns, [n for n in rows.names if rows.kinds[n] == "text"])


def _read_npz(path: Path) -> Result:
    arrays = read_npz(path)
    memberships = arrays.get("memberships")
    if memberships is None or memberships.ndim != 2:
        raise DataError(f"{path}: not a result of soffit: it has no array 'memberships'.")
    columns: dict[str, Any] = {}
    if "ids" in arrays:
        columns[str(arrays.get("id_name", "id"))] = arrays["ids"].tolist()
    for name in ("cluster_name", "novelty", "overlap", "instability", "truth"):
        if name in arrays:
            columns[name] = arrays[name].tolist()
    for number in range(memberships.shape[1]):
        columns[f"p{number}"] = memberships[:, number]
    _check_lengths(path, columns, len(memberships))
    return from_columns(path, columns)


def _read_json(path: Path) -> Result:
    check_bytes(path, _JSON_GROWTH * size_of(path), "reading it", "Write it as .parquet.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: not valid JSON ({error}).") from error
    columns = content.get("columns") if isinstance(content, dict) else None
    if not isinstance(columns, dict) or content.get("format") != _JSON_NAME:
        raise DataError(f"{path}: not a result of soffit.", "Write it with write_result.")
    if not all(isinstance(values, list) for values in columns.values()):
        raise DataError(f"{path}: its columns are not lists.", "Write the result again.")
    _check_lengths(path, columns, len(next(iter(columns.values()), [])))
    return from_columns(path, columns)


def _check_lengths(path: Path, columns: dict[str, Any], n_rows: int) -> None:
    wrong = [name for name, values in columns.items() if len(values) != n_rows]
    if wrong:
        raise DataError(f"{path}: its columns differ in length ({wrong[0]!r}).", "Write it again.")
