"""NumPy files: plain arrays only, never pickles, and never more than fits into memory."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from soffit._threads import row_blocks
from soffit._typing import FloatArray
from soffit.io._errors import DataError, listed, shown
from soffit.io._limits import check_archive, check_bytes, table_dtype

# All that NumPy and zipfile raise for files that are cut short, damaged or pickled.
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
# Version 3 is only written for records with names that are not ASCII, which are no tables.
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
            raise DataError(f"{path}: it holds no arrays. Save it with numpy.savez.")
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            return {key: arrays[key] for key in arrays.files if f"{key}.npy" in names}
    except _READ_ERRORS as error:
        raise _unsound(path, error) from error


def as_table(path: Path, array: NDArray[Any], name: str = "") -> tuple[FloatArray, list[str]]:
    """A float array of two dimensions, in the precision that fits."""
    title = f"the array {shown(name)}" if name else "the array"
    if array.dtype.kind not in "biuf":
        raise DataError(
            f"{path}: {title} holds {_dtype_words(array.dtype)}, not real numbers. Save it as an "
            "array of floats."
        )
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or 0 in array.shape:
        raise DataError(
            f"{path}: {title} has the shape {array.shape}. It must have rows (objects) and columns "
            "(features), and not be empty."
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
        # A damaged shape must not make the conversion allocate row pointers without end.
        check_bytes(path, 8.0 * max(shape, default=0), "its sparse matrix", "Check its shape.")
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
            raise DataError(f"{path}: sparse format {shown(kind)} is not known. Save it as CSR.")
    except _READ_ERRORS as error:
        raise _unsound(path, error) from error
    if matrix.dtype.kind not in "biuf" or len(shape) != 2 or 0 in shape:
        raise DataError(f"{path}: the sparse matrix must hold real numbers, in rows and columns.")
    table = sp.csr_array(matrix)
    table.sum_duplicates()
    if table.dtype != np.float32:
        table = table.astype(np.float64)
    if not np.isfinite(table.data).all():
        raise DataError(f"{path}: the sparse matrix has missing or infinite values. Remove them.")
    return table


def _check_header(path: Path, file: Any, size: int, name: str = "") -> None:
    """What an array declares must be plain numbers or text, and no more than the file holds."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise DataError(
            f"{path}: it holds records, or uses version {version[0]} of the .npy format. Save it "
            "as an array of floats."
        )
    shape, _, dtype = _HEADERS[version](file)
    title = f"the array {shown(name.removesuffix('.npy'))}" if name else "the array"
    if dtype.hasobject:
        raise DataError(
            f"{path}: {title} holds Python objects, which can run code when they are loaded and "
            "are never read. Save it as numbers: array.astype(float)."
        )
    declared = math.prod(shape) * max(dtype.itemsize, 1)
    if declared > size:
        raise DataError(
            f"{path}: {title} declares {declared:,} bytes of data, but there are only {size:,}: "
            "it is damaged or was cut short. Save the file again."
        )


def _dtype_words(dtype: np.dtype[Any]) -> str:
    words = {"c": "complex numbers", "U": "text", "S": "text", "M": "dates", "m": "durations"}
    return words.get(dtype.kind, f"values of type {dtype}")


def _unsound(path: Path, error: BaseException) -> DataError:
    if isinstance(error, DataError):
        return error
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return DataError(
        f"{path}: it is damaged or was cut short ({reason}). Copy or save the file again."
    )


def shapes(arrays: Mapping[str, NDArray[Any]]) -> str:
    """Names and shapes of arrays, for messages."""
    return listed((f"{key} {value.shape}" for key, value in arrays.items()), 8)


def text_vector(
    path: Path, arrays: Mapping[str, NDArray[Any]], names: Sequence[str], n: int
) -> list[str] | None:
    """The first of these vectors that the archive has, as text."""
    name = next((name for name in names if name in arrays), None)
    if name is None:
        return None
    if arrays[name].shape != (n,):
        raise DataError(
            f"{path}: the array {shown(name)} has the shape {arrays[name].shape}; it must have one "
            f"entry for each of {n:,}."
        )
    return [v.decode() if isinstance(v, bytes) else str(v) for v in arrays[name].tolist()]
