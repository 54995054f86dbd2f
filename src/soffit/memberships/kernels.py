"""Compiled loops of mixtures and walks."""

from __future__ import annotations

import numpy as np

from soffit._compile import njit
from soffit.memberships.em_steps import NEGLIGIBLE


@njit(cache=True, nogil=True)
def share_out(squares, constant, tails, d, weights, shares, pull, log_density):
    """Fill the responsibilities and weights of the objects; returns the log likelihood.

    `squares` are distances to the components, `constant` the logarithms of weights and scales. For
    infinite `tails` the components are Gaussian, and the responsibilities are the weights.
    The log likelihood of object i counts `weights[i]` times. `log_density` has room for a row.
    """
    n, g = squares.shape
    is_gaussian = np.isinf(tails)
    # Products with inverses: a division takes several times as long.
    half, inverse = 0.5 * (tails + d), 0.0 if is_gaussian else 1.0 / tails
    total_likelihood = 0.0
    for i in range(n):
        largest = -np.inf
        for c in range(g):
            square = max(squares[i, c], 0.0)
            if is_gaussian:
                log_density[c] = constant[c] - 0.5 * square
            else:
                # Half the time of log1p, which differs only where squares are at rounding level.
                log_density[c] = constant[c] - half * np.log(1.0 + square * inverse)
            largest = max(log_density[c], largest)
        total = 0.0
        for c in range(g):
            below = log_density[c] - largest
            shares[i, c] = np.exp(below) if below > NEGLIGIBLE else 0.0
            total += shares[i, c]
        scale = 1.0 / total
        for c in range(g):
            shares[i, c] *= scale
        if not is_gaussian:
            for c in range(g):
                pull[i, c] = shares[i, c] * (tails + d) / (tails + max(squares[i, c], 0.0))
        total_likelihood += weights[i] * (largest + np.log(total))
    return total_likelihood


@njit(cache=True, nogil=True)
def chebyshev_rows(
    indptr, indices, data, inverse, before, now, arrived, seen, a, b, first, last, moved
):
    """One step of T_{j+1} = 2 P T_j - T_{j-1} on a range of rows, with P = D^-1 A.

    `before` becomes T_{j+1}; a and b times it are added to `arrived` and `seen`. Isolated rows
    (inverse 0) stay: P is the identity there. `moved` has room for a row.
    """
    k = now.shape[1]
    for i in range(first, last):
        if inverse[i] == 0.0:
            for c in range(k):
                moved[c] = now[i, c]
        else:
            for c in range(k):
                moved[c] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                weight, j = inverse[i] * data[p], indices[p]
                for c in range(k):
                    moved[c] += weight * now[j, c]
        for c in range(k):
            later = 2.0 * moved[c] - before[i, c]
            before[i, c] = later
            arrived[i, c] += a * later
            seen[i, c] += b * later


@njit(cache=True, nogil=True)
def step_entries(
    indptr, indices, data, weight, rows_start, rows_column, rows_share,
    stay, own_start, own_column, own_share, first, last, floor, row, chosen,
    columns, shares, used,
):  # fmt: skip
    """One step of a walk for rows in CSR form: stay times the own row plus weighted neighbours.

    Entries below `floor` times the largest are dropped, and the others divided by their sum. `row`
    has a 0 for each cluster, `chosen` room for a number each; `columns` and `shares` have room for
    all entries, `used` for the number of those of each row.
    """
    end = 0
    for i in range(first, last):
        n = 0
        for q in range(own_start[i], own_start[i + 1]):
            if stay[i] * own_share[q] > 0.0:
                row[own_column[q]] = stay[i] * own_share[q]
                chosen[n] = own_column[q]
                n += 1
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            share = weight[i] * data[p]
            for q in range(rows_start[j], rows_start[j + 1]):
                c, part = rows_column[q], share * rows_share[q]
                if part > 0.0:
                    if row[c] == 0.0:
                        chosen[n] = c
                        n += 1
                    row[c] += part
        largest = 0.0
        for x in range(n):
            if row[chosen[x]] > largest:
                largest = row[chosen[x]]
        total, begin = 0.0, end
        for x in range(n):
            c = chosen[x]
            if row[c] > 0.0 and row[c] >= floor * largest:
                columns[end] = c
                shares[end] = row[c]
                total += row[c]
                end += 1
            row[c] = 0.0
        for x in range(begin, end):
            shares[x] /= total
        used[i - first] = end - begin
    return end
