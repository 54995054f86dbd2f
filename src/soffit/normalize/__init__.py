"""Normalizations of an affinity matrix: none, degree, Sinkhorn, additive."""

from soffit.normalize.additive import additive, additive_observed
from soffit.normalize.degree import degree
from soffit.normalize.registry import NORMALIZATIONS, normalize
from soffit.normalize.result import Normalized, unnormalized
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
