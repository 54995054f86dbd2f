"""Whether a symmetric nonnegative matrix can be scaled to be doubly stochastic."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import Matrix, is_sparse

_REMEDY = (
    "Give every object a similarity to itself (a positive diagonal), or use normalization='degree'."
)


def check_total_support(A: Matrix, active: NDArray[np.bool_]) -> None:
    """Raise unless every positive entry among the active rows lies on a positive diagonal.

    A diagonal is the set of entries (i, p(i)) of a permutation p. A doubly stochastic scaling
    exists exactly when this holds (Sinkhorn and Knopp, 1967).
    """
    objects = np.flatnonzero(active)
    # The identity and the swap of i and j put every entry of such a matrix on a diagonal.
    if np.all(A.diagonal()[objects] > 0):
        return
    # Hall's theorem: with that many entries in every row, any one of them extends to a diagonal.
    if _counts(A)[objects].min() >= (len(objects) + 1) / 2:
        return
    pattern = sp.csr_array(A)[objects][:, objects]
    pattern.eliminate_zeros()
    partners = _partners(pattern, objects)
    _check_entries(pattern, partners, objects)


def _counts(A: Matrix) -> NDArray[np.int64]:
    """Positive entries of each row."""
    if not is_sparse(A):
        return np.count_nonzero(A, axis=1)
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    return np.bincount(rows[A.data > 0], minlength=A.shape[0])


def _partners(pattern: sp.csr_array, objects: NDArray[np.intp]) -> NDArray[Any]:
    """The column of each row in one positive diagonal; raises if there is none."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    partners = np.asarray(maximum_bipartite_matching(pattern, perm_type="column"))
    alone = np.flatnonzero(partners < 0)
    if alone.size:
        raise ValueError(
            "normalization='sinkhorn' is impossible for this affinity matrix: it has no support. "
            f"{alone.size} of {len(objects)} objects (the first is {objects[alone[0]]}) are left "
            "over when all objects are assigned to distinct similar ones, so no scaling makes "
            f"all row sums equal. {_REMEDY}"
        )
    return partners


def _check_entries(
    pattern: sp.csr_array, partners: NDArray[Any], objects: NDArray[np.intp]
) -> None:
    """Fine Dulmage-Mendelsohn decomposition: entries between its blocks lie on no diagonal."""
    from scipy.sparse.csgraph import connected_components

    owners = np.empty_like(partners)
    owners[partners] = np.arange(len(partners))
    heads = owners[pattern.indices]
    links = sp.csr_array((np.ones(len(heads)), heads, pattern.indptr), shape=pattern.shape)
    _, block = connected_components(links, directed=True, connection="strong")
    tails = np.repeat(np.arange(len(partners)), np.diff(pattern.indptr))
    stray = np.flatnonzero(block[tails] != block[heads])
    if stray.size:
        i, j = objects[tails[stray[0]]], objects[pattern.indices[stray[0]]]
        raise ValueError(
            "normalization='sinkhorn' is impossible for this affinity matrix: it lacks total "
            f"support. {stray.size} positive entries (the first is ({i}, {j})) would have to "
            f"become zero to make all row sums equal. {_REMEDY}"
        )
