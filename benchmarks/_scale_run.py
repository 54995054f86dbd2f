"""Runs a task of scale.py in a process of its own, which ends at a limit of time or memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import shorten
from time import monotonic, sleep
from typing import Any

GB = 1e9
# Seconds between two looks at a process, and those for drawing its data and the warm-up.
PACE, SETUP = 0.1, 900.0
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


@dataclass(frozen=True)
class Task:
    """What one process does: see the kinds in `_scale_child`."""

    kind: str
    method: str = ""
    data: str = ""
    n: int = 0
    k: int = 0
    threads: int = 2
    search: str = "default"
    new: int = 0
    file: str = ""
    again: int = 0

    def __str__(self) -> str:
        words = [self.method or self.kind, self.data, f"n={self.n:.3g}" if self.n else ""]
        words += [f"k={self.k}" if self.k else "", f"{self.threads} thread(s)"]
        words += [self.search if self.search != "default" else ""]
        return ", ".join(word for word in words if word)


@dataclass(frozen=True)
class Outcome:
    """What a process reported, or why it did not end; `status` is "done" if it did."""

    status: str
    limit: float = 0.0
    result: dict[str, Any] = field(default_factory=dict)
    phases: list[list[Any]] = field(default_factory=list)
    peak: float = 0.0
    when: str = ""

    @property
    def done(self) -> bool:
        return self.status == "done"

    @property
    def late(self) -> bool:
        return self.status == "time"

    @property
    def seconds(self) -> float:
        """Time taken; the limit where that was reached."""
        return float(self.result["seconds"]) if self.done else self.limit

    def figure(self, name: str) -> float | None:
        value = self.result.get(name)
        return None if value is None else float(value)

    def time_text(self) -> str:
        if self.done:
            return seconds_text(self.seconds)
        return f"> {self.limit:g} s" if self.late else shorten(self.status, 80)

    def memory_text(self) -> str:
        """The peak; of an unfinished process, as far as it came."""
        peak = self.result.get("peak", self.peak)
        if not peak:
            return "-"
        return f"{'' if self.done else '> '}{peak / GB:.2f} GB"


def seconds_text(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds < 100 else f"{seconds:.0f} s"


class Runner:
    """Runs tasks one after the other and tells how far it is.

    Results that are kept in a file are not measured again: an interrupted run can go on.
    """

    def __init__(self, module: str, *, memory: float, kept: Path | None = None) -> None:
        self._module = module
        self._memory = memory * GB
        self._kept = kept
        self._known: dict[str, dict[str, Any]] = {}
        if kept is not None and kept.exists():
            self._known = json.loads(kept.read_text(encoding="utf-8"))

    def run(self, task: Task, limit: float) -> Outcome:
        # Graphs that are passed by file lie in another folder every time.
        key = json.dumps(asdict(task) | {"file": "", "limit": limit})
        if key in self._known and task.kind not in ("build", "prime"):
            return Outcome(**self._known[key])
        print(f"{task} ...", end=" ", file=sys.stderr, flush=True)
        outcome = self._measure(task, limit)
        text = outcome.status if outcome.status.startswith("failed") else outcome.time_text()
        print(f"{text}, {outcome.memory_text()}", file=sys.stderr, flush=True)
        self._known[key] = asdict(outcome)
        if self._kept is not None:
            self._kept.write_text(json.dumps(self._known, indent=1), encoding="utf-8")
        return outcome

    def _measure(self, task: Task, limit: float) -> Outcome:
        with TemporaryDirectory() as folder:
            report, errors = Path(folder) / "report", Path(folder) / "errors"
            report.touch()
            text = json.dumps(asdict(task) | {"report": str(report)})
            environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(task.threads))
            with errors.open("w") as stream:
                # A group of its own, so that what a method starts itself ends with it.
                process = subprocess.Popen(
                    [sys.executable, "-m", self._module, "--task", text],
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=stream,
                    start_new_session=True,
                )
                cut, peak = self._watch(process, report, limit)
            return _outcome(report, errors, cut, peak, limit)

    def _watch(
        self, process: subprocess.Popen[bytes], report: Path, limit: float
    ) -> tuple[str, float]:
        """Wait for the end, or bring it about; why, if so, and the peak of its memory."""
        cut, deadline, started = "", monotonic() + SETUP, False
        try:
            while True:
                number, status, usage = os.wait4(process.pid, os.WNOHANG)
                if number:
                    process.returncode = os.waitstatus_to_exitcode(status)
                    return cut, usage.ru_maxrss * (1.0 if sys.platform == "darwin" else 1024.0)
                if not started and '"began"' in report.read_text(encoding="utf-8"):
                    started, deadline = True, monotonic() + limit
                if not cut and monotonic() > deadline:
                    cut = "time" if started else "data not drawn in time"
                    _end(process)
                elif not cut and _resident(process.pid) > self._memory:
                    cut = f"> {self._memory / GB:g} GB"
                    _end(process)
                sleep(PACE)
        except BaseException:
            _end(process)
            raise


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _resident(pid: int) -> float:
    """Bytes of a process in memory now; 0 where the system has no such file."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0.0
    return float(pages * os.sysconf("SC_PAGE_SIZE"))


def _outcome(report: Path, errors: Path, cut: str, peak: float, limit: float) -> Outcome:
    # What follows the last end of line was cut off with the process.
    whole = report.read_text(encoding="utf-8").split("\n")[:-1]
    entries = [json.loads(line) for line in whole]
    result = next((entry["result"] for entry in entries if "result" in entry), None)
    # Of several runs, the phases of the one that is reported.
    reported = 0 if result is None else result.get("number", 0)
    phases = [entry for entry in entries if "phase" in entry and entry["number"] == reported]
    begun = [(entry["phase"], entry["at"]) for entry in phases]
    if result is not None:
        status, end = "done", result["seconds"]
    elif cut:
        status, end = cut, limit
    else:
        said = next((entry["error"] for entry in entries if "error" in entry), "")
        lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        status, end = f"failed: {said or (lines[-1] if lines else 'ended by the system')}", 0.0
    when = datetime.now().isoformat(timespec="minutes")
    return Outcome(status, limit, result or {}, _durations(begun, end), peak, when)


def _durations(begun: list[tuple[str, float]], end: float) -> list[list[Any]]:
    """Seconds of each phase, in order; equal names are added up."""
    total: dict[str, float] = {"input": begun[0][1]} if begun else {}
    ends = [*(at for _, at in begun), end][1:]
    for (phase, at), until in zip(begun, ends, strict=True):
        total[phase] = total.get(phase, 0.0) + max(until - at, 0.0)
    return [[phase, seconds] for phase, seconds in total.items()]
