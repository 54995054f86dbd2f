"""Exceptions as messages in the words of the command, and exit codes.

The codes are 0 for success, 1 for bad data and 2 for bad usage.
"""

from __future__ import annotations

import difflib
import errno
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from soffit._wording import in_words_of_the_command
from soffit.cli.console import complain

BAD_DATA = 1
INTERRUPTED = 130
# Set this variable to see where an error comes from.
TRACEBACK = "SOFFIT_TRACEBACK"


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
