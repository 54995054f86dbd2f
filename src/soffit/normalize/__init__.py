"""Normalizations of an affinity matrix: none, degree, Sinkhorn, additive."""

from soffit.normalize.additive import additive, additive_observed
from soffit.normalize.normalized import Normalized, degree, unnormalized
from soffit.normalize.registry import NORMALIZATIONS, normalize
from soffit.normalize.sinkhorn import sinkhorn, sinkhorn_observed

__all__ = [
    "NORMALIZATIONS",
    "Normalized",
    "additive",
    "additive_observed",
    "degree",
    "normalize",
    "sinkhorn",
    "sinkhorn_observed",
    "unnormalized",
]
