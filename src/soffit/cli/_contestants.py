"""The methods that `soffit compare` lets loose on a file, ours and scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from soffit.cli._methods import METHODS, MethodName, Settings, make_model

if TYPE_CHECKING:
    from soffit._typing import FloatArray, IntArray

OURS = "soffit"
THEIRS = "scikit-learn"
# Methods that need the distances of all pairs are not tried on more objects than this.
_MOST_PAIRED = 20_000


@dataclass(frozen=True)
class Contestant:
    """A method: its name, where it comes from, and how its memberships are found."""

    key: str
    name: str
    library: str
    run: Callable[[], FloatArray]


class NotApplicableError(ValueError):
    """Says why a method cannot take part."""


def contestants(source: Any, settings: Settings) -> list[Contestant]:
    """All methods, ours first; those that do not apply say so when they are run."""
    ours = [
        Contestant(name.value, method.model, OURS, _our_run(name, source, settings))
        for name, method in METHODS.items()
    ]
    theirs = [
        Contestant(f"sklearn-{key}", name, THEIRS, _their_run(run, source, settings))
        for key, (name, run) in _THEIRS.items()
    ]
    return ours + theirs


def warm_up(source: Any, settings: Settings, keys: set[str]) -> None:
    """Let the methods load and compile their code, so that the time of a fit is the fit's alone."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(60, 2)) + 8.0 * (np.arange(60) % 2)[:, None]
    data = points
    if source.kind != "table":
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        data = distances if source.kind == "distances" else np.exp(-(distances**2))
    data = data if not _is_sparse(source.data) else type(source.data)(data)
    small = SimpleNamespace(kind=source.kind, data=data.astype(source.data.dtype))
    for contestant in contestants(small, replace(settings, clusters=2, neighbors=None)):
        # Whatever is wrong will be wrong again, and then be reported.
        with suppress(Exception):
            if contestant.key in keys:
                contestant.run()


def _our_run(name: MethodName, source: Any, settings: Settings) -> Callable[[], FloatArray]:
    def run() -> FloatArray:
        if METHODS[name].tables_only and (source.kind != "table" or _is_sparse(source.data)):
            raise NotApplicableError("needs a table of numbers")
        model = make_model(name, settings, source.kind)
        memberships: FloatArray = model.fit(source.data).memberships_
        return memberships

    return run


def _their_run(
    run: Callable[[Any, str, Settings], FloatArray], source: Any, settings: Settings
) -> Callable[[], FloatArray]:
    return lambda: run(source.data, source.kind, settings)


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
KEYS = [*(name.value for name in MethodName), *(f"sklearn-{key}" for key in _THEIRS)]


def _is_sparse(data: Any) -> bool:
    return not isinstance(data, np.ndarray)


def _need(fine: bool, reason: str) -> None:
    if not fine:
        raise NotApplicableError(reason)


def _certain(labels: IntArray) -> FloatArray:
    """Hard labels as memberships of 0 and 1; what HDBSCAN calls noise is a cluster of its own."""
    values, position = np.unique(labels, return_inverse=True)
    return np.asarray(np.eye(len(values))[position])
