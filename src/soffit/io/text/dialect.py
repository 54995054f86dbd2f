"""The dialect of a text file: separator, quotes, decimal comma, header and column types."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Literal

# In order of preference among equals. A blank stands for any run of blanks.
_SEPARATORS = "\t;,| "
_SAMPLE_LINES = 1000
# Fewer lines are enough for wide tables.
_SAMPLE_ENTRIES = 50_000
# Enough to detect the header and the separator.
_HEADER_LINES = 100
# Entries that mean "no value", besides the empty one.
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "?", "-", ".")
_MISSING = frozenset(("", *MISSING))
TRUTH_VALUES = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?(inf|infinity)", re.IGNORECASE)
_DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+([eE][-+]?\d+)?")
_DECIMAL_POINT = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")
# Share of numbers in a numeric column; other entries of it are errors.
_MOSTLY = 0.8

ColumnKind = Literal["number", "boolean", "text", "date", "other"]
HeaderRule = Literal["auto", "edges", "never"]
# Names of the two ends of an edge; the first six pairs are unambiguous.
EDGE_ENDS = (
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("node1", "node2"),
    ("node_1", "node_2"),
    ("id1", "id2"),
    ("start", "end"),
    ("head", "tail"),
    ("u", "v"),
    ("i", "j"),
)


@dataclass(frozen=True)
class Dialect:
    """The conventions of one file.

    `names` are None if there is no header; `n_skipped` counts the lines before the first row.
    """

    separator: str
    quote: str | None
    decimal_comma: bool
    names: tuple[str, ...] | None
    n_skipped: int
    rows: tuple[tuple[str, ...], ...]

    @property
    def n_columns(self) -> int:
        """Entries of a row, by the most common count."""
        counts = Counter(len(row) for row in self.rows)
        if not counts:
            return len(self.names or ())
        return counts.most_common(1)[0][0]


def find_dialect(sample: bytes, header: HeaderRule = "auto") -> Dialect:
    """Detect the dialect from the first lines of a file."""
    # Not splitlines, which splits at more characters than line ends.
    lines = sample.decode("utf-8", errors="replace").replace("\r", "").split("\n")[:_SAMPLE_LINES]
    n_comments = _leading_comments(lines)
    lines = [line for line in lines[n_comments:] if line.strip()]
    quote = _find_quote(lines)
    separator = _find_separator(lines, quote)
    rows = split_rows(lines, separator, quote)
    n_blank = _blank_before(sample, n_comments)
    names = None
    if rows and _RULES[header](rows[:_HEADER_LINES]):
        names, rows = rows[0], rows[1:]
        if names and names[0].startswith("#"):
            names = (names[0].lstrip("# "), *names[1:])
    decimal_comma = _has_decimal_comma(rows)
    skipped = n_comments + n_blank + (names is not None)
    return Dialect(separator, quote, decimal_comma, names, skipped, tuple(rows))


def column_kind(entries: Sequence[str], decimal_comma: bool) -> ColumnKind | None:
    """The kind of a column's entries; None if all are missing."""
    present = [entry for entry in (entry.strip() for entry in entries) if entry not in _MISSING]
    if not present:
        return None
    n_numbers = sum(is_number(entry, decimal_comma) for entry in present)
    if n_numbers == len(present) or (n_numbers >= 5 and n_numbers >= _MOSTLY * len(present)):
        return "number"
    return "boolean" if all(entry.lower() in TRUTH_VALUES for entry in present) else "text"


def is_number(entry: str, decimal_comma: bool) -> bool:
    """Whether an entry reads as one number."""
    text = entry.replace(",", ".") if decimal_comma else entry
    return _NUMBER.fullmatch(text.strip()) is not None


def is_missing(entry: str) -> bool:
    """Whether an entry stands for no value."""
    return entry.strip() in _MISSING


def split_rows(lines: Sequence[str], separator: str, quote: str | None) -> list[tuple[str, ...]]:
    """Entries of each line, without the blanks around them."""
    if separator == " ":
        lines = [" ".join(line.split()) for line in lines]
    reader = csv.reader(
        lines,
        delimiter=separator,
        quotechar=quote,
        quoting=csv.QUOTE_NONE if quote is None else csv.QUOTE_MINIMAL,
        skipinitialspace=True,
    )
    try:
        return [tuple(entry.strip() for entry in row) for row in reader if row]
    except csv.Error:
        # A field beyond the size that Python's reader accepts: split without quotes.
        return [tuple(entry.strip() for entry in line.split(separator)) for line in lines]


def _leading_comments(lines: Sequence[str]) -> int:
    """Lines at the top that start with # or %, unless the last of them is a header."""
    count = 0
    while count < len(lines) and lines[count].lstrip().startswith(("#", "%")):
        count += 1
    if count == 0 or count == len(lines) or lines[0].startswith("%"):
        return count
    last, first_row = lines[count - 1], lines[count]
    for separator in "\t;,|":
        if separator in first_row and last.count(separator) == first_row.count(separator):
            return count - 1
    return count


