"""Files of matrices: NumPy and SciPy arrays, and Matrix Market with its declarations checked."""

from __future__ import annotations

import math
import re
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from soffit._threads import row_blocks
from soffit._typing import FloatArray, Matrix, is_sparse
from soffit._wording import Message, Parameter, first_few
from soffit.io.data_error import (
    DataError,
    check_archive,
    check_bytes,
    check_names,
    shown,
    table_dtype,
)
from soffit.io.matrices.square_matrix import checked_square
from soffit.io.source import Source, text_array
from soffit.io.tables.columns import fill_gaps
from soffit.io.tables.table import SAY_WHICH, Choice, ask_if_square, check_unique

# What NumPy and zipfile raise for truncated, damaged or pickled files.
_READ_ERRORS = (
    OSError,
    EOFError,
    ValueError,
    TypeError,
    KeyError,
    SyntaxError,
    tokenize.TokenError,
    RecursionError,
    MemoryError,
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
)
# Version 3 is only written for records with non-ASCII names, which are not tables.
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npy(path: Path) -> tuple[FloatArray, list[str]]:
    """One array as a table of floats; a vector becomes a table of one column."""
    try:
        with path.open("rb") as file:
            _check_header(path, file, path.stat().st_size)
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except _READ_ERRORS as error:
        raise _unsound(path, error) from error
    return as_table(path, array)


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """All arrays of an archive, checked before anything is unpacked."""
    check_archive(path)
    try:
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith(".npy")]
            for name in names:
                with archive.open(name) as member:
                    _check_header(path, member, archive.getinfo(name).file_size, name)
        if not names:
            raise DataError(f"{path}: it holds no arrays.", "Save it with numpy.savez.")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files if f"{key}.npy" in names}
    except _READ_ERRORS as error:
        raise _unsound(path, error) from error


def as_table(path: Path, array: NDArray[Any], name: str = "") -> tuple[FloatArray, list[str]]:
    """A float array of two dimensions, in the precision that fits."""
    title = f"the array {shown(name)}" if name else "the array"
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"{path}: {title} holds {_dtype_words(array.dtype)}, not real numbers.",
            "Save it as an array of floats.",
        )
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(
            f"{path}: {title} has shape {array.shape}.",
            "It must have two dimensions, objects and features, and must not be empty.",
        )
    if array.dtype == np.float32 and not isinstance(array, np.memmap):
        return array, []
    dtype, notes = table_dtype(path, *array.shape)
    if array.dtype in (np.float32, np.float16):
        dtype, notes = np.float32, []
    table = np.empty(array.shape, dtype=dtype)
    for rows in row_blocks(array.shape):
        table[rows] = array[rows]
    return table, notes


def sparse_table(path: Path, arrays: Mapping[str, NDArray[Any]]) -> sp.csr_array:
    """A matrix saved by scipy.sparse.save_npz; its indices are checked."""
    try:
        shape = tuple(int(side) for side in arrays["shape"])
        # A damaged shape must not allocate row pointers beyond the memory.
        sides = float(sum(shape[:2]))
        check_bytes(path, _BYTES_PER_ROW * sides, "its sparse matrix", "Check its shape.")
        name = arrays["format"].item() if "format" in arrays else "csr"
        kind = name.decode() if isinstance(name, bytes) else str(name)
        if kind == "coo":
            coords = (arrays["row"], arrays["col"])
            matrix = sp.coo_array((arrays["data"], coords), shape=shape)
        elif kind in ("csr", "csc"):
            make = sp.csr_array if kind == "csr" else sp.csc_array
            parts = (arrays["data"], arrays["indices"], arrays["indptr"])
            matrix = make(parts, shape=shape)
            matrix.check_format(full_check=True)
        else:
            raise DataError(f"{path}: unknown sparse format {shown(kind)}.", "Save it as CSR.")
    except _READ_ERRORS as error:
        raise _unsound(path, error) from error
    if matrix.dtype.kind not in "biuf" or len(shape) != 2 or 0 in shape:
        raise DataError(f"{path}: the sparse matrix must hold real numbers and must not be empty.")
    table = sp.csr_array(matrix)
    table.sum_duplicates()
    if table.dtype != np.float32:
        table = table.astype(np.float64)
    if not np.isfinite(table.data).all():
        raise DataError(
            f"{path}: the sparse matrix has missing or infinite values.", "Remove them."
        )
    return table


