"""Everyday data: SoftClustering beside four methods of scikit-learn on the same prepared data.

What every method gets:

tables of numbers   gaps are filled with the median of the column; all columns are then
                    standardized, or none, by one rule for all methods (--standardize)
tables with text    numbers as above, always standardized; one 0/1 column per value of a text
distances           SoftClustering and HDBSCAN the distances, SpectralClustering their Gaussian
                    similarities (scale: the median), the others coordinates by classical scaling
similarities        SoftClustering and SpectralClustering the similarities, the others as for
                    distances, of sqrt(1 - similarity)
graphs              SoftClustering and SpectralClustering the weights; the others cannot read them

"as it comes" is SoftClustering(metric="gower") on tables with text and gaps, unprepared. HDBSCAN
chooses its number of clusters; its noise counts as one cluster in the adjusted Rand index (ARI) and
not in the number. All other methods get the number unless the column says "chosen".

Sets, answers and groups are in _everyday_sets.py; labels are used for scoring only.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

if __package__ in {None, ""}:  # run by its path: `benchmarks` is beside this folder's parent
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks._everyday_sets import SETS, EverydaySet
from benchmarks._table import print_table, print_target
from soffit import SoftClustering
from soffit.affinity.given_objects import Standardizer
from soffit.metrics import adjusted_rand

SEED = 0
GIVEN, CHOSEN, AS_IT_COMES = "SoftClustering", "SoftClustering, k chosen", "as it comes"


# --- preparation ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Prepared:
    """One set in every form that a method may read; None where there is no such form."""

    raw: Any
    kind: str
    n_objects: int
    n_columns: int | None
    points: Any = None
    distances: Any = None
    similarities: Any = None


def prepare(chosen: EverydaySet, data: Any, standardize: Any) -> Prepared:
    """The same numbers for all methods."""
    if chosen.kind == "graph":
        import networkx as nx

        weights = nx.to_numpy_array(data)
        return Prepared(data, chosen.kind, len(weights), None, similarities=weights)
    if chosen.kind in {"distances", "similarities"}:
        return _prepared_matrix(chosen, data)
    numbers, texts = _columns(data)
    how = True if chosen.kind == "mixed" else standardize
    points = np.hstack([Standardizer.of(numbers, how).apply(numbers), texts])
    n, d = np.shape(data)
    return Prepared(data, chosen.kind, n, d, points=points)


def _prepared_matrix(chosen: EverydaySet, matrix: Any) -> Prepared:
    n = len(matrix)
    if chosen.kind == "distances":
        scale = np.median(matrix[~np.eye(n, dtype=bool)])
        distances, similarities = matrix, np.exp(-((matrix / scale) ** 2) / 2)
    else:
        distances, similarities = np.sqrt(np.clip(1 - matrix, 0, None)), matrix
    return Prepared(
        distances if chosen.kind == "distances" else similarities,
        chosen.kind,
        n,
        None,
        points=_classical_scaling(distances),
        distances=distances,
        similarities=similarities,
    )


def _columns(data: Any) -> tuple[Any, Any]:
    """Numbers with gaps filled by medians, and 0/1 columns of the values of texts."""
    if not hasattr(data, "columns"):
        return np.asarray(data, dtype=float), np.empty((len(data), 0))
    numbers = data.select_dtypes("number").astype(float)
    numbers = numbers.fillna(numbers.median())
    texts = data.select_dtypes(exclude="number")
    indicators = [texts[name] == value for name in texts for value in texts[name].dropna().unique()]
    return numbers.to_numpy(), np.array(indicators, dtype=float).reshape(-1, len(data)).T


def _classical_scaling(distances: Any) -> Any:
    n = len(distances)
    centering = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centering @ distances**2 @ centering / 2)
    positive = values > 1e-9 * values.max()
    return vectors[:, positive] * np.sqrt(values[positive])


# --- methods ----------------------------------------------------------------------------------


def soft_clustering(data: Prepared, k: int | None) -> Any:
    model = SoftClustering(k, random_state=SEED, standardize=False)
    if data.kind == "distances":
        model.set_params(metric="precomputed")
    elif data.kind == "similarities":
        model.set_params(affinity="precomputed")
    return model.fit_predict(
        data.raw if data.points is None or data.distances is not None else data.points
    )


def soft_as_it_comes(data: Prepared, k: int) -> Any:
    if data.kind != "mixed":
        return None
    return SoftClustering(k, random_state=SEED, metric="gower").fit_predict(data.raw)


def k_means(data: Prepared, k: int) -> Any:
    return (
        None
        if data.points is None
        else KMeans(k, n_init=10, random_state=SEED).fit_predict(data.points)
    )


def gaussian_mixture(data: Prepared, k: int) -> Any:
    return (
        None
        if data.points is None
        else GaussianMixture(k, random_state=SEED).fit_predict(data.points)
    )


def spectral(data: Prepared, k: int) -> Any:
    if data.similarities is not None:
        model = SpectralClustering(k, affinity="precomputed", random_state=SEED)
        return model.fit_predict(data.similarities)
    neighbors = min(10, data.n_objects - 1)
    model = SpectralClustering(
        k, affinity="nearest_neighbors", n_neighbors=neighbors, random_state=SEED
    )
    return model.fit_predict(data.points)


def hdbscan(data: Prepared, k: int) -> Any:
    if data.points is None:
        return None
    if data.distances is not None:
        return HDBSCAN(metric="precomputed", copy=True).fit_predict(data.distances)
    return HDBSCAN(copy=True).fit_predict(data.points)


METHODS: dict[str, Callable[[Prepared, int], Any]] = {
    GIVEN: soft_clustering,
    CHOSEN: lambda data, k: soft_clustering(data, None),
    AS_IT_COMES: soft_as_it_comes,
    "KMeans": k_means,
    "GaussianMixture": gaussian_mixture,
    "SpectralClustering": spectral,
    "HDBSCAN": hdbscan,
}
CHOOSING = (CHOSEN, "HDBSCAN")


@dataclass(frozen=True)
class Score:
    """What one method found in one set; `clusters` is None where it cannot read the set."""

    method: str
    clusters: int | None
    empty: int
    ari: float | None
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class Row:
    """All methods on one set."""

    name: str
    n_objects: int
    n_columns: int | None
    scores: dict[str, Score]


def run_method(method: str, data: Prepared, k: int, labels: Any) -> Score:
    began = perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = METHODS[method](data, k)
    except Exception as error:  # a crash is a result
        note = f"{type(error).__name__}: {error}".splitlines()[0]
        return Score(method, 0, 0, 0.0, perf_counter() - began, note)
    seconds = perf_counter() - began
    if found is None:
        return Score(method, None, 0, None, seconds)
    n_clusters = len(np.unique(found[found >= 0]))
    empty = 0 if method in CHOOSING else k - n_clusters
    scored = labels is not None
    ari = adjusted_rand(np.unique(labels, return_inverse=True)[1], found) if scored else None
    return Score(method, n_clusters, empty, ari, seconds)


def run(number: int, methods: Sequence[str], standardize: Any) -> Row:
    chosen = SETS[number]
    found = chosen.read()
    data = prepare(chosen, found.data, standardize)
    with threadpool_limits(limits=1):
        scores = {
            method: run_method(method, data, chosen.clusters, found.labels) for method in methods
        }
    return Row(chosen.name, data.n_objects, data.n_columns, scores)


def rows_of(
    sets: Sequence[EverydaySet], methods: Sequence[str], standardize: Any, jobs: int
) -> Iterator[Row]:
    work = partial(run, methods=methods, standardize=standardize)
    numbers = [SETS.index(chosen) for chosen in sets]
    if jobs == 1:
        yield from map(work, numbers)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        for future in as_completed([pool.submit(work, number) for number in numbers]):
            yield future.result()


# --- output -----------------------------------------------------------------------------------


def print_sets(sets: Sequence[EverydaySet], rows: dict[str, Row], methods: Sequence[str]) -> None:
    for group in dict.fromkeys(chosen.group for chosen in sets):
        lines = []
        for chosen in (chosen for chosen in sets if chosen.group == group):
            row = rows[chosen.name]
            cells = [_cell(row.scores[method]) for method in methods]
            columns = "-" if row.n_columns is None else str(row.n_columns)
            size = [str(row.n_objects), columns, str(chosen.clusters)]
            lines.append([chosen.name, chosen.answer, *size, *cells])
        header = ["set", "answer", "n", "d", "k", *methods]
        title = f"Group: {group}. ARI, and in brackets the number of clusters where it is chosen"
        print_table(header, lines, title=title, names=2)


def _cell(score: Score) -> str:
    if score.note:
        return "crash"
    if score.clusters is None:
        return "-"
    ari = "" if score.ari is None else f"{score.ari:.2f}"
    if score.method in CHOOSING:
        return f"{ari} ({score.clusters})".strip()
    return f"{ari} {score.empty} empty".strip() if score.empty else ari or "ok"


def print_summary(
    sets: Sequence[EverydaySet], rows: dict[str, Row], methods: Sequence[str]
) -> None:
    """One line per method and group; the first mean is over the sets that all methods read."""
    for group in (*dict.fromkeys(chosen.group for chosen in sets), "all"):
        members = [chosen for chosen in sets if group in {chosen.group, "all"}]
        peers = [method for method in methods if method != AS_IT_COMES]
        lines = []
        for method in methods:
            scores = {chosen.name: rows[chosen.name].scores[method] for chosen in members}
            common = [
                scores[chosen.name].ari
                for chosen in members
                if all(rows[chosen.name].scores[peer].ari is not None for peer in peers)
            ]
            own = [score.ari for score in scores.values() if score.ari is not None]
            close = [
                chosen.is_close(scores[chosen.name].clusters or 0)
                for chosen in members
                if chosen.usual is not None and scores[chosen.name].clusters is not None
            ]
            shared = None if None in common or not common else fmean(map(float, common))
            lines.append(
                [
                    method,
                    _figure(shared),
                    f"{_figure(fmean(own) if own else None)} ({len(own)})",
                    f"{fmean(map(bool, close)):.0%} of {len(close)}"
                    if method in CHOOSING and close
                    else "-",
                    str(sum(score.empty > 0 for score in scores.values())),
                    str(sum(bool(score.note) for score in scores.values())),
                    f"{sum(score.seconds for score in scores.values()):.1f}",
                ]
            )
        n_common = len(common)
        header = ["method", f"mean ARI ({n_common} common)", "mean ARI of all it reads"]
        header += ["number within one", "sets with empty clusters", "crashes", "seconds"]
        title = f"Summary: {group}" if group != "all" else "Summary: both groups"
        print_table(header, lines, title=title)


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def print_targets(sets: Sequence[EverydaySet], rows: dict[str, Row]) -> None:
    """The targets for everyday data, as far as this run measured them."""

    def ari(name: str, method: str = GIVEN) -> float | None:
        score = rows[name].scores.get(method) if name in rows else None
        return None if score is None else score.ari

    print("\ntargets")
    print_target("ARI on biopsy", ari("biopsy"), 0.85, at_least=True)
    print_target(
        "ARI on penguins as they come",
        ari("penguins as they come", AS_IT_COMES),
        0.9,
        at_least=True,
    )
    print_target("ARI on 11 US cities", ari("11 US cities"), 1.0, at_least=True)
    print_target("ARI on wine", ari("wine"), 0.88, at_least=True)
    close = [
        chosen.is_close(rows[chosen.name].scores[CHOSEN].clusters or 0)
        for chosen in sets
        if chosen.usual is not None and CHOSEN in rows[chosen.name].scores
    ]
    share = fmean(map(bool, close)) if close else None
    print_target("share of sets with a number within one", share, 0.8, at_least=True)
    if "faithful" in rows and CHOSEN in rows["faithful"].scores:
        found = rows["faithful"].scores[CHOSEN].clusters
        print(f"  clusters in faithful = 2: {found}  {'yes' if found == 2 else 'NO'}")


# --- command line -----------------------------------------------------------------------------


def _selected(text: str, known: Sequence[str]) -> list[str]:
    """Names that contain one of the given parts."""
    found = [
        name for name in known if any(part.lower() in name.lower() for part in text.split(","))
    ]
    if not found:
        raise argparse.ArgumentTypeError(f"nothing matches {text!r}; known: {'; '.join(known)}")
    return found


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [chosen.name for chosen in SETS]
    parser.add_argument(
        "--sets",
        type=partial(_selected, known=names),
        default=names,
        help="parts of names, e.g. iris,penguins",
    )
    parser.add_argument("--group", choices=("development", "left out"), help="one group only")
    parser.add_argument(
        "--methods",
        type=partial(_selected, known=list(METHODS)),
        default=list(METHODS),
        help="parts of names, e.g. Soft,KMeans",
    )
    parser.add_argument(
        "--standardize",
        choices=("auto", "yes", "no"),
        default="auto",
        help="columns of tables of numbers, for all methods; auto is soffit's rule",
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser.parse_args()


def available(sets: Sequence[EverydaySet]) -> list[EverydaySet]:
    """Sets whose packages are installed; a note names the others."""
    missing = {chosen.package for chosen in sets if find_spec(chosen.package) is None}
    left = [chosen.name for chosen in sets if chosen.package in missing]
    if left:
        print(f"Not installed: {', '.join(sorted(missing))}. Without: {', '.join(left)}")
    return [chosen for chosen in sets if chosen.package not in missing]


def main() -> None:
    options = arguments()
    wanted = [chosen for chosen in SETS if chosen.name in options.sets]
    sets = available([chosen for chosen in wanted if options.group in {None, chosen.group}])
    standardize = {"auto": "auto", "yes": True, "no": False}[options.standardize]
    rows = {}
    for row in rows_of(sets, options.methods, standardize, options.jobs):
        rows[row.name] = row
        print(f"{len(rows)}/{len(sets)} {row.name}", file=sys.stderr, flush=True)
    print(__doc__.split("\n\n", 1)[1].rsplit("\n\n", 1)[0])
    print_sets(sets, rows, options.methods)
    print_summary(sets, rows, options.methods)
    for chosen in sets:
        for score in rows[chosen.name].scores.values():
            if score.note:
                print(f"  crash: {chosen.name}, {score.method}: {score.note}")
    print_targets(sets, rows)


if __name__ == "__main__":
    main()
