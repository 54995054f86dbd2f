"""Matrix Market files: SciPy's reader, behind checks of what a file declares."""

from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path
from typing import IO

import numpy as np
import scipy.sparse as sp

from soffit._typing import Matrix
from soffit.io.data_error import DataError
from soffit.io.limits import check_bytes
from soffit.io.matrices.arrays import matrix_source, numbered_columns
from soffit.io.source import Source
from soffit.io.tables.table import SAY_WHICH, Choice

_HEADER = "The first line must read: %%MatrixMarket matrix coordinate real general (or the like)."
_BANNER = re.compile(
    rb"%%matrixmarket matrix (coordinate|array) (real|double|integer|unsigned-integer|pattern|"
    rb"complex) (general|symmetric|skew-symmetric|hermitian)\s*",
    re.IGNORECASE,
)
# More digits do not fit into a 64-bit integer, and no such matrix into any memory.
_NOT_NUMBERS = re.compile(rb"[^\s0-9a-zA-Z+.%-]")
_SIZES = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})(?:\s+(\d{1,18}))?\s*")


def read_matrix_market(path: Path, kind: str, choice: Choice) -> Source:
    """A sparse or dense matrix; a square one is read as a table only on request."""
    data = _load(path)
    n, width = data.shape
    if kind == "auto" and n == width:
        raise DataError(f"{path}: it is a square matrix, {n} x {n}.", SAY_WHICH)
    names = numbered_columns(path, width, kind)
    return matrix_source(path, data, kind, choice, names)


def _load(path: Path) -> Matrix:
    from scipy.io import mmread

    with path.open("rb") as file:
        _check_declared(path, file)
        start = file.tell()
    # SciPy's parser reads on, and may crash, after a NUL and after a last line without its end.
    content = path.read_bytes() + b"\n"
    if _NOT_NUMBERS.search(content, start):
        raise DataError(f"{path}: it holds characters that are not numbers.", "Save it again.")
    try:
        matrix = mmread(BytesIO(content))
    except (ValueError, OverflowError, OSError, RuntimeError, MemoryError) as error:
        reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
        raise DataError(
            f"{path}: not a valid Matrix Market file, or damaged or truncated ({reason}).",
            "Correct it or save it again.",
        ) from error
    matrix = sp.csr_array(matrix, dtype=np.float64) if sp.issparse(matrix) else np.float64(matrix)
    if not np.isfinite(matrix.data if sp.issparse(matrix) else matrix).all():
        raise DataError(f"{path}: it has missing or infinite entries.", "Remove or replace them.")
    return matrix


def _check_declared(path: Path, file: IO[bytes]) -> None:
    """Read the header; refuse sizes that the file cannot hold or that do not fit into memory."""
    banner = _BANNER.fullmatch(b" ".join(file.readline(1000).split()))
    line = file.readline(10_000)
    while line.startswith(b"%") or (line and not line.strip()):
        line = file.readline(10_000)
    if banner is None or banner[1].lower() + banner[2].lower() == b"arraypattern":
        raise DataError(f"{path}: not a valid Matrix Market file.", _HEADER)
    if banner[2].lower() == b"complex" or banner[3].lower() == b"hermitian":
        raise DataError(f"{path}: it holds complex numbers.", "Only real ones can be clustered.")
    sizes = _SIZES.fullmatch(line)
    sparse = banner[1].lower() == b"coordinate"
    if sizes is None or (sizes[3] is not None) != sparse:
        start = line[:60].decode("latin-1").strip()
        raise DataError(f"{path}: the line of sizes is not valid: {start!r}.", _HEADER)
    n, width = int(sizes[1]), int(sizes[2])
    if banner[3].lower() != b"general" and n != width:
        raise DataError(f"{path}: it claims to be symmetric, but is not square.", _HEADER)
    # Of a symmetric dense matrix one triangle is listed, perhaps without the diagonal.
    half = n * (n - 1) // 2 if banner[3].lower() != b"general" else n * width
    n_entries = int(sizes[3]) if sparse else half
    if 0 in (n, width) or (sparse and n_entries == 0):
        raise DataError(f"{path}: the matrix is empty.")
    size = path.stat().st_size
    # The shortest entry is "1 1" or "0", and a newline.
    if n_entries * (4 if sparse else 2) > size + 2:
        raise DataError(
            f"{path}: it declares {n_entries:,} entries, but a file of {size:,} bytes cannot hold "
            "them: it is damaged or truncated.",
            "Save it again.",
        )
    needed = 64.0 * (n + width) + 80.0 * n_entries if sparse else 24.0 * n * width
    check_bytes(path, needed + 2.0 * size, "its matrix", "Save a part of it.")
