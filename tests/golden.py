"""Golden bytes: what the nine estimators compute must not change by accident.

    python tests/golden.py write tests/golden.json
    python tests/golden.py check tests/golden.json [--threads 2] [--quick] [--only SoF/]

`write` stores a digest of every result, `check` names the cases whose results differ and then ends
with 1. Digests are of type, shape and bytes. Bytes do not depend on the number of threads, but they
do on the processor and on the versions of the libraries, so this is a tool for refactoring on one
machine and no test. Everything goes through the public interface, and the data are made here: code
may move without this file noticing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import scipy.sparse as sp
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info

import soffit

SEED = 7
N_NEW = 50
KINDS = ("dense", "csr", "similarities", "distances", "graph")
DTYPES = ("float64", "float32")
# Enough steps for every branch of the solvers, few enough for the whole run to stay short.
SETTINGS: dict[str, dict[str, Any]] = {
    "SoftClustering": {},
    "SoF": {"max_iter": 60},
    "BaumEagon": {"max_iter": 60},
    "CompletelyPositive": {"max_iter": 60, "n_init": 2},
    "RelationFactorization": {"max_iter": 60},
    "SoftHierarchy": {"max_iter": 40, "n_init": 2},
    "SpectralClustering": {"n_init": 3},
    "HigherOrder": {"max_iter": 40, "n_init": 2, "n_tuples": 3000},
    "RandomWalkClassifier": {},
}
LINKED = ("SoftClustering", "CompletelyPositive")
WITHOUT_WARM_START = ("SpectralClustering", "RandomWalkClassifier")
# What the parameters beside the input choose, on a dense table of float64.
VARIANTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("SoftClustering", {"scale": "single"}),
    ("SoftClustering", {"standardize": True}),
    ("SoftClustering", {"affinity": "rbf"}),
    ("SoftClustering", {"metric": "cosine"}),
    ("SoftClustering", {"metric": "manhattan", "n_neighbors": 5}),
    ("SoftClustering", {"n_resamples": 3, "affinity": "relative"}),
    ("SoF", {"solver": "gradient"}),
    ("SoF", {"solver": "penalty"}),
    ("SoF", {"scale": "fit", "n_init": 2}),
    ("SoF", {"affinity": "nearest_neighbors"}),
    ("BaumEagon", {"solver": "gradient"}),
    ("BaumEagon", {"solver": "growth"}),
    ("BaumEagon", {"affinity": "laplacian"}),
    ("CompletelyPositive", {"solver": "multiplicative"}),
    ("CompletelyPositive", {"solver": "parallel"}),
    ("CompletelyPositive", {"normalization": "additive"}),
    ("CompletelyPositive", {"normalization": None, "start": "spectral"}),
    ("CompletelyPositive", {"affinity": "nearest_neighbors"}),
    ("RelationFactorization", {"sparsity": 0.5}),
    ("RelationFactorization", {"pruning": 0.1, "n_clusters": 9}),
    ("RelationFactorization", {"n_init": 2}),
    ("RelationFactorization", {"affinity": "rbf"}),
    ("SoftHierarchy", {"levels": [20, 6, 2], "n_clusters": None}),
    ("SoftHierarchy", {"refine": False}),
    ("SoftHierarchy", {"affinity": "cosine"}),
    ("SpectralClustering", {"variant": "ncut"}),
    ("SpectralClustering", {"rounding": "cluster_qr"}),
    ("SpectralClustering", {"affinity": "relative"}),
    ("HigherOrder", {"tuple_affinity": "plane", "order": 4}),
    ("HigherOrder", {"width": 0.5}),
    ("RandomWalkClassifier", {"on": "clusters", "n_clusters": 20}),
    ("RandomWalkClassifier", {"steps": 3}),
    ("RandomWalkClassifier", {"affinity": "rbf"}),
)

Results = dict[str, str]


@dataclass(frozen=True)
class Data:
    """One input, what predictions are made for, the settings it needs, and classes."""

    X: Any
    new: Any
    classes: Any
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """Something to compute, under a name."""

    name: str
    run: Callable[[int], Results]
    quick: bool = False


# --- data -----------------------------------------------------------------------------------------


@cache
def table() -> tuple[Any, Any]:
    """240 points around three centres; rounded, the same on any machine."""
    centers = np.array([[0.0, 0, 0, 0, 0], [5, 4, 0, 0, 1], [-6, 8, 2, 0, 0]])
    points, classes = make_blobs((100, 80, 60), centers=centers, random_state=SEED)
    return np.round(points, 3), classes


@cache
def counts() -> tuple[Any, Any]:
    """200 sparse rows of 40 counts, from two distributions that overlap."""
    rng = np.random.default_rng(SEED + 2)
    classes = np.repeat([0, 1], [120, 80])
    rates = np.full((2, 40), 0.15)
    rates[0, :14], rates[1, 12:26] = 1.9, 1.6
    values = rng.poisson(rates[classes]).astype(np.float64)
    values[:, 0] += values.sum(axis=1) == 0
    return values, classes


@cache
def squared_distances() -> Any:
    """Between the points of the table."""
    points, _ = table()
    return ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)


@cache
def adjacency() -> tuple[Any, Any]:
    """A weighted graph of 180 nodes in three blocks, a stray node among them."""
    rng = np.random.default_rng(SEED + 4)
    classes = np.repeat([0, 1, 2], 60)
    chance = np.where(classes[:, None] == classes, 0.16, 0.01)
    weights = np.triu(rng.random((180, 180)) < chance, 1) * rng.integers(1, 9, (180, 180)) / 4
    weights[17], weights[:, 17] = 0, 0
    return weights + weights.T, classes


@cache
def data(kind: str, dtype: str) -> Data:
    """One of the five inputs."""
    if kind == "csr":
        values, classes = counts()
        X = sp.csr_array(values.astype(dtype))
        return Data(X, X[:N_NEW], classes)
    if kind == "graph":
        weights, classes = adjacency()
        matrix = sp.csr_array(weights.astype(dtype))
        if dtype == "float32":  # A graph of networkx always becomes float64.
            return Data(matrix, matrix[:N_NEW], classes, {"affinity": "precomputed"})
        return Data(nx.from_scipy_sparse_array(matrix), matrix[:N_NEW], classes)
    points, classes = table()
    if kind == "dense":
        X, settings = points, {}
    elif kind == "similarities":
        X, settings = np.round(np.exp(-squared_distances() / 4), 9), {"affinity": "precomputed"}
    else:
        X, settings = np.sqrt(squared_distances()), {"metric": "precomputed"}
    X = X.astype(dtype)
    return Data(X, X[:N_NEW], classes, settings)


# --- results --------------------------------------------------------------------------------------


def digest(value: Any) -> str:
    """Of type, shape and bytes; memberships of many clusters are sparse."""
    array = np.ascontiguousarray(value.toarray() if sp.issparse(value) else value)
    state = hashlib.sha256(f"{array.dtype.str} {array.shape} ".encode())
    state.update(array.tobytes())
    return state.hexdigest()[:16]


def attempt(compute: Callable[[], Results], label: str = "error") -> Results:
    """What it computes, or the type of its exception."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return compute()
    except Exception as error:
        return {label: type(error).__name__}


