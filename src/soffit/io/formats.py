"""The format of a file: its ending names it, and its first bytes must agree.

Standard input and compressed files are copied to a temporary file that readers can open.
"""

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

ENDINGS = {
    ".csv": "delimited text",
    ".tsv": "delimited text",
    ".tab": "delimited text",
    ".txt": "delimited text",
    ".dat": "delimited text",
    ".data": "delimited text",
    ".edges": "edge list",
    ".edgelist": "edge list",
    ".parquet": "Parquet",
    ".pq": "Parquet",
    ".arrow": "Arrow",
    ".ipc": "Arrow",
    ".feather": "Arrow",
    ".json": "JSON",
    ".jsonl": "JSON lines",
    ".ndjson": "JSON lines",
    ".xlsx": "Excel",
    ".npy": "NumPy array",
    ".npz": "NumPy archive",
    ".mtx": "Matrix Market",
    ".graphml": "GraphML",
    ".gml": "GML",
    ".gexf": "GEXF",
    ".h5ad": "AnnData",
}
_TEXT_FORMATS = (
    *("delimited text", "edge list", "JSON", "JSON lines"),
    *("Matrix Market", "GraphML", "GML", "GEXF"),
)


@dataclass(frozen=True)
class _Signature:
    start: bytes
    name: str
    formats: tuple[str, ...]
    remedy: str


_UNPACK = "Unpack it first."
_RENAME = "Rename it to end in {}, or save it again in the format that its ending names."
_SIGNATURES = [
    _Signature(b"\x1f\x8b", "a gzip archive", (), _UNPACK),
    _Signature(b"BZh", "a bzip2 archive", (), _UNPACK),
    _Signature(b"\xfd7zXZ", "an xz archive", (), _UNPACK),
    _Signature(b"\x28\xb5\x2f\xfd", "a zstd archive", (), _UNPACK),
    _Signature(b"7z\xbc\xaf", "a 7z archive", (), _UNPACK),
    _Signature(
        b"PK\x03\x04",
        "a zip archive (as Excel workbooks and .npz files are)",
        ("Excel", "NumPy archive"),
        _RENAME.format(".xlsx or .npz"),
    ),
    _Signature(b"PK\x05\x06", "an empty zip archive", ("Excel", "NumPy archive"), _UNPACK),
    _Signature(
        b"\xd0\xcf\x11\xe0",
        "an old Excel file (.xls) or another old Office file",
        (),
        "Save it as .xlsx or .csv.",
    ),
    _Signature(b"PAR1", "a Parquet file", ("Parquet",), _RENAME.format(".parquet")),
    _Signature(b"ARROW1", "an Arrow file", ("Arrow",), _RENAME.format(".arrow")),
    _Signature(b"FEA1", "a Feather version 1 file", (), "Save it as Feather version 2."),
    _Signature(b"\x89HDF", "an HDF5 file", ("AnnData",), _RENAME.format(".h5ad")),
    _Signature(b"\x93NUMPY", "a NumPy array", ("NumPy array",), _RENAME.format(".npy")),
    _Signature(b"%PDF", "a PDF document", (), "Copy its table into a .csv file."),
    _Signature(b"\x89PNG", "a picture", (), "Pictures are for `soffit segment`."),
    _Signature(b"\xff\xd8\xff", "a picture", (), "Pictures are for `soffit segment`."),
    _Signature(
        b"\x80\x04\x95",
        "a Python pickle",
        (),
        "Pickles can run code. Save it as .npz.",
    ),
]


def recognise(path: Path) -> str:
    """The format of a file; one that is missing, empty or not what its ending says is refused."""
    head = first_bytes(path)
    format_name = ENDINGS.get(path.suffix.lower())
    found = next((known for known in _SIGNATURES if head.startswith(known.start)), None)
    if format_name is None:
        raise _unknown_ending(path, found)
    if found is not None and format_name not in found.formats:
        raise DataError(
            f"{path}: it ends in {path.suffix} but its content is {found.name}.", found.remedy
        )
    if found is None and format_name not in _TEXT_FORMATS:
        raise DataError(
            f"{path}: it ends in {path.suffix} but is not {_article(format_name)} file.",
            "It may be truncated or renamed: save it again.",
        )
    return format_name


def _unknown_ending(path: Path, found: _Signature | None) -> DataError:
    ending = f"unknown ending {path.suffix!r}" if path.suffix else "it has no ending"
    if found is not None:
        return DataError(f"{path}: {ending}, and its content is {found.name}.", found.remedy)
    return DataError(
        f"{path}: {ending}.", f"Known endings: {' '.join(ENDINGS)}, and these followed by .gz."
    )


def size_of(path: Path) -> int:
    """The size in bytes of a file that is not empty."""
    first_bytes(path)
    return path.stat().st_size


def _article(name: str) -> str:
    return f"an {name}" if name[0] in "AEIOU" else f"a {name}"


def first_bytes(path: Path) -> bytes:
    """The start of a file; one that is missing, empty or cannot be opened is refused."""
    try:
        if path.is_dir():
            raise DataError(f"{path}: it is a folder.", "Name a file in it.")
        if path.is_symlink() and not path.exists():
            raise DataError(f"{path}: it is a link whose target does not exist.")
        if not path.exists():
            raise DataError(f"{path}: there is no such file.", "Check the spelling and the folder.")
        if not path.is_file():
            raise DataError(f"{path}: it is not a regular file.", "Save the data as a file first.")
        with path.open("rb") as file:
            head = file.read(16)
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        # RuntimeError and ELOOP: links that lead in a circle; ValueError: a NUL in the name.
        reason = getattr(error, "strerror", None) or str(error)
        raise DataError(
            f"{path}: it cannot be opened ({reason}).", "Check the name and the permissions."
        ) from error
    if not head:
        raise DataError(f"{path}: the file is empty.")
    return head


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
