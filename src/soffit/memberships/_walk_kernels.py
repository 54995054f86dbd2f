"""Compiled loop of a polynomial walk; a range of rows belongs to one thread."""

from __future__ import annotations

from numba import njit


@njit(cache=True, nogil=True)
def chebyshev_rows(indptr, indices, data, inverse, before, now, arrived, seen, a, b, first, last):
    """One step of T_{j+1} = 2 P T_j - T_{j-1} on a range of rows, with P = D^-1 A.

    `before` becomes T_{j+1}; a and b times it are added to `arrived` and `seen`. Rows without any
    tie (inverse 0) stay: P is the identity there.
    """
    k = now.shape[1]
    for i in range(first, last):
        for c in range(k):
            before[i, c] = -before[i, c]
        twice = 2.0 * inverse[i]
        if twice == 0.0:
            for c in range(k):
                before[i, c] += 2.0 * now[i, c]
        else:
            for p in range(indptr[i], indptr[i + 1]):
                weight, j = twice * data[p], indices[p]
                for c in range(k):
                    before[i, c] += weight * now[j, c]
        for c in range(k):
            arrived[i, c] += a * before[i, c]
            seen[i, c] += b * before[i, c]