def fitted(model: Any) -> Results:
    """Digests of what a fit has found."""
    if hasattr(model, "label_distributions_"):
        return {
            "memberships": digest(model.label_distributions_),
            "labels": digest(model.transduction_),
        }
    return {
        "memberships": digest(model.memberships_),
        "labels": digest(model.labels_),
        "history": digest(model.objective_history_),
    }


def compute(name: str, given: Data, changes: dict[str, Any], jobs: int, **known: Any) -> Results:
    """Fit an estimator and predict; with `warm_start` the fit is repeated."""
    settings = {"random_state": SEED, **SETTINGS[name], **given.settings, "n_jobs": jobs}
    if name == "RandomWalkClassifier":
        partial = np.full(len(given.classes), -1)
        partial[::9] = given.classes[::9]
        known["y"] = partial
    else:
        settings["n_clusters"] = 4  # One more than there are: some objects lie between.
    settings |= changes

    def fit() -> Results:
        model = getattr(soffit, name)(**settings)
        for _ in range(2 if settings.get("warm_start") else 1):
            model.fit(given.X, **known)
        models.append(model)
        return fitted(model)

    models: list[Any] = []
    results = attempt(fit)
    if models:
        results |= attempt(
            lambda: {"prediction": digest(models[0].predict_proba(given.new))}, "prediction"
        )
    return results


