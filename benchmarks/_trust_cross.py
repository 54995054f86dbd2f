"""Probabilities on kinds of data that no constant was chosen on.

Families of sets are left out one at a time. The constants of memberships and of resampling are
chosen on the other families, by the mean Brier score, among the library's values and some around
them, one changed at a time; the family left out is scored with the chosen ones. The mean over
families is the figure to quote. Generated sets are drawn with seeds that no other benchmark uses.

Beside it, scikit-learn's GaussianMixture and, if `cake-ensemble` is installed, CAKE: 50 runs of
k-means, whose confidences rank the objects of its own consensus, with its fast silhouettes.

Every fit is kept in build/trust, by the code of the library: an interrupted run goes on where it
was, and constants are chosen again without a fit.
"""

from __future__ import annotations

import hashlib
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import sklearn
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture

import soffit
from benchmarks._number_sets import IMAGES, REAL
from benchmarks._prepared import prepared
from benchmarks._table import print_table, print_target
from benchmarks.datasets import development_sets, load
from soffit import SoftClustering, datasets
from soffit.fitting import resampling
from soffit.memberships import align, calibration, combine
from soffit.metrics import accuracy, adjusted_rand, brier, calibration_error, log_loss
from soffit.models import soft_clustering

SEED = 41
RESAMPLES = 10
KEPT = Path(__file__).resolve().parents[1] / "build" / "trust"
# What decides the memberships; a change elsewhere does not make a fit stale.
PARTS = (
    *("affinity", "factorize", "fitting", "memberships", "models", "neighbors", "normalize"),
    *("partition", "graph.py", "graph_kernels.py"),
)
# Larger sets are sampled; all constants act at any size.
MOST_OBJECTS = 1000
GRAPHS = ("graph_karate", "graph_football", "graph_polbooks", "graph_polblogs")

Constants = tuple[tuple[str, float], ...]
# The first setting is the library's. Each of the others changes one constant.
SETTINGS: dict[str, Constants] = {
    "library": (),
    "decisiveness 3": (("soffit.memberships.calibration._DECISIVENESS", 3.0),),
    "decisiveness 8": (("soffit.memberships.calibration._DECISIVENESS", 8.0),),
    "best partition only": (("soffit.memberships.calibration._DECISIVENESS", 1e9),),
    "mixture 0.65": (("soffit.memberships.calibration._SHARE", 0.65),),
    "mixture 0.95": (("soffit.memberships.calibration._SHARE", 0.95),),
    "walk power 1": (("soffit.memberships.calibration._SHARPNESS", 1.0),),
    "walk power 2": (("soffit.memberships.calibration._SHARPNESS", 2.0),),
    "no mixture: power 0.75": (("soffit.memberships.calibration._MODESTY", 0.75),),
    "no mixture: power 1": (("soffit.memberships.calibration._MODESTY", 1.0),),
}
BARE = "best partition only"
SHARED = (
    (soft_clustering, "find_start"),
    (calibration, "describe_partitions"),
    (calibration, "free_mixture"),
)
SHARES = (0.5, 0.25, 0.75)
SCORES = ("Brier", "ECE", "NLL", "confidence", "accuracy", "AUC", "ARI")


class CrossSet(NamedTuple):
    """A labelled set; `unscored` objects are clustered only."""

    family: str
    name: str
    data: Any
    labels: Any
    n_clusters: int
    unscored: int | None = None


def cross_sets() -> Iterator[CrossSet]:
    """All sets, by family."""
    rng = np.random.default_rng(SEED)
    for name in development_sets():
        dataset = load(name)
        n = len(dataset.X)
        rows = np.sort(rng.permutation(n)[:MOST_OBJECTS])
        family = "real tables" if name in REAL else "images" if name in IMAGES else "shapes"
        X = prepared(np.asarray(dataset.X, dtype=np.float64))[rows]
        y = dataset.labels[0][rows]
        yield CrossSet(family, name, X, y, dataset.n_classes[0], dataset.noise_label)
    for name in IMAGES:
        dataset = load(name)
        y = dataset.labels[0]
        for k in (3, 5):
            chosen = rng.choice(np.unique(y), k, replace=False)
            rows = rng.permutation(np.flatnonzero(np.isin(y, chosen)))[: 150 * k]
            X = np.asarray(dataset.X[rows], dtype=np.float64)
            yield CrossSet("images", f"{name}, {k} classes", X, y[rows], k)
    for name in GRAPHS:
        dataset = load(name)
        k = len(np.unique(dataset.labels[0]))
        yield CrossSet("graphs", name, dataset.graph, dataset.labels[0], k)
    for family, make in _generators().items():
        for d, seed in ((2, SEED), (10, SEED + 2), (2, SEED + 4)):
            sample = make(n_features=d, random_state=seed)
            k = sample.posterior.shape[1]
            yield CrossSet(family, f"{family}, d={d}", sample.X, sample.labels, k)


