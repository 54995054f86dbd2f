"""Normalizations of an affinity matrix: none, degree, Sinkhorn, additive."""

from soffit.normalize._additive import additive
from soffit.normalize._additive_observed import additive_observed
from soffit.normalize._degree import degree
from soffit.normalize._none import unnormalized
from soffit.normalize._registry import NORMALIZATIONS, normalize
from soffit.normalize._result import Normalized
from soffit.normalize._sinkhorn import sinkhorn
from soffit.normalize._sinkhorn_observed import sinkhorn_observed

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
