"""Delimited text (CSV, TSV and the like) as typed blocks of rows, parsed by polars."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soffit._wording import Message, Parameter, count_of
from soffit.io.data_error import DataError, check_bytes, shown
from soffit.io.file_options import FileOptions
from soffit.io.tables.tabular import unique_names
from soffit.io.text.dialect import (
    NO_SEPARATOR,
    Dialect,
    DialectHints,
    HeaderRule,
    TextFile,
    counts_rows,
    find_dialect,
    is_header,
)
from soffit.io.text.number_columns import (
    NumberColumns,
    not_a_number,
    parse_numbers,
    without_markers,
)
from soffit.io.text.numbers import MISSING, ColumnKind, Notation, is_number

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
_SEPARATOR_NAMES = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "blanks"}


@dataclass
class DelimitedRows:
    """A text file with one row per line; see `Rows`."""

    path: Path
    text: TextFile
    dialect: Dialect
    options: FileOptions
    names: Sequence[str]
    n_rows: int
    has_header: bool
    notes: list[str] = field(default_factory=list)
    single: bool = False
    found: NumberColumns = field(default_factory=lambda: NumberColumns({}))
    # Set while reading: an empty line or a line break in quotes shifts rows against lines.
    shifted: bool = False

    @classmethod
    def open(
        cls, path: Path, header: HeaderRule = "auto", options: FileOptions | None = None
    ) -> DelimitedRows:
        """Detect the dialect of the file and the kinds of its columns."""
        options = options or FileOptions()
        text = TextFile.open(path, options.encoding)
        hints = DialectHints(
            options.sep,
            {".tsv", ".tab"} & {ending.lower() for ending in path.suffixes[-2:]} != set(),
            options.skip_rows,
            options.conventions,
        )
        dialect = find_dialect(text.first_lines, header, hints)
        _check_dialect(path, dialect, options)
        width = dialect.n_columns
        if width > _MOST_COLUMNS:
            raise DataError(f"{path}: the first lines have {width:,} entries.", _TRANSPOSE)
        if width > _MANY_COLUMNS:
            needed = _BYTES_PER_COLUMN * width
            check_bytes(path, needed, f"a table of {width:,} columns", _TRANSPOSE)
        given, said = _names(path, dialect, width)
        names, notes = unique_names(given)
        notes = [*said, *notes]
        if dialect.names is None:
            notes.append("The file has no header; its columns are named 'column 1' and so on.")
        rows = cls(
            path,
            text,
            dialect,
            options,
            names,
            max(text.n_lines - dialect.n_skipped, 0),
            dialect.names is not None,
            notes,
        )
        rows.found = rows._find_numbers()
        notes += rows.found.notes
        return rows

    @property
    def kinds(self) -> Mapping[str, ColumnKind]:
        """What each column holds."""
        return self.found.kinds

    @property
    def problems(self) -> Mapping[str, DataError]:
        """Columns that look like numbers but cannot be read."""
        return self.found.problems

    def place(self, row: int) -> str:
        """A line of the file, or a row if lines and rows differ."""
        return f"row {row + 1:,}" if self.shifted else f"line {row + self.dialect.n_skipped + 1:,}"

    def blocks(self, names: Sequence[str], as_text: Collection[str]) -> Iterator[Any]:
        """Polars frames with the columns `names`; numbers unless they are `as_text`."""
        place = {name: position for position, name in enumerate(self.names)}
        numbers = [n for n in names if n not in as_text and self.kinds[n] == "number"]
        for name in numbers:
            if name in self.problems:
                raise self.problems[name]
        notations = {f"c{place[name]}": self.found.notations[name] for name in numbers}
        parser = _Parser(self, [place[name] for name in names], notations)
        parser.missing = tuple(self.options.na or ())
        yield from self._parsed_blocks(parser, names)

    def raw_blocks(self) -> Iterator[Any]:
        """Polars frames with all columns as text."""
        parser = _Parser(self, range(len(self.names)), {})
        yield from self._parsed_blocks(parser, self.names)

    def _parsed_blocks(self, parser: _Parser, names: Sequence[str]) -> Iterator[Any]:
        import polars as pl

        place = {name: position for position, name in enumerate(self.names)}
        chosen = [pl.col(f"c{place[name]}").alias(name) for name in names]
        row = 0
        for block in self.row_blocks():
            frame = parser.parse(block, row)
            row += frame.height
            if self.dialect.quote is not None and self.dialect.quote.encode() in block:
                self.shifted = self.shifted or frame.height != block.count(b"\n")
            yield frame.select(chosen)

    def as_numbers(self, name: str, texts: Any) -> Any:
        """The numbers of a column that was read as text."""
        return self.parsed(name, texts, self.found.notations[name], 0)

    def parsed(self, name: str, texts: Any, notation: Notation, row: int) -> Any:
        """Numbers of consecutive entries of a column; `row` is the first of them."""
        missing = tuple(self.options.na or ())
        values, wrong, count = parse_numbers(texts, notation, missing)
        if wrong is not None:
            entry = str(texts[wrong]).strip()
            place = self.place(row + wrong)
            raise not_a_number(self.path, name, entry, place=place, count=count, notation=notation)
        return values

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

    def _find_numbers(self) -> NumberColumns:
        """The kinds of the columns, from the first rows that have a value."""
        rows = self.dialect.rows[:_SAMPLED_ROWS]
        entries = {
            name: [row[position] for row in rows if position < len(row)]
            for position, name in enumerate(self.names)
        }
        conventions = self.options.conventions
        unknown = [
            name
            for name, found in entries.items()
            if all(conventions.is_missing(entry) for entry in found)
        ]
        if unknown and self.text.n_lines > len(self.dialect.rows):
            entries |= self._look_further(unknown)
        separator = None if len(self.names) == 1 else self.dialect.separator
        if self.dialect.separator == NO_SEPARATOR:
            separator = NO_SEPARATOR
        return NumberColumns.find(self.path, entries, conventions, separator)

    def _look_further(self, unknown: Sequence[str]) -> dict[str, list[str]]:
        """Entries of columns without values in the first rows, from later rows."""
        import polars as pl

        found: dict[str, list[str]] = {name: [] for name in unknown}
        waiting = list(unknown)
        for frame in self.blocks(unknown, unknown):
            for name in list(waiting):
                texts = frame[name].str.strip_chars()
                missing = texts.is_in(["", *MISSING, *(self.options.na or ())])
                present = texts.filter(~missing.fill_null(True)).head(_SAMPLED_ROWS)
                found[name] = present.cast(pl.String).to_list()
                if found[name]:
                    waiting.remove(name)
            if not waiting:
                break
        return found


def _single_blanks(block: bytes) -> bytes:
    """One blank between entries, none at the ends of a line."""
    return re.sub(rb"(?m)^ | $", b"", re.sub(rb"[ \t]+", b" ", block.replace(b"\r", b"")))


# --- header ---------------------------------------------------------------------------------------


def _check_dialect(path: Path, dialect: Dialect, options: FileOptions) -> None:
    if not dialect.rows:
        raise DataError(f"{path}: it has a header but no rows.", "Add one row per object.")
    if dialect.doubtful:
        example = dialect.rows[0]
        raise DataError(
            f"{path}: below one name, its lines such as {shown(' '.join(example))} may hold one "
            "number or a row name and a number.",
            Message(
                *("Pass ", Parameter("decimal", ","), " for one number with a decimal comma, or "),
                *(Parameter("sep", dialect.separator), " for two entries."),
            ),
        )
    names, given = dialect.names, options.sep
    widest = max(map(len, dialect.rows), default=0)
    if given is not None and widest == 1 and (names is None or len(names) == 1):
        others = [sign for sign in _SEPARATOR_NAMES if sign in (names or ("",))[0]]
        if others:
            raise DataError(
                Message(f"{path}: nothing is separated by ", Parameter("sep", given), "."),
                Message("Try ", Parameter("sep", others[0]), "."),
            )


def _names(path: Path, dialect: Dialect, width: int) -> tuple[list[str], list[str]]:
    """One name per column, and notes on those that the header lacks."""
    if dialect.names is None:
        return [f"column {position}" for position in range(1, width + 1)], []
    given = list(dialect.names)
    if len(given) == width:
        return given, []
    first = [row[0] for row in dialect.rows]
    if len(given) == width - 1 and all(row[-1] == "" for row in dialect.rows):
        # Others end each row with a separator, but not the header.
        return [*given, ""], []
    if len(given) == width - 1 and not is_header(dialect.rows) and _are_row_names(first, dialect):
        note = (
            "The header has one name fewer than the rows have entries: the first column holds row "
            "names, as R writes them."
        )
        return ["", *given], [note]
    remedy: tuple[str | Parameter, ...] = (
        "Give every column a name, quote entries that contain a separator, or pass ",
        *(Parameter("sep"), "."),
    )
    if dialect.separator == " " and len(given) == 1:
        remedy = (
            "If each line is one entry, such as a document, pass ",
            Parameter("sep", ","),
            ".",
        )
    elif len(dialect.rows) > 1 and len(dialect.rows[0]) == width and is_header(dialect.rows):
        lines = dialect.n_skipped
        remedy = ("If the table starts later, pass ", Parameter("skip_rows", lines), ".")
    raise DataError(
        f"{path}: the header has {count_of(len(given), 'name')}, but most rows have {width} "
        "entries.",
        Message(*remedy),
    )


def _are_row_names(first: Sequence[str], dialect: Dialect) -> bool:
    """Unique; numbers between commas may as well be the first half of a decimal number."""
    if len(set(first)) < len(first):
        return False
    numbers = dialect.separator == "," and all(map(is_number, first))
    return not numbers or counts_rows(first)


# --- parsing --------------------------------------------------------------------------------------


class _Parser:
    """Typed frames from blocks of bytes; slower ways are used only if the fast one fails."""

    def __init__(
        self, rows: DelimitedRows, positions: Sequence[int], notations: Mapping[str, Notation]
    ):
        self.rows = rows
        self.positions = positions
        self.notations = notations
        self.columns = [f"c{position}" for position in range(len(rows.names))]
        self.missing: tuple[str, ...] = ()
        self.ways = [self._plain, self._with_missing, self._as_text]
        self.options: dict[str, Any] = {
            "has_header": False,
            "separator": rows.dialect.separator,
            "quote_char": rows.dialect.quote,
        }

    def parse(self, block: bytes, row: int) -> Any:
        """One block; `row` is the number of its first row."""
        # polars fills rows that are too short, and passes by longer ones if columns are chosen.
        last = self.columns[-1]
        frame = self._try(block)
        if frame is None or last not in frame.columns or frame[last].null_count():
            kept = self._without_empty_lines(block)
            _check_widths(self.rows, kept, row)
            if frame is None or len(kept) < len(block):
                frame = self._try_again(kept, row)
        return without_markers(self._with_numbers(frame, row), self.missing)

    def _try(self, block: bytes) -> Any:
        import polars as pl

        try:
            return self.ways[0](block)
        except pl.exceptions.PolarsError:
            return None

    def _try_again(self, block: bytes, row: int) -> Any:
        import polars as pl

        while True:
            try:
                return self.ways[0](block)
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
        if len(self.columns) == 1:
            return block
        # Between tabs there are values, if only missing ones.
        blanks = rb" \r" if self.rows.dialect.separator == "\t" else rb" \t\r"
        kept, n_empty = re.subn(rb"(?m)^[" + blanks + rb"]*\n", b"", block)
        self.rows.shifted = self.rows.shifted or n_empty > 0
        return kept

    def _plain(self, block: bytes) -> Any:
        return self._read(block, self._plain_columns(block))

    def _with_missing(self, block: bytes) -> Any:
        markers = [*MISSING, *self.missing]
        return self._read(block, self._plain_columns(block), null_values=markers)

    def _as_text(self, block: bytes) -> Any:
        return self._read(block, ())

    def _plain_columns(self, block: bytes) -> list[str]:
        has_points = b"." in block
        return [n for n, notation in self.notations.items() if notation.is_plain(has_points)]

    def _read(self, block: bytes, numbers: Collection[str], **options: Any) -> Any:
        import polars as pl

        schema = {
            **dict.fromkeys(self.columns, pl.String),
            **dict.fromkeys(numbers, pl.Float64),
        }
        everything = len(self.positions) == len(schema)
        return pl.read_csv(
            block,
            schema=schema,
            columns=None if everything else sorted(self.positions),
            **self.options,
            **options,
        )

    def _with_numbers(self, frame: Any, row: int) -> Any:
        """The same frame with the numbers that are still text."""
        import polars as pl

        columns = []
        types = dict(frame.schema)
        for name, notation in self.notations.items():
            if types.get(name) != pl.String:
                continue
            title = self.rows.names[int(name[1:])]
            columns.append(self.rows.parsed(title, frame[name], notation, row).alias(name))
        return frame.with_columns(columns) if columns else frame


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
    end, n_before = len(block), block.count(mark)
    while end > 0:
        cut = block.rfind(b"\n", 0, end) + 1
        n_before -= block.count(mark, cut, end)
        if cut == 0 or n_before % 2 == 0:
            return cut
        # Before the last quote the number is even again.
        end = block.rfind(mark, 0, cut)
        n_before -= 1
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
            found = count_of(line.count(separator) + 1, "entry")
            raise DataError(
                f"{rows.path}: {rows.place(row + offset)} has {found}, but the table has "
                f"{len(rows.names)} columns separated by {_separator_name(rows)}.",
                Message(
                    "Add or remove entries there, quote text that contains a separator, or pass ",
                    *(Parameter("sep"), " if entries are separated by something else."),
                ),
            )


def _all_equal(bare: bytes, separator: bytes, expected: int) -> bool:
    return all(line.count(separator) == expected for line in bare.split(b"\n")[:-1])


def _separator_name(rows: DelimitedRows) -> str:
    separator = rows.dialect.separator
    return _SEPARATOR_NAMES.get(separator, repr(separator))