def _check_header(path: Path, file: Any, size: int, name: str = "") -> None:
    """An array must declare numbers or text, and no more of them than the file holds."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise DataError(
            f"{path}: it holds records, or uses version {version[0]} of the .npy format.",
            "Save it as an array of floats.",
        )
    shape, _, dtype = _HEADERS[version](file)
    title = f"the array {shown(name.removesuffix('.npy'))}" if name else "the array"
    if dtype.hasobject:
        raise DataError(
            f"{path}: {title} holds Python objects, which can run code when loaded and are never "
            "read.",
            "Save it as numbers: array.astype(float).",
        )
    declared = math.prod(shape) * max(dtype.itemsize, 1)
    if declared > size:
        raise DataError(
            f"{path}: {title} declares {declared:,} bytes of data, but there are only {size:,}: "
            "it is damaged or truncated.",
            "Save the file again.",
        )


def _dtype_words(dtype: np.dtype[Any]) -> str:
    words = {"c": "complex numbers", "U": "text", "S": "text", "M": "dates", "m": "durations"}
    return words.get(dtype.kind, f"values of type {dtype}")


def _unsound(path: Path, error: BaseException) -> DataError:
    if isinstance(error, DataError):
        return error
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return DataError(
        f"{path}: it is damaged or truncated ({reason}).", "Copy or save the file again."
    )


def shapes(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Names and shapes of arrays, for messages."""
    return first_few((f"{key} {value.shape}" for key, value in arrays.items()), 8)


def text_vector(
    path: Path, arrays: Mapping[str, NDArray[Any]], names: Sequence[str], n: int
) -> list[str] | None:
    """The first of these vectors that the archive has, as text."""
    name = next((name for name in names if name in arrays), None)
    if name is None:
        return None
    if arrays[name].shape != (n,):
        raise DataError(
            f"{path}: the array {shown(name)} has shape {arrays[name].shape}, but must have shape "
            f"({n},)."
        )
    return [v.decode() if isinstance(v, bytes) else str(v) for v in arrays[name].tolist()]


# A name, and its places in the lists and dictionaries of names.
_BYTES_PER_NAME = 400.0
# Row pointers of a sparse matrix, its transpose, and what checks of symmetry make of them.
_BYTES_PER_ROW = 64.0
_TABLE_NAMES = ("X", "data", "table", "arr_0")
_ID_NAMES = ("ids", "id", "names")
_COLUMN_NAMES = ("columns", "feature_names", "features")


def source_from_npy(path: Path, kind: str, choice: Choice) -> Source:
    """A single array."""
    if choice.id is not None or choice.label is not None:
        raise DataError(
            Message(
                f"{path}: an .npy file holds one array of numbers, so there are no columns for ",
                *(Parameter("id"), " and ", Parameter("label"), "."),
            ),
            "Save an .npz file with the arrays X, ids and labels.",
        )
    array, notes = read_npy(path)
    names = numbered_columns(path, array.shape[1], kind)
    return matrix_source(path, array, kind, choice, names, notes=notes)


def source_from_npz(path: Path, kind: str, choice: Choice) -> Source:
    """An archive: a table X, a matrix of pairs, a sparse matrix, or edges."""
    arrays = read_npz(path)
    if "edges" in arrays and kind in ("auto", "graph"):
        return _edge_source(path, arrays, choice)
    notes: list[str] = []
    data: Matrix
    if "indptr" in arrays or "format" in arrays:
        data = sparse_table(path, arrays)
    else:
        name, kind = _find_table(path, arrays, kind)
        data, notes = as_table(path, arrays[name], name)
    n, width = data.shape
    given = text_vector(path, arrays, _COLUMN_NAMES, width)
    names = given or numbered_columns(path, width, kind)
    ids = text_vector(path, arrays, _ID_NAMES if choice.id is None else (choice.id,), n)
    if choice.id is not None:
        check_names(path, [choice.id], list(arrays), "id")
    truth = None
    if choice.label is not None:
        check_names(path, [choice.label], list(arrays), "label")
        truth = text_vector(path, arrays, (choice.label,), n)
    return matrix_source(path, data, kind, choice, names, ids=ids, truth=truth, notes=notes)


def numbered_columns(path: Path, width: int, kind: str) -> list[str]:
    """Names of the columns of a table; pairs of objects need none."""
    if kind in ("distances", "similarities", "graph"):
        return []
    remedy = "Rows must be objects and columns features: transpose it if it is the other way round."
    check_bytes(path, _BYTES_PER_NAME * width, f"a table of {width:,} columns", remedy)
    return [f"column {number}" for number in range(1, width + 1)]


