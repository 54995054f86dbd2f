"""Text files of any encoding as blocks of whole lines in UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from soffit._wording import Message, Parameter
from soffit.io.data_error import DataError

_BLOCK_BYTES = 2**23
# Bytes of the sample from which separators and types are detected; more if lines are long.
_SAMPLE_BYTES = 2**18
_SAMPLE_LINES = 20
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
        while head.count(b"\n") < _SAMPLE_LINES and len(head) < _LARGEST_SAMPLE:
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
