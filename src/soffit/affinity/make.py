"""The affinities by name: the one place where a name becomes an object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.base import clone

from soffit.affinity.abstract import Affinity
from soffit.affinity.neighbor_graph import NeighborGraph
from soffit.affinity.precomputed import CallableAffinity, Precomputed
from soffit.affinity.similarity import Cosine, Gaussian, Laplacian, RelativeDistance
from soffit.neighbors.search import Metric


@dataclass(frozen=True)
class Settings:
    """The constructor parameters of a model that concern affinities."""

    metric: Metric = "euclidean"
    n_neighbors: int = 15
    keep: Literal["mutual", "union"] = "mutual"
    weights: Literal["overlap", "local", "binary"] = "overlap"
    c: float = 1.0
    relative_neighbor: int = 10
    n_jobs: int | None = None


AFFINITIES: dict[str, Callable[[Settings], Affinity]] = {
    "nearest_neighbors": lambda s: NeighborGraph(
        n_neighbors=s.n_neighbors,
        metric=s.metric,
        keep=s.keep,
        weights=s.weights,
        n_jobs=s.n_jobs,
    ),
    "relative": lambda s: RelativeDistance(
        metric=s.metric, c=s.c, neighbor=s.relative_neighbor, n_jobs=s.n_jobs
    ),
    "rbf": lambda s: Gaussian(metric=s.metric, neighbor=s.n_neighbors, n_jobs=s.n_jobs),
    "laplacian": lambda s: Laplacian(metric=s.metric, neighbor=s.n_neighbors, n_jobs=s.n_jobs),
    "cosine": lambda s: Cosine(),
    "precomputed": lambda s: Precomputed(),
}


def make_affinity(affinity: Any, settings: Settings) -> Affinity:
    """An unfitted affinity: by name, from a function of two tables, or a clone."""
    if isinstance(affinity, Affinity):
        fresh: Affinity = clone(affinity)
        return fresh
    if callable(affinity):
        return CallableAffinity(affinity)
    if not isinstance(affinity, str) or affinity not in AFFINITIES:
        raise ValueError(
            f"affinity={affinity!r} is unknown. Choose one of {sorted(AFFINITIES)}, pass a "
            "function of two tables that returns their similarities, or an object of "
            "soffit.affinity."
        )
    return AFFINITIES[affinity](settings)
