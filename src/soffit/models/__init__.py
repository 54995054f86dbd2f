"""Estimators: each composes affinity, normalization, factorization and memberships."""

from soffit.fitting.monitor import FitEvent
from soffit.models.baum_eagon import BaumEagon
from soffit.models.completely_positive import CompletelyPositive
from soffit.models.higher_order import HigherOrder
from soffit.models.random_walk_classifier import RandomWalkClassifier
from soffit.models.relation_factorization import RelationFactorization
from soffit.models.segmentation import Segmentation, segment
from soffit.models.sof import SoF
from soffit.models.soft_clustering import SoftClustering
from soffit.models.soft_hierarchy import SoftHierarchy
from soffit.models.spectral_clustering import SpectralClustering
from soffit.models.warmup import warmup

__all__ = [
    "BaumEagon",
    "CompletelyPositive",
    "FitEvent",
    "HigherOrder",
    "RandomWalkClassifier",
    "RelationFactorization",
    "Segmentation",
    "SoF",
    "SoftClustering",
    "SoftHierarchy",
    "SpectralClustering",
    "segment",
    "warmup",
]
