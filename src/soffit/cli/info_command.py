"""`soffit info`: what a file holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from soffit._wording import count_of, in_words_of_the_command
from soffit.cli.console import Talk, existing, show_summary
from soffit.cli.options import LEARNING, Command, FileFormat, Verbosity, with_option_groups
from soffit.cli.steps import describe_file, numbered_from_one

AnyFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        help="Any file that soffit reads or writes: data, memberships, or a model (.soffit).",
    ),
]
# Columns that every file of memberships has.
_RESULT_COLUMNS = {"cluster", "certainty", "entropy", "p0"}
# Formats of memberships without columns.
_NOT_TABLES = (".json", ".npz")


@with_option_groups
def info(file: AnyFile, *, layout: FileFormat, verbosity: Verbosity) -> None:
    """Describe a file without clustering it.

    For data: the format, and the columns with their types, missing and distinct values. For results
    and models: the clusters.
    """
    talk = verbosity.talk()
    existing(file)
    if file.suffix.lower() == ".soffit":
        _about_model(talk, file)
        return

    if file.suffix.lower() in _NOT_TABLES and _is_result(file):
        _about_result(talk, file)
        return
    with talk.working(f"Reading {file}"):
        description = describe_file(file, layout)
    notes = tuple(map(in_words_of_the_command, description.notes))
    description = replace(description, notes=notes)
    answer = description.as_dict()
    if {column["name"] for column in answer["columns"]} >= _RESULT_COLUMNS:
        _about_result(talk, file)
        return
    for line in description.lines():
        talk.say(line)
    talk.emit({"command": "info", "input": str(file), "holds": "data"} | answer)


def _is_result(path: Path) -> bool:
    from soffit import io

    try:
        io.read_result(str(path))
    except io.DataError:
        return False
    return True


def _about_model(talk: Talk, path: Path) -> None:
    from soffit import load
    from soffit.results.summary import Summary

    model = load(str(path))
    name = type(model).__name__
    summary = Summary.of(model)
    talk.say(f"{path}: a fitted {name}.", style="bold")
    columns = [str(column) for column in getattr(model, "feature_names_in_", [])]
    if columns:
        talk.say(f"Columns: {', '.join(columns)}")
    settings = model.get_params()
    # The repr of an estimator names what differs from the defaults.
    talk.say("In Python: " + " ".join(repr(model).split()))
    talk.say()
    show_summary(talk, summary)
    if columns:
        talk.say(f"Next: soffit predict {path} NEW.csv -o new.csv", style="dim")
    talk.emit(
        {
            "command": "info",
            "input": str(path),
            "holds": "model",
            "model": name,
            "settings": settings,
            "columns": columns,
        }
        | summary.as_dict()
    )


def _about_result(talk: Talk, path: Path) -> None:
    from soffit import io
    from soffit.results.summary import Summary

    summary = Summary.of(numbered_from_one(io.read_result(str(path))))
    objects = count_of(summary.n_objects, "object")
    talk.say(f"{path}: memberships of {objects}.", style="bold")
    talk.say()
    show_summary(talk, summary, "truth")
    talk.say(f"Next: soffit report {path}", style="dim")
    talk.emit(
        {
            "command": "info",
            "input": str(path),
            "holds": "memberships",
        }
        | summary.as_dict()
    )


INFO = Command(
    "info",
    info,
    ("soffit info flowers.csv", "soffit info clusters.csv", "soffit info model.soffit"),
    LEARNING,
)
