"""The application: the table of commands, the version, and the entry point."""

from __future__ import annotations

import os
import re
import sys
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperCommand

from soffit._version import __version__
from soffit.cli.app_command import APP
from soffit.cli.ask_command import ASK
from soffit.cli.compare_command import COMPARE
from soffit.cli.console import complain, guarded
from soffit.cli.demo_command import DEMO
from soffit.cli.edit_command import EDIT
from soffit.cli.fit_command import FIT
from soffit.cli.graph_command import GRAPH
from soffit.cli.hierarchy_command import HIERARCHY
from soffit.cli.info_command import INFO
from soffit.cli.predict_command import PREDICT
from soffit.cli.report_command import REPORT
from soffit.cli.segment_command import SEGMENT
from soffit.cli.warmup_command import WARMUP

# A new command is a module with a `Command`, and a name in this table.
COMMANDS = (
    FIT,
    ASK,
    APP,
    GRAPH,
    HIERARCHY,
    SEGMENT,
    COMPARE,
    PREDICT,
    EDIT,
    REPORT,
    INFO,
    DEMO,
    WARMUP,
)

_HELP = (
    "Soft clustering of tables, distance matrices, graphs and images.\n\n"
    "soffit estimates the probability that each object belongs to each cluster, and how certain "
    "this is."
)
_EPILOG = (
    "Start here:\n\n"
    "  soffit demo\n\n"
    "  soffit fit flowers.csv -k 3 -o clusters.csv --report report.html\n\n"
    "Help for a command: soffit fit --help"
)


class _Arguments(TyperCommand):
    """A command whose --dask may stand alone."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Add the value that is meant."""
        return super().parse_args(ctx, with_default_place(args))


def make_app() -> typer.Typer:
    """The application with all commands of the table."""
    app = typer.Typer(
        name="soffit",
        help=_HELP,
        epilog=_EPILOG,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_common)
    for command in COMMANDS:
        app.command(
            command.name,
            cls=_Arguments,
            help=command.help,
            epilog=command.epilog,
            rich_help_panel=command.panel,
            no_args_is_help=command.name not in ("demo", "warmup"),
        )(guarded(command.run))
    anything = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("reproduce", hidden=True, context_settings=anything)(_reproduce)
    return app


def main() -> None:
    """Run the command with the arguments of the process."""
    # Standard output may be closed (>&-): what was asked for is done all the same.
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot show is replaced, not an error.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    make_app()(prog_name="soffit")


def _nowhere() -> TextIO:
    return open(os.devnull, "w", encoding="utf-8")


def _common(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar="",
            help="Print the version and exit.",
            is_eager=True,
            callback=lambda wanted: _print_version() if wanted else None,
        ),
    ] = False,
) -> None:
    """Options before any command."""


def _reproduce() -> None:
    """Point to the new location of the command."""
    complain("the reproductions have moved: run `python -m reproduction` in soffit's repository.")
    raise typer.Exit(2)


def _print_version() -> None:
    typer.echo(f"soffit {__version__}")
    raise typer.Exit


# Where Dask may work: what follows --dask and is something else is the next argument.
_WHERE = re.compile(r"local|threads|\w+://.*|[\w.-]+:\d+")


def with_default_place(arguments: list[str]) -> list[str]:
    """The same arguments, with "local" after a --dask without a value."""
    found: list[str] = []
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        found.append(argument)
        if argument == "--dask" and not _WHERE.fullmatch(following):
            found.append("local")
    return found
