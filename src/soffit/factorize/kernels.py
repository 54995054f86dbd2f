"""Compiled sums over rows with mostly zero entries."""

from __future__ import annotations

import numpy as np

from soffit._compile import njit


@njit(cache=True, nogil=True)
def sum_of_products(rows, first, last, squared):
    """Sum over the rows first to last of products of any two entries, or of their squares."""
    k = rows.shape[1]
    total = np.zeros((k, k))
    used = np.empty(k, dtype=np.int64)
    value = np.empty(k)
    for i in range(first, last):
        count = 0
        for a in range(k):
            if rows[i, a] != 0.0:
                entry = np.float64(rows[i, a])
                used[count] = a
                value[count] = entry * entry if squared else entry
                count += 1
        for x in range(count):
            for y in range(count):
                total[used[x], used[y]] += value[x] * value[y]
    return total
