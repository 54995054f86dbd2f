"""`soffit demo`: a first look, on an example data set."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from soffit._atomic import replaced
from soffit.cli.error_messages import usage_error
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


@with_option_groups
def demo(
    *,
    folder: FolderOption = Path(),
    data: ExampleOption = Example.digits,
    verbosity: Verbosity,
) -> None:
    """Cluster an example data set and write a report.

    Nothing is downloaded. Three files are written to the current folder, or to the folder given by
    -o: the data as soffit_demo_data.csv, the memberships as soffit_demo.csv, and the report as
    soffit_demo.html.
    """
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


DEMO = Command("demo", demo, ("soffit demo", "soffit demo --data iris -o results"), LEARNING)
