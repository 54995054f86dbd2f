"""Refuse what does not fit into memory before it is read."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np

from soffit._memory import limit_words, memory_budget, size_words
from soffit._wording import Message, Parameter
from soffit.io.data_error import DataError


def check_bytes(path: Path, needed: float, what: str, remedy: str) -> None:
    """Raise DataError if so many bytes do not fit."""
    budget = memory_budget()
    if needed > budget:
        raise DataError(
            f"{path}: {what} needs {size_words(needed)} of memory, {limit_words(budget)}", remedy
        )


def table_dtype(path: Path, n_rows: int, n_columns: int) -> tuple[type[np.floating], list[str]]:
    """The precision in which a table fits, and a note if that is not float64."""
    entries = float(n_rows) * float(n_columns)
    if 8 * entries <= memory_budget():
        return np.float64, []
    check_bytes(
        path,
        4 * entries,
        f"its table of {n_rows:,} rows and {n_columns:,} columns",
        Message("Choose fewer columns (", Parameter("columns"), "), or a subsample of the rows."),
    )
    return np.float32, ["Numbers are in single precision: double does not fit into memory."]


def check_archive(path: Path) -> None:
    """Refuse a zip archive whose contents, by its own directory, do not fit into memory."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise DataError(
            f"{path}: the archive is damaged or truncated ({error}).", "Copy or save it again."
        ) from error
    if any(member.flag_bits & 1 for member in members):
        raise DataError(f"{path}: the archive is encrypted.", "Save it without a password.")
    unpacked = float(sum(member.file_size for member in members))
    check_bytes(
        path,
        unpacked,
        "unpacking it",
        f"The file itself has only {size_words(path.stat().st_size)}: make sure that you trust its "
        "origin, or save a part of it.",
    )
