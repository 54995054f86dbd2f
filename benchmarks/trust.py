"""Are memberships probabilities? Measured on labelled sets and where the posterior is known.

Development sets: the 50 labelled sets, number of clusters given, first label vector of each,
objects labelled as noise not scored. Labels are used for evaluation only. Brier score, calibration
error (ECE, ten bins), negative log likelihood (NLL, probabilities clipped at 0.001), mean top
membership (confidence) next to accuracy, area under the ROC curve of the confidence for correct
against wrong objects (AUC), adjusted Rand index (ARI).

All methods get the same table, whose columns are standardized if their units differ.

Known posterior: total variation distance to it, on families of generated sets. "Right" sets are
those where SoftClustering's labels agree with the Bayes rule on 85 % of the objects or more.

Number of clusters: `choose_k` against other rules, and its time. Pairs: accuracy on objects without
pairs after 50 answers, for random pairs and for those of `suggest_pairs`.

`--cross` leaves out one family of sets at a time and chooses the constants on the others
(`_trust_cross.py`): the figures to quote.

`--only development posterior` runs some of the sections; `--sets iris glass` some of the sets.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture

from benchmarks._prepared import prepared
from benchmarks._table import print_table, print_target
from benchmarks._trust_cross import cross
from benchmarks._trust_k import number_of_clusters
from benchmarks._trust_pairs import questions
from benchmarks.datasets import Dataset, development_sets, load
from soffit import SoftClustering, datasets
from soffit.memberships import align
from soffit.metrics import (
    accuracy,
    adjusted_rand,
    brier,
    calibration_error,
    log_loss,
    posterior_distance,
)

RESAMPLES = 10
SEED = 3
# hdbscan takes many minutes where there are more columns than this.
WIDE = 40
REAL_SETS = (
    "blood_transfusion",
    "breast_tissue",
    "ecoli",
    "glass",
    "iris",
    "pbmc68k_reduced",
    "pendigits",
    "satimage",
    "usps",
    "uci__wdbc",
    "uci__sonar",
    "uci__yeast",
)
SCORES = ("Brier", "ECE", "NLL", "confidence", "accuracy", "AUC", "ARI", "seconds")


# --- methods: memberships of all objects ------------------------------------------------------


def soft(k: int, X: Any) -> Any:
    return SoftClustering(k, random_state=SEED).fit(X).memberships_


def resampled(k: int, X: Any) -> Any:
    return SoftClustering(k, n_resamples=RESAMPLES, random_state=SEED).fit(X).memberships_


def before(k: int, X: Any) -> Any:
    """The fitted factor alone, before walk, mixture and softening."""
    return SoftClustering(k, random_state=SEED).fit(X).factor_


def mixture(k: int, X: Any) -> Any:
    return GaussianMixture(k, n_init=3, random_state=SEED).fit(X).predict_proba(X)


def density(k: int, X: Any) -> Any:
    """Soft vectors of hdbscan, which finds its own number of clusters; not on wide tables."""
    import hdbscan

    if X.shape[1] > WIDE:
        return None
    model = hdbscan.HDBSCAN(prediction_data=True).fit(X)
    vectors = np.nan_to_num(np.asarray(hdbscan.all_points_membership_vectors(model)))
    if vectors.ndim == 1:
        return np.ones((len(X), 1))
    # What is left of one is noise; it is shared out evenly.
    rest = np.maximum(1.0 - vectors.sum(axis=1, keepdims=True), 0.0)
    vectors = vectors + rest / vectors.shape[1]
    return vectors / vectors.sum(axis=1, keepdims=True)


METHODS: dict[str, Callable[[int, Any], Any]] = {
    "factor alone": before,
    "SoftClustering": soft,
    f"SoftClustering(n_resamples={RESAMPLES})": resampled,
    "GaussianMixture": mixture,
    "hdbscan soft vectors": density,
}


def run(method: str, k: int, X: Any) -> tuple[Any, float]:
    """Memberships and seconds; None where the method is not installed."""
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            memberships = METHODS[method](k, prepared(np.asarray(X, dtype=np.float64)))
        except ImportError:
            memberships = None
    return memberships, perf_counter() - began


# --- labelled sets ----------------------------------------------------------------------------


def scores(dataset: Dataset, memberships: Any, seconds: float) -> list[float]:
    truth = dataset.labels[0]
    scored = slice(None) if dataset.noise_label is None else truth != dataset.noise_label
    truth, memberships = truth[scored], memberships[scored]
    names, codes = np.unique(truth, return_inverse=True)
    labels = memberships.argmax(axis=1)
    matched = align(np.eye(len(names))[codes], memberships)
    right = matched.argmax(axis=1) == codes
    confidence = memberships.max(axis=1)
    mixed = right.any() and not right.all()
    return [
        brier(truth, memberships),
        calibration_error(truth, memberships, n_bins=10),
        log_loss(truth, memberships),
        float(confidence.mean()),
        accuracy(truth, labels),
        float(roc_auc_score(right, confidence)) if mixed else float("nan"),
        adjusted_rand(truth, labels),
        seconds,
    ]


def development(names: Sequence[str]) -> None:
    table: dict[str, dict[str, list[float]]] = {method: {} for method in METHODS}
    for name in names:
        dataset = load(name)
        for method in METHODS:
            memberships, seconds = run(method, dataset.n_classes[0], dataset.X)
            if memberships is not None:
                table[method][name] = scores(dataset, memberships, seconds)
        print(name, file=sys.stderr, flush=True)
    groups = {f"{len(names)} sets": list(names)}
    real = [name for name in names if name in REAL_SETS]
    groups[f"{len(real)} real sets"] = real
    means: dict[tuple[str, str], list[float]] = {}
    for group, members in groups.items():
        rows = []
        for method, found in table.items():
            if members and found:
                mean = np.nanmean([found[name] for name in members if name in found], axis=0)
                means[group.split(" ", 1)[1], method] = list(mean)
                short = len([name for name in members if name in found]) < len(members)
                rows.append(
                    [
                        method + (" (some sets)" if short else ""),
                        *(f"{value:.3f}" for value in mean),
                    ]
                )
        if rows:
            print_table(["method", *SCORES], rows, title=f"mean over {group}")
    _development_targets(means)
    _print_sets(table, names)


def _development_targets(means: dict[tuple[str, str], list[float]]) -> None:
    single, many = "SoftClustering", f"SoftClustering(n_resamples={RESAMPLES})"

    def mean(group: str, method: str, score: str) -> float | None:
        values = means.get((group, method))
        return None if values is None else values[SCORES.index(score)]

    print("\ntargets")
    print_target("Brier, default", mean("sets", single, "Brier"), 0.185, at_least=False)
    print_target("ECE, resampled", mean("sets", many, "ECE"), 0.06, at_least=False)
    print_target("NLL, resampled", mean("sets", many, "NLL"), 0.42, at_least=False)
    real = mean("real sets", many, "Brier")
    print_target("Brier on the real sets, resampled", real, 0.48, at_least=False)
    print_target("AUC of confidence, resampled", mean("sets", many, "AUC"), 0.82, at_least=True)
    ari = mean("sets", "factor alone", "ARI")
    if ari is not None:
        for method in (single, many):
            what = f"ARI of {method}, against the factor's"
            print_target(what, mean("sets", method, "ARI"), round(ari, 4), at_least=True)


def _print_sets(table: dict[str, dict[str, list[float]]], names: Sequence[str]) -> None:
    methods = [method for method in METHODS if table[method]]
    rows = []
    for name in names:
        figures = [table[m][name][0] if name in table[m] else None for m in methods]
        rows.append([name, *("-" if figure is None else f"{figure:.3f}" for figure in figures)])
    print_table(["set", *methods], rows, title="Brier score by set")
    many = table[f"SoftClustering(n_resamples={RESAMPLES})"]
    confidence, right = SCORES.index("confidence"), SCORES.index("accuracy")
    gaps = sorted(names, key=lambda name: many[name][right] - many[name][confidence])[:8]
    rows = [[n, f"{many[n][confidence]:.3f}", f"{many[n][right]:.3f}"] for n in gaps]
    title = "still too sure, with resamples: stable and wrong"
    print_table(["set", "confidence", "accuracy"], rows, title=title)


# --- known posterior --------------------------------------------------------------------------

FAMILIES: dict[str, tuple[int, Callable[..., datasets.Sample]]] = {
    "Gaussian, k=2": (2, lambda n, **o: datasets.make_gaussians(n, n_clusters=2, **o)),
    "Gaussian, k=3": (3, datasets.make_gaussians),
    "Gaussian, k=10": (10, lambda n, **o: datasets.make_gaussians(n, n_clusters=10, **o)),
    "full covariance, k=3": (3, lambda n, **o: datasets.make_gaussians(n, covariance="full", **o)),
    "full covariance, k=10": (
        10,
        lambda n, **o: datasets.make_gaussians(n, n_clusters=10, covariance="full", **o),
    ),
    "80/15/5": (3, datasets.make_unequal),
    "Student t": (3, lambda n, **o: datasets.make_student_t(n, separation=5.0, **o)),
    "skewed": (3, lambda n, **o: datasets.make_skewed(n, scale=0.4, **o)),
    "moons": (2, datasets.make_moons),
    "rings": (2, lambda n, **o: datasets.make_rings(n, noise=0.07, **o)),
}
# What a mixture of Gaussians does not model.
FOREIGN = ("Student t", "skewed", "moons", "rings")
SIZES = {500: (3, 5), 2000: (3,), 10_000: (3,)}


def posterior() -> None:
    methods = [method for method in METHODS if method != "hdbscan soft vectors"]
    found: list[tuple[str, int, bool, dict[str, float]]] = []
    for n, seeds in SIZES.items():
        for family, (k, make) in FAMILIES.items():
            for d in (2, 10):
                for seed in seeds:
                    sample = make(n, n_features=d, random_state=seed)
                    result = {m: run(m, k, sample.X)[0] for m in methods}
                    bayes = sample.posterior.argmax(axis=1)
                    share = accuracy(bayes, result["SoftClustering"].argmax(axis=1))
                    distance = {m: posterior_distance(sample.posterior, result[m]) for m in methods}
                    found.append((f"{family}, d={d}", n, share >= 0.85, distance))
            print(n, family, file=sys.stderr, flush=True)
    right = [row for row in found if row[2]]
    rows = []
    for name in dict.fromkeys(row[0] for row in found):
        group = [row for row in right if row[0] == name]
        figures = [
            f"{np.mean([row[3][m] for row in group]):.3f}" if group else "-" for m in methods
        ]
        rows.append([name, f"{len(group)} of {sum(row[0] == name for row in found)}", *figures])
    for n in SIZES:
        group = [row for row in right if row[1] == n]
        figures = [f"{np.mean([row[3][m] for row in group]):.3f}" for m in methods]
        rows.append([f"all, n={n}", str(len(group)), *figures])
    header = ["family", "right sets", *methods]
    print_table(header, rows, title="distance to the posterior where the partition is right")
    print("\ntargets")
    for method in methods[1:3]:
        mean = float(np.mean([row[3][method] for row in right]))
        print_target(f"{method}: mean distance", mean, 0.045, at_least=False)
        sizes = [np.mean([row[3][method] for row in right if row[1] == n]) for n in SIZES]
        falls = bool(np.all(np.diff(sizes) < 0))
        print(f"  {method}: decreases with n: {'yes' if falls else 'NO'}")
        worse = [
            name
            for name in dict.fromkeys(row[0] for row in right)
            if name.split(",")[0] in FOREIGN
            and np.mean([row[3][method] for row in right if row[0] == name])
            > np.mean([row[3]["GaussianMixture"] for row in right if row[0] == name])
        ]
        print(
            f"  {method}: above the mixture on non-Gaussian families: {', '.join(worse) or 'none'}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Are memberships probabilities?")
    sections = ("development", "posterior", "number", "pairs")
    parser.add_argument("--only", nargs="+", choices=sections, default=list(sections))
    parser.add_argument("--sets", nargs="+", default=list(development_sets()))
    parser.add_argument("--cross", action="store_true", help="families left out, nothing else")
    options = parser.parse_args()
    if options.cross:
        cross()
        return
    if "development" in options.only:
        development(options.sets)
    if "posterior" in options.only:
        posterior()
    if "number" in options.only:
        number_of_clusters()
    if "pairs" in options.only:
        questions()


if __name__ == "__main__":
    main()
