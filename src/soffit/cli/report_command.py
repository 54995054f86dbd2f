"""`soffit report`: a page about results that are already there."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from soffit.cli.command import AFTERWARDS, Command
from soffit.cli.console import Talk
from soffit.cli.error_messages import existing
from soffit.cli.options import (
    DATA,
    ColumnsOption,
    DropOption,
    IdOption,
    ImputeOption,
    JsonOption,
    Kind,
    KindOption,
    LabelOption,
    QuietOption,
    TextColumns,
    TextOption,
    names_of,
)
from soffit.cli.steps import Reading, check_output, read_source, show_files, this_command

ResultFile = Annotated[
    Path,
    typer.Argument(
        metavar="RESULT",
        show_default=False,
        help="What `soffit fit` has written: a file of memberships, or a model (.soffit).",
    ),
]
PageOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="HTML",
        show_default=False,
        help="The page. Without it the result's name is used, with the ending .html.",
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="FILE",
        show_default=False,
        rich_help_panel=DATA,
        help="The file that was clustered. With it the page can show the objects and say which "
        "columns set each cluster apart.",
    ),
]
TitleOption = Annotated[
    str | None,
    typer.Option("--title", show_default=False, help="The title of the page."),
]


def report(
    file: ResultFile,
    *,
    output: PageOption = None,
    title: TitleOption = None,
    data: DataOption = None,
    kind: KindOption = Kind.auto,
    columns: ColumnsOption = None,
    drop: DropOption = None,
    id_column: IdOption = None,
    label: LabelOption = None,
    impute: ImputeOption = None,
    text: TextOption = TextColumns.auto,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a page of an earlier result.

    The page holds the figures, the clusters in words, and a table of all objects. It is one file,
    works offline, and can be sent to others as it is.
    """
    page = file.with_suffix(".html") if output is None else output
    check_output(page, "--output", ("html", "htm"), (file,) if data is None else (file, data))
    talk = Talk(quiet=quiet, as_json=as_json)
    result = load_result(existing(file))
    source = None
    if data is not None:
        reading = Reading(kind, names_of(columns), names_of(drop), id_column, label, impute, text)
        source = read_source(talk, data, reading)
        _check_same_objects(source, result, data, file)
    from soffit.report import write_report

    with talk.working(f"Writing {page}"):
        write_report(str(page), result, source=source, command=this_command(), title=title)
    files = {"report": str(page)}
    show_files(talk, files)
    talk.emit({"command": "report", "input": str(file), "files": files})


def load_result(path: Path) -> Any:
    """A model or a file of memberships."""
    from soffit import io, load

    if path.suffix.lower() == ".soffit":
        return load(str(path))
    return io.read_result(str(path))


def _check_same_objects(source: Any, result: Any, data: Path, file: Path) -> None:
    from soffit.results.per_object import memberships_of

    n = len(memberships_of(result))
    if source.data.shape[0] != n:
        raise ValueError(
            f"{data} has {source.data.shape[0]} objects, but {file} has {n}. Give the file that "
            "was clustered, with the same options."
        )


REPORT = Command(
    "report",
    report,
    (
        "soffit report clusters.csv",
        "soffit report clusters.csv --data flowers.csv -o flowers.html",
    ),
    AFTERWARDS,
)
