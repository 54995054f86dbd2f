"""Compiled loops of expectation-maximisation, for dense and for sparse rows."""

from __future__ import annotations

import numpy as np

from soffit._compile import njit

# Sums over clusters may be reordered, which allows vectorisation. The order is fixed at compile
# time: it depends neither on the data nor on the number of threads.
_ANY_ORDER = {"reassoc", "contract"}


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def edge_ratios(indptr, indices, data, B, H, first, last, unexplained, ratios, terms):
    """Ratios of one step for the rows from `first` to `last`, and their part of the likelihood.

    ratios_ip = sum_j (w_ij / q_ij) h_jp, so that B * ratios is the next B; terms_i is the sum of
    w_ij log q_ij over j <= i, pairs below the diagonal counted twice. A pair fitted at less than
    `unexplained` times its weight has no ratio and counts as fitted at that value.
    """
    m = B.shape[1]
    sums = np.empty(m)
    for i in range(first, last):
        sums[:] = 0.0
        term = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            j = indices[place]
            weight = np.float64(data[place])
            if weight <= 0.0:
                continue
            q = 0.0
            for p in range(m):
                q += np.float64(B[i, p]) * np.float64(H[j, p])
            if q > unexplained * weight:
                share = weight / q
                for p in range(m):
                    sums[p] += share * np.float64(H[j, p])
            else:
                q = max(unexplained * weight, 1e-300)
            # q is symmetric: the logarithm, the most expensive part, is needed once per pair.
            if j < i:
                term += 2.0 * weight * np.log(q)
            elif j == i:
                term += weight * np.log(q)
        for p in range(m):
            ratios[i, p] = sums[p]
        terms[i] = term


@njit(cache=True, nogil=True)
def dense_shares(W, first, unexplained, Q, terms):
    """Turn the products Q of a block of dense rows into shares w / q, and add up w log q.

    The block starts at row `first` of the matrix; pairs and `terms` as in `edge_ratios`.
    """
    rows, n = W.shape
    for r in range(rows):
        i = first + r
        term = 0.0
        for j in range(n):
            weight = np.float64(W[r, j])
            if weight <= 0.0:
                Q[r, j] = 0.0
                continue
            q = np.float64(Q[r, j])
            if q > unexplained * weight:
                Q[r, j] = weight / q
            else:
                Q[r, j] = 0.0
                q = max(unexplained * weight, 1e-300)
            if j < i:
                term += 2.0 * weight * np.log(q)
            elif j == i:
                term += weight * np.log(q)
        terms[i] = term


@njit(cache=True, nogil=True)
def move_rows(B, ratios, power, negligible, moved):
    """Rows of B * ratios ** power, normalized to the sums for power 1; tiny shares vanish."""
    n, m = B.shape
    row = np.empty(m)
    for i in range(n):
        plain = 0.0
        total = 0.0
        for p in range(m):
            ratio = np.float64(ratios[i, p])
            value = np.float64(B[i, p]) * ratio
            plain += value
            for _ in range(power - 1):
                value *= ratio
            row[p] = value
            total += value
        scale = plain / total if total > 0.0 else 0.0
        least = negligible * plain
        for p in range(m):
            value = row[p] * scale
            # Otherwise shares on their way to zero end as subnormal numbers, which are slow.
            moved[i, p] = value if value > least else 0.0


@njit(cache=True, nogil=True, fastmath=_ANY_ORDER)
def mixture_weights(indptr, indices, data, H, prior, max_iter, gap, weights):
    """For each row b: maximise sum_j b_j log sum_p x_p h_jp over x on the simplex, from the prior.

    EM steps for the weights of a mixture with known components. The problem is concave, and
    max_p g_p - 1 bounds the remaining gain, where x_p g_p is the next x_p. A row without any
    explained pair keeps the prior. Only relative affinities matter: extreme ones are divided by the
    largest explained one of their row, so that no product vanishes or overflows, in whatever order
    it is computed. An object whose share in every cluster is below 1e-100 explains nothing.
    """
    m = H.shape[1]
    x = np.empty(m)
    growth = np.empty(m)
    for i in range(weights.shape[0]):
        for p in range(m):
            x[p] = prior[p]
        unit = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            if data[place] > unit:
                q = 0.0
                for p in range(m):
                    q += prior[p] * np.float64(H[indices[place], p])
                if q > 1e-100:
                    unit = data[place]
        if 1e-100 < unit < 1e100:
            unit = 1.0
        for _ in range(max_iter):
            growth[:] = 0.0
            explained = 0.0
            for place in range(indptr[i], indptr[i + 1]):
                j = indices[place]
                q = 0.0
                for p in range(m):
                    q += x[p] * np.float64(H[j, p])
                if q > 1e-100 and data[place] > 0.0:
                    explained += data[place] / unit
                    share = data[place] / unit / q
                    for p in range(m):
                        growth[p] += share * np.float64(H[j, p])
            # Nothing is explained from the start, or all that was by clusters that vanished.
            if explained < 1e-150:
                break
            total = 0.0
            largest = 0.0
            for p in range(m):
                growth[p] /= explained
                largest = max(largest, growth[p])
                x[p] *= growth[p]
                total += x[p]
            for p in range(m):
                x[p] /= total
            if largest - 1.0 <= gap:
                break
        for p in range(m):
            weights[i, p] = x[p]


@njit(cache=True, nogil=True)
def support_ratios(
    indptr, indices, data, begin, cluster, b, h, m, first, last, unexplained, ratios, terms
):
    """`edge_ratios` for the stored entries of B only."""
    own = np.zeros(m)
    sums = np.zeros(m)
    for i in range(first, last):
        for t in range(begin[i], begin[i + 1]):
            own[cluster[t]] = b[t]
            sums[cluster[t]] = 0.0
        term = 0.0
        for place in range(indptr[i], indptr[i + 1]):
            # Unsigned, because numba checks signed indices for wraparound.
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
    """Clusters that a row lacks but would gain from: their ratios exceed `least`.

    Returns the number of such clusters per row, and the clusters.
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
            # A pair without a common cluster gains most from one.
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
    """`move_rows` for the stored entries of B only; those that vanish become zero."""
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
    """The cluster of the largest entry of each row; 0 for an empty row."""
    for i in range(first, last):
        main[i] = 0
        largest = 0.0
        for t in range(begin[i], begin[i + 1]):
            if b[t] > largest:
                largest = b[t]
                main[i] = cluster[t]
