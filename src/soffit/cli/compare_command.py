"""`soffit compare`: several methods on the same data."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from soffit._wording import in_words_of_the_command
from soffit.cli.console import Talk, usage_error
from soffit.cli.methods import METHODS, Settings, a, make_model, matrix_parameters
from soffit.cli.options import (
    CLUSTERING,
    MODEL,
    UNWEIGHTED,
    Command,
    InputFile,
    Only,
    Reading,
    Standardization,
    Verbosity,
    names_of,
    option,
    with_option_groups,
)
from soffit.cli.steps import check_number, read_source, with_remarks

if TYPE_CHECKING:
    from soffit._typing import FloatArray, IntArray


OURS = "soffit"
THEIRS = "scikit-learn"
# Methods that need the distances of all pairs are not tried on more objects than this.
_MOST_PAIRED = 20_000


@dataclass(frozen=True)
class Contestant:
    """A method: its name, its library, and the function that computes its memberships."""

    key: str
    name: str
    library: str
    run: Callable[[], FloatArray]


class NotApplicableError(ValueError):
    """Why a method cannot be used on these data."""


def contestants(source: Any, settings: Settings) -> list[Contestant]:
    """All methods, ours first; a method that does not apply raises an error when it runs."""
    ours = [
        Contestant(name, method.name, OURS, _our_run(name, source, settings))
        for name, method in METHODS.items()
    ]
    # All methods see the same table: text and gaps as the coordinates of their distances.
    theirs = [
        Contestant(
            f"sklearn-{key}",
            name,
            THEIRS,
            lambda run=run: run(mixed_points(source), source.kind, settings),  # type: ignore[misc]
        )
        for key, (name, run) in _THEIRS.items()
    ]
    return ours + theirs


def warm_up(source: Any, settings: Settings, keys: set[str]) -> None:
    """Load and compile the code of the methods, so that only the fits are timed."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 2)) + 8.0 * (np.arange(60) % 2)[:, None]
    data = points
    if source.kind != "table":
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        data = distances if source.kind == "distances" else np.exp(-(distances**2))
    data = data if not _is_sparse(source.data) else type(source.data)(data)
    small = SimpleNamespace(
        kind=source.kind, data=data.astype(source.data.dtype), is_mixed=False, categories={}
    )
    for contestant in contestants(small, replace(settings, clusters=2, neighbors=None)):
        # An error will occur again, and be reported then.
        with suppress(Exception):
            if contestant.key in keys:
                contestant.run()


def _our_run(name: str, source: Any, settings: Settings) -> Callable[[], FloatArray]:
    def run() -> FloatArray:
        if METHODS[name].tables_only and (source.kind != "table" or _is_sparse(source.data)):
            raise NotApplicableError("needs a table of numbers")
        if METHODS[name].tables_only and source.is_mixed:
            raise NotApplicableError("needs a table of numbers without gaps")
        # The table is prepared already, for all methods alike.
        model = make_model(name, settings, source.kind, is_mixed=source.is_mixed, standardize=False)
        memberships: FloatArray = model.fit(source if source.is_mixed else source.data).memberships_
        return memberships

    return run


def mixed_points(source: Any) -> Any:
    """The data for methods that read numbers only."""
    if not source.is_mixed:
        return source.data
    from soffit.affinity.mixed_table import MixedPreparation
    from soffit.mixed_columns import MixedTable

    table = MixedTable.of(source)
    preparation = MixedPreparation.of(table.values, table.columns)
    return preparation.distance.embedded(preparation.apply(table.values))


def _spectral(data: Any, kind: str, settings: Settings) -> FloatArray:
    from sklearn.cluster import SpectralClustering

    affinity = {
        "table": "nearest_neighbors",
        "distances": "precomputed_nearest_neighbors",
    }.get(kind, "precomputed")
    model = SpectralClustering(
        settings.clusters,
        affinity=affinity,
        n_neighbors=min(settings.neighbors or 10, data.shape[0] - 1),
        random_state=settings.seed,
        n_jobs=settings.jobs,
    )
    return _certain(model.fit_predict(data))


def _mixture(data: Any, kind: str, settings: Settings) -> FloatArray:
    from sklearn.mixture import GaussianMixture

    _need(kind == "table" and not _is_sparse(data), "needs a table of numbers")
    model = GaussianMixture(settings.clusters, random_state=settings.seed).fit(data)
    memberships: FloatArray = model.predict_proba(data)
    return memberships


def _kmeans(data: Any, kind: str, settings: Settings) -> FloatArray:
    from sklearn.cluster import KMeans

    _need(kind == "table", "needs a table of numbers")
    model = KMeans(settings.clusters, n_init=10, random_state=settings.seed)
    return _certain(model.fit_predict(data))


def _agglomerative(data: Any, kind: str, settings: Settings) -> FloatArray:
    from sklearn.cluster import AgglomerativeClustering

    _need(kind in ("table", "distances"), "needs a table or distances")
    _need(not _is_sparse(data), "needs a full table")
    _need(data.shape[0] <= _MOST_PAIRED, f"needs all pairs of {data.shape[0]} objects")
    how = {} if kind == "table" else {"metric": "precomputed", "linkage": "average"}
    return _certain(AgglomerativeClustering(settings.clusters, **how).fit_predict(data))


