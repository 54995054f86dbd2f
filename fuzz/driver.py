"""Hand cases to workers, count outcomes, and notice workers that crash or hang."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fuzz.suites import SUITES

_ROOT = Path(__file__).resolve().parents[1]
_TICKS = os.sysconf("SC_CLK_TCK")
# A hang that waits and does not compute ends after this many times the patience, on the clock.
_WAITING = 6.0
# Workers are replaced now and then, so that a leak of one does not hide.
_CASES_PER_WORKER = 2000


@dataclass
class Tally:
    """What happened so far."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    checked: int = 0
    # Seconds of processor time of each suite, all processes together.
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def n_cases(self) -> int:
        """The number of cases that ended."""
        return sum(self.outcomes.values())

    def add(
        self, name: str, seed: int, outcome: str, violation: str, *, bounds: bool, seconds: float
    ) -> None:
        """Count one case."""
        with self.lock:
            self.outcomes[name, outcome] += 1
            self.seconds[name] += seconds
            self.checked += bounds
            if violation:
                repeat = f"python -m fuzz --only '{name}' --seed {seed} --cases 1 --exact"
                text = f"{name}: {violation}\n    {repeat}"
                self.violations.append(text)
                print(f"VIOLATION {text}", flush=True)


class Worker:
    """A process that runs cases, started anew after a crash."""

    def __init__(self, *, bounds: bool, log: Path) -> None:
        self.bounds = bounds
        self._log = log
        self._process: subprocess.Popen[str] | None = None
        self._done = 0
        # Processor time of the last case.
        self.seconds = 0.0

    def run(self, name: str, seed: int) -> tuple[str, str]:
        """The outcome of a case, and the violation if there is one."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        started, used = time.monotonic(), _cpu_seconds(process.pid)
        hung = threading.Event()
        over = threading.Event()

        def watch() -> None:
            patience = SUITES[name].patience * (3 if self.bounds else 1)
            while not over.wait(0.5):
                computed = self.seconds = _cpu_seconds(process.pid) - used
                waited = time.monotonic() - started
                if computed > patience or waited > _WAITING * patience:
                    hung.set()
                    # It tells the log where it is.
                    process.send_signal(signal.SIGUSR1)
                    over.wait(1.0)
                    process.kill()
                    return

        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            process.stdin.write(json.dumps([name, seed]) + "\n")
            process.stdin.flush()
            reply = process.stdout.readline()
        except BrokenPipeError:
            reply = ""
        over.set()
        watcher.join()
        if reply:
            self.seconds = _cpu_seconds(process.pid) - used
        self._done += 1
        if not reply:
            code = process.wait()
            self._forget()
            if hung.is_set():
                waited = time.monotonic() - started
                what = f"no end after {waited:.0f} s, {self.seconds:.1f} s of processor time"
                return "hang", f"{what}: {self._last_words()}"
            return "crash", f"the process ended with code {code}: {self._last_words()}"
        if self._done >= _CASES_PER_WORKER:
            self.close()
        found = json.loads(reply)
        violation = found.get("violation", "")
        return ("violation" if violation else found["outcome"]), violation

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait()
            self._forget()

    def _forget(self) -> None:
        """Close the pipes of a process that has ended."""
        assert self._process is not None
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
        self._process = None
        self._done = 0

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            environment = {
                **os.environ,
                "PYTHONFAULTHANDLER": "1",
                "OMP_NUM_THREADS": "2",
                "OPENBLAS_NUM_THREADS": "1",
                "NUMBA_NUM_THREADS": "2",
                "PYTHONPATH": os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")]),
            }
            if self.bounds:
                # Compiled code is cached: with checks it needs a place of its own.
                cache = _ROOT / "build" / "fuzz" / "checked-kernels"
                cache.mkdir(parents=True, exist_ok=True)
                environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(cache)}
            with self._log.open("w") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "fuzz.worker"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    env=environment,
                    cwd=_ROOT,
                )
            self._process.stdout.readline()  # type: ignore[union-attr]
        return self._process

    def _last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines()
        signs = ("File", "Fatal", "Thread", "Current thread")
        here = [line.strip() for line in lines if line.strip().startswith(signs)]
        return " | ".join(here[:12])[-1500:]


def run_all(
    *,
    seconds: float,
    cases: int,
    seed: int,
    jobs: int,
    only: list[str],
    checked: int = 9,
    exact: bool = False,
) -> Tally:
    """Run cases until the time or the number of cases is over; every n-th with checked indices."""
    tally = Tally()
    end = time.monotonic() + seconds
    names = only or list(SUITES)
    shares = np.array([SUITES[name].share for name in names])
    folder = _ROOT / "build" / "fuzz"
    folder.mkdir(parents=True, exist_ok=True)

    def work(number: int) -> None:
        plain = Worker(bounds=False, log=folder / f"worker-{os.getpid()}-{number}.log")
        careful = Worker(bounds=True, log=folder / f"careful-{os.getpid()}-{number}.log")
        for count in range(number, cases, jobs):
            if time.monotonic() > end:
                break
            rng = np.random.default_rng([seed, count])
            name = str(rng.choice(names, p=shares / shares.sum()))
            one = seed if exact else int(rng.integers(2**40))
            worker = careful if checked and count // jobs % checked == checked - 1 else plain
            outcome, violation = worker.run(name, one)
            tally.add(name, one, outcome, violation, bounds=worker.bounds, seconds=worker.seconds)
        plain.close()
        careful.close()

    threads = [threading.Thread(target=work, args=(number,)) for number in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def _cpu_seconds(pid: int) -> float:
    """Processor time of a process and of those that it started and that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS
