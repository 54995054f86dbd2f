"""Objects to affinities: dense kernels, relative distances, neighbour graphs, given matrices."""

from soffit.affinity._base import Affinity
from soffit.affinity._callable import CallableAffinity
from soffit.affinity._factored import FactoredAffinity
from soffit.affinity._graph import NeighborGraph
from soffit.affinity._kernels import Cosine, Gaussian, Laplacian
from soffit.affinity._pixels import image_affinity
from soffit.affinity._precomputed import Precomputed
from soffit.affinity._random_walk import random_walk
from soffit.affinity._registry import AFFINITIES, Settings, make_affinity
from soffit.affinity._relative import RelativeDistance
from soffit.affinity._side import SideInformation

__all__ = [
    "AFFINITIES",
    "Affinity",
    "CallableAffinity",
    "Cosine",
    "FactoredAffinity",
    "Gaussian",
    "Laplacian",
    "NeighborGraph",
    "Precomputed",
    "RelativeDistance",
    "Settings",
    "SideInformation",
    "image_affinity",
    "make_affinity",
    "random_walk",
]
