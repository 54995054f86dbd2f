"""Compiled loops of the solvers for a nonnegative factor. They check nothing and change G in place.

Without the diagonal the loss is quadratic in the row g of object i: g'Qg - 2b'g and a constant,
with Q = sum_j m_ij g_j g_j' and b = sum_j m_ij F_ij g_j over the other objects. A pass over the
row updates its entries one after the other, either by the published ratio (eq. 6 and 7 of Zass &
Shashua) or to the minimum over the entry (`exact`), bounded by `limit`. `gram` is G'G; a diagonal
entry that has fallen to `least` is rounding error of an empty column.
"""

from __future__ import annotations

import numpy as np

from soffit._compile import njit

# A column sum over the other objects below this share of the entry is only rounding error.
_ROUNDING = 1e-14
# Smaller entries are on their way to zero and would only slow the arithmetic down.
_VANISHED = 1e-36
# A new row is solved when no entry's gradient exceeds this share of its size.
_GAP = 1e-9
_MAX_PASSES = 10_000


@njit(cache=True, nogil=True)
def _new_entry(old, linear, fitted, curvature, exact, limit):
    """The next value of an entry, from its entries of b and Qg and its diagonal entry of Q."""
    if exact:
        value = min(old + (linear - fitted) / curvature, max(limit, old))
    elif fitted > 0.0:
        value = old * max(linear, 0.0) / fitted
    else:
        value = old
    return value if value > _VANISHED else 0.0


@njit(cache=True, nogil=True)
def _move_row(i, b, G, gram, least, g, fitted, exact, limit):
    """Update the entries of row i against all other rows, and the Gram matrix of G.

    `g` and `fitted` are working vectors. The Gram matrix is symmetric: `fitted`, the product of it
    and the row, is kept current by its rows, of which only those of nonzero entries count.
    """
    k = G.shape[1]
    for a in range(k):
        g[a] = G[i, a]
        fitted[a] = 0.0
    for a in range(k):
        own = g[a]
        if own != 0.0:
            for c in range(k):
                gram[a, c] -= own * g[c]
                fitted[c] += own * gram[a, c]
    for a in range(k):
        old = g[a]
        # A column that no other object shares is not part of the loss.
        if gram[a, a] <= max(least[a], _ROUNDING * old * old):
            G[i, a] = 0.0
        else:
            G[i, a] = _new_entry(old, b[a], fitted[a], gram[a, a], exact, limit)
        g[a] = G[i, a]
        change = g[a] - old
        if change != 0.0:
            for c in range(k):
                fitted[c] += change * gram[a, c]
    for a in range(k):
        own = g[a]
        if own != 0.0:
            for c in range(k):
                gram[a, c] += own * g[c]


@njit(cache=True, nogil=True)
def sweep_sparse(indptr, indices, data, G, gram, least, exact, limit):
    """One Gauss-Seidel pass over the rows of a CSR matrix; returns g_c'F g_c without diagonal."""
    n, k = G.shape
    g = np.empty(k)
    fitted = np.empty(k)
    b = np.empty(k)
    earlier = np.empty(k)
    association = np.zeros(k)
    for i in range(n):
        earlier[:] = 0.0
        b[:] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j < i:
                for a in range(k):
                    earlier[a] += data[p] * G[j, a]
            elif j > i:
                for a in range(k):
                    b[a] += data[p] * G[j, a]
        for a in range(k):
            b[a] += earlier[a]
        _move_row(i, b, G, gram, least, g, fitted, exact, limit)
        # Each pair is met once, just after its later row was updated: no second product is needed.
        for a in range(k):
            association[a] += 2.0 * G[i, a] * earlier[a]
    return association


