"""Delimited text (CSV, TSV and the like) as typed blocks of rows, parsed by polars."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from soffit._wording import Message
from soffit.io.data_error import DataError, counted, shown
from soffit.io.limits import check_bytes
from soffit.io.tables.tabular import correct_or_drop, unique_names
from soffit.io.text.dialect import (
    MISSING,
    ColumnKind,
    Dialect,
    HeaderRule,
    column_kind,
    find_dialect,
    split_rows,
)
from soffit.io.text.encoding import TextFile

_MOST_COLUMNS = 200_000
_MANY_COLUMNS = 1000
# Names, kinds and the parser's own notes of a column.
_BYTES_PER_COLUMN = 4000.0
_TRANSPOSE = (
    "Rows must be objects and columns features: transpose the table if it is the other way round."
)
_SAMPLED_ROWS = 1000
# A quoted entry longer than this is a quote that was never closed.
_LONGEST_ENTRY = 2**26
# Text may be full of points; checking all of them would take longer than reading the file.
_POINTS_LOOKED_AT = 1000


@dataclass
class DelimitedRows:
    """A text file with one row per line; see `Rows`."""

    path: Path
    text: TextFile
    dialect: Dialect
    names: Sequence[str]
    kinds: Mapping[str, ColumnKind]
    n_rows: int
    has_header: bool
    notes: list[str] = field(default_factory=list)
    single: bool = False
    # Set while reading: an empty line or a line break in quotes shifts rows against lines.
    shifted: bool = False

    @classmethod
    def open(cls, path: Path, header: HeaderRule = "auto") -> DelimitedRows:
        """Detect the dialect of the file and the kinds of its columns."""
        text = TextFile.open(path)
        dialect = find_dialect(text.first_lines, header)
        width = dialect.n_columns
        if width > _MOST_COLUMNS:
            raise DataError(f"{path}: the first lines have {width:,} entries.", _TRANSPOSE)
        if width > _MANY_COLUMNS:
            needed = _BYTES_PER_COLUMN * width
            check_bytes(path, needed, f"a table of {width:,} columns", _TRANSPOSE)
        given = _names(path, dialect, width)
        names, notes = unique_names(given)
        if dialect.names is None:
            notes.append("The file has no header; its columns are named 'column 1' and so on.")
        if dialect.decimal_comma:
            notes.append("Numbers are written with a decimal comma.")
        rows = cls(
            path,
            text,
            dialect,
            names,
            {},
            max(text.n_lines - dialect.n_skipped, 0),
            dialect.names is not None,
            notes,
        )
        if not dialect.rows:
            raise DataError(f"{path}: it has a header but no rows.", "Add one row per object.")
        rows.kinds = rows._find_kinds()
        return rows

    def place(self, row: int) -> str:
        """A line of the file, or a row if lines and rows differ."""
        return f"row {row + 1:,}" if self.shifted else f"line {row + self.dialect.n_skipped + 1:,}"

    def blocks(self, names: Sequence[str], as_text: Collection[str]) -> Iterator[Any]:
        """Polars frames with the columns `names`; numbers unless they are `as_text`."""
        import polars as pl

        place = {name: position for position, name in enumerate(self.names)}
        positions = [place[name] for name in names]
        as_numbers = (n for n in names if self.kinds[n] == "number" and n not in as_text)
        parser = _Parser(self, positions, [place[name] for name in as_numbers])
        chosen = [pl.col(f"c{place[name]}").alias(name) for name in names]
        row = 0
        for block in self.row_blocks():
            frame = parser.parse(block, row)
            row += frame.height
            if self.dialect.quote is not None and self.dialect.quote.encode() in block:
                self.shifted = self.shifted or frame.height != block.count(b"\n")
            yield frame.select(chosen)

    def row_blocks(self) -> Iterator[bytes]:
        """Blocks of whole rows, without the header and comments."""
        to_skip = self.dialect.n_skipped
        for block in _whole_rows(self.text, self.dialect.quote):
            rest = block
            if to_skip:
                lines = block.split(b"\n", to_skip)
                to_skip -= len(lines) - 1
                rest = lines[-1]
            if rest:
                yield _single_blanks(rest) if self.dialect.separator == " " else rest

    def _find_kinds(self) -> dict[str, ColumnKind]:
        rows = self.dialect.rows[:_SAMPLED_ROWS]
        kinds: dict[str, ColumnKind] = {}
        unknown = []
        for position, name in enumerate(self.names):
            entries = [row[position] for row in rows if position < len(row)]
            kind = column_kind(entries, self.dialect.decimal_comma)
            kinds[name] = kind or "text"
            if kind is None:
                unknown.append(name)
        if unknown and self.text.n_lines > len(self.dialect.rows):
            self._look_further(unknown, kinds)
        for name in unknown:
            if kinds[name] == "text":
                kinds[name] = "number"
        return kinds

    def _look_further(self, unknown: list[str], kinds: dict[str, ColumnKind]) -> None:
        """Find the kind of columns without values in the first rows from later rows."""
        self.kinds = kinds
        waiting = list(unknown)
        for frame in self.blocks(unknown, unknown):
            for name in list(waiting):
                present = frame[name].drop_nulls().head(_SAMPLED_ROWS).to_list()
                kind = column_kind(present, self.dialect.decimal_comma)
                if kind is not None:
                    kinds[name] = kind
                    waiting.remove(name)
                    unknown.remove(name)
            if not waiting:
                break


def _single_blanks(block: bytes) -> bytes:
    """One blank between entries, none at the ends of a line."""
    return re.sub(rb"(?m)^ | $", b"", re.sub(rb"[ \t]+", b" ", block.replace(b"\r", b"")))


def _names(path: Path, dialect: Dialect, width: int) -> list[str]:
    if dialect.names is None:
        return [f"column {position}" for position in range(1, width + 1)]
    given = list(dialect.names)
    if len(given) == width - 1:
        # R leaves out the name of the column of row names; others end each row with a separator.
        at_end = all(row[-1] == "" for row in dialect.rows)
        given = [*given, ""] if at_end else ["", *given]
    if len(given) != width and dialect.rows:
        raise DataError(
            f"{path}: the header has {len(given)} names, but most rows have {width} entries.",
            "Give every column a name, and quote names that contain a separator.",
        )
    return given


class _Parser:
    """Typed frames from blocks of bytes; slower ways are used only if the fast one fails."""

    def __init__(self, rows: DelimitedRows, positions: Sequence[int], numbers: Collection[int]):
        import polars as pl

        self.rows = rows
        self.positions = positions
        self.numbers = [f"c{position}" for position in sorted(numbers)]
        names = [f"c{position}" for position in range(len(rows.names))]
        self.schema = {**dict.fromkeys(names, pl.String), **dict.fromkeys(self.numbers, pl.Float64)}
        self.ways = [self._plain, self._with_missing, self._by_hand]
        self.options: dict[str, Any] = {
            "has_header": False,
            "separator": rows.dialect.separator,
            "quote_char": rows.dialect.quote,
        }

    def parse(self, block: bytes, row: int) -> Any:
        """One block; `row` is the number of its first row."""
        if self.rows.dialect.decimal_comma and self.numbers:
            _check_decimals(self.rows, block, row, self.numbers)
        # polars fills rows that are too short, and passes by longer ones if columns are chosen.
        last = f"c{len(self.schema) - 1}"
        frame = self._try(block, row)
        if frame is None or last not in frame.columns or frame[last].null_count():
            kept = self._without_empty_lines(block)
            _check_widths(self.rows, kept, row)
            if frame is None or len(kept) < len(block):
                frame = self._try_again(kept, row)
        return frame

    def _try(self, block: bytes, row: int) -> Any:
        import polars as pl

        try:
            return self.ways[0](block, row)
        except pl.exceptions.PolarsError:
            return None

    def _try_again(self, block: bytes, row: int) -> Any:
        import polars as pl

        while True:
            try:
                return self.ways[0](block, row)
            except pl.exceptions.PolarsError as error:
                if len(self.ways) == 1:
                    reason = str(error).splitlines()[0]
                    raise DataError(
                        f"{self.rows.path}: not valid {self.rows.path.suffix} text near "
                        f"{self.rows.place(row)} ({reason}).",
                        "Check the quotes and separators there.",
                    ) from error
                # The next blocks are likely to need the slower way, too.
                self.ways.pop(0)

    def _without_empty_lines(self, block: bytes) -> bytes:
        """Empty lines are not rows, except in a table of one column, where values are missing."""
        if len(self.schema) == 1:
            return block
        kept, n_empty = re.subn(rb"(?m)^[ \t\r]*\n", b"", block)
        self.rows.shifted = self.rows.shifted or n_empty > 0
        return kept

    def _plain(self, block: bytes, row: int) -> Any:
        return self._read(block, self.schema)

    def _with_missing(self, block: bytes, row: int) -> Any:
        return self._read(block, self.schema, null_values=list(MISSING))

    def _by_hand(self, block: bytes, row: int) -> Any:
        """Parse stripped text; an entry that is not a number is an error that names it."""
        import polars as pl

        texts = self._read(block, dict.fromkeys(self.schema, pl.String))
        chosen = [name for name in self.numbers if name in texts.columns]
        entries = pl.col(chosen).str.strip_chars()
        if self.rows.dialect.decimal_comma:
            entries = entries.str.replace_all(",", ".", literal=True)
        typed = texts.with_columns(entries.cast(pl.Float64, strict=False)) if chosen else texts
        for name in chosen:
            left = texts[name].filter(typed[name].is_null() & texts[name].is_not_null())
            left = left.str.strip_chars()
            wrong = left.filter(~left.is_in(["", *MISSING]))
            if len(wrong):
                self._refuse(name, texts[name], wrong[0], len(wrong), row)
        return typed

    def _read(self, block: bytes, schema: dict[str, Any], **options: Any) -> Any:
        import polars as pl

        everything = len(self.positions) == len(schema)
        return pl.read_csv(
            block,
            schema=schema,
            columns=None if everything else sorted(self.positions),
            decimal_comma=self.rows.dialect.decimal_comma and self.rows.dialect.separator != ",",
            **self.options,
            **options,
        )

    def _refuse(self, name: str, column: Any, entry: str, count: int, row: int) -> None:
        where = (column.str.strip_chars() == entry).arg_max() or 0
        title = self.rows.names[int(name[1:])]
        hint = ""
        if re.fullmatch(r"[-+]?\d{1,3}([., ']\d{3})+([.,]\d+)?", entry):
            hint = "Thousands separators are not supported: remove them. "
        raise DataError(
            f"{self.rows.path}: column {shown(title)} holds numbers, but "
            f"{self.rows.place(row + where)} has {shown(entry)} "
            f"({counted(count, 'such entry', 'such entries')} nearby).",
            Message(hint, correct_or_drop(title)),
        )


# --- whole rows, and the lines of errors ---------------------------------------------------------


def _whole_rows(text: TextFile, quote: str | None) -> Iterator[bytes]:
    """Blocks of a file that end outside of quotes."""
    if quote is None:
        yield from text.blocks()
        return
    mark = quote.encode()
    rest, done = b"", 0
    for raw in text.blocks():
        block = rest + raw if rest else raw
        cut = _last_row_end(block, mark) if mark in block else len(block)
        rest = block[cut:]
        if cut:
            yield block[:cut]
            done += cut
        elif len(block) > _LONGEST_ENTRY:
            break
    if rest:
        line = _line_at(text, done + max(rest.find(mark), 0))
        raise DataError(
            f"{text.path}: a quote ({quote}) opened near line {line:,} is never closed.",
            "Close or remove it, or double it if it is part of the text.",
        )


def _line_at(text: TextFile, position: int) -> int:
    """The line of a byte of the decoded text."""
    line = 1
    for block in text.blocks():
        line += block.count(b"\n", 0, min(position, len(block)))
        position -= len(block)
        if position <= 0:
            break
    return line


def _last_row_end(block: bytes, mark: bytes) -> int:
    """One past the last newline that has an even number of quotes before it."""
    end = len(block)
    while end > 0:
        cut = block.rfind(b"\n", 0, end) + 1
        if cut == 0 or block.count(mark, 0, cut) % 2 == 0:
            return cut
        # Before the last quote the number is even again.
        end = block.rfind(mark, 0, cut)
    return 0


def _check_widths(rows: DelimitedRows, block: bytes, row: int) -> None:
    """Refuse a block in which a row has too few or too many entries."""
    if len(rows.names) == 1:
        return
    quote, separator = rows.dialect.quote, rows.dialect.separator.encode()
    bare = block
    if quote is not None and quote.encode() in block:
        mark = re.escape(quote.encode())
        bare = re.sub(mark + b"[^" + mark + b"]*" + mark, b"", block)
    n_lines = bare.count(b"\n")
    expected = len(rows.names) - 1
    if bare.count(separator) == n_lines * expected and _all_equal(bare, separator, expected):
        return
    for offset, line in enumerate(bare.split(b"\n")[:n_lines]):
        if line.count(separator) != expected:
            found = counted(line.count(separator) + 1, "entry", "entries")
            raise DataError(
                f"{rows.path}: {rows.place(row + offset)} has {found}, but the table has "
                f"{len(rows.names)} columns separated by {_separator_name(rows)}.",
                "Add or remove entries there, and quote text that contains a separator.",
            )


def _all_equal(bare: bytes, separator: bytes, expected: int) -> bool:
    return all(line.count(separator) == expected for line in bare.split(b"\n")[:-1])


def _check_decimals(rows: DelimitedRows, block: bytes, row: int, numbers: Collection[str]) -> None:
    """In a file with decimal commas, refuse a decimal point in a column of numbers."""
    if b"." not in block:
        return
    points = re.finditer(rb"(?<![\w.,])[-+]?\d+\.\d+(?![\w.,])", block)
    for found in islice(points, _POINTS_LOOKED_AT):
        start = block.rfind(b"\n", 0, found.start()) + 1
        end = block.find(b"\n", found.start())
        line = block[start : end if end >= 0 else None].decode("utf-8", errors="replace")
        entries = split_rows([line], rows.dialect.separator, rows.dialect.quote)
        value = found.group().decode()
        at = [c for c, e in enumerate(entries[0] if entries else ()) if e == value]
        for position in at:
            if f"c{position}" in numbers:
                raise DataError(
                    f"{rows.path}: {rows.place(row + block.count(bytes([10]), 0, start))} writes "
                    f"{shown(value)} with a point, but other numbers of the file have a decimal "
                    "comma.",
                    "Use one of the two throughout, and remove thousands separators.",
                )


def _separator_name(rows: DelimitedRows) -> str:
    names = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "blanks"}
    return names[rows.dialect.separator]
