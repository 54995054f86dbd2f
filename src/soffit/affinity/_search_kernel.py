"""Compiled loops of the neighbour search and of the graph weights."""

from __future__ import annotations

import numpy as np
from numba import njit

# Ranks are looked at in groups of so many: most groups hold nothing near.
_GROUP = 16


@njit(cache=True, nogil=True)
def nearest_by_rank(ranks, reach, rows, reference, n_neighbors, margin):
    """The nearest rows of `reference`, sorted by distance, equal distances by index.

    A rank is half a squared distance, up to a constant of its row and up to rounding. The `margin`
    smallest ranks bound the distance to the last neighbour; whoever else may lie within this bound
    (`reach` is the rounding less the row's constant) is compared by exact distance, too.
    """
    m, n = ranks.shape
    indices = np.empty((m, n_neighbors), dtype=np.int64)
    distances = np.empty((m, n_neighbors), dtype=rows.dtype)
    lowest = np.empty(margin, dtype=ranks.dtype)
    candidates = np.empty(margin, dtype=np.int64)
    best = np.empty(n_neighbors)
    who = np.empty(n_neighbors, dtype=np.int64)
    for i in range(m):
        lowest[:] = np.inf
        whole = n // _GROUP * _GROUP
        for first in range(0, whole, _GROUP):
            n_low = np.int32(0)
            for b in range(_GROUP):
                n_low += np.int32(ranks[i, first + b] < lowest[-1])
            if n_low > 0:
                _keep_lowest(ranks[i], first, first + _GROUP, lowest, candidates)
        _keep_lowest(ranks[i], whole, n, lowest, candidates)
        limit = np.inf
        # Ranks that overflowed are not numbers: the list is not full, and nobody is ruled out.
        if lowest[-1] < np.inf:
            _keep_nearest(best, who, candidates, rows[i], reference)
            limit = 0.5 * best[-1] + reach[i]
        if not lowest[-1] > limit:
            _keep_nearest(best, who, np.flatnonzero(~(ranks[i] > limit)), rows[i], reference)
        indices[i] = who
        distances[i] = np.sqrt(best)
    return indices, distances


@njit(cache=True, nogil=True)
def _keep_lowest(ranks, first, last, lowest, candidates):
    for j in range(first, last):
        if ranks[j] < lowest[-1]:
            insert_sorted(lowest, candidates, ranks[j], j)


@njit(cache=True, nogil=True)
def _keep_nearest(best, who, candidates, x, reference):
    """Fill `best` and `who` with the nearest of the candidates and their squared distances."""
    best[:] = np.inf
    for j in np.sort(candidates):
        square = 0.0
        for q in range(len(x)):
            difference = np.float64(x[q]) - np.float64(reference[j, q])
            square += difference * difference
        if square < best[-1]:
            insert_sorted(best, who, square, j)


@njit(cache=True, nogil=True)
def insert_sorted(best, who, value, j):
    """Put j into the sorted list of the smallest values, behind its equals; the last one falls."""
    place = len(best) - 1
    while place > 0 and best[place - 1] > value:
        best[place] = best[place - 1]
        who[place] = who[place - 1]
        place -= 1
    best[place] = value
    who[place] = j


@njit(cache=True, nogil=True)
def shared_neighbors(lists_a, lists_b, first, second):
    """Length of the intersection of two sorted neighbour lists, for every pair of rows."""
    n_pairs = len(first)
    length_a, length_b = lists_a.shape[1], lists_b.shape[1]
    count = np.zeros(n_pairs, dtype=np.int64)
    for e in range(n_pairs):
        a, b = 0, 0
        i, j = first[e], second[e]
        while a < length_a and b < length_b:
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


@njit(cache=True, nogil=True)
def _lists(members, i, j):
    """Whether the sorted list of i contains j."""
    low, high = 0, members.shape[1]
    while low < high:
        middle = (low + high) // 2
        if members[i, middle] < j:
            low = middle + 1
        else:
            high = middle
    return low < members.shape[1] and members[i, low] == j


@njit(cache=True, nogil=True)
def edges_of_lists(lists, members, first, last, mutual):
    """Each edge of the objects first to last once: an object and a place in its list.

    An edge that both ends list belongs to the smaller number; others are left out if `mutual`.
    `members` holds the lists in ascending order.
    """
    length = lists.shape[1]
    owner = np.empty((last - first) * length, dtype=np.int32)
    place = np.empty((last - first) * length, dtype=np.int32)
    count = 0
    for i in range(first, last):
        for t in range(length):
            j = lists[i, t]
            if j < 0 or (mutual and j < i):
                continue
            both = _lists(members, j, i)
            if (both and i < j) or not (both or mutual):
                owner[count] = i
                place[count] = t
                count += 1
    return owner[:count].copy(), place[:count].copy()
