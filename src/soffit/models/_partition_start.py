"""A start from the best of several spectral partitions of an affinity matrix."""

from __future__ import annotations

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity._trim import without_diagonal
from soffit.factorize import graph_partition, labels_start
from soffit.factorize._tied import partitions_of_tied
from soffit.models._side_weight import without_negative
from soffit.normalize import normalize


def partition_start(K: Matrix, n_clusters: int) -> FloatArray:
    """Rows close to a partition of the objects that have any tie; the others are dealt out evenly.

    Seeds are fixed: the start depends on the affinities alone.
    """

    def find(A: Matrix) -> list[IntArray]:
        return [graph_partition(A, normalize(A, "degree").matrix, n_clusters).labels]

    A = without_diagonal(without_negative(K))
    (labels,) = partitions_of_tied(A, n_clusters, find)
    return labels_start(labels, n_clusters)
