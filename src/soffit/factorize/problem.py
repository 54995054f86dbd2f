"""The factorization problem every solver receives, and the result every solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, Matrix
from soffit.graph import Graph

Scale = Literal["none", "single", "cluster", "held"]
SCALES: tuple[Scale, ...] = ("none", "single", "cluster", "held")
# Why a search ended; the last three mean that it was cut short from outside.
Stop = Literal["converged", "max_iter", "max_time", "callback", "interrupted"]
# Loss and constraint on the factor that go together: one row of the family a pair.
FAMILIES = (("l2", "simplex"), ("l2", "nonnegative"), ("kl", "columns"))


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Fit a symmetric matrix by a nonnegative factor, :math:`A \approx G S G^\top`.

    With squared error,

    .. math:: \min_{G, s} \sum_{ij} m_{ij} \big(A_{ij} - \theta_i\theta_j \sum_c s_c G_{ic} G_{jc}
              \big)^2, \qquad G \ge 0,

    where the rows of G lie on the probability simplex or are free; or with the divergence

    .. math:: \min_{G, s} \sum_{ij} A_{ij} \log \frac{A_{ij}}{(G S G^\top)_{ij}} - A_{ij}
              + (G S G^\top)_{ij}, \qquad G \ge 0,\; G^\top 1 = 1.

    Parameters
    ----------
    matrix : array or CSR of shape (n, n)
        The symmetric, nonnegative A, after normalization.
    n_clusters : int
        Number of columns of G.
    scale : {"none", "single", "cluster", "held"}
        s fixed at 1; one common value; one value a cluster; or one value a cluster that is fitted
        to the start and held from there on. A fitted value a cluster leaves a column of G free to
        shrink while its scale grows, so that its entries say less and less about membership; a
        held one does not.
    degrees : array of shape (n,), optional
        Degree correction: theta is the square root of degrees over their mean. None means 1.
    pair_weight : array or CSR of shape (n, n), optional
        The weights m; a zero means that the pair is unknown. None means 1.
    side : CSR of shape (n, n), optional
        Symmetric S that adds :math:`\sum_{ij} \max(S_{ij}, 0) - S_{ij} \sum_c G_{ic} G_{jc}` to
        the loss: pairs with a positive entry gain from being in one cluster, pairs with a
        negative one from being in two. No entry counts as a similarity.
    diagonal : bool
        Whether the pairs (i, i) count.
    loss : {"l2", "kl"}
        Squared error or Kullback-Leibler divergence.
    constraint : {"simplex", "nonnegative", "columns"}
        Rows of the factor on the simplex; nonnegative; or columns on the simplex (with "kl").
    sparsity : float
        Prior on memberships, with "kl": each share of an object loses this much (as a share of
        the object's degree) in every step, and small ones vanish. 0 means none.
    pruning : float
        Prior on cluster weights, with "kl": each cluster loses this share of the total weight in
        every step, and small clusters vanish. 0 means none.
    """

    matrix: Matrix
    n_clusters: int
    scale: Scale = "none"
    degrees: FloatArray | None = None
    pair_weight: Matrix | None = None
    side: sp.csr_array | None = None
    diagonal: bool = False
    loss: Literal["l2", "kl"] = "l2"
    constraint: Literal["simplex", "nonnegative", "columns"] = "simplex"
    sparsity: float = 0.0
    pruning: float = 0.0

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise ValueError(f"scale must be one of {list(SCALES)}, got {self.scale!r}.")
        if self.family not in FAMILIES:
            raise ValueError(
                f"loss and constraint must be one of the pairs {list(FAMILIES)}, got {self.family}."
            )
        n = self.matrix.shape[0]
        if self.matrix.shape != (n, n):
            raise ValueError(f"matrix must be square, got shape {self.matrix.shape}.")
        weight = self.pair_weight
        if weight is not None and weight.shape != (n, n):
            raise ValueError(f"pair_weight must have shape {(n, n)}, got {weight.shape}.")

    @property
    def family(self) -> tuple[str, str]:
        """Loss and constraint."""
        return self.loss, self.constraint

    @property
    def n_objects(self) -> int:
        """Number of rows of the matrix and of the factor."""
        return int(self.matrix.shape[0])

    @property
    def graph(self) -> Graph:
        """A with the operations that are the same for both storages."""
        return Graph.of(self.matrix)

    @property
    def is_sparse(self) -> bool:
        """Whether A is stored in CSR form."""
        return self.graph.is_sparse

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
        G: its rows or columns lie on the simplex, or it is nonnegative, as the problem asks.
    scale : array of shape (k,)
        s, one value a cluster (all equal for a single scale).
    objective : float
        Loss at the returned factor.
    history : array of shape (n_iter + 1,) or shorter
        Loss at the start and after every iteration. With priors that remove clusters or shares
        it begins after the last removal, because the loss is another one from there on.
    n_iter : int
        Iterations done.
    stopped : {"converged", "max_iter", "max_time", "callback", "interrupted"}
        Why the search ended. An interrupted one returns the last factor that is complete; an
        iteration that was cut off counts if it left one.
    """

    factor: FloatArray
    scale: FloatArray
    objective: float
    history: FloatArray
    n_iter: int
    stopped: Stop

    @property
    def converged(self) -> bool:
        """Whether the search ended because nothing more was to be gained."""
        return self.stopped == "converged"

    @property
    def cut_short(self) -> bool:
        """Whether time, a callback or a keyboard interrupt ended the search."""
        return self.stopped not in ("converged", "max_iter")
