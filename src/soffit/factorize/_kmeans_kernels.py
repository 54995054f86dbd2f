"""Compiled loops of k-means on few columns; they check nothing and use one thread.

Tables are stored column by column: loops over rows become vector instructions.
"""

from __future__ import annotations

import numpy as np
from numba import njit

# Rows handled at a time: their copies and results stay in the fastest cache.
_BLOCK = 256
# Sums in any order.
_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
def squares_with(columns, candidate, closest, squares):
    """Squared distance of each row to the nearest centre, if the candidate were one.

    `closest` are these distances without it. Returns their sum.
    """
    d, n = columns.shape
    total = 0.0
    for first in range(0, n, _BLOCK):
        last = min(first + _BLOCK, n)
        part, before = squares[first:last], closest[first:last]
        part[:] = 0.0
        for q in range(d):
            row, y = columns[q][first:last], columns[q, candidate]
            for b in range(last - first):
                step = row[b] - y
                part[b] += step * step
        for b in range(last - first):
            part[b] = min(part[b], before[b])
            total += part[b]
    return total


@njit(cache=True, nogil=True)
def lloyd(columns, lengths, centers, least_shift, most_steps):
    """Labels after rows and centres have been fitted to one another in turn, and the inertia.

    `lengths` are the squared lengths of the rows. Ends when no label changes, or when all centres
    together move by `least_shift` (squared) at most.
    """
    n = columns.shape[1]
    labels = np.full(n, -1, dtype=np.int64)
    ranks = np.empty(n, dtype=columns.dtype)
    for _ in range(most_steps):
        n_changed = _nearest(columns, centers, labels, ranks)
        if n_changed == 0:
            return labels, np.sum(lengths) + 2.0 * np.sum(ranks)
        moved = _means(columns, lengths, centers, labels, ranks)
        shift = np.sum((moved - centers) ** 2)
        centers = moved
        if shift <= least_shift:
            break
    _nearest(columns, centers, labels, ranks)
    return labels, np.sum(lengths) + 2.0 * np.sum(ranks)


@njit(cache=True, nogil=True, fastmath=_FAST)
def _nearest(columns, centers, labels, ranks):
    """Give every row its nearest centre; returns how many change.

    A rank is half the squared distance without the length of the row.
    """
    d, n = columns.shape
    halves = np.zeros(len(centers), dtype=columns.dtype)
    for c in range(len(centers)):
        for q in range(d):
            halves[c] += centers[c, q] * centers[c, q] / 2
    rank = np.empty(_BLOCK, dtype=columns.dtype)
    least = np.empty(_BLOCK, dtype=columns.dtype)
    best = np.empty(_BLOCK, dtype=np.int32)
    n_changed = 0
    for first in range(0, n, _BLOCK):
        size = min(_BLOCK, n - first)
        least[:] = np.inf
        best[:] = 0
        for c in range(len(centers)):
            rank[:] = halves[c]
            for q in range(d):
                row, y = columns[q][first : first + size], centers[c, q]
                for b in range(size):
                    rank[b] -= row[b] * y
            for b in range(size):
                nearer = rank[b] < least[b]
                least[b] = rank[b] if nearer else least[b]
                best[b] = np.int32(c) if nearer else best[b]
        for b in range(size):
            n_changed += labels[first + b] != best[b]
            labels[first + b] = best[b]
            ranks[first + b] = least[b]
    return n_changed


@njit(cache=True, nogil=True)
def _means(columns, lengths, centers, labels, ranks):
    """Means of the rows of each centre; one without any gets the row farthest from its own."""
    k, d = centers.shape
    sums = np.zeros((k, d))
    counts = np.zeros(k, dtype=np.int64)
    for i in range(len(labels)):
        counts[labels[i]] += 1
    for q in range(d):
        row = columns[q]
        for i in range(len(labels)):
            sums[labels[i], q] += row[i]
    empty = np.flatnonzero(counts == 0)
    if len(empty) > 0:
        squares = lengths + 2 * ranks
        for c in empty:
            far = squares.argmax()
            squares[far] = -np.inf
            counts[labels[far]] -= 1
            sums[labels[far]] -= columns[:, far]
            counts[c] = 1
            sums[c] = columns[:, far]
    moved = centers.copy()
    for filled in np.flatnonzero(counts > 0):
        moved[filled] = sums[filled] / counts[filled]
    return moved
