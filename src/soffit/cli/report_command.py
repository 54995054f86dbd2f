"""`soffit report`: a page about an earlier result."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from soffit.cli.console import existing, usage_error
from soffit.cli.dask_files import DaskOption, report_in_blocks
from soffit.cli.options import (
    AFTERWARDS,
    DATA,
    Command,
    Reading,
    Verbosity,
    option,
    with_option_groups,
)
from soffit.cli.steps import check_output, numbered_from_one, read_source, show_files, this_command

ResultFile = Annotated[
    Path,
    typer.Argument(
        metavar="RESULT",
        help="Output of `soffit fit`: a file of memberships, or a model (.soffit).",
    ),
]
PageOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="HTML",
        help="The report; by default it has the name of the result, with the extension .html.",
    ),
]
DataOption = Annotated[
    Path | None,
    option(
        "--data FILE",
        DATA,
        "The file that was clustered. With it the report shows the objects and the columns "
        "that set each cluster apart.",
    ),
]
TitleOption = Annotated[
    str | None,
    typer.Option("--title", help="The title of the report."),
]


@with_option_groups
def report(
    file: ResultFile,
    *,
    output: PageOption = None,
    title: TitleOption = None,
    data: DataOption = None,
    dask: DaskOption = None,
    reading: Reading,
    verbosity: Verbosity,
) -> None:
    """Write a report on an earlier result.

    The report has figures, a description of the clusters, and a table of all objects. It is one
    HTML file that works offline.
    """
    page = file.with_suffix(".html") if output is None else output
    check_output(page, "--output", ("html", "htm"), (file,) if data is None else (file, data))
    talk = verbosity.talk()
    if dask is not None:
        if data is None:
            raise usage_error("It needs --data, the objects to count.", "--dask")
        report_in_blocks(talk, existing(file), data, page, where=dask, title=title)
        return
    result = load_result(existing(file))
    source = None
    if data is not None:
        source = read_source(talk, data, reading, is_compared=False)
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
    return numbered_from_one(io.read_result(str(path)))


def _check_same_objects(source: Any, result: Any, data: Path, file: Path) -> None:
    from soffit.results.per_object import memberships_of

    n = len(memberships_of(result))
    if source.data.shape[0] != n:
        raise ValueError(
            f"{data} has {source.data.shape[0]} objects, but {file} has {n}. Pass the file that "
            "was clustered, with the same options."
        )


REPORT = Command(
    "report",
    report,
    (
        "soffit report clusters.csv",
        "soffit report clusters.csv --data flowers.csv -o flowers.html",
        "soffit report model.soffit --data 'part-*.parquet' --dask",
    ),
    AFTERWARDS,
)
