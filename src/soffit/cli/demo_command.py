"""`soffit demo`: a first look, on example files made here or from data of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from soffit._atomic import replaced
from soffit.cli.console import Talk, usage_error
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


def write_example_files(folder: Path) -> dict[str, str]:
    """Write all files to a folder; returns what each of them holds, by name.

    Pictures need Pillow, as `soffit segment` does; without it they are left out.
    """
    files = _FILES if find_spec("PIL") is None else _FILES | _PICTURES
    for name, (write, _) in files.items():
        with replaced(folder / name) as temporary:
            write(temporary)
    return {name: words for name, (_, words) in files.items()}


def _save(path: Path, lines: Iterable[str], encoding: str = "utf-8") -> None:
    path.write_text("\n".join([*lines, ""]), encoding=encoding, newline="\n")


# --- tables ---------------------------------------------------------------------------------------

_LENGTHS = ("sepal_length", "sepal_width", "petal_length", "petal_width")


def _iris() -> Any:
    from sklearn.datasets import load_iris

    return load_iris()


def _flowers(path: Path) -> None:
    iris = _iris()
    lines = [",".join(["flower", *_LENGTHS, "species"])]
    for number, (row, kind) in enumerate(zip(iris.data, iris.target, strict=True)):
        cells = [f"F{number:03d}", *(f"{value:g}" for value in row), str(iris.target_names[kind])]
        lines.append(",".join(cells))
    _save(path, lines)


def _new_flowers(path: Path) -> None:
    """Twelve flowers a little beside known ones, and one like none of them."""
    rng = np.random.default_rng(1223)
    rows = _iris().data[::12][:12] + rng.normal(0, 0.05, (12, 4))
    lines = [",".join(["flower", *_LENGTHS])]
    for number, row in enumerate([*rows, np.array([15.0, 9.0, 1.0, 6.0])]):
        lines.append(",".join([f"N{number:02d}", *(f"{value:.2f}" for value in row)]))
    _save(path, lines)


def _pairs(path: Path, pairs: Sequence[tuple[int, int]]) -> None:
    _save(path, (f"F{first:03d},F{second:03d}" for first, second in pairs))


def _patients(path: Path) -> None:
    """A spreadsheet export: semicolons, decimal commas, a legacy encoding, missing values."""
    rng = np.random.default_rng(1213)
    lines = ["patient;weight;height;smoker;city;group"]
    for number in range(80):
        ill = number % 2
        weight = "" if number in (5, 17, 40) else f"{rng.normal(60 + 30 * ill, 3):.1f}"
        height = f"{rng.normal(1.6 + 0.3 * ill, 0.03):.2f}"
        smoker, city = ("no", "yes", "yes")[number % 3], ("Ulm", "Köln", "Bonn")[number % 3]
        cells = [f"P-{number:03d}", weight, height, smoker, city, "AB"[ill]]
        lines.append(";".join(cells).replace(".", ","))
    _save(path, lines, encoding="cp1252")


def _prices(path: Path) -> None:
    """Numbers as people write them: thousands, units, percent, negative ones in parentheses."""
    rng = np.random.default_rng(1217)
    lines = ["article;price;weight;margin"]
    for number in range(40):
        group = number % 2
        price = int(rng.integers(1100, 1300)) + 7100 * group
        weight = f"{rng.normal(3.7 + 5.4 * group, 0.1):.2f} kg".replace(".", ",")
        share = rng.normal(12 - 16 * group, 1)
        margin = f"{abs(share):.1f}".replace(".", ",")
        margin = f"({margin}) %" if share < 0 else f"{margin} %"
        lines.append(f"a-{number:02d};{price // 1000}.{price % 1000:03d};{weight};{margin}")
    _save(path, lines)


_MESSAGES = (
    (
        "The parcel arrived three days late.",
        "The courier left the parcel with a neighbour.",
        "Tracking shows no delivery since Monday.",
        "The delivery came on the wrong day.",
        "The box was open when the courier brought it.",
        "I waited at home and no courier came.",
        "Where is my parcel, the tracking stands still?",
    ),
    (
        "The invoice shows the wrong amount.",
        "My card was charged twice for one order.",
        "I have not received the refund yet.",
        "The discount is missing on the invoice.",
        "Please send the refund to my card.",
        "The amount on my account does not match the invoice.",
        "Payment by card was refused twice.",
    ),
    (
        "The screen stays dark after charging.",
        "The battery lasts two hours at most.",
        "The charger gets hot and the battery stays empty.",
        "One key of the keyboard does not work.",
        "The screen flickers when the battery is low.",
        "The keyboard and the screen have scratches.",
        "It does not start, with or without the charger.",
    ),
)


def _messages(path: Path, numbers: range = range(60)) -> None:
    """Messages of customers, each of three sentences about one of three things, no two alike."""
    rng = np.random.default_rng(1237)
    mixed = [rng.permutation(list(combinations(sentences, 3))) for sentences in _MESSAGES]
    lines = ["message,text"]
    for number in numbers:
        lines.append(f'M{number:02d},"{" ".join(mixed[number % 3][number // 3])}"')
    _save(path, lines)


# --- matrices and graphs --------------------------------------------------------------------------


def _distances(path: Path) -> None:
    """Travel times between thirty places in three regions, with their names."""
    rng = np.random.default_rng(1229)
    places = np.repeat([(0.0, 0.0), (90.0, 20.0), (40.0, 80.0)], 10, axis=0)
    places = places + rng.normal(0, 12, (30, 2))
    minutes = np.sqrt(((places[:, None] - places[None]) ** 2).sum(axis=-1)).round(1)
    names = [f"place_{number:02d}" for number in range(30)]
    lines = [",".join(["place", *names])]
    for name, row in zip(names, minutes, strict=True):
        lines.append(",".join([name, *(f"{value:g}" for value in row)]))
    _save(path, lines)


def _mails(path: Path) -> None:
    """How often 60 people of three departments write to each other; some work in two of them."""
    rng = np.random.default_rng(1231)
    department = np.repeat([0, 1, 2], 20)
    lines = ["source,target,weight"]
    for first in range(60):
        for second in range(first + 1, 60):
            near = department[first] == department[second]
            between = first % 20 == 0 and abs(department[first] - department[second]) == 1
            count = rng.poisson(1.5 if near else 0.7 if between else 0.04)
            if count:
                lines.append(f"p{first:02d},p{second:02d},{count}")
    _save(path, lines)


# --- pictures -------------------------------------------------------------------------------------

_SIZE = (240, 160)


def _photo(path: Path) -> None:
    from PIL import Image
    from sklearn.datasets import load_sample_image

    Image.fromarray(load_sample_image("flower.jpg")).resize(_SIZE).save(path)


def _strokes(path: Path) -> None:
    """Two strokes: red in the flower, blue in the background."""
    from PIL import Image

    marks = np.zeros((_SIZE[1], _SIZE[0], 3), dtype=np.uint8)
    marks[70:80, 120:150] = (255, 0, 0)
    marks[5:10, 10:230] = (0, 0, 255)
    Image.fromarray(marks).save(path)


_Writer = Callable[[Path], None]
_FILES: dict[str, tuple[_Writer, str]] = {
    "flowers.csv": (_flowers, "150 iris flowers, with their species"),
    "new_flowers.csv": (_new_flowers, "13 more, one of them like no other"),
    "together.csv": (
        lambda path: _pairs(path, [(50, 77), (70, 72), (126, 133)]),
        "pairs of flowers that belong together",
    ),
    "apart.csv": (
        lambda path: _pairs(path, [(77, 101), (70, 126)]),
        "pairs of flowers that do not",
    ),
    "patients.csv": (_patients, "a spreadsheet export with decimal commas, text and gaps"),
    "prices.csv": (_prices, "numbers with units, percent signs and thousands separators"),
    "distances.csv": (_distances, "travel times between 30 places"),
    "messages.csv": (_messages, "60 messages of customers"),
    "new_messages.csv": (lambda path: _messages(path, range(60, 66)), "six more"),
    "mails.csv": (_mails, "who writes to whom: the edges of a graph"),
}
_PICTURES: dict[str, tuple[_Writer, str]] = {
    "photo.png": (_photo, "a photograph"),
    "strokes.png": (_strokes, "strokes that guide its segmentation"),
}
