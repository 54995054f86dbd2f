"""Compiled loop that pairs the nodes of a graph."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def pair_nodes(indptr, indices, data, inverse):
    """Pair each node, in order, with its strongest neighbour that is still free.

    The strength is the weight times `inverse` of the neighbour. Returns the number of the pair (or
    single node) of each node, and how many there are.
    """
    n = len(indptr) - 1
    group = np.full(n, -1, dtype=np.int32)
    count = 0
    for i in range(n):
        if group[i] >= 0:
            continue
        best, partner = 0.0, -1
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j != i and group[j] < 0 and data[p] * inverse[j] > best:
                best, partner = data[p] * inverse[j], j
        group[i] = count
        if partner >= 0:
            group[partner] = count
        count += 1
    return group, count
