"""Compiled loops over the rows of sparse graphs."""

from __future__ import annotations

import numpy as np
from numba import njit

# Adjacent entries are multiplied this many times as fast as scattered ones.
_MANY = 8


@njit(cache=True, nogil=True)
def multiply_rows(indptr, indices, data, V, product, first, last):
    """The rows first to last of a CSR matrix times V."""
    k = V.shape[1]
    for i in range(first, last):
        for a in range(k):
            product[i, a] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            value, j = data[p], indices[p]
            for a in range(k):
                product[i, a] += value * V[j, a]


@njit(cache=True, nogil=True)
def scale_rows(indptr, indices, data, left, right, scaled, first, last):
    """The entries of the rows first to last of diag(left) A diag(right)."""
    for i in range(first, last):
        for p in range(indptr[i], indptr[i + 1]):
            # The two factors are multiplied first: x_i x_j is symmetric, (a_ij x_i) x_j is not.
            scaled[p] = data[p] * (left[i] * right[indices[p]])


@njit(cache=True, nogil=True)
def forms_of_rows(indptr, indices, data, U, first, last, diagonal):
    """The part of the rows first to last in u'A u of all columns u, in double precision."""
    k = U.shape[1]
    forms = np.zeros(k)
    product = np.empty(k, dtype=U.dtype)
    used = np.empty(k, dtype=np.int64)
    for i in range(first, last):
        product[:] = 0.0
        count = 0
        for a in range(k):
            if U[i, a] != 0.0:
                used[count] = a
                count += 1
        # With many columns, a row has few nonzero ones; otherwise use all, which are adjacent.
        is_sparse = _MANY * count < k
        for p in range(indptr[i], indptr[i + 1]):
            value, j = data[p], indices[p]
            if not diagonal and j == i:
                continue
            if is_sparse:
                for x in range(count):
                    product[used[x]] += value * U[j, used[x]]
            else:
                for a in range(k):
                    product[a] += value * U[j, a]
        for a in range(k):
            forms[a] += np.float64(product[a]) * np.float64(U[i, a])
    return forms


@njit(cache=True, nogil=True)
def weights_between(indptr, indices, data, labels, m):
    """Total weight of the edges between every two labels."""
    between = np.zeros((m, m))
    for i in range(len(labels)):
        own = labels[i]
        for place in range(indptr[i], indptr[i + 1]):
            between[own, labels[indices[place]]] += data[place]
    return between


@njit(cache=True, nogil=True)
def insert_column(indices, data, begin, end, column, value):
    """Insert an entry into a row whose sorted entries lie from begin to before end."""
    q = end
    while q > begin and indices[q - 1] > column:
        indices[q] = indices[q - 1]
        data[q] = data[q - 1]
        q -= 1
    indices[q] = column
    data[q] = value


@njit(cache=True, nogil=True)
def permute_rows(
    indptr, indices, data, order, place, new_indptr, new_indices, new_data, first, last
):
    """Rows first to last of the matrix whose row and column r are `order[r]` of the given one.

    Columns are sorted again by insertion, which is fast for short rows.
    """
    for r in range(first, last):
        end = new_indptr[r]
        for p in range(indptr[order[r]], indptr[order[r] + 1]):
            insert_column(new_indices, new_data, new_indptr[r], end, place[indices[p]], data[p])
            end += 1


@njit(cache=True, nogil=True)
def components_of(n, first, second):
    """Number of components of a graph, and the component of each node in order of appearance."""
    parent = np.arange(n).astype(np.int32)
    for e in range(len(first)):
        _join(parent, first[e], second[e])
    return _numbered(parent), parent


@njit(cache=True, nogil=True)
def components_of_rows(indptr, indices):
    """The same for a graph given by its rows."""
    parent = np.arange(len(indptr) - 1).astype(np.int32)
    for i in range(len(parent)):
        for p in range(indptr[i], indptr[i + 1]):
            _join(parent, i, indices[p])
    return _numbered(parent), parent


@njit(cache=True, nogil=True)
def spanning_links(n, first, second):
    """Which links join separate components in the given order, as in Kruskal's spanning tree."""
    parent = np.arange(n).astype(np.int32)
    joins = np.zeros(len(first), dtype=np.bool_)
    for e in range(len(first)):
        joins[e] = _join(parent, first[e], second[e])
    return joins


@njit(cache=True, nogil=True)
def _join(parent, i, j):
    """Merge the sets of i and j; returns whether they were separate."""
    a, b = _root(parent, i), _root(parent, j)
    # The smaller number is the root, so that a root comes before all others.
    if a < b:
        parent[b] = a
    elif b < a:
        parent[a] = b
    return a != b


@njit(cache=True, nogil=True)
def _numbered(parent):
    """Replace parents by set numbers in the order of their roots; returns the number of sets."""
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
    """Listed pairs of objects start to stop in different components, the smaller number first."""
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

    An object is chosen where `part` equals `chosen`. Returns the squared distance and both ends;
    ties go to the first link. Distances may be infinite; without any link the ends are n.
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

    `indptr` must hold zeros. Columns are not sorted yet.
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
    """Sort the columns of the rows start to stop by insertion, which is fast for short rows."""
    for i in range(start, stop):
        for p in range(indptr[i] + 1, indptr[i + 1]):
            insert_column(indices, data, indptr[i], p, indices[p], data[p])
