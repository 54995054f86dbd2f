"""Several starts, of which the lowest loss is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import replace
from functools import partial

from soffit._threads import n_threads
from soffit._typing import FloatArray
from soffit.affinity.given_objects import Affinities
from soffit.factorize import SOLVERS, Factorization, Problem, random_start
from soffit.factorize.descent import lowest
from soffit.factorize.problem import Scale
from soffit.fitting.monitor import Progress
from soffit.fitting.recipe import Solution, Stage
from soffit.normalize import normalize

# Seconds after which a waiting thread looks up.
_PATIENCE = 0.2


def factorize_from_starts(
    stage: Stage[Affinities],
    *,
    solver: str,
    scale: Scale,
    n_init: int,
    max_iter: int,
    tol: float,
) -> Solution:
    """Factorize affinities as they are, with rows on the simplex, from random starts.

    The factorization with the lowest loss is kept; the first one wins ties. A warm start is the
    only one. A search that is cut short is the last.
    """
    A, k, progress = stage.relations.A, stage.n_clusters, stage.progress
    # The solver by row blocks leaves out the diagonal; the published ones do not.
    problem = Problem(A, k, scale=scale, diagonal=solver != "rows")

    def starts() -> Iterator[FloatArray]:
        warm = stage.warm_factor(problem.n_objects)
        if warm is not None:
            progress.phase("warm start")
            yield warm
            return
        for number in range(n_init):
            progress.phase(f"start {number + 1} of {n_init}")
            yield random_start(problem.n_objects, k, stage.random_state)

    found = lowest(
        SOLVERS[solver](problem, start, max_iter=max_iter, tol=tol, callback=progress.iteration)
        for start in starts()
    )
    return Solution(problem, normalize(A, None), found)


def solve_side_by_side(
    solve: Callable[..., Factorization],
    starts: Sequence[FloatArray],
    progress: Progress,
) -> Factorization:
    """The lowest loss over all starts, searched from in threads; the first one wins ties.

    Only the main thread hears of Ctrl-C. It tells the others, which end after their present
    iteration; searches that have not begun are left out.
    """

    def search(number: int) -> Factorization:
        name = f"start {number + 1} of {len(starts)}" if number else None
        return solve(starts[number], callback=partial(progress.iteration, beside=name))

    threads = min(n_threads(), len(starts))
    if threads == 1:
        return lowest(search(number) for number in range(len(starts)))
    searches: list[Future[Factorization]] = []
    with ThreadPoolExecutor(threads, thread_name_prefix="soffit") as pool:
        try:
            for number in range(len(starts)):
                searches.append(pool.submit(copy_context().run, search, number))
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
