"""Compiled loops of the mixed distance: all pairs of a block, and nearest rows.

`terms` holds one row per property of the columns: 1 for categories, the squared difference of
different categories, and the weight.
"""

from __future__ import annotations

import numpy as np

from soffit._compile import njit
from soffit.neighbors.kernels import insert_sorted


@njit(cache=True, nogil=True)
def mixed_square(x, y, terms, total, one, limit):
    """Squared mixed distance of two rows; infinity as soon as it must exceed the limit."""
    known, shared = 0.0, 0.0
    alike = True
    for j in range(len(x)):
        a, b = np.float64(x[j]), np.float64(y[j])
        if np.isnan(a) or np.isnan(b):
            alike &= np.isnan(a) and np.isnan(b)
            continue
        shared += terms[2, j]
        if terms[0, j] > 0.0:
            if a != b:
                known += terms[1, j]
        else:
            known += (a - b) * (a - b)
        # What is missing can only add to it.
        if known > limit:
            return np.inf
    if alike and known == 0.0:
        return 0.0
    missing = total - shared
    if missing <= 0.0:
        return known
    return known + missing * (known + one) / (shared + one)


@njit(cache=True, nogil=True)
def mixed_squares(X, Y, terms, total, one, out):
    """Squared mixed distances of all rows of X to all rows of Y."""
    for i in range(len(X)):
        for j in range(len(Y)):
            out[i, j] = mixed_square(X[i], Y[j], terms, total, one, np.inf)


@njit(cache=True, nogil=True)
def nearest_mixed(X, Y, terms, total, one, indices, squares):
    """The nearest rows of Y for each row of X, sorted by distance, equal distances by index.

    Distances beyond all numbers are none: -1.
    """
    for i in range(len(X)):
        squares[i] = np.inf
        indices[i] = -1
        for j in range(len(Y)):
            square = mixed_square(X[i], Y[j], terms, total, one, squares[i, -1])
            if square < squares[i, -1]:
                insert_sorted(squares[i], indices[i], squares.shape[1], square, j)


@njit(cache=True, nogil=True)
def rank_candidates(X, Y, candidates, terms, total, one, indices, squares):
    """Like `nearest_mixed`, but only the candidates of each row are compared; -1 is none.

    The candidates of a row are in ascending order.
    """
    for i in range(len(X)):
        squares[i] = np.inf
        indices[i] = -1
        for place in range(candidates.shape[1]):
            j = candidates[i, place]
            if j < 0:
                continue
            square = mixed_square(X[i], Y[j], terms, total, one, squares[i, -1])
            if square < squares[i, -1]:
                insert_sorted(squares[i], indices[i], squares.shape[1], square, j)
