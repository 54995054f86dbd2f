"""Progress, time limits and interruptions of a fit."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, log
from shutil import get_terminal_size
from threading import RLock
from time import perf_counter
from typing import Any, NamedTuple

from sklearn.exceptions import ConvergenceWarning

from soffit._memory import peak_memory
from soffit.factorize.problem import Factorization, Stop
from soffit.results.fit_quality import EarlyStop

# Seconds between two states of a phase: on a terminal, and in a log.
TERMINAL_PACE = 0.2
LOG_PACE = 10.0


class Display:
    """What a fit says about itself.

    Parameters
    ----------
    name : str
        Stands at the beginning of every line.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._begin = perf_counter()
        # Programs without a console have no standard error.
        self._in_place = sys.stderr is not None and sys.stderr.isatty()
        self._pace = TERMINAL_PACE if self._in_place else LOG_PACE
        self._last = self._heading_begin = self._begin
        self._heading = self._open = ""

    def heading(self, text: str) -> None:
        """Begin a line; on a terminal it stays open for what `state` says."""
        self.close()
        self._heading = text
        self._last = self._heading_begin = perf_counter()
        self._write(text, open_=self._in_place)

    def is_due(self) -> bool:
        """Whether it is time for another state."""
        return perf_counter() - self._last >= self._pace

    def state(self, text: str) -> None:
        """Say how things stand, in place of the open line or below the last one."""
        self._last = perf_counter()
        self._write(text, open_=self._in_place)

    def line(self, text: str) -> None:
        """Write a whole line."""
        self.close()
        self._write(text, open_=False)

    def close(self) -> None:
        """End the open line, if there is one, with what it was about and how long that took."""
        if self._open:
            took = perf_counter() - self._heading_begin
            self._write(f"{self._heading}, {took:.2f} s", open_=True)
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._open = ""

    def _write(self, text: str, *, open_: bool) -> None:
        line = f"[{self._name}] {perf_counter() - self._begin:8.2f} s  {text}"
        if open_:
            # A line that wraps could not be taken back.
            line = line[: get_terminal_size().columns - 1]
            sys.stderr.write("\r" + line.ljust(len(self._open)))
            self._open = line
        else:
            sys.stderr.write(line + "\n")
        sys.stderr.flush()


def bar(share: float, *, width: int = 20) -> str:
    """A bar that is filled to a share of its width."""
    filled = int(min(max(share, 0.0), 1.0) * width)
    return "[" + "#" * filled + "-" * (width - filled) + "]"


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


@dataclass(frozen=True)
class FitEvent:
    """What a `callback` learns after an iteration.

    Parameters
    ----------
    phase : str
        What the fit is doing, such as "start 2 of 5".
    iteration : int
        Iterations of the present search, from 1.
    objective : float
        Its objective now.
    elapsed : float
        Seconds since the fit began.

    Examples
    --------
    >>> from soffit import SoF
    >>> from soffit.datasets import make_gaussians
    >>> X = make_gaussians(90, random_state=7).X
    >>> events = []
    >>> model = SoF(3, scale="fit", random_state=7, callback=events.append).fit(X)
    >>> events[-1].iteration == model.n_iter_
    True
    """

    phase: str
    iteration: int
    objective: float
    elapsed: float


