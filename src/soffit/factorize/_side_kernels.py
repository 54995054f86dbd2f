"""Compiled loops that bring labels into line with side information. They check nothing."""

from __future__ import annotations

import numpy as np
from numba import njit

_MOST_PASSES = 20


@njit(cache=True, nogil=True)
def assign_groups(order, indptr, indices, data, wish, price, cluster):
    """Give every group of must-linked objects a cluster, in place.

    A group pays `price` for each cannot-link inside its cluster and gains its wish for it, the
    number of its members that were there. Large groups choose first; then all may choose again,
    which lowers the total with every change, until none does.
    """
    k = wish.shape[1]
    cost = np.empty(k)
    cluster[:] = -1
    for _ in range(_MOST_PASSES):
        changed = False
        for g in order:
            for a in range(k):
                cost[a] = -wish[g, a]
            for p in range(indptr[g], indptr[g + 1]):
                other = cluster[indices[p]]
                if other >= 0:
                    cost[other] += price * data[p]
            best = cluster[g]
            for a in range(k):
                if best < 0 or cost[a] < cost[best]:
                    best = a
            if best != cluster[g]:
                cluster[g] = best
                changed = True
        if not changed:
            break
