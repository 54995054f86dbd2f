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
    single_sets,
    text_sets,
)
from benchmarks._table import print_table, print_target
from soffit.affinity import Settings
from soffit.affinity.given_objects import read_objects
from soffit.selection import choice_model
from soffit.selection.choose_k import evidence_of_range
from soffit.selection.density import Density

SEED = 3
FRESH_SEED = 11
# Families count by this power of their size; those of a single cluster by this factor, too.
POWER = 0.75
WEIGHT_OF_ONE = 1.0
PENALTY = 0.02
FEATURES: dict[str, tuple[str, ...]] = {
    "table": (
        *("one", "log_k", "ahead", "gap", "smallest", "one_log_n", "one_thin", "thin_ahead"),
        *("depth", "next_depth", "link_depth", "next_link_depth"),
    ),
    "network": ("one", "log_k", "short", "one_above_chance"),
    "graph": ("one", "log_k", "ahead", "gap", "smallest", "one_log_n"),
}


class Case(NamedTuple):
    """A set with its features for 1, 2, ... clusters, and which of them are admissible."""

    kind: str
    family: str
    name: str
    admissible: tuple[int, ...]
    features: dict[str, Any]

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


def cases_of(sets: Iterator[NumberSet]) -> list[Case]:
    """The evidence of each set; tables also without their distances, as a graph."""
    cases = []
    for one in sets:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            objects = read_objects(one.make(), affinity="nearest_neighbors", settings=Settings())
            affinity = objects.affinities().affinity
        density = Density.of(affinity)
        for given in [density] if density is None else [density, None]:
            evidence = evidence_of_range(affinity.matrix_, density=given)
            kind = choice_model.kind_of(evidence)
            if given is None and density is not None and kind == "network":
                continue
            found = choice_model.features(evidence)
            cases.append(Case(kind, one.family, one.name, one.admissible, found))
        print(one.family, one.name, file=sys.stderr, flush=True)
    return cases


# --- fitting --------------------------------------------------------------------------------------


def fit(cases: Sequence[Case], names: Sequence[str]) -> Any:
    """Weights of the features by maximum likelihood with a ridge penalty."""
    families = [case.family for case in cases]
    sizes = {family: families.count(family) for family in families}
    weight = np.array(
        [sizes[f] ** (POWER - 1) * (WEIGHT_OF_ONE if f.startswith("one") else 1) for f in families]
    )
    tables = [np.column_stack([case.features[name] for name in names]) for case in cases]
    scale = np.maximum(np.vstack(tables).std(axis=0), 1e-6)
    penalty = PENALTY * float(weight.mean())

    def loss(w: Any) -> tuple[float, Any]:
        value, slope = penalty * float(w @ w) / 2, penalty * w
        for case, table, importance in zip(cases, tables, weight, strict=True):
            shares = choice_model.credibility(table / scale @ w)
            hit = float(shares[case.right].sum())
            if not case.right.any():
                continue
            value -= importance * np.log(hit + 1e-12)
            wanted = np.where(case.right, shares / (hit + 1e-12), 0.0)
            slope = slope - importance * ((table / scale).T @ (wanted - shares))
        return value, slope

    found = minimize(loss, np.zeros(len(names)), jac=True, method="L-BFGS-B")
    return found.x / scale


def shares_of(case: Case, names: Sequence[str], weights: Any) -> Any:
    table = np.column_stack([case.features[name] for name in names])
    return choice_model.credibility(table @ weights)


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


def outcome(case: Case, shares: Any) -> Outcome:
    return Outcome(case, int(shares.argmax()) + 1, float(shares.max()))


def cross(cases: Sequence[Case], names: Sequence[str]) -> list[Outcome]:
    """Each family judged by weights fitted to the others."""
    outcomes = []
    for family in dict.fromkeys(case.family for case in cases):
        others = [case for case in cases if case.family != family]
        weights = fit(others, names)
        outcomes += [
            outcome(case, shares_of(case, names, weights))
            for case in cases
            if case.family == family
        ]
    return outcomes


def show(outcomes: Sequence[Outcome], title: str) -> None:
    """Exact, within one, confidence and hit rate, by family."""
    rows = []
    for family in dict.fromkeys(o.case.family for o in outcomes):
        rows.append(_row(family, [o for o in outcomes if o.case.family == family]))
    several = [o for o in outcomes if o.case.admissible != (1,)]
    single = [o for o in outcomes if o.case.admissible == (1,)]
    rows += [_row(n, g) for n, g in (("several clusters", several), ("one cluster", single)) if g]
    rows.append(_row("all", outcomes))
    header = ["family", "sets", "exact", "within one", "mean confidence"]
    print_table(header, rows, title=title)
    hits = np.array([o.error == 0 for o in outcomes])
    confidence = np.array([o.confidence for o in outcomes])
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


def _targets(outcomes: Sequence[Outcome]) -> None:
    several = np.array([o.error for o in outcomes if o.case.admissible != (1,)])
    single = np.array([o.error for o in outcomes if o.case.admissible == (1,)])
    print("\ntargets (tables, cross)")
    print_target("exact", float((several == 0).mean()), 0.70, at_least=True)
    print_target("within one", float((several <= 1).mean()), 0.85, at_least=True)
    print_target("one cluster recognised", float((single == 0).mean()), 0.95, at_least=True)
    hits = np.mean([o.error == 0 for o in outcomes])
    confidence = np.mean([o.confidence for o in outcomes])
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
            judged = [outcome(case, shares_of(case, names, weights)) for case in group]
            show(judged, f"{kind}: new draws, weights of the library")
            continue
        weights = fit(group, names)
        inside = [outcome(case, shares_of(case, names, weights)) for case in group]
        show(inside, f"{kind}: in sample")
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