def _generators() -> dict[str, Callable[..., datasets.Sample]]:
    def of(make: Callable[..., datasets.Sample], **fixed: Any) -> Callable[..., datasets.Sample]:
        return lambda **more: make(800, **fixed, **more)

    return {
        "Gaussian": of(datasets.make_gaussians),
        "full covariance": of(datasets.make_gaussians, n_clusters=6, covariance="full"),
        "80/15/5": of(datasets.make_unequal),
        "Student t": of(datasets.make_student_t, separation=5.0),
        "skewed": of(datasets.make_skewed, scale=0.4),
        "moons": of(datasets.make_moons),
        "rings": of(datasets.make_rings, noise=0.07),
    }


class Memberships(NamedTuple):
    """Memberships of one set by setting, of the parts of a resampled fit, and the costs."""

    by_setting: dict[str, Any]
    by_share: dict[float, Any]
    mixture: Any
    cake: tuple[Any, Any] | None
    seconds: dict[str, float]


@contextmanager
def constants(setting: Constants) -> Iterator[None]:
    """The library with other constants."""
    with ExitStack() as stack:
        for name, value in setting:
            stack.enter_context(patch(name, value))
        yield


@cache
def _code() -> str:
    """A digest of the library's code, as far as memberships depend on it."""
    home = Path(soffit.__file__).parent
    files = [file for part in PARTS for file in (home / part, *sorted((home / part).rglob("*.py")))]
    texts = [file.read_bytes() for file in files if file.is_file()]
    return hashlib.sha256(b"".join(texts)).hexdigest()[:12]


