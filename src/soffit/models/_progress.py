"""What a fit tells while it runs, and what may end it: time, a callback, an interrupt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock
from time import perf_counter
from typing import Any

from soffit._memory import peak_memory
from soffit.factorize._problem import Factorization, Stop
from soffit.models._display import Display, bar
from soffit.models._outlook import Outlook


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
