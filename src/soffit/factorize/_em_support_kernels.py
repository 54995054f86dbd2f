"""Compiled loops of expectation-maximisation on few clusters a row. They check nothing.

Notation as in `_em_kernels`. Row i of B and of H stands in the places begin[i] to begin[i + 1] of
`b` and `h`; `cluster` says which columns these are. A range of rows belongs to one thread.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def support_ratios(
    indptr, indices, data, begin, cluster, b, h, m, first, last, unexplained, ratios, terms
):
    """What `edge_ratios` does, for the stored entries of B only."""
    own = np.zeros(m)
    sums = np.zeros(m)
    for i in range(first, last):
        for t in range(begin[i], begin[i + 1]):
            own[cluster[t]] = b[t]
            sums[cluster[t]] = 0.0
        term = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            # Unsigned, because numba tests signed numbers for places counted from the end.
            j = np.uint32(indices[place])
            weight = np.float64(data[place])
            if weight <= 0.0:
                continue
            opening, end = np.uint64(begin[j]), np.uint64(begin[j + 1])
            q = 0.0
            for t in range(opening, end):
                q += own[np.uint32(cluster[t])] * np.float64(h[t])
            if q > unexplained * weight:
                share = weight / q
                # Sums of clusters that row i does not have are never read.
                for t in range(opening, end):
                    sums[np.uint32(cluster[t])] += share * np.float64(h[t])
            else:
                q = max(unexplained * weight, 1e-300)
            if j < i:
                term += 2.0 * weight * np.log(q)
            elif j == i:
                term += weight * np.log(q)
        for t in range(begin[i], begin[i + 1]):
            ratios[t] = sums[cluster[t]]
            own[cluster[t]] = 0.0
        terms[i] = term


@njit(cache=True, nogil=True)
def missing_entries(
    indptr, indices, data, begin, cluster, b, h, m, first, last, unexplained, least
):
    """Clusters that a row does not have, but would gain from: their ratios exceed `least`.

    Returns how many clusters each row lacks, and these clusters.
    """
    own = np.zeros(m)
    sums = np.zeros(m)
    lengths = np.zeros(last - first, dtype=np.int64)
    found = np.empty(last - first, dtype=np.int32)
    size = 0
    for i in range(first, last):
        for t in range(begin[i], begin[i + 1]):
            own[cluster[t]] = b[t]
        for place in range(indptr[i], indptr[i + 1]):
            j = indices[place]
            weight = np.float64(data[place])
            q = 0.0
            for t in range(begin[j], begin[j + 1]):
                q += own[cluster[t]] * np.float64(h[t])
            # A pair that has no cluster in common gains most from one.
            share = weight / max(q, unexplained * weight, 1e-300)
            for t in range(begin[j], begin[j + 1]):
                sums[cluster[t]] += share * np.float64(h[t])
        for place in range(indptr[i], indptr[i + 1]):
            j = indices[place]
            for t in range(begin[j], begin[j + 1]):
                c = cluster[t]
                if own[c] == 0.0 and sums[c] > least:
                    if size == len(found):
                        found = np.append(found, np.empty_like(found))
                    found[size] = c
                    size += 1
                    lengths[i - first] += 1
                sums[c] = 0.0
        for t in range(begin[i], begin[i + 1]):
            own[cluster[t]] = 0.0
    return lengths, found[:size]


@njit(cache=True, nogil=True)
def move_support(begin, b, ratios, power, negligible, first, last, moved):
    """What `move_rows` does, for the stored entries of B only; those that vanish become zero."""
    for i in range(first, last):
        plain = 0.0
        total = 0.0
        for t in range(begin[i], begin[i + 1]):
            ratio = np.float64(ratios[t])
            value = np.float64(b[t]) * ratio
            plain += value
            total += value * ratio ** (power - 1)
        scale = plain / total if total > 0.0 else 0.0
        least = negligible * plain
        for t in range(begin[i], begin[i + 1]):
            ratio = np.float64(ratios[t])
            value = np.float64(b[t]) * ratio * ratio ** (power - 1) * scale
            moved[t] = value if value > least else 0.0


@njit(cache=True, nogil=True)
def main_cluster(begin, cluster, b, first, last, main):
    """The cluster of the largest entry of each row; 0 for a row without any."""
    for i in range(first, last):
        main[i] = 0
        largest = 0.0
        for t in range(begin[i], begin[i + 1]):
            if b[t] > largest:
                largest = b[t]
                main[i] = cluster[t]