def kept(one: CrossSet, what: str, version: str, work: Callable[[], Any]) -> Any:
    """The result of `work` on a set, from the disk if it is there."""
    said = f"{SEED} {RESAMPLES} {one.name} {what}".encode()
    name = hashlib.sha256(said + pickle.dumps(one.data)).hexdigest()[:16]
    file = KEPT / version / f"{name}.pkl"
    if file.exists():
        return pickle.loads(file.read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = work()
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_bytes(pickle.dumps(found))
    part.replace(file)
    return found


@contextmanager
def _sharing(known: dict[bytes, Any]) -> Iterator[None]:
    """Fits inside share the steps on which no constant acts, if their inputs are the same."""

    def shared(step: Callable[..., Any]) -> Callable[..., Any]:
        def found(*inputs: Any, **more: Any) -> Any:
            key = hashlib.sha256(pickle.dumps((step.__name__, inputs, more))).digest()
            if key not in known:
                known[key] = step(*inputs, **more)
            return known[key]

        return found

    with ExitStack() as stack:
        for room, name in SHARED:
            stack.enter_context(patch.object(room, name, shared(getattr(room, name))))
        yield


def gather(one: CrossSet) -> Memberships:
    """All fits of one set."""
    how = {"affinity": "precomputed"} if one.family == "graphs" else {"standardize": False}

    def fit(n_resamples: int = 0) -> Any:
        model = SoftClustering(one.n_clusters, n_resamples=n_resamples, random_state=SEED, **how)
        return model.fit(one.data).memberships_

    def every_setting() -> tuple[dict[str, Any], dict[str, float]]:
        # Compiled code is loaded before anything is timed.
        fit()
        by_setting, seconds = {}, {}
        known: dict[bytes, Any] = {}
        for name, setting in SETTINGS.items():
            with constants(setting), nullcontext() if name == BARE else _sharing(known):
                began = process_time()
                by_setting[name] = fit()
                seconds[name] = process_time() - began
        return by_setting, seconds

    by_setting, seconds = kept(one, f"settings {SETTINGS}", _code(), every_setting)
    by_share, seconds["resampled"] = kept(
        one, f"resampled {SHARES}", _code(), lambda: _resampled(fit)
    )
    mixture = cake = None
    if one.family != "graphs":
        peers = f"scikit-learn {sklearn.__version__}"
        model = GaussianMixture(one.n_clusters, n_init=3, random_state=SEED)
        mixture = kept(one, "mixture", peers, lambda: model.fit(one.data).predict_proba(one.data))
        if _has_cake():
            cake = kept(one, "CAKE", peers, lambda: _cake(one))
    return Memberships(by_setting, by_share, mixture, cake, seconds)


def _mean(rows: Any) -> Any:
    """Means of the columns over what is known; NaN where nothing is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanmean(rows, axis=0)


def _has_cake() -> bool:
    return find_spec("cake_ensemble") is not None


def _cake(one: CrossSet) -> tuple[Any, Any]:
    """Labels of an ensemble of k-means and their confidences."""
    import cake_ensemble

    runs, centers, *_ = cake_ensemble.kmeans_ensemble(one.data, one.n_clusters, random_state=SEED)
    sure, labels, *_ = cake_ensemble.cake_with_consensus(
        one.data, runs, approximation=True, centers_list=centers
    )
    return labels, sure


def _resampled(fit: Callable[[int], Any]) -> tuple[dict[float, Any], float]:
    """The library's resampled memberships, with several weights of the fit to all objects."""
    kept: list[tuple[Any, Any, Any]] = []

    def keep(memberships: Any, parts: Any, **more: Any) -> Any:
        kept.append((memberships, parts, more))
        return combine(memberships, parts, **more)

    found = {}
    with patch.object(resampling, "combine", keep):
        began = process_time()
        found[SHARES[0]] = fit(RESAMPLES)
        seconds = process_time() - began
    memberships, parts, more = kept[0]
    whole = len(found[SHARES[0]]) == len(memberships)
    for share in SHARES[1:]:
        # Equal objects are fitted once; their sets are scored with the library's share only.
        other = combine(memberships, parts, **more, share=share).memberships if whole else None
        found[share] = found[SHARES[0]] if other is None else other
    return found, seconds


def scores(one: CrossSet, memberships: Any) -> list[float]:
    """Scores of one set, as listed in SCORES."""
    scored = _scored(one)
    truth, memberships = one.labels[scored], memberships[scored]
    sure, labels = memberships.max(axis=1), memberships.argmax(axis=1)
    return [
        brier(truth, memberships),
        calibration_error(truth, memberships, n_bins=10),
        log_loss(truth, memberships),
        float(sure.mean()),
        accuracy(truth, labels),
        _auc(truth, memberships, sure),
        adjusted_rand(truth, labels),
    ]


def scores_of_ranking(one: CrossSet, labels: Any, sure: Any) -> list[float]:
    """The same of labels with confidences that are no probabilities, as far as it is defined."""
    scored = _scored(one)
    truth, labels, sure = one.labels[scored], labels[scored], sure[scored]
    rows = np.eye(int(labels.max()) + 1)[labels]
    none = float("nan")
    auc = _auc(truth, rows, sure)
    return [none] * 4 + [accuracy(truth, labels), auc, adjusted_rand(truth, labels)]


def _scored(one: CrossSet) -> Any:
    return slice(None) if one.unscored is None else one.labels != one.unscored


def _auc(truth: Any, memberships: Any, sure: Any) -> float:
    """Area under the ROC curve of the confidence, for objects whose cluster is right or wrong."""
    names, codes = np.unique(truth, return_inverse=True)
    right = align(np.eye(len(names))[codes], memberships).argmax(axis=1) == codes
    mixed = right.any() and not right.all()
    return float(roc_auc_score(right, sure)) if mixed else float("nan")


def cross(names: Sequence[str] | None = None) -> None:
    """Print the cross figures."""
    sets = [one for one in cross_sets() if names is None or one.name in names]
    found = []
    for number, one in enumerate(sets, 1):
        found.append(gather(one))
        print(f"{number} of {len(sets)}: {one.name}", file=sys.stderr, flush=True)
    families = list(dict.fromkeys(one.family for one in sets))
    default = _table(sets, [gathered.by_setting for gathered in found])
    resampled = _table(sets, [gathered.by_share for gathered in found])
    peers = [one.mixture for one in found]
    rows = []
    means: dict[str, list[Any]] = {"default": [], "resampled": [], "mixture": [], "CAKE": []}
    for family in families:
        members = [number for number, one in enumerate(sets) if one.family == family]
        others = [f for f in families if f != family]
        chosen = _best(sets, default, others)
        share = _best(sets, resampled, others)
        line = [f"{family} ({len(members)})"]
        for kind, table in (("default", default[chosen]), ("resampled", resampled[share])):
            mean = _mean([table[number] for number in members])
            means[kind].append(mean)
            line += [f"{mean[0]:.3f}", f"{mean[1]:.3f}"]
        if peers[members[0]] is not None:
            peer = _mean([scores(sets[m], peers[m]) for m in members])
            means["mixture"].append(peer)
            line.append(f"{peer[0]:.3f}")
            if found[members[0]].cake is not None:
                ranked = [scores_of_ranking(sets[m], *found[m].cake) for m in members]
                means["CAKE"].append(_mean(ranked))
        else:
            line.append("-")
        rows.append([*line, chosen, str(share)])
    header = ["family left out (sets)", "Brier", "ECE", "Brier, resampled", "ECE, resampled"]
    print_table([*header, "Brier, GaussianMixture", "chosen", "share"], rows, title="cross figures")
    lines = [
        [kind, *(f"{value:.3f}" for value in _mean(table))]
        for kind, table in means.items()
        if table
    ]
    print_table(["mean over families", *SCORES], lines)
    _print_settings(sets, default, families)
    _print_cost(found)
    single, many = (_mean(means[kind]) for kind in ("default", "resampled"))
    print("\ntargets")
    print_target("ECE, default", float(single[1]), 0.05, at_least=False)
    print_target("ECE, resampled", float(many[1]), 0.04, at_least=False)
    print_target("AUC of confidence, default", float(single[5]), 0.87, at_least=True)
    print_target("AUC of confidence, resampled", float(many[5]), 0.87, at_least=True)
    print_target("Brier, resampled", float(many[0]), round(float(single[0]), 4), at_least=False)
    worse = [
        family
        for family, one, other in zip(families, means["default"], means["resampled"], strict=True)
        if other[0] > one[0] + 0.002
    ]
    print(f"  families where resampling makes the Brier score worse: {', '.join(worse) or 'none'}")


def _table(
    sets: Sequence[CrossSet], found: Sequence[dict[Any, Any]]
) -> dict[Any, list[list[float]]]:
    return {
        key: [scores(one, by[key]) for one, by in zip(sets, found, strict=True)] for key in found[0]
    }


def _best(
    sets: Sequence[CrossSet], table: dict[Any, list[list[float]]], families: Sequence[str]
) -> Any:
    """The setting with the smallest mean Brier score over families, each counted once."""

    def mean(key: Any) -> float:
        return float(np.mean([_family_mean(sets, table[key], family) for family in families]))

    return min(table, key=mean)


def _family_mean(sets: Sequence[CrossSet], rows: list[list[float]], family: str) -> float:
    members = [row[0] for one, row in zip(sets, rows, strict=True) if one.family == family]
    return float(np.mean(members))


def _print_settings(
    sets: Sequence[CrossSet], table: dict[Any, list[list[float]]], families: Sequence[str]
) -> None:
    rows = []
    for name, found in table.items():
        briers = [_family_mean(sets, found, family) for family in families]
        rows.append([name, f"{np.mean(briers):.4f}"])
    print_table(["constants", "mean Brier over families, in sample"], rows)


def _print_cost(found: Sequence[Memberships]) -> None:
    rows = []
    bare = sum(one.seconds[BARE] for one in found)
    for name in ("library", "resampled"):
        rows.append([name, f"{sum(one.seconds[name] for one in found) / bare:.1f}"])
    print_table(["fit", "CPU time, best partition only = 1"], rows)
