"""Compiled loop of a polynomial walk; a range of rows belongs to one thread."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def chebyshev_rows(indptr, indices, data, inverse, before, now, arrived, seen, a, b, first, last):
    """One step of T_{j+1} = 2 P T_j - T_{j-1} on a range of rows, with P = D^-1 A.

    `before` becomes T_{j+1}; a and b times it are added to `arrived` and `seen`. Rows without any
    tie (inverse 0) stay: P is the identity there.
    """
    k = now.shape[1]
    two = now.dtype.type(2.0)
    moved = np.empty(k, dtype=now.dtype)
    for i in range(first, last):
        if inverse[i] == 0.0:
            for c in range(k):
                moved[c] = now[i, c]
        else:
            moved[:] = 0.0
            for p in range(indptr[i], indptr[i + 1]):
                weight, j = inverse[i] * data[p], indices[p]
                for c in range(k):
                    moved[c] += weight * now[j, c]
        for c in range(k):
            later = two * moved[c] - before[i, c]
            before[i, c] = later
            arrived[i, c] += a * later
            seen[i, c] += b * later
