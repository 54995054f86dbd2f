"""Timed runs of the solvers, all measured by one common loss (see solvers.py)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from soffit.factorize import (
    Factorization,
    Problem,
    solve_gradient,
    solve_growth,
    solve_penalty,
    solve_rows,
)

Array = NDArray[np.floating]
Scale = Literal["none", "single"]
Result = TypeVar("Result")

ROUNDING = 1e-9
SHORT = 1.0
GROWTH_PIECE, GROWTH_ITERATIONS, GROWTH_TOL = 50, 10_000, 1e-7
PENALTY_ROUNDS, PENALTY_STEPS = 10, 2000


@dataclass(frozen=True, eq=False)
class Task:
    """A matrix, a start, the rule for the scale, and the seconds a solver may take."""

    A: Array
    start: Array
    scale: Scale
    limit: float

    def problem(self, *, diagonal: bool) -> Problem:
        return Problem(self.A, self.start.shape[1], scale=self.scale, diagonal=diagonal)

    def common_loss(self, W: Array) -> float:
        """Sum over i != j of (A - alpha W W')^2, with the best alpha or with alpha = 1."""
        d, squares = np.diag(self.A), (W * W).sum(axis=1)
        norm = float(np.vdot(self.A, self.A) - d @ d)
        fit = float(np.vdot(W, self.A @ W) - d @ squares)
        size = float(np.sum((W.T @ W) ** 2) - squares @ squares)
        alpha = fit / size if self.scale == "single" else 1.0
        return norm - 2.0 * alpha * fit + alpha**2 * size


@dataclass
class Record:
    """Losses of the factors of one run and the seconds at which they were there."""

    seconds: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    # The solver's own objective, start included, as it recorded it.
    history: list[float] = field(default_factory=list)
    # Common loss of the last factor.
    end: float = math.nan

    def add(self, seconds: float, loss: float) -> None:
        self.seconds.append(seconds)
        self.losses.append(loss)

    def time_to(self, goal: float) -> float:
        """Seconds until the loss was at or below the goal, infinite if it never was."""
        reached = (s for s, loss in zip(self.seconds, self.losses, strict=True) if loss <= goal)
        return next(reached, math.inf)

    @property
    def total(self) -> float:
        return self.seconds[-1]

    @property
    def n_rises(self) -> int:
        """Iterations at which the recorded objective rose by more than rounding."""
        values = np.array(self.history)
        return int(np.count_nonzero(values[1:] > values[:-1] * (1.0 + ROUNDING)))


def _quickest(run: Callable[[], Result], seconds: Callable[[Result], float]) -> Result:
    """A short run is made three times and the quickest kept, as timings are never too short."""
    first = run()
    if seconds(first) > SHORT:
        return first
    return min(first, run(), run(), key=seconds)


class _TimeUpError(Exception):
    """Raised inside a callback to stop a solver."""


def _run_descent(
    task: Task, solver: Callable[..., Factorization], *, diagonal: bool, max_iter: int, tol: float
) -> Record:
    """A solver whose recorded losses are those to be compared."""
    record = Record()
    began = process_time()

    def note(iteration: int, loss: float) -> None:
        record.add(process_time() - began, loss)
        if record.total > task.limit:
            raise _TimeUpError

    problem = task.problem(diagonal=diagonal)
    try:
        found = solver(problem, task.start, max_iter=max_iter, tol=tol, callback=note)
    except _TimeUpError:
        record.history = record.losses
        record.end = math.nan if diagonal else record.losses[-1]
    else:
        record.history = found.history.tolist()
        record.end = task.common_loss(found.factor)
    return record


def run_rows(task: Task) -> Record:
    return _run_descent(task, solve_rows, diagonal=False, max_iter=1000, tol=1e-5)


def run_gradient(task: Task) -> Record:
    return _run_descent(task, solve_gradient, diagonal=False, max_iter=5000, tol=1e-6)


def run_gradient_with_diagonal(task: Task) -> Record:
    """Its losses are those of the published problem, not the common ones."""
    return _run_descent(task, solve_gradient, diagonal=True, max_iter=5000, tol=1e-6)


def run_growth(task: Task) -> Record:
    """The growth transformation by pieces, which changes nothing, as it has no memory."""
    record = Record()
    problem = task.problem(diagonal=True)
    W, elapsed, converged = task.start, 0.0, False
    while not converged and elapsed <= task.limit and len(record.history) < GROWTH_ITERATIONS:
        began = process_time()
        found = solve_growth(problem, W, max_iter=GROWTH_PIECE, tol=0.0)
        elapsed += process_time() - began
        W = found.factor
        record.add(elapsed, task.common_loss(W))
        record.history += found.history[bool(record.history) :].tolist()
        gain = found.history[0] - found.objective
        converged = gain <= GROWTH_PIECE * GROWTH_TOL * found.objective
    record.end = record.losses[-1]
    return record


class PenaltyRecord(Record):
    """A run of the penalty method; shorter runs are made when a goal is to be timed."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task = task
        self.steps = _penalty_steps(task)
        seconds, found = _penalty_run(task, PENALTY_ROUNDS, self.steps)
        self.history = found.history.tolist()
        self.end = task.common_loss(found.factor)
        self.add(seconds, self.end)

    def time_to(self, goal: float) -> float:
        """Seconds of the shortest run whose factor reaches the goal, found by bisection."""
        if self.end > goal:
            return math.inf
        doubling = [2**power for power in range(self.steps.bit_length()) if 2**power < self.steps]
        budgets = [(1, steps) for steps in doubling]
        budgets += [(rounds, self.steps) for rounds in range(1, PENALTY_ROUNDS)]
        low, high, best = 0, len(budgets), self.total
        while low < high:
            middle = (low + high) // 2
            seconds, found = _penalty_run(self.task, *budgets[middle])
            if self.task.common_loss(found.factor) <= goal:
                high, best = middle, min(best, seconds)
            else:
                low = middle + 1
        return best


def _penalty_run(task: Task, rounds: int, steps: int) -> tuple[float, Factorization]:
    # The weights begin at 10 and double; the half keeps rounding from adding or losing a round.
    eps2 = 1.0 / (10.0 * 2.0 ** (rounds - 0.5))
    problem = task.problem(diagonal=True)

    def timed() -> tuple[float, Factorization]:
        began = process_time()
        found = solve_penalty(problem, task.start, max_iter=steps, eps2=eps2)
        return process_time() - began, found

    return _quickest(timed, lambda result: result[0])


def _penalty_steps(task: Task) -> int:
    """Steps per round that fit into the time limit, from the cost of a few."""
    few, _ = _penalty_run(task, 1, 2)
    more, _ = _penalty_run(task, 1, 10)
    step = max((more - few) / 8.0, 1e-6)
    affordable = (task.limit - few) / (step * PENALTY_ROUNDS)
    return int(np.clip(affordable, 1, PENALTY_STEPS))


GRADIENT_WITH_DIAGONAL = "gradient, diagonal"
PUBLISHED: dict[Scale, str] = {"none": "penalty", "single": "growth"}
_RUNS: dict[str, Callable[[Task], Record]] = {
    "rows": run_rows,
    "gradient": run_gradient,
    GRADIENT_WITH_DIAGONAL: run_gradient_with_diagonal,
    "penalty": PenaltyRecord,
    "growth": run_growth,
}


def run(name: str, task: Task) -> Record:
    """Run a solver by its name; the quickest of three short runs, which are otherwise equal."""
    return _quickest(lambda: _RUNS[name](task), lambda record: record.total)
