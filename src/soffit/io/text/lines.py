"""Whole rows of a text file, and the line where a row goes wrong."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from soffit.io.data_error import DataError, counted, shown
from soffit.io.text.dialect import split_rows
from soffit.io.text.encoding import TextFile

if TYPE_CHECKING:
    from soffit.io.text.delimited import DelimitedRows


# A quoted entry longer than this is a quote that was never closed.
_LONGEST_ENTRY = 2**26
# Text may be full of points; looking at all of them would take longer than reading the file.
_POINTS_LOOKED_AT = 1000


def whole_rows(text: TextFile, quote: str | None) -> Iterator[bytes]:
    """Blocks of a file, cut so that no quoted line break is torn apart."""
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
            f"{text.path}: a quote ({quote}) opened near line {line:,} is never closed. Close or "
            "remove it, or double it if it belongs to the text."
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


def check_widths(rows: DelimitedRows, block: bytes, row: int) -> None:
    """Refuse a block in which a row has too few or too many entries, and say which."""
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
                f"{len(rows.names)} columns separated by {_separator_name(rows)}. Add or remove "
                "entries there, and put text with a separator in it into quotes."
            )


def _all_equal(bare: bytes, separator: bytes, expected: int) -> bool:
    return all(line.count(separator) == expected for line in bare.split(b"\n")[:-1])


def check_decimals(rows: DelimitedRows, block: bytes, row: int, numbers: Collection[str]) -> None:
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
                    "comma. Use one of the two throughout; separators of thousands must go."
                )


def _separator_name(rows: DelimitedRows) -> str:
    names = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "blanks"}
    return names[rows.dialect.separator]
