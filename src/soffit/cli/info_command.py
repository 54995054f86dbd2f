"""`soffit info`: what a file holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from soffit.cli._clusters import as_dicts, describe_clusters, show_clusters
from soffit.cli.command import LEARNING, Command
from soffit.cli.console import Talk
from soffit.cli.error_messages import existing, in_words_of_the_command
from soffit.cli.options import Verbosity, with_option_groups

AnyFile = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="Any file that soffit reads or writes: data, memberships, or a model (.soffit).",
    ),
]
# Columns that every file of memberships has.
_RESULT_COLUMNS = {"cluster", "certainty", "entropy", "p0"}
# Formats of memberships without columns.
_NOT_TABLES = (".json", ".npz")


@with_option_groups
def info(file: AnyFile, *, verbosity: Verbosity) -> None:
    """Describe a file without clustering it.

    For data: the format, and the columns with their types, missing and distinct values. For results
    and models: the clusters.
    """
    talk = verbosity.talk()
    existing(file)
    if file.suffix.lower() == ".soffit":
        _about_model(talk, file)
        return
    from soffit import io

    if file.suffix.lower() in _NOT_TABLES and _is_result(file):
        _about_result(talk, file)
        return
    with talk.working(f"Reading {file}"):
        description = io.describe(str(file))
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

    model = load(str(path))
    name = type(model).__name__
    known = vars(model)
    memberships = known["label_distributions_" if "classes_" in known else "memberships_"]
    talk.say(f"{path}: a fitted {name}.", style="bold")
    columns = [str(column) for column in getattr(model, "feature_names_in_", [])]
    if columns:
        talk.say(f"Columns: {', '.join(columns)}")
    settings = model.get_params()
    # The repr of an estimator names what differs from the defaults.
    talk.say("In Python: " + " ".join(repr(model).split()))
    _clusters(talk, memberships)
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
            "n_objects": len(memberships),
            "n_clusters": memberships.shape[1],
            "clusters": as_dicts(describe_clusters(memberships)),
        }
    )


def _about_result(talk: Talk, path: Path) -> None:
    from soffit import io

    result = io.read_result(str(path))
    talk.say(f"{path}: memberships of {len(result.memberships)} objects.", style="bold")
    _clusters(talk, result.memberships)
    talk.say(f"Next: soffit report {path}", style="dim")
    talk.emit(
        {
            "command": "info",
            "input": str(path),
            "holds": "memberships",
            "n_objects": len(result.memberships),
            "n_clusters": result.memberships.shape[1],
            "clusters": as_dicts(describe_clusters(result.memberships)),
        }
    )


def _clusters(talk: Talk, memberships: Any) -> None:
    talk.say()
    show_clusters(talk, describe_clusters(memberships), memberships.max(axis=1))


INFO = Command(
    "info",
    info,
    ("soffit info flowers.csv", "soffit info clusters.csv", "soffit info model.soffit"),
    LEARNING,
)
