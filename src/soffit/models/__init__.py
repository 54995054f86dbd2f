"""Estimators: each composes affinity, normalization, factorization and memberships."""

from soffit.models._baum_eagon import BaumEagon
from soffit.models._completely_positive import CompletelyPositive
from soffit.models._higher_order import HigherOrder
from soffit.models._progress import FitEvent
from soffit.models._random_walk_classifier import RandomWalkClassifier
from soffit.models._relation_factorization import RelationFactorization
from soffit.models._segment import Segmentation, segment
from soffit.models._sof import SoF
from soffit.models._soft_clustering import SoftClustering
from soffit.models._soft_hierarchy import SoftHierarchy
from soffit.models._spectral_clustering import SpectralClustering

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
]
