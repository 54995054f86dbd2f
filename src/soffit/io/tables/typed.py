"""Parquet, Arrow, JSON and Excel: tables whose columns have types."""

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

from soffit._wording import Message, Parameter, count_of, first_few
from soffit.io.data_error import DataError, check_archive, check_bytes, need, shown
from soffit.io.file_options import FileOptions
from soffit.io.tables.tabular import unique_names
from soffit.io.text.number_columns import (
    NumberColumns,
    not_a_number,
    parse_numbers,
    without_markers,
)
from soffit.io.text.numbers import ColumnKind, Notation, is_number
from soffit.io.trial import try_reading

# Entries of one block: 64 MB in double precision.
_BLOCK_ENTRIES = 2**23
_SAMPLED_ROWS = 1000
_DEEPEST_NESTING = 200
# A table of JSON lines may have this many times as many entries as the file, beyond a few.
_EMPTIEST = 50
_FEW_ENTRIES = 2**20
# Every string, closed or not, is passed by as a whole: no character is looked at twice.
_STRING = re.compile(rb'"([^"\\]*(?:\\[\s\S][^"\\]*)*)(?:"(\s*:)?)?')
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
    options: FileOptions
    names: Sequence[str]
    kinds: Mapping[str, ColumnKind]
    n_rows: int
    has_header: bool = True
    single: bool = False
    notes: list[str] = field(default_factory=list)
    # Text columns that hold numbers.
    found: NumberColumns = field(default_factory=lambda: NumberColumns({}))

    @classmethod
    def of(
        cls, path: Path, frame: Any, options: FileOptions, notes: Sequence[str] = ()
    ) -> FrameRows:
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
        words = [name for name, kind in kinds.items() if kind == "text"]
        found = _numbers_in_text(path, frame, words, options)
        read_as = [name for name in found.notations if found.kinds[name] == "number"]
        said = list(notes)
        if read_as:
            said.append(
                f"Text that holds numbers was read as such: {first_few(map(shown, read_as))}."
            )
        return cls(
            path,
            frame,
            options,
            list(schema),
            kinds | dict.fromkeys(read_as, "number"),
            n_rows,
            single=bool(widths) and widths <= {"Float32", "Float16"},
            notes=[*said, *found.notes],
            found=found,
        )

    @property
    def problems(self) -> Mapping[str, DataError]:
        """Columns that look like numbers but cannot be read."""
        return self.found.problems

    def place(self, row: int) -> str:
        """A row of the table, counted from 1."""
        return f"row {row + 1:,}"

    def blocks(self, names: Sequence[str], as_text: Collection[str]) -> Iterator[Any]:
        """Polars frames with the columns `names`; numbers unless they are `as_text`."""
        import polars as pl

        wide = pl.Float32 if self.single else pl.Float64
        chosen = []
        in_text = [n for n in names if n in self.found.notations and n not in as_text]
        for name in names:
            column = pl.col(name)
            if name in as_text or name in in_text or self.kinds[name] in ("text", "date"):
                column = column.cast(pl.String)
            elif self.kinds[name] in ("number", "boolean"):
                column = column.cast(wide)
            chosen.append(column)
        step = max(_BLOCK_ENTRIES // max(len(names), 1), 1)
        for first in range(0, self.n_rows, step):
            with readable(self.path):
                block = self.frame.slice(first, step).select(chosen).collect()
            parsed = [self._parsed(name, block[name], first) for name in in_text]
            yield without_markers(block.with_columns(parsed), self.options.na or ())

    def raw_blocks(self) -> Iterator[Any]:
        """Polars frames with all columns as the file has them."""
        step = max(_BLOCK_ENTRIES // len(self.names), 1)
        for first in range(0, self.n_rows, step):
            with readable(self.path):
                yield self.frame.slice(first, step).collect()

    def as_numbers(self, name: str, texts: Any) -> Any:
        """The numbers of a column that was read as text."""
        return self._parsed(name, texts, 0)

    def _parsed(self, name: str, texts: Any, row: int) -> Any:
        notation = self.found.notations.get(name, Notation())
        values, wrong, count = parse_numbers(texts, notation, self.options.na or ())
        if wrong is not None:
            entry = str(texts[wrong]).strip()
            place = self.place(row + wrong)
            raise not_a_number(self.path, name, entry, place=place, count=count, notation=notation)
        return values.alias(name)


def _numbers_in_text(
    path: Path, frame: Any, names: Sequence[str], options: FileOptions
) -> NumberColumns:
    """Which columns of text hold numbers: 80 %, 3.75 kg, or numbers that were saved as text.

    Whole numbers with leading zeros are codes, and stay text.
    """
    import polars as pl

    if not names:
        return NumberColumns({})
    entries: dict[str, list[str]] = {}
    with readable(path):
        head = frame.select(pl.col(names).cast(pl.String)).head(_SAMPLED_ROWS).collect()
        for name in names:
            entries[name] = head[name].drop_nulls().to_list()
            if not entries[name]:
                column = frame.select(pl.col(name).cast(pl.String).drop_nulls().head(_SAMPLED_ROWS))
                entries[name] = column.collect()[name].to_list()
    codes = [n for n, found in entries.items() if not found or any(map(_is_code, found))]
    sample = {name: found for name, found in entries.items() if name not in codes}
    # Such files are made by programs: numbers have decimal points unless they show otherwise.
    return NumberColumns.find(path, sample, options.conventions, None)


def _is_code(entry: str) -> bool:
    bare = entry.strip()
    return len(bare) > 1 and bare.isascii() and bare.isdigit() and bare[0] == "0"


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


def open_parquet(path: Path, options: FileOptions) -> FrameRows:
    """Scan a Parquet file."""
    import polars as pl

    try_reading(path)
    return FrameRows.of(path, pl.scan_parquet(path, glob=False), options)


def open_arrow(path: Path, options: FileOptions) -> FrameRows:
    """Scan an Arrow (IPC, Feather version 2) file."""
    import polars as pl

    with readable(path), path.open("rb") as file:
        # A truncated file has no end mark; the scan would look for it at odd places.
        file.seek(-6, 2)
        if file.read() != b"ARROW1":
            raise DataError(
                f"{path}: it is truncated: its end mark is missing.", "Copy or save it again."
            )
    try_reading(path)
    return FrameRows.of(path, pl.scan_ipc(path, glob=False), options)


def open_json_lines(path: Path, options: FileOptions) -> FrameRows:
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
    return FrameRows.of(path, frame.lazy(), options)


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
            found = [string for string, colon in _STRING.findall(line) if colon]
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


def open_excel(path: Path, options: FileOptions) -> FrameRows:
    """Read one sheet of an Excel workbook, the first unless another is named."""
    import polars as pl

    excel = need("fastexcel", "excel", "Reading Excel files")
    check_archive(path)
    _check_extent(path)
    content = path.read_bytes()
    try:
        sheets = list(excel.read_excel(content).sheet_names)
        sheet = _chosen_sheet(path, sheets, options.sheet)
        frame = _read_sheet(content, sheet, options.skip_rows, has_header=True)
        if all(is_number(str(name)) for name in frame.columns):
            frame = _read_sheet(content, sheet, options.skip_rows, has_header=False)
    except DataError:
        raise
    except (Exception, pl.exceptions.PanicException) as error:
        # The libraries raise exceptions of many kinds for damaged workbooks.
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        which = "its first sheet" if options.sheet is None else f"sheet {options.sheet!r}"
        raise DataError(
            f"{path}: the workbook cannot be read, or {which} is empty ({reason}).",
            Message(
                "Put the table on the first sheet, with names in the first row, or pass ",
                *(Parameter("sheet"), " and ", Parameter("skip_rows"), "."),
            ),
        ) from error
    names, notes = unique_names([str(name).strip() for name in frame.columns])
    frame.columns = names
    if len(sheets) > 1 and options.sheet is None:
        notes.append(
            Message(
                f"Only the first of {len(sheets)} sheets was read ({sheets[0]!r}). Pass ",
                *(Parameter("sheet"), " for another one."),
            )
        )
    frame, said = _without_empty_rows(frame)
    return FrameRows.of(path, frame.lazy(), options, [*notes, *said])


def _chosen_sheet(path: Path, sheets: Sequence[str], given: str | int | None) -> str:
    if given is None:
        return sheets[0]
    if isinstance(given, str) and given in sheets:
        return given
    # The command line has only text.
    number = int(given) if isinstance(given, int) or given.isdecimal() else 0
    if 1 <= number <= len(sheets):
        return sheets[number - 1]
    raise DataError(
        Message(f"{path}: there is no ", Parameter("sheet", given), "."),
        f"The sheets are {first_few(map(shown, sheets), 12)}.",
    )


def _read_sheet(content: bytes, sheet: str, skip_rows: int, *, has_header: bool) -> Any:
    import polars as pl

    return pl.read_excel(
        content,
        sheet_name=sheet,
        has_header=has_header,
        infer_schema_length=None,
        drop_empty_rows=False,
        read_options={"header_row": skip_rows} if has_header else {"skip_rows": skip_rows},
    )


def _without_empty_rows(frame: Any) -> tuple[Any, list[str]]:
    """Rows with at least one value, and a note on empty ones between them."""
    import polars as pl

    empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    kept = frame.filter(~empty)
    last = len(empty) - int(empty.reverse().arg_min() or 0) if not empty.all() else 0
    n_between = int(empty[:last].sum() or 0)
    if not n_between:
        return kept, []
    return kept, [f"Left out {count_of(n_between, 'empty row')} of the sheet."]


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


OPENERS: dict[str, Callable[[Path, FileOptions], FrameRows]] = {
    "Parquet": open_parquet,
    "Arrow": open_arrow,
    "JSON lines": open_json_lines,
    "Excel": open_excel,
}
