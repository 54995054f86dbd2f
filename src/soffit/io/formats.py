"""The format of a file: its ending names it, and its first bytes must agree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
