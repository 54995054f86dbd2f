"""Compiled loops of the partitions: coarser graphs, k-means, label sweeps."""

from __future__ import annotations

import numpy as np

from soffit._compile import njit


@njit(cache=True, nogil=True)
def pair_nodes(indptr, indices, data, inverse, group):
    """Pair each node, in order, with its strongest neighbour that is still free.

    The strength is the weight times `inverse` of the neighbour. Fills the number of the pair (or
    single node) of each node into `group`, which begins with -1, and returns the number of pairs.
    """
    count = 0
    for i in range(len(group)):
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
    return count


@njit(cache=True, nogil=True)
def join_rows(
    indptr, indices, data, group, begins, members, first, last, place, lengths, columns, weights
):
    """Rows first to last of the graph of groups: fills lengths, columns and weights.

    `members[begins[g]:begins[g + 1]]` are the nodes of group g. `place` has a number for every
    group and begins with -1. Returns the number of entries, whose columns are not sorted.
    """
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
        lengths[g - first] = total - begin
    return total


@njit(cache=True, nogil=True)
def assign_rows(products, halves, columns, weights, first, labels, ranks, sums):
    """Assign the rows from `first` on to their nearest centres, and add them to the centres' sums.

    `products` holds those of all centres with these rows. A rank is half the squared distance
    without the length of the row; `halves` are half the squared lengths of the centres. `labels`
    begins with zeros, `ranks` with infinity. The last column of `sums` is for the weights.
    """
    k, size = products.shape
    d = columns.shape[0]
    own, least = labels[first : first + size], ranks[first : first + size]
    for c in range(k):
        row, half = products[c], halves[c]
        for b in range(size):
            rank = half - row[b]
            nearer = rank < least[b]
            least[b] = rank if nearer else least[b]
            own[b] = c if nearer else own[b]
    for q in range(d):
        row = columns[q, first:]
        for b in range(size):
            sums[own[b], q] += weights[first + b] * row[b]
    for b in range(size):
        sums[own[b], d] += weights[first + b]


@njit(cache=True, nogil=True)
def majority(indptr, indices, data, labels, m, first, last, moved):
    """The label with the largest edge weight in each row; its own one on ties.

    Returns the weight of the edges between objects with the same label.
    """
    totals = np.zeros(m)
    inside = 0.0
    for i in range(first, last):
        own = labels[i]
        for place in range(indptr[i], indptr[i + 1]):
            totals[labels[indices[place]]] += data[place]
        inside += totals[own]
        best = own
        for place in range(indptr[i], indptr[i + 1]):
            c = labels[indices[place]]
            if totals[c] > totals[best]:
                best = c
        moved[i] = best
        for place in range(indptr[i], indptr[i + 1]):
            totals[labels[indices[place]]] = 0.0
    return inside


@njit(cache=True, nogil=True)
def weights_to_labels(indptr, indices, data, labels, m, first, last):
    """For each row: its own label and those of its neighbours, with the edge weight to each.

    Returns the number of labels per row, these labels in ascending order, and the weights.
    """
    totals = np.zeros(m)
    seen = np.zeros(m, dtype=np.bool_)
    most = 0
    for i in range(first, last):
        most += min(indptr[i + 1] - indptr[i] + 1, m)
    lengths = np.empty(last - first, dtype=np.int64)
    found = np.empty(most, dtype=np.int32)
    weights = np.empty(most, dtype=data.dtype)
    size = 0
    for i in range(first, last):
        begin = size
        found[size] = labels[i]
        seen[labels[i]] = True
        size += 1
        for place in range(indptr[i], indptr[i + 1]):
            c = labels[indices[place]]
            totals[c] += data[place]
            if not seen[c]:
                seen[c] = True
                q = size
                while q > begin and found[q - 1] > c:
                    found[q] = found[q - 1]
                    q -= 1
                found[q] = c
                size += 1
        for q in range(begin, size):
            weights[q] = totals[found[q]]
            totals[found[q]] = 0.0
            seen[found[q]] = False
        lengths[i - first] = size - begin
    return lengths, found[:size], weights[:size]


_MOST_PASSES = 20


@njit(cache=True, nogil=True)
def assign_groups(order, indptr, indices, data, wish, price, cluster):
    """Give every group of must-linked objects a cluster, in place.

    A group pays `price` for each cannot-link inside its cluster and gains its wish for it, the
    number of its members that were there. Large groups choose first; then all may choose again
    until no choice changes. Every change lowers the total.
    """
    k = wish.shape[1]
    cost = np.empty(k)
    cluster[:] = -1
    for _ in range(_MOST_PASSES):
        changed = False
        for g in order:
            for a in range(k):
                cost[a] = -wish[g, a]
            for p in range(indptr[g], indptr[g + 1]):
                other = cluster[indices[p]]
                if other >= 0:
                    cost[other] += price * data[p]
            best = cluster[g]
            for a in range(k):
                if best < 0 or cost[a] < cost[best]:
                    best = a
            if best != cluster[g]:
                cluster[g] = best
                changed = True
        if not changed:
            break
