"""The loop of `soffit app` and `soffit ask`, with a person who sometimes errs.

    python -m benchmarks.asking

The labels play the person. Every answer is followed by a refit, as in the app, until little is left
to gain or there are 60 answers. "honest" answers are right; of the others one in ten is wrong.
ARI on all objects, mean over the seeds; "answers" is their mean number, "named" the share of the
wrong answers that are listed as worth a second look at the end, and "wrongly named" the share of
the right ones.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks._table import print_table
from benchmarks._trust_pairs import PAIR_SETS, read_pair_set
from soffit import SoftClustering
from soffit.io import Source
from soffit.metrics import adjusted_rand
from soffit.session.session import Session

ANSWERS, SEEDS, ERRORS = 60, range(3), (0.0, 0.1)
HEADER = ["set", "start", "honest", "answers", "one in ten wrong", "named", "wrongly named"]


@dataclass(frozen=True)
class Run:
    """The result of one session."""

    start: float
    end: float
    n_answers: int
    named: float
    wrongly_named: float


def converse(X: Any, labels: Any, k: int, seed: int, errors: float) -> Run:
    """One session with a person who errs with this probability."""
    random = np.random.default_rng(seed)
    source = Source("table", X, columns=tuple(f"c{i}" for i in range(X.shape[1])))
    session = Session(source, SoftClustering(k, random_state=seed))
    start = adjusted_rand(labels, session.refit().model.labels_)
    wrong, right = set(), set()
    for _ in range(ANSWERS):
        question = session.question()
        if question is None:
            break
        same = bool(labels[question.a] == labels[question.b])
        errs = bool(random.random() < errors)
        session.answer(question.a, question.b, "together" if same != errs else "apart")
        (wrong if errs else right).add((question.a, question.b))
        session.refit()
    named = {(entry.a, entry.b) for entry in session.disputed()}
    outcome = session.outcome
    assert outcome is not None
    return Run(
        start,
        adjusted_rand(labels, outcome.model.labels_),
        len(wrong) + len(right),
        len(named & wrong) / len(wrong) if wrong else np.nan,
        len(named & right) / len(right) if right else np.nan,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="The loop of questions, with wrong answers.")
    parser.add_argument("--sets", nargs="+", default=PAIR_SETS, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), metavar="N")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    rows, above = [], True
    for name in given.sets:
        found = {errors: [] for errors in ERRORS}
        for seed in range(given.seeds):
            X, labels, k = read_pair_set(name, seed)
            for errors in ERRORS:
                found[errors].append(converse(np.asarray(X, float), labels, k, seed, errors))
        honest, erring = found.values()

        def mean(runs: list[Run], what: str) -> float:
            return float(np.nanmean([getattr(run, what) for run in runs]))

        rows.append(
            [
                name,
                f"{mean(honest, 'start'):.3f}",
                f"{mean(honest, 'end'):.3f}",
                f"{mean(honest, 'n_answers'):.0f}",
                f"{mean(erring, 'end'):.3f}",
                f"{mean(erring, 'named'):.0%}",
                f"{mean(erring, 'wrongly_named'):.0%}",
            ]
        )
        above = above and mean(erring, "end") >= mean(erring, "start")
        print("asked", name, file=sys.stderr, flush=True)
    print_table(HEADER, rows, title=f"ARI on all objects, mean over {given.seeds} seeds")
    print(f"\ntarget\n  with wrong answers not below the start: {'yes' if above else 'NO'}")


if __name__ == "__main__":
    main()
