"""Soft clusters from similarities: for every object the probability of each cluster."""

from soffit._lazy import __dir__ as __dir__
from soffit._lazy import __getattr__ as __getattr__
from soffit._version import __version__

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
    "figures",
    "io",
    "load",
    "memberships",
    "metrics",
    "normalize",
    "persistence",
    "report",
    "save",
    "segment",
    "selection",
    "suggest_pairs",
]
