"""How accurately eq. 3 of SoF must be solved until its labels converge.

Zhao, Poupart, Zhang & Lysy (2015) give no tolerance. The same random starts are solved to several
tolerances, in single and in double precision, and the labels compared with those of the tightest
one. Truth is used to score only.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from benchmarks._table import print_table
from benchmarks.datasets import load
from reproduction.papers.sof.methods import Data
from reproduction.papers.sof.published import published
from reproduction.papers.sof.side_by_side import solve_gradients
from soffit.factorize import Factorization, Problem, random_start
from soffit.metrics import accuracy

SETS = ("iris", "glass", "satimage")
FIRST, RUNS = 1001, 5
MAX_ITER = 5000
# Precision and tolerance; the last one is what the others are compared with.
STEPS = (
    (np.float32, 1e-7),
    (np.float64, 1e-7),
    (np.float64, 1e-9),
    (np.float64, 1e-10),
    (np.float64, 1e-12),
    (np.float64, 1e-13),
)
HEADER = [
    "set",
    "precision",
    "tol",
    "steps",
    "loss",
    "other labels",
    "most",
    "accuracy",
    "published",
]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line for each set, precision and tolerance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--runs", type=int, default=RUNS, help="random starts")
    chosen = parser.parse_args(arguments)
    rows = [row for name in chosen.sets for row in _rows(name, chosen.runs)]
    print_table(HEADER, rows, title="SoF solved to several tolerances, means over the starts")


def _rows(name: str, n_runs: int) -> list[list[str]]:
    dataset = load(name)
    data, truth = Data(np.asarray(dataset.X), dataset.n_classes[0]), dataset.labels[0]
    seeds = range(FIRST, FIRST + n_runs)
    found = [_solve(data, dtype, tol, seeds) for dtype, tol in STEPS]
    labels = [np.array([run.factor.argmax(axis=1) for run in runs]) for runs in found]
    rows = []
    for (dtype, tol), runs, these in zip(STEPS, found, labels, strict=True):
        other = (these != labels[-1]).mean(axis=1)
        rows.append(
            [
                name,
                np.dtype(dtype).name,
                f"{tol:.0e}",
                f"{np.mean([run.n_iter for run in runs]):.0f}",
                f"{np.mean([run.objective for run in runs]):.3f}",
                f"{other.mean():.2%}",
                f"{other.max():.2%}",
                f"{np.mean([accuracy(truth, run) for run in these]):.4f}",
                f"{published('accuracy', 'SoF', name)}",
            ]
        )
        print(*rows[-1], flush=True)
    return rows


def _solve(data: Data, dtype: type, tol: float, seeds: Sequence[int]) -> list[Factorization]:
    P = data.double_similarities.astype(dtype)
    problem = Problem(P, data.n_clusters, scale="none", diagonal=True)
    starts = [
        random_start(problem.n_objects, problem.n_clusters, np.random.RandomState(seed))
        for seed in seeds
    ]
    return solve_gradients(problem, starts, max_iter=MAX_ITER, tol=tol)


if __name__ == "__main__":
    main()
