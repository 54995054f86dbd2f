"""The part of an affinity matrix that says something about clusters."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, Matrix, is_sparse

# A separate component below this share of an even cluster is no cluster, but a stray group.
_STRAY_SHARE = 0.02


def without_diagonal(A: Matrix) -> Matrix:
    """A with zero self-similarities, which say nothing about clusters; A itself if they are."""
    if not np.any(A.diagonal()):
        return A
    if is_sparse(A):
        trimmed = sp.csr_array(A - sp.diags_array(A.diagonal(), dtype=A.dtype))
        trimmed.eliminate_zeros()
        return trimmed
    trimmed = A.copy()
    np.fill_diagonal(trimmed, 0.0)
    return trimmed


def without_strays(A: Matrix, n_clusters: int) -> Matrix:
    """A without the ties inside tiny separate components, so that none passes for a cluster.

    Their objects become unlinked: which cluster they belong to is not known. Nothing is removed
    where that would leave less than half of the objects.
    """
    if not is_sparse(A):
        return A
    from soffit.affinity._connect_kernels import components_of_rows

    count, component = components_of_rows(A.indptr, A.indices)
    if count == 1:
        return A
    n = A.shape[0]
    sizes = np.bincount(component)
    stray = (sizes < _STRAY_SHARE * n / n_clusters)[component]
    if not stray.any() or 2 * stray.sum() > n:
        return A
    keep: FloatArray = (~stray).astype(A.dtype)
    trimmed = sp.csr_array(sp.diags_array(keep) @ A)
    trimmed.eliminate_zeros()
    trimmed.sort_indices()
    return trimmed
