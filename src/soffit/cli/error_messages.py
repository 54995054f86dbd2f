"""From exceptions to messages and exit codes: 0, 1 for bad data, 2 for bad usage."""

from __future__ import annotations

import difflib
import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from soffit.cli.console import complain

BAD_DATA = 1
INTERRUPTED = 130
# Set this variable to see where an error comes from.
TRACEBACK = "SOFFIT_TRACEBACK"
# Options of the command for the parameters that messages of the library name.
_OPTIONS = {
    "n_clusters=": "-k ",
    "n_clusters": "-k",
    "n_neighbors": "--neighbors",
    "must_link": "--must-link",
    "cannot_link": "--cannot-link",
    "n_samples=": "",
}


def guarded(run: Callable[..., Any]) -> Callable[..., Any]:
    """The same command; a user's mistake ends it with a message and an exit code."""

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
            complain("stopped by Ctrl-C; nothing more is written.")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            complain(message_of(error))
            raise typer.Exit(BAD_DATA) from None

    return wrapper


def message_of(error: Exception) -> str:
    """What to tell the user: the error's own words where they were written for people."""
    if isinstance(error, MemoryError):
        return in_words_of_the_command(str(error)) or "There is not enough memory for this."
    if isinstance(error, OSError):
        return _about_file(error)
    if isinstance(error, (ValueError, ImportError)) and str(error):
        return in_words_of_the_command(str(error))
    return (
        f"Sorry, soffit itself failed ({type(error).__name__}: {error}). Please report it, with "
        f"what {TRACEBACK}=1 in front of the same command prints."
    )


def in_words_of_the_command(text: str) -> str:
    """The library's message with the names of options in place of parameters."""
    for parameter, option in _OPTIONS.items():
        text = text.replace(parameter, option)
    return text


def usage_error(text: str, option: str) -> typer.BadParameter:
    """A mistake on the command line, for the caller to raise; exit code 2."""
    return typer.BadParameter(text, param_hint=f"'{option}'")


def existing(path: Path) -> Path:
    """The path, if there is a file."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Give a file inside it.")
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
    if error.filename is None or error.strerror is None:
        return str(error) or type(error).__name__
    return f"{error.filename}: {error.strerror}."


def _forget_output() -> None:
    """Whoever read our output has gone: write the rest nowhere, without complaint."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
    except (OSError, ValueError):
        pass  # No real file behind standard output; nothing can fail later.
