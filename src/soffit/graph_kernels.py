"""Compiled loops over the rows of sparse graphs."""

from __future__ import annotations

import numpy as np

from soffit._compile import njit

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


@njit(cache=True, nogil=True, inline="always")
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
