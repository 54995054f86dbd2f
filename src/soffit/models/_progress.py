"""Progress on standard error, for those who ask for it."""

from __future__ import annotations

import sys
import time


class Progress:
    """Tells phases (verbose=1) and iterations (verbose=2) with the time they took."""

    def __init__(self, name: str, verbose: int) -> None:
        self._name = name
        self._verbose = verbose
        self._begin = time.perf_counter()

    def phase(self, what: str) -> None:
        """Say that a phase begins."""
        self._write(1, what)

    def iteration(self, number: int, objective: float) -> None:
        """Say how far a solver has come."""
        self._write(2, f"iteration {number}, objective {objective:.8g}")

    def finish(self, what: str) -> None:
        """Say that all is done."""
        self._write(1, f"done: {what}")

    def _write(self, level: int, text: str) -> None:
        if self._verbose >= level:
            elapsed = time.perf_counter() - self._begin
            sys.stderr.write(f"[{self._name}] {elapsed:8.2f} s  {text}\n")
            sys.stderr.flush()
