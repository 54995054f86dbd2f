"""Side information as part of an affinity matrix and of pair weights."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._typing import Matrix, is_sparse
from soffit.affinity import SideInformation


def with_side(A: Matrix, side: SideInformation | None, side_weight: float) -> Matrix:
    """K' = K + alpha R, with alpha in units of the largest affinity; K itself without any pairs.

    A sparse matrix stays sparse. Cannot-link pairs may become negative.
    """
    if side is None:
        return A
    R = side.relation(A.dtype)
    largest = A.max() if A.shape[0] else 0.0
    strength = A.dtype.type(side_weight * (float(largest) or 1.0))
    if is_sparse(A):
        joined = sp.csr_array(A + strength * R)
        joined.eliminate_zeros()
        joined.sort_indices()
        return joined
    joined = A.copy()
    pairs = R.tocoo()
    joined[pairs.row, pairs.col] += strength * pairs.data
    return joined


def with_known_pairs(pair_weight: Matrix | None, side: SideInformation | None) -> Matrix | None:
    """Pair weights in which the pairs of the side information count as much as any other."""
    if pair_weight is None or side is None:
        return pair_weight
    told = abs(side.relation(pair_weight.dtype)) * pair_weight.max()
    if is_sparse(pair_weight):
        return sp.csr_array(pair_weight.maximum(told))
    weight = np.array(pair_weight)
    pairs = told.tocoo()
    weight[pairs.row, pairs.col] = pairs.data
    return weight


def without_negative(A: Matrix) -> Matrix:
    """A with zero in place of negative entries; A itself if there are none."""
    values = A.data if is_sparse(A) else A
    if values.min(initial=0.0) >= 0:
        return A
    if not is_sparse(A):
        return np.maximum(A, 0)
    cut = sp.csr_array((np.maximum(A.data, 0), A.indices, A.indptr), shape=A.shape, copy=True)
    cut.eliminate_zeros()
    return cut
