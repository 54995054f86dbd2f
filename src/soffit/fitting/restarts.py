"""Several starts, of which the solution with the lowest loss is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from soffit._threads import n_threads, search_each
from soffit._typing import FloatArray, Matrix
from soffit.affinity.given_objects import Affinities
from soffit.factorize import SOLVERS, Factorization, Problem, random_start
from soffit.factorize.descent import lowest
from soffit.factorize.problem import Scale
from soffit.factorize.starts import partition_start
from soffit.fitting.monitor import Progress
from soffit.fitting.recipe import Solution, Stage
from soffit.graph import Locality
from soffit.normalize import unnormalized
from soffit.partition.candidates import order_of_graph

# Solvers that update one object after the other, and are ours.
_IN_TURN = ("rows", "coordinate")


@dataclass(frozen=True)
class InOrder:
    """A problem in an order of the objects that depends on their affinities alone.

    Random numbers belong to the places in this order, and solvers that update one row after the
    other follow it: the rows of a table in another order have the same clusters.
    """

    problem: Problem
    order: Locality | None

    @classmethod
    def of(cls, problem: Problem, A: Matrix, solver: str) -> InOrder:
        """In the order of the affinities A; published solvers are left as they are."""
        order = order_of_graph(A) if solver in _IN_TURN else None
        return cls(problem.reordered(order), order)

    def rows(self, start: FloatArray) -> FloatArray:
        """A start whose rows are in the given order."""
        return start if self.order is None else np.asarray(self.order.rows(start))

    def back(self, found: Factorization) -> Factorization:
        """What was found, with the rows of its factor in the given order."""
        if self.order is None:
            return found
        return replace(found, factor=self.order.back(found.factor))


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

    The solution with the lowest loss is kept; ties go to the first. A warm start is the only start.
    A search that is stopped early is the last. A solution with an empty cluster is only kept if a
    search from a partition of the objects, too, ends with one; published methods are left as they
    are.
    """
    A, k, progress = stage.relations.A, stage.n_clusters, stage.progress
    # The row-block solver leaves out the diagonal; the published solvers do not.
    problem = Problem(A, k, scale=scale, diagonal=solver != "rows")
    ordered = InOrder.of(problem, A, solver)

    def starts() -> Iterator[FloatArray]:
        warm = stage.warm_factor(problem.n_objects)
        if warm is not None:
            progress.phase("warm start")
            yield ordered.rows(warm)
            return
        for number in range(n_init):
            progress.phase(f"start {number + 1} of {n_init}")
            yield random_start(problem.n_objects, k, stage.random_state)

    def solve(start: FloatArray) -> Factorization:
        return SOLVERS[solver](
            ordered.problem, start, max_iter=max_iter, tol=tol, callback=progress.iteration
        )

    found = lowest(solve(start) for start in starts())
    if solver == "rows" and has_empty_cluster(found) and not found.cut_short:
        progress.phase("start without empty clusters")
        again = solve(ordered.rows(partition_start(A, k)))
        found = found if has_empty_cluster(again) else again
    return Solution(problem, unnormalized(A), ordered.back(found))


def has_empty_cluster(found: Factorization) -> bool:
    """Whether some cluster is the most probable one of no object."""
    k = found.factor.shape[1]
    return len(np.unique(found.factor.argmax(axis=1))) < min(k, len(found.factor))


def solve_in_threads(
    solve: Callable[..., Factorization],
    starts: Sequence[FloatArray],
    progress: Progress,
) -> Factorization:
    """The lowest loss over all starts, searched in threads; ties go to the first.

    Only the main thread receives Ctrl-C. It notifies the others, which stop after their current
    iteration; pending searches are skipped.
    """

    def search(number: int) -> Factorization:
        name = f"start {number + 1} of {len(starts)}" if number else None
        return solve(starts[number], callback=partial(progress.iteration, beside=name))

    if min(n_threads(), len(starts)) == 1:
        return lowest(search(number) for number in range(len(starts)))

    def stop() -> None:
        progress.stopped = "interrupted"

    found = search_each(search, range(len(starts)), stop)
    best = min(found, key=lambda result: result.objective)
    cut = [result.stopped for result in found if result.cut_short]
    if progress.stopped == "interrupted":
        cut = [progress.stopped]
    return replace(best, stopped=cut[0]) if cut else best
