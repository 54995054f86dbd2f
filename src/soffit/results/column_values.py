"""Clusters that are nothing but the values of one or two columns."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from soffit._typing import FloatArray, IntArray

# Columns with more values are not discrete; with more of these columns only the best are paired.
_MOST_VALUES = 20
_MOST_PAIRED = 12
# The values tell the cluster of all but this share of the objects, and of all but this share of
# those outside the largest cluster. A combination of values has this many objects at least.
_MISSES = 0.02
_MISSES_OUTSIDE = 0.1
_LEAST_PER_COMBINATION = 5


def telling_columns(values: FloatArray, names: Sequence[str], labels: IntArray) -> tuple[str, ...]:
    """The one or two columns whose values determine the clusters; none if no columns do.

    Parameters
    ----------
    values : array of shape (n, p)
        Numbers and codes, NaN where missing.
    names : sequence of str
        Names of the columns.
    labels : array of shape (n,)
        Cluster of each object.
    """
    n = len(labels)
    outside = n - int(np.bincount(labels).max())
    allowed = min(_MISSES * n, _MISSES_OUTSIDE * outside)
    if outside == 0:
        return ()
    codes = {name: _codes(column) for name, column in zip(names, values.T, strict=True)}
    discrete = {name: code for name, code in codes.items() if code is not None}
    misses = {name: _misses(code, labels) for name, code in discrete.items()}
    ranked = sorted(misses, key=lambda name: (misses[name], discrete[name].max()))
    if ranked and misses[ranked[0]] <= allowed:
        return (ranked[0],)
    for one, other in combinations(ranked[:_MOST_PAIRED], 2):
        width = int(discrete[other].max()) + 1
        both = np.unique(discrete[one] * width + discrete[other], return_inverse=True)[1]
        if (both.max() + 1) * _LEAST_PER_COMBINATION <= n and _misses(both, labels) <= allowed:
            return one, other
    return ()


def _codes(column: FloatArray) -> IntArray | None:
    """The number of each object's value, a gap being one of them; None if there are many values."""
    found, codes = np.unique(column, return_inverse=True)
    few = min(_MOST_VALUES, len(column) // _LEAST_PER_COMBINATION)
    return np.asarray(codes) if 1 < len(found) <= few else None


def _misses(codes: IntArray, labels: IntArray) -> int:
    """Objects whose cluster is not the most frequent one of their value."""
    k = int(labels.max()) + 1
    counts = np.bincount(codes * k + labels, minlength=(int(codes.max()) + 1) * k).reshape(-1, k)
    return len(labels) - int(counts.max(axis=1).sum())
