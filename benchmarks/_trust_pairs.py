"""Side information by `suggest_pairs` against random pairs (see trust.py)."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from benchmarks._table import print_table
from benchmarks.datasets import load
from soffit import SoftClustering, suggest_pairs
from soffit.metrics import accuracy

ANSWERS, ROUND, SEEDS = 50, 10, range(10)
PAIR_SETS = ("iris", "glass", "ecoli", "usps")
PAIR_HEADER = ["set", "plain", "random pairs", "suggested", "random, own", "suggested, own"]


def questions() -> None:
    """Accuracy on objects without pairs, mean over seeds.

    The first three columns are about the objects untouched by random and by suggested pairs, the
    last two about those untouched by the one kind alone.
    """
    rows, met = [], True
    for name in PAIR_SETS:
        scores = np.mean([_scores(name, seed) for seed in SEEDS], axis=0)
        rows.append([name, *(f"{score:.3f}" for score in scores)])
        met = met and scores[2] > scores[1]
        print("pairs", name, file=sys.stderr, flush=True)
    title = f"accuracy on untouched objects after {ANSWERS} answers, mean over {len(SEEDS)} seeds"
    print_table(PAIR_HEADER, rows, title=title)
    print(f"\ntarget\n  suggested above random on every set: {'yes' if met else 'NO'}")


def _scores(name: str, seed: int) -> list[float]:
    X, labels, k = read_pair_set(name, seed)
    plain = SoftClustering(k, random_state=seed).fit(X)
    drawn = _random_pairs(len(labels), seed)
    by_random = _fit(X, k, seed, drawn, labels)
    asked, by_asking = _ask(X, labels, k, seed, plain)
    free_of_drawn = np.setdiff1d(np.arange(len(labels)), drawn)
    free_of_asked = np.setdiff1d(np.arange(len(labels)), asked)
    free = np.intersect1d(free_of_drawn, free_of_asked)
    return [
        accuracy(labels[objects], model.labels_[objects])
        for model, objects in (
            (plain, free),
            (by_random, free),
            (by_asking, free),
            (by_random, free_of_drawn),
            (by_asking, free_of_asked),
        )
    ]


def read_pair_set(name: str, seed: int) -> tuple[Any, Any, int]:
    sample = load(name, n_samples=1000, random_state=seed) if name == "usps" else load(name)
    X = sample.X
    if name == "glass":
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, np.asarray(sample.labels[0]), sample.n_classes[0]


def _fit(X: Any, k: int, seed: int, pairs: Any, labels: Any) -> SoftClustering:
    """The labels play the user who answers."""
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    model = SoftClustering(k, random_state=seed)
    return model.fit(X, must_link=pairs[same], cannot_link=pairs[~same])


def _ask(X: Any, labels: Any, k: int, seed: int, model: Any) -> tuple[Any, Any]:
    pairs = np.empty((0, 2), dtype=np.int64)
    while len(pairs) < ANSWERS:
        pairs = np.concatenate([pairs, suggest_pairs(model, ROUND)])
        model = _fit(X, k, seed, pairs, labels)
    return pairs, model


def _random_pairs(n: int, seed: int) -> Any:
    rng = np.random.default_rng(1000 + seed)
    pairs: set[tuple[int, int]] = set()
    while len(pairs) < ANSWERS:
        a, b = sorted(rng.integers(0, n, 2).tolist())
        if a != b:
            pairs.add((a, b))
    return np.array(sorted(pairs))
