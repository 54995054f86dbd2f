"""All nine estimators, in every published or fast form, with data that each can read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

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
)
from soffit.datasets import Sample

Array = npt.NDArray[Any]

# Clusterings of pairs: features, similarities, distances or a graph.
FACTORIES: dict[str, Callable[..., Any]] = {
    "SoftClustering": SoftClustering,
    "SoftClustering-single": lambda *a, **k: SoftClustering(*a, scale="single", **k),
    "SoF": SoF,
    "SoF-fit": lambda *a, **k: SoF(*a, scale="fit", **k),
    "SoF-gradient": lambda *a, **k: SoF(*a, solver="gradient", **k),
    "SoF-penalty": lambda *a, **k: SoF(*a, solver="penalty", **k),
    "BaumEagon": BaumEagon,
    "BaumEagon-growth": lambda *a, **k: BaumEagon(*a, solver="growth", **k),
    "CompletelyPositive": CompletelyPositive,
    "CompletelyPositive-additive": lambda *a, **k: CompletelyPositive(
        *a, normalization="additive", **k
    ),
    "RelationFactorization": RelationFactorization,
    "SoftHierarchy": SoftHierarchy,
    "SoftHierarchy-published": lambda *a, **k: SoftHierarchy(*a, refine=False, **k),
    "SpectralClustering": SpectralClustering,
    "SpectralClustering-ncut": lambda *a, **k: SpectralClustering(*a, variant="ncut", **k),
}
# HigherOrder reads points only and measures tuples; these are tuples of round clusters.
TUPLES: dict[str, Callable[..., Any]] = {
    "HigherOrder": lambda *a, **k: HigherOrder(*a, tuple_affinity="point", **k)
}
# RandomWalkClassifier learns classes from y; its clusters are only where the walk goes.
CLASSIFIERS: dict[str, Callable[..., Any]] = {
    "RandomWalkClassifier": lambda _, **k: RandomWalkClassifier(**k),
    "RandomWalkClassifier-clusters": lambda _, **k: RandomWalkClassifier(
        on="clusters", n_clusters=20, **k
    ),
}


@dataclass(frozen=True)
class Case:
    """An estimator in one form: how to make it, and how to fit it to any data."""

    name: str
    create: Callable[..., Any]

    def model(self, n_clusters: int = 3, **options: Any) -> Any:
        """The estimator, not fitted."""
        return self.create(n_clusters, **{"random_state": 29, **options})

    def fit(self, X: Any, y: Array, **options: Any) -> Any:
        """The estimator, fitted to three clusters; only classifiers see y."""
        return self.fit_model(self.model(**options), X, y)

    def fit_model(self, model: Any, X: Any, y: Array) -> Any:
        """Fit a model of this kind."""
        return model.fit(X, y) if self.name in CLASSIFIERS else model.fit(X)


CASES = {name: Case(name, new) for name, new in (FACTORIES | TUPLES | CLASSIFIERS).items()}


def few_labels(sample: Sample) -> Array:
    """The labels of every sixth object; -1 stands for all others."""
    return np.where(np.arange(len(sample.labels)) % 6 == 0, sample.labels, -1)


def probabilities(model: Any) -> Array:
    """What a fit found about its own objects; rows sum to one."""
    if isinstance(model, RandomWalkClassifier):
        return model.label_distributions_
    return model.memberships_


def most_probable(model: Any) -> Array:
    """The cluster or class of each fitted object."""
    return model.transduction_ if isinstance(model, RandomWalkClassifier) else model.labels_


def together(model: Any) -> Array:
    """How likely two objects are in one cluster, which does not depend on the clusters' order."""
    rows = probabilities(model)
    return rows @ rows.T
