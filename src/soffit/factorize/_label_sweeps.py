"""Labels made better by those of the neighbours: a few sweeps over the edges."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, pieces
from soffit._typing import IntArray

_MOST_SWEEPS = 10
# Sweeps go on while they raise the weight inside clusters by this share.
_GAIN = 1e-3
_ROWS = 2**13


def majority_sweeps(A: sp.csr_array, labels: IntArray, n_clusters: int) -> IntArray:
    """Give every object the label that its ties favour, as long as more weight gets inside.

    Objects that a coarser graph put together by mistake part again. No cluster loses all objects.
    """
    best = labels = np.asarray(labels, dtype=np.int32)
    before, alive = 0.0, len(np.unique(labels))
    for _ in range(_MOST_SWEEPS):
        moved, inside = _sweep(A, labels, n_clusters)
        if inside <= before * (1 + _GAIN):
            break
        best, before = labels, inside
        if len(np.unique(moved)) < alive:
            break
        labels = moved
    return best


def _sweep(A: sp.csr_array, labels: IntArray, n_clusters: int) -> tuple[IntArray, float]:
    """New labels, and the weight inside the given ones."""
    from soffit.factorize._label_kernels import majority

    moved = np.empty_like(labels)

    def sweep(rows: range) -> float:
        graph = (A.indptr, A.indices, A.data)
        return float(majority(*graph, labels, n_clusters, rows.start, rows.stop, moved))

    return moved, sum(each(sweep, pieces(A.shape[0], _ROWS)))
