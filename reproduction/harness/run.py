"""Run experiments: what is not yet there, in one or several processes, and write the reports."""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed, parallel_config

from benchmarks.datasets import data_home
from reproduction.harness.experiment import Experiment, Measured, Record, Results, Setup, Unit
from reproduction.harness.page import write_table
from reproduction.harness.pictures import PNG_HINT, png_works, write_pictures
from reproduction.harness.registry import find
from reproduction.harness.registry import names as names_of_all
from reproduction.harness.report import NO_DATA, Section
from reproduction.harness.store import Store
from soffit._version import __version__

_SUBFOLDERS = ("", "gagolews")


@dataclass(frozen=True)
class Event:
    """Something that happened while experiments ran.

    Attributes
    ----------
    kind : {"unit", "note", "report", "done"}
        A unit is finished; something to know; a report was written; nothing was left to do.
    experiment : str
        Name of the experiment.
    text : str
        Key of the unit, a sentence, or the folder of the report.
    finished, total : int
        Units of all experiments, those found on disk included.
    """

    kind: str
    experiment: str
    text: str
    finished: int
    total: int


Listener = Callable[[Event], Any]


@dataclass(eq=False)
class _Job:
    """An experiment on its way."""

    experiment: Experiment
    store: Store
    units: list[Unit]
    missing: tuple[str, ...]
    waiting: set[str]
    failed: dict[str, str]

    @property
    def records(self) -> list[Record]:
        found = (self.store.find(unit) for unit in self.units)
        return [record for record in found if record is not None]


def run(
    names: Sequence[str],
    out: str | os.PathLike[str],
    *,
    setup: Setup | None = None,
    jobs: int = 1,
    listener: Listener | None = None,
) -> list[Section]:
    """Run experiments and write their reports.

    Finished units are read from the folder of results, so that a run goes on where it stopped.

    Parameters
    ----------
    names : sequence of str
        Experiments, see `reproduction.harness.registry`.
    out : path
        Folder of results; it gets one folder for each experiment.
    setup : Setup, optional
        Runs, data, and whether to be quick.
    jobs : int, default 1
        Processes.
    listener : callable, optional
        Called with an `Event` whenever something happened.

    Returns
    -------
    list of Section
        The reports, in the order of the names.
    """
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}.")
    setup = setup or Setup()
    folder = Path(out)
    tell = _Teller(listener)
    prepared = [_prepare(find(name), folder, setup, tell) for name in names]
    tell.total = sum(len(job.units) for job in prepared)
    tell.finished = tell.total - sum(len(job.waiting) for job in prepared)
    ready = [job for job in prepared if not job.waiting]
    sections = {job.experiment.name: _finish(job, setup, tell) for job in ready}
    for job, unit, measured, seconds in _measured(prepared, setup, jobs, tell):
        if measured is not None:
            job.store.add(unit, measured, seconds)
        job.waiting.discard(unit.key)
        tell.finished += 1
        tell("unit", job, unit.key)
        if not job.waiting:
            sections[job.experiment.name] = _finish(job, setup, tell)
    return [sections[job.experiment.name] for job in prepared]


def kept_sections(out: str | os.PathLike[str]) -> list[Section]:
    """The reports in a folder of results, in the order of the table of experiments."""
    stores = (Store(Path(out) / name, find(name)) for name in names_of_all())
    found = (store.section() for store in stores)
    return [section for section in found if section is not None]


class _Teller:
    """Tells the listener, if there is one."""

    def __init__(self, listener: Listener | None) -> None:
        self._listener = listener
        self.finished = self.total = 0

    def __call__(self, kind: str, job: _Job, text: str) -> None:
        if self._listener is not None:
            name = job.experiment.name
            self._listener(Event(kind, name, text, self.finished, self.total))


def _prepare(experiment: Experiment, folder: Path, setup: Setup, tell: _Teller) -> _Job:
    """Plan an experiment, without the units whose data are missing."""
    planned = list(experiment.plan(setup))
    home = data_home() if setup.data is None else setup.data
    wanted = dict.fromkeys(name for unit in planned for name in unit.needs)
    missing = tuple(name for name in wanted if not _is_there(name, home))
    units = [unit for unit in planned if not set(unit.needs) & set(missing)]
    store = Store(folder / experiment.name, experiment)
    waiting = {unit.key for unit in units if store.find(unit) is None}
    job = _Job(experiment, store, units, missing, waiting, {})
    if missing:
        tell("note", job, f"not in {home}, so left out: {', '.join(missing)}.")
    return job


def _is_there(name: str, home: Path) -> bool:
    return any((home / sub / f"{name}.npz").is_file() for sub in _SUBFOLDERS)


# --- the work ---------------------------------------------------------------------------------

_Outcome = tuple[_Job, Unit, Measured | None, float]


