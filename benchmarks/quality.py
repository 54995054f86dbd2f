"""Quality of the labels on the 50 development sets, against scikit-learn, in one run.

The number of clusters is given; labels are used for evaluation only. Objects labelled as noise are
clustered but not scored. Where a set has several label vectors, every method is fitted once for
each of their numbers of clusters, and the vector with the best adjusted Rand index (ARI) counts.
Accuracy is that of the same vector after the best one-to-one matching.

All methods get the same table: where the units of its columns differ, by the rule of soffit's
models, the columns are standardized for all of them.

All fits run on one thread. The scores on random 80 % subsamples show how much a score depends on
the sample. The models on dense matrices are slow on large sets; they are run on subsamples only
with --full.
"""

from __future__ import annotations

import argparse
import csv
import gc
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from benchmarks._prepared import prepared
from benchmarks._table import print_table, print_target
from benchmarks.datasets import Dataset, development_sets, load
from soffit import BaumEagon, SoF, SoftClustering
from soffit.metrics import accuracy, adjusted_rand

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
)
USPS_ROWS, USPS_SEED = 3000, 0
SHARE = 0.8
SEED = 0

METHODS: dict[str, Callable[[int], Any]] = {
    "SoftClustering": lambda k: SoftClustering(k, random_state=SEED),
    "SoF": lambda k: SoF(k, random_state=SEED),
    "SoF(scale=fit)": lambda k: SoF(k, scale="fit", random_state=SEED),
    "BaumEagon": lambda k: BaumEagon(k, random_state=SEED),
    "SpectralClustering": lambda k: SpectralClustering(
        k, affinity="nearest_neighbors", n_neighbors=10, random_state=SEED
    ),
    "GaussianMixture": lambda k: GaussianMixture(k, random_state=SEED),
    "KMeans": lambda k: KMeans(k, n_init=10, random_state=SEED),
}
DENSE = ("SoF", "SoF(scale=fit)", "BaumEagon")


@dataclass(frozen=True)
class Task:
    """A set, a method, and the seed of the subsample; 0 stands for the whole set."""

    name: str
    subsample: int
    method: str


@dataclass(frozen=True)
class Row:
    """What one method reached on one set or subsample; seconds are of all its fits there."""

    name: str
    subsample: int
    method: str
    n: int
    k: int
    labeling: int
    ari: float
    accuracy: float
    seconds: float
    note: str


# --- one task ---------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def read(name: str) -> Dataset:
    """The whole set; from usps a fixed random part."""
    if name == "usps":
        return load(name, n_samples=USPS_ROWS, random_state=USPS_SEED)
    return load(name)


def part(name: str, subsample: int) -> Dataset:
    """The whole set (0), or a random share of it in the original order."""
    dataset = read(name)
    if subsample == 0:
        return dataset
    n = dataset.n_samples
    rows = np.random.default_rng(subsample).choice(n, int(SHARE * n), replace=False)
    return dataset.subset(np.sort(rows))


def fit_labels(method: str, k: int, X: Any) -> tuple[Any, float, str]:
    """Labels, seconds, and the error if the fit failed; all objects are then in one cluster."""
    began, note = perf_counter(), ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = METHODS[method](k).fit_predict(X)
    except (ValueError, np.linalg.LinAlgError, MemoryError) as error:
        labels, note = np.zeros(X.shape[0], dtype=int), f"{type(error).__name__}: {error}"
    seconds = perf_counter() - began
    gc.collect()  # dense matrices go before the next fit needs their memory
    return labels, seconds, note


def run(task: Task) -> Row:
    """Fit once for every number of clusters and keep the label vector with the best score."""
    dataset = part(task.name, task.subsample)
    X = prepared(dataset.X)
    with threadpool_limits(limits=1):
        fits = {k: fit_labels(task.method, k, X) for k in sorted(set(dataset.n_classes))}
    seconds = sum(fit[1] for fit in fits.values())
    best: Row | None = None
    for number, (truth, k) in enumerate(zip(dataset.labels, dataset.n_classes, strict=True)):
        labels, _, note = fits[k]
        scored = slice(None) if dataset.noise_label is None else truth != dataset.noise_label
        ari = adjusted_rand(truth[scored], labels[scored])
        if best is None or ari > best.ari:
            best = Row(
                **asdict(task),
                n=dataset.n_samples,
                k=k,
                labeling=number,
                ari=ari,
                accuracy=accuracy(truth[scored], labels[scored]),
                seconds=seconds,
                note=note,
            )
    assert best is not None
    return best


def warm_up(methods: Sequence[str]) -> None:
    """Load compiled kernels and libraries before anything is timed."""
    X = np.random.default_rng(5).normal(size=(60, 2))
    for method in methods:
        fit_labels(method, 2, X)


# --- all tasks --------------------------------------------------------------------------------


def rows_of(tasks: Sequence[Task], methods: Sequence[str], jobs: int) -> Iterator[Row]:
    """Rows as they are ready, in this process or in several."""
    if jobs == 1:
        warm_up(methods)
        yield from map(run, tasks)
        return
    context = get_context("spawn")
    with ProcessPoolExecutor(jobs, context, initializer=warm_up, initargs=(methods,)) as pool:
        for future in as_completed([pool.submit(run, task) for task in tasks]):
            yield future.result()


