"""The record of a descent that every solver keeps, with all reasons for stopping."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import NamedTuple

import numpy as np

from soffit._threads import OutOfTime, begin_search, end_search
from soffit._typing import FloatArray
from soffit.factorize.problem import Factorization, Stop

# Called after every iteration. True, or a reason, stops the search; anything else continues it.
Callback = Callable[[int, float], object]
# A loss below this share of the matrix's squared norm counts as zero.
_NEGLIGIBLE = 1e-12
# A share of the loss; the losses of matrices that can be reproduced exactly mostly fall faster.
_SLOW = 0.02
# Losses below this share of the squared norm, times `tol`, are as good as exact; the second if
# there are more than half as many clusters as objects.
_EXACT, _EXACT_FOR_MANY = 10.0, 100.0
_REASONS: tuple[Stop, ...] = ("max_time", "callback", "interrupted")


class _Reached(NamedTuple):
    """A point, and the part of the history that led to it."""

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
            while descent.running(max_iter):
                W, s = ...
                descent.record(loss, W, s)
                descent.stop_if_converged(tol)
        return descent.result()

    Ctrl-C inside the ``with`` block, or a time limit that is clearly over, ends the run at the last
    recorded point. A solver that changes its factor in place then calls `record_interrupted` if the
    descent was `interrupted`, because that point may have moved. A second Ctrl-C is not caught.

    `first`: loss at the start.
    `factor`, `scale`: the start.
    `norm`: squared norm of the matrix.
    `callback`: called as ``callback(iteration, loss)`` after every iteration; if it returns True,
        the run stops.
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
        # Whether Ctrl-C or a time limit ended the run within an iteration.
        self.interrupted = False
        self._is_inside = False
        self._reached = _Reached(0, [first], 1, factor, scale)
        self._norm = norm
        # Rows that are with the workers of a cluster are many.
        n = len(factor) if isinstance(factor, np.ndarray) else np.inf
        self._share = _EXACT if 2 * len(scale) < n else _EXACT_FOR_MANY
        self._callback = callback

    def __enter__(self) -> Descent:
        self._limit = begin_search(0)
        self._is_inside = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        end_search(self._limit)
        self._is_inside = False
        self.interrupted = kind is not None and issubclass(kind, KeyboardInterrupt | OutOfTime)
        if self.interrupted:
            self.stopped = "max_time" if kind is OutOfTime else "interrupted"
        return self.interrupted

    @property
    def n_iter(self) -> int:
        """Number of recorded iterations."""
        return self._reached.n_iter

    @property
    def history(self) -> list[float]:
        """Recorded losses."""
        return self._reached.history

    def running(self, max_iter: int) -> bool:
        """Whether to run another iteration."""
        if self.stopped is None and self.n_iter >= max_iter:
            self.stopped = "max_iter"
        return self.stopped is None

    def record(
        self,
        loss: float,
        factor: FloatArray,
        scale: FloatArray,
        *,
        restart_history: bool = False,
    ) -> None:
        """Record the point after one more iteration; `restart_history` drops earlier losses."""
        self._reach(loss, factor, scale, restart_history=restart_history)
        if self._is_inside and self._limit is None:
            self._limit = begin_search(self.n_iter)
        if self._callback is not None:
            answer = self._callback(self.n_iter, loss)
            if answer is True:
                self.stopped = "callback"
            elif isinstance(answer, str):
                self.stopped = next((reason for reason in _REASONS if answer == reason), None)

    def record_interrupted(self, loss: float, factor: FloatArray, scale: FloatArray) -> None:
        """Record where an interrupted iteration left a factor that is changed in place."""
        self._reach(loss, factor, scale, restart_history=False)

    def _reach(
        self, loss: float, factor: FloatArray, scale: FloatArray, *, restart_history: bool
    ) -> None:
        history, n_losses = ([], 0) if restart_history else self._reached[1:3]
        # A longer tail exists only if an earlier call was interrupted.
        history[n_losses:] = [loss]
        # A single assignment, which no interrupt can split: loss and point always match.
        self._reached = _Reached(self.n_iter + 1, history, n_losses + 1, factor, scale)

    def stop_if_converged(self, tol: float, *, over: int = 1) -> None:
        """Stop as converged if the run `has_converged`."""
        self.stop_if(self.has_converged(tol, over=over))

    def stop_if(self, converged: bool) -> None:
        """Stop as converged on the solver's own criterion."""
        if converged:
            self.stopped = "converged"

    def has_converged(self, tol: float, *, over: int = 1) -> bool:
        """Whether each of the last `over` iterations gained at most `tol` times the loss.

        A loss that is nearly zero need not fall further if it falls slowly: relative to itself it
        would do so for thousands of iterations. With more than half as many clusters as objects
        that is the case sooner: the factor has more entries than the matrix has pairs, and what is
        left says nothing about the objects.
        """
        if len(self.history) <= over:
            return False
        now = self.history[-1]
        gain = self.history[-1 - over] - now
        is_exact = now <= self._share * tol * self._norm and gain <= over * _SLOW * now
        return is_exact or gain <= over * tol * max(now, _NEGLIGIBLE * self._norm)

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
    """The lowest loss of consecutive searches, up to the first that was stopped early.

    Ties go to the first. If a search was stopped early, the result has its reason.
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
