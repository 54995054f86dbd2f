"""Distance of memberships to the true posterior, on sets where it is known.

Every set is drawn from a known mixture, and so each point has a known posterior. The score is the
mean total variation distance to it (0 is perfect), mean over ten draws: single draws differ by half
of it. The mean top membership shows the direction of an error: above the truth is overconfident,
below is underconfident.

All methods get the same table: all columns of these sets have one unit.

The mixture of Gaussians is the true family on the Gaussian sets, and a wrong one elsewhere.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.mixture import GaussianMixture

from benchmarks._table import print_table, print_target
from soffit import SoF, SoftClustering, datasets
from soffit.metrics import posterior_distance

HEADLINE = "three Gaussians, d=2"
FIRST_SEED, BETWEEN_SEEDS = 7, 12

METHODS: dict[str, Callable[[int, int], Any]] = {
    "SoF": lambda k, seed: SoF(k, standardize=False, random_state=seed),
    "SoF(scale=fit)": lambda k, seed: SoF(k, scale="fit", standardize=False, random_state=seed),
    "SoftClustering": lambda k, seed: SoftClustering(k, standardize=False, random_state=seed),
    "GaussianMixture": lambda k, seed: GaussianMixture(k, random_state=seed),
}


class Score(NamedTuple):
    """Distance to the posterior and mean top membership of one fit."""

    distance: float
    top: float


def generators(n: int) -> dict[str, Callable[[int], datasets.Sample]]:
    """The sets by name, each a function of the seed; donut and bridge have their papers' sizes."""
    families: dict[str, Callable[..., datasets.Sample]] = {
        "three Gaussians": datasets.make_gaussians,
        "full covariances": lambda n, **more: datasets.make_gaussians(n, covariance="full", **more),
        "Student t": datasets.make_student_t,
        "skewed": datasets.make_skewed,
        "unequal sizes": datasets.make_unequal,
        "moons": datasets.make_moons,
        "rings": datasets.make_rings,
    }

    def bound(make: Callable[..., datasets.Sample], d: int) -> Callable[[int], datasets.Sample]:
        return lambda seed: make(n, n_features=d, random_state=seed)

    named = {f"{name}, d={d}": bound(make, d) for name, make in families.items() for d in (2, 10)}
    named["donut, n=200"] = lambda seed: datasets.make_donut(random_state=seed)
    named["bridge, n=110"] = lambda seed: datasets.make_bridge(random_state=seed)
    return named


def score(sample: datasets.Sample, method: str, seed: int) -> Score:
    model = METHODS[method](sample.posterior.shape[1], seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(sample.X)
    memberships = (
        model.memberships_ if hasattr(model, "memberships_") else model.predict_proba(sample.X)
    )
    top = float(memberships.max(axis=1).mean())
    return Score(posterior_distance(sample.posterior, memberships), top)


def mean_scores(
    make: Callable[[int], datasets.Sample], methods: Sequence[str], seeds: Sequence[int]
) -> tuple[float, dict[str, Score]]:
    """The true mean top posterior, and every method's mean score over the draws."""
    samples = {seed: make(seed) for seed in seeds}
    true_top = np.mean([sample.posterior.max(axis=1).mean() for sample in samples.values()])
    means = {}
    for method in methods:
        scores = [score(sample, method, seed) for seed, sample in samples.items()]
        means[method] = Score(*(float(np.mean(column)) for column in zip(*scores, strict=True)))
    return float(true_top), means


def main() -> None:
    parser = argparse.ArgumentParser(description="Distance of memberships to the true posterior.")
    parser.add_argument("--n", type=int, default=1500, help="points per set (default 1500)")
    parser.add_argument("--draws", type=int, default=10, help="draws of each set (default 10)")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    options = parser.parse_args()
    n, methods = options.n, options.methods
    seeds = range(FIRST_SEED, FIRST_SEED + BETWEEN_SEEDS * options.draws, BETWEEN_SEEDS)
    distances, tops, headline, level = [], [], 0.0, 0
    for name, make in generators(n).items():
        print(f"{name} ...", file=sys.stderr, flush=True)
        true_top, means = mean_scores(make, methods, seeds)
        distances.append([name, *(f"{means[method].distance:.3f}" for method in methods)])
        tops.append([name, f"{true_top:.3f}", *(f"{means[method].top:.3f}" for method in methods)])
        if name == HEADLINE and "SoftClustering" in means:
            headline = means["SoftClustering"].distance
        if {"SoftClustering", "GaussianMixture"} <= means.keys():
            level += means["SoftClustering"].distance <= 1.1 * means["GaussianMixture"].distance
    print(f"n = {n}, k given, mean over {len(seeds)} draws")
    print_table(
        ["set", *methods], distances, title="Distance to the true posterior (total variation)"
    )
    print_table(["set", "truth", *methods], tops, title="Mean top membership")
    print("\ntargets")
    what = f"SoftClustering, three overlapping Gaussians (n = {n}): distance"
    print_target(what, headline, 0.05, at_least=False)
    what = "sets on which SoftClustering is at or below GaussianMixture times 1.1"
    print_target(what, level, len(distances), at_least=True)


if __name__ == "__main__":
    main()