def collect(tasks: Sequence[Task], options: argparse.Namespace) -> list[Row]:
    """Run everything; rows go to the file at once, so that an interruption loses nothing."""
    rows = []
    out = Path(options.out).open("w", newline="") if options.out else None  # noqa: SIM115
    writer = csv.DictWriter(out, [column.name for column in fields(Row)]) if out else None
    if writer:
        writer.writeheader()
    try:
        for row in rows_of(tasks, options.methods, options.jobs):
            rows.append(row)
            if writer and out:
                writer.writerow(asdict(row))
                out.flush()
            _progress(len(rows), len(tasks), row)
    finally:
        if out:
            out.close()
    return rows


def _progress(done: int, total: int, row: Row) -> None:
    where = f"{row.name} subsample {row.subsample}" if row.subsample else row.name
    line = f"{done}/{total} {where} {row.method} {row.seconds:.1f} s {row.note}"
    print(line.rstrip(), file=sys.stderr, flush=True)


# --- scores -----------------------------------------------------------------------------------


def mean(rows: Sequence[Row], field: str, method: str, sets: Sequence[str]) -> float | None:
    """Mean of a score over sets; None unless every one of them was run."""
    found = [row for row in rows if row.method == method and row.name in sets]
    if {row.name for row in found} != set(sets):
        return None
    return fmean(getattr(row, field) for row in found)


def print_sets(rows: Sequence[Row], field: str, methods: Sequence[str], title: str) -> None:
    names = list(dict.fromkeys(row.name for row in rows))
    lines = []
    for name in names:
        values = (mean(rows, field, method, [name]) for method in methods)
        lines.append([name, *map(_figure, values)])
    lines.append(["mean", *(_figure(mean(rows, field, method, names)) for method in methods)])
    print_table(["set", *methods], lines, title=title)


def print_summary(rows: Sequence[Row], methods: Sequence[str], title: str) -> None:
    """One line per method; '-' where required sets were left out of the run."""
    lines = []
    for method in methods:
        seconds = sum(row.seconds for row in rows if row.method == method)
        lines.append(
            [
                method,
                _figure(mean(rows, "ari", method, development_sets())),
                _figure(mean(rows, "accuracy", method, REAL_SETS)),
                _figure(mean(rows, "ari", method, ["sipu__unbalance"])),
                _figure(mean(rows, "accuracy", method, ["pendigits"])),
                f"{seconds:.1f}",
            ]
        )
    header = ["method", "ARI, 50 sets", "accuracy, 9 real", "ARI unbalance", "accuracy pendigits"]
    print_table([*header, "fit seconds"], lines, title=title)


def print_targets(rows: Sequence[Row], parts: Sequence[Row]) -> None:
    ours = "SoftClustering"
    targets = (
        ("mean ARI over the 50 sets", "ari", development_sets(), 0.82),
        ("mean accuracy over the nine real sets", "accuracy", REAL_SETS, 0.71),
        ("ARI on sipu__unbalance", "ari", ["sipu__unbalance"], 0.95),
        ("accuracy on pendigits", "accuracy", ["pendigits"], 0.85),
    )
    print("\ntargets (SoftClustering)")
    for what, field, sets, limit in targets:
        print_target(what, mean(rows, field, ours, sets), limit, at_least=True)
    figure = _figure(mean(parts, "ari", ours, development_sets()))
    print(f"  mean ARI over the 50 sets on 80 % subsamples: {figure}")
    print("    (no target; this is the figure for the README)")


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


# --- command line -----------------------------------------------------------------------------


def _names(known: Sequence[str]) -> Callable[[str], list[str]]:
    def read_names(text: str) -> list[str]:
        unknown = [name for name in text.split(",") if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(f"unknown: {unknown}; known: {', '.join(known)}")
        return text.split(",")

    return read_names


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Quality of labels on the development sets.")
    sets, methods = development_sets(), list(METHODS)
    parser.add_argument("--sets", type=_names(sets), default=list(sets), help="e.g. iris,glass")
    parser.add_argument("--methods", type=_names(methods), default=methods, help="e.g. KMeans")
    parser.add_argument("--subsamples", type=int, default=4, help="80 %% subsamples, 0 for none")
    parser.add_argument("--full", action="store_true", help="subsamples for the dense models too")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--out", help="a .csv file for every run's row")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    on_parts = [method for method in options.methods if options.full or method not in DENSE]
    tasks = [Task(name, 0, method) for name in options.sets for method in options.methods]
    tasks += [
        Task(name, subsample, method)
        for name in options.sets
        for subsample in range(1, options.subsamples + 1)
        for method in on_parts
    ]
    rows = collect(tasks, options)
    order = {name: number for number, name in enumerate(options.sets)}
    rows.sort(key=lambda row: order[row.name])
    whole = [row for row in rows if row.subsample == 0]
    parts = [row for row in rows if row.subsample]
    print_sets(whole, "ari", options.methods, "Adjusted Rand index")
    print_sets(whole, "accuracy", options.methods, "Accuracy")
    print_summary(whole, options.methods, "Whole sets")
    if parts:
        title = f"Mean over {options.subsamples} random {SHARE:.0%} subsamples"
        print_sets(parts, "ari", on_parts, f"{title}, adjusted Rand index")
        print_summary(parts, on_parts, title)
        left_out = [method for method in options.methods if method not in on_parts]
        if left_out:
            print(f"Without subsamples (pass --full): {', '.join(left_out)}")
    failed = [row for row in rows if row.note]
    if failed:
        print("\nFailed fits (scored as one cluster)")
        for row in failed:
            print(f"  {row.name} subsample {row.subsample} {row.method}: {row.note}")
    print_targets(whole, parts)


if __name__ == "__main__":
    main()
