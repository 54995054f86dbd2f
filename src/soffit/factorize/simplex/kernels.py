"""Compiled loops of the row-block solver. They check nothing and change `W`, `U` and `gram`.

Notation: W rows on the simplex, U = theta * W, gram = U'U, s the scales. Without the diagonal the
problem of row i is convex: minimise w'Qw - 2c'w on the simplex with Q = S (gram - u_i u_i') S and
c = S b_i / theta_i + r_i / (2 theta_i^2), where b_i = sum_{j != i} A_ij u_j and r_i sums the rows
that side information links to i. An isolated object (theta 0) has only r_i.
"""

from __future__ import annotations

import numpy as np

from soffit._compile import njit

# A row is solved when the optimality gap falls below this share of its gradient.
GAP = 1e-9
_MAX_STEPS_PER_CLUSTER = 100
# Vectors after the k rows of Q in the working array of a sweep over k clusters.
N_VECTORS = 6


@njit(cache=True, nogil=True, inline="always")
def simplex_qp(Q, c, w, gradient, gap_share):
    """Minimise w'Qw - 2c'w over the simplex by exact pair steps, from the given w, in place."""
    k = w.shape[0]
    size = 0.0
    for a in range(k):
        gradient[a] = -c[a]
    # Most shares are zero. Q is symmetric: its rows are read instead of its columns.
    for b in range(k):
        if w[b] != 0.0:
            for a in range(k):
                gradient[a] += Q[b, a] * w[b]
    for a in range(k):
        size = max(size, abs(c[a]), abs(gradient[a]))
    for _ in range(_MAX_STEPS_PER_CLUSTER * k):
        low = 0
        for a in range(1, k):
            if gradient[a] < gradient[low]:
                low = a
        # The partner that gains most (second-order choice) among those with a positive share.
        high, best, gap, moved = -1, 0.0, 0.0, 0.0
        for a in range(k):
            difference = gradient[a] - gradient[low]
            if w[a] > 0.0 and difference > 0.0:
                if difference > gap:
                    gap = difference
                curvature = Q[a, a] + Q[low, low] - 2.0 * Q[a, low]
                if curvature < 1e-300:
                    curvature = 1e-300
                step = difference / curvature
                if step > w[a]:
                    step = w[a]
                gain = step * (2.0 * difference - step * curvature)
                if gain > best:
                    best, high, moved = gain, a, step
        if high < 0 or gap <= gap_share * size:
            break
        w[high] -= moved
        w[low] += moved
        for a in range(k):
            gradient[a] += moved * (Q[a, low] - Q[a, high])
    total = 0.0
    for a in range(k):
        total += w[a]
    for a in range(k):
        w[a] /= total


@njit(cache=True, nogil=True, inline="always")
def _move_row(i, ties, tied, strength, W, U, theta, s, gram, work, gap):
    """Solve the problem of row i against the other rows and store the result.

    `work` holds Q, then the vectors b (without the rows before i), the part of b that comes from
    these, both filled by the caller, and c, w, r and the gradient.
    """
    k = W.shape[1]
    b, earlier, c, w, r = work[k], work[k + 1], work[k + 2], work[k + 3], work[k + 4]
    t = np.float64(theta[i])
    for a in range(k):
        r[a] = 0.0
    for p in range(ties[i], ties[i + 1]):
        for a in range(k):
            r[a] += strength[p] * W[tied[p], a]
    for a in range(k):
        w[a] = W[i, a]
        c[a] = 0.5 * r[a]
        if t > 0.0:
            c[a] = s[a] * (b[a] + earlier[a]) / t + c[a] / (t * t)
        own = np.float64(U[i, a])
        if own != 0.0:
            for d in range(k):
                gram[a, d] -= own * np.float64(U[i, d])
        scale = s[a] if t > 0.0 else 0.0
        for d in range(k):
            work[a, d] = scale * s[d] * gram[a, d]
    simplex_qp(work, c, w, work[k + 5], gap)
    for a in range(k):
        W[i, a] = w[a]
        U[i, a] = theta[i] * w[a]
    for a in range(k):
        own = np.float64(U[i, a])
        if own != 0.0:
            for d in range(k):
                gram[a, d] += own * np.float64(U[i, d])


