"""Division by the square roots of the degrees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from soffit._typing import FloatArray, Matrix
from soffit.graph import Graph
from soffit.normalize.result import Normalized, check_nonnegative


@dataclass(frozen=True, eq=False, kw_only=True)
class DegreeNormalized(Normalized):
    """Affinities divided by the square roots of both degrees."""

    factors: FloatArray
    _arrays: ClassVar[dict[str, str]] = {
        "matrix": "matrix * *",
        "factors": "nonnegative n",
        "beta": "finite?",
    }

    def cross(self, block: Matrix) -> Matrix:
        """b_j x_j / sqrt(sum of b): a new object's degree is its sum over the fitted ones."""
        new = Graph.of(block)
        return new.scaled(_inverse_root(new.degrees()), self.factors).matrix


def degree(A: Matrix) -> DegreeNormalized:
    r"""Normalize by degrees, :math:`D^{-1/2} A D^{-1/2}` with :math:`D = \mathrm{diag}(A 1)`.

    An isolated object (zero row) has factor 1; its row stays zero.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric nonnegative affinities.

    Returns
    -------
    Normalized
        With `factors` = 1 / sqrt(degree).

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import degree
    >>> degree(np.array([[0.0, 4.0], [4.0, 0.0]])).matrix
    array([[0., 1.],
           [1., 0.]])

    References
    ----------
    A. Y. Ng, M. I. Jordan, Y. Weiss (2001). On spectral clustering: analysis and an algorithm.
    NIPS.
    """
    check_nonnegative(A, how="degree")
    graph = Graph.of(A)
    factors = _inverse_root(graph.degrees())
    return DegreeNormalized(
        matrix=graph.scaled(factors, factors).matrix,
        factors=factors.astype(graph.dtype, copy=False),
    )


def _inverse_root(degrees: FloatArray) -> FloatArray:
    return np.asarray(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
