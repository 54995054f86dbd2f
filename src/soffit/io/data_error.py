"""Errors about files, among them those that do not fit into memory, and shared phrases."""

from __future__ import annotations

import difflib
import importlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from soffit._memory import limit_words, memory_budget, size_words
from soffit._wording import Message, Parameter, first_few

_MAX_SHOWN = 40


class DataError(ValueError):
    """A file cannot be used: the message says what is wrong, where, and what to do.

    The message names parameters of `soffit.io.read`; the command line shows the same error with
    its options.

    Parameters
    ----------
    problem : str
        What is wrong, and where.
    remedy : str, optional
        What to do about it.

    Attributes
    ----------
    problem, remedy : str
        The two halves of the message.
    parameter : str or None
        The parameter to pass or to change, if the message names one.

    Examples
    --------
    >>> from soffit.io import DataError, read
    >>> try:
    ...     read("no_such_file.csv")
    ... except DataError as error:
    ...     print(error)
    no_such_file.csv: there is no such file. Check the spelling and the folder.
    >>> error = DataError("flowers.csv: the file is empty.")
    >>> error.problem, error.parameter
    ('flowers.csv: the file is empty.', None)
    """

    def __init__(self, problem: str, remedy: str = "") -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy

    @property
    def message(self) -> Message:
        """The whole message, with its parameters marked."""
        return Message(self.problem, " ", self.remedy) if self.remedy else Message(self.problem)

    @property
    def parameter(self) -> str | None:
        """The first parameter that the remedy, or else the problem, names."""
        named = (*Message(self.remedy).parameters, *Message(self.problem).parameters)
        return named[0].name if named else None

    def __str__(self) -> str:
        return str(self.message)


class UnknownColumnError(DataError):
    """A parameter names a column that the file does not have.

    Examples
    --------
    >>> from soffit.io import DataError, UnknownColumnError
    >>> issubclass(UnknownColumnError, DataError)
    True
    """


def shown(value: object) -> str:
    """A value from a file as a message shows it: short and on one line."""
    text = repr(str(value))
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 4]}...{text[-1]}"


def check_names(path: Path, wanted: Sequence[str], known: Sequence[str], parameter: str) -> None:
    """Refuse names of columns that the file does not have."""
    present = set(known)
    unknown = [name for name in wanted if name not in present]
    if not unknown:
        return
    close = difflib.get_close_matches(unknown[0], known, n=1)
    hint = f"Did you mean {shown(close[0])}? " if close else ""
    raise UnknownColumnError(
        Message(
            f"{path}: ",
            Parameter(parameter),
            f" names {first_few(map(shown, unknown))}, but there is no such column.",
        ),
        f"{hint}The columns are {first_few(map(shown, known), 12)}.",
    )


def need(module: str, extra: str, purpose: str) -> Any:
    """An optional library, or a message that says how to install or repair it."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except Exception as error:
        # A broken library may raise anything when it is imported.
        missing = isinstance(error, ModuleNotFoundError) and error.name in (package, module)
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        what = "is not installed" if missing else f"is installed but cannot be imported ({reason})"
        how = "Install it with: pip install" if missing else "Repair it with: pip install -U"
        raise DataError(
            f"{purpose} needs the package {package}, which {what}.", f'{how} "soffit[{extra}]"'
        ) from error


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