def _measured(
    prepared: Sequence[_Job], setup: Setup, jobs: int, tell: _Teller
) -> Iterator[_Outcome]:
    """Units as they are finished; one that failed has no result and is tried again next time."""
    tasks = [(job, units) for job in prepared for units in _portions(job)]
    # Several processes share the cores, so that each has one thread.
    with parallel_config("loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
    answers = parallel(
        delayed(_measure)(number, job.experiment.name, units, setup)
        for number, (job, units) in enumerate(tasks)
    )
    for answer in answers:
        yield from _outcomes(*tasks[answer.number], answer, tell)


def _portions(job: _Job) -> Iterator[list[Unit]]:
    """Units that are left, alone or with those they are measured together with."""
    left = (unit for unit in job.units if unit.key in job.waiting)
    for _, portion in groupby(left, key=lambda unit: unit.together or unit.key):
        yield list(portion)


class _Answer(NamedTuple):
    """What a process found: results, seconds of each, and why they failed."""

    number: int
    measured: Sequence[Measured | None]
    seconds: float
    reason: str


def _measure(number: int, name: str, units: Sequence[Unit], setup: Setup) -> _Answer:
    """Measure units, here or in another process."""
    experiment = find(name)
    measured: Sequence[Measured | None]
    began, reason = time.perf_counter(), ""
    try:
        with warnings.catch_warnings():
            # Few iterations or empty clusters are part of what is measured.
            warnings.simplefilter("ignore")
            if units[0].together and experiment.measure_together is not None:
                measured = experiment.measure_together(units, setup)
            else:
                measured = [experiment.measure(unit, setup) for unit in units]
    except (ValueError, ArithmeticError, MemoryError, ImportError, OSError) as error:
        measured = [None] * len(units)
        reason = " ".join(str(error).split()) or type(error).__name__
    return _Answer(number, measured, (time.perf_counter() - began) / len(units), reason)


def _outcomes(
    job: _Job, units: Sequence[Unit], answer: _Answer, tell: _Teller
) -> Iterator[_Outcome]:
    for unit, measured in zip(units, answer.measured, strict=True):
        if measured is None:
            job.failed[unit.key] = answer.reason
            tell("note", job, f"{unit.key} failed: {answer.reason}")
        yield job, unit, measured, answer.seconds


# --- the report -------------------------------------------------------------------------------


def _finish(job: _Job, setup: Setup, tell: _Teller) -> Section:
    """Write table, runs and figures, unless they are there already."""
    records = job.records
    fingerprint = _fingerprint(job, setup)
    kept = job.store.section()
    if kept is not None and kept.fingerprint == fingerprint and _is_whole(kept, job.store.folder):
        tell("done", job, str(job.store.folder))
        return kept
    section = _no_data(job, fingerprint)
    if records:
        section = _write(job, Results(setup, records, job.missing), fingerprint, tell)
    job.store.folder.mkdir(parents=True, exist_ok=True)
    job.store.write_runs(records)
    write_table(section, job.store.folder)
    job.store.write_section(section)
    tell("report", job, str(job.store.folder))
    return section


def _write(job: _Job, results: Results, fingerprint: str, tell: _Teller) -> Section:
    report = job.experiment.report(results)
    png = png_works()
    if report.pictures and not png:
        tell("note", job, PNG_HINT)
    files = write_pictures(report.pictures, job.store.folder, png=png)
    hours = sum(record.seconds for record in results) / 60
    summary = f"{len(results)} units, {hours:.1f} minutes of computing, soffit {__version__}"
    if results.setup.quick:
        summary += "; a quick version on parts of the data, whose numbers mean little"
    return Section(
        name=job.experiment.name,
        paper=job.experiment.paper,
        title=job.experiment.title,
        reading=report.reading,
        findings=report.findings,
        tables=report.tables,
        pictures=files,
        fingerprint=fingerprint,
        summary=summary,
        remarks=_remarks(job),
    )


def _no_data(job: _Job, fingerprint: str) -> Section:
    """The report of an experiment of which nothing could be run."""
    return Section(
        name=job.experiment.name,
        paper=job.experiment.paper,
        title=job.experiment.title,
        reading=f"Not run: {NO_DATA}." if job.missing else "Not run.",
        findings=(),
        tables=(),
        pictures=(),
        fingerprint=fingerprint,
        summary="nothing was run",
        remarks=_remarks(job),
    )


def _remarks(job: _Job) -> tuple[str, ...]:
    remarks = [f"Left out, as the data are missing: {', '.join(job.missing)}."] * bool(job.missing)
    remarks += [f"{key} failed: {reason}" for key, reason in job.failed.items()]
    return tuple(remarks)


def _fingerprint(job: _Job, setup: Setup) -> str:
    """Of all that the report was made of; with a failed unit it is never the same again."""
    done = sorted(job.experiment.digest(record.unit) for record in job.records)
    parts = [__version__, str(setup.quick), *job.missing, *done]
    parts += [str(time.time())] * bool(job.failed)
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


def _is_whole(section: Section, folder: Path) -> bool:
    if not all(picture.png for picture in section.pictures) and png_works():
        return False
    wanted = ["table.md", "runs.csv", *(picture.html for picture in section.pictures)]
    wanted += [picture.png for picture in section.pictures if picture.png]
    return all((folder / name).is_file() for name in wanted)
