"""Zass & Shashua, section 4: three crossing lines, seen by triples and by pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reproduction.harness.claims import met, spread
from reproduction.harness.experiment import Experiment, Measured, Results, Setup, Unit
from reproduction.harness.report import Finding, Report
from soffit.datasets import make_lines
from soffit.metrics import accuracy
from soffit.models import (
    BaumEagon,
    CompletelyPositive,
    HigherOrder,
    RelationFactorization,
    SoF,
    SoftClustering,
    SoftHierarchy,
    SpectralClustering,
)

_LEAST, _MOST = 0.95, 0.7
_TRIPLES = "HigherOrder"
_MODELS: dict[str, Callable[[int], Any]] = {
    _TRIPLES: lambda s: HigherOrder(3, random_state=s),
    "SoF": lambda s: SoF(3, random_state=s),
    "SoF(scale=fit)": lambda s: SoF(3, scale="fit", random_state=s),
    "BaumEagon": lambda s: BaumEagon(3, random_state=s),
    "CompletelyPositive": lambda s: CompletelyPositive(3, random_state=s),
    "CompletelyPositive(normalization=additive)": lambda s: CompletelyPositive(
        3, normalization="additive", random_state=s
    ),
    "RelationFactorization": lambda s: RelationFactorization(3, random_state=s),
    "SoftHierarchy": lambda s: SoftHierarchy(3, random_state=s),
    "SpectralClustering": lambda s: SpectralClustering(3, random_state=s),
    "SpectralClustering(variant=ncut)": lambda s: SpectralClustering(
        3, variant="ncut", random_state=s
    ),
    "SoftClustering": lambda s: SoftClustering(3, random_state=s),
}


def plan(setup: Setup) -> list[Unit]:
    n = 90 if setup.quick else 300
    return [
        Unit(f"{model}/{draw}", {"model": model, "n": n, "seed": 601 + draw})
        for model in _MODELS
        for draw in range(setup.n_runs(10, quick=1))
    ]


def measure(unit: Unit, setup: Setup) -> Measured:
    s = unit.settings
    drawn = make_lines(s["n"], random_state=s["seed"])
    labels = _MODELS[s["model"]](s["seed"]).fit(drawn.X).labels_
    best = float(np.mean(drawn.posterior.argmax(axis=1) == drawn.labels))
    return Measured({"accuracy": accuracy(drawn.labels, labels), "posterior": best})


def report(results: Results) -> Report:
    findings = []
    pairwise = {}
    for model in _MODELS:
        scores = results.column("accuracy", model=model)
        if not len(scores):
            continue
        if model == _TRIPLES:
            claim, verdict = f"triples find the lines (>= {_LEAST})", met(scores.min() >= _LEAST)
        else:
            pairwise[model] = scores
            claim, verdict = f"pairs do not (< {_MOST})", met(scores.max() < _MOST)
        ours = f"accuracy {spread(scores)}"
        findings.append(Finding(claim, "-", ours, f"{model}, defaults", verdict))
    posterior = results.column("posterior")
    reading = f"The true posterior itself reaches {spread(posterior)}."
    triples = results.column("accuracy", model=_TRIPLES)
    if len(triples):
        reading += f" Triples reach {spread(triples)}."
    if pairwise:
        means = {model: scores.mean() for model, scores in pairwise.items()}
        highest = max(pairwise, key=lambda model: pairwise[model].max())
        reading += (
            f" The pairwise models have means of {min(means.values()):.2f} to "
            f"{max(means.values()):.2f}; the highest single value is "
            f"{pairwise[highest].max():.3f} (`{highest}`)."
        )
    return Report(f"{reading} The paper leaves the update for tuples open.", findings)


EXPERIMENT = Experiment(
    name="zass-lines",
    paper="Zass & Shashua 2005, section 4",
    title="Three crossing lines: triples and pairs",
    plan=plan,
    measure=measure,
    report=report,
)
