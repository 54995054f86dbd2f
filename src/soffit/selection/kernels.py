"""Compiled loops over the boundaries between clusters, and over the modes of a density."""

from __future__ import annotations

import numpy as np

from soffit._compile import njit


@njit(cache=True, nogil=True)
def worst_ratio(first, second, weight, starts, members, ends, toward, play):
    """The largest ratio of the cut at a boundary and inside, over all pairs of linked clusters.

    Links are sorted by the clusters of their ends: those of clusters a <= b of k are the entries
    from `starts[a * k + b]` on. The members of cluster a start at `ends[a]`; `toward` holds the
    products of the objects' coordinates and the clusters' centres.
    """
    n, k = toward.shape
    place = np.empty(n, dtype=np.int64)
    along = np.empty(n)
    cut = np.empty(n)
    worst = 0.0
    for a in range(k):
        for b in range(a + 1, k):
            if starts[a * k + b] == starts[a * k + b + 1]:
                continue
            n_first = ends[a + 1] - ends[a]
            size = n_first + ends[b + 1] - ends[b]
            for t in range(size):
                i = _object(t, n_first, members, ends[a], ends[b])
                along[t] = toward[i, b] - toward[i, a]
            order = np.argsort(along[:size])
            for t in range(size):
                place[_object(order[t], n_first, members, ends[a], ends[b])] = t
            cut[:size] = 0.0
            for code in (a * k + a, b * k + b, a * k + b):
                for e in range(starts[code], starts[code + 1]):
                    p, q = place[first[e]], place[second[e]]
                    cut[min(p, q)] += weight[e]
                    cut[max(p, q)] -= weight[e]
            for t in range(1, size - 1):
                cut[t] += cut[t - 1]
            worst = max(worst, _ratio(cut[: size - 1], n_first, play))
    return worst


@njit(cache=True, nogil=True)
def _object(t, n_first, members, begin, begin_second):
    """Number t of the members of two clusters, one after the other."""
    return members[begin + t] if t < n_first else members[begin_second + t - n_first]


@njit(cache=True, nogil=True)
def _ratio(cut, n_first, play):
    moved = int(play * min(n_first, len(cut) + 1 - n_first))
    begin = n_first - 1 - moved
    boundary = begin + cut[begin : n_first + moved].argmin()
    inside = min(cut[: boundary + 1].max(), cut[boundary:].max())
    # Rounding leaves tiny negative sums where nothing is cut.
    return min(max(cut[boundary], 0.0) / inside, 1.0) if inside > 0.0 else 1.0


@njit(cache=True, nogil=True)
def depths_of_modes(first, second, at, order, height, sizes, least):
    """Depths at which modes end while links are added in the given order, by descending `at`.

    A mode starts at every node, as high as the node. Of two modes that a link joins the lower one
    ends; it counts if both hold at least `least` objects. A mode with fewer objects is no summit.
    """
    n = len(height)
    root = np.arange(n)
    top = height.copy()
    mass = sizes.copy()
    depths = np.empty(n)
    count = 0
    for e in order:
        a, b = _root(root, first[e]), _root(root, second[e])
        if a == b:
            continue
        low, high = (a, b) if top[a] < top[b] or (top[a] == top[b] and a > b) else (b, a)
        if mass[low] >= least:
            if mass[high] >= least:
                depths[count] = top[low] - at[e]
                count += 1
            else:
                low, high = high, low
        root[low] = high
        mass[high] += mass[low]
    return depths[:count]


@njit(cache=True, nogil=True)
def _root(root, node):
    while root[node] != node:
        root[node] = root[root[node]]
        node = root[node]
    return node
