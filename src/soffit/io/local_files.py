"""Standard input and compressed files, copied to a temporary file that readers can open."""

from __future__ import annotations

import bz2
import functools
import gzip
import lzma
import shutil
import sys
import tempfile
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from soffit._memory import memory_budget, size_words
from soffit._wording import Message
from soffit.io.data_error import DataError
from soffit.io.formats import first_bytes

STANDARD_INPUT = "-"
_OPENERS: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}
_DAMAGE = (OSError, EOFError, zlib.error, lzma.LZMAError)
_BLOCK_BYTES = 2**20
# Endings by the first bytes, for data that come without a name.
_ENDINGS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"\x89HDF": ".h5ad",
    b"\x93NUMPY": ".npy",
    b"%%MatrixMarket": ".mtx",
    b"graph": ".gml",
    b"Creator": ".gml",
}


@dataclass(frozen=True, eq=False)
class LocalFile:
    """A file that can be opened by its path.

    `shown` is what the user calls it; `folder` holds a temporary copy, which is deleted with it.
    """

    path: Path
    shown: str
    folder: Any = None

    @classmethod
    def of(cls, path: Path) -> LocalFile:
        """The file itself, unless it is compressed or standard input."""
        if str(path) == STANDARD_INPUT:
            return _standard_input()
        opener = _OPENERS.get(path.suffix.lower())
        if opener is None:
            return cls(path, str(path))
        inner = Path(path.stem).suffix
        first_bytes(path)
        if not inner:
            raise DataError(
                f"{path}: its name does not tell what is compressed.",
                f"Name it by its content, such as {path.stem}.csv{path.suffix}.",
            )
        folder = _Folder()
        target = folder.path / path.stem
        _unpack(opener, path, target, str(path))
        return cls(target, str(path), folder)

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors name the file as the user does, not its copy."""
        try:
            yield
        except DataError as error:
            if self.folder is None:
                raise
            problem, remedy = self._renamed(error.problem), self._renamed(error.remedy)
            raise type(error)(problem, remedy) from error

    def _renamed(self, text: str) -> str:
        return Message(text).replaced(str(self.path), self.shown)


class _Folder:
    """A temporary folder that is deleted with this object, or at exit."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="soffit-"))
        self._end = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@functools.cache
def _standard_input() -> LocalFile:
    """All of standard input, which can be read only once."""
    stream = getattr(sys.stdin, "buffer", None)
    if stream is None:
        raise DataError("standard input is closed.", "Name a file, or pipe data into the command.")
    folder, shown = _Folder(), "standard input"
    target = folder.path / "input"
    _copy(stream, target, shown)
    if _head(target).startswith(b"\x1f\x8b"):
        packed = target.rename(folder.path / "packed")
        _unpack(gzip.open, packed, target, shown)
        packed.unlink()
    if not target.stat().st_size:
        raise DataError("standard input is empty.", "Pipe data into the command, or name a file.")
    named = target.with_name(f"data{_ending(target, _head(target))}")
    return LocalFile(target.rename(named), shown, folder)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096)


def _unpack(opener: Callable[[Path], Any], path: Path, target: Path, shown: str) -> None:
    try:
        with opener(path) as packed:
            _copy(packed, target, shown)
    except _DAMAGE as error:
        raise DataError(
            f"{shown}: it is damaged or truncated ({error}).", "Copy or save it again."
        ) from error


def _ending(path: Path, head: bytes) -> str:
    """The ending of a file by its first bytes; text is taken for a table."""
    for start, ending in _ENDINGS.items():
        if head.startswith(start):
            return ending
    if head.startswith(b"PK"):
        return ".xlsx" if b"[Content_Types].xml" in _names(path) else ".npz"
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<"):
        return ".gexf" if b"<gexf" in head else ".graphml"
    if start.startswith((b"[", b"{")):
        # One object per line, or one object over several lines.
        first = start.split(b"\n", 1)[0].rstrip()
        per_line = start.startswith(b"{") and first.endswith(b"}") and b"\n{" in start
        return ".jsonl" if per_line else ".json"
    return ".csv"


def _names(path: Path) -> list[bytes]:
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.encode() for name in archive.namelist()]
    except (zipfile.BadZipFile, OSError, ValueError):
        return []


def _copy(source: BinaryIO | Any, target: Path, name: str) -> None:
    """Copy a stream, unless it is larger than the memory or the disk."""
    limit = min(memory_budget(), 0.9 * shutil.disk_usage(target.parent).free)
    size = 0
    with target.open("xb") as file:
        while block := source.read(_BLOCK_BYTES):
            size += len(block)
            if size > limit:
                raise DataError(
                    f"{name}: its content has more than {size_words(limit)}, which do not fit.",
                    "Make sure that you trust its origin, or save a part of it.",
                )
            file.write(block)
