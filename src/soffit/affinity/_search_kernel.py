"""Compiled loops of the neighbour search and of the graph weights."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def nearest_by_rank(ranks, rows, reference, n_neighbors, margin):
    """The `margin` smallest ranks of every row, ranked again by exact distance."""
    m, n = ranks.shape
    d = rows.shape[1]
    indices = np.empty((m, n_neighbors), dtype=np.int64)
    distances = np.empty((m, n_neighbors), dtype=ranks.dtype)
    best = np.empty(margin, dtype=ranks.dtype)
    who = np.empty(margin, dtype=np.int64)
    for i in range(m):
        count = 0
        for j in range(n):
            value = ranks[i, j]
            if count < margin:
                place = count
                count += 1
            elif value < best[margin - 1]:
                place = margin - 1
            else:
                continue
            while place > 0 and best[place - 1] > value:
                best[place] = best[place - 1]
                who[place] = who[place - 1]
                place -= 1
            best[place] = value
            who[place] = j
        for p in range(margin):
            total = 0.0
            for q in range(d):
                difference = np.float64(rows[i, q]) - np.float64(reference[who[p], q])
                total += difference * difference
            best[p] = np.sqrt(total)
        order = np.argsort(best, kind="mergesort")
        for p in range(n_neighbors):
            indices[i, p] = who[order[p]]
            distances[i, p] = best[order[p]]
    return indices, distances


@njit(cache=True, nogil=True)
def shared_neighbors(lists_a, lists_b, first, second):
    """Length of the intersection of two sorted neighbour lists, for every pair of rows."""
    n_pairs = len(first)
    length = lists_a.shape[1]
    count = np.zeros(n_pairs, dtype=np.int64)
    for e in range(n_pairs):
        a, b = 0, 0
        i, j = first[e], second[e]
        while a < length and b < length:
            x, y = lists_a[i, a], lists_b[j, b]
            if x == y:
                count[e] += 1
                a += 1
                b += 1
            elif x < y:
                a += 1
            else:
                b += 1
    return count
