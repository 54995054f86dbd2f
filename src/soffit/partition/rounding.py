"""From a spectral embedding to a partition in which no cluster is empty."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.graph import Graph
from soffit.partition.kmeans import kmeans


def round_by_kmeans(
    Y: FloatArray, *, weights: FloatArray | None, random_state: int, n_init: int
) -> IntArray:
    """As many clusters as columns, by k-means on the rows; rows may have weights."""
    return kmeans(Y, Y.shape[1], random_state=random_state, n_init=n_init, weights=weights)


def fill_empty_clusters(labels: IntArray, Y: FloatArray) -> IntArray:
    """Move the object that fits its own cluster least into each empty cluster."""
    k = Y.shape[1]
    labels = np.array(labels, dtype=np.int64)
    for c in np.flatnonzero(np.bincount(labels, minlength=k) == 0):
        sizes = np.bincount(labels, minlength=k)
        centers = np.zeros((k, k))
        np.add.at(centers, labels, Y)
        misfit = np.sum((Y - (centers / np.maximum(sizes, 1)[:, None])[labels]) ** 2, axis=1)
        labels[np.where(sizes[labels] > 1, misfit, -1.0).argmax()] = c
    return labels


def component_numbers(A: Matrix) -> IntArray:
    """The connected component of each object, the same for both storages."""
    return Graph.of(A).components()


def distribute_components(component: IntArray, volume: FloatArray, n_clusters: int) -> IntArray:
    """Assign whole components to clusters, heaviest first, each to the lightest cluster so far."""
    weight = np.bincount(component, weights=volume)
    filled = np.zeros(n_clusters)
    cluster = np.empty(len(weight), dtype=np.int64)
    for c in np.argsort(-weight, kind="stable"):
        cluster[c] = filled.argmin()
        filled[cluster[c]] += weight[c]
    return cluster[component]


def fill_empty_by_size(labels: IntArray, n_clusters: int) -> IntArray:
    """Split the largest cluster for each empty one, if it has more than one object."""
    labels = np.array(labels, dtype=np.int64)
    sizes = np.bincount(labels, minlength=n_clusters)
    for c in np.flatnonzero(sizes == 0):
        members = np.flatnonzero(labels == sizes.argmax())
        if len(members) < 2:
            break
        labels[members[: len(members) // 2]] = c
        sizes = np.bincount(labels, minlength=n_clusters)
    return labels
