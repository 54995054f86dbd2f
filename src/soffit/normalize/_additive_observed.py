"""Additive normalization where only some pairs of objects were observed."""

from __future__ import annotations

import numpy as np

from soffit._typing import Matrix
from soffit.normalize._additive import AdditiveNormalized
from soffit.normalize._observed import observed_pairs


def additive_observed(A: Matrix, pair_weight: Matrix) -> AdditiveNormalized:
    r"""Shift to constant row sums that are estimated from the observed pairs.

    .. math::

        F_{ij} = A_{ij} - \mu_i - \mu_j + \bar\mu + \frac{\beta}{n}, \qquad
        \mu_i = \frac{\sum_{j \ne i} m_{ij} A_{ij}}{\sum_{j \ne i} m_{ij}}

    on the pairs i != j with a positive weight m. The mean over an object's observed pairs takes
    the place of its row sum divided by n, and the mean of these means that of the total sum. An
    object without any observed pair counts as average. beta is the smallest value >= 0 that keeps
    the observed pairs nonnegative. Values of A at unknown pairs do not matter, and the cost grows
    with the observed pairs only.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric affinities; pairs that are observed but not stored have affinity 0.
    pair_weight : ndarray or csr_array of shape (n, n)
        Symmetric weights >= 0; zero means unknown.

    Returns
    -------
    Normalized
        With `beta`; `matrix` is CSR and stores exactly the observed pairs. New objects are
        normalized as if all their affinities were observed.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import additive_observed
    >>> A = np.array([[1.0, 0.9, 0.3], [0.9, 1.0, 0.1], [0.3, 0.1, 1.0]])
    >>> known = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    >>> additive_observed(A, known).matrix.toarray().round(2)
    array([[0. , 0.4, 0.1],
           [0.4, 0. , 0. ],
           [0.1, 0. , 0. ]])

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    Eq. 7 and 10.
    """
    n = A.shape[0]
    pairs = observed_pairs(A, pair_weight)
    total = pairs.sums(pairs.weights, n)
    seen = total > 0
    sums = pairs.sums(pairs.weights * pairs.values, n)
    means = np.divide(sums, total, out=np.zeros(n), where=seen)
    grand_mean = float(means[seen].mean()) if seen.any() else 0.0
    means[~seen] = grand_mean
    # The means are added to each other first, so that the result is exactly symmetric.
    shifted = pairs.values - (means[pairs.rows] + means[pairs.columns]) + grand_mean
    lowest, highest = float(shifted.min(initial=0.0)), float(shifted.max(initial=0.0))
    if highest - lowest <= 64 * np.finfo(A.dtype).eps * abs(grand_mean):
        # All pairs alike: what is left is rounding noise.
        shifted[...] = lowest = 0.0
    return AdditiveNormalized(
        matrix=pairs.matrix(shifted - lowest, A),
        beta=-n * lowest,
        means=means,
        grand_mean=grand_mean,
    )
