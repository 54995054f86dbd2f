"""What a command prints: results, warnings and errors, in the words of the command line.

Exit codes are 0 for success, 1 for bad data and 2 for bad usage.
"""

from __future__ import annotations

import difflib
import errno
import functools
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from rich import box
from rich.console import Console, RenderableType
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from soffit._wording import count_of, in_words_of_the_command, number, shorten, visible

if TYPE_CHECKING:
    from soffit.results.summary import Summary

# Without a terminal the width is unknown: wide enough to keep columns whole.
_PIPE_WIDTH = 160


class Talk:
    """Prints results on standard output, and notes, progress and errors on standard error.

    `quiet`: print errors only.
    `as_json`: print nothing on standard output but one JSON object, given to `emit`.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False) -> None:
        self._silent = quiet or as_json
        self._quiet = quiet
        self._as_json = as_json
        self._out = _console(stderr=False)
        self._err = _console(stderr=True)

    # --- results -------------------------------------------------------------------------------

    def say(self, text: str = "", style: str = "") -> None:
        """A sentence of the result."""
        if not self._silent:
            self._print(self._out, Text(visible(text), style=style))

    def show(self, renderable: RenderableType) -> None:
        """A table or a tree of the result."""
        if not self._silent:
            self._out.print(renderable)

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> None:
        """A table whose last columns, as many as `words`, are text; the others are numbers."""
        if self._silent:
            return
        grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
        first_words = len(columns) - words
        for place, column in enumerate(columns):
            justify: Any = "right" if place < first_words else "left"
            grid.add_column(visible(column), justify=justify, overflow="fold")
        for row in rows:
            grid.add_row(*(Text(visible(cell)) for cell in row))
        self._out.print(grid)

    def emit(self, answer: dict[str, Any]) -> None:
        """The JSON object, with --json."""
        if self._as_json:
            # ASCII only, so that the output does not depend on the encoding of the terminal.
            sys.stdout.write(json.dumps(jsonable(answer), allow_nan=False) + "\n")

    def prompt(self, text: str) -> None:
        """A question to be answered on standard input, with -q and --json on standard error."""
        stream = sys.stderr if self._silent else sys.stdout
        stream.write(text)
        stream.flush()

    @staticmethod
    def flush() -> None:
        """Hand on what was printed, before a command that runs on."""
        sys.stdout.flush()

    # --- besides the results -------------------------------------------------------------------

    def note(self, text: str) -> None:
        """A remark about the data."""
        if not self._silent:
            self._print(self._err, Text.assemble(("Note: ", "cyan"), visible(text)))

    def warn(self, text: str) -> None:
        """A warning about the result."""
        if not self._silent:
            self._print(self._err, Text.assemble(("Warning: ", "yellow"), visible(text)))

    @contextmanager
    def working(self, text: str) -> Iterator[Callable[[str], None]]:
        """A spinner and a description; yields a function that changes the description.

        Nothing is drawn with -q, or if standard error is not a terminal.
        """
        if self._quiet or not self._err.is_terminal:
            yield _ignore
            return
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        with Progress(*columns, console=self._err, transient=True) as progress:
            task = progress.add_task(_escaped(text))
            yield lambda words: progress.update(task, description=_escaped(words))

    @staticmethod
    def _print(console: Console, text: Text) -> None:
        # In a pipe a sentence stays on one line, for programs that search it.
        console.print(text, soft_wrap=not console.is_terminal)


def complain(text: str) -> None:
    """An error, printed even with -q."""
    console = _console(stderr=True)
    message = Text.assemble(("Error: ", "bold red"), visible(text))
    console.print(message, soft_wrap=not console.is_terminal)


def jsonable(value: Any) -> Any:
    """The same in built-in types; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, np.ndarray)):
        return [jsonable(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, (bool, int, float, str, type(None))) else str(value)


class _PipeFriendlyConsole(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(*, stderr: bool) -> Console:
    console = _PipeFriendlyConsole(stderr=stderr, highlight=False, emoji=False, markup=False)
    if not console.is_terminal:
        console.width = max(console.width, _PIPE_WIDTH)
    return console


def _escaped(text: str) -> str:
    """Text for a task description, which is markup."""
    return visible(text).replace("[", r"\[")


def _ignore(text: str) -> None:
    """No display to update."""


# Columns named per cluster; more do not fit on a line.
_MOST_COLUMNS = 2
_MOST_MEMBERS = 3
# More clusters do not fit on a screen.
_MOST_ROWS = 60


def show_warnings(talk: Talk, summary: Summary) -> list[str]:
    """Warnings about the result, except those that the fit itself has issued; returns them."""
    from soffit.results.cautions import cautions

    found = [caution.message for caution in cautions(summary) if not caution.is_warned]
    said = [in_words_of_the_command(message) for message in found]
    for sentence in said:
        talk.warn(sentence)
    return said


def show_standardization(talk: Talk, summary: Summary) -> None:
    """Whether the columns were standardized."""
    from soffit.results.sentences import standardization

    sentence = standardization(summary)
    if sentence is not None:
        talk.say(in_words_of_the_command(sentence))


def show_summary(talk: Talk, summary: Summary, label: str | None = None) -> None:
    """The table of clusters, how many objects are uncertain, and scores against the labels."""
    from soffit.results.sentences import uncertainty

    _show_clusters(talk, summary)
    talk.say()
    if summary.n_clusters > 1:
        talk.say(uncertainty(summary))
    if summary.scores is not None:
        _show_scores(talk, summary.scores, label or "label")


def _show_clusters(talk: Talk, summary: Summary) -> None:
    # Single pixels say nothing; the report has the mean pictures.
    are_pixels = summary.pixels is not None
    heading, traits = "set apart by", _differences(summary)
    if are_pixels or not any(traits):
        heading, traits = _named_members(summary)
    is_weighted = summary.weights is not None
    rows = [
        (
            shorten(summary.names[c.cluster], 30),
            str(c.size),
            *((number(c.weight),) if c.weight is not None else ()),
            "-" if math.isnan(c.certainty) else f"{c.certainty:.2f}",
            trait,
        )
        for c, trait in zip(summary.clusters, traits, strict=False)
    ]
    numbers = (summary.noun, "size", *(("weight",) if is_weighted else ()), "certainty")
    if any(traits):
        talk.table((*numbers, heading), rows)
    else:
        talk.table(numbers, [row[: len(numbers)] for row in rows], words=0)
    if are_pixels:
        talk.say("The columns are pixels: a report shows the mean picture of each cluster.")
    if summary.n_clusters > _MOST_ROWS:
        talk.say(f"... and {count_of(summary.n_clusters - _MOST_ROWS, f'more {summary.noun}')}.")


def _differences(summary: Summary) -> list[str]:
    """The columns that set each of the first clusters apart."""
    return [
        ", ".join(difference.brief() for difference in c.apart[:_MOST_COLUMNS])
        for c in summary.clusters[:_MOST_ROWS]
    ]


def _named_members(summary: Summary) -> tuple[str, list[str]]:
    """The members that stand for each of the first clusters, where objects have names."""
    from soffit.results.members import Members

    clusters = range(min(summary.n_clusters, _MOST_ROWS))
    if summary.ids is None or summary.n_clusters == 1:
        return "", [""] * len(clusters)
    members = Members(summary)
    found = [members.shown(cluster) for cluster in clusters]
    named = [
        ", ".join(shorten(summary.id_of(i), 20) for i in positions[:_MOST_MEMBERS])
        for _, positions in found
    ]
    return found[0][0], named


def _show_scores(talk: Talk, scores: dict[str, float], label: str) -> None:
    from soffit.results.summary import SCORES

    listed = ", ".join(f"{SCORES[name].short} {value:.3f}" for name, value in scores.items())
    talk.say(f"Against the column {label!r}: {listed}.")
    talk.say(
        "The labels were used for these scores only. Accuracy, ARI and NMI are best at 1; Brier "
        "and ECE (calibration error of the memberships) are best at 0."
    )


def show_choice(talk: Talk, summary: Summary) -> None:
    """Why this number of clusters, if the model chose it."""
    from soffit.results.sentences import CLEAR_CHOICE, LIKELY_CHOICE, choice_evidence, choice_made

    for sentence in (choice_made(summary), choice_evidence(summary)):
        if sentence:
            talk.say(sentence)
    choice = summary.choice
    # One cluster is an answer, not a fit to try; how to divide it is said at the end.
    if choice is None or choice.n_clusters == 1:
        return
    # A doubtful choice is among the warnings, which say the same.
    if (choice.runner_up or 1) > 1 and LIKELY_CHOICE <= choice.confidence < CLEAR_CHOICE:
        talk.say(f"Try -k {choice.runner_up} as well, and compare.")


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