@njit(cache=True, nogil=True)
def sweep_sparse(
    indptr, indices, data, ties, tied, strength,
    W, U, U_group, group, theta, s, gram, first, last, gap, work, association,
):  # fmt: skip
    """One Gauss-Seidel pass over the rows first to last of a CSR matrix.

    Rows are read in their current state, except those updated concurrently outside the range: the
    rows from `group` on, which `U_group` holds in their earlier state. The range's part of
    u_c'A u_c without the diagonal is added to `association`; `ties`, `tied` and `strength` are the
    CSR arrays of the side information, and `work` is a (k + N_VECTORS, k) working array.
    """
    k = W.shape[1]
    group_end = group + len(U_group)
    b, earlier = work[k], work[k + 1]
    for i in range(first, last):
        if theta[i] == 0.0 and ties[i] == ties[i + 1]:
            continue
        for a in range(k):
            b[a] = 0.0
            earlier[a] = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if group <= j < group_end and (j < first or j >= last):
                for a in range(k):
                    b[a] += data[p] * U_group[j - group, a]
            elif first <= j < i:
                for a in range(k):
                    earlier[a] += data[p] * U[j, a]
            elif j != i:
                for a in range(k):
                    b[a] += data[p] * U[j, a]
        _move_row(i, ties, tied, strength, W, U, theta, s, gram, work, gap)
        # Each pair is met once, just after its later row was updated: no second product is needed.
        for a in range(k):
            association[a] += 2.0 * U[i, a] * earlier[a]


@njit(cache=True, nogil=True)
def sweep_supported(
    indptr, indices, data, ties, tied, strength,
    W, U, U_group, group, theta, s, gram, first, last, gap, Q, vectors, chosen,
):  # fmt: skip
    """The same pass for many clusters: a row's problem has only the clusters used around it.

    An object never joins a cluster that neither it nor any of its neighbours uses. The sum of
    associations is left to the caller. `Q` is a (k, k) working array, `vectors` a (5, k) one, and
    `chosen` has room for k numbers.
    """
    k = W.shape[1]
    group_end = group + len(U_group)
    b, r, c, w, gradient = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    for i in range(first, last):
        if theta[i] == 0.0 and ties[i] == ties[i + 1]:
            continue
        for a in range(k):
            b[a] = 0.0
            r[a] = 0.0
        for p in range(ties[i], ties[i + 1]):
            for a in range(k):
                r[a] += strength[p] * W[tied[p], a]
        # Whole rows, although most entries are zero: without branches the loops are vectorised.
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if group <= j < group_end and (j < first or j >= last):
                row = U_group[j - group]
            elif j != i:
                row = U[j]
            else:
                continue
            value = data[p]
            for a in range(k):
                b[a] += value * row[a]
        count = 0
        for a in range(k):
            if b[a] != 0.0 or r[a] != 0.0 or W[i, a] != 0.0:
                chosen[count] = a
                count += 1
        linked = theta[i] > 0.0
        for x in range(count):
            a = chosen[x]
            w[x] = W[i, a]
            c[x] = s[a] * b[a] / theta[i] + 0.5 * r[a] / theta[i] ** 2 if linked else 0.5 * r[a]
            for y in range(count):
                d = chosen[y]
                gram[a, d] -= U[i, a] * U[i, d]
                Q[x, y] = s[a] * s[d] * gram[a, d] if linked else 0.0
        simplex_qp(Q, c, w[:count], gradient, gap)
        for x in range(count):
            W[i, chosen[x]] = w[x]
            U[i, chosen[x]] = theta[i] * w[x]
        for x in range(count):
            for y in range(count):
                a, d = chosen[x], chosen[y]
                gram[a, d] += U[i, a] * U[i, d]


@njit(cache=True, nogil=True)
def sweep_block(
    first, A_block, earlier_block, later_block, ties, tied, strength,
    W, U, U_old, theta, s, gram, gap, work, association,
):  # fmt: skip
    """Gauss-Seidel inside one block of dense rows, given its products with all others.

    `earlier_block` holds A_block times the rows before the block (already updated), `later_block`
    times the rows of the block and after it, before the block's update (`U_old`).
    """
    k = W.shape[1]
    b, earlier = work[k], work[k + 1]
    for q in range(A_block.shape[0]):
        i = first + q
        if theta[i] == 0.0 and ties[i] == ties[i + 1]:
            continue
        for a in range(k):
            earlier[a] = earlier_block[q, a]
            b[a] = later_block[q, a] - A_block[q, i] * U_old[q, a]
        for before in range(q):
            value = A_block[q, first + before]
            for a in range(k):
                earlier[a] += value * U[first + before, a]
                b[a] -= value * U_old[before, a]
        _move_row(i, ties, tied, strength, W, U, theta, s, gram, work, gap)
        for a in range(k):
            association[a] += 2.0 * U[i, a] * earlier[a]


