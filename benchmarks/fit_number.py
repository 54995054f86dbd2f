"""Fit the weights of the choice of the number of clusters, and judge them on other kinds of data.

`python -m benchmarks.fit_number` gathers the evidence of all sets (`_number_sets.py`), fits the
weights of `soffit.selection.choice_model` by penalized maximum likelihood, prints them, and prints
how often the choice is right: with the weights fitted to all families (in sample), and with those
fitted to all families but the one that is judged (cross). `--keep FILE` keeps the evidence for
another run. `--fresh` draws the generated sets with another seed and judges the weights in the
library on them, without fitting.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from benchmarks._number_sets import (
    NumberSet,
    everyday_sets,
    generated_sets,
    graph_sets,
    image_sets,
    labelled_sets,
    similarity_sets,
    single_sets,
    text_sets,
)
from benchmarks._table import print_table, print_target
from soffit.affinity import Settings
from soffit.affinity.given_objects import read_objects
from soffit.selection import choice_model
from soffit.selection.choose_k import evidence_of_range
from soffit.selection.density import Density
from soffit.selection.evidence import Evidence

SEED = 3
FRESH_SEED = 11
PENALTY = {"table": 0.3, "network": 0.02, "full": 0.3, "graph": 0.02}
FEATURES: dict[str, tuple[str, ...]] = {
    "table": (
        *("log_k", "ahead", "gap", "smallest", "one_thin"),
        *("depth", "left_out", "mixture", "few_mixture", "dip", "next_dip"),
    ),
    "network": ("one", "log_k", "short", "one_above_chance"),
    "full": ("one", "log_k", "ahead", "gap", "smallest", "mixture", "next_dip"),
    "graph": ("one", "log_k", "ahead", "gap", "smallest", "one_log_n"),
}


@dataclass(frozen=True)
class Case:
    """A set with the evidence for 1, 2, ... clusters, and which of them are admissible."""

    family: str
    name: str
    admissible: tuple[int, ...]
    is_judged: bool
    evidence: Evidence

    @cached_property
    def kind(self) -> str:
        """Which weights apply."""
        return choice_model.kind_of(self.evidence)

    @cached_property
    def features(self) -> dict[str, Any]:
        """The features of 1, 2, ... clusters."""
        return choice_model.features(self.evidence)

    @property
    def right(self) -> Any:
        """Whether each number is admissible."""
        n = len(self.features["one"])
        return np.isin(np.arange(1, n + 1), self.admissible)


def all_sets(seed: int, *, fresh: bool) -> Iterator[NumberSet]:
    if not fresh:
        yield from labelled_sets()
        yield from image_sets()
        yield from everyday_sets()
        yield from text_sets()
    yield from generated_sets(seed)
    yield from single_sets(seed, draws=2)
    yield from graph_sets(seed)
    yield from similarity_sets(seed)


def cases_of(sets: Iterator[NumberSet]) -> list[Case]:
    """The evidence of each set; tables also without their distances, as a graph."""
    cases = []
    for one in sets:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            objects = read_objects(one.make(), affinity=one.affinity, settings=Settings())
            copies = objects.copies()
            objects = objects if copies is None else objects.distinct(copies)
            found = objects.affinities()
        density = Density.of(found.affinity, found.table)
        for given in [density] if density is None else [density, None]:
            evidence = evidence_of_range(found.affinity.matrix_, density=given)
            case = Case(one.family, one.name, one.admissible, one.is_judged, evidence)
            if given is None and density is not None and case.kind != "graph":
                continue
            cases.append(case)
        print(one.family, one.name, file=sys.stderr, flush=True)
    return cases


# --- fitting --------------------------------------------------------------------------------------


class Stacked(NamedTuple):
    """The features of all cases in one array; which entries are numbers, and which are right."""

    values: Any
    known: Any
    right: Any

    @classmethod
    def of(cls, cases: Sequence[Case], names: Sequence[str]) -> Stacked:
        """The features with these names."""
        most = max(len(case.features["one"]) for case in cases)
        values = np.zeros((len(cases), most, len(names)))
        known = np.zeros((len(cases), most), dtype=bool)
        right = np.zeros_like(known)
        for i, case in enumerate(cases):
            n = len(case.features["one"])
            values[i, :n] = np.column_stack([case.features[name] for name in names])
            known[i, :n], right[i, :n] = True, case.right
        return cls(values, known, right)

    def shares(self, weights: Any) -> Any:
        """The probability of every number."""
        scores = np.where(self.known, self.values @ weights, -np.inf)
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        return odds / odds.sum(axis=1, keepdims=True)


def fit(cases: Sequence[Case], names: Sequence[str]) -> Any:
    """Weights of the features by maximum likelihood with a ridge penalty."""
    cases = [case for case in cases if case.right.any()]
    penalty = PENALTY[cases[0].kind]
    table = Stacked.of(cases, names)
    scale = np.maximum(table.values[table.known].std(axis=0), 1e-6)
    table = table._replace(values=table.values / scale)

    def loss(w: Any) -> tuple[float, Any]:
        shares = table.shares(w)
        hit = np.sum(shares * table.right, axis=1) + 1e-12
        wanted = shares * table.right / hit[:, None]
        slope = np.tensordot(wanted - shares, table.values, 2)
        return penalty * float(w @ w) / 2 - float(np.log(hit).sum()), penalty * w - slope

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B")
    return found.x / scale


# --- judging --------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """How far the choice is from the nearest admissible number, and its confidence."""

    case: Case
    number: int
    confidence: float

    @property
    def error(self) -> int:
        """Distance to the nearest admissible number."""
        return min(abs(self.number - k) for k in self.case.admissible)


def outcomes(cases: Sequence[Case], names: Sequence[str], weights: Any) -> list[Outcome]:
    """What is chosen with these weights; sets that are not judged are left out."""
    judged = [case for case in cases if case.is_judged]
    if not judged:
        return []
    shares = Stacked.of(judged, names).shares(weights)
    numbers, confidence = shares.argmax(axis=1) + 1, shares.max(axis=1)
    return [
        Outcome(case, int(k), float(share))
        for case, k, share in zip(judged, numbers, confidence, strict=True)
    ]


def cross(cases: Sequence[Case], names: Sequence[str]) -> list[Outcome]:
    """Each family judged by weights fitted to the others."""
    found: list[Outcome] = []
    for family in dict.fromkeys(case.family for case in cases):
        weights = fit([case for case in cases if case.family != family], names)
        found += outcomes([case for case in cases if case.family == family], names, weights)
    return found


def show(found: Sequence[Outcome], title: str) -> None:
    """Exact, within one, confidence and hit rate, by family."""
    rows = []
    for family in dict.fromkeys(o.case.family for o in found):
        rows.append(_row(family, [o for o in found if o.case.family == family]))
    several = [o for o in found if o.case.admissible != (1,)]
    single = [o for o in found if o.case.admissible == (1,)]
    rows += [_row(n, g) for n, g in (("several clusters", several), ("one cluster", single)) if g]
    rows.append(_row("all", found))
    header = ["family", "sets", "exact", "within one", "mean confidence"]
    print_table(header, rows, title=title)
    hits = np.array([o.error == 0 for o in found])
    confidence = np.array([o.confidence for o in found])
    if hits.any() and not hits.all():
        print(f"AUC of the confidence for right and wrong: {roc_auc_score(hits, confidence):.3f}")
    for low, high in ((0.0, 0.5), (0.5, 0.7), (0.7, 0.9), (0.9, 1.01)):
        inside = (confidence >= low) & (confidence < high)
        if inside.any():
            print(
                f"  confidence {low:.1f} to {min(high, 1):.1f}: {inside.sum()} sets, mean "
                f"{confidence[inside].mean():.2f}, right {hits[inside].mean():.2f}"
            )


def _row(name: str, group: Sequence[Outcome]) -> list[str]:
    errors = np.array([o.error for o in group])
    confidence = float(np.mean([o.confidence for o in group]))
    shares = [f"{(errors == 0).mean():.1%}", f"{(errors <= 1).mean():.1%}"]
    return [name, str(len(group)), *shares, f"{confidence:.2f}"]


def _targets(found: Sequence[Outcome]) -> None:
    several = np.array([o.error for o in found if o.case.admissible != (1,)])
    single = np.array([o.error for o in found if o.case.admissible == (1,)])
    print("\ntargets (tables, cross)")
    print_target("exact", float((several == 0).mean()), 0.70, at_least=True)
    print_target("within one", float((several <= 1).mean()), 0.85, at_least=True)
    print_target("one cluster recognised", float((single == 0).mean()), 0.95, at_least=True)
    hits = np.mean([o.error == 0 for o in found])
    confidence = np.mean([o.confidence for o in found])
    gap = abs(float(hits - confidence))
    print_target("mean confidence against hit rate", gap, 0.05, at_least=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--keep", type=Path, help="keep the evidence in this file")
    parser.add_argument("--fresh", action="store_true", help="new draws, weights of the library")
    parser.add_argument("--wrong", action="store_true", help="list the sets with a wrong number")
    options = parser.parse_args()
    if options.keep and options.keep.exists():
        cases = pickle.loads(options.keep.read_bytes())
    else:
        seed = FRESH_SEED if options.fresh else SEED
        cases = cases_of(all_sets(seed, fresh=options.fresh))
        if options.keep:
            options.keep.write_bytes(pickle.dumps(cases))
    judge(cases, fresh=options.fresh, wrong=options.wrong)


def judge(cases: Sequence[Case], *, fresh: bool = False, wrong: bool = False) -> None:
    """Print how often the choice is right, in sample and cross, and the weights."""
    for kind, names in FEATURES.items():
        group = [case for case in cases if case.kind == kind]
        if fresh:
            weights = np.array([choice_model.WEIGHTS[kind][name] for name in names])
            show(outcomes(group, names, weights), f"{kind}: new draws, weights of the library")
            continue
        weights = fit(group, names)
        show(outcomes(group, names, weights), f"{kind}: in sample")
        outside = cross(group, names)
        show(outside, f"{kind}: each family by weights fitted to the others")
        if wrong:
            for o in outside:
                if o.error:
                    print(f"    {o.case.family}, {o.case.name}: {o.number}, {o.case.admissible}")
        if kind == "table":
            _targets(outside)
        print(f"\nweights, {kind}")
        for name, weight in zip(names, weights, strict=True):
            print(f'        "{name}": {weight:.3f},')


if __name__ == "__main__":
    main()
