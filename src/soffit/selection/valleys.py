"""Whether there is a valley between two clusters, or the boundary cuts through one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray
from soffit.graph import Graph, row_numbers
from soffit.selection.path import PartitionPath

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
