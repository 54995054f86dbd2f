"""Compiled comparisons of many points with many candidates at once.

The points of a leaf of a random tree are near one another, so whoever one of them lists may be near
the others. All of these candidates are copied side by side, column by column, and compared with
every point of the leaf: a processor compares dozens of such pairs in the time that it takes to
fetch one point from far away in memory.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from soffit.affinity._search_kernel import insert_sorted

# Candidates compared at once: their copies stay in the cache while all rows of a leaf pass by.
BLOCK = 256
# Squares are looked at in groups of so many: most groups hold nothing near.
_GROUP = 16


@njit(cache=True, nogil=True, fastmath=True)
def squares_to(x, columns, count, squares):
    """Squared distances of x to the first `count` columns; the number of rows is a multiple of 4.

    Four coordinates in one pass: loops over candidates become vector instructions.
    """
    for b in range(count):
        squares[b] = np.float32(0.0)
    for q in range(0, columns.shape[0], 4):
        x0, x1, x2, x3 = x[q], x[q + 1], x[q + 2], x[q + 3]
        for b in range(count):
            s0 = x0 - columns[q, b]
            s1 = x1 - columns[q + 1, b]
            s2 = x2 - columns[q + 2, b]
            s3 = x3 - columns[q + 3, b]
            squares[b] += s0 * s0 + s1 * s1 + s2 * s2 + s3 * s3


@njit(cache=True, nogil=True)
def _copy_columns(X, numbers, first, count, columns):
    for b in range(count):
        j = numbers[first + b]
        for q in range(X.shape[1]):
            columns[q, b] = X[j, q]


@njit(cache=True, nogil=True, fastmath=True)
def _take_nearer(new, numbers, first, count, members, squares, groups):
    """Put the candidates that are near enough into a list.

    `new` goes on with infinity to the end of the last group; `groups` has room for their numbers.
    """
    worst = squares[-1]
    n_near = 0
    for start in range(0, count, _GROUP):
        least = new[start]
        for b in range(1, _GROUP):
            least = min(least, new[start + b])
        # No branch: whether a group is near is hard to foretell.
        groups[n_near] = start
        n_near += least < worst
    for g in range(n_near):
        for b in range(groups[g], groups[g] + _GROUP):
            if new[b] < worst:
                insert_sorted(squares, members, new[b], numbers[first + b])
                worst = squares[-1]


@njit(cache=True, nogil=True)
def _candidates(order, low, size, members, place, found, listed):
    """The points of a leaf, then whoever they list; returns how many these are.

    `place` tells where in `found` a number is, if it is there; `listed` where each point's list is.
    """
    for a in range(size):
        found[a] = order[low + a]
        place[found[a]] = a
    n_found = size
    for a in range(size):
        for t in range(members.shape[1]):
            j = members[found[a], t]
            if j < 0:
                listed[a, t] = -1
                continue
            at = place[j]
            if at >= n_found or found[at] != j:
                at = n_found
                place[j] = at
                found[at] = j
                n_found += 1
            listed[a, t] = at
    return n_found


@njit(cache=True, nogil=True)
def join_leaves(X, order, bounds, first, last, members, squares, place):
    """Compare the points of every leaf from `first` to `last` with all that any of them lists.

    Reads and writes the lists of these points only. `place` has a number for every point, which
    nobody else uses.
    """
    d, length = X.shape[1], members.shape[1]
    widest = 0
    for leaf in range(first, last):
        widest = max(widest, bounds[leaf + 1] - bounds[leaf])
    rows = np.zeros((widest, -(-d // 4) * 4), dtype=np.float32)
    columns = np.zeros((rows.shape[1], BLOCK), dtype=np.float32)
    new = np.empty(BLOCK + _GROUP, dtype=np.float32)
    groups = np.empty(BLOCK // _GROUP, dtype=np.int64)
    found = np.empty(widest * (length + 1), dtype=np.int32)
    listed = np.empty((widest, length), dtype=np.int32)
    for leaf in range(first, last):
        low, size = bounds[leaf], bounds[leaf + 1] - bounds[leaf]
        n_found = _candidates(order, low, size, members, place, found, listed)
        for a in range(size):
            rows[a, :d] = X[found[a]]
        for start in range(0, n_found, BLOCK):
            count = min(BLOCK, n_found - start)
            _copy_columns(X, found, start, count, columns)
            for a in range(size):
                squares_to(rows[a], columns, count, new)
                # Neither the point itself nor those that it lists already.
                if start <= a < start + count:
                    new[a - start] = np.inf
                for t in range(length):
                    at = listed[a, t] - start
                    if 0 <= at < count:
                        new[at] = np.inf
                new[count : count + _GROUP] = np.inf
                i = found[a]
                _take_nearer(new, found, start, count, members[i], squares[i], groups)


@njit(cache=True, nogil=True)
def copy_lists(order, members, squares, size, first, last, indices, distances):
    """The lists of the sorted points first to last, by the objects that these and others are."""
    for p in range(first, last):
        i = order[p]
        for t in range(indices.shape[1]):
            j = members[p, t]
            indices[i, t] = order[j] if j >= 0 else -1
            distances[i, t] = np.sqrt(squares[p, t]) * size


@njit(cache=True, nogil=True)
def compare_with_all(X, chosen, first, last, members, squares):
    """Exact neighbours of a few points, numbers first to last of `chosen`."""
    n, d = X.shape
    rows = np.zeros((last - first, -(-d // 4) * 4), dtype=np.float32)
    columns = np.zeros((rows.shape[1], BLOCK), dtype=np.float32)
    new = np.empty(BLOCK + _GROUP, dtype=np.float32)
    groups = np.empty(BLOCK // _GROUP, dtype=np.int64)
    numbers = np.arange(n).astype(np.int32)
    for c in range(first, last):
        rows[c - first, :d] = X[chosen[c]]
    for start in range(0, n, BLOCK):
        count = min(BLOCK, n - start)
        _copy_columns(X, numbers, start, count, columns)
        for c in range(first, last):
            squares_to(rows[c - first], columns, count, new)
            if start <= chosen[c] < start + count:
                new[chosen[c] - start] = np.inf
            new[count : count + _GROUP] = np.inf
            _take_nearer(new, numbers, start, count, members[c], squares[c], groups)


@njit(cache=True, nogil=True)
def find_nearest(Y, leaves, X, bounds, lists, place, near, squares, most_asked):
    """Nearest points of X for the rows of Y, which are sorted by leaf: fills `near` and `squares`.

    A row is compared with the points of its leaf and with all that these list; then those that
    it keeps are asked for their lists, nearest first, until all of them or `most_asked` have been.
    """
    n, d = X.shape
    order = np.arange(n).astype(np.int32)
    widest = 0
    for leaf in range(len(bounds) - 1):
        widest = max(widest, bounds[leaf + 1] - bounds[leaf])
    x = np.zeros(-(-d // 4) * 4, dtype=np.float32)
    columns = np.zeros((len(x), BLOCK), dtype=np.float32)
    new = np.empty(BLOCK + _GROUP, dtype=np.float32)
    groups = np.empty(BLOCK // _GROUP, dtype=np.int64)
    found = np.empty(widest * (lists.shape[1] + 1), dtype=np.int32)
    listed = np.empty((widest, lists.shape[1]), dtype=np.int32)
    asked = np.empty(most_asked, dtype=np.int32)
    first = 0
    while first < len(Y):
        leaf, last = leaves[first], first + 1
        while last < len(Y) and leaves[last] == leaf:
            last += 1
        low, size = bounds[leaf], bounds[leaf + 1] - bounds[leaf]
        n_found = _candidates(order, low, size, lists, place, found, listed)
        for start in range(0, n_found, BLOCK):
            count = min(BLOCK, n_found - start)
            _copy_columns(X, found, start, count, columns)
            for c in range(first, last):
                x[:d] = Y[c]
                squares_to(x, columns, count, new)
                new[count : count + _GROUP] = np.inf
                _take_nearer(new, found, start, count, near[c], squares[c], groups)
        for c in range(first, last):
            _ask(Y[c], X, lists, near[c], squares[c], asked)
        first = last


@njit(cache=True, nogil=True, fastmath=True)
def _ask(y, X, lists, near, squares, asked):
    """Compare a row with those that its nearest points list, as long as there is room to ask."""
    n_done, at = 0, 0
    while at < len(near) and near[at] >= 0 and n_done < len(asked):
        between = near[at]
        at += 1
        if _contains(asked, n_done, between):
            continue
        asked[n_done] = between
        n_done += 1
        for t in range(lists.shape[1]):
            j = lists[between, t]
            if j < 0:
                break
            square = np.float32(0.0)
            for q in range(X.shape[1]):
                step = y[q] - X[j, q]
                square += step * step
            if square < squares[-1] and not _contains(near, len(near), j):
                insert_sorted(squares, near, square, j)
                # Whoever came before the present one has to be asked as well.
                at = 0


@njit(cache=True, nogil=True)
def _contains(numbers, count, j):
    """Whether j is among the first `count` numbers; looks at all of them, a vector at a time."""
    is_there = False
    for t in range(count):
        is_there |= numbers[t] == j
    return is_there
