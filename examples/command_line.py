"""Run the commands shown in the documentation, and update their output in the pages.

Every ```console block of the pages below begins with a command after `$`. All commands run in one
folder, page by page, with a few files created here; the pages are then rewritten.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory

import networkx as nx
import numpy as np
from PIL import Image
from sklearn.datasets import load_sample_image

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("docs/command_line.md", "README.md")
BLOCK = re.compile(r"^```console\n\$ (.*)\n(?:.*\n)*?```$", re.MULTILINE)
WIDTH = 98


def write_patients(path: Path) -> None:
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
    path.write_text("\n".join([*lines, ""]), encoding="cp1252")


def write_prices(path: Path) -> None:
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
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def write_karate(path: Path) -> None:
    """The members of a karate club and how often they met."""
    edges = nx.karate_club_graph().edges(data="weight")
    lines = ["source,target,weight", *(f"m{a},m{b},{weight}" for a, b, weight in edges)]
    path.write_text("\n".join([*lines, ""]), encoding="utf-8")


def write_photo(path: Path) -> None:
    """A photograph from scikit-learn, reduced in size."""
    Image.fromarray(load_sample_image("flower.jpg")).resize((320, 213)).save(path)


def printed(command: str, folder: Path) -> str:
    """The output of a command, including errors and notes, wrapped to the width of the page."""
    # `python` and `soffit` of this environment come first.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": path, "PYTHONIOENCODING": "utf-8"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    try:
        text = done.stdout.decode("utf-8")
    except UnicodeDecodeError:
        text = done.stdout.decode("cp1252")
    return "\n".join(part for line in text.rstrip().splitlines() for part in _wrapped(line))


def _wrapped(line: str) -> list[str]:
    """Wrap sentences; leave tables, trees and data as they are."""
    is_sentence = re.match(r"[A-Z]|\d+ \w+ ", line) is not None
    return textwrap.wrap(line, WIDTH) if is_sentence else [line.rstrip()]


def main() -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_patients(folder / "patients.csv")
        write_prices(folder / "prices.csv")
        write_karate(folder / "karate.csv")
        write_photo(folder / "photo.png")
        for page in PAGES:
            path = ROOT / page
            text = path.read_text(encoding="utf-8")
            new = BLOCK.sub(
                lambda found: f"```console\n$ {found[1]}\n{printed(found[1], folder)}\n```", text
            )
            path.write_text(new, encoding="utf-8", newline="\n")
            print(f"{page}: {len(BLOCK.findall(text))} commands")


if __name__ == "__main__":
    main()
