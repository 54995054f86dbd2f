"""Compiled loops over the components of a neighbour graph."""

from __future__ import annotations

import numpy as np
from numba import njit

from soffit._product_kernels import insert_column


@njit(cache=True, nogil=True)
def components_of(n, first, second):
    """Components of a graph, numbered in the order of their first nodes; how many, and whose."""
    parent = np.arange(n).astype(np.int32)
    for e in range(len(first)):
        _join(parent, first[e], second[e])
    return _numbered(parent), parent


@njit(cache=True, nogil=True)
def components_of_rows(indptr, indices):
    """The same of a graph that is given by its rows."""
    parent = np.arange(len(indptr) - 1).astype(np.int32)
    for i in range(len(parent)):
        for p in range(indptr[i], indptr[i + 1]):
            _join(parent, i, indices[p])
    return _numbered(parent), parent


@njit(cache=True, nogil=True)
def spanning_links(n, first, second):
    """Which links join what those before them leave apart, as in Kruskal's spanning tree."""
    parent = np.arange(n).astype(np.int32)
    joins = np.zeros(len(first), dtype=np.bool_)
    for e in range(len(first)):
        joins[e] = _join(parent, first[e], second[e])
    return joins


@njit(cache=True, nogil=True)
def _join(parent, i, j):
    """Make the sets of i and j one; whether they have been two."""
    a, b = _root(parent, i), _root(parent, j)
    # The smaller number is the root, so that a root comes before all others.
    if a < b:
        parent[b] = a
    elif b < a:
        parent[a] = b
    return a != b


@njit(cache=True, nogil=True)
def _numbered(parent):
    """Number the sets in the order of their roots, in place of the parents; how many they are."""
    count = 0
    for i in range(len(parent)):
        if parent[i] == i:
            parent[i] = count
            count += 1
        else:
            parent[i] = parent[parent[i]]
    return count


@njit(cache=True, nogil=True)
def links_in_lists(component, lists, values, start, stop):
    """Pairs in two components that the objects start to stop list, the smaller number first."""
    count = 0
    for i in range(start, stop):
        for t in range(lists.shape[1]):
            j = lists[i, t]
            count += j >= 0 and component[j] != component[i]
    first = np.empty(count, dtype=np.int64)
    second = np.empty(count, dtype=np.int64)
    distance = np.empty(count, dtype=values.dtype)
    count = 0
    for i in range(start, stop):
        for t in range(lists.shape[1]):
            j = lists[i, t]
            if j >= 0 and component[j] != component[i]:
                first[count] = min(i, j)
                second[count] = max(i, j)
                distance[count] = values[i, t]
                count += 1
    return first, second, distance


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


@njit(cache=True, nogil=True)
def both_ways(first, second, weights, indptr, indices, data):
    """Fill the rows of the symmetric graph with these edges, each given once.

    `indptr` holds zeros before. Columns are in no order yet.
    """
    n = len(indptr) - 1
    for e in range(len(first)):
        indptr[first[e] + 1] += 1
        indptr[second[e] + 1] += 1
    for i in range(n):
        indptr[i + 1] += indptr[i]
    place = indptr[:-1].copy()
    for e in range(len(first)):
        i, j = first[e], second[e]
        indices[place[i]], data[place[i]] = j, weights[e]
        indices[place[j]], data[place[j]] = i, weights[e]
        place[i] += 1
        place[j] += 1


@njit(cache=True, nogil=True)
def sort_rows(indptr, indices, data, start, stop):
    """Sort the columns of the rows start to stop; rows are short, so insertion is quick."""
    for i in range(start, stop):
        for p in range(indptr[i] + 1, indptr[i + 1]):
            insert_column(indices, data, indptr[i], p, indices[p], data[p])