@njit(cache=True, nogil=True)
def sweep_weighted(indptr, indices, data, weight, W, s):
    """One pass with pair weights: every row has its own Gram matrix."""
    n, k = W.shape
    Q = np.empty((k, k))
    c = np.empty(k)
    w = np.empty(k)
    gradient = np.empty(k)
    for i in range(n):
        Q[:] = 0.0
        c[:] = 0.0
        known = 0.0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j == i:
                continue
            known += weight[p]
            for a in range(k):
                row = weight[p] * s[a] * W[j, a]
                c[a] += row * data[p]
                for d in range(k):
                    Q[a, d] += row * s[d] * W[j, d]
        if known == 0.0:
            continue
        for a in range(k):
            w[a] = W[i, a]
        simplex_qp(Q, c, w, gradient, GAP)
        for a in range(k):
            W[i, a] = w[a]


@njit(cache=True, nogil=True)
def pair_statistics(indptr, indices, data, weight, W):
    """The b and H of the weighted loss as a quadratic in the scales; each pair is read once."""
    n, k = W.shape
    b = np.zeros(k)
    H = np.zeros((k, k))
    product = np.empty(k)
    for i in range(n):
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j <= i:
                continue
            for a in range(k):
                product[a] = np.float64(W[i, a]) * np.float64(W[j, a])
            for a in range(k):
                term = 2.0 * weight[p] * product[a]
                b[a] += term * data[p]
                for d in range(k):
                    H[a, d] += term * product[d]
    return b, H


@njit(cache=True, nogil=True)
def solve_new_rows(Q, C, W):
    """Solve one simplex problem per row: shared Q, linear terms C, starts (and results) in W."""
    m, k = C.shape
    c = np.empty(k)
    w = np.empty(k)
    gradient = np.empty(k)
    for i in range(m):
        for a in range(k):
            c[a] = C[i, a]
            w[a] = W[i, a]
        simplex_qp(Q, c, w, gradient, GAP)
        for a in range(k):
            W[i, a] = w[a]


# --- rows with few entries ------------------------------------------------------------------------
# With very many clusters a row is stored as its entries: `columns` and `shares` are (n, m) arrays
# of which the first `used` entries of a row count. `place` has a -1 for each of the k clusters
# between two rows: it is where a cluster stands among the `chosen` ones.


@njit(cache=True, nogil=True)
def _gather(i, first_entry, last_entry, columns, shares, weight, vector, vectors, chosen, place, n):
    """Add a weighted row to a vector of the chosen clusters; new clusters are appended."""
    for x in range(first_entry, last_entry):
        a = columns[i, x]
        at = place[a]
        if at < 0:
            at = n
            place[a] = at
            chosen[at] = a
            vectors[0, at] = 0.0
            vectors[1, at] = 0.0
            vectors[2, at] = 0.0
            n += 1
        vectors[vector, at] += weight * shares[i, x]
    return n


@njit(cache=True, nogil=True)
def _solve_entries(n_own, n, most, t, s, gram, Q, vectors, chosen, place, gap):
    """Solve a row on the chosen clusters, at most `most` of them; returns how many these are.

    `vectors` holds w, b and r of the module's notation, then c and the gradient. The row's own
    clusters come first and stay; the others are preferred by their affinity.
    """
    w, b, r, c, gradient = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    for x in range(n):
        place[chosen[x]] = -1
        c[x] = s[chosen[x]] * b[x] / t + 0.5 * r[x] / t**2 if t > 0.0 else 0.5 * r[x]
    if n > most:
        for x in range(n_own, most):
            best = x
            for y in range(x + 1, n):
                if c[y] > c[best]:
                    best = y
            c[x], c[best] = c[best], c[x]
            w[x], w[best] = w[best], w[x]
            chosen[x], chosen[best] = chosen[best], chosen[x]
        n = most
    for x in range(n):
        for y in range(n):
            a, d = chosen[x], chosen[y]
            Q[x, y] = s[a] * s[d] * gram[a, d] if t > 0.0 else 0.0
    simplex_qp(Q, c[:n], w[:n], gradient, gap)
    return n


@njit(cache=True, nogil=True)
def _store_entries(i, n, w, chosen, columns, shares, used):
    """The positive entries of a solved row."""
    count = 0
    for x in range(n):
        if w[x] > 0.0:
            columns[i, count] = chosen[x]
            shares[i, count] = w[x]
            count += 1
    used[i] = count


