"""The record of a descent that every solver keeps, and all the reasons for which it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple

import numpy as np

from soffit._typing import FloatArray
from soffit.factorize.problem import Factorization, Stop

# Called after every iteration. True, or a reason, ends the search; anything else lets it go on.
Callback = Callable[[int, float], object]
# A loss below this share of the matrix's squared norm is as good as zero.
_NEGLIGIBLE = 1e-12
_REASONS: tuple[Stop, ...] = ("max_time", "callback", "interrupted")


class _Reached(NamedTuple):
    """A point, and how much of the history led to it."""

    n_iter: int
    history: list[float]
    n_losses: int
    factor: FloatArray
    scale: FloatArray


class Descent:
    """Losses of one run from the start on, the last point, and why the run ended.

    A solver runs inside it::

        descent = Descent(first, W, s, norm=norm, callback=callback)
        with descent:
            while descent.goes_on(max_iter):
                W, s = ...
                descent.record(loss, W, s)
                descent.settle(tol)
        return descent.result()

    Ctrl-C inside the ``with`` block ends the run at the last recorded point. A solver that changes
    its factor in place calls `amend` afterwards if the descent was `interrupted`, because that
    point may have moved. A second Ctrl-C is not caught.

    Parameters
    ----------
    first : float
        Loss at the start.
    factor, scale : array
        The start.
    norm : float
        Squared norm of the matrix.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every iteration; if it returns True, the run
        ends.
    """

    def __init__(
        self,
        first: float,
        factor: FloatArray,
        scale: FloatArray,
        *,
        norm: float,
        callback: Callback | None = None,
    ) -> None:
        self.stopped: Stop | None = None
        self._reached = _Reached(0, [first], 1, factor, scale)
        self._norm = norm
        self._callback = callback

    def __enter__(self) -> Descent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        if kind is None or not issubclass(kind, KeyboardInterrupt):
            return False
        self.stopped = "interrupted"
        return True

    @property
    def n_iter(self) -> int:
        """Iterations recorded."""
        return self._reached.n_iter

    @property
    def history(self) -> list[float]:
        """Losses recorded."""
        return self._reached.history

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the run."""
        return self.stopped == "interrupted"

    def goes_on(self, max_iter: int) -> bool:
        """Whether there is to be another iteration."""
        if self.stopped is None and self.n_iter >= max_iter:
            self.stopped = "max_iter"
        return self.stopped is None

    def record(
        self,
        loss: float,
        factor: FloatArray,
        scale: FloatArray,
        *,
        afresh: bool = False,
    ) -> None:
        """Note the point after one more iteration; `afresh` begins a new history with its loss."""
        self._reach(loss, factor, scale, afresh=afresh)
        if self._callback is not None:
            answer = self._callback(self.n_iter, loss)
            if answer is True:
                self.stopped = "callback"
            elif isinstance(answer, str):
                self.stopped = next((reason for reason in _REASONS if answer == reason), None)

    def amend(self, loss: float, factor: FloatArray, scale: FloatArray) -> None:
        """Note where an interrupted iteration has left a factor that is changed in place."""
        self._reach(loss, factor, scale, afresh=False)

    def _reach(self, loss: float, factor: FloatArray, scale: FloatArray, *, afresh: bool) -> None:
        history, n_losses = ([], 0) if afresh else self._reached[1:3]
        # The tail is there only if an earlier call was interrupted.
        history[n_losses:] = [loss]
        # One assignment, which no interrupt can divide: loss and point always go together.
        self._reached = _Reached(self.n_iter + 1, history, n_losses + 1, factor, scale)

    def settle(self, tol: float, *, over: int = 1) -> None:
        """End the run as converged if it has `settled`."""
        self.settle_if(self.settled(tol, over=over))

    def settle_if(self, converged: bool) -> None:
        """End the run as converged if the solver says so."""
        if converged:
            self.stopped = "converged"

    def settled(self, tol: float, *, over: int = 1) -> bool:
        """Whether the last `over` iterations gained at most `tol` times the loss, each."""
        if len(self.history) <= over:
            return False
        gain = self.history[-1 - over] - self.history[-1]
        return gain <= over * tol * max(self.history[-1], _NEGLIGIBLE * self._norm)

    def result(self) -> Factorization:
        """The last point, with the history that led to it."""
        n_iter, losses, n_losses, factor, scale = self._reached
        history = np.array(losses[:n_losses])
        return Factorization(
            factor=factor,
            scale=scale,
            objective=float(history[-1]),
            history=history,
            n_iter=n_iter,
            stopped=self.stopped or "max_iter",
        )


def lowest(found: Iterable[Factorization]) -> Factorization:
    """The lowest loss of searches made one after the other, up to the first that was cut short.

    The first one wins ties. If a search was cut short, the result says so.
    """
    best: Factorization | None = None
    for result in found:
        if best is None or result.objective < best.objective:
            best = result
        if result.cut_short:
            return replace(best, stopped=result.stopped)
    if best is None:
        raise ValueError("found must hold at least one factorization, got none.")
    return best