def matrix_source(
    path: Path,
    data: Matrix,
    kind: str,
    choice: Choice,
    names: list[str],
    *,
    ids: list[str] | None = None,
    truth: list[str] | None = None,
    notes: list[str] | None = None,
) -> Source:
    """A matrix of numbers, checked as the given kind."""
    known = None if ids is None else check_unique(path, "ids", ids)
    source = Source(
        "table",
        data,
        ids=known,
        truth=None if truth is None else text_array(truth),
        notes=tuple(notes or ()),
        path=str(path),
    )
    if kind in ("distances", "similarities", "graph"):
        stored = sp.csr_array(data) if kind == "graph" else data
        checked = checked_square(path, stored, kind, known)  # type: ignore[arg-type]
        return replace(source, kind=kind, data=checked)  # type: ignore[arg-type]
    if kind == "auto":
        ask_if_square(path, data, names, known)
    return _table(path, source, data, choice, names)


def _table(path: Path, source: Source, data: Matrix, choice: Choice, names: list[str]) -> Source:
    check_names(path, list(choice.columns or ()), names, "columns")
    check_names(path, list(choice.drop or ()), names, "drop")
    dropped = set(choice.drop or ())
    wanted = [name for name in choice.columns or names if name not in dropped]
    if not wanted:
        raise DataError(
            Message(f"{path}: ", Parameter("drop"), " leaves no column."), "Keep at least one."
        )
    if wanted != names:
        place = {name: position for position, name in enumerate(names)}
        data = data[:, [place[name] for name in wanted]]
    source = replace(source, data=data, columns=tuple(wanted))
    if is_sparse(data):
        return source
    filled, kept, said = fill_gaps(path, data, wanted, choice.impute)
    is_mixed = choice.impute in ("none", "auto") and bool(np.isnan(filled).any())
    source = replace(source, data=filled, notes=(*source.notes, *said), is_mixed=is_mixed)
    if kept is None:
        return source
    ids = text_array(range(len(data))) if source.ids is None else source.ids
    truth = None if source.truth is None else source.truth[kept]
    return replace(source, ids=ids[kept], truth=truth)


def _find_table(path: Path, arrays: Mapping[str, NDArray[Any]], kind: str) -> tuple[str, str]:
    """The array to use, and the kind; an array called distances or similarities implies it."""
    if kind == "auto":
        for name in ("distances", "similarities"):
            if name in arrays and not any(other in arrays for other in _TABLE_NAMES):
                return name, name
    elif kind in arrays:
        return kind, kind
    preferred = next((name for name in _TABLE_NAMES if name in arrays), None)
    if preferred is not None:
        return preferred, kind
    tables = [key for key, value in arrays.items() if value.ndim == 2]
    if len(tables) != 1:
        what = "no table" if not tables else f"several tables ({first_few(map(shown, tables))})"
        raise DataError(
            f"{path}: it holds {what}; its arrays are {shapes(arrays)}.",
            "Save the table under the name X.",
        )
    return tables[0], kind


def _edge_source(path: Path, arrays: Mapping[str, NDArray[Any]], choice: Choice) -> Source:
    """Edges as pairs of node numbers, each undirected edge listed once."""
    edges = arrays["edges"]
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu" or not len(edges):
        raise DataError(
            f"{path}: edges must be pairs of integers, but have shape {edges.shape} and type "
            f"{edges.dtype}."
        )
    weights = _edge_weights(path, arrays, len(edges))
    highest = int(edges.max())
    n = int(arrays["n"]) if arrays.get("n", np.zeros(2)).ndim == 0 else highest + 1
    if int(edges.min()) < 0 or highest >= n:
        raise DataError(
            f"{path}: edges name nodes outside 0 ... {n - 1}.", "Number the nodes from 0."
        )
    names = _ID_NAMES if choice.id is None else (choice.id,)
    ids = text_vector(path, arrays, names, n)
    truth = None if choice.label is None else text_vector(path, arrays, (choice.label,), n)
    # A few nodes may have large numbers, and there is one row pointer per number.
    remedy = "Number the nodes from 0 without gaps."
    check_bytes(path, _BYTES_PER_ROW * n, f"a graph of {n:,} nodes", remedy)
    one_way = sp.csr_array((weights, (edges[:, 0], edges[:, 1])), shape=(n, n))
    loops = sp.diags_array(one_way.diagonal(), format="csr")
    both = sp.csr_array(one_way + one_way.T - loops)
    return matrix_source(path, both, "graph", choice, [], ids=ids, truth=truth)


def _edge_weights(path: Path, arrays: Mapping[str, NDArray[Any]], n_edges: int) -> FloatArray:
    weights = arrays.get("weights", np.ones(n_edges))
    if weights.shape != (n_edges,) or weights.dtype.kind not in "biuf":
        raise DataError(
            f"{path}: weights must have one number per edge, {n_edges:,} in all, but have shape "
            f"{weights.shape} and type {weights.dtype}."
        )
    return weights.astype(np.float64)


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
