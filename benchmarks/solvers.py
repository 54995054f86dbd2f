"""Time of the solvers to reach the same objective from the same start.

P is the matrix of relative distances. Two comparisons are made, each with the published solver of
its model:

- no scale, ``||P - W W'||^2``: rows and gradient against the penalty method (SoF);
- one scale, ``||P - alpha W W'||^2``: rows and gradient against the growth transformation.

Comparison. The published solvers include the diagonal of P in their loss and the row blocks omit
it, so the factors of all solvers are evaluated by one common loss: the sum over i != j,
with the best alpha for the factor where a scale is fitted. The goal is 1.001 times the common loss
of the factor with which the published solver ends. The time of a solver is the time of its first
factor at or below the goal. A second goal is 1.001 times the lowest common loss that any of them
ends with.

- Rows and gradient minimise the common loss; their recorded histories are used as they are.
- Growth is memoryless: it is run in pieces of 50 iterations, with its factor evaluated after each.
- The penalty method has a factor after each round. In its favour, the first round is also run with
  1, 2, 4, ... steps, and the shortest run that reaches the goal counts. As published it returns
  nothing before its last round; the column "run" has that time.
- "gradient, diagonal" does not benefit from leaving out the diagonal: it minimises the published
  loss, and its goal is 1.001 times the final loss of the published solver.

Times are processor seconds, summed over threads, so that other processes hardly matter; only the
full fit of SoF on pendigits is measured in wall-clock time. A run on small data compiles or loads
the kernels first: compilation is not counted. The results are medians over the starts; a set of
more than 5000 objects gets one start. Runs below a second are repeated three times and the fastest
counts. "> x s" means that the goal was not reached in x seconds. Every run has a time limit; if it
stops a published solver, the last loss of that solver defines the goal.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits
from threadpoolctl import threadpool_limits

from benchmarks._runs import GRADIENT_WITH_DIAGONAL, PUBLISHED, Array, Record, Scale, Task, run
from benchmarks._table import print_table, print_target
from benchmarks.datasets import load
from soffit import SoF
from soffit.affinity import RelativeDistance
from soffit.factorize import random_start

SEEDS = (3, 11, 27)
CLOSE = 1.0 + 1e-3
MANY_OBJECTS = 5000
HEADER = ["set", "solver", "objective", "run", "to goal", "published / this", "to lowest"]
Results = dict[str, list[Record]]


def _labelled(name: str) -> tuple[Array, int]:
    dataset = load(name)
    return np.asarray(dataset.X, dtype=np.float64), dataset.n_classes[0]


SETS: dict[str, Callable[[], tuple[Array, int]]] = {
    "iris": lambda: _labelled("iris"),
    "glass": lambda: _labelled("glass"),
    "digits": lambda: (load_digits().data, 10),
    "pendigits": lambda: _labelled("pendigits"),
}


class Timing:
    """The seconds of one solver over the starts."""

    def __init__(self, seconds: list[float], totals: list[float]) -> None:
        self.seconds = median(seconds)
        self.given = median(totals)

    def __str__(self) -> str:
        if math.isinf(self.seconds):
            return f"> {_seconds(self.given)}"
        return _seconds(self.seconds)

    def ratio_to(self, other: Timing) -> float:
        """How many times faster than the other; a bound where the other never arrived."""
        theirs = other.given if math.isinf(other.seconds) else other.seconds
        return theirs / self.seconds


def compare(A: Array, k: int, scale: Scale, seeds: tuple[int, ...], limit: float) -> Results:
    """Run all solvers of a comparison from the same starts."""
    names = ("rows", "gradient", GRADIENT_WITH_DIAGONAL, PUBLISHED[scale])
    starts = [random_start(len(A), k, np.random.RandomState(seed)) for seed in seeds]
    tasks = [Task(A, start, scale, limit) for start in starts]
    return {name: [run(name, task) for task in tasks] for name in names}


def timings(results: Results, published: str) -> tuple[dict[str, Timing], dict[str, Timing]]:
    """Times to the published solver's loss, and to the lowest loss of all."""
    to_goal, to_lowest = {}, {}
    comparable = [name for name in results if name != GRADIENT_WITH_DIAGONAL]
    ends = zip(*(results[name] for name in comparable), strict=True)
    lowest = [min(record.end for record in records) for records in ends]
    for name, records in results.items():
        own = name == GRADIENT_WITH_DIAGONAL
        goals = [CLOSE * (r.history[-1] if own else r.end) for r in results[published]]
        totals = [record.total for record in records]
        pairs = list(zip(records, goals, lowest, strict=True))
        to_goal[name] = Timing([record.time_to(goal) for record, goal, _ in pairs], totals)
        if not own:
            to_lowest[name] = Timing([r.time_to(CLOSE * low) for r, _, low in pairs], totals)
    return to_goal, to_lowest


