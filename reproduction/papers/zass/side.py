"""Zass & Shashua, section 2.2: known pairs, scored on objects that no pair touches."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import Dataset, load
from reproduction.harness.claims import counted, met
from reproduction.harness.experiment import Experiment, Measured, Results, Setup, Unit
from reproduction.harness.report import SHOWN, Finding, Report, Table
from soffit._typing import FloatArray, IntArray
from soffit.metrics import accuracy
from soffit.models import CompletelyPositive, SoftClustering

_PAIRS = (0, 200, 1000, 3000)
_POOL = 100
_MODELS: dict[str, Callable[[], Any]] = {
    "SoftClustering(3)": lambda: SoftClustering(3, random_state=3),
    "CompletelyPositive(3)": lambda: CompletelyPositive(3, random_state=3),
    'CompletelyPositive(3, affinity="nearest_neighbors")': lambda: CompletelyPositive(
        3, affinity="nearest_neighbors", random_state=3
    ),
    'CompletelyPositive(3, normalization="additive")': lambda: CompletelyPositive(
        3, normalization="additive", random_state=3
    ),
}
# Only of these is it asked that pairs help.
_DEFAULTS = ("SoftClustering(3)", "CompletelyPositive(3)")


def plan(setup: Setup) -> list[Unit]:
    return [
        Unit(f"{model}/{draw:02d}", {"model": model, "draw": 4001 + draw}, ("iris",))
        for model in _MODELS
        for draw in range(setup.n_runs(20, quick=1))
    ]


def measure(unit: Unit, setup: Setup) -> Measured:
    iris = _iris(setup.data)
    truth = iris.labels[0]
    rng = np.random.default_rng(unit.settings["draw"])
    order = rng.permutation(len(truth))
    pool, untouched = np.sort(order[:_POOL]), order[_POOL:]
    values = {}
    for count in _PAIRS:
        pairs = random_pairs(truth, pool, count, rng)
        labels = _MODELS[unit.settings["model"]]().fit(iris.X, **pairs).labels_
        values[str(count)] = accuracy(truth[untouched], labels[untouched])
    return Measured(values)


@lru_cache(maxsize=1)
def _iris(home: Path | None) -> Dataset:
    return load("iris", home=home)


def random_pairs(
    truth: IntArray, pool: IntArray, count: int, rng: np.random.Generator
) -> dict[str, IntArray]:
    """Pairs among the pool, as `fit` takes them."""
    first, second = np.triu_indices(len(pool), 1)
    chosen = rng.choice(len(first), count, replace=False)
    pairs = np.column_stack([pool[first[chosen]], pool[second[chosen]]])
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}


def report(results: Results) -> Report:
    scores = {
        model: np.array([results.column(str(count), model=model) for count in _PAIRS])
        for model in _MODELS
        if results.where(model=model)
    }
    findings = [
        Finding(
            f"{count:,} pairs do not harm the objects that no pair touches",
            "-",
            f"mean accuracy {row.mean():.3f}, {found[0].mean():.3f} without pairs; "
            + _lower(row, found[0]),
            f"{model}, iris, pairs among {_POOL} objects",
            met(bool(row.mean() >= found[0].mean())) if model in _DEFAULTS else SHOWN,
        )
        for model, found in scores.items()
        for count, row in zip(_PAIRS[1:], found[1:], strict=True)
    ]
    table = Table(
        f"Mean accuracy on the objects that no pair touches, {_draws(scores)}",
        ["model", *(f"{count:,} pairs" for count in _PAIRS)],
        [[f"`{name}`", *(f"{row.mean():.3f}" for row in found)] for name, found in scores.items()],
    )
    return Report(_reading(scores), findings, [table])


def _draws(scores: dict[str, FloatArray]) -> str:
    return counted(max(found.shape[1] for found in scores.values()), "draw")


def _lower(row: FloatArray, without: FloatArray) -> str:
    lower = int(np.count_nonzero(row < without - 1e-12))
    text = f"lower in {lower} of {len(row)} draws"
    return text + (f", by up to {(without - row).max():.2f}" if lower else "")


def _reading(scores: dict[str, FloatArray]) -> str:
    gains = {name: found[1:].mean() - found[0].mean() for name, found in scores.items()}
    better = [f"`{name}` ({gain:+.3f})" for name, gain in gains.items() if gain > 0]
    other = [f"`{name}` ({gain:+.3f})" for name, gain in gains.items() if gain <= 0]
    text = "Mean accuracy on the untouched objects rises with known pairs for "
    text += f"{', '.join(better) or 'no model'}"
    text += f", and does not for {', '.join(other)}" if other else ""
    return f"{text}. The paper shows side information on images and prints no numbers."


EXPERIMENT = Experiment(
    name="zass-side",
    paper="Zass & Shashua 2005, section 2.2",
    title="Known pairs on iris",
    plan=plan,
    measure=measure,
    report=report,
)
