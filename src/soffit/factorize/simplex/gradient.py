"""Projected gradient steps with momentum for rows on the simplex."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

import numpy as np

from soffit._typing import FloatArray
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.problem import (
    Factorization,
    Problem,
    best_scale,
    check_support,
    copy_start,
    exact_gram,
    loss,
    misfit,
    pair_gram,
    scale_limit,
    squared_norm,
)
from soffit.factorize.starts import project_rows

# Iterations over which the gain is averaged: single steps with momentum may gain little.
_WINDOW = 10
# The curvature is doubled until the step is safe, and reduced a little after every step.
_RELAX = 0.8


class Point(NamedTuple):
    """U = theta * W and its product with A."""

    U: FloatArray
    product: FloatArray


class Objective:
    """Loss and gradient of a problem in U for given scales, and the matching projection.

    Working in U rather than W adapts the step of every object to its degree.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.norm = squared_norm(problem.matrix, diagonal=problem.diagonal)
        self.limit = scale_limit(problem)
        self.theta = problem.row_factors()[:, None]
        self.entries = np.asarray(problem.matrix.diagonal())[:, None]

    def at(self, W: FloatArray) -> Point:
        """The point of a factor."""
        U = self.theta * W
        return Point(U, self.product(U))

    def product(self, U: FloatArray) -> FloatArray:
        """A U, the expensive part of a step."""
        return self.problem.matrix @ U

    def statistics(self, point: Point) -> tuple[FloatArray, FloatArray]:
        """The b and H of the loss as a quadratic in the scales."""
        U, product = point
        diagonal = self.problem.diagonal
        counted = product if diagonal else product - self.entries * U
        b = np.einsum("ic,ic->c", U, counted, dtype=np.float64)
        return b, pair_gram(U, exact_gram(U), diagonal=diagonal)

    def value(self, point: Point, s: FloatArray) -> float:
        """The loss for given scales; not clipped at zero, because differences of it matter."""
        return misfit(self.norm, *self.statistics(point), s)

    def gradient(self, point: Point, s: FloatArray) -> FloatArray:
        """4 (U S U' - A) U S, without the residuals of (i, i) if the diagonal is left out."""
        U, product = point
        s = s.astype(U.dtype)
        residual = product - U @ (s[:, None] * (U.T @ U))
        if not self.problem.diagonal:
            residual -= (self.entries - (U * U) @ s[:, None]) * U
        return np.asarray(-4.0 * residual * s)

    def project(self, U: FloatArray, W: FloatArray) -> FloatArray:
        """The factor nearest to U; irrelevant rows (theta = 0) are those of W."""
        matters = self.theta > 0
        shares = np.divide(U, self.theta, out=W.copy(), where=matters)
        return np.where(matters, project_rows(shares), W)


def solve_gradient(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 5000,
    tol: float = 1e-6,
    callback: Callback | None = None,
) -> Factorization:
    """Minimise the problem by projected gradient steps with Nesterov's momentum.

    The step length is found by backtracking on the local curvature. A step that would raise the
    loss is replaced by one without momentum, so the loss never rises. Converged when the last ten
    iterations lowered the loss by at most `tol` times its own value each.

    Parameters
    ----------
    problem : Problem
        What to fit; any scale, with or without diagonal and degrees, no pair weights.
    start : array of shape (n, k)
        Rows on the simplex; not changed.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Relative decrease per iteration below which the search stops.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every iteration; if it returns True, the
        search stops.

    Returns
    -------
    Factorization
        Factor, scale, loss, history and the reason for stopping.

    References
    ----------
    Nesterov, A method for solving the convex programming problem with convergence rate O(1/k^2),
    1983. O'Donoghue and Candes, Adaptive restart for accelerated gradient schemes, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_gradient
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> start = np.random.default_rng(5).dirichlet(np.ones(2), size=6)
    >>> found = solve_gradient(Problem(A, 2, diagonal=True), start)
    >>> labels = found.factor.argmax(axis=1)
    >>> bool(labels[0] == labels[2] != labels[3] == labels[5])
    True
    """
    check_support("gradient", problem)
    W = copy_start(problem, start)
    return minimise(Objective(problem), W, max_iter=max_iter, tol=tol, callback=callback)


