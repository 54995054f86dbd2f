"""Parquet, Arrow, JSON lines and Excel: tables whose columns have types."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soffit.io.data_error import DataError, need, shown
from soffit.io.limits import check_archive, check_bytes
from soffit.io.tables.tabular import unique_names
from soffit.io.text.dialect import ColumnKind, is_number

# Entries of one block: 64 MB in double precision.
_BLOCK_ENTRIES = 2**23
_DEEPEST_NESTING = 200
# A table of JSON lines may have this many times as many entries as the file, beyond a few.
_EMPTIEST = 50
_FEW_ENTRIES = 2**20
_KEY = re.compile(rb'"((?:[^"\\]|\\.)*)"\s*:')
# What a cell of a sheet takes while it is read, twice over if the sheet has no header.
_BYTES_PER_CELL = 96.0
_TAG = rb"<(?:[\w.-]+:)?%s[\s/>]"
_PLACED = rb"<(?:[\w.-]+:)?%s\s[^<>]*?\br\s*=\s*[\"']%s[\"']"
_ANY_CELL, _ANY_ROW = re.compile(_TAG % b"c"), re.compile(_TAG % b"row")
_CELL = re.compile(_PLACED % (b"c", rb"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})"))
_ROW = re.compile(_PLACED % (b"row", b"([0-9]{1,7})"))
_CHUNK = 2**22
_ONE_PER_LINE = 'Write one flat object per line, such as {"x": 1.5, "y": 2}.'


@dataclass
class FrameRows:
    """A polars lazy frame as rows in blocks; see `Rows`."""

    path: Path
    frame: Any
    names: Sequence[str]
    kinds: Mapping[str, ColumnKind]
    n_rows: int
    has_header: bool = True
    single: bool = False
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, path: Path, frame: Any, notes: Sequence[str] = ()) -> FrameRows:
        """Look at the columns of a lazy frame and count its rows."""
        import polars as pl

        with readable(path):
            schema = frame.collect_schema()
            n_rows = int(frame.select(pl.len()).collect().item())
        if not len(schema):
            raise DataError(f"{path}: it has no columns.")
        if n_rows == 0:
            raise DataError(f"{path}: it has no rows.", "Add one row per object.")
        kinds = {name: _kind(dtype) for name, dtype in schema.items()}
        widths = {str(dtype) for name, dtype in schema.items() if kinds[name] == "number"}
        return cls(
            path,
            frame,
            list(schema),
            kinds,
            n_rows,
            single=bool(widths) and widths <= {"Float32", "Float16"},
            notes=list(notes),
        )

    def place(self, row: int) -> str:
        """A row of the table, counted from 1."""
        return f"row {row + 1:,}"

    def blocks(self, names: Sequence[str], as_text: Collection[str]) -> Iterator[Any]:
        """Polars frames with the columns `names`; numbers unless they are `as_text`."""
        import polars as pl

        wide = pl.Float32 if self.single else pl.Float64
        chosen = []
        for name in names:
            column = pl.col(name)
            if name in as_text or self.kinds[name] in ("text", "date"):
                column = column.cast(pl.String)
            elif self.kinds[name] in ("number", "boolean"):
                column = column.cast(wide)
            chosen.append(column)
        step = max(_BLOCK_ENTRIES // max(len(names), 1), 1)
        for first in range(0, self.n_rows, step):
            with readable(self.path):
                yield self.frame.slice(first, step).select(chosen).collect()


def _kind(dtype: Any) -> ColumnKind:
    import polars as pl

    if dtype.is_numeric():
        return "number"
    if dtype == pl.Boolean:
        return "boolean"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return "text"
    # A column without values has no type.
    if dtype == pl.Null:
        return "number"
    return "date" if dtype.is_temporal() else "other"


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what polars raises for a damaged file into a DataError."""
    import polars as pl

    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(
            f"{path}: it cannot be read; it may be damaged or truncated ({reason}).",
            "Copy or save the file again.",
        ) from error


def open_parquet(path: Path) -> FrameRows:
    """Scan a Parquet file."""
    import polars as pl

    return FrameRows.of(path, pl.scan_parquet(path, glob=False))


def open_arrow(path: Path) -> FrameRows:
    """Scan an Arrow (IPC, Feather version 2) file."""
    import polars as pl

    with readable(path), path.open("rb") as file:
        # A truncated file has no end mark; the scan would look for it at odd places.
        file.seek(-6, 2)
        if file.read() != b"ARROW1":
            raise DataError(
                f"{path}: it is truncated: its end mark is missing.", "Copy or save it again."
            )
    return FrameRows.of(path, pl.scan_ipc(path, glob=False))


