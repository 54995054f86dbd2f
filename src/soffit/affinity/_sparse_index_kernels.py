"""Compiled loops of the approximate neighbour search among the rows of a CSR matrix.

Every kernel works on a range of rows that nobody else writes to, so that ranges can be given to
threads in any order with the same result. Distances are squared until the search ends. A list is
sorted by distance and marks its newcomers: only pairs with a newcomer can bring anything new.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _enter(members, squares, fresh, i, j, square):
    """Put j into the sorted list of i unless it is there or too far; the last one falls out."""
    if square >= squares[i, -1]:
        return 0
    for t in range(members.shape[1]):
        if members[i, t] == j:
            return 0
    _insert(members, squares, fresh, i, j, square)
    return 1


@njit(cache=True, nogil=True)
def _insert(members, squares, fresh, i, j, square):
    """Put j into the sorted list of i, behind its equals, and mark it; returns its place."""
    place = members.shape[1] - 1
    while place > 0 and squares[i, place - 1] > square:
        squares[i, place] = squares[i, place - 1]
        members[i, place] = members[i, place - 1]
        fresh[i, place] = fresh[i, place - 1]
        place -= 1
    squares[i, place] = square
    members[i, place] = j
    fresh[i, place] = True
    return place


@njit(cache=True, nogil=True)
def listed_by(members, fresh, first, last, others, others_fresh, count):
    """Who lists each of the rows `first` to `last`: as many as fit, nearest ones first."""
    n, length = members.shape
    room = others.shape[1]
    for t in range(length):
        for i in range(n):
            j = members[i, t]
            if first <= j < last and count[j] < room:
                others[j, count[j]] = i
                others_fresh[j, count[j]] = fresh[i, t]
                count[j] += 1


@njit(cache=True, nogil=True)
def _candidates(i, members, fresh, others, others_fresh, count, stamp, found):
    """Numbers of all neighbours of neighbours of i that may be new to it; returns how many."""
    length = members.shape[1]
    n_found = 0
    stamp[i] = i + 1
    for t in range(length):
        if members[i, t] >= 0:
            stamp[members[i, t]] = i + 1
    for t in range(length + count[i]):
        if t < length:
            between, is_fresh = members[i, t], fresh[i, t]
        else:
            between, is_fresh = others[i, t - length], others_fresh[i, t - length]
            if stamp[between] != i + 1:
                stamp[between] = i + 1
                found[n_found] = between
                n_found += 1
        if between < 0:
            continue
        for w in range(length):
            j = members[between, w]
            if j >= 0 and (is_fresh or fresh[between, w]) and stamp[j] != i + 1:
                stamp[j] = i + 1
                found[n_found] = j
                n_found += 1
    return n_found


@njit(cache=True, nogil=True, fastmath=True)
def improve(indptr, indices, data, norms, first, last, graph, lists, stamp, wide):
    """Neighbours of neighbours, in both directions, for the rows `first` to `last`.

    `graph` holds the lists before this round (members, squares, fresh, who lists whom, fresh,
    count), `lists` those after it; `wide` is a zero vector as long as a row. Returns how many
    entries are new.
    """
    members, squares, fresh, others, others_fresh, count = graph
    new, new_squares, new_fresh = lists
    length = members.shape[1]
    found = np.empty((length + others.shape[1]) * (length + 1), dtype=np.int32)
    changes = 0
    for i in range(first, last):
        for t in range(length):
            new[i, t], new_squares[i, t], new_fresh[i, t] = members[i, t], squares[i, t], False
        n_found = _candidates(i, members, fresh, others, others_fresh, count, stamp, found)
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = data[p]
        for t in range(n_found):
            square = _square_to(found[t], indptr, indices, data, norms, wide, norms[i])
            changes += _enter(new, new_squares, new_fresh, i, found[t], square)
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = 0.0
    return changes


@njit(cache=True, nogil=True, fastmath=True)
def _square_to(j, indptr, indices, data, norms, wide, norm):
    product = np.float32(0.0)
    for p in range(indptr[j], indptr[j + 1]):
        product += data[p] * wide[indices[p]]
    return max(norm + norms[j] - np.float32(2.0) * product, np.float32(0.0))


@njit(cache=True, nogil=True, fastmath=True)
def measure(indptr, indices, data, norms, first, last, members, squares, fresh, wide):
    """Replace the squares of given lists by those of the CSR rows, and sort the lists again."""
    length = members.shape[1]
    old = np.empty(length, dtype=np.int32)
    for i in range(first, last):
        old[:] = members[i]
        members[i] = -1
        squares[i] = np.inf
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = data[p]
        for t in range(length):
            if old[t] >= 0:
                square = _square_to(old[t], indptr, indices, data, norms, wide, norms[i])
                _enter(members, squares, fresh, i, old[t], square)
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = 0.0


@njit(cache=True, nogil=True, fastmath=True)
def compare_with_all(indptr, indices, data, norms, chosen, first, last, members, squares, wide):
    """Exact neighbours of a few rows, numbers first to last of `chosen`."""
    n = len(norms)
    fresh = np.zeros(members.shape, dtype=np.bool_)
    for c in range(first, last):
        i = chosen[c]
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = data[p]
        for j in range(n):
            square = _square_to(j, indptr, indices, data, norms, wide, norms[i])
            if j != i and square < squares[c, -1]:
                _enter(members, squares, fresh, c, j, square)
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = 0.0
