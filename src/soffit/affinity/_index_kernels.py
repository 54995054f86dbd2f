"""Compiled loops of the approximate neighbour search.

Every kernel works on a range of points or nodes that nobody else writes to, so that ranges can be
given to threads in any order with the same result. Points are single precision; distances are
squared until the search ends. A list is sorted by distance and marks its newcomers: only pairs
with a newcomer can bring anything new.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_MULTIPLIER = np.uint64(6364136223846793005)
_INCREMENT = np.uint64(1442695040888963407)


@njit(cache=True, nogil=True)
def _draw(state, count):
    """A number below `count` and the next state of the generator."""
    state = state * _MULTIPLIER + _INCREMENT
    return np.int64((state >> np.uint64(33)) % np.uint64(count)), state


@njit(cache=True, nogil=True, fastmath=True)
def grow(X, order, heights, normals, offsets, first, last, node, depth, state):
    """Halve the points order[first:last] again and again along random lines, `depth` times.

    `node` numbers the halves like a heap; where `normals` has room, the planes are kept.
    """
    d = X.shape[1]
    normal = np.empty(d, dtype=np.float32)
    stack = [(first, last, node, depth, state)]
    while len(stack) > 0:
        low, high, node, left, state = stack.pop()
        if left == 0 or high - low < 2:
            continue
        a, state = _draw(state, high - low)
        b, state = _draw(state, high - low)
        for q in range(d):
            normal[q] = X[order[low + a], q] - X[order[low + b], q]
        for p in range(low, high):
            height = np.float32(0.0)
            i = order[p]
            for q in range(d):
                height += X[i, q] * normal[q]
            heights[p] = height
        middle = (low + high) // 2
        _select(heights, order, low, high, middle)
        if node < len(normals):
            normals[node] = normal
            offsets[node] = heights[middle]
        stack.append((low, middle, 2 * node + 1, left - 1, state + np.uint64(2 * node + 1)))
        stack.append((middle, high, 2 * node + 2, left - 1, state + np.uint64(2 * node + 2)))


@njit(cache=True, nogil=True)
def _select(values, items, low, high, middle):
    """Reorder so that position `middle` holds what it would hold after sorting."""
    while high - low > 1:
        a, b, c = values[low], values[(low + high) // 2], values[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high - 1
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                items[i], items[j] = items[j], items[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j + 1
        elif middle >= i:
            low = i
        else:
            return


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


@njit(cache=True, nogil=True, fastmath=True)
def compare_leaves(X, order, bounds, first, last, members, squares, fresh):
    """Compare all points of every leaf from `first` to `last` with one another."""
    d = X.shape[1]
    for leaf in range(first, last):
        low, size = bounds[leaf], bounds[leaf + 1] - bounds[leaf]
        near = np.empty((size, d), dtype=np.float32)
        for a in range(size):
            for q in range(d):
                near[a, q] = X[order[low + a], q]
        for a in range(size):
            i = order[low + a]
            for b in range(a):
                square = np.float32(0.0)
                for q in range(d):
                    step = near[a, q] - near[b, q]
                    square += step * step
                j = order[low + b]
                _enter(members, squares, fresh, i, j, square)
                _enter(members, squares, fresh, j, i, square)


@njit(cache=True, nogil=True)
def listed_by(members, fresh, first, last, others, others_fresh, count):
    """Who lists each of the points `first` to `last`: as many as fit, nearest ones first."""
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
def improve(X, first, last, graph, lists, stamp):
    """Neighbours of neighbours, in both directions, for the points `first` to `last`.

    `graph` holds the lists before this round (members, squares, fresh, who lists whom, fresh,
    count), `lists` those after it. Returns how many entries are new.
    """
    members, squares, fresh, others, others_fresh, count = graph
    new, new_squares, new_fresh = lists
    d = X.shape[1]
    length = members.shape[1]
    found = np.empty((length + others.shape[1]) * (length + 1), dtype=np.int32)
    changes = 0
    for i in range(first, last):
        for t in range(length):
            new[i, t], new_squares[i, t], new_fresh[i, t] = members[i, t], squares[i, t], False
        n_found = _candidates(i, members, fresh, others, others_fresh, count, stamp, found)
        for p in range(n_found):
            j = found[p]
            square = np.float32(0.0)
            for q in range(d):
                step = X[i, q] - X[j, q]
                square += step * step
            changes += _enter(new, new_squares, new_fresh, i, j, square)
    return changes


@njit(cache=True, nogil=True, fastmath=True)
def improve_sparse(indptr, indices, data, norms, first, last, graph, lists, stamp, wide):
    """The same for the rows of a CSR matrix; `wide` is a zero vector as long as a row."""
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
def measure_sparse(indptr, indices, data, norms, first, last, members, squares, fresh, wide):
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
def compare_with_all(X, chosen, first, last, members, squares):
    """Exact neighbours of a few points, numbers first to last of `chosen`."""
    n, d = X.shape
    fresh = np.zeros(members.shape, dtype=np.bool_)
    for c in range(first, last):
        i = chosen[c]
        for j in range(n):
            square = np.float32(0.0)
            for q in range(d):
                step = X[i, q] - X[j, q]
                square += step * step
            if j != i and square < squares[c, -1]:
                _enter(members, squares, fresh, c, j, square)


@njit(cache=True, nogil=True, fastmath=True)
def compare_with_all_sparse(
    indptr, indices, data, norms, chosen, first, last, members, squares, wide
):
    """The same for rows of a CSR matrix."""
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


@njit(cache=True, nogil=True, fastmath=True)
def leaves_of(Y, normals, offsets, leaves):
    """The leaf of the tree to which each row of Y goes down."""
    for c in range(len(Y)):
        node = 0
        while node < len(normals):
            height = np.float32(0.0)
            for q in range(Y.shape[1]):
                height += Y[c, q] * normals[node, q]
            node = 2 * node + (1 if height < offsets[node] else 2)
        leaves[c] = node - len(normals)


@njit(cache=True, nogil=True, fastmath=True)
def find_nearest(Y, leaves, X, bounds, graph, stamp, near, squares, unasked, n_asked):
    """Nearest points of X for the rows of Y: fills `near` and `squares`.

    From its leaf a row follows the lists to ever nearer points, until all points that it keeps
    have been asked for their neighbours.
    """
    neighbors, others, count = graph
    length = neighbors.shape[1]
    for c in range(len(Y)):
        for p in range(bounds[leaves[c]], bounds[leaves[c] + 1]):
            _visit(p, Y, c, X, stamp, near, squares, unasked)
        place = 0
        while place < n_asked and near[c, place] >= 0:
            if not unasked[c, place]:
                place += 1
                continue
            unasked[c, place] = False
            between = near[c, place]
            place += 1
            for t in range(length):
                if neighbors[between, t] >= 0:
                    nearer = _visit(neighbors[between, t], Y, c, X, stamp, near, squares, unasked)
                    place = min(place, nearer)
            for t in range(count[between]):
                nearer = _visit(others[between, t], Y, c, X, stamp, near, squares, unasked)
                place = min(place, nearer)


@njit(cache=True, nogil=True, fastmath=True)
def _visit(j, Y, c, X, stamp, near, squares, unasked):
    """Compare row c of Y with point j; returns the place it took in the list, or its end."""
    if stamp[j] == c + 1:
        return near.shape[1]
    stamp[j] = c + 1
    square = np.float32(0.0)
    for q in range(X.shape[1]):
        step = Y[c, q] - X[j, q]
        square += step * step
    if square >= squares[c, -1]:
        return near.shape[1]
    return _insert(near, squares, unasked, c, j, square)
