"""Partitions of a graph by its leading eigenvectors, where expectation-maximisation begins."""

from __future__ import annotations

from soffit._threads import each
from soffit._typing import IntArray, Matrix
from soffit.factorize._partition import cluster_kmeans, cluster_qr
from soffit.factorize._spectral import leading_eigenvectors
from soffit.normalize import degree


def spectral_partitions(A: Matrix, n_clusters: int, *, n_kmeans: int) -> list[IntArray]:
    """Labels from the eigenvectors by QR, and by so many single runs of k-means."""
    _, V = leading_eigenvectors(degree(A).matrix, n_clusters)
    # Fixed seeds: the spectral starts are the same for every random_state.
    by_kmeans = each(lambda seed: cluster_kmeans(V, random_state=seed, n_init=1), range(n_kmeans))
    return [cluster_qr(V), *by_kmeans]
