"""Run a solver from several random starts and keep the lowest loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soffit.factorize import Factorization, Problem, random_start
from soffit.models._progress import Progress


def solve_from_random_starts(
    problem: Problem,
    solver: Callable[..., Factorization],
    random_state: np.random.RandomState,
    *,
    n_init: int,
    max_iter: int,
    tol: float,
    progress: Progress,
) -> Factorization:
    """The factorization with the lowest loss over all starts; the first one wins ties."""
    found = []
    for number in range(n_init):
        progress.phase(f"start {number + 1} of {n_init}")
        start = random_start(problem.n_objects, problem.n_clusters, random_state)
        found.append(
            solver(problem, start, max_iter=max_iter, tol=tol, callback=progress.iteration)
        )
    return min(found, key=lambda result: result.objective)