def report(name: str, results: Results, published: str) -> tuple[list[list[str]], float]:
    """The table's lines for one set, and how many times faster rows are than the published."""
    to_goal, to_lowest = timings(results, published)
    lines = []
    for solver, records in results.items():
        ratio = to_goal[solver].ratio_to(to_goal[published])
        lines.append(
            [
                name,
                solver,
                f"{median(record.end for record in records):.6g}",
                _seconds(median(record.total for record in records)),
                str(to_goal[solver]),
                f"{ratio:.3g}" if ratio > 0 else "-",
                str(to_lowest.get(solver, "")),
            ]
        )
    return lines, to_goal["rows"].ratio_to(to_goal[published])


def warm_up() -> None:
    """Compile or load every kernel on a small set."""
    X, k = SETS["iris"]()
    A = RelativeDistance().fit(X).matrix_
    start = random_start(len(A), k, np.random.RandomState(5))
    for scale, published in PUBLISHED.items():
        for name in ("rows", "gradient", GRADIENT_WITH_DIAGONAL, published):
            run(name, Task(A, start, scale, limit=0.05))


def fit_with_scale(X: Array, k: int) -> tuple[float, Record]:
    """Seconds by the clock, on all cores, of a whole fit of SoF with alpha, and its history."""
    model = SoF(k, scale="fit", random_state=SEEDS[0])
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    return perf_counter() - began, Record(history=model.objective_history_.tolist())


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time of the solvers to the same objective.")
    parser.add_argument("--sets", default=",".join(SETS), help="comma-separated names")
    parser.add_argument("--starts", type=int, default=3, choices=(1, 2, 3), help="random starts")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds a solver may take")
    return parser.parse_args()


def print_targets(measured: dict[str, float], n_rises: int, n_histories: int) -> None:
    print("\ntargets")
    for published in PUBLISHED.values():
        what = f"glass: {published} / rows"
        print_target(what, measured.get(f"glass {published}"), 50, at_least=True)
    for what in ("solve_rows with alpha", "SoF(scale='fit').fit, affinities included"):
        line = f"pendigits, dense, seconds of {what}"
        print_target(line, measured.get(what), 10, at_least=False)
    print_target(f"rises in {n_histories} recorded histories", n_rises, 0, at_least=False)


def main() -> None:
    options = arguments()
    tables: dict[str, list[list[str]]] = {scale: [] for scale in PUBLISHED}
    measured: dict[str, float] = {}
    records: list[Record] = []
    with threadpool_limits(limits=1):
        warm_up()
        for name in options.sets.split(","):
            X, k = SETS[name]()
            A = RelativeDistance().fit(X).matrix_
            seeds = SEEDS[: 1 if len(A) > MANY_OBJECTS else options.starts]
            for scale, published in PUBLISHED.items():
                title = f"{name} (n={len(A)}, k={k})"
                print(f"{title}, scale {scale} ...", file=sys.stderr, flush=True)
                results = compare(A, k, scale, seeds, options.limit)
                lines, measured[f"{name} {published}"] = report(title, results, published)
                tables[scale] += lines
                records += [record for found in results.values() for record in found]
                if name == "pendigits" and scale == "single":
                    measured["solve_rows with alpha"] = results["rows"][0].total
            del A
            if name == "pendigits":
                what = "SoF(scale='fit').fit, affinities included"
                measured[what], record = fit_with_scale(X, k)
                records.append(record)
    for scale, published in PUBLISHED.items():
        print_table(HEADER, tables[scale], title=f"Scale: {scale}. Published solver: {published}")
    print_targets(measured, sum(record.n_rises for record in records), len(records))


def _seconds(value: float) -> str:
    return f"{value:.3g} s" if value >= 1e-3 else f"{1e3 * value:.3g} ms"


if __name__ == "__main__":
    main()
