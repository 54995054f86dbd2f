"""The neighbour graph: who is near whom, how strongly, and links that keep it in one piece."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray
from soffit.affinity._base import Affinity
from soffit.affinity._connect import connecting_links
from soffit.affinity._search import Metric, nearest_neighbors, neighbors_of

if TYPE_CHECKING:
    from typing_extensions import Self

# Zelnik-Manor & Perona's neighbour for the local scale.
_SCALE_NEIGHBOR = 7
_LINK_WEIGHT = 0.3


@dataclass
class NeighborGraph(Affinity):
    r"""Nearest-neighbour graph with local weights, sparse at any size.

    Parameters
    ----------
    n_neighbors : int
        Neighbours of each object.
    metric : str or callable
        Any metric that scikit-learn knows, or "precomputed" for distances.
    keep : {"mutual", "union"}
        Keep an edge when both ends list each other, or when one does.
    weights : {"overlap", "local", "binary"}
        Jaccard overlap of the two neighbour lists, :math:`|L_i \cap L_j| / |L_i \cup L_j|`;
        :math:`\exp(-d_{ij}^2/\sigma_i\sigma_j)` with the distance to the 7th neighbour as scale;
        or one.
    connect : bool
        Join separate components by their shortest links, which count like ordinary edges
        (weight 0.3 at least), so that a stray object does not pass for a cluster.
    n_jobs : int, optional
        Threads of the search.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import NeighborGraph
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> graph = NeighborGraph(n_neighbors=2, weights="binary", connect=False).fit(X)
    >>> graph.matrix_.toarray()[0]
    array([0., 1., 1., 0., 0., 0.])
    """

    n_neighbors: int = 15
    metric: Metric = "euclidean"
    keep: Literal["mutual", "union"] = "mutual"
    weights: Literal["overlap", "local", "binary"] = "overlap"
    connect: bool = True
    n_jobs: int | None = None

    def fit(self, X: Any) -> Self:
        """Search the neighbours of all objects and build the weighted graph."""
        _check_choice("keep", self.keep, ("mutual", "union"))
        _check_choice("weights", self.weights, ("overlap", "local", "binary"))
        if self.metric == "precomputed":
            from soffit.affinity._distances import distances

            X = distances(X, metric="precomputed")
        n = X.shape[0]
        if n == 1:
            lists: IntArray = np.zeros((1, 0), dtype=np.int64)
            values: FloatArray = np.zeros((1, 0), dtype=X.dtype)
            self.matrix_ = sp.csr_array((1, 1), dtype=X.dtype)
        else:
            lists, values = nearest_neighbors(
                X, min(self.n_neighbors, n - 1), metric=self.metric, n_jobs=self.n_jobs
            )
        self._members = _sorted_members(lists)
        self._radius = values[:, -1] if lists.shape[1] else np.full(n, np.inf, dtype=X.dtype)
        self._local_scale = _local_scale(values)
        self._X = None if self.metric == "precomputed" else X
        if n > 1:
            self.matrix_ = self._build(X, lists, values)
        return self

    def cross(self, X: Any) -> sp.csr_array:
        """Weights from new objects to the fitted ones they would be joined with.

        A new object keeps the neighbours within whose own reach it lies (``keep="mutual"``), and
        in any case the nearest one.
        """
        n = len(self._members)
        if self.metric == "precomputed":
            from soffit.affinity._distances import distances

            X = distances(X, np.empty((n, 0)), metric="precomputed")
        length = max(self._members.shape[1], 1)
        lists, values = neighbors_of(
            X, X if self._X is None else self._X, length, metric=self.metric, n_jobs=self.n_jobs
        )
        known = lists >= 0
        reached = values <= self._radius[np.where(known, lists, 0)]
        kept = known & (reached if self.keep == "mutual" else True)
        kept[:, 0] = known[:, 0]
        row, place = np.nonzero(kept)
        column, distance = lists[row, place], values[row, place]
        scale = _local_scale(values)
        weight = self._weigh(_sorted_members(lists, first=n), scale, row, column, distance)
        shape = (lists.shape[0], n)
        return sp.csr_array((weight.astype(values.dtype), (row, column)), shape=shape)

    def _build(self, X: Any, lists: IntArray, values: FloatArray) -> sp.csr_array:
        n = len(lists)
        first, second, distance, mutual = _unordered_pairs(lists, values)
        candidates = (first, second, distance)
        if self.keep == "mutual":
            first, second, distance = first[mutual], second[mutual], distance[mutual]
        if self.connect:
            links = connecting_links(
                X, (first, second), candidates, self._radius, metric=self.metric, n_jobs=self.n_jobs
            )
            first = np.concatenate([first, links[0]])
            second = np.concatenate([second, links[1]])
            distance = np.concatenate([distance, links[2]])
        weight = self._weigh(self._members, self._local_scale, first, second, distance)
        if self.connect:
            joining = slice(len(first) - len(links[0]), None)
            weight[joining] = np.maximum(weight[joining], _LINK_WEIGHT)
        edges = sp.coo_array((weight.astype(values.dtype), (first, second)), shape=(n, n)).tocsr()
        matrix = sp.csr_array(edges + edges.T)
        matrix.sort_indices()
        return matrix

    def _weigh(
        self,
        members: IntArray,
        scale: FloatArray,
        row: IntArray,
        column: IntArray,
        distance: FloatArray,
    ) -> FloatArray:
        """Weights of edges from objects with these lists and scales to fitted objects."""
        if self.weights == "overlap":
            return _overlap(members, self._members, row, column)
        if self.weights == "local":
            return _locally_scaled(distance, scale[row], self._local_scale[column])
        return np.ones(len(row))


def _unordered_pairs(
    lists: IntArray, values: FloatArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray]:
    """Each listed pair once (smaller number first), its distance, and whether both list it."""
    n, length = lists.shape
    row, column = np.repeat(np.arange(n), length), lists.ravel()
    known = column >= 0
    row, column = row[known], column[known]
    key = np.minimum(row, column) * np.int64(n) + np.maximum(row, column)
    pairs, place, count = np.unique(key, return_index=True, return_counts=True)
    return pairs // n, pairs % n, values.ravel()[known][place], count == 2


def _sorted_members(lists: IntArray, first: int = 0) -> IntArray:
    """Lists in ascending order; unknown members get numbers that no other list has.

    The objects are numbered from `first` on.
    """
    nobody = -1 - first - np.arange(len(lists))[:, None]
    return np.sort(np.where(lists >= 0, lists, nobody), axis=1)


def _overlap(own: IntArray, other: IntArray, row: IntArray, column: IntArray) -> FloatArray:
    """Jaccard overlap of neighbour lists; none at all counts as half a member, to keep the edge."""
    from soffit.affinity._search_kernel import shared_neighbors

    shared = np.maximum(shared_neighbors(own, other, row, column), 0.5)
    return np.asarray(shared / (own.shape[1] + other.shape[1] - shared))


def _local_scale(values: FloatArray) -> FloatArray:
    """Distance to the 7th neighbour; the smallest positive one where copies make that zero."""
    if values.shape[1] == 0:
        return np.ones(len(values), dtype=values.dtype)
    scale = values[:, min(_SCALE_NEIGHBOR, values.shape[1]) - 1]
    positive = np.where((values > 0) & np.isfinite(values), values, np.inf).min(axis=1)
    scale = np.where((scale > 0) & np.isfinite(scale), scale, positive)
    return np.where(np.isfinite(scale), scale, 1.0).astype(values.dtype)


def _locally_scaled(distance: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    # In float64, and without the product of two scales, nothing under- or overflows.
    distance = distance.astype(np.float64)
    # The floor keeps an edge in the graph however long it is.
    return np.maximum(np.exp(-(distance / a) * (distance / b)), 1e-6)


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name} must be one of {list(choices)}, got {value!r}.")
