"""Results written to files, and read again."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._atomic import replaced
from soffit.io.data_error import DataError, listed, need, shown
from soffit.io.file_options import FileOptions
from soffit.io.formats import recognise, size_of
from soffit.io.limits import check_bytes
from soffit.io.local_files import LocalFile
from soffit.io.matrices.arrays import read_npz
from soffit.io.source import Source
from soffit.io.tables.typed import OPENERS
from soffit.io.text.delimited import DelimitedRows
from soffit.results.per_object import ROUNDED, Result

_WRITE_A_TABLE = "Write a .csv or .parquet file instead."
_SCORES = (
    *("cluster", "cluster_name", "certainty", "entropy"),
    *("novelty", "overlap", "instability", "truth"),
)


def to_columns(result: Result) -> dict[str, NDArray[Any]]:
    """Columns in the order in which they are written."""
    ids = np.arange(len(result.memberships)) if result.ids is None else np.asarray(result.ids)
    columns: dict[str, NDArray[Any]] = {_free_name(result): ids}
    columns["cluster"] = result.labels
    if result.names is not None:
        # The last name is that of objects which are assigned to no cluster, -1.
        columns["cluster_name"] = np.array([*result.names, ""], dtype=np.str_)[result.labels]
    columns["certainty"] = result.certainty
    columns["entropy"] = result.entropy
    for name in ("novelty", "overlap", "instability", "truth"):
        values = getattr(result, name)
        if values is not None:
            columns[name] = np.asarray(values)
    for number in range(result.n_clusters):
        columns[f"p{number}"] = result.memberships[:, number]
    return columns


def _free_name(result: Result) -> str:
    """The name of the identifiers, unless another column has it."""
    taken = result.id_name in _SCORES or re.fullmatch(r"p\d+", result.id_name)
    return "id" if taken or not result.id_name.strip() else result.id_name


def from_columns(path: Path, columns: Mapping[str, Sequence[Any]]) -> Result:
    """A result from the columns of a file; `path` is for messages."""
    names = sorted(
        (name for name in columns if re.fullmatch(r"p\d+", name)), key=lambda name: int(name[1:])
    )
    if not names or names != [f"p{number}" for number in range(len(names))]:
        raise DataError(
            f"{path}: not a result of soffit: the memberships p0, p1, ... are missing or "
            f"incomplete. Its columns are {listed(map(shown, columns), 12)}."
        )
    memberships = np.column_stack([_numbers(path, name, columns[name]) for name in names])
    _check_memberships(path, memberships)
    optional = {
        name: _numbers(path, name, columns[name])
        for name in ("overlap", "instability", "novelty")
        if name in columns
    }
    id_name = next((n for n in columns if n not in _SCORES and n not in names), None)
    truth = columns.get("truth")
    return Result.from_memberships(
        memberships,
        ids=None if id_name is None else _identifiers(columns[id_name]),
        id_name=id_name or "id",
        truth=None if truth is None else _texts(truth),
        names=_cluster_names(columns, memberships),
        **optional,
    )


def _cluster_names(
    columns: Mapping[str, Sequence[Any]], memberships: NDArray[Any]
) -> list[str] | None:
    """Names of the clusters, as far as objects of the file have them."""
    if "cluster_name" not in columns:
        return None
    names = [str(number) for number in range(memberships.shape[1])]
    for number, name in zip(memberships.argmax(axis=1), columns["cluster_name"], strict=True):
        if name:
            names[number] = str(name)
    return names


def _numbers(path: Path, name: str, values: Sequence[Any]) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: the column {shown(name)} must hold numbers ({error}).") from error


def _check_memberships(path: Path, memberships: NDArray[Any]) -> None:
    if not len(memberships):
        raise DataError(f"{path}: it has no rows.")
    sums = memberships.sum(axis=1)
    # Written so that NaN fails too.
    wrong = np.flatnonzero(
        ~((np.abs(sums - 1) <= ROUNDED) & (memberships >= 0).all(axis=1) & np.isfinite(sums))
    )
    if wrong.size:
        row = int(wrong[0])
        raise DataError(
            f"{path}: the memberships of row {row + 1:,} are not probabilities that sum to 1 "
            f"(their sum is {sums[row]:g}).",
            "Write the result again.",
        )


def _identifiers(values: Sequence[Any]) -> NDArray[Any]:
    """Text, or the numbers from 0 if that is all they are."""
    texts = _texts(values)
    n = len(texts)
    numbered = n and texts[0] == "0" and texts[-1] == str(n - 1)
    return np.arange(n) if numbered and texts.tolist() == list(map(str, range(n))) else texts


def _texts(values: Sequence[Any]) -> NDArray[Any]:
    return np.array(["" if value is None else str(value) for value in values], dtype=np.str_)


def write_annotated(result: Result, path: Path, source: Source | None) -> None:
    """A copy of the AnnData object with the memberships, clusters and entropies."""
    anndata = need("anndata", "anndata", "Writing .h5ad files")
    pandas = need("pandas", "anndata", "Writing .h5ad files")
    origin = None if source is None else source.origin
    annotated: Any
    if origin is not None and type(origin).__name__ == "AnnData":
        annotated = origin.copy()
    elif source is not None and source.kind == "table":
        ids = range(len(result.memberships)) if result.ids is None else result.ids
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
    annotated.obsm["X_soffit"] = np.asarray(result.memberships)
    names = result.names or [str(number) for number in range(result.n_clusters)]
    labels = pandas.Categorical.from_codes(result.labels, categories=list(names))
    annotated.obs["soffit"] = labels
    annotated.obs["soffit_certainty"] = np.asarray(result.certainty)
    annotated.obs["soffit_entropy"] = np.asarray(result.entropy)
    with warnings.catch_warnings():
        # Warnings about the layout of the original file do not concern the result.
        warnings.simplefilter("ignore")
        annotated.write_h5ad(path)


def write_graph(result: Result, path: Path, source: Source | None) -> None:
    """A copy of the graph with cluster, certainty, entropy and memberships as node attributes."""
    networkx = need("networkx", "graphs", f"Writing {path.suffix} files")
    graph = _graph(networkx, source, path)
    nodes = list(graph.nodes)
    _check_length(result, len(nodes))
    for position, node in enumerate(nodes):
        attributes = graph.nodes[node]
        label = int(result.labels[position])
        attributes["soffit"] = label
        if result.names is not None:
            attributes["soffit_name"] = result.names[label] if label >= 0 else ""
        attributes["soffit_certainty"] = float(result.certainty[position])
        attributes["soffit_entropy"] = float(result.entropy[position])
        for number in range(result.n_clusters):
            attributes[f"p{number}"] = float(result.memberships[position, number])
    write = networkx.write_graphml if path.suffix.lower() == ".graphml" else _write_gml
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
    if len(result.memberships) != n:
        raise DataError(
            f"the result has {len(result.memberships):,} objects, but the data have {n:,}.",
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
    result: Result, path: str | os.PathLike[str], *, source: Source | None = None
) -> None:
    """Write one row per object: identifier, cluster, certainty, entropy and memberships.

    The ending chooses the format: ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather``,
    ``.jsonl``, ``.xlsx``, ``.npz``, ``.json``. With ``.h5ad``, ``.graphml`` and ``.gml`` a copy of
    the data that were read is written, with the results added: ``obsm["X_soffit"]``,
    ``obs["soffit"]`` and ``obs["soffit_entropy"]``, or the node attributes ``soffit``,
    ``soffit_certainty``, ``soffit_entropy`` and ``p0``, ``p1``, ...

    Identifiers are written as they are. Text that starts with ``=``, ``+``, ``-`` or ``@`` is
    plain text in an ``.xlsx`` file, but a spreadsheet program may take it for a formula in a
    ``.csv`` file; import such columns as text if you do not trust their origin.

    Parameters
    ----------
    result : Result
        The result to write.
    path : str or path
        The file. An existing file is replaced when the new one is complete.
    source : Source, optional
        The data, for formats that hold them beside the result.

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
            writer(result, temporary, source)
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


