"""Progress, time limits, interruptions and callbacks of a fit."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from threading import RLock
from time import perf_counter
from typing import Any, TypeVar

from sklearn.exceptions import ConvergenceWarning

from soffit._compile import told_of_compiling
from soffit._memory import peak_memory
from soffit._threads import Deadline, OutOfTime, search_limit, time_limit
from soffit._wording import Message, Parameter
from soffit.factorize.problem import Factorization, Stop
from soffit.results.fit_quality import EarlyStop


@cache
def has_callbacks() -> bool:
    """Whether the installed scikit-learn has callbacks."""
    return find_spec("sklearn.callback") is not None


class Tasks:
    """A fit as a task, its phases as subtasks, searches inside them, and their iterations.

    `estimator`: the model with its callbacks.
    `root`: the context of the fit.
    `data`: the arguments X and y of all hooks.
    """

    def __init__(self, estimator: Any, root: Any, data: dict[str, Any]) -> None:
        self._given = {"estimator": estimator, **data}
        self._most = getattr(estimator, "max_iter", None)
        self._root = root
        self._phase: Any = None
        self._search: Any = None
        self._last = 0

    def phase(self, name: str) -> bool:
        """Begin a phase; returns whether a callback wants to stop at the end of the last one."""
        stop = self.close()
        self._phase = self._begun(self._root, name, None)
        return stop

    def iteration(self, number: int) -> bool:
        """Report an iteration; returns whether a callback wants to stop."""
        if self._phase is None:
            self.phase("fit")
        if self._search is not None and number <= self._last:
            # Another search of the same phase.
            self._end("_search")
        if self._search is None:
            self._search = self._begun(self._phase, "iterations", self._most)
        self._last = number
        if self._most is not None and number > self._most:
            return False
        context = self._begun(self._search, "iteration", 0)
        return bool(context.call_on_fit_task_end(**self._given))

    def close(self) -> bool:
        """End the current phase; returns whether a callback wants to stop."""
        ended = self._end("_search")
        return self._end("_phase") or ended

    def _begun(self, parent: Any, name: str, most: int | None) -> Any:
        context = parent.subcontext(task_name=name, max_subtasks=most)
        context.call_on_fit_task_begin(**self._given)
        return context

    def _end(self, which: str) -> bool:
        context = getattr(self, which)
        setattr(self, which, None)
        return context is not None and bool(context.call_on_fit_task_end(**self._given))


def with_tasks(estimator: Any, X: Any, y: Any, work: Callable[[Tasks], Result]) -> Result:
    """The result of a fit, whose callbacks are told of it.

    `estimator`: with what `set_callbacks` has set, or a meta-estimator has propagated.
    `X`, `y`: the arguments of `fit`.
    `work`: the fit, which is given the tasks to report to.
    """
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    data = {"X": X, "y": y}

    def fit(model: Any) -> Result:
        root = CallbackSupportMixin._init_callback_context(model, max_subtasks=None)
        root.call_on_fit_task_begin(estimator=model, **data)
        tasks = Tasks(model, root, data)
        result = work(tasks)
        tasks.close()
        root.call_on_fit_task_end(
            estimator=model,
            reconstruction_attributes=lambda: {
                "_fitted": model._fitted,
                **model._fitted.attributes,
            },
            **data,
        )
        return result

    managed: Callable[[Any], Result] = with_callbacks(fit)
    return managed(estimator)


Result = TypeVar("Result")
# Phases of a fit in order, each with its typical share of the time, in any unit.
Plan = tuple[tuple[str, float], ...]

# What is over `max_time` when a search ends within an iteration, and a fit without any result is
# given up: the rest of the margin, a second and a tenth, is for what follows a first result. Small
# fits always have one.
_GRACE, _GRACE_SHARE = 0.3, 0.05
_FEW_OBJECTS = 5000
# Seconds between two updates of a phase: on a terminal, and in a log.
_TERMINAL_PACE = 0.2
_LOG_PACE = 10.0


class _Display:
    """What a verbose fit writes to standard error.

    A terminal gets a live line for the current phase, and a whole line when the phase has ended.
    A log or a notebook gets whole lines only.

    `name`: prefix of every line.
    `live`: whether a terminal gets a live line.
    """

    def __init__(self, name: str, *, live: bool) -> None:
        from rich.console import Console

        self._name = name
        self._begin = self._last = perf_counter()
        # A live line in a notebook would need widgets, so a notebook counts as a log.
        self._console = Console(stderr=True, force_jupyter=False)
        # sys.stderr is None in programs without a console.
        terminal = sys.stderr is not None and sys.stderr.isatty()
        live = live and terminal and not self._console.is_dumb_terminal
        self._live = self._live_line() if live else None
        self._pace = _TERMINAL_PACE if live else _LOG_PACE
        self._phase: tuple[str, float, Any] | None = None

    def phase(self, text: str, outlook: str = "") -> None:
        """Begin a phase; `outlook` is shown while it lasts."""
        self._end_phase()
        self._last = perf_counter()
        if self._live is None:
            self._write(text + outlook)
            return
        self._live.start()
        task = self._live.add_task(text + outlook, total=None, state="")
        self._phase = text, self._last, task

    def state(self, phase: str, text: str) -> None:
        """Show the state of the phase, unless it was just shown."""
        if perf_counter() - self._last < self._pace:
            return
        self._last = perf_counter()
        if self._live is None:
            self._write(f"{phase}: {text}")
        elif self._phase is not None:
            self._live.update(self._phase[2], state=text, refresh=True)

    def remark(self, phase: str, text: str) -> None:
        """Show at once what the phase is waiting for."""
        self._last = -self._pace
        self.state(phase, text)

    def line(self, text: str) -> None:
        """Write a whole line."""
        self._end_phase()
        self._write(text)

    def close(self) -> None:
        """End the phase and the live line."""
        self._end_phase()
        if self._live is not None:
            self._live.stop()

    def _live_line(self) -> Any:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        return Progress(
            SpinnerColumn(),
            TextColumn(f"[{self._name}]", markup=False),
            TextColumn("{task.description}", markup=False),
            TextColumn("{task.fields[state]}", markup=False),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            get_time=perf_counter,
        )

    def _end_phase(self) -> None:
        if self._phase is None or self._live is None:
            return
        text, begin, task = self._phase
        self._phase = None
        self._live.remove_task(task)
        self._write(f"{text}, {perf_counter() - begin:.2f} s")

    def _write(self, text: str) -> None:
        line = f"[{self._name}] {perf_counter() - self._begin:8.2f} s  {text}"
        self._console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)


@dataclass(frozen=True)
class FitEvent:
    """State of a fit, passed to `callback` after an iteration.

    Parameters
    ----------
    phase : str
        What the fit is doing, such as "start 2 of 5".
    iteration : int
        Iteration of the current search, from 1.
    objective : float
        Its current objective.
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
    """Shows phases (verbose=1) and iterations (verbose=2), and keeps the reason to stop.

    `name`: name of the model.
    `verbose`: how much to show.
    `callback`: called with a `FitEvent` after every iteration; if it returns True, the fit stops.
    `max_time`: time limit in seconds, counted from now.
    `tasks`: reports to the callbacks of scikit-learn.
    """

    def __init__(
        self,
        name: str,
        verbose: int,
        *,
        callback: Callable[[FitEvent], Any] | None = None,
        max_time: float | None = None,
        tasks: Tasks | None = None,
    ) -> None:
        # Why all searches are to stop after their current iteration.
        self.stopped: Stop | None = None
        self._verbose = verbose
        self._display = _Display(name, live=verbose == 1) if verbose >= 1 else None
        self._callback = callback
        self._max_time = max_time
        self._tasks = tasks
        self._begin = perf_counter()
        self._phase = ""
        # The phase in which `max_time` was over.
        self._late_in = ""
        self._plan: Plan = ()
        self._given_up = Deadline(None)
        self._searches = Deadline(None)
        # Searches may run in several threads; callbacks need not be thread-safe.
        self._lock = RLock()
        self._open = ExitStack()
        self._compiled_in: str | None = None

    def __enter__(self) -> Progress:
        if self._max_time is not None:
            self._searches = self._late()
            self._open.enter_context(search_limit(self._searches))
        if self._display is not None:
            self._open.enter_context(told_of_compiling(self._compiling))
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()
        if self._display is not None:
            self._display.close()

    def _compiling(self, name: str) -> None:
        """Show, once per phase, that the first fit after an installation compiles functions."""
        with self._lock:
            if self._display is not None and self._compiled_in != self._phase:
                self._compiled_in = self._phase
                self._display.remark(self._phase or "preparing", "compiling, once")

    def phase(self, what: str) -> bool:
        """Start a phase; returns whether the fit should stop instead."""
        with self._lock:
            # The time may have ended in the phase before, unnoticed so far.
            self._check_time()
            self._phase = what
            if self._display is not None:
                self._display.phase(what, self._outlook(what))
            if self._tasks is not None and self._tasks.phase(what) and self.stopped is None:
                self.stopped = "callback"
            self._check_time()
            return self.stopped is not None

    def expect(self, plan: Plan) -> None:
        """Learn which phases will follow, and their typical shares of the time."""
        self._plan = plan

    def _outlook(self, what: str) -> str:
        """The time left at the beginning of a phase, from that of the phases before it."""
        names = [name for name, _ in self._plan]
        if what not in names:
            return ""
        shares = [share for _, share in self._plan]
        done = sum(shares[: names.index(what)]) / sum(shares)
        if done == 0:
            return ""
        left = (perf_counter() - self._begin) * (1 - done) / done
        if self._max_time is not None:
            left = min(left, self._begin + self._max_time - perf_counter())
        if left < 1:
            return ", less than 1 s left"
        return f", about {left:.0f} s left" if left < 120 else f", about {left / 60:.0f} min left"

    def iteration(self, number: int, objective: float, *, beside: str | None = None) -> Stop | None:
        """Show the state of a solver; returns the reason to stop, if there is one.

        A search that runs `beside` the displayed one has its own name.
        """
        self.keep_result()
        with self._lock:
            self._show(number, objective, beside)
            self._check_time()
            if self._callback is not None and self.stopped is None:
                now = perf_counter() - self._begin
                event = FitEvent(beside or self._phase, number, objective, now)
                if self._callback(event) is True:
                    self.stopped = "callback"
            # Searches in other threads are beside the one that is reported.
            if self._tasks is not None and beside is None:
                wants_stop = self._tasks.iteration(number)
                if wants_stop and self.stopped is None:
                    self.stopped = "callback"
            return self.stopped

    def share_done(self, done: int, total: int) -> None:
        """Show how many of the blocks of a phase are done."""
        with self._lock:
            if self._display is not None:
                self._display.state(self._phase, f"{done} of {total} blocks")

    def note_stop(self, found: Factorization) -> Factorization:
        """Remember whether a search was stopped early, so that no other follows."""
        if found.cut_short:
            self.stopped = found.stopped
        return found

    def limited(self, n_objects: int) -> Any:
        """A context in which the fit is given up when `max_time` is clearly over without a result.

        With few objects it is never given up.
        """
        if self._max_time is not None and n_objects > _FEW_OBJECTS:
            self._given_up = self._late()
            self._searches.spares_first = False
        return time_limit(self._given_up)

    def _late(self) -> Deadline:
        """When `max_time` is clearly over."""
        assert self._max_time is not None
        over = _GRACE + _GRACE_SHARE * self._max_time
        late = Deadline.after(self._begin + self._max_time + over - perf_counter())
        late.spares_first = True
        return late

    def keep_result(self) -> None:
        """There is a partition to return: from now on, the fit is not given up."""
        self._given_up.moment = None

    def attempt(self, work: Callable[[], Result]) -> Result | None:
        """The result of work that a fit can do without; None if the time is over, or on Ctrl-C."""
        if self.is_hurried:
            return None
        try:
            with time_limit(Deadline.after(self.time_left)):
                return work()
        except OutOfTime:
            self.stopped = "max_time"
        except KeyboardInterrupt:
            self.stopped = "interrupted"
        return None

    def insist(self, work: Callable[[], Result]) -> Result:
        """The result of work that is repeated after Ctrl-C, without what a fit can do without.

        Whatever was found before is kept. A second Ctrl-C is raised.
        """
        try:
            return work()
        except KeyboardInterrupt:
            if self.stopped == "interrupted":
                raise
            self.stopped = "interrupted"
            return work()

    @property
    def is_hurried(self) -> bool:
        """Whether what remains should be done as fast as possible."""
        self._check_time()
        return self.stopped in ("max_time", "interrupted")

    def out_of_time(self) -> ValueError:
        """The error of a fit that was given up."""
        phase = self._late_in or self._phase
        return ValueError(
            Message(
                Parameter("max_time", self._max_time),
                f" s ended before there was any result, in the phase {phase!r}. Increase ",
                Parameter("max_time"),
                ", or fit a part of the objects and predict the others.",
            )
        )

    @property
    def time_left(self) -> float | None:
        """Seconds until `max_time`, never quite zero; None without a limit."""
        if self._max_time is None:
            return None
        return max(self._begin + self._max_time - perf_counter(), 1e-9)

    def finish(self, what: str) -> None:
        """Show that the fit is done."""
        if self._display is not None:
            peak = peak_memory()
            memory = "" if peak is None else f", at most {peak / 1e9:.2f} GB of memory so far"
            self._display.line(f"done: {what}{memory}")

    def _check_time(self) -> None:
        late = self._max_time is not None and perf_counter() - self._begin > self._max_time
        if late and self.stopped is None:
            self.stopped, self._late_in = "max_time", self._phase

    def _show(self, number: int, objective: float, beside: str | None) -> None:
        if self._display is None:
            return
        if self._verbose >= 2:
            where = "" if beside is None else f"{beside}: "
            self._display.line(f"{where}iteration {number}, objective {objective:.8g}")
        elif beside is None:
            self._display.state(self._phase, f"iteration {number}, objective {objective:.6g}")


def warn_unless_converged(model: Any, stopped: Stop, n_iter: int, *, depth: int) -> None:
    """Warn with the reason and a remedy; `depth` is the number of calls below the user's."""
    if stopped == "converged":
        return
    stop = EarlyStop.of(model, stopped, n_iter)
    if stop is not None:
        happened = stop.sentence(type(model).__name__, parameters=True)
        text = f"{happened} {stop.outlook} {stop.remedy}"
        warnings.warn(text, ConvergenceWarning, stacklevel=depth + 1)
