"""Exceptions as messages in the words of the command, and exit codes.

The codes are 0 for success, 1 for bad data and 2 for bad usage.
"""

from __future__ import annotations

import csv
import difflib
import errno
import functools
import io
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from soffit._wording import Message, Parameter
from soffit.cli.console import complain

BAD_DATA = 1
INTERRUPTED = 130
# Set this variable to see where an error comes from.
TRACEBACK = "SOFFIT_TRACEBACK"
# Options of the command for the parameters that messages of the library name.
_OPTIONS = {
    "n_clusters": "-k",
    "max_clusters": "--max-clusters",
    "n_neighbors": "--neighbors",
    "n_resamples": "--resamples",
    "standardize": "--standardize",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "max_time": "--max-time",
    "levels": "--levels",
    "must_link": "--must-link",
    "cannot_link": "--cannot-link",
    "scribbles": "--scribbles",
    "kind": "--kind",
    "columns": "--columns",
    "drop": "--drop",
    "id": "--id",
    "label": "--label",
    "impute": "--impute",
    "text": "--text",
    "min_certainty": "--min-certainty",
    "sep": "--sep",
    "decimal": "--decimal",
    "thousands": "--thousands",
    "na": "--na",
    "sheet": "--sheet",
    "skip_rows": "--skip-rows",
    "encoding": "--encoding",
    "session": "--session",
}


# Values that are hard to type or to see.
_NAMED = {"\t": "tab", " ": "blank"}


def guarded(run: Callable[..., Any]) -> Callable[..., Any]:
    """The same command; an error ends it with a message and an exit code."""

    @functools.wraps(run)
    def wrapper(*args: Any, **kwargs: Any) -> None:
        try:
            run(*args, **kwargs)
            sys.stdout.flush()
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except BrokenPipeError:
            _forget_output()
        except KeyboardInterrupt:
            complain("interrupted by Ctrl-C; no further files are written.")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            complain(message_of(error))
            raise typer.Exit(BAD_DATA) from None

    return wrapper


def message_of(error: Exception) -> str:
    """The message for an error."""
    if isinstance(error, MemoryError):
        return in_words_of_the_command(error) or "There is not enough memory."
    if isinstance(error, OSError):
        return _about_file(error)
    if isinstance(error, (ValueError, ImportError)) and str(error):
        return in_words_of_the_command(error)
    return (
        f"Internal error ({type(error).__name__}: {error}). Please report it with the output of "
        f"`{TRACEBACK}=1 soffit ...`."
    )


def in_words_of_the_command(said: str | BaseException) -> str:
    """A message, or that of an exception or a warning, with options in place of parameters.

    Only parameters that a `Message` marks are replaced: names of files and columns stay as they
    are, whatever they are called.
    """
    message: Any = said
    if isinstance(said, BaseException):
        message = getattr(said, "message", said.args[0] if said.args else "")
    return message.reworded(_as_option) if isinstance(message, Message) else str(said)


def as_options(given: dict[str, Any]) -> list[str]:
    """Parameters and their values as one would type them, each argument on its own."""
    found: list[str] = []
    for name, value in given.items():
        words = shlex.split(_as_argument(value))
        found += [_OPTIONS[name], words[0] if words else ""]
    return found


def _as_option(parameter: Parameter) -> str:
    """The option for a parameter, with its value as one would type it."""
    option = _OPTIONS.get(parameter.name)
    if option is None:
        return str(parameter)
    return f"{option} {_as_argument(parameter.value)}" if parameter.has_value else option


def _as_argument(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (list, tuple)):
        return _NAMED.get(value, shlex.quote(str(value)))
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow(value)
    return shlex.quote(row.getvalue())


def usage_error(text: str, option: str) -> typer.BadParameter:
    """An error in the arguments, for the caller to raise; exit code 2."""
    return typer.BadParameter(text, param_hint=f"'{option}'")


def existing(path: Path) -> Path:
    """The path, if there is a file; - is standard input."""
    if str(path) == "-":
        return path
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Pass a file.")
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.{_similar_name(path)}")
    return path


def _similar_name(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f" The folder {path.parent} cannot be read either."
    close = difflib.get_close_matches(path.name, names, n=1)
    return f" Did you mean {path.with_name(close[0])}?" if close else ""


def _about_file(error: OSError) -> str:
    if error.filename is None and error.errno == errno.ENOSPC:
        return "There is no space left for the output. Free some, or write to another disk."
    if error.filename is None or error.strerror is None:
        return str(error) or type(error).__name__
    return f"{error.filename}: {error.strerror}."


def _forget_output() -> None:
    """The reader of a pipe is closed: discard the rest of the output."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        pass  # No real file behind standard output; nothing can fail later.