def _frame(result: Result) -> Any:
    import polars as pl

    columns = to_columns(result)
    return pl.DataFrame(
        {
            name: pl.Series(name, values.tolist(), dtype=pl.String)
            if values.dtype.kind in "UO"
            else pl.Series(name, np.ascontiguousarray(values))
            for name, values in columns.items()
        }
    )


def _write_csv(result: Result, path: Path, source: Source | None) -> None:
    _frame(result).write_csv(path, separator="\t" if path.suffix.lower() == ".tsv" else ",")


def _write_parquet(result: Result, path: Path, source: Source | None) -> None:
    _frame(result).write_parquet(path)


def _write_arrow(result: Result, path: Path, source: Source | None) -> None:
    _frame(result).write_ipc(path)


def _write_json_lines(result: Result, path: Path, source: Source | None) -> None:
    _frame(result).write_ndjson(path)


def _write_npz(result: Result, path: Path, source: Source | None) -> None:
    columns = to_columns(result)
    id_name = next(iter(columns))
    arrays: dict[str, Any] = {"memberships": result.memberships, "id_name": np.array(id_name)}
    for name, values in columns.items():
        if name not in _memberships(columns):
            # Text of any length as NumPy's own type: arrays of objects would need pickle.
            plain = values.astype(np.str_) if values.dtype.kind == "O" else values
            arrays["ids" if name == id_name else _NPZ_NAMES.get(name, name)] = plain
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _memberships(columns: Iterable[str]) -> set[str]:
    return {name for name in columns if re.fullmatch(r"p\d+", name)}


