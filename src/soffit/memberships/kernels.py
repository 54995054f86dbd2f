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
    total_likelihood = 0.0
    for i in range(n):
        largest = -np.inf
        for c in range(g):
            square = squares[i, c]
            if square < 0.0:
                square = 0.0
            if is_gaussian:
                log_density[c] = constant[c] - 0.5 * square
            else:
                # Half the time of log1p, which differs only where squares are at rounding level.
                log_density[c] = constant[c] - 0.5 * (tails + d) * np.log(1.0 + square / tails)
            if log_density[c] > largest:
                largest = log_density[c]
        total = 0.0
        for c in range(g):
            below = log_density[c] - largest
            shares[i, c] = np.exp(below) if below > NEGLIGIBLE else 0.0
            total += shares[i, c]
        for c in range(g):
            shares[i, c] /= total
            if not is_gaussian:
                square = squares[i, c]
                if square < 0.0:
                    square = 0.0
                pull[i, c] = shares[i, c] * (tails + d) / (tails + square)
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
