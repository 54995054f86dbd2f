"""Soft clusters from similarities: for every object the probability of each cluster."""

from soffit import affinity, datasets, factorize, memberships, metrics, normalize, selection
from soffit._version import __version__
from soffit.models import (
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
from soffit.selection import suggest_pairs

__all__ = [
    "BaumEagon",
    "CompletelyPositive",
    "HigherOrder",
    "RandomWalkClassifier",
    "RelationFactorization",
    "SoF",
    "SoftClustering",
    "SoftHierarchy",
    "SpectralClustering",
    "__version__",
    "affinity",
    "datasets",
    "factorize",
    "memberships",
    "metrics",
    "normalize",
    "segment",
    "selection",
    "suggest_pairs",
]
