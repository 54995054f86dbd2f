"""Compiled loops that grow random trees and lead points down to their leaves."""

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
