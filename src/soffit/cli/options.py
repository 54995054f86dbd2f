"""Options that several commands share, and groups of them."""

from __future__ import annotations

import csv
import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from soffit.cli.console import Talk, usage_error

# Headings under which `soffit --help` lists the commands.
CLUSTERING = "Find clusters"
AFTERWARDS = "Use results"
LEARNING = "Get started"


@dataclass(frozen=True)
class Command:
    """A command of the application."""

    name: str  # What the user types after `soffit`.
    run: Callable[..., Any]  # Its parameters are the options; its docstring is the help.
    examples: tuple[str, ...]  # Examples, shown at the end of the help.
    panel: str  # The heading under which it is listed.

    @property
    def help(self) -> str:
        """The docstring, one line per paragraph: the terminal wraps lines."""
        text = inspect.getdoc(self.run) or ""
        return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))

    @property
    def epilog(self) -> str:
        """The examples, one per line."""
        title = "Example:" if len(self.examples) == 1 else "Examples:"
        return "\n\n".join([title, *(f"  {example}" for example in self.examples)])


# Headings under which the help of a command lists its options.
DATA = "Data"
FORMAT = "File format"
MODEL = "Model"
CONSTRAINTS = "Constraints"
RESULTS = "Output files"
VERBOSITY = "Verbosity"


class Kind(str, Enum):
    """What the file holds."""

    auto = "auto"
    table = "table"
    distances = "distances"
    similarities = "similarities"
    graph = "graph"


class Impute(str, Enum):
    """What to do about missing values."""

    none = "none"
    median = "median"
    mean = "mean"
    drop = "drop"


class TextColumns(str, Enum):
    """What to do about columns of text."""

    auto = "auto"
    onehot = "onehot"
    words = "words"
    drop = "drop"


class Standardization(str, Enum):
    """Whether to standardize the columns of a table."""

    auto = "auto"
    yes = "yes"
    no = "no"


def option(names: str, panel: str, words: str, **more: Any) -> Any:
    """An option of a command, such as "-o --output FILE", its heading in the help, and the help."""
    flags = [name for name in names.split() if name.startswith("-")]
    metavar = "".join(name for name in names.split() if not name.startswith("-"))
    return typer.Option(*flags, metavar=metavar, rich_help_panel=panel, help=words, **more)


def choice(names: str, panel: str, words: str, *, default: Any = None, **more: Any) -> Any:
    """A field of an `OptionGroup`: an option with its default."""
    return field(default=default, metadata={"option": option(names, panel, words, **more)})


def at_least(
    minimum: int, maximum: int | None = None
) -> Callable[[typer.CallbackParam, int | None], int | None]:
    """A check of an integer."""

    def check(parameter: typer.CallbackParam, value: int | None) -> int | None:
        if value is not None and value < minimum:
            raise typer.BadParameter(f"{value} is too small. Pass {minimum} or more.")
        if value is not None and maximum is not None and value > maximum:
            raise typer.BadParameter(f"{value} is too large. Pass {maximum} or less.")
        return value

    return check


def a_share(parameter: typer.CallbackParam, value: float | None) -> float | None:
    """A check of a number from 0 to 1."""
    # Written so that NaN fails, too.
    if value is not None and not 0.0 <= value <= 1.0:
        raise typer.BadParameter(f"{value:g} is not a probability. Pass a number from 0 to 1.")
    return value


InputFile = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        help="The file: a table (CSV, TSV, Parquet, Arrow, JSON, Excel, NumPy), a square matrix, "
        "an edge list, a graph (GraphML, GML, GEXF, Matrix Market) or AnnData (.h5ad), also "
        "compressed (.csv.gz); - for standard input.",
    ),
]


# --- groups of options ----------------------------------------------------------------------------


@dataclass(frozen=True)
class OptionGroup:
    """A dataclass whose fields are a `choice` each; see `with_option_groups`."""


class Only(tuple[str, ...]):
    """Names of options: as ``Annotated[Group, Only(("a", "b"))]`` a command has these only."""


