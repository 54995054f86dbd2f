"""Modes of the density: how deep the valleys are that separate the k most prominent ones."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray
from soffit.affinity import Affinity, NeighborGraph
from soffit.graph import Graph
from soffit.selection.gaussian_clusters import Points
from soffit.selection.valleys import Links

# Lazy steps of a random walk that smooth the density over the neighbours.
_SMOOTHING = 2
# A mode holds at least this share of an even cluster, and this many objects.
_LEAST_SHARE = 0.2
_LEAST_OBJECTS = 3
# Below this ratio of their ranks two neighbours are too similar to tell the dimension.
_LEAST_RATIO = 1.4
_MOST_DIMENSIONS = 20.0


@dataclass(frozen=True, eq=False)
class Density:
    """The density at every object, and the dimension of the data around it.

    Parameters
    ----------
    logarithm : ndarray of shape (n,)
        Logarithm of the density, up to a constant.
    dimension : float
        How fast the number of neighbours grows with their distance.
    points : Points, optional
        Where the objects are, if they have coordinates.
    """

    logarithm: FloatArray
    dimension: float
    points: Points | None = None

    @classmethod
    def of(cls, affinity: Affinity, table: Any = None) -> Density | None:
        r"""From the distances :math:`r` to the neighbours of a graph; None for other affinities.

        The number of objects within r grows as :math:`r^d`, so that the distances to the 7th and
        to the last neighbour tell the dimension d, and :math:`-d \log r` is the logarithm of the
        density. Of few objects the last neighbour may be at the other end of the data: then r is
        the distance to the nearer one.

        Parameters
        ----------
        affinity : Affinity
            Fitted.
        table : array, optional
            What it was fitted to; needed for the coordinates of objects given by distances.
        """
        if not isinstance(affinity, NeighborGraph):
            return None
        near, far, rank_near, rank_far = affinity.spacings()
        if rank_far < _LEAST_RATIO * rank_near:
            return None
        radius = near if affinity.is_few else far
        positive = radius[(radius > 0) & np.isfinite(radius)]
        grows = (far > near) & (near > 0) & np.isfinite(far)
        if len(positive) < max(len(far) // 2, 1) or grows.sum() < _LEAST_OBJECTS:
            return None
        growth = float(np.mean(np.log(far[grows] / near[grows])))
        dimension = min(log(rank_far / rank_near) / max(growth, 1e-6), _MOST_DIMENSIONS)
        # Objects whose neighbours are all copies of them are as dense as the densest others.
        radius = np.clip(radius, positive.min(), positive.max()).astype(np.float64)
        return cls(-dimension * np.log(radius), dimension, Points.of(affinity, table))

    def of_nodes(self, objects: IntArray, node: IntArray | None) -> Density:
        """Of some objects, or averaged over those that a coarse node represents."""
        logarithm = self.logarithm[objects]
        if node is not None:
            logarithm = np.bincount(node, weights=logarithm) / np.bincount(node)
        points = None if self.points is None else self.points.of_nodes(objects, node)
        return Density(logarithm, self.dimension, points)


def mode_depths(
    A: sp.csr_array, density: Density, sizes: FloatArray, most: int
) -> tuple[FloatArray, FloatArray]:
    r"""Depths of the valleys around the 2nd, 3rd, ... most prominent mode, descending.

    Links are added from dense to sparse regions; where a link joins two modes, the lower one ends,
    and its depth is the difference of the logarithms of the densities at its top and at the link.
    Noise does not make deep valleys: in one cluster of any shape they stay below a fixed depth.

    Parameters
    ----------
    A : csr_array of shape (n, n)
        The graph, without diagonal.
    density : Density
        At its nodes.
    sizes : array of shape (n,)
        Objects per node.
    most : int
        Smallest modes hold a fifth of an even cluster among this many.

    Returns
    -------
    by_density, by_links : ndarray
        A link is as dense as the sparser of its ends; or less, if it is weaker than the other links
        of its ends: then hardly any neighbours are shared across it.
    """
    from soffit.selection.kernels import depths_of_modes

    degrees = Graph.of(A).degrees()
    step = sp.csr_array(A.multiply(0.5 / degrees[:, None]))
    height = density.logarithm
    for _ in range(_SMOOTHING):
        height = 0.5 * height + step @ height
    links = Links.of(A)
    usual = degrees / np.diff(A.indptr)
    usual = np.sqrt(usual[links.first] * usual[links.second])
    weakness = np.minimum(np.log(np.maximum(links.weight / usual, 1e-12)), 0.0)
    least = max(_LEAST_SHARE * float(sizes.sum()) / most, float(_LEAST_OBJECTS))
    found = []
    for lowered in (0.0, 1.0):
        at = np.minimum(height[links.first], height[links.second]) + lowered * weakness
        order = np.argsort(-at, kind="stable")
        first, second = (np.asarray(end, dtype=np.int64) for end in (links.first, links.second))
        depths = depths_of_modes(first, second, at, order, height, sizes, least)
        found.append(-np.sort(-depths))
    return found[0], found[1]
