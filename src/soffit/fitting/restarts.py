"""Run a solver from several starts and keep the lowest loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from functools import partial

import numpy as np

from soffit._threads import n_threads
from soffit._typing import FloatArray
from soffit.factorize import Factorization, Problem, random_start
from soffit.factorize.descent import lowest
from soffit.fitting.monitor import Progress

# Seconds after which a waiting thread looks up.
_PATIENCE = 0.2


def solve_from_starts(  # noqa: PLR0913
    problem: Problem,
    solver: Callable[..., Factorization],
    random_state: np.random.RandomState,
    *,
    n_init: int,
    max_iter: int,
    tol: float,
    progress: Progress,
    warm: FloatArray | None = None,
    n_rounds: int | None = None,
) -> Factorization:
    """The factorization with the lowest loss over random starts, or from the one that is given.

    The first one wins ties. A search that is cut short is the last. `n_rounds` tells how many
    times a solver reports whose rounds `max_iter` and `tol` do not bound.
    """
    begin = partial(progress.phase, max_iter=max_iter, tol=tol)
    if n_rounds is not None:
        begin = partial(progress.phase, max_iter=n_rounds, tol=0.0)

    def starts() -> Iterator[FloatArray]:
        if warm is not None:
            begin("going on")
            yield warm
            return
        for number in range(n_init):
            begin(f"start {number + 1} of {n_init}")
            yield random_start(problem.n_objects, problem.n_clusters, random_state)

    return lowest(
        solver(problem, start, max_iter=max_iter, tol=tol, callback=progress.iteration)
        for start in starts()
    )


def solve_side_by_side(
    solve: Callable[..., Factorization],
    starts: Sequence[FloatArray],
    n_jobs: int | None,
    progress: Progress,
) -> Factorization:
    """The lowest loss over all starts, searched from in threads; the first one wins ties.

    Only the main thread hears of Ctrl-C. It tells the others, which end after their present
    iteration; searches that have not begun are left out.
    """

    def search(number: int) -> Factorization:
        name = f"start {number + 1} of {len(starts)}" if number else None
        return solve(starts[number], callback=partial(progress.iteration, beside=name))

    threads = min(n_threads(n_jobs), len(starts))
    if threads == 1:
        return lowest(search(number) for number in range(len(starts)))
    searches: list[Future[Factorization]] = []
    with ThreadPoolExecutor(threads, thread_name_prefix="soffit") as pool:
        try:
            for number in range(len(starts)):
                searches.append(pool.submit(search, number))
            # Not all systems wake a thread that waits without a limit.
            while wait(searches, timeout=_PATIENCE).not_done:
                pass
        except KeyboardInterrupt:
            progress.interrupt()
            for waiting in searches:
                waiting.cancel()
    found = [ended.result() for ended in searches if not ended.cancelled()]
    if not found:
        raise KeyboardInterrupt
    best = min(found, key=lambda result: result.objective)
    cut = [result.stopped for result in found if result.cut_short]
    if progress.stopped == "interrupted":
        cut = [progress.stopped]
    return replace(best, stopped=cut[0]) if cut else best