def _write_json(result: Result, path: Path, source: Source | None) -> None:
    columns = {name: values.tolist() for name, values in to_columns(result).items()}
    with path.open("w", encoding="utf-8") as file:
        json.dump({"format": _JSON_NAME, "version": 1, "columns": columns}, file)


def _write_excel(result: Result, path: Path, source: Source | None) -> None:
    writer = need("xlsxwriter", "excel", "Writing Excel files")
    columns = to_columns(result)
    if len(result.memberships) >= _MOST_EXCEL_ROWS or len(columns) > _MOST_EXCEL_COLUMNS:
        raise DataError(
            f"an Excel sheet holds at most {_MOST_EXCEL_ROWS:,} rows and "
            f"{_MOST_EXCEL_COLUMNS:,} columns.",
            _WRITE_A_TABLE,
        )
    # Each cell is written by its type: text never becomes a formula or a link.
    book = writer.Workbook(str(path), {"constant_memory": False})
    sheet = book.add_worksheet("soffit")
    for position, (name, values) in enumerate(columns.items()):
        sheet.write_string(0, position, name)
        if values.dtype.kind in "UO":
            for row, value in enumerate(values.tolist(), start=1):
                sheet.write_string(row, position, value[:_LONGEST_EXCEL_TEXT])
        else:
            for row, value in enumerate(values.tolist(), start=1):
                sheet.write_number(row, position, value)
    book.close()


_WRITERS: dict[str, Callable[[Result, Path, Source | None], None]] = {
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
}


# --- reading --------------------------------------------------------------------------------------


def _read_rows(path: Path, format_name: str) -> Result:
    import polars as pl

    delimited = format_name == "delimited text"
    rows: Any = DelimitedRows.open(path) if delimited else OPENERS[format_name](path, FileOptions())
    # Identifiers and labels stay as they are written: 007 is not 7.
    numbers = {*_NUMERIC, *_memberships(rows.names)}
    words = [n for n in rows.names if rows.kinds[n] != "number" or n not in numbers]
    frame = pl.concat(list(rows.blocks(rows.names, words)))
    return from_columns(path, {name: frame[name].to_list() for name in frame.columns})


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