@dataclass(frozen=True)
class FileFormat(OptionGroup):
    """How a file is written, where that cannot be detected."""

    sep: str | None = choice(
        "--sep CHAR",
        FORMAT,
        "The character between the entries of a text file, such as ';', or tab or blank. "
        "Detected by default.",
    )
    decimal: str | None = choice(
        "--decimal CHAR", FORMAT, "The decimal sign: . or , (detected by default)."
    )
    thousands: str | None = choice(
        "--thousands CHAR",
        FORMAT,
        "The separator of thousands: , or . or ' or blank (detected by default).",
    )
    na: list[str] | None = choice(
        "--na A,B",
        FORMAT,
        "Entries that stand for a missing value, such as 999 or unknown, besides NA and the like.",
    )
    sheet: str | None = choice(
        "--sheet NAME",
        FORMAT,
        "The sheet of an Excel workbook, by name or by number counted from 1.",
    )
    skip_rows: int = choice(
        "--skip-rows N",
        FORMAT,
        "Skip this many lines before the header.",
        callback=at_least(0),
        default=0,
    )
    encoding: str | None = choice(
        "--encoding NAME",
        FORMAT,
        "The encoding of a text file, such as latin-1. Detected by default.",
    )

    def arguments(self) -> dict[str, Any]:
        """The same as arguments of `soffit.io.read`, without those that are not given."""
        given = {
            "sep": self.sep,
            "decimal": self.decimal,
            "thousands": self.thousands,
            "na": names_of(self.na),
            "sheet": self.sheet,
            "skip_rows": self.skip_rows or None,
            "encoding": self.encoding,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class Reading(FileFormat):
    """How to read a file."""

    kind: Kind = choice(
        "--kind KIND",
        DATA,
        "What the file holds: table, distances, similarities or graph. Needed for a square "
        "symmetric matrix, which could be any of them.",
        default=Kind.auto,
    )
    columns: list[str] | None = choice(
        "--columns A,B,C",
        DATA,
        "Use only these columns. Enclose a name that contains a comma in double quotes.",
    )
    drop: list[str] | None = choice("--drop A,B", DATA, "Leave these columns out.")
    id_column: str | None = choice(
        "--id COLUMN",
        DATA,
        "The column that identifies the objects. It is written to the output, but not used as "
        "a feature.",
    )
    label: str | None = choice(
        "--label COLUMN", DATA, "A column of true classes, used for evaluation only."
    )
    weight: str | None = choice(
        "--weight COLUMN",
        DATA,
        "A column that says how many objects each row stands for. It is not used as a feature.",
    )
    impute: Impute | None = choice(
        "--impute HOW",
        DATA,
        "Leave missing values missing and compare what is there (none), fill them in with "
        "the median or the mean of their column, or drop the rows that have any (drop). By default "
        "they stay missing if at most a fifth of the entries is missing; otherwise it is an error.",
    )
    text: TextColumns = choice(
        "--text HOW",
        DATA,
        "By default (auto) a column of text is compared as a whole and counts as much as a "
        "column of numbers; names and dates are left out, with a note. Encode text as one column "
        "per value instead (onehot), cluster documents by their words (words; the default if there "
        "is nothing else), or leave all text out (drop).",
        default=TextColumns.auto,
    )

    def arguments(self) -> dict[str, Any]:
        """The same as arguments of `soffit.io.read`."""
        return super().arguments() | {
            "kind": self.kind.value,
            "columns": names_of(self.columns),
            "drop": names_of(self.drop),
            "id": self.id_column,
            "label": self.label,
            "sample_weight": self.weight,
            # Text and gaps stay as they are: a mixed distance compares them.
            "impute": "auto" if self.impute is None else self.impute.value,
            "text": "category" if self.text is TextColumns.auto else self.text.value,
        }

    def as_numbers(self) -> dict[str, Any]:
        """The arguments that differ for models that read numbers only."""
        return {
            "impute": None if self.impute is None else self.impute.value,
            "text": self.text.value,
        }


# The options of commands whose methods do not all support weights.
UNWEIGHTED = Only(name for name in Reading.__dataclass_fields__ if name != "weight")


@dataclass(frozen=True)
class Pairs(OptionGroup):
    """Files of pairs that belong together or apart."""

    must_link: Path | None = choice(
        "--must-link FILE",
        CONSTRAINTS,
        "A file of pairs that belong to one cluster: two columns of identifiers, or of row "
        "numbers counted from 1. A line of more than two is a group that belongs together.",
    )
    cannot_link: Path | None = choice(
        "--cannot-link FILE",
        CONSTRAINTS,
        "A file of pairs that belong to different clusters. Of a line of more than two, all "
        "differ.",
    )

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are given."""
        return tuple(path for path in (self.must_link, self.cannot_link) if path is not None)


@dataclass(frozen=True)
class Verbosity(OptionGroup):
    """What to print."""

    quiet: bool = choice("-q --quiet", VERBOSITY, "Print errors only.", default=False)
    as_json: bool = choice(
        "--json", VERBOSITY, "Print one JSON object, and nothing else.", default=False
    )

    def talk(self) -> Talk:
        """The output of a command at this verbosity."""
        return Talk(quiet=self.quiet, as_json=self.as_json)


def with_option_groups(run: Callable[..., None]) -> Callable[..., None]:
    """The same command with the options of each group as parameters of its own."""
    # Not get_type_hints: in Python 3.10 it hides the options whose default is None from typer.
    given_parameters = inspect.signature(run, eval_str=True).parameters
    groups: dict[str, type[OptionGroup]] = {}
    members: dict[str, list[str]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in given_parameters.items():
        hint = parameter.annotation
        group = getattr(hint, "__origin__", hint)
        if not (isinstance(group, type) and issubclass(group, OptionGroup)):
            parameters.append(parameter)
            continue
        options = {option.name: option for option in fields(group)}
        kept = next((m for m in getattr(hint, "__metadata__", ()) if isinstance(m, Only)), options)
        groups[name], members[name] = group, [option for option in options if option in kept]
        types = get_type_hints(group)
        parameters += [
            inspect.Parameter(
                option,
                inspect.Parameter.KEYWORD_ONLY,
                default=options[option].default,
                annotation=Annotated[types[option], options[option].metadata["option"]],
            )
            for option in members[name]
        ]

    @functools.wraps(run)
    def wrapper(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{option: given.pop(option) for option in members[name]})
        run(**given)

    # typer reads both.
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {option.name: option.annotation for option in parameters}
    return wrapper


def names_of(given: list[str] | None) -> list[str] | None:
    """Column names from an option that may be repeated and may hold several, with commas."""
    if not given:
        return None
    names = [name.strip() for row in csv.reader(given, skipinitialspace=True) for name in row]
    return [name for name in names if name]


def whole_numbers(text: str, option: str) -> list[int]:
    """Integers from a text such as 100,20,5."""
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        message = f"{text!r} is not a list of integers. Write them as in 100,20,5."
        raise usage_error(message, option) from None
