"""Tables as plain text, written and read without soffit."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any


def write_csv(path: Path, names: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([names, *rows])


def rows_of(path: Path, separator: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter=separator))
