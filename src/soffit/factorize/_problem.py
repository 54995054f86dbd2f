"""The factorization problem every solver receives, and the result every solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, Matrix

Scale = Literal["none", "single", "cluster", "held"]
SCALES: tuple[Scale, ...] = ("none", "single", "cluster", "held")


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Fit a symmetric matrix by a factor with rows on the probability simplex.

    .. math:: \min_{W, s} \sum_{ij} m_{ij} \big(A_{ij} - \theta_i\theta_j \sum_c s_c W_{ic} W_{jc}
              \big)^2, \qquad W \ge 0,\; W 1 = 1

    Parameters
    ----------
    matrix : array or CSR of shape (n, n)
        The symmetric, nonnegative A, after normalization.
    n_clusters : int
        Number of columns of W.
    scale : {"none", "single", "cluster", "held"}
        s fixed at 1; one common value; one value a cluster; or one value a cluster that is fitted
        to the start and held from there on. A fitted value a cluster leaves a column of W free to
        shrink while its scale grows, so that its entries say less and less about membership; a
        held one does not.
    degrees : array of shape (n,), optional
        Degree correction: theta is the square root of degrees over their mean. None means 1.
    pair_weight : array or CSR of shape (n, n), optional
        The weights m; a zero means that the pair is unknown. None means 1.
    diagonal : bool
        Whether the pairs (i, i) count.
    loss : {"l2"}
        The measure of misfit.
    constraint : {"simplex"}
        The set to which the rows of the factor belong.
    """

    matrix: Matrix
    n_clusters: int
    scale: Scale = "none"
    degrees: FloatArray | None = None
    pair_weight: Matrix | None = None
    diagonal: bool = False
    loss: Literal["l2"] = "l2"
    constraint: Literal["simplex"] = "simplex"

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale must be one of {list(SCALES)}, got {self.scale!r}.")
        if self.loss != "l2":
            raise ValueError(f"loss must be 'l2', got {self.loss!r}.")
        if self.constraint != "simplex":
            raise ValueError(f"constraint must be 'simplex', got {self.constraint!r}.")
        n = self.matrix.shape[0]
        if self.matrix.shape != (n, n):
            raise ValueError(f"matrix must be square, got shape {self.matrix.shape}.")
        weight = self.pair_weight
        if weight is not None and weight.shape != (n, n):
            raise ValueError(f"pair_weight must have shape {(n, n)}, got {weight.shape}.")

    @property
    def n_objects(self) -> int:
        """Number of rows of the matrix and of the factor."""
        return int(self.matrix.shape[0])

    @property
    def is_sparse(self) -> bool:
        """Whether A is stored in CSR form."""
        return sp.issparse(self.matrix)

    def row_factors(self) -> FloatArray:
        """Theta, the factor of each object's row; 1 without degree correction."""
        dtype = self.matrix.dtype
        if self.degrees is None:
            return np.ones(self.n_objects, dtype=dtype)
        mean = float(np.mean(self.degrees))
        relative = self.degrees / mean if mean > 0 else np.zeros(self.n_objects)
        return np.sqrt(relative).astype(dtype)


@dataclass(frozen=True, eq=False)
class Factorization:
    """What a solver found: the factor, its scale, and how the search went.

    Parameters
    ----------
    factor : array of shape (n, k)
        W, rows on the simplex.
    scale : array of shape (k,)
        s, one value a cluster (all equal for a single scale).
    objective : float
        Loss at the returned factor.
    history : array of shape (n_iter + 1,)
        Loss at the start and after every iteration.
    n_iter : int
        Iterations done.
    stopped : {"converged", "max_iter"}
        Why the search ended.
    """

    factor: FloatArray
    scale: FloatArray
    objective: float
    history: FloatArray
    n_iter: int
    stopped: Literal["converged", "max_iter"]

    @property
    def converged(self) -> bool:
        """Whether the search ended because nothing more was to be gained."""
        return self.stopped == "converged"
