"""Write results in the format that the file's ending names, and read them back."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from soffit.io._arrays import read_npz
from soffit.io._delimited import DelimitedRows
from soffit.io._errors import DataError, need
from soffit.io._formats import recognise, size_of
from soffit.io._frames import OPENERS
from soffit.io._limits import check_bytes
from soffit.io._result import Result
from soffit.io._result_columns import from_columns, to_columns
from soffit.io._result_graph import write_annotated, write_graph
from soffit.io._source import Source

_MOST_EXCEL_ROWS = 2**20
_MOST_EXCEL_COLUMNS = 2**14
_LONGEST_EXCEL_TEXT = 32_767
_JSON_NAME = "soffit result"
_NPZ_NAMES = {"cluster": "labels"}
_NUMERIC = ("cluster", "certainty", "entropy", "overlap", "instability")


def write_result(
    result: Result, path: str | os.PathLike[str], *, source: Source | None = None
) -> None:
    """Write one row an object: identifier, cluster, certainty, entropy and memberships.

    The ending chooses the format: ``.csv``, ``.tsv``, ``.parquet``, ``.arrow``, ``.feather``,
    ``.jsonl``, ``.xlsx``, ``.npz``, ``.json``. With ``.h5ad``, ``.graphml`` and ``.gml`` a copy of
    the data that were read is written, with the results added: ``obsm["X_soffit"]``,
    ``obs["soffit"]`` and ``obs["soffit_entropy"]``, or the node attributes ``soffit``,
    ``soffit_certainty``, ``soffit_entropy`` and ``p0``, ``p1``, ...

    Identifiers are written as they are. Text that starts with ``=``, ``+``, ``-`` or ``@`` is
    plain text in an ``.xlsx`` file, but a spreadsheet program that opens a ``.csv`` file may take
    it for a formula; import such columns as text if you do not trust their origin.

    Parameters
    ----------
    result : Result
        What to write.
    path : str or path
        The file; one that exists is replaced, once the new one is complete.
    source : Source, optional
        What was read, for formats that hold the data themselves.

    Raises
    ------
    DataError
        If the ending is not known, the folder cannot be written to, or the format cannot hold the
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
        ending = repr(where.suffix) if where.suffix else "none"
        raise DataError(
            f"{where}: results cannot be written with this ending ({ending}). Use one of "
            f"{' '.join(_WRITERS)}."
        )
    with _replaced(where) as temporary:
        writer(result, temporary, source)


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
        Labels, certainty and entropy are worked out from the memberships.

    Raises
    ------
    DataError
        If the file cannot be read or does not hold a result.
    """
    where = Path(path)
    if where.suffix.lower() == ".json":
        return _read_json(where)
    format_name = recognise(where)
    if format_name == "NumPy archive":
        return _read_npz(where)
    if format_name in OPENERS or format_name == "delimited text":
        return _read_rows(where, format_name)
    raise DataError(
        f"{where}: results are read from tables, not from {where.suffix} files. Write the result "
        "as .csv or .parquet as well."
    )


@contextmanager
def _replaced(path: Path) -> Iterator[Path]:
    """A file beside the target, moved onto it when it is complete."""
    temporary = None
    try:
        handle, name = tempfile.mkstemp(prefix=".soffit-", suffix=path.suffix, dir=path.parent)
        os.close(handle)
        temporary = Path(name)
        # Temporary files are private; a result has the rights of any other new file.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        yield temporary
        temporary.replace(path)
    except OSError as error:
        raise DataError(
            f"{path}: it cannot be written ({error.strerror or error}). Check that the folder "
            "exists and that you may write to it."
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


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
            f"{_MOST_EXCEL_COLUMNS:,} columns. Write a .csv or .parquet file."
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
    rows: Any = DelimitedRows.open(path) if delimited else OPENERS[format_name](path)
    # Identifiers and labels stay as they are written: 007 is not 7.
    numbers = {*_NUMERIC, *_memberships(rows.names)}
    words = [n for n in rows.names if rows.kinds[n] != "number" or n not in numbers]
    frame = pl.concat(list(rows.blocks(rows.names, words)))
    return from_columns(path, {name: frame[name].to_list() for name in frame.columns})


def _read_npz(path: Path) -> Result:
    arrays = read_npz(path)
    memberships = arrays.get("memberships")
    if memberships is None or memberships.ndim != 2:
        raise DataError(f"{path}: it is no result of soffit: it has no array 'memberships'.")
    columns: dict[str, Any] = {}
    if "ids" in arrays:
        columns[str(arrays.get("id_name", "id"))] = arrays["ids"].tolist()
    for name in ("overlap", "instability", "truth"):
        if name in arrays:
            columns[name] = arrays[name].tolist()
    for number in range(memberships.shape[1]):
        columns[f"p{number}"] = memberships[:, number]
    _check_lengths(path, columns, len(memberships))
    return from_columns(path, columns)


def _read_json(path: Path) -> Result:
    check_bytes(path, 10.0 * size_of(path), "reading it", "Write the result as .parquet.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: it cannot be read as JSON ({error}).") from error
    columns = content.get("columns") if isinstance(content, dict) else None
    if not isinstance(columns, dict) or content.get("format") != _JSON_NAME:
        raise DataError(f"{path}: it is no result of soffit. Write it with write_result.")
    if not all(isinstance(values, list) for values in columns.values()):
        raise DataError(f"{path}: its columns are not lists. Write the result again.")
    _check_lengths(path, columns, len(next(iter(columns.values()), [])))
    return from_columns(path, columns)


def _check_lengths(path: Path, columns: dict[str, Any], n_rows: int) -> None:
    wrong = [name for name, values in columns.items() if len(values) != n_rows]
    if wrong:
        raise DataError(f"{path}: its columns differ in length ({wrong[0]!r}). Write it again.")