@njit(cache=True, nogil=True)
def sweep_block(first, F_block, earlier_block, later_block, G, gram, least, exact, limit):
    """Gauss-Seidel inside one block of dense rows.

    `earlier_block` and `later_block` hold the products of the block with the rows before and after
    it; those inside it are computed here from the current rows.
    """
    size = F_block.shape[0]
    k = G.shape[1]
    g = np.empty(k)
    fitted = np.empty(k)
    b = np.empty(k)
    earlier = np.empty(k)
    association = np.zeros(k)
    for r in range(size):
        for a in range(k):
            earlier[a] = earlier_block[r, a]
            b[a] = later_block[r, a]
        for q in range(r):
            value = F_block[r, first + q]
            for a in range(k):
                earlier[a] += value * G[first + q, a]
        for q in range(r + 1, size):
            value = F_block[r, first + q]
            for a in range(k):
                b[a] += value * G[first + q, a]
        for a in range(k):
            b[a] += earlier[a]
        _move_row(first + r, b, G, gram, least, g, fitted, exact, limit)
        for a in range(k):
            association[a] += 2.0 * G[first + r, a] * earlier[a]
    return association


@njit(cache=True, nogil=True)
def sweep_weighted(indptr, indices, values, weights, G, exact, limit):
    """One pass over the known pairs, keeping their fitted values current; returns the loss."""
    n, k = G.shape
    longest = 0
    for i in range(n):
        longest = max(longest, indptr[i + 1] - indptr[i])
    fit = np.empty(longest)
    loss = 0.0
    for i in range(n):
        begin, count = indptr[i], indptr[i + 1] - indptr[i]
        for q in range(count):
            j = indices[begin + q]
            fit[q] = 0.0
            for a in range(k):
                fit[q] += np.float64(G[i, a]) * np.float64(G[j, a])
        for a in range(k):
            old = np.float64(G[i, a])
            linear, fitted, curvature = 0.0, 0.0, 0.0
            for q in range(count):
                g = np.float64(G[indices[begin + q], a])
                weighted = weights[begin + q] * g
                linear += weighted * values[begin + q]
                fitted += weighted * fit[q]
                curvature += weighted * g
            if curvature <= 0.0:
                G[i, a] = 0.0
            else:
                G[i, a] = _new_entry(old, linear, fitted, curvature, exact, limit)
            change = np.float64(G[i, a]) - old
            for q in range(count):
                fit[q] += change * np.float64(G[indices[begin + q], a])
        for q in range(count):
            if indices[begin + q] < i:
                loss += 2.0 * weights[begin + q] * (values[begin + q] - fit[q]) ** 2
    return loss


@njit(cache=True, nogil=True)
def weighted_terms(indptr, indices, values, weights, G, linear, fitted):
    """Fill b and Qg of every row from the known pairs; returns the loss."""
    n, k = G.shape
    loss = 0.0
    for i in range(n):
        for a in range(k):
            linear[i, a] = 0.0
            fitted[i, a] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            fit = 0.0
            for a in range(k):
                fit += np.float64(G[i, a]) * np.float64(G[j, a])
            for a in range(k):
                weighted = weights[p] * G[j, a]
                linear[i, a] += weighted * values[p]
                fitted[i, a] += weighted * fit
            loss += weights[p] * (values[p] - fit) ** 2
    return loss


@njit(cache=True, nogil=True)
def nonnegative_qp(Q, c, g):
    """Minimise g'Qg - 2c'g over g >= 0 by exact coordinate steps from the given g."""
    k = g.shape[0]
    for _ in range(_MAX_PASSES):
        gap, size = 0.0, 0.0
        for a in range(k):
            if Q[a, a] <= 0.0:
                g[a] = 0.0
                continue
            gradient = -c[a]
            for d in range(k):
                gradient += Q[a, d] * g[d]
            value = max(g[a] - gradient / Q[a, a], 0.0)
            gap = max(gap, abs(value - g[a]) * Q[a, a])
            size = max(size, abs(c[a]))
            g[a] = value
        if gap <= _GAP * size:
            break


@njit(cache=True, nogil=True)
def solve_new_rows(Q, C, G):
    """Solve one nonnegative problem per row: shared Q, linear terms C, starts and results in G."""
    m, k = C.shape
    c = np.empty(k)
    g = np.empty(k)
    for i in range(m):
        for a in range(k):
            c[a] = C[i, a]
            g[a] = G[i, a]
        nonnegative_qp(Q, c, g)
        for a in range(k):
            G[i, a] = g[a]
