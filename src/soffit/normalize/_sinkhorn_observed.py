"""Sinkhorn scaling where only some pairs of objects were observed."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._typing import Matrix
from soffit.normalize._observed import observed_pairs
from soffit.normalize._sinkhorn import SinkhornNormalized, sinkhorn


def sinkhorn_observed(A: Matrix, pair_weight: Matrix) -> SinkhornNormalized:
    r"""Scale to row sums of 1 that are estimated from the observed pairs.

    .. math:: F_{ij} = x_i A_{ij} x_j, \qquad
              x_i \Big(A_{ii} x_i + (n-1) \sum_{j \ne i} \frac{m_{ij} A_{ij} x_j}{\sqrt{d_i d_j}}
              \Big) = 1, \qquad d_i = \sum_{j \ne i} m_{ij}

    on the pairs i != j with a positive weight m: each observed pair stands for those that are
    unknown. The root keeps the matrix symmetric. The cost grows with the observed pairs only.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric nonnegative affinities. A positive diagonal makes sure that a scaling exists.
    pair_weight : ndarray or csr_array of shape (n, n)
        Symmetric weights >= 0; zero means unknown.

    Returns
    -------
    Normalized
        With `factors` = x; `matrix` is CSR and stores exactly the observed pairs. New objects are
        normalized as if all their affinities were observed.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import sinkhorn_observed
    >>> known = 1 - np.eye(4)
    >>> sinkhorn_observed(np.ones((4, 4)), known).matrix.toarray()[0].round(2)
    array([0.  , 0.25, 0.25, 0.25])

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    """
    n = A.shape[0]
    pairs = observed_pairs(A, pair_weight)
    total = pairs.sums(pairs.weights, n)
    root = np.sqrt(np.where(total > 0, total, 1.0))
    spread = (n - 1) * pairs.weights / (root[pairs.rows] * root[pairs.columns])
    estimate = pairs.matrix(spread * pairs.values, A)
    diagonal = sp.diags_array(np.asarray(A.diagonal()), dtype=A.dtype)
    factors = sinkhorn(sp.csr_array(estimate + diagonal)).factors
    scaled = pairs.values * (factors[pairs.rows] * factors[pairs.columns])
    return SinkhornNormalized(matrix=pairs.matrix(scaled, A), factors=factors)
