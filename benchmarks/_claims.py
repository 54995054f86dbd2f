"""Rows of a table of claims: what was measured, what is asked, and whether it is met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

HEADER = ["case; settings", "measured", "asked", "met"]


class Row(NamedTuple):
    """One claim; `met` is None where nothing is asked, or nothing was measured."""

    case: str
    settings: str
    measured: str
    asked: str = "-"
    met: bool | None = None

    def cells(self) -> list[str]:
        """The columns of the table."""
        met = {True: "yes", False: "NO", None: "-"}[self.met]
        return [f"{self.case}; {self.settings}", self.measured, self.asked, met]


def at_least(case: str, settings: str, scores: Sequence[float], limit: float) -> Row:
    """The lowest score has to reach the limit; the mean is shown beside it."""
    measured = f"min {min(scores):.4f}, mean {np.mean(scores):.4f}"
    return Row(case, settings, measured, f">= {limit:g}", min(scores) >= limit)


def timed(run: Callable[[], Any]) -> tuple[Any, float]:
    began = perf_counter()
    result = run()
    return result, perf_counter() - began


def within(case: str, settings: str, limit: float, run: Callable[[], Any]) -> tuple[Any, Row]:
    """The result and its time; that of the processor tells how much was waiting for others."""
    began = process_time()
    result, seconds = timed(run)
    measured = f"{seconds:.2f} s by the clock, {process_time() - began:.2f} s of processor time"
    return result, Row(case, settings, measured, f"< {limit:g} s", seconds < limit)
