"""Estimators: each composes affinity, normalization, factorization and memberships."""

from soffit.models._baum_eagon import BaumEagon
from soffit.models._sof import SoF
from soffit.models._soft_clustering import SoftClustering

__all__ = ["BaumEagon", "SoF", "SoftClustering"]
