"""Compiled loops over the labels of an object's neighbours; a range of rows belongs to one thread.

They check nothing.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def majority(indptr, indices, data, labels, m, first, last, moved):
    """The label that the ties of each row favour; its own one if no other has more weight.

    Returns the weight of the ties between objects of one label.
    """
    ties = np.zeros(m)
    inside = 0.0
    for i in range(first, last):
        own = labels[i]
        for place in range(indptr[i], indptr[i + 1]):
            ties[labels[indices[place]]] += data[place]
        inside += ties[own]
        best = own
        for place in range(indptr[i], indptr[i + 1]):
            c = labels[indices[place]]
            if ties[c] > ties[best]:
                best = c
        moved[i] = best
        for place in range(indptr[i], indptr[i + 1]):
            ties[labels[indices[place]]] = 0.0
    return inside


@njit(cache=True, nogil=True)
def ties_to_labels(indptr, indices, data, labels, m, first, last):
    """For each row: its own label and those of its neighbours, and the weight of the ties to each.

    Returns how many labels each row has, these labels in ascending order, and the weights.
    """
    ties = np.zeros(m)
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
            ties[c] += data[place]
            if not seen[c]:
                seen[c] = True
                q = size
                while q > begin and found[q - 1] > c:
                    found[q] = found[q - 1]
                    q -= 1
                found[q] = c
                size += 1
        for q in range(begin, size):
            weights[q] = ties[found[q]]
            ties[found[q]] = 0.0
            seen[found[q]] = False
        lengths[i - first] = size - begin
    return lengths, found[:size], weights[:size]


@njit(cache=True, nogil=True)
def weights_between(indptr, indices, data, labels, m):
    """Total weight of the ties between every two labels."""
    between = np.zeros((m, m))
    for i in range(len(labels)):
        own = labels[i]
        for place in range(indptr[i], indptr[i + 1]):
            between[own, labels[indices[place]]] += data[place]
    return between
