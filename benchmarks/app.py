"""Times of `soffit app`: the first picture, a refit after an answer, a page of the table.

    python -m benchmarks.app
    python -m benchmarks.app --sizes 10000 100000 1000000

Gaussian clusters in ten dimensions, eight of them, and answers by the true labels. "fit" is the
first fit, "picture" everything that the page then asks for, "refit" the time from an answer to the
next result with its questions (the median of the answers), "of it asking" the part that chooses the
questions, "rows" a page of the table sorted by a column, and "search" all columns for a text. Wall
time, with processor time of a refit beside it: other processes make only the first longer.
"""

from __future__ import annotations

import argparse
import sys
import time
from statistics import median
from typing import Any

import numpy as np

from benchmarks._table import print_table, print_target
from soffit import SoftClustering
from soffit.app.view import View
from soffit.app.worker import Worker
from soffit.io import Source
from soffit.selection.suggest_pairs import valued_pairs
from soffit.session.session import Session

SIZES = (10_000, 100_000)
ANSWERS, CLUSTERS, COLUMNS, SEED = 5, 8, 10, 0
LIMITS = {10_000: 1.0, 100_000: 5.0}
PICTURE = 2.0
HEADER = [
    *("objects", "fit s", "picture s", "refit s", "CPU s", "of it asking s"),
    *("rows s", "search s"),
]


def make_data(n: int) -> tuple[Source, Any]:
    random = np.random.default_rng(SEED)
    labels = np.arange(n) % CLUSTERS
    X = 2.2 * random.normal(size=(CLUSTERS, COLUMNS))[labels] + random.normal(size=(n, COLUMNS))
    return Source("table", X, columns=tuple(f"c{i}" for i in range(COLUMNS))), labels


def timed(work: Any) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def picture(view: View) -> None:
    """What a page asks for before it is drawn."""
    view.get("state", {})
    for name in ("points", "slots", "strength", "moved"):
        view.get("array", {"name": name})
    view.get("rows", {})
    view.get("question", {})


def measure(n: int) -> dict[str, float]:
    source, labels = make_data(n)
    session = Session(source, SoftClustering(CLUSTERS, random_state=SEED))
    found = {"fit": timed(session.refit)}
    view = View(session, Worker(session), None, "benchmark")
    found["picture"] = timed(lambda: picture(view))
    walls, processor = [], []
    for _ in range(ANSWERS):
        # Also when little is left to gain: the time is the same.
        question = session.outcome.questions[0]  # type: ignore[union-attr]
        same = labels[question.a] == labels[question.b]
        session.answer(question.a, question.b, "together" if same else "apart")
        begin = time.process_time()
        walls.append(timed(session.refit))
        processor.append(time.process_time() - begin)
    found |= {"refit": median(walls), "cpu": median(processor)}
    model = session.outcome.model  # type: ignore[union-attr]
    found["asking"] = timed(lambda: valued_pairs(model, 8))
    found["rows"] = timed(lambda: view.get("rows", {"sort": "c3", "descending": "1"}))
    found["search"] = timed(lambda: view.get("rows", {"search": "1.2"}))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Times of soffit app.")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="N")
    sizes = parser.parse_args().sizes
    # Compiles what is not compiled yet, so that no time below contains it.
    for n in sorted({min(n, 50_000) for n in sizes}):
        measure(n)
    found = {}
    for n in sizes:
        found[n] = measure(n)
        print("measured", n, file=sys.stderr, flush=True)
    columns = ("fit", "picture", "refit", "cpu", "asking", "rows", "search")
    print_table(
        HEADER,
        [[f"{n:,}", *(f"{row[name]:.2f}" for name in columns)] for n, row in found.items()],
        title=f"{COLUMNS} columns, {CLUSTERS} clusters, median of {ANSWERS} refits",
    )
    print("\ntargets")
    for n, limit in LIMITS.items():
        row = found.get(n)
        print_target(f"refit at {n:,}, s", row and row["refit"], limit, at_least=False)
    row = found.get(10_000)
    print_target("picture at 10,000, s", row and row["picture"], PICTURE, at_least=False)


if __name__ == "__main__":
    main()