class Progress:
    """Tells phases (verbose=1) and iterations (verbose=2), and keeps the reason to stop.

    Parameters
    ----------
    name : str
        Name of the model.
    verbose : int
        How much to say.
    max_iter, tol
        When a search usually ends, from which the time left is judged.
    callback : callable, optional
        Called with a `FitEvent` after every iteration; if it returns True, the fit is to end.
    max_time : float, optional
        Seconds from now after which the fit is to end.
    """

    def __init__(
        self,
        name: str,
        verbose: int,
        *,
        max_iter: int | None = None,
        tol: float = 0.0,
        callback: Callable[[FitEvent], Any] | None = None,
        max_time: float | None = None,
    ) -> None:
        self.stopped: Stop | None = None
        self._verbose = verbose
        self._display = Display(name)
        self._limits = (max_iter, tol)
        self._callback = callback
        self._max_time = max_time
        self._begin = self._phase_begin = perf_counter()
        self._phase = ""
        self._outlook = Outlook(max_iter, tol)
        # Searches may run in several threads; a callback should not have to care.
        self._lock = RLock()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        self._display.close()

    def phase(
        self, what: str, *, parts: int = 1, max_iter: int | None = None, tol: float | None = None
    ) -> bool:
        """Say that a phase begins, of so many searches; whether the fit is to end instead."""
        self._phase = what
        self._phase_begin = perf_counter()
        usual_iter, usual_tol = self._limits
        self._outlook = Outlook(
            usual_iter if max_iter is None else max_iter,
            usual_tol if tol is None else tol,
            parts=parts,
        )
        if self._verbose == 1:
            self._display.heading(what)
        elif self._verbose > 1:
            self._display.line(what)
        self._watch_the_clock()
        return self.stopped is not None

    def iteration(self, number: int, objective: float, *, beside: str | None = None) -> Stop | None:
        """Say how far a solver has come; the reason to stop, if there is one.

        A search that runs `beside` the one whose time is estimated has a name of its own.
        """
        with self._lock:
            if beside is None:
                self._outlook.note(number, objective)
                if self._verbose == 1 and self._display.is_due():
                    self._display.state(self._state(number, objective))
            if self._verbose >= 2:
                where = "" if beside is None else f"{beside}: "
                self._display.line(f"{where}iteration {number}, objective {objective:.8g}")
            self._watch_the_clock()
            if self._callback is not None and self.stopped is None:
                now = perf_counter() - self._begin
                event = FitEvent(beside or self._phase, number, objective, now)
                if self._callback(event) is True:
                    self.stopped = "callback"
            return self.stopped

    def heed(self, found: Factorization) -> Factorization:
        """Remember whether a search was cut short, so that no other follows."""
        if found.cut_short:
            self.stopped = found.stopped
        return found

    def interrupt(self) -> None:
        """Let all searches end after their present iteration."""
        self.stopped = "interrupted"

    @property
    def time_left(self) -> float | None:
        """Seconds until `max_time`, never quite zero; None without a limit."""
        if self._max_time is None:
            return None
        return max(self._begin + self._max_time - perf_counter(), 1e-9)

    def finish(self, what: str) -> None:
        """Say that all is done."""
        if self._verbose >= 1:
            peak = peak_memory()
            memory = "" if peak is None else f", at most {peak / 1e9:.2f} GB of memory so far"
            self._display.line(f"done: {what}{memory}")

    def _watch_the_clock(self) -> None:
        late = self._max_time is not None and perf_counter() - self._begin > self._max_time
        if late and self.stopped is None:
            self.stopped = "max_time"

    def _state(self, number: int, objective: float) -> str:
        text = f"iteration {number}, objective {objective:.6g}"
        left = self._outlook.left()
        if left is None:
            return f"{self._phase}: {text}"
        now = perf_counter()
        if self._max_time is not None and now + left.seconds > self._begin + self._max_time:
            left = left._replace(seconds=self._begin + self._max_time - now, at_most=True)
        elapsed = now - self._phase_begin
        share = elapsed / max(elapsed + left.seconds, 1e-9)
        return f"{self._phase} {bar(share)} {left}, {text}"


def warn_unless_converged(model: Any, stopped: Stop, n_iter: int, *, depth: int) -> None:
    """Say why the fit ended and what to do; `depth` counts the calls down to the user's."""
    stop = EarlyStop.of(model, stopped, n_iter)
    if stop is not None:
        happened = stop.sentence(type(model).__name__, parameters=True)
        text = f"{happened} {stop.outlook} {stop.remedy}"
        warnings.warn(text, ConvergenceWarning, stacklevel=depth + 1)
