"""What an experiment is: units of work, and a report made of their results."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from reproduction.harness.report import Report

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Setup:
    """What the user chose for all experiments.

    Attributes
    ----------
    runs : int or None
        Repetitions of everything random; None takes those of the paper.
    quick : bool
        A few runs on parts of the data, to see that all works; its numbers mean little.
    data : Path or None
        Folder of the data sets, `benchmarks.datasets.data_home()` by default.
    """

    runs: int | None = None
    quick: bool = False
    data: Path | None = None

    def n_runs(self, published: int, quick: int = 2) -> int:
        """Repetitions to make, of an experiment that was published with so many."""
        if self.runs is not None:
            return self.runs
        return min(quick, published) if self.quick else published


@dataclass(frozen=True)
class Unit:
    """A piece of work that depends on no other one.

    Attributes
    ----------
    key : str
        Its name, unique in the experiment, such as "iris/SoF/07".
    settings : mapping
        All that decides the result, as JSON knows it: set, method, parameters, seed, subsample.
    needs : tuple of str
        Data sets it reads; where one is missing, the unit is left out.
    together : str
        Neighbours in the plan with the same word here are measured in one call, because that is
        quicker. Their results are kept one by one.
    """

    key: str
    settings: Mapping[str, Any]
    needs: tuple[str, ...] = ()
    together: str = ""


@dataclass(frozen=True, eq=False)
class Measured:
    """What a unit found: numbers and words for the table of runs, arrays for figures."""

    values: Values
    arrays: Mapping[str, np.ndarray[Any, Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Record:
    """A finished unit."""

    unit: Unit
    values: Values
    seconds: float
    path: Path | None = None

    @cached_property
    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Arrays of the unit, read when they are first asked for."""
        if self.path is None:
            return {}
        with np.load(self.path, allow_pickle=False) as file:
            return {name: file[name] for name in file.files}


@dataclass(frozen=True, eq=False)
class Results:
    """Finished units in the order of the plan.

    Attributes
    ----------
    setup : Setup
        The choices under which they were made.
    records : sequence of Record
        The units.
    missing : tuple of str
        Data sets that were not there.
    """

    setup: Setup
    records: Sequence[Record]
    missing: tuple[str, ...] = ()

    def where(self, **settings: Any) -> list[Record]:
        """Records whose settings have these values."""
        return [
            record
            for record in self.records
            if all(record.unit.settings.get(name) == value for name, value in settings.items())
        ]

    def column(self, value: str, **settings: Any) -> np.ndarray[Any, Any]:
        """One value of all records whose settings have these values."""
        return np.array([record.values[value] for record in self.where(**settings)])

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True)
class Experiment:
    """A table or a figure of a paper, and how it is made again.

    Attributes
    ----------
    name : str
        What the user types, such as "sof-tables".
    paper : str
        Short reference.
    title : str
        One line.
    plan : callable
        From the setup to the units.
    measure : callable
        From a unit and the setup to what it found; runs in another process.
    report : callable
        From the results to the report; runs whenever results are new.
    measure_together : callable or None
        From units that are to be measured together to what each of them found.
    version : int
        Raised when `measure` changes what it finds, so that old results are not used.
    """

    name: str
    paper: str
    title: str
    plan: Callable[[Setup], Sequence[Unit]]
    measure: Callable[[Unit, Setup], Measured]
    report: Callable[[Results], Report]
    measure_together: Callable[[Sequence[Unit], Setup], Sequence[Measured]] | None = None
    version: int = 1

    def digest(self, unit: Unit) -> str:
        """Name of a unit's result: another one whenever key, settings or version differ."""
        what = [self.name, self.version, unit.key, dict(unit.settings)]
        text = json.dumps(what, sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:20]
