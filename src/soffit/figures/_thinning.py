"""Fewer points with the same picture."""

from __future__ import annotations

import numpy as np

from soffit._typing import IntArray

# One fixed order for all figures: the same objects are shown in each of them.
_SEED = 20210721


def thinned(labels: IntArray, most: int) -> IntArray:
    """At most `most` objects, ascending; every cluster keeps its share to within one object.

    Objects are shuffled in a fixed way and sorted by cluster; evenly spaced ones are taken. A
    cluster too small for that keeps one object, as far as there is room.
    """
    if isinstance(most, bool) or most < 1:
        raise ValueError(f"max_points must be at least 1, got {most!r}; try 20000.")
    n = len(labels)
    if n <= most:
        return np.arange(n)
    order = np.random.default_rng(_SEED).permutation(n)
    order = order[np.argsort(labels[order], kind="stable")]
    _, first = np.unique(labels[order], return_index=True)
    clusters = order[first][:most]
    spaced = order[((np.arange(most) + 0.5) * (n / most)).astype(np.int64)]
    missing = clusters[~np.isin(labels[clusters], labels[spaced])]
    if len(missing):
        # Room is made evenly over all others.
        kept = np.linspace(0, most - 1, most - len(missing)).astype(np.int64)
        spaced = np.concatenate([spaced[kept], missing])
    return np.unique(spaced)
