"""Normalizations of an affinity matrix: none, degree, Sinkhorn, additive."""

from soffit.normalize._additive import additive
from soffit.normalize._degree import degree
from soffit.normalize._none import unnormalized
from soffit.normalize._registry import NORMALIZATIONS, normalize
from soffit.normalize._result import Normalized
from soffit.normalize._sinkhorn import sinkhorn

__all__ = [
    "NORMALIZATIONS",
    "Normalized",
    "additive",
    "degree",
    "normalize",
    "sinkhorn",
    "unnormalized",
]
