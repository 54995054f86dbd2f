"""Options that several commands share, each described once, in sentences."""

from __future__ import annotations

import csv
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from soffit.cli.error_messages import usage_error

DATA = "What to cluster"
MODEL = "How to cluster"
KNOWN = "What is known"
RESULTS = "What to keep"
TALKING = "What to say"


class Kind(str, Enum):
    """What the file holds."""

    auto = "auto"
    table = "table"
    distances = "distances"
    similarities = "similarities"
    graph = "graph"


class Impute(str, Enum):
    """What to do about missing values."""

    median = "median"
    mean = "mean"
    drop = "drop"


class TextColumns(str, Enum):
    """What to do about columns of text."""

    auto = "auto"
    onehot = "onehot"
    drop = "drop"


def at_least(
    minimum: int, maximum: int | None = None
) -> Callable[[typer.CallbackParam, int | None], int | None]:
    """A check of a whole number, with a message in words."""

    def check(parameter: typer.CallbackParam, value: int | None) -> int | None:
        if value is not None and value < minimum:
            raise typer.BadParameter(f"{value} is too small. Give {minimum} or more.")
        if value is not None and maximum is not None and value > maximum:
            raise typer.BadParameter(f"{value} is too large. Give {maximum} or less.")
        return value

    return check


InputFile = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        show_default=False,
        help="The file: a table (CSV, TSV, Parquet, Arrow, JSON lines, Excel, NumPy), a square "
        "matrix, an edge list, a graph (GraphML, GML, Matrix Market) or AnnData (.h5ad).",
    ),
]

KindOption = Annotated[
    Kind,
    typer.Option(
        "--kind",
        metavar="KIND",
        rich_help_panel=DATA,
        help="What the file holds: table, distances, similarities or graph. A square symmetric "
        "matrix is never taken for one of them silently: soffit asks for this option.",
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="A,B,C",
        show_default=False,
        rich_help_panel=DATA,
        help="Cluster by these columns only. A name with a comma in it goes into double quotes.",
    ),
]
DropOption = Annotated[
    list[str] | None,
    typer.Option(
        "--drop",
        metavar="A,B",
        show_default=False,
        rich_help_panel=DATA,
        help="Leave these columns out.",
    ),
]
IdOption = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        show_default=False,
        rich_help_panel=DATA,
        help="The column that names the objects. It is kept in the output and never clustered by.",
    ),
]
LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        show_default=False,
        rich_help_panel=DATA,
        help="A column with the true groups. It is used to score the result and for nothing else.",
    ),
]
ImputeOption = Annotated[
    Impute | None,
    typer.Option(
        "--impute",
        metavar="HOW",
        show_default=False,
        rich_help_panel=DATA,
        help="Fill missing values with the median or the mean of their column, or drop the rows "
        "that have any: median, mean or drop. Without this option missing values are an error.",
    ),
]
TextOption = Annotated[
    TextColumns,
    typer.Option(
        "--text",
        metavar="HOW",
        rich_help_panel=DATA,
        help="Turn columns of text into one column for each value (onehot), or leave them out "
        "(drop). By default columns with few values are turned and others left out (auto). What "
        "was done is always said.",
    ),
]

ClustersOption = Annotated[
    int | None,
    typer.Option(
        "-k",
        "--clusters",
        metavar="K",
        callback=at_least(1),
        show_default=False,
        rich_help_panel=MODEL,
        help="The number of clusters. Without it the number is chosen, and the choice explained.",
    ),
]
NeighborsOption = Annotated[
    int | None,
    typer.Option(
        "--neighbors",
        metavar="N",
        callback=at_least(1),
        show_default=False,
        rich_help_panel=MODEL,
        help="How many neighbours of each object count. More of them give smoother clusters.",
    ),
]
SeedOption = Annotated[
    int,
    typer.Option(
        "--seed",
        metavar="N",
        callback=at_least(0, 2**32 - 1),
        rich_help_panel=MODEL,
        help="The seed of all random choices. The same seed gives the same result.",
    ),
]
JobsOption = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        metavar="N",
        callback=at_least(1),
        show_default=False,
        rich_help_panel=MODEL,
        help="How many processor cores to use; all of them by default. Results do not depend on "
        "it.",
    ),
]

MaxTimeOption = Annotated[
    float | None,
    typer.Option(
        "--max-time",
        metavar="SECONDS",
        show_default=False,
        rich_help_panel=MODEL,
        help="Stop after so many seconds, with the best result so far.",
    ),
]

MustLinkOption = Annotated[
    Path | None,
    typer.Option(
        "--must-link",
        metavar="FILE",
        show_default=False,
        rich_help_panel=KNOWN,
        help="A file of pairs that belong together: two columns of identifiers, or of row numbers "
        "counted from 0.",
    ),
]
CannotLinkOption = Annotated[
    Path | None,
    typer.Option(
        "--cannot-link",
        metavar="FILE",
        show_default=False,
        rich_help_panel=KNOWN,
        help="A file of pairs that do not belong together.",
    ),
]

OutputOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        show_default=False,
        rich_help_panel=RESULTS,
        help="Write one row for each object: its cluster, certainty, entropy and all memberships. "
        "The ending chooses the format: csv, tsv, parquet, arrow, jsonl, json, xlsx or npz; also "
        "graphml and gml for graphs, and h5ad.",
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option(
        "--report",
        metavar="HTML",
        show_default=False,
        rich_help_panel=RESULTS,
        help="Write a page with figures, the clusters in words, and a table of all objects. It "
        "works offline and can be sent to others as it is.",
    ),
]
SaveOption = Annotated[
    Path | None,
    typer.Option(
        "--save",
        metavar="MODEL",
        show_default=False,
        rich_help_panel=RESULTS,
        help="Keep the fitted model in a file ending in .soffit, to place new objects later with "
        "`soffit predict`.",
    ),
]

QuietOption = Annotated[
    bool,
    typer.Option(
        "-q", "--quiet", metavar="", rich_help_panel=TALKING, help="Say nothing but errors."
    ),
]
JsonOption = Annotated[
    bool,
    typer.Option(
        "--json",
        metavar="",
        rich_help_panel=TALKING,
        help="Print one JSON object for other programs, and nothing else.",
    ),
]


def names_of(given: list[str] | None) -> list[str] | None:
    """Column names from an option that may be repeated and may hold several, with commas."""
    if not given:
        return None
    names = [name.strip() for row in csv.reader(given, skipinitialspace=True) for name in row]
    return [name for name in names if name]


def whole_numbers(text: str, option: str) -> list[int]:
    """Whole numbers from a text such as 100,20,5."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        message = f"{text!r} is not a list of whole numbers. Write them as in 100,20,5."
        raise usage_error(message, option) from None
