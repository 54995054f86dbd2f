"""Soft clusters from similarities: for every object the probability of each cluster."""

from soffit import affinity, datasets, factorize, memberships, metrics, normalize
from soffit._version import __version__
from soffit.models import BaumEagon, SoF, SoftClustering

__all__ = [
    "BaumEagon",
    "SoF",
    "SoftClustering",
    "__version__",
    "affinity",
    "datasets",
    "factorize",
    "memberships",
    "metrics",
    "normalize",
]
