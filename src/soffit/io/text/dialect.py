"""The dialect of a text file: separator, quotes and header."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from typing import Literal

from soffit.io.text.numbers import Conventions, is_number, is_quantity, same_unit

# In order of preference among equals. A blank stands for any run of blanks.
_SEPARATORS = "\t;,| "
_SAMPLE_LINES = 1000
# Fewer lines are enough for wide tables.
_SAMPLE_ENTRIES = 50_000
# Enough to detect the header and the separator.
_HEADER_LINES = 100
# Share of numbers below a name that make it one of a numeric column.
_MOSTLY = 0.8
# Of a file with one column, whose entries may contain any other separator.
NO_SEPARATOR = "\x1f"

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

    `names` are None if there is no header. `n_skipped` counts the lines before the first row,
    `n_before` those before the header. `doubtful` tells that the file may also have one column.
    """

    separator: str
    quote: str | None
    names: tuple[str, ...] | None
    n_skipped: int
    rows: tuple[tuple[str, ...], ...]
    n_before: int = 0
    doubtful: bool = False

    @property
    def n_columns(self) -> int:
        """Entries of a row, by the most common count."""
        counts = Counter(len(row) for row in self.rows)
        if not counts:
            return len(self.names or ())
        return counts.most_common(1)[0][0]


@dataclass(frozen=True)
class DialectHints:
    """What is known about a file besides its content."""

    separator: str | None = None
    tabs_first: bool = False
    skip_rows: int = 0
    conventions: Conventions = field(default_factory=Conventions)


def find_dialect(
    sample: bytes, header: HeaderRule = "auto", hints: DialectHints | None = None
) -> Dialect:
    """Detect the dialect from the first lines of a file."""
    hints = hints or DialectHints()
    # Not splitlines, which splits at more characters than line ends.
    lines = sample.decode("utf-8", errors="replace").replace("\r", "").split("\n")
    lines = lines[hints.skip_rows : hints.skip_rows + _SAMPLE_LINES]
    n_comments = _leading_comments(lines)
    n_blank = _blank_before(lines[n_comments:])
    lines = [line for line in lines[n_comments:] if line.strip()]
    quote = _find_quote(lines)
    separator, doubtful = hints.separator, False
    if separator is None:
        whole = _whole_lines(lines)
        doubtful = whole is None and hints.conventions.decimal is None
        one_column = bool(whole) or (whole is None and not doubtful)
        separator = NO_SEPARATOR if one_column else _find_separator(lines, quote, hints.tabs_first)
    rows = split_rows(lines, separator, quote)
    names = None
    if rows and _RULES[header](rows[:_HEADER_LINES]):
        names, rows = rows[0], rows[1:]
        if names and names[0].startswith("#"):
            names = (names[0].lstrip("# "), *names[1:])
    before = hints.skip_rows + n_comments + n_blank
    skipped = before + (names is not None)
    return Dialect(separator, quote, names, skipped, tuple(rows), before, doubtful)


def _whole_lines(lines: Sequence[str]) -> bool | None:
    """Whether each line below a name is one number, such as 0,5 or 98.3 kg.

    None if the lines could also be the row names of R and one column.
    """
    name, numbers = lines[:1], [line.strip() for line in lines[1:_HEADER_LINES]]
    if not name or len(name[0].split()) != 1 or re.search(r"[;,|]", name[0]):
        return False
    if is_number(name[0].strip()) or not all(is_quantity(line) for line in numbers):
        return False
    parts = [re.split(r"[,\s]", line, maxsplit=1) for line in numbers]
    if not numbers or max(map(len, parts)) < 2:
        return False
    return None if counts_rows([part[0] for part in parts]) else True


def counts_rows(entries: Sequence[str]) -> bool:
    """Whether the entries are 1, 2, 3 and so on, the row names that R makes up."""
    return list(entries) == [str(number) for number in range(1, len(entries) + 1)]


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


def _blank_before(lines: Sequence[str]) -> int:
    """Empty lines before the first line with content."""
    return next((count for count, line in enumerate(lines) if line.strip()), 0)


def _find_quote(lines: Sequence[str]) -> str | None:
    text = "\n".join(lines)
    # A quote counts where an entry begins with it; in 5" pipe it is an inch.
    if '"' not in text or re.search(r'(^|[\t;,| ])"', text, re.MULTILINE):
        single = re.search(r"(^|[\t;,|])'[^'\n]*'([\t;,|]|$)", text, re.MULTILINE)
        return "'" if single and '"' not in text else '"'
    return None


def _find_separator(lines: Sequence[str], quote: str | None, tabs_first: bool) -> str:
    """The separator that cuts lines and header alike, and leaves most entries as numbers."""
    first = lines[:_HEADER_LINES]
    if tabs_first and any("\t" in line for line in first):
        return "\t"
    best, best_score = ",", (-1.0, -1.0, -1.0)
    tabs = {line.count("\t") for line in first}
    # Blanks are part of the entries if tabs cut all lines alike.
    candidates = _SEPARATORS if len(tabs) != 1 or tabs == {0} else _SEPARATORS.rstrip(" ")
    for separator in candidates:
        rows = split_rows(first, separator, quote)
        width, n_alike = Counter(len(row) for row in rows).most_common(1)[0] if rows else (1, 0)
        if width < 2:
            continue
        alike = n_alike / len(rows)
        entries = _some_entries(rows)
        n_clean = sum(not entry or is_quantity(entry) for entry in entries)
        score = (
            float(alike > 0.9) + (alike if alike <= 0.9 else 0.0),
            float(len(rows[0]) == width),
            n_clean / len(entries),
        )
        if score > best_score:
            best, best_score = separator, score
    return best


def _some_entries(rows: Sequence[tuple[str, ...]]) -> list[str]:
    return list(islice(chain.from_iterable(rows), _SAMPLE_ENTRIES))


# --- header ---------------------------------------------------------------------------------------


def is_header(rows: Sequence[tuple[str, ...]]) -> bool:
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
    above_numbers = [(n, column) for n, column in pairs if n and _mostly_numbers(column)]
    if above_numbers:
        n_words = sum(not (_is_value(n) or same_unit(n, column)) for n, column in above_numbers)
        names = [name for name, _ in above_numbers]
        return n_words > 0.5 * len(names) or _counts_up(names)
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
    return _NOTHING.is_missing(entry) or is_number(entry)


def _mostly_numbers(entries: Sequence[str]) -> bool:
    present = [entry for entry in entries if not _NOTHING.is_missing(entry)]
    return bool(present) and sum(map(is_quantity, present)) >= _MOSTLY * len(present)


_NOTHING = Conventions()
_RULES = {"auto": is_header, "edges": _is_edge_header, "never": lambda rows: False}
