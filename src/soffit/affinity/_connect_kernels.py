"""Compiled loops over the components of a neighbour graph."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def components_of(n, first, second):
    """Components of a graph, numbered in the order of their first nodes; how many, and whose."""
    parent = np.arange(n).astype(np.int32)
    for e in range(len(first)):
        a, b = _root(parent, first[e]), _root(parent, second[e])
        # The smaller number is the root, so that a root comes before all others.
        if a < b:
            parent[b] = a
        elif b < a:
            parent[a] = b
    count = 0
    for i in range(n):
        if parent[i] == i:
            parent[i] = count
            count += 1
        else:
            parent[i] = parent[parent[i]]
    return count, parent


@njit(cache=True, nogil=True)
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def shortest_link(X, rows, part, chosen, first, last):
    """The shortest link from the objects `rows` to the chosen ones from first to last.

    An object is chosen where `part` says so. Returns the squared distance and both ends; of equal
    links the first one is taken. Distances may be infinite; without any link the ends are n.
    """
    n, d = X.shape
    best, best_i, best_j = np.inf, n, n
    for r in range(len(rows)):
        i = rows[r]
        for j in range(first, last):
            if part[j] != chosen:
                continue
            square = 0.0
            for q in range(d):
                step = np.float64(X[i, q]) - np.float64(X[j, q])
                square += step * step
            if square < best or best_j == n:
                best, best_i, best_j = square, i, j
    return best, best_i, best_j