# --- cases ----------------------------------------------------------------------------------------


def options(name: str) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Names of options with changes of parameters and further arguments of `fit`."""
    yield "defaults", {}, {}
    if name == "RandomWalkClassifier":
        return
    yield "k chosen", {"n_clusters": None}, {}
    if name not in WITHOUT_WARM_START:
        yield "warm start", {"warm_start": True}, {}
    if name == "SoftClustering":
        yield "resamples", {"n_resamples": 3}, {}
    if name in LINKED:
        pairs = {"must_link": [[0, 1], [1, 5], [20, 30]], "cannot_link": [[0, 150], [3, 170]]}
        yield "pairs", {}, pairs


def usual_cases(name: str) -> Iterator[Case]:
    """All inputs, types and options of one estimator."""
    for kind in KINDS:
        for dtype in DTYPES:
            for option, changes, known in options(name):
                if name == "HigherOrder" and kind != "dense" and option != "defaults":
                    continue  # It takes points only, and is asked once.
                yield Case(
                    f"{name}/{kind}/{dtype}/{option}",
                    lambda jobs, kind=kind, dtype=dtype, changes=changes, known=known: compute(
                        name, data(kind, dtype), changes, jobs, **known
                    ),
                    quick=(kind, dtype) == ("dense", "float64")
                    or (kind, dtype, option) == ("csr", "float32", "defaults"),
                )


def variant_cases(name: str) -> Iterator[Case]:
    """The parameters of one estimator, on the dense table."""
    for changes in (changes for owner, changes in VARIANTS if owner == name):
        told = ", ".join(f"{key}={value}" for key, value in changes.items())
        yield Case(
            f"{name}/dense/float64/{told}",
            lambda jobs, changes=changes: compute(name, data("dense", "float64"), changes, jobs),
        )


def given_tuples(jobs: int) -> Results:
    """HigherOrder on values of triples: 1 within a class, 0 between."""
    rng = np.random.default_rng(SEED)
    classes = np.repeat([0, 1, 2], 50)
    triples = np.array([rng.choice(150, 3, replace=False) for _ in range(2500)])
    values = (np.ptp(classes[triples], axis=1) == 0) * 0.9 + 0.05
    model = soffit.HigherOrder(3, random_state=SEED, n_jobs=jobs, max_iter=60)
    return attempt(lambda: fitted(model.fit_tuples(triples, values, 150)))


def weighted_pairs(jobs: int) -> Results:
    """CompletelyPositive with affinities that are partly unknown."""
    given = data("similarities", "float64")
    known = np.random.default_rng(SEED).random(given.X.shape) < 0.3
    return compute("CompletelyPositive", given, {}, jobs, pair_weight=(known | known.T) * 1.0)


def approximate_search(jobs: int, sparse: bool) -> Results:
    """More than 20,000 points in more than three dimensions: neighbours are not all compared."""
    points, _ = make_blobs(20_500, n_features=6, centers=4, cluster_std=2.0, random_state=SEED)
    X = np.round(points, 3).astype(np.float32)
    X = sp.csr_array(np.where(X > 0, X, 0)) if sparse else X
    given = Data(X, X[:N_NEW], None)
    return compute("SoftClustering", given, {"n_clusters": 4, "max_iter": 3}, jobs)


def large_graph(jobs: int, n: int, n_clusters: int) -> Results:
    """Above 40,000 objects through a coarser graph; for many clusters without eigenvectors."""
    points, _ = make_blobs(n, centers=6, cluster_std=1.5, random_state=SEED)
    X = np.round(points, 4)
    given = Data(X, X[:N_NEW], None)
    return compute("SoftClustering", given, {"n_clusters": n_clusters, "max_iter": 3}, jobs)


def picture(jobs: int, scribbled: bool) -> Results:
    """`segment`, which has no `n_jobs`, on a noisy picture of two regions."""
    rng = np.random.default_rng(SEED)
    rows, columns = np.mgrid[:28, :32]
    inside = (rows - 13) ** 2 + (columns - 15) ** 2 < 70
    image = np.round(inside * 0.6 + 0.2 + 0.05 * rng.standard_normal(inside.shape), 3)
    scribbles = np.zeros(image.shape, dtype=int)
    scribbles[12:15, 13:18], scribbles[:2, :9] = 1, 2

    def compute() -> Results:
        found = soffit.segment(image, 2, scribbles if scribbled else None, random_state=SEED)
        return {"memberships": digest(found.memberships), "labels": digest(found.labels)}

    return attempt(compute)


def all_cases() -> list[Case]:
    """Everything, in the order of the file."""
    cases = [case for name in SETTINGS for case in (*usual_cases(name), *variant_cases(name))]
    return [
        *cases,
        Case("HigherOrder/tuples", given_tuples, quick=True),
        Case("CompletelyPositive/similarities/float64/pair weights", weighted_pairs),
        Case("large/approximate search", lambda jobs: approximate_search(jobs, False), True),
        Case("large/approximate search, csr", lambda jobs: approximate_search(jobs, True)),
        Case("large/coarse graph", lambda jobs: large_graph(jobs, 41_000, 6), True),
        Case("large/many clusters", lambda jobs: large_graph(jobs, 20_500, 160)),
        Case("segment", lambda jobs: picture(jobs, False), quick=True),
        Case("segment/scribbles", lambda jobs: picture(jobs, True), quick=True),
    ]


# --- command --------------------------------------------------------------------------------------


def environment() -> dict[str, str]:
    """What bytes may depend on, beside the code."""
    libraries = ("numpy", "scipy", "scikit-learn", "numba")
    kernels = sorted({str(pool.get("architecture")) for pool in threadpool_info()} - {"None"})
    return {
        "machine": platform.machine(),
        "blas kernels": ", ".join(kernels),
        **{name: version(name) for name in libraries},
    }


def run(cases: list[Case], threads: int) -> dict[str, Results]:
    """Results of the cases by name."""
    # What has no `n_jobs` obeys this one.
    os.environ["OMP_NUM_THREADS"] = str(threads)
    return {case.name: case.run(threads) for case in cases}


def write(file: Path, found: dict[str, Results]) -> None:
    """Store results, a line for each case."""
    lines = [f"{json.dumps(name)}: {json.dumps(results)}" for name, results in found.items()]
    cases = ",\n".join(lines)
    text = f'{{"environment": {json.dumps(environment())},\n"cases": {{\n{cases}\n}}}}\n'
    file.write_text(text, encoding="utf-8")


def differences(expected: dict[str, Results], found: dict[str, Results]) -> list[str]:
    """One line for every case that differs."""
    lines = []
    for name in {**expected, **found}:
        old, new = expected.get(name), found.get(name)
        if old is None or new is None:
            lines.append(f"{name}: {'not in the file' if old is None else 'no longer computed'}")
        elif old != new:
            parts = [part for part in {**old, **new} if old.get(part) != new.get(part)]
            lines.append(
                f"{name}: " + ", ".join(f"{p} {old.get(p)} -> {new.get(p)}" for p in parts)
            )
    return lines


def main() -> int:
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("write", "check"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--threads", type=int, default=2, help="n_jobs of the estimators")
    parser.add_argument("--quick", action="store_true", help="a subset: each estimator a few times")
    parser.add_argument("--only", default="", help="cases whose names contain this")
    arguments = parser.parse_args()
    cases = all_cases()
    chosen = [case for case in cases if case.quick or not arguments.quick]
    chosen = [case for case in chosen if arguments.only in case.name]
    began = time.perf_counter()
    found = run(chosen, arguments.threads)
    took = f"{len(found)} cases in {time.perf_counter() - began:.0f} s"
    if arguments.action == "write":
        write(arguments.file, found)
        print(f"{took}, written to {arguments.file}")
        return 0
    stored = json.loads(arguments.file.read_text(encoding="utf-8"))
    if stored["environment"] != environment():
        print(f"written with {stored['environment']},\nnow it is {environment()}")
    left_out = {case.name for case in cases} - {case.name for case in chosen}
    expected = {name: value for name, value in stored["cases"].items() if name not in left_out}
    lines = differences(expected, found)
    print("\n".join([*lines, f"{took}, {len(lines)} differ"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