def _hdbscan(data: Any, kind: str, settings: Settings) -> FloatArray:
    from sklearn.cluster import HDBSCAN

    _need(kind in ("table", "distances"), "needs a table or distances")
    _need(not _is_sparse(data), "needs a full table")
    metric = "euclidean" if kind == "table" else "precomputed"
    model = HDBSCAN(metric=metric, n_jobs=settings.jobs, copy=True)
    return _certain(model.fit_predict(data))


_THEIRS: dict[str, tuple[str, Callable[[Any, str, Settings], FloatArray]]] = {
    "spectral": ("SpectralClustering", _spectral),
    "mixture": ("GaussianMixture", _mixture),
    "kmeans": ("KMeans", _kmeans),
    "agglomerative": ("AgglomerativeClustering", _agglomerative),
    "hdbscan": ("HDBSCAN", _hdbscan),
}
KEYS = [*METHODS, *(f"sklearn-{key}" for key in _THEIRS)]


def _is_sparse(data: Any) -> bool:
    return not isinstance(data, np.ndarray)


def _need(fine: bool, reason: str) -> None:
    if not fine:
        raise NotApplicableError(reason)


def _certain(labels: IntArray) -> FloatArray:
    """Hard labels as memberships of 0 and 1; the noise of HDBSCAN is one cluster."""
    values, position = np.unique(labels, return_inverse=True)
    return np.asarray(np.eye(len(values))[position])


OnlyOption = Annotated[
    list[str] | None,
    option("--only A,B,C", MODEL, f"Compare these methods only: {', '.join(KEYS)}."),
]


@dataclass(frozen=True, eq=False)
class Outcome:
    """The result of a method, or why it has none."""

    contestant: Contestant
    seconds: float = 0.0
    memberships: FloatArray | None = None
    reason: str = ""


@with_option_groups
def compare(
    file: InputFile,
    *,
    settings: Annotated[
        Settings, Only(("clusters", "max_clusters", "neighbors", "standardize", "seed", "jobs"))
    ],
    only: OnlyOption = None,
    reading: Annotated[Reading, UNWEIGHTED],
    verbosity: Verbosity,
) -> None:
    """Compare all models of soffit and five of scikit-learn on one file.

    With --label the table shows how accurate each one is (accuracy, ARI, NMI), how well its
    memberships are calibrated (Brier, ECE) and how long it took, best first. Without labels it
    shows how well the methods agree with each other. All methods use their default settings, and
    all get the same table: its columns are standardized for all of them or for none.
    """
    wanted = _wanted(only)
    talk = verbosity.talk()
    source = read_source(talk, file, reading)
    source, is_standardized = _prepared(talk, source, settings.standardize.value)
    if settings.clusters is None:
        settings = replace(settings, clusters=_choose(talk, source, settings))
    check_number(settings.clusters, source.data.shape[0])
    # What they say has been done, for all methods alike.
    settings = replace(settings, max_clusters=None, standardize=Standardization.auto)
    with talk.working("Compiling"):
        with_remarks(lambda: warm_up(source, settings, wanted))
    taking_part = [c for c in contestants(source, settings) if c.key in wanted]
    outcomes = [_try(talk, c, n, len(taking_part)) for n, c in enumerate(taking_part, start=1)]
    rows = _scored(outcomes, source.truth)
    _show(talk, rows, [o for o in outcomes if o.memberships is None], reading.label)
    talk.emit(
        {
            "command": "compare",
            "input": str(file),
            "n_objects": source.data.shape[0],
            "n_clusters": settings.clusters,
            "standardized": is_standardized,
            "methods": rows,
            "left_out": {_name(o.contestant): o.reason for o in outcomes if o.reason},
            "notes": source.notes,
        }
    )


def _wanted(only: list[str] | None) -> set[str]:
    names = names_of(only) or KEYS
    unknown = [name for name in names if name not in KEYS]
    if unknown:
        raise usage_error(
            f"{unknown[0]!r} is not a method. Choose among {', '.join(KEYS)}.", "--only"
        )
    return set(names)


def _prepared(talk: Talk, source: Any, how: str) -> tuple[Any, bool | None]:
    """The data that all methods get, and whether their columns were standardized."""
    from soffit.affinity import Standardizer

    if source.kind != "table":
        if how != "auto":
            raise ValueError(
                f"--standardize needs a table, but the file holds {a(source.kind)}. Omit it."
            )
        return source, None
    if source.is_mixed or _is_sparse(source.data):
        return source, None
    wanted: Any = {"auto": "auto", "yes": True, "no": False}[how]
    preparation = Standardizer.of(source.data, wanted)
    yes = preparation.is_active
    other = "no" if yes else "yes"
    hint = f" (--standardize {other} {'keeps' if yes else 'standardizes'} them)"
    talk.note(
        f"All methods get the same table: its columns were {'' if yes else 'not '}standardized"
        f"{hint if how == 'auto' else ''}."
    )
    return replace(source, data=preparation.apply(source.data)), yes


