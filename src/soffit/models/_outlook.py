"""How long an iterative search will still take, judged by the iterations so far."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, log
from time import perf_counter
from typing import NamedTuple

# Gains that must be known before they are extrapolated.
_LEAST = 6


class Left(NamedTuple):
    """Seconds to go, and whether they are an upper bound only."""

    seconds: float
    at_most: bool

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'about'} {duration(self.seconds)} left"


class Outlook:
    """The searches of one phase: how far the present one has come and how many follow.

    Gains relative to the objective are taken to shrink geometrically, at the rate seen lately,
    until they reach `tol`. Where they do not shrink, only `max_iter` bounds the search.

    Parameters
    ----------
    max_iter : int or None
        Most iterations of one search; None if that is not known.
    tol : float
        Relative gain at which a search ends.
    parts : int
        Searches in the phase.
    """

    def __init__(self, max_iter: int | None, tol: float, *, parts: int = 1) -> None:
        self._max_iter = max_iter
        self._tol = tol
        self._parts = parts
        self._part = 0
        self._begin = self._run_begin = perf_counter()
        self._first = self._number = 0
        self._objectives: list[float] = []

    def note(self, number: int, objective: float) -> None:
        """Take in one more iteration; a number that does not grow begins the next search."""
        if number <= self._number or self._part == 0:
            self._part += 1
            if self._objectives:
                self._run_begin = perf_counter()
            self._first = number - 1
            self._objectives = []
        self._number = number
        self._objectives.append(objective)

    def left(self) -> Left | None:
        """Time to go in the phase, or None if there is nothing to judge by."""
        iterations = self._iterations_left()
        if iterations is None:
            return None
        number, at_most = iterations
        now = perf_counter()
        run = now - self._run_begin
        here = run / len(self._objectives) * number
        following = max(self._parts - self._part, 0)
        # Searches to come take as long as those that have ended, or as this one.
        ended = self._part - 1
        usual = (self._run_begin - self._begin) / ended if ended else run + here
        return Left(here + following * usual, at_most)

    def _iterations_left(self) -> tuple[int, bool] | None:
        if not self._objectives:
            return None
        most = None if self._max_iter is None else max(self._max_iter - self._number, 0)
        likely = self._likely()
        if likely is None:
            return None if most is None else (most, True)
        return (likely, False) if most is None or likely < most else (most, True)

    def _likely(self) -> int | None:
        """Iterations until the gain has shrunk to `tol`; None if it does not shrink."""
        values = self._objectives
        gains = [(a - b) / max(abs(b), 1e-300) for a, b in pairwise(values)]
        if len(gains) < _LEAST or self._tol <= 0:
            return None
        window = len(gains) // 3
        recent = sum(gains[-window:]) / window
        before = sum(gains[-2 * window : -window]) / window
        if recent <= self._tol:
            return 1
        if recent >= before:
            return None
        # The recent gains are those of half a window ago.
        count = window * log(recent / self._tol) / log(before / recent) - window / 2
        return max(ceil(count), 1)


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, as precise as a guess deserves."""
    if seconds < 90:
        return f"{max(seconds, 0.0):.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
