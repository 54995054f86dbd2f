"""Modes of the density: how deep the valleys are that separate the k most prominent ones."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray
from soffit.affinity import Affinity, NeighborGraph
from soffit.graph import Graph, row_numbers
from soffit.selection.gaussian_clusters import Points
from soffit.selection.path import PartitionPath

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
    """The density at every object, and the dimension of the data around it."""

    logarithm: FloatArray  # (n,): logarithm of the density, up to a constant.
    dimension: float  # How fast the number of neighbours grows with their distance.
    points: Points | None = None  # Where the objects are, if they have coordinates.

    @classmethod
    def of(cls, affinity: Affinity, table: Any = None) -> Density | None:
        r"""From the distances :math:`r` to the neighbours of a graph; None for other affinities.

        The number of objects within r grows as :math:`r^d`, so that the distances to the 7th and
        to the last neighbour tell the dimension d, and :math:`-d \log r` is the logarithm of the
        density. Of few objects the last neighbour may be at the other end of the data: then r is
        the distance to the nearer one.

        `affinity`: fitted.
        `table`: what it was fitted to; needed for the coordinates of objects given by distances.
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

    `A` (n, n): the graph, without diagonal.
    `density`: at its nodes.
    `sizes` (n,): objects per node.
    `most`: smallest modes hold a fifth of an even cluster among this many.
    Returns a link is as dense as the sparser of its ends; or less, if it is weaker than the other
        links of its ends: then hardly any neighbours are shared across it.
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


# The boundary may be moved by this share of the smaller cluster to a better position.
_PLAY = 0.1
# Modes slower than this count as equally slow.
_LEAST_RATE = 1e-4


def diffusion_coordinates(values: FloatArray, V: FloatArray, degrees: FloatArray) -> FloatArray:
    """Coordinates in which distances are commute times of the random walk, leading modes only."""
    rate = np.maximum(1.0 - np.asarray(values[1:], dtype=np.float64), _LEAST_RATE)
    return np.asarray(V[:, 1:] / np.sqrt(rate) / np.sqrt(degrees)[:, None])


def valleys(A: sp.csr_array, values: FloatArray, V: FloatArray, path: PartitionPath) -> FloatArray:
    """The shallowest valley of the path's partitions into 1, 2, ... clusters; 0 for one."""
    degrees = Graph.of(A).degrees()
    coordinates = diffusion_coordinates(values[: path.most + 1], V[:, : path.most + 1], degrees)
    found = np.zeros(path.most)
    links = Links.of(A)
    for k in range(2, path.most + 1):
        labels = np.unique(path.labels(k), return_inverse=True)[1]
        found[k - 1] = shallowest_valley(links, coordinates, labels)
    return found


class Links(NamedTuple):
    """Every link of a graph once: its two ends and its weight."""

    first: IntArray
    second: IntArray
    weight: FloatArray

    @classmethod
    def of(cls, A: sp.csr_array) -> Links:
        """The edges of a graph, each once."""
        rows = row_numbers(A)
        upper = rows < A.indices
        return cls(rows[upper], A.indices[upper], A.data[upper])

    def at(self, order: IntArray) -> Links:
        """The links in this order."""
        return Links(self.first[order], self.second[order], self.weight[order])


def shallowest_valley(links: Links, coordinates: FloatArray, labels: IntArray) -> float:
    r"""The largest ratio of cuts between two linked clusters and inside them.

    The objects of two clusters are sorted along the line between their centres. Cutting this order
    at any position costs some weight; if there is a valley, the cut at the boundary costs less than
    cuts further inside either cluster. The ratio

    .. math:: \frac{c(b)}{\min(\max_{t \le b} c(t), \max_{t \ge b} c(t))}

    is near 0 for clusters that are hardly linked, and 1 if any other position would be as good as
    the boundary. Clusters without any link have a ratio of 0.
    """
    from soffit.selection.kernels import worst_ratio

    k = int(labels.max()) + 1
    # NumPy sorts short integers several times faster.
    labels = labels.astype(np.min_scalar_type(k * k))
    ends = labels[links.first], labels[links.second]
    pair = np.minimum(*ends) * labels.dtype.type(k) + np.maximum(*ends)
    order = np.argsort(pair, kind="stable")
    starts = np.searchsorted(pair[order], np.arange(k * k + 1))
    members = np.argsort(labels, kind="stable")
    sizes = np.bincount(labels)
    ends_of_clusters = np.concatenate([[0], np.cumsum(sizes)])
    ones = np.ones(len(labels), dtype=coordinates.dtype)
    indicator = sp.csr_array((ones, members, ends_of_clusters), shape=(k, len(labels)))
    toward = coordinates @ ((indicator @ coordinates) / sizes[:, None]).T
    return float(worst_ratio(*links.at(order), starts, members, ends_of_clusters, toward, _PLAY))
