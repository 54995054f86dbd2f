"""Partitions of the objects that have any tie; the others say nothing about clusters."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soffit._typing import IntArray, Matrix


def partitions_of_tied(
    A: Matrix, n_clusters: int, find: Callable[[Matrix], list[IntArray]]
) -> list[IntArray]:
    """What `find` makes of the graph of tied objects; the others are dealt out evenly.

    Where there are not more tied objects than clusters, each has one of its own.
    """
    n = A.shape[0]
    tied = np.flatnonzero(np.asarray(A.sum(axis=1)).ravel() > 0)
    dealt: IntArray = np.arange(n) % n_clusters
    if len(tied) <= n_clusters:
        dealt[tied] = np.arange(len(tied))
        return [dealt]
    if len(tied) == n:
        return find(A)
    partitions = []
    for labels in find(A[tied][:, tied]):
        everywhere = dealt.copy()
        everywhere[tied] = labels
        partitions.append(everywhere)
    return partitions
