"""How a text file is written: encoding, separator, quotes and header.

Files of any encoding are read as blocks of whole lines in UTF-8.
"""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Literal

from soffit._wording import Message, Parameter
from soffit.io.data_error import DataError
from soffit.io.text.numbers import Conventions, is_number, is_quantity, same_unit

_BLOCK_BYTES = 2**23
# Bytes of the sample from which separators and types are detected; more if lines are long.
_SAMPLE_BYTES = 2**18
_FIRST_LINES = 20
_LARGEST_SAMPLE = 2**25
# A longer line is not part of a table: stop before it fills the memory.
_LONGEST_LINE = 2**28
_MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}


@dataclass(frozen=True)
class TextFile:
    """A text file: its encoding, line ends and number of lines.

    `n_lines` also counts empty lines and line breaks in quotes: it is an upper bound.
    """

    path: Path
    encoding: str
    mark: bytes
    only_returns: bool
    n_lines: int
    first_lines: bytes

    @classmethod
    def open(cls, path: Path, given: str | None = None) -> TextFile:
        """Read the file once; one that is not text is refused.

        `given` is the encoding, if the user knows it.
        """
        head = _first_bytes(path)
        mark = next((known for known in _MARKS if head.startswith(known)), b"")
        if given is not None and not _fits(mark, given):
            mark = b""
        encoding = _MARKS[mark] if mark else given or _guess_encoding(head)
        if given is not None and not mark and encoding != "utf-8":
            n_lines = _n_lines(path, encoding)
        elif encoding == "utf-8":
            n_lines, sound = _survey_bytes(path)
            if not sound and given is not None:
                raise DataError(
                    f"{path}: parts of it are not valid UTF-8 text.",
                    Message("Pass another ", Parameter("encoding"), ", such as latin-1."),
                )
            if not sound:
                encoding = "cp1252"
        else:
            n_lines, _ = _survey_bytes(path, wide=encoding.startswith("utf-16"))
        start = _decoded(head[len(mark) :], encoding)
        _check_is_text(path, start)
        only_returns = b"\n" not in start and b"\r" in start
        if only_returns:
            start = start.replace(b"\r", b"\n")
            n_lines = path.stat().st_size
        if path.stat().st_size > len(head):
            # Whole lines only, unless the first one fills the sample.
            start = start[: start.rfind(b"\n") + 1] or start
        return cls(path, encoding, mark, only_returns, n_lines, start)

    def blocks(self, size: int = _BLOCK_BYTES) -> Iterator[bytes]:
        """Blocks of whole lines, in UTF-8, each ending in a newline."""
        try:
            yield from self._blocks(size)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.path}: parts of it are not valid {self.encoding.upper()} text "
                f"({error.reason}).",
                Message("Pass its ", Parameter("encoding"), ", or save it again as UTF-8."),
            ) from error

    def _blocks(self, size: int) -> Iterator[bytes]:
        decoder = codecs.getincrementaldecoder(self.encoding)(_on_error(self.encoding))
        rest = b""
        with self.path.open("rb") as file:
            file.seek(len(self.mark))
            while raw := file.read(size):
                if self.encoding != "utf-8":
                    raw = decoder.decode(raw).encode()
                if self.only_returns:
                    raw = raw.replace(b"\r", b"\n")
                cut = raw.rfind(b"\n") + 1
                if cut:
                    yield rest + raw[:cut]
                    rest = raw[cut:]
                else:
                    rest += raw
                    self._check_length(rest)
        decoder.decode(b"", final=True)
        if rest:
            yield rest + b"\n"

    def _check_length(self, line: bytes) -> None:
        if len(line) > _LONGEST_LINE:
            raise DataError(
                f"{self.path}: a line has more than {_LONGEST_LINE:,} bytes.",
                "Save the table with one line per object.",
            )


def _first_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(_SAMPLE_BYTES)
        while head.count(b"\n") < _FIRST_LINES and len(head) < _LARGEST_SAMPLE:
            more = file.read(len(head))
            if not more:
                break
            head += more
    return head


def _survey_bytes(path: Path, wide: bool = False) -> tuple[int, bool]:
    """The number of lines, and whether all bytes are UTF-8."""
    # In UTF-16 a newline's byte may be half of another character: the count is an upper bound.
    decoder = codecs.getincrementaldecoder("utf-8")()
    n_lines, sound, last = 0, True, b""
    with path.open("rb") as file:
        while block := file.read(2**20):
            if b"\0" in block and not wide:
                line = n_lines + block[: block.index(b"\0")].count(b"\n") + 1
                raise DataError(
                    f"{path}: line {line:,} has a NUL byte, so the content is binary or damaged.",
                    "Check that it is the right file, or export it again.",
                )
            sound = sound and _is_utf8(decoder, block)
            n_lines += block.count(b"\n")
            last = block
    return n_lines + (not last.rstrip(b"\0").endswith(b"\n")), sound


def _fits(mark: bytes, given: str) -> bool:
    """Whether the mark at the start of a file agrees with the encoding that the user names."""
    return bool(mark) and given.removesuffix("-sig") in (_MARKS[mark], _MARKS[mark][:6])


def _n_lines(path: Path, encoding: str) -> int:
    """The number of lines, or an upper bound if their ends are not single bytes."""
    if "\na".encode(encoding)[:1] != b"\n" or len("\n".encode(encoding)) > 1:
        return path.stat().st_size
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(2**20), b"")) + 1


def _is_utf8(decoder: codecs.IncrementalDecoder, block: bytes) -> bool:
    if block.isascii() and not decoder.getstate()[0]:
        return True
    try:
        decoder.decode(block)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(head: bytes, encoding: str) -> bytes:
    if encoding == "utf-8":
        return head
    decoder = codecs.getincrementaldecoder(encoding)(_on_error(encoding, "replace"))
    return decoder.decode(head).encode()


def _on_error(encoding: str, otherwise: str = "strict") -> str:
    """Windows-1252 leaves five bytes undefined, but files may contain them."""
    return "replace" if encoding == "cp1252" else otherwise


def _guess_encoding(head: bytes) -> str:
    # In UTF-16, every other byte of a Latin letter is zero, always on the same side.
    half = max(len(head) // 2, 1)
    zeros_first, zeros_second = head[0::2].count(0), head[1::2].count(0)
    if zeros_second > 0.7 * half and zeros_first < 0.05 * half:
        return "utf-16-le"
    if zeros_first > 0.7 * half and zeros_second < 0.05 * half:
        return "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _check_is_text(path: Path, start: bytes) -> None:
    if not start.strip():
        raise DataError(f"{path}: the file contains only blanks.")
    control = sum(start.count(byte) for byte in range(32) if byte not in b"\t\n\r\f\x0b\x1a")
    if b"\0" in start or control > 0.01 * len(start):
        raise DataError(
            f"{path}: it ends in {path.suffix} but its content is binary, not text.",
            "Check that it is the right file, or export it again.",
        )


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