def _choose(talk: Talk, source: Any, settings: Settings) -> int:
    from soffit.selection import choose_k

    given: dict[str, Any] = dict(matrix_parameters(source.kind, is_mixed=source.is_mixed))
    data = source if source.is_mixed else source.data
    if settings.neighbors is not None:
        given["n_neighbors"] = settings.neighbors
    given["max_clusters"] = settings.max_clusters
    with talk.working("Choosing the number of clusters"):
        choice, _ = with_remarks(
            lambda: choose_k(data, n_jobs=settings.jobs or -1, standardize=False, **given)
        )
    talk.note(
        f"All methods use {choice.n_clusters} clusters, chosen with confidence "
        f"{choice.confidence:.2f}. Set the number with -k."
    )
    return int(choice.n_clusters)


def _try(talk: Talk, contestant: Contestant, number: int, count: int) -> Outcome:
    """Run a method; an error is the reason to skip it."""
    begin = time.perf_counter()
    try:
        with talk.working(f"{_name(contestant)} ({number} of {count})"):
            memberships, _ = with_remarks(contestant.run)
    except MemoryError as error:
        return Outcome(contestant, reason=_first_sentence(error) or "not enough memory")
    except (ValueError, TypeError, ArithmeticError) as error:
        return Outcome(contestant, reason=_first_sentence(error) or "it failed")
    return Outcome(contestant, time.perf_counter() - begin, memberships)


def _scored(outcomes: list[Outcome], truth: Any) -> list[dict[str, Any]]:
    """One row per method, best first."""
    from soffit.results.summary import Summary

    done = [outcome for outcome in outcomes if outcome.memberships is not None]
    found = [outcome.memberships for outcome in done if outcome.memberships is not None]
    agreement = _agreement([memberships.argmax(axis=1) for memberships in found])
    rows = []
    for place, (outcome, memberships) in enumerate(zip(done, found, strict=True)):
        summary = Summary.of(memberships, truth=truth)
        sizes = summary.sizes
        row: dict[str, Any] = {
            "method": outcome.contestant.name,
            "library": outcome.contestant.library,
        }
        row |= summary.scores or {}
        row |= {
            "n_clusters": int(np.count_nonzero(sizes)),
            "largest": int(sizes.max()),
            "smallest": int(sizes[sizes > 0].min()),
            "certainty": float(summary.certainty.mean()),
            "agreement": agreement[place],
            "seconds": round(outcome.seconds, 3),
        }
        rows.append(row)
    return sorted(rows, key=lambda row: -row.get("adjusted_rand", row["agreement"]))


def _agreement(labels: list[Any]) -> list[float]:
    """Mean adjusted Rand index of each partition with the others."""
    from soffit.metrics import adjusted_rand

    n = len(labels)
    table = np.zeros((n, n))
    for i in range(n):
        for j in range(i):
            table[i, j] = table[j, i] = adjusted_rand(labels[i], labels[j])
    return [float(mean) for mean in table.sum(axis=1) / max(n - 1, 1)]


def _show(
    talk: Talk, rows: list[dict[str, Any]], missing: list[Outcome], label: str | None
) -> None:
    from soffit.results.summary import SCORES

    scored = any("accuracy" in row for row in rows)
    shown = [*SCORES] if scored else ["agreement", "certainty", "largest", "smallest"]
    heads = [SCORES[name].short if name in SCORES else name for name in shown]
    cells = [
        [_cell(row[name]) for name in shown]
        + [str(row["n_clusters"]), f"{row['seconds']:.2f}", f"{row['library']} {row['method']}"]
        for row in rows
    ]
    talk.table([*heads, "clusters", "seconds", "method"], cells)
    for outcome in missing:
        talk.say(f"{_name(outcome.contestant)} was skipped: {outcome.reason}.")
    talk.say()
    if scored:
        talk.say(
            f"The column {label!r} was used for the scores only. Accuracy, ARI and NMI are best at "
            "1, Brier and ECE at 0. Methods without probabilities are scored as certain."
        )
    else:
        talk.say(
            "Agreement is the mean adjusted Rand index with the other methods: 1 if all find the "
            "same clusters, 0 if they have nothing in common. High agreement does not mean that a "
            "result is correct."
        )


def _cell(value: Any) -> str:
    return str(value) if isinstance(value, int) else f"{value:.3f}"


def _name(contestant: Contestant) -> str:
    return f"{contestant.library} {contestant.name}"


def _first_sentence(error: Exception) -> str:
    line = " ".join(in_words_of_the_command(error).split())
    return line.partition(". ")[0].rstrip(".")


COMPARE = Command(
    "compare",
    compare,
    (
        "soffit compare flowers.csv -k 3 --label species",
        "soffit compare distances.csv --kind distances --only soft,sklearn-spectral",
    ),
    CLUSTERING,
)
