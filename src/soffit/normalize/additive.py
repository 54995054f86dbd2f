"""The nearest matrix with equal row sums in the L2 norm, for all or for some pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from soffit._threads import row_blocks
from soffit._typing import FloatArray, Matrix
from soffit.graph import Graph
from soffit.normalize.normalized import Normalized, new_array, observed_pairs

_WHAT = "the additive normalization, whose result is dense even for sparse affinities,"


@dataclass(frozen=True, eq=False, kw_only=True)
class AdditiveNormalized(Normalized):
    """Affinities shifted to row and column sums `beta`."""

    beta: float
    means: FloatArray
    grand_mean: float
    _arrays: ClassVar[dict[str, str]] = {
        "matrix": "matrix * *",
        "factors": "finite? *",
        "means": "finite n",
        "grand_mean": "finite",
        "beta": "finite",
    }

    def cross(self, block: Matrix) -> Matrix:
        """b_j - mean(b) - r_j / n + s / n^2 + beta / n, clipped at 0.

        r and s are the row sums and the sum of the fitted affinities. Before clipping the row
        sums to beta. The result is dense.
        """
        out = new_array(block.shape, block.dtype, what=_WHAT)
        shift = self.grand_mean + self.beta / len(self.means)
        new = Graph.of(block)
        _centre(new, new.degrees() / len(self.means), self.means, shift, out=out)
        return np.maximum(out, 0, out=out)


def additive(A: Matrix, *, beta: float | None = None) -> AdditiveNormalized:
    r"""Shift to constant row sums, the nearest such matrix to A in the Frobenius norm.

    .. math::

        F_{ij} = A_{ij} - \frac{r_i}{n} - \frac{r_j}{n} + \frac{s}{n^2} + \frac{\beta}{n},
        \qquad r = A 1, \; s = 1^\top A 1

    Every row and column of F sums to :math:`\beta`, which shifts all entries alike. The smallest
    value that keeps F nonnegative makes its smallest entry 0. A may have negative entries (from
    side information). If A is constant, F is zero. F is dense.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric affinities.
    beta : float, default None
        The row sums; None means the smallest admissible value.

    Returns
    -------
    Normalized
        With `beta`.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import additive
    >>> result = additive(np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 2.0]]))
    >>> bool(np.allclose(result.matrix.sum(axis=0), result.beta)), float(result.matrix.min())
    (True, 0.0)

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    Eq. 10.
    """
    graph = Graph.of(A)
    n = graph.n
    means = graph.degrees() / n
    grand_mean = float(means.mean())
    F = new_array(graph.shape, graph.dtype, what=_WHAT)
    _centre(graph, means, means, grand_mean, out=F)
    lowest, highest = float(F.min()), float(F.max())
    if highest - lowest <= 64 * np.finfo(A.dtype).eps * abs(grand_mean):
        # A constant matrix: only rounding error is left.
        F[...] = 0
        lowest = 0.0
    smallest = -n * lowest
    if beta is None:
        F -= F.dtype.type(lowest)
        beta = smallest
    else:
        _check_beta(beta, smallest, n)
        F += F.dtype.type(beta / n)
        np.maximum(F, 0, out=F)
    return AdditiveNormalized(matrix=F, beta=float(beta), means=means, grand_mean=grand_mean)


def _centre(
    graph: Graph, row_means: FloatArray, means: FloatArray, shift: float, *, out: FloatArray
) -> None:
    """A_ij - row_means_i - means_j + shift, a few rows at a time."""
    for rows in row_blocks(graph.shape):
        # The means are added to each other first, so that the result is exactly symmetric.
        out[rows] = graph.array(rows) - (row_means[rows, None] + means) + shift


def _check_beta(beta: float, smallest: float, n: int) -> None:
    if not np.isfinite(beta) or beta < smallest - 1e-9 * max(abs(smallest), 1 / n):
        raise ValueError(
            f"beta={beta!r} makes entries negative: the smallest admissible value for this "
            f"affinity matrix is {smallest:.6g}. Pass beta=None to use it."
        )


def additive_observed(A: Matrix, pair_weight: Matrix) -> AdditiveNormalized:
    r"""Shift to constant row sums estimated from the observed pairs.

    .. math::

        F_{ij} = A_{ij} - \mu_i - \mu_j + \bar\mu + \frac{\beta}{n}, \qquad
        \mu_i = \frac{\sum_{j \ne i} m_{ij} A_{ij}}{\sum_{j \ne i} m_{ij}}

    on the pairs i != j with a positive weight m. The mean over an object's observed pairs replaces
    its row sum divided by n, and the mean of these means replaces the total sum. An object without
    any observed pair counts as average. beta is the smallest value >= 0 that keeps the observed
    pairs nonnegative. Values of A at unknown pairs are ignored, and the cost grows with the number
    of observed pairs only.

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
        # All pairs are equal: only rounding error is left.
        shifted[...] = lowest = 0.0
    return AdditiveNormalized(
        matrix=pairs.matrix(shifted - lowest, A),
        beta=-n * lowest,
        means=means,
        grand_mean=grand_mean,
    )
