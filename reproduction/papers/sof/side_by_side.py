"""Gradient searches from several starts that share their passes over a large dense matrix.

At ten thousand objects a step spends most of its time on reading the matrix, so that five searches
together take little more time than one. Results agree with those of `solve_gradient` up to rounding
and do not depend on how the threads are scheduled.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Condition

import numpy as np

from soffit._typing import FloatArray, Matrix
from soffit.factorize import Factorization, Problem
from soffit.factorize.problem import check_support, copy_start
from soffit.factorize.simplex.gradient import Objective, minimise


def solve_gradients(
    problem: Problem, starts: Sequence[FloatArray], *, max_iter: int = 5000, tol: float = 1e-6
) -> list[Factorization]:
    """One result of `solve_gradient` per start; Ctrl-C ends all of them without a result."""
    if not starts:
        return []
    check_support("gradient", problem)
    factors = [copy_start(problem, start) for start in starts]
    passes = _SharedPasses(problem.matrix, len(starts))

    def search(number: int) -> Factorization:
        try:
            objective = _SharingObjective(problem, passes, number)
            return minimise(objective, factors[number], max_iter=max_iter, tol=tol)
        finally:
            passes.leave()

    with ThreadPoolExecutor(len(starts)) as pool:
        futures = [pool.submit(search, number) for number in range(len(starts))]
        try:
            return [future.result() for future in futures]
        except BaseException:
            passes.stop()
            raise


class _SharedPasses:
    """Multiplies the matrix with the arrays of all searches as soon as each of them has asked."""

    def __init__(self, matrix: Matrix, n_searches: int) -> None:
        self._matrix = matrix
        self._running = n_searches
        self._asked: dict[int, FloatArray] = {}
        self._products: dict[int, FloatArray] = {}
        self._failure: BaseException | None = None
        self._changed = Condition()

    def product(self, number: int, U: FloatArray) -> FloatArray:
        """The matrix times U, for the search of this number."""
        with self._changed:
            self._asked[number] = U
            self._multiply_if_all_asked()
            self._changed.wait_for(lambda: number in self._products or self._failure is not None)
            if self._failure is not None:
                raise RuntimeError("the searches beside this one failed") from self._failure
            return self._products.pop(number)

    def leave(self) -> None:
        """One search fewer to wait for."""
        with self._changed:
            self._running -= 1
            self._multiply_if_all_asked()

    def stop(self) -> None:
        """End all searches at their next product."""
        with self._changed:
            self._failure = self._failure or KeyboardInterrupt()
            self._changed.notify_all()

    def _multiply_if_all_asked(self) -> None:
        if self._failure is not None or not self._asked or len(self._asked) < self._running:
            return
        # In the order of the searches: which thread came first must not matter.
        numbers = sorted(self._asked)
        arrays = [self._asked.pop(number) for number in numbers]
        try:
            self._products.update(zip(numbers, self._multiply(arrays), strict=True))
        except BaseException as error:
            self._failure = error
        self._changed.notify_all()

    def _multiply(self, arrays: list[FloatArray]) -> list[FloatArray]:
        if len(arrays) == 1:
            return [self._matrix @ arrays[0]]
        ends = np.cumsum([U.shape[1] for U in arrays])[:-1]
        parts = np.hsplit(self._matrix @ np.hstack(arrays), ends)
        return [np.ascontiguousarray(part) for part in parts]


class _SharingObjective(Objective):
    """The objective of one search, whose products are made together with those of the others."""

    def __init__(self, problem: Problem, passes: _SharedPasses, number: int) -> None:
        super().__init__(problem)
        self._passes = passes
        self._number = number

    def product(self, U: FloatArray) -> FloatArray:
        return self._passes.product(self._number, U)
