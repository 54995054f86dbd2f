"""A start from the best of several spectral partitions of an affinity matrix."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, Matrix
from soffit.affinity._trim import without_diagonal
from soffit.factorize import (
    best_partition,
    labels_start,
    leading_eigenvectors,
    n_fine_vectors,
)
from soffit.models._side_weight import without_negative
from soffit.normalize import normalize


def partition_start(K: Matrix, n_clusters: int) -> FloatArray:
    """Rows close to a partition of the objects that have any tie; the others are dealt out evenly.

    Seeds are fixed: the start depends on the affinities alone.
    """
    A = without_diagonal(without_negative(K))
    labels = np.arange(A.shape[0]) % n_clusters
    tied = np.flatnonzero(np.asarray(A.sum(axis=1)).ravel() > 0)
    if len(tied) >= max(n_clusters, 2):
        if len(tied) < A.shape[0]:
            A = A[tied][:, tied]
        N = normalize(A, "degree").matrix
        n_vectors = n_fine_vectors(len(tied), n_clusters)
        _, V = leading_eigenvectors(N, max(n_vectors, n_clusters), random_state=0)
        labels[tied] = best_partition(A, V, n_clusters, random_state=0)
    return labels_start(labels, n_clusters)
