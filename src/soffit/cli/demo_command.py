"""`soffit demo`: a first look, on an example data set."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from soffit._atomic import replaced
from soffit.cli.console import Talk
from soffit.cli.error_messages import usage_error
from soffit.cli.example_files import write_example_files
from soffit.cli.fit_command import present
from soffit.cli.methods import DEFAULT_METHOD, METHODS, Settings
from soffit.cli.options import LEARNING, Command, Verbosity, with_option_groups
from soffit.cli.steps import Outputs, fit_model, read_source


class Example(str, Enum):
    """Data sets of scikit-learn."""

    digits = "digits"
    iris = "iris"
    wine = "wine"


FolderOption = Annotated[
    Path,
    typer.Option(
        "-o", "--output", metavar="FOLDER", help="Where to write the files.", show_default=False
    ),
]
ExampleOption = Annotated[
    Example,
    typer.Option("--data", help="Handwritten digits, iris flowers, or wines by their chemistry."),
]
FilesOption = Annotated[
    bool,
    typer.Option("--files", help="Only write small example files, for every other command."),
]
IntoArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FOLDER]",
        help="With --files: where to write them; it is created if needed.",
        show_default=False,
    ),
]


@with_option_groups
def demo(
    into: IntoArgument = None,
    *,
    files: FilesOption = False,
    folder: FolderOption = Path(),
    data: ExampleOption = Example.digits,
    verbosity: Verbosity,
) -> None:
    """Cluster an example data set and write a report.

    Nothing is downloaded. Three files are written to the current folder, or to the folder given by
    -o: the data as soffit_demo_data.csv, the memberships as soffit_demo.csv, and the report as
    soffit_demo.html. With --files, small tables, pairs, a matrix, a graph and a picture are written
    instead, which the documentation uses.
    """
    if into is not None and not files:
        raise usage_error("A folder goes with --files, or after -o.", "FOLDER")
    if files:
        _write_files(verbosity.talk(), into or folder)
        return
    if not folder.is_dir():
        raise usage_error(f"There is no folder {folder}. Create it first.", "--output")
    talk = verbosity.talk()
    table = folder / "soffit_demo_data.csv"
    label, n_clusters = _write_data(data, table)
    outputs = Outputs(folder / "soffit_demo.csv", folder / "soffit_demo.html")
    source = read_source(talk, table, label=label)
    done = fit_model(talk, DEFAULT_METHOD, Settings(n_clusters), source)
    answer = {
        "command": "demo",
        "method": DEFAULT_METHOD,
        "model": METHODS[DEFAULT_METHOD].name,
    }
    present(talk, done, outputs, answer, label=label, hints=False)
    talk.say(
        f"Open {outputs.report} in a browser. Equivalent command: soffit fit {table} "
        f"-k {n_clusters} --label {label} --report report.html"
    )


def _write_files(talk: Talk, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise usage_error(f"{folder} is a file, not a folder.", "--files") from None
    written = write_example_files(folder)
    width = max(len(name) for name in written)
    talk.emit({"command": "demo", "folder": str(folder), "files": list(written)})
    talk.say(f"{len(written)} files in {folder}:")
    for name, words in written.items():
        talk.say(f"  {name:{width}}  {words}")
    talk.say(f"Try: soffit fit {folder / 'flowers.csv'} --id flower --label species")


def _write_data(example: Example, path: Path) -> tuple[str, int]:
    """Write the data as a table; returns the column of true classes and their number."""
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{example.value}")()
    label = {"digits": "digit", "iris": "species", "wine": "cultivar"}[example.value]
    names = [str(name).removesuffix(" (cm)").replace(" ", "_") for name in loaded.feature_names]
    groups = [str(name) for name in np.asarray(loaded.target_names)[loaded.target]]
    with (
        replaced(path) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as file,
    ):
        file.write(",".join([*names, label]) + "\n")
        for row, group in zip(loaded.data, groups, strict=True):
            file.write(",".join([*(f"{value:g}" for value in row), group]) + "\n")
    return label, len(loaded.target_names)


DEMO = Command(
    "demo",
    demo,
    ("soffit demo", "soffit demo --data iris -o results", "soffit demo --files examples"),
    LEARNING,
)
