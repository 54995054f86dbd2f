"""Results on disk: finished units are never run again."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.harness.experiment import Experiment, Measured, Record, Unit
from reproduction.harness.report import Section


class Store:
    """The folder of one experiment.

    `units.jsonl` has one line for each finished unit, appended as soon as it is finished; its
    arrays are in `arrays/`. A line cut short by a crash is passed over.
    """

    def __init__(self, folder: Path, experiment: Experiment) -> None:
        self.folder = folder
        self._experiment = experiment
        self._lines = folder / "units.jsonl"
        self._section = folder / "report.json"
        self._done = dict(_read_lines(self._lines))

    def find(self, unit: Unit) -> Record | None:
        """The finished unit, if there is one."""
        digest = self._experiment.digest(unit)
        line = self._done.get(digest)
        if line is None:
            return None
        path = self._arrays(digest) if line["arrays"] else None
        if path is not None and not path.is_file():
            return None
        return Record(unit, line["values"], line["seconds"], path)

    def add(self, unit: Unit, measured: Measured, seconds: float) -> None:
        """Keep a finished unit."""
        digest = self._experiment.digest(unit)
        self.folder.mkdir(parents=True, exist_ok=True)
        if measured.arrays:
            self._arrays(digest).parent.mkdir(exist_ok=True)
            arrays: dict[str, Any] = dict(measured.arrays)
            np.savez_compressed(self._arrays(digest), **arrays)
        line = {
            "digest": digest,
            "key": unit.key,
            "settings": dict(unit.settings),
            "values": {name: _plain(value) for name, value in measured.values.items()},
            "seconds": round(seconds, 3),
            "arrays": bool(measured.arrays),
        }
        with self._lines.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self._done[digest] = line

    def write_runs(self, records: Sequence[Record]) -> None:
        """Write `runs.csv`: one row for each unit, with its settings and values."""
        rows = [
            {"unit": record.unit.key}
            | {name: _cell(value) for name, value in record.unit.settings.items()}
            | {name: _cell(value) for name, value in record.values.items()}
            | {"seconds": record.seconds}
            for record in records
        ]
        columns = list(dict.fromkeys(name for row in rows for name in row))
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / "runs.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def section(self) -> Section | None:
        """The report as it was last written, if it can be read."""
        try:
            return Section.from_json(json.loads(self._section.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write_section(self, section: Section) -> None:
        """Keep the report."""
        text = json.dumps(section.to_json(), indent=1, ensure_ascii=False)
        self._section.write_text(text + "\n", encoding="utf-8")

    def _arrays(self, digest: str) -> Path:
        return self.folder / "arrays" / f"{digest}.npz"


def _read_lines(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    if not path.is_file():
        return
    with path.open(encoding="utf-8") as file:
        for text in file:
            try:
                line = json.loads(text)
                yield line["digest"], line
            except (ValueError, KeyError, TypeError):
                continue


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    return value.item() if isinstance(value, np.generic) else value


def _cell(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, (list, tuple, dict)) else value