def _blank_before(sample: bytes, n_comments: int) -> int:
    """Empty lines between the comments and the first line with content."""
    count = 0
    for line in sample.split(b"\n")[n_comments:]:
        if line.strip():
            break
        count += 1
    return count


def _find_quote(lines: Sequence[str]) -> str | None:
    text = "\n".join(lines)
    # A quote counts where an entry begins with it; in 5" pipe it is an inch.
    if '"' not in text or re.search(r'(^|[\t;,| ])"', text, re.MULTILINE):
        single = re.search(r"(^|[\t;,|])'[^'\n]*'([\t;,|]|$)", text, re.MULTILINE)
        return "'" if single and '"' not in text else '"'
    return None


def _find_separator(lines: Sequence[str], quote: str | None) -> str:
    """The separator that cuts most lines alike, and leaves most entries as numbers."""
    best, best_score = ",", (-1.0, -1.0)
    for separator in _SEPARATORS:
        rows = split_rows(lines[:_HEADER_LINES], separator, quote)
        width, n_alike = Counter(len(row) for row in rows).most_common(1)[0] if rows else (1, 0)
        if width < 2:
            continue
        alike = n_alike / len(rows)
        entries = _some_entries(rows)
        n_clean = sum(
            is_number(entry, False) or is_number(entry, True) or is_missing(entry)
            for entry in entries
        )
        score = (float(alike > 0.9) + (alike if alike <= 0.9 else 0.0), n_clean / len(entries))
        if score > best_score:
            best, best_score = separator, score
    return best


def _has_decimal_comma(rows: Sequence[tuple[str, ...]]) -> bool:
    entries = _some_entries(rows)
    commas = any(_DECIMAL_COMMA.fullmatch(entry) for entry in entries)
    points = any(_DECIMAL_POINT.fullmatch(entry) for entry in entries)
    return commas and not points


def _some_entries(rows: Sequence[tuple[str, ...]]) -> list[str]:
    return list(islice(chain.from_iterable(rows), _SAMPLE_ENTRIES))


# --- header ---------------------------------------------------------------------------------------


def _is_header(rows: Sequence[tuple[str, ...]]) -> bool:
    """Whether the first row names the columns."""
    first, others = rows[0], rows[1:]
    if all(_is_value(entry) for entry in first):
        return _names_its_rows(first, others)
    if not others:
        return not any(_is_value(entry) for entry in first if entry)
    if len(others[0]) == len(first) + 1:
        # R leaves out the name of the column of row names.
        return True
    pairs = list(zip(first, zip(*others, strict=False), strict=False))
    above_numbers = [name for name, column in pairs if name and _mostly_numbers(column)]
    if above_numbers:
        n_words = sum(not _is_value(name) for name in above_numbers)
        return n_words > 0.5 * len(above_numbers) or _counts_up(above_numbers)
    # All text: a header's words do not come up again below it.
    named = [name for name in first if name]
    return len(set(named)) == len(named) and not any(name in column for name, column in pairs)


def _names_its_rows(first: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> bool:
    """An empty corner, and the same names across and down: a matrix whose names are numbers."""
    down = [row[0] for row in others]
    across = list(first[1:])
    return first[0] == "" and bool(down) and down == across[: len(down)]


def _counts_up(names: Sequence[str]) -> bool:
    """Years and the like: three or more whole numbers, each one more than the last."""
    if len(names) < 3 or not all(name.isdecimal() for name in names):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(names)}
    return steps == {1}


def _is_edge_header(rows: Sequence[tuple[str, ...]]) -> bool:
    """Names of nodes look like a header; only known words, or text above weights, are one."""
    first = [entry.lower().lstrip("# ") for entry in rows[0]]
    if tuple(first[:2]) in EDGE_ENDS or tuple(first[1::-1]) in EDGE_ENDS:
        # Nodes may be called u and v too: then a weight stands beside them.
        return len(first[0]) > 1 or len(first) == 2 or not _is_value(first[2])
    weights = [row[2] for row in rows[1:] if len(row) > 2]
    return len(first) > 2 and not _is_value(first[2]) and _mostly_numbers(weights)


def _is_value(entry: str) -> bool:
    return is_missing(entry) or is_number(entry, False) or is_number(entry, True)


def _mostly_numbers(entries: Sequence[str]) -> bool:
    present = [entry for entry in entries if not is_missing(entry)]
    numbers = sum(is_number(entry, False) or is_number(entry, True) for entry in present)
    return bool(present) and numbers >= _MOSTLY * len(present)


_RULES = {"auto": _is_header, "edges": _is_edge_header, "never": lambda rows: False}
