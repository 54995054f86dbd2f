"""Objects to affinities: dense kernels, relative distances, neighbour graphs, given matrices."""

from soffit._parameters import from_affinity as __getattr__  # noqa: F401
from soffit.affinity.abstract import Affinity
from soffit.affinity.given_objects import AFFINITIES, Settings, Standardizer, make_affinity
from soffit.affinity.neighbor_graph import NeighborGraph
from soffit.affinity.pixels import image_affinity
from soffit.affinity.precomputed import CallableAffinity, Precomputed
from soffit.affinity.side_information import SideInformation
from soffit.affinity.similarity import Cosine, Gaussian, Laplacian, RelativeDistance
from soffit.affinity.walks import FactoredAffinity, walk_affinity

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
    "Standardizer",
    "image_affinity",
    "make_affinity",
    "walk_affinity",
]
