"""What is said when a file cannot be used: the exceptions, and phrases that messages share."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

# More names than this in a message help nobody.
_MAX_NAMED = 5
_MAX_SHOWN = 40


class DataError(ValueError):
    """A mistake in a user's file: the message says what is wrong, where, and what helps.

    Examples
    --------
    >>> from soffit.io import DataError, read
    >>> try:
    ...     read("no_such_file.csv")
    ... except DataError as error:
    ...     print(error)
    no_such_file.csv: there is no such file. Check the spelling and the folder.
    """


class UnknownColumnError(DataError):
    """A column was asked for that the file does not have.

    Examples
    --------
    >>> from soffit.io import DataError, UnknownColumnError
    >>> issubclass(UnknownColumnError, DataError)
    True
    """


def shown(value: object) -> str:
    """A value from a file, short and on one line, as it may stand in a message."""
    text = repr(str(value))
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 4]}...{text[-1]}"


def listed(items: Iterable[object], limit: int = _MAX_NAMED) -> str:
    """The first few items, and how many more there are."""
    words = [str(item) for item in items]
    rest = len(words) - limit
    return ", ".join(words[:limit]) + (f" and {rest:,} more" if rest > 0 else "")


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number and its noun, the noun in the right form."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def check_names(path: Path, wanted: Sequence[str], known: Sequence[str], option: str) -> None:
    """Refuse names of columns that the file does not have."""
    present = set(known)
    unknown = [name for name in wanted if name not in present]
    if not unknown:
        return
    close = difflib.get_close_matches(unknown[0], known, n=1)
    hint = f" Did you mean {shown(close[0])}?" if close else ""
    raise UnknownColumnError(
        f"{path}: {option} names {listed(map(shown, unknown))}, but there is no such column.{hint} "
        f"The columns are {listed(map(shown, known), 12)}."
    )


def need(module: str, extra: str, purpose: str) -> Any:
    """An optional library, or a message that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise DataError(
            f"{purpose} needs the package {module.partition('.')[0]}, which is not installed. "
            f"Install it with: pip install soffit[{extra}]"
        ) from error
