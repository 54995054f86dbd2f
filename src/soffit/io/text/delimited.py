"""CSV, TSV and their relatives: typed blocks of rows, parsed by polars."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soffit.io.data_error import DataError, counted, shown
from soffit.io.tabular import unique_names
from soffit.io.text.dialect import (
    MISSING,
    ColumnKind,
    Dialect,
    HeaderRule,
    column_kind,
    find_dialect,
)
from soffit.io.text.encoding import TextFile
from soffit.io.text.lines import check_decimals, check_widths, whole_rows

_MOST_COLUMNS = 200_000
_SAMPLED_ROWS = 1000


@dataclass
class DelimitedRows:
    """A text file with one row a line; see `Rows`."""

    path: Path
    text: TextFile
    dialect: Dialect
    names: Sequence[str]
    kinds: Mapping[str, ColumnKind]
    n_rows: int
    has_header: bool
    notes: list[str] = field(default_factory=list)
    single: bool = False
    # Set while reading: rows and lines no longer agree after an empty line or a break in quotes.
    shifted: bool = False

    @classmethod
    def open(cls, path: Path, header: HeaderRule = "auto") -> DelimitedRows:
        """Find the conventions of the file and the kinds of its columns."""
        text = TextFile.open(path)
        dialect = find_dialect(text.first_lines, header)
        width = dialect.n_columns
        if width > _MOST_COLUMNS:
            raise DataError(
                f"{path}: the first lines have {width:,} entries. One row must be one object and "
                "one column a feature: is the table lying on its side?"
            )
        given = _names(path, dialect, width)
        names, notes = unique_names(given)
        if dialect.names is None:
            notes.append("The file has no header; its columns are called 'column 1' and so on.")
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
            raise DataError(f"{path}: it has a header but no rows. Add one row for each object.")
        rows.kinds = rows._find_kinds()
        return rows

    def place(self, row: int) -> str:
        """A line of the file, or a row where lines and rows do not agree."""
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
        """Blocks of whole rows, without what stands before them."""
        to_skip = self.dialect.n_skipped
        for block in whole_rows(self.text, self.dialect.quote):
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
        """Columns without a value in the first rows get their kind from the first that has one."""
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
    """Blanks and tabs between entries as one blank, none around a line."""
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
            f"{path}: the header has {len(given)} names, but most rows have {width} entries. Give "
            "every column a name, or put names with a separator in them into quotes."
        )
    return given


class _Parser:
    """Typed frames from blocks of bytes; slower ways are tried only where the fast one fails."""

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
            check_decimals(self.rows, block, row, self.numbers)
        # polars fills rows that are too short, and passes by longer ones if columns are chosen.
        last = f"c{len(self.schema) - 1}"
        frame = self._try(block, row)
        if frame is None or last not in frame.columns or frame[last].null_count():
            kept = self._without_empty_lines(block)
            check_widths(self.rows, kept, row)
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
                        f"{self.rows.path}: near {self.rows.place(row)} the text does not follow "
                        f"the rules of {self.rows.path.suffix} files ({reason}). Check the quotes "
                        "and separators there."
                    ) from error
                # What one block needs, the next is likely to need too.
                self.ways.pop(0)

    def _without_empty_lines(self, block: bytes) -> bytes:
        """Empty lines are no rows, except in a table of one column, where they are gaps."""
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
        """All as text, blanks stripped; entries that are no numbers are named."""
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
            hint = " Separators of thousands are not guessed: remove them."
        raise DataError(
            f"{self.rows.path}: column {shown(title)} holds numbers, but "
            f"{self.rows.place(row + where)} has {shown(entry)} there "
            f"({counted(count, 'such entry', 'such entries')} nearby).{hint} Correct the entry, "
            f"leave it empty if the value is not known, or pass --drop {title!r}."
        )
