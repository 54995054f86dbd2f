"""Answers about pairs: how much they raise a result, also where some of them are wrong.

    python -m benchmarks.asking
    python -m benchmarks.asking --loop

The labels play the person. The first table is ARI on all objects of ten sets after 25, 50 and 100
answers to the questions of `suggest_pairs`, five at a time, beside COBRAS (`pip install cobras-ts`,
which chooses its own questions and knows no k) and k-means with pairwise penalties (PCKMeans, whose
questions explore and then consolidate; written here). "wrong" rows have one wrong answer in ten.
"lowest" is the largest fall below the start after any five answers.

`--loop` is the loop of `soffit app` and `soffit ask`: every answer is followed by a refit, until
little is left to gain or there are 60 answers. "named" is the share of the wrong answers that are
listed as worth a second look at the end, "wrongly named" the share of the right ones.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from benchmarks._table import print_table
from benchmarks._trust_pairs import PAIR_SETS, read_pair_set
from benchmarks.datasets import load
from soffit import SoftClustering, suggest_pairs
from soffit.io import Source
from soffit.metrics import adjusted_rand
from soffit.session.session import Session

SETS = (
    *("iris", "glass", "ecoli", "breast_tissue", "uci__wdbc", "uci__yeast", "uci__sonar"),
    *("usps", "pendigits", "satimage"),
)
SUBSAMPLED = ("usps", "pendigits", "satimage")
AS_THEY_ARE = ("iris", "ecoli", *SUBSAMPLED)
SHOWN, ROUND, LOOP = (25, 50, 100), 5, 60
WRONG = 0.1
HEADER = ["set", "start", *map(str, SHOWN), "lowest"]
LOOP_HEADER = ["set", "start", "honest", "answers", "one in ten wrong", "named", "wrongly named"]


def read_set(name: str, seed: int) -> tuple[Any, Any, int]:
    """Features, labels and the number of classes."""
    sample = load(name, n_samples=1000, random_state=seed) if name in SUBSAMPLED else load(name)
    X = np.asarray(sample.X, dtype=float)
    if name not in AS_THEY_ARE:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.asarray(sample.labels[0]), sample.n_classes[0]


class Person:
    """Answers by the labels, and errs with some probability."""

    def __init__(self, labels: Any, errors: float, seed: int) -> None:
        self.labels, self.errors = labels, errors
        self.random = np.random.default_rng(seed)

    def together(self, a: int, b: int) -> bool:
        """Whether two objects belong together, as the person says."""
        return bool((self.labels[a] == self.labels[b]) != (self.random.random() < self.errors))

    # What COBRAS asks.
    query_points = together

    def update_clustering(self, clustering: Any) -> None:
        """Nothing is shown."""

    def continue_cluster_process(self) -> bool:
        """The person never tires."""
        return True


# --- one curve per method -------------------------------------------------------------------------


def by_soffit(X: Any, person: Person, k: int | None, seed: int) -> list[Any]:
    """Labels after 0, 5, 10 ... answers; an unknown k is chosen again with the answers.

    While one cluster is chosen, the questions are those about two.
    """
    model = SoftClustering(k, random_state=seed).fit(X)
    found = [model.labels_]
    known: dict[bool, list[Any]] = {True: [], False: []}
    for _ in range(SHOWN[-1] // ROUND):
        if model.n_clusters_ == 1:
            model = SoftClustering(2, random_state=seed)
            model.fit(X, must_link=known[True], cannot_link=known[False])
        for a, b in suggest_pairs(model, ROUND):
            known[person.together(int(a), int(b))].append((int(a), int(b)))
        model = SoftClustering(k, random_state=seed)
        model.fit(X, must_link=known[True], cannot_link=known[False])
        found.append(model.labels_)
    return found


def by_cobras(X: Any, person: Person, k: int | None, seed: int) -> list[Any]:
    """The labels of COBRAS, in the same steps."""
    # The release uses an alias that NumPy has removed.
    vars(np).setdefault("int", int)
    from cobras_ts.cobras_kmeans import COBRAS_kmeans

    np.random.seed(seed)  # noqa: NPY002 - it draws from the global generator
    every = COBRAS_kmeans(X, person, SHOWN[-1]).cluster()[1]
    steps = range(ROUND, SHOWN[-1] + 1, ROUND)
    return [np.zeros(len(X)), *(np.asarray(every[min(q, len(every)) - 1]) for q in steps)]


def by_pckmeans(X: Any, person: Person, k: int | None, seed: int) -> list[Any]:
    """k-means with penalties for violated answers; questions explore, then consolidate."""
    assert k is not None
    random = np.random.default_rng(seed)
    blocks: list[list[int]] = [[int(random.integers(len(X)))]]
    apart: list[tuple[int, int]] = []
    found = [KMeans(k, n_init=4, random_state=seed).fit_predict(X)]
    asked = 0
    while asked < SHOWN[-1]:
        flat = [i for block in blocks for i in block]
        free = np.setdiff1d(np.arange(len(X)), flat)
        if not len(free):
            break
        if len(blocks) < k:
            gaps = np.linalg.norm(X[free, None] - X[flat][None], axis=2).min(axis=1)
            x = int(free[gaps.argmax()])
        else:
            x = int(random.choice(free))
        centers = np.array([X[block].mean(axis=0) for block in blocks])
        for block in np.linalg.norm(centers - X[x], axis=1).argsort():
            if asked == SHOWN[-1]:
                break
            asked += 1
            together = person.together(x, blocks[block][0])
            if together:
                blocks[block].append(x)
            else:
                apart.append((x, blocks[block][0]))
            if asked % ROUND == 0:
                found.append(_penalized(X, k, blocks, apart, seed))
            if together:
                break
        else:
            if len(blocks) < k:
                blocks.append([x])
    return found + [found[-1]] * (1 + SHOWN[-1] // ROUND - len(found))


def _penalized(X: Any, k: int, blocks: Any, apart: Any, seed: int) -> Any:
    """Assign in turn: nearest centre, plus a penalty per violated answer."""
    centers = np.array([X[block].mean(axis=0) for block in blocks])
    if len(centers) < k:
        more = KMeans(k, n_init=1, random_state=seed).fit(X).cluster_centers_
        far = np.linalg.norm(more[:, None] - centers[None], axis=2).min(axis=1).argsort()
        centers = np.concatenate([centers, more[far[len(centers) :]]])
    price = float(((X - X.mean(axis=0)) ** 2).sum(axis=1).mean())
    for _ in range(20):
        gaps = ((X[:, None] - centers[None]) ** 2).sum(axis=2)
        labels = gaps.argmin(axis=1)
        for a, b in apart:
            gaps[a, labels[b]] += price
        for block in blocks:
            labels[block] = gaps[block].sum(axis=0).argmin()
        free = np.setdiff1d(np.arange(len(X)), [i for block in blocks for i in block])
        labels[free] = gaps[free].argmin(axis=1)
        centers = np.array(
            [X[labels == c].mean(axis=0) if (labels == c).any() else centers[c] for c in range(k)]
        )
    return labels


METHODS = (
    ("soffit, k given", by_soffit, True, 0.0),
    ("soffit, k unknown", by_soffit, False, 0.0),
    ("COBRAS", by_cobras, False, 0.0),
    ("PCKMeans, k given", by_pckmeans, True, 0.0),
    ("soffit, k given, wrong", by_soffit, True, WRONG),
    ("soffit, k unknown, wrong", by_soffit, False, WRONG),
    ("COBRAS, wrong", by_cobras, False, WRONG),
    ("PCKMeans, k given, wrong", by_pckmeans, True, WRONG),
)


def curves(sets: list[str], methods: list[str], seeds: int) -> None:
    """Print ARI against answers: means for each method, then each set for ours."""
    scores: dict[str, dict[str, Any]] = {method: {} for method in methods}
    for name in sets:
        for method, run, knows_k, errors in METHODS:
            if method not in methods:
                continue
            runs = []
            for seed in range(seeds):
                X, labels, k = read_set(name, seed)
                person = Person(labels, errors, 100 + seed)
                try:
                    found = run(X, person, k if knows_k else None, seed)
                except ImportError as error:
                    print(f"left out {method}: {error}", file=sys.stderr)
                    break
                runs.append([adjusted_rand(labels, one) for one in found])
            if runs:
                scores[method][name] = np.mean(runs, axis=0)
        print("asked", name, file=sys.stderr, flush=True)
    means = [
        _row(method, np.mean(list(by_set.values()), axis=0), min(map(_lowest, by_set.values())))
        for method, by_set in scores.items()
        if by_set
    ]
    title = f"ARI on all objects after so many answers, mean over {len(sets)} sets, {seeds} seeds"
    print_table(["method", *HEADER[1:]], means, title=title)
    for method in (method for method in methods if method.startswith("soffit")):
        rows = [_row(name, curve, _lowest(curve)) for name, curve in scores[method].items()]
        print_table(HEADER, rows, title=f"\n{method}")
    honest, wrong = (scores.get(m) for m in ("soffit, k given", "soffit, k given, wrong"))
    if honest is None or wrong is None:
        return
    mean = np.mean(list(honest.values()), axis=0)
    print("\ntargets")
    for answers, target in ((50, 0.65), (100, 0.75)):
        met = "yes" if mean[answers // ROUND] >= target else "NO"
        print(f"  at least {target} after {answers} answers: {met}")
    for said, which in (("honest", honest), ("one in ten wrong", wrong)):
        below = [n for n, curve in which.items() if curve[-1] < curve[0] - 0.0005]
        print(f"  {said}, after 100 answers not below the start: {', '.join(below) or 'yes'}")


def _lowest(curve: Any) -> float:
    return float(np.min(curve - curve[0]))


def _row(name: str, curve: Any, lowest: float) -> list[str]:
    shown = [curve[0], *(curve[answers // ROUND] for answers in SHOWN)]
    return [name, *(f"{score:.3f}" for score in shown), f"{lowest:+.3f}"]


# --- the loop of the app --------------------------------------------------------------------------


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
    for _ in range(LOOP):
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


def loop(sets: list[str], seeds: int) -> None:
    """Print where sessions end."""
    rows, below = [], []
    for name in sets:
        found: dict[float, list[Run]] = {errors: [] for errors in (0.0, WRONG)}
        for seed in range(seeds):
            X, labels, k = read_pair_set(name, seed)
            for errors, runs in found.items():
                runs.append(converse(np.asarray(X, float), labels, k, seed, errors))
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
        if mean(erring, "end") < mean(erring, "start"):
            below.append(name)
        print("asked", name, file=sys.stderr, flush=True)
    print_table(LOOP_HEADER, rows, title=f"ARI on all objects, mean over {seeds} seeds")
    print(f"\ntarget\n  with wrong answers not below the start: {', '.join(below) or 'yes'}")


def main() -> None:
    parser = argparse.ArgumentParser(description="What answers about pairs are worth.")
    parser.add_argument("--loop", action="store_true", help="the loop of soffit app")
    parser.add_argument("--sets", nargs="+", metavar="NAME")
    names = [method for method, *_ in METHODS]
    parser.add_argument("--methods", nargs="+", choices=names, default=names, metavar="NAME")
    parser.add_argument("--seeds", type=int, default=1, metavar="N")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.loop:
        loop(given.sets or list(PAIR_SETS), given.seeds)
    else:
        curves(given.sets or list(SETS), given.methods, given.seeds)


if __name__ == "__main__":
    main()
