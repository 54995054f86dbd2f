"""Compiled loops that make a coarser graph."""

from __future__ import annotations

import numpy as np
from numba import njit

from soffit._product_kernels import insert_column

# Rows up to this length are sorted by insertion, which needs no memory of its own.
_SHORT = 64


@njit(cache=True, nogil=True)
def pair_nodes(indptr, indices, data, inverse):
    """Pair each node, in order, with its strongest neighbour that is still free.

    The strength is the weight times `inverse` of the neighbour. Returns the number of the pair (or
    single node) of each node, and how many there are.
    """
    n = len(indptr) - 1
    group = np.full(n, -1, dtype=np.int32)
    count = 0
    for i in range(n):
        if group[i] >= 0:
            continue
        best, partner = 0.0, -1
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j != i and group[j] < 0 and data[p] * inverse[j] > best:
                best, partner = data[p] * inverse[j], j
        group[i] = count
        if partner >= 0:
            group[partner] = count
        count += 1
    return group, count


@njit(cache=True, nogil=True)
def join_rows(indptr, indices, data, group, begins, members, first, last, n_groups):
    """Rows first to last of the graph of groups: lengths, columns in ascending order, weights.

    `members[begins[g]:begins[g + 1]]` are the nodes of group g.
    """
    room = 0
    for m in range(begins[first], begins[last]):
        room += indptr[members[m] + 1] - indptr[members[m]]
    lengths = np.zeros(last - first, dtype=np.int64)
    columns = np.empty(room, dtype=np.int32)
    weights = np.empty(room, dtype=data.dtype)
    place = np.full(n_groups, -1, dtype=np.int32)
    total = 0
    for g in range(first, last):
        begin = total
        for m in range(begins[g], begins[g + 1]):
            i = members[m]
            for p in range(indptr[i], indptr[i + 1]):
                column = group[indices[p]]
                if place[column] < begin:
                    place[column] = total
                    columns[total] = column
                    weights[total] = data[p]
                    total += 1
                else:
                    weights[place[column]] += data[p]
        _sort(columns, weights, begin, total)
        lengths[g - first] = total - begin
    return lengths, columns[:total].copy(), weights[:total].copy()


@njit(cache=True, nogil=True)
def _sort(columns, weights, begin, end):
    """Sort the entries from begin to before end by column."""
    if end - begin <= _SHORT:
        for p in range(begin + 1, end):
            insert_column(columns, weights, begin, p, columns[p], weights[p])
    else:
        order = np.argsort(columns[begin:end])
        columns[begin:end] = columns[begin:end][order]
        weights[begin:end] = weights[begin:end][order]


@njit(cache=True, nogil=True)
def nodes_of_groups(group, count):
    """Nodes group by group, in ascending order, and where each group begins."""
    begins = np.zeros(count + 1, dtype=np.int64)
    for i in range(len(group)):
        begins[group[i] + 1] += 1
    for g in range(count):
        begins[g + 1] += begins[g]
    place = begins[:-1].copy()
    members = np.empty(len(group), dtype=np.int32)
    for i in range(len(group)):
        members[place[group[i]]] = i
        place[group[i]] += 1
    return members, begins
