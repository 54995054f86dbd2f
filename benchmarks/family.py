"""What the papers behind the family show, measured in one run: one row a claim.

Every row has its case, the settings, the measured figures, what is asked of them, and whether they
meet it. Labels are used only to score, and as the known labels or pairs where a case is about
those. Parameters that a row does not name have their defaults. Times are by the clock, after a
warm-up; the load of the machine is printed at the start and at the end, as it makes them longer.

Sets are read by `soffit.datasets.load`; where one is missing, its row says so. `--only donut usps`
runs some of the sections.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from _claims import HEADER, Row, at_least, timed, within
from _draws import (
    MissingSetError,
    binary_graph,
    digits,
    few_labels,
    planted_graph,
    random_pairs,
    read,
)
from _table import print_table
from sklearn.cluster import KMeans
from sklearn.feature_extraction.text import TfidfTransformer

from soffit import (
    BaumEagon,
    CompletelyPositive,
    HigherOrder,
    RandomWalkClassifier,
    RelationFactorization,
    SoF,
    SoftClustering,
    SoftHierarchy,
    SpectralClustering,
    segment,
)
from soffit.affinity import NeighborGraph, walk_affinity
from soffit.datasets import make_bridge, make_donut, make_lines
from soffit.metrics import accuracy, nmi
from soffit.normalize import normalize

SEEDS = (29, 31, 37, 41, 43)
STARTS, DRAWS, TURNS = 1000, 20, 15
STEPS = (1, 16, 32, 64)
PAIRS = (0, 200, 1000, 3000)


# --- Zass & Shashua: donut, missing pairs, bridge ---------------------------------------------


def donut() -> Iterator[Row]:
    sample = make_donut(200, random_state=617)
    case = "donut, random starts"

    def correct(make: Callable[[int], Any]) -> int:
        fits = (make(seed).fit(sample.X) for seed in range(STARTS))
        return sum(accuracy(sample.labels, fit.labels_) == 1.0 for fit in fits)

    count = correct(
        lambda seed: CompletelyPositive(
            2, normalization="additive", start="random", n_init=1, random_state=seed
        )
    )
    settings = "CompletelyPositive(normalization=additive, n_init=1), n=200"
    yield Row(case, settings, f"{count} of {STARTS} correct", f"{STARTS}", count == STARTS)
    count = correct(lambda seed: KMeans(2, init="random", n_init=1, random_state=seed))
    settings = "scikit-learn KMeans(init=random, n_init=1)"
    yield Row(case, settings, f"{count} of {STARTS} correct", "hardly any", count <= STARTS // 100)
    yield from _few_pairs(sample.X, sample.labels)


def _few_pairs(X: Any, labels: Any) -> Iterator[Row]:
    A = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1) / 0.5**2)
    ours, plain, cut = [], [], []
    for draw in range(DRAWS):
        upper = np.triu(np.random.default_rng(101 + draw).random(A.shape) < 0.1, 1)
        known = sp.csr_array((upper | upper.T).astype(float))
        sampled = sp.csr_array(A * known)
        model = CompletelyPositive(
            2, affinity="precomputed", normalization="additive", random_state=draw
        ).fit(sampled, pair_weight=known)
        ours.append(accuracy(labels, model.labels_))
        model.set_params(normalization=None).fit(sampled, pair_weight=known)
        plain.append(accuracy(labels, model.labels_))
        spectral = SpectralClustering(
            2, variant="ncut", affinity="precomputed", random_state=draw
        ).fit(sampled)
        cut.append(accuracy(labels, spectral.labels_))
    exact = ours.count(1.0)
    case, kernel = "donut, 10 % of the pairs", "exp(-d^2/0.5^2)"
    measured = f"{exact} of {DRAWS} correct, min {min(ours):.3f}"
    settings = f"CompletelyPositive(normalization=additive), pair_weight, {kernel}"
    yield Row(case, settings, measured, ">= 19 of 20", exact >= 19)
    measured = f"mean {np.mean(plain):.3f}, {min(plain):.3f} to {max(plain):.3f}"
    settings = f"CompletelyPositive(normalization=None), pair_weight, {kernel}"
    yield Row(case, settings, measured)
    measured = f"mean {np.mean(cut):.3f}, {min(cut):.3f} to {max(cut):.3f}"
    settings = f"SpectralClustering(variant=ncut), unknown as zero, {kernel}"
    yield Row(case, settings, measured, "about 0.65", abs(float(np.mean(cut)) - 0.65) < 0.05)


def bridge() -> Iterator[Row]:
    for normalization in ("sinkhorn", "additive"):
        across = []
        for draw in SEEDS:
            sample = make_bridge(random_state=draw)
            model = CompletelyPositive(2, normalization=normalization, random_state=3)
            memberships = model.fit(sample.X).memberships_
            across.append(memberships[-10:, model.labels_[0]])
        fall = [bool(np.all(np.diff(row) < 0)) for row in across]
        first, last = min(row[0] for row in across), max(row[-1] for row in across)
        row = Row(
            "bridge of ten points",
            f"CompletelyPositive(normalization={normalization}), n=110, {len(SEEDS)} draws",
            f"{sum(fall)} of {len(fall)} monotone, from >= {first:.3f} to <= {last:.3f}",
        )
        # The paper's figure is Sinkhorn's, the default; the other is shown beside it.
        if normalization == "sinkhorn":
            met = all(fall) and first > 0.9 and last < 0.1
            row = row._replace(asked="monotone, > 0.9 to < 0.1", met=met)
        yield row


# --- Yu, Yu & Tresp: flat, hierarchy, news, planted blocks ------------------------------------


@cache
def usps() -> Iterator[Row]:
    """The default graph, and the published one with the published hierarchy."""
    X, labels = digits()
    for weights, refine in (("local", True), ("binary", False)):
        given = {"affinity": "nearest_neighbors"}, X
        if weights == "binary":
            given = {"affinity": "precomputed"}, binary_graph(X)
        options, data = given
        fits = [RelationFactorization(4, random_state=s, **options).fit(data) for s in SEEDS]
        settings = f"RelationFactorization(4), 10-NN, {weights} weights, {len(SEEDS)} seeds"
        scores = [accuracy(labels, fit.labels_) for fit in fits]
        yield at_least("USPS 1-4, accuracy", settings, scores, 0.98)
        scores = [nmi(labels, fit.labels_) for fit in fits]
        yield at_least("USPS 1-4, NMI (max)", settings, scores, 0.92)
        options |= {"levels": [100, 20, 10, 4], "refine": refine}
        models = [SoftHierarchy(random_state=s, **options) for s in SEEDS]
        scores = [accuracy(labels, model.fit(data).labels_) for model in models]
        settings = f"SoftHierarchy(refine={refine}), 10-NN, {weights} weights, {len(SEEDS)} seeds"
        yield at_least("USPS 1-4, levels 100-20-10-4", settings, scores, 0.975)


def news() -> Iterator[Row]:
    dataset = read("news4")
    graph = binary_graph(TfidfTransformer().fit_transform(dataset.X), metric="cosine")
    fits = [RelationFactorization(4, affinity="precomputed", random_state=s) for s in SEEDS]
    found = [fit.fit(graph).labels_ for fit in fits]
    truth = dataset.labels[0]
    settings = f"RelationFactorization(4), tf-idf, cosine 10-NN, binary, {len(SEEDS)} seeds"
    scores = [accuracy(truth, labels) for labels in found]
    yield at_least("four newsgroups, accuracy", settings, scores, 0.89)
    yield at_least("four newsgroups, NMI (max)", settings, [nmi(truth, f) for f in found], 0.70)


def planted() -> Iterator[Row]:
    def fit(A: Any) -> Any:
        return RelationFactorization(10, affinity="precomputed", random_state=29).fit(A)

    fit(planted_graph(500, 10, 3)[0])
    for seed in SEEDS[:3]:
        A, labels = planted_graph(20_000, 10, seed)
        case = f"20,000 nodes, 10 blocks, graph {seed}"
        settings = f"RelationFactorization(10), mean degree {A.nnz / 20_000:.1f}"
        model, row = within(case, settings, 5.0, lambda A=A: fit(A))
        yield row
        score = accuracy(labels, model.labels_)
        yield Row(case, settings, f"accuracy {score:.5f}", "exact", score == 1.0)


# --- random walks: few labels, combination ----------------------------------------------------


def semi() -> Iterator[Row]:
    X, labels = digits()
    A = binary_graph(X)
    draws = [few_labels(labels, 5, 8461 + draw) for draw in range(DRAWS)]
    models = {
        on: RandomWalkClassifier(affinity="precomputed", on=on, random_state=29).fit(A, draws[0])
        for on in ("points", "clusters")
    }
    for steps in STEPS:
        seconds = _times_of_relabel(models, draws[0], steps)
        for on, model in models.items():
            scores = [np.mean((model.relabel(y).transduction_ == labels)[y < 0]) for y in draws]
            mean, limit = float(np.mean(scores)), {"points": 0.96, "clusters": 0.965}[on]
            measured = f"mean {mean:.4f}, worst {min(scores):.4f}, {1e3 * seconds[on]:.2f} ms"
            settings = f"RandomWalkClassifier(on={on}, steps={steps}), {DRAWS} draws"
            row = Row("USPS 1-4, 20 labels", settings, measured, f">= {limit}", mean >= limit)
            if steps == 1:
                row = row._replace(asked="-", met=None)
                if on == "points":
                    row = row._replace(asked="about 0.4 (below 0.5)", met=mean < 0.5)
            yield row
        ratio = seconds["points"] / seconds["clusters"]
        asked, met = (">= 3 times", ratio >= 3) if steps > 1 else ("-", None)
        case = "clusters quicker than points"
        yield Row(case, f"relabel, steps={steps} on both", f"{ratio:.1f} times", asked, met)


def _times_of_relabel(models: dict[str, Any], y: Any, steps: int) -> dict[str, float]:
    """Taking turns lets both meet the same load; the quickest turn tells the cost best."""
    best = dict.fromkeys(models, np.inf)
    for _ in range(TURNS):
        for on, model in models.items():
            model.set_params(steps=steps)
            best[on] = min(best[on], timed(lambda model=model: model.relabel(y))[1])
    return best


def zp() -> Iterator[Row]:
    settings = f"10-NN local, 32 steps, Sinkhorn, BaumEagon, {len(SEEDS)} starts"
    for number in range(1, 7):
        points = read(f"zp{number}")
        graph = NeighborGraph(10, keep="union", weights="local", connect=False).fit(points.X)
        A = normalize(walk_affinity(graph.matrix_, 32), "sinkhorn").matrix
        k, truth = points.n_classes[0], points.labels[0]
        fits = [BaumEagon(k, affinity="precomputed", random_state=s).fit(A) for s in SEEDS]
        scores = [accuracy(truth, fit.labels_) for fit in fits]
        yield at_least(f"zp{number}, combination", settings, scores, 0.99)


# --- side information, lines, image -----------------------------------------------------------


TOLD: dict[str, Callable[[], Any]] = {
    "CompletelyPositive(3)": lambda: CompletelyPositive(3, random_state=3),
    "CompletelyPositive(3, normalization=additive)": lambda: CompletelyPositive(
        3, normalization="additive", random_state=3
    ),
    "CompletelyPositive(3, affinity=nearest_neighbors)": lambda: CompletelyPositive(
        3, affinity="nearest_neighbors", random_state=3
    ),
    "SoftClustering(3)": lambda: SoftClustering(3, random_state=3),
}


def side() -> Iterator[Row]:
    iris = read("iris")
    y = iris.labels[0]
    for name, make in TOLD.items():
        scores = np.empty((len(PAIRS), DRAWS))
        for draw in range(DRAWS):
            rng = np.random.default_rng(4001 + draw)
            order = rng.permutation(len(y))
            pool, untouched = np.sort(order[:100]), order[100:]
            for place, count in enumerate(PAIRS):
                pairs = random_pairs(y, pool, count, rng)
                labels = make().fit(iris.X, **pairs).labels_
                scores[place, draw] = accuracy(y[untouched], labels[untouched])
        yield from _compared(name, scores)


def _compared(name: str, scores: Any) -> Iterator[Row]:
    """Each number of pairs against none, draw by draw; asked of the models with defaults."""
    for count, row in zip(PAIRS, scores, strict=True):
        settings = f"{name}, {count} pairs among 100 others, {DRAWS} draws"
        measured = f"mean {row.mean():.3f}, worst {row.min():.3f}"
        asked, met = "-", None
        if count:
            lower, drop = np.count_nonzero(row < scores[0] - 1e-12), (scores[0] - row).max()
            measured += f", lower in {lower} draws" + (f" (by up to {drop:.2f})" if lower else "")
            if "=" not in name:
                asked, met = "mean not lower", bool(row.mean() >= scores[0].mean())
        yield Row("iris, 50 objects without pairs", settings, measured, asked, met)


PAIRWISE: dict[str, Callable[[int], Any]] = {
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


def lines() -> Iterator[Row]:
    seeds = range(601, 611)
    drawn = {seed: make_lines(300, random_state=seed) for seed in seeds}
    best = [np.mean(d.posterior.argmax(axis=1) == d.labels) for d in drawn.values()]

    def scores(make: Callable[[int], Any]) -> list[float]:
        return [accuracy(d.labels, make(seed).fit(d.X).labels_) for seed, d in drawn.items()]

    case = "three crossing lines"
    yield Row(
        case, "true posterior, 10 draws of 300", f"min {min(best):.3f}, mean {np.mean(best):.3f}"
    )
    found = scores(lambda seed: HigherOrder(3, random_state=seed))
    yield at_least(case, "HigherOrder(order=3), 10 draws", found, 0.95)
    for name, make in PAIRWISE.items():
        found = scores(make)
        measured = f"max {max(found):.3f}, mean {np.mean(found):.3f}"
        yield Row(case, f"{name}, 10 draws", measured, "< 0.7", max(found) < 0.7)


def image() -> Iterator[Row]:
    segment(np.random.default_rng(3).random((12, 16, 3)), 2, random_state=29)
    down, right = np.mgrid[:240, :320]
    truth = np.zeros((240, 320), dtype=int)
    truth[(down - 75) ** 2 + (right - 90) ** 2 < 52**2] = 1
    truth[(down - 150) ** 2 + (right - 225) ** 2 < 64**2] = 2
    truth[(down > 172) & (right < 118)] = 3
    truth[(down < 60) & (right > 240)] = 4
    noise = 0.03 * np.random.default_rng(6151).normal(size=truth.shape)
    drawn = np.array([0.3, 0.7, 0.1, 0.9, 0.5])[truth] + noise
    case, settings = "image of 320 x 240", "segment(image, 5), drawn, five grey areas with noise"
    result, row = within(case, settings, 30.0, lambda: segment(drawn, 5, random_state=29))
    yield row
    score = accuracy(truth.ravel(), result.labels.ravel())
    yield Row(case, settings, f"accuracy {score:.4f}")
    photo = _photo()
    settings = "segment(image, 5), colour photo (scikit-learn's china.jpg)"
    if photo is None:
        yield Row(case, settings, "pillow is not installed")
        return
    yield within(case, settings, 30.0, lambda: segment(photo, 5, random_state=29))[1]


def _photo() -> Any:
    try:
        from PIL import Image
        from sklearn.datasets import load_sample_image
    except ImportError:
        return None
    return np.asarray(Image.fromarray(load_sample_image("china.jpg")).resize((320, 240)))


# --- command line -----------------------------------------------------------------------------

SECTIONS: dict[str, Callable[[], Iterator[Row]]] = {
    section.__name__: section
    for section in (donut, bridge, usps, news, semi, zp, side, lines, planted, image)
}


def rows_of(name: str) -> list[Row]:
    """The rows of a section; a missing set is a row, too."""
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for row in SECTIONS[name]():
                rows.append(row)
                print(" | ".join(row.cells()), file=sys.stderr, flush=True)
        except MissingSetError as error:
            rows.append(Row(name, "-", f"not measured: {error}"))
    return rows


def load_average() -> str:
    if not hasattr(os, "getloadavg"):
        return "unknown"
    return f"{os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"


def main() -> None:
    parser = argparse.ArgumentParser(description="What the papers of the family show.")
    parser.add_argument(
        "--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS), metavar="SECTION"
    )
    chosen = parser.parse_args().only
    print(f"load of the machine at the start: {load_average()}")
    rows: list[Row] = []
    for name in chosen:
        found, seconds = timed(lambda name=name: rows_of(name))
        rows += found
        print_table(HEADER, [row.cells() for row in found], title=f"{name} ({seconds:.0f} s)")
        sys.stdout.flush()
    print(f"\nload of the machine at the end: {load_average()}")
    asked = [row for row in rows if row.met is not None]
    print(f"{sum(bool(row.met) for row in asked)} of {len(asked)} rows meet what is asked")
    for row in asked:
        if not row.met:
            print("  NO: " + " | ".join(row.cells()[:3]))


if __name__ == "__main__":
    main()