@njit(cache=True, nogil=True)
def _add_products(i, sign, columns, shares, used, t, gram):
    """Add the products of any two entries of u_i to the Gram matrix, or subtract them."""
    for x in range(used[i]):
        own = sign * t * shares[i, x]
        for y in range(used[i]):
            gram[columns[i, x], columns[i, y]] += own * t * shares[i, y]


@njit(cache=True, nogil=True)
def sweep_entries(
    indptr, indices, data, ties, tied, strength, columns, shares, used,
    columns_group, shares_group, used_group, group, theta, s, gram, first, last, gap,
    Q, vectors, chosen, place,
):  # fmt: skip
    """The pass of `sweep_supported` over rows that are stored as their entries.

    `Q` is an (m, m) working array, `vectors` a (5, k) one, `chosen` and `place` have k numbers.
    """
    group_end = group + len(used_group)
    most = columns.shape[1]
    for i in range(first, last):
        if theta[i] == 0.0 and ties[i] == ties[i + 1]:
            continue
        n_own = _gather(i, 0, used[i], columns, shares, 1.0, 0, vectors, chosen, place, 0)
        n = n_own
        for p in range(ties[i], ties[i + 1]):
            j = tied[p]
            n = _gather(j, 0, used[j], columns, shares, strength[p], 2, vectors, chosen, place, n)
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            weight = data[p] * theta[j]
            if group <= j < group_end and (j < first or j >= last):
                q = j - group
                n = _gather(
                    q, 0, used_group[q], columns_group, shares_group, weight, 1,
                    vectors, chosen, place, n,
                )  # fmt: skip
            elif j != i:
                n = _gather(j, 0, used[j], columns, shares, weight, 1, vectors, chosen, place, n)
        _add_products(i, -1.0, columns, shares, used, theta[i], gram)
        n = _solve_entries(n_own, n, most, theta[i], s, gram, Q, vectors, chosen, place, gap)
        _store_entries(i, n, vectors[0], chosen, columns, shares, used)
        _add_products(i, 1.0, columns, shares, used, theta[i], gram)


@njit(cache=True, nogil=True)
def place_entries(
    indptr, indices, data, row_starts, row_columns, row_values, theta, s, gram,
    first, last, gap, columns, shares, used, Q, vectors, chosen, place,
):  # fmt: skip
    """Rows of new objects from their affinities to rows of the factor, which are in CSR form.

    Objects without affinities get no entries.
    """
    most = columns.shape[1]
    for i in range(first, last):
        n = 0
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            n = _gather(
                0, row_starts[j], row_starts[j + 1], row_columns, row_values, data[p], 1,
                vectors, chosen, place, n,
            )  # fmt: skip
        if n == 0:
            continue
        best = 0
        for x in range(1, n):
            if s[chosen[x]] * vectors[1, x] > s[chosen[best]] * vectors[1, best]:
                best = x
        vectors[0, best] = 1.0
        if n > most:
            chosen[0], chosen[best] = chosen[best], chosen[0]
            for y in range(3):
                vectors[y, 0], vectors[y, best] = vectors[y, best], vectors[y, 0]
        n = _solve_entries(1, n, most, theta[i], s, gram, Q, vectors, chosen, place, gap)
        _store_entries(i - first, n, vectors[0], chosen, columns, shares, used)


@njit(cache=True, nogil=True)
def products_of_entries(columns, shares, used, theta, first, last, squared, total):
    """Add the products of any two entries of the rows u_i, or of their squares, to a total."""
    for i in range(first, last):
        for x in range(used[i]):
            left = theta[i] * shares[i, x]
            for y in range(used[i]):
                product = left * theta[i] * shares[i, y]
                total[columns[i, x], columns[i, y]] += product * product if squared else product


@njit(cache=True, nogil=True)
def forms_of_entries(indptr, indices, data, columns, shares, used, theta, first, last, row, total):
    """Add the rows' part of u_c'A u_c without the diagonal; `row` has a 0 for each cluster."""
    for i in range(first, last):
        for x in range(used[i]):
            row[columns[i, x]] = theta[i] * shares[i, x]
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            if j != i:
                weight = data[p] * theta[j]
                for x in range(used[j]):
                    c = columns[j, x]
                    total[c] += weight * shares[j, x] * row[c]
        for x in range(used[i]):
            row[columns[i, x]] = 0.0