def open_json_lines(path: Path) -> FrameRows:
    """Read JSON lines: one object per line."""
    import polars as pl

    check_bytes(path, 3.0 * path.stat().st_size, "reading it", "Convert it to Parquet first.")
    _check_lines(path)
    try:
        with readable(path):
            # Bytes, because polars takes brackets in a name for a pattern.
            frame = pl.read_ndjson(path.read_bytes(), infer_schema_length=None)
    except DataError as error:
        raise _json_line_error(path) or error from error
    return FrameRows.of(path, frame.lazy())


def _check_lines(path: Path) -> None:
    """Refuse what polars cannot bear: deep nesting, and a table that is almost empty.

    Deep nesting overflows the parser's stack, which no exception can catch. Every key is a column
    of all rows, so that lines with keys of their own make a table far larger than the file.
    """
    keys: set[bytes] = set()
    n_lines = n_entries = 0
    with path.open("rb") as file:
        for line in file:
            n_lines += 1
            if line.count(b"[") + line.count(b"{") > _DEEPEST_NESTING:
                raise DataError(
                    f"{path}: line {n_lines:,} has too many lists and objects.", _ONE_PER_LINE
                )
            found = _KEY.findall(line)
            keys.update(found)
            n_entries += len(found)
            if n_lines * len(keys) > _FEW_ENTRIES + _EMPTIEST * n_entries:
                raise DataError(
                    f"{path}: its first {n_lines:,} lines have {len(keys):,} different keys, most "
                    "of which occur in few lines.",
                    "Write the same keys in every line.",
                )
    check_bytes(path, 16.0 * n_lines * len(keys), "its table", "Write fewer keys.")


def _json_line_error(path: Path) -> DataError | None:
    """Name the first line that is not a JSON object."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                value = None
            if not isinstance(value, dict):
                start = line[:60].decode("utf-8", errors="replace").strip()
                return DataError(
                    f"{path}: line {number:,} is not a JSON object: {shown(start)}.",
                    _ONE_PER_LINE,
                )
    return None


def open_excel(path: Path) -> FrameRows:
    """Read the first sheet of an Excel workbook."""
    import polars as pl

    excel = need("fastexcel", "excel", "Reading Excel files")
    check_archive(path)
    _check_extent(path)
    try:
        content = path.read_bytes()
        sheets = excel.read_excel(content).sheet_names
        frame = pl.read_excel(content, sheet_id=1, infer_schema_length=None)
        if all(is_number(str(name), False) for name in frame.columns):
            frame = pl.read_excel(content, sheet_id=1, has_header=False, infer_schema_length=None)
    except (Exception, pl.exceptions.PanicException) as error:
        # The libraries raise exceptions of many kinds for damaged workbooks.
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise DataError(
            f"{path}: the workbook cannot be read, or its first sheet is empty ({reason}).",
            "Put the table on the first sheet, with names in the first row, and save it again.",
        ) from error
    names, notes = unique_names([str(name).strip() for name in frame.columns])
    frame.columns = names
    if len(sheets) > 1:
        notes.append(f"Only the first of {len(sheets)} sheets was read ({sheets[0]!r}).")
    return FrameRows.of(path, frame.lazy(), notes)


def _check_extent(path: Path) -> None:
    """Refuse a sheet whose cells are far apart: all cells between them take memory, too."""
    rows = columns = 0
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if "xl/workbook.xml" not in names:
                raise DataError(
                    f"{path}: the workbook cannot be read: no .xlsx.", "Save it as .xlsx."
                )
            for name in names:
                with archive.open(name) as member:
                    last = _extent(member)
                rows, columns = max(rows, last[0]), max(columns, last[1])
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, RuntimeError) as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            f"{path}: the workbook is damaged or truncated ({error}).", "Copy or save it again."
        ) from error
    check_bytes(
        path,
        _BYTES_PER_CELL * rows * columns,
        f"a sheet of {rows:,} rows and {columns:,} columns",
        "Delete what is far away from the table, or save the table as .csv.",
    )


def _extent(member: Any) -> tuple[int, int]:
    """The last row and column that a sheet can have.

    Rows and cells without a position follow those before them.
    """
    last_row = last_column = moved_rows = moved_cells = 0
    rest = b""
    while chunk := member.read(_CHUNK):
        # The last tag may continue in the next chunk.
        text, _, rest = (rest + chunk).rpartition(b"<")
        rest = b"<" + rest
        if len(rest) > _CHUNK:
            rest = b""
        cells, rows = _CELL.findall(text), _ROW.findall(text)
        moved_cells += len(_ANY_CELL.findall(text)) - len(cells)
        moved_rows += len(_ANY_ROW.findall(text)) - len(rows)
        last_row = max(last_row, *map(int, {digits for _, digits in cells} | set(rows)), 0)
        last_column = max(last_column, *map(_column, {letters for letters, _ in cells}), 0)
    return last_row + moved_rows, last_column + moved_cells


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - 64
    return number


OPENERS: dict[str, Callable[[Path], FrameRows]] = {
    "Parquet": open_parquet,
    "Arrow": open_arrow,
    "JSON lines": open_json_lines,
    "Excel": open_excel,
}