def solve_gradients(
    problem: Problem, starts: Sequence[FloatArray], *, max_iter: int = 5000, tol: float = 1e-6
) -> list[Factorization]:
    """Minimise the problem from several starts. Deprecated: call `solve_gradient` for each start.

    Parameters
    ----------
    problem : Problem
        As for `solve_gradient`.
    starts : sequence of arrays of shape (n, k)
        Rows on the simplex; not changed.
    max_iter : int
        Maximum number of iterations per search.
    tol : float
        Relative decrease per iteration below which a search stops.

    Returns
    -------
    list of Factorization
        One result per start.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_gradient
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> problem = Problem(A, 2, diagonal=True)
    >>> starts = np.random.default_rng(5).dirichlet(np.ones(2), size=(4, 6))
    >>> [solve_gradient(problem, start).converged for start in starts]
    [True, True, True, True]
    """
    warnings.warn(
        "solve_gradients is deprecated: call solve_gradient(problem, start) for each start.",
        FutureWarning,
        stacklevel=2,
    )
    return [solve_gradient(problem, start, max_iter=max_iter, tol=tol) for start in starts]


def minimise(
    objective: Objective,
    W: FloatArray,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None = None,
) -> Factorization:
    """The search itself, from a checked start."""
    problem = objective.problem
    here = objective.at(W)
    b, H = objective.statistics(here)
    s = best_scale(problem, b, H, limit=objective.limit)
    descent = Descent(loss(objective.norm, b, H, s), W, s, norm=objective.norm, callback=callback)
    stepper = _Stepper(objective, W, here, s)
    with descent:
        while descent.running(max_iter):
            stuck = not stepper.step(s)
            b, H = objective.statistics(stepper.here)
            s = best_scale(problem, b, H, limit=objective.limit, previous=s)
            descent.record(loss(objective.norm, b, H, s), stepper.W, s)
            descent.stop_if(stuck or descent.has_converged(tol, over=_WINDOW))
    return descent.result()


class _Stepper:
    """State of the search: the last two points, the momentum and the curvature."""

    def __init__(self, objective: Objective, W: FloatArray, here: Point, s: FloatArray) -> None:
        self.objective = objective
        self.W = W
        self.here = here
        self.before = here
        self.inertia = 1.0
        # Three times the largest curvature of the model, S^1/2 U'U S^1/2: a cautious first step.
        spread = np.sqrt(s)[:, None] * exact_gram(here.U) * np.sqrt(s)
        largest = float(np.linalg.norm(spread, 2)) * float(s.max(initial=0.0))
        self.curvature = max(12.0 * largest, 1e-12 * sqrt(objective.norm), 1e-30)
        self.curvature_range = (1e-6 * self.curvature, 1e9 * self.curvature)
        # Rounding error of the loss, which is a difference of squares of this size.
        size = objective.norm + max(objective.value(here, s), 0.0)
        self.slack = 4.0 * float(np.finfo(W.dtype).eps) * size

    def step(self, s: FloatArray) -> bool:
        """Move downhill; False when rounding hides any further gain."""
        now = self.objective.value(self.here, s)
        inertia = 0.5 + 0.5 * sqrt(1.0 + 4.0 * self.inertia**2)
        momentum = (self.inertia - 1.0) / inertia
        W, there, value = self._descend(self._extrapolate(momentum), s)
        if value > now:
            inertia = 1.0
            W, there, value = self._descend(self.here, s)
        if value > now:
            return False
        self.W, self.here, self.before, self.inertia = W, there, self.here, inertia
        return True

    def _extrapolate(self, momentum: float) -> Point:
        (U, product), (U_old, product_old) = self.here, self.before
        if momentum == 0.0:
            return self.here
        return Point(U + momentum * (U - U_old), product + momentum * (product - product_old))

    def _descend(self, origin: Point, s: FloatArray) -> tuple[FloatArray, Point, float]:
        """One projected gradient step whose length the local curvature allows."""
        gradient = self.objective.gradient(origin, s)
        value = self.objective.value(origin, s)
        smallest, largest = self.curvature_range
        self.curvature = max(_RELAX * self.curvature, smallest)
        while True:
            W = self.objective.project(origin.U - gradient / self.curvature, self.W)
            there = self.objective.at(W)
            new = self.objective.value(there, s)
            move = (there.U - origin.U).astype(np.float64, copy=False)
            slope = float(np.vdot(gradient, move))
            bound = value + slope + 0.5 * self.curvature * float(np.vdot(move, move))
            if new <= bound + self.slack or self.curvature >= largest:
                return W, there, new
            self.curvature *= 2.0
