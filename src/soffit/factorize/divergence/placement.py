"""Memberships from a factor whose columns are distributions over the objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray, Matrix
from soffit.factorize.divergence.em import bipartite_rows, cluster_prior
from soffit.factorize.problem import Factorization, Problem
from soffit.factorize.simplex.placement import linkage

# A new object is solved when the remaining gain in likelihood, per unit of weight, is below this.
_GAP = 1e-6
_MOST_STEPS = 2000


@dataclass(frozen=True, eq=False)
class ColumnRows:
    r"""Clusters as distributions over objects, :math:`h_{jp} = p(j | p)`, inverted.

    A fitted object belongs to cluster p with probability :math:`b_{ip} / d_i`, where
    :math:`B = H \Lambda`; an isolated one has the prior :math:`\lambda_p / \sum_q \lambda_q`.
    A new object with affinities :math:`b_j` to the fitted ones maximises their likelihood,

    .. math:: \max_{x \in \Delta} \sum_j b_j \log \sum_p x_p h_{jp},

    a concave problem that every fitted object has also solved when the fit has converged.

    Examples
    --------
    >>> from soffit import RelationFactorization
    >>> from soffit.datasets import make_gaussians
    >>> X = make_gaussians(60, n_clusters=2, separation=9.0, random_state=7).X
    >>> model = RelationFactorization(2, random_state=0).fit(X)
    >>> model.predict_proba(X[:1]).shape  # by this rule
    (1, 2)
    """

    factor: FloatArray
    prior: FloatArray
    _arrays: ClassVar[dict[str, str]] = {
        "factor": "nonnegative n k",
        "prior": "probabilities k",
    }

    @classmethod
    def of(cls, problem: Problem, found: Factorization) -> ColumnRows:
        """Keep what the problem of a new object needs."""
        return cls(factor=found.factor, prior=_prior(found, linkage(problem) <= 0))

    @staticmethod
    def fitted(problem: Problem, found: Factorization) -> FloatArray:
        """Memberships of the fitted objects."""
        isolated = linkage(problem) <= 0
        memberships = bipartite_rows(found)
        memberships[isolated] = _prior(found, isolated)
        return memberships

    def profiles(self) -> FloatArray:
        """How similar the fitted objects are to each cluster, one column per cluster."""
        return self.factor

    def place(self, block: Matrix, degrees: FloatArray) -> FloatArray:
        """Memberships of new objects.

        Parameters
        ----------
        block : array or CSR of shape (m, n)
            Affinities of the new objects to the fitted ones.
        degrees : array of shape (m,)
            Sums of their affinities; not used here.
        """
        from soffit.factorize.divergence.kernels import mixture_weights

        edges = sp.csr_array(block)
        start = np.asarray(np.maximum(self.prior, 1e-12), dtype=np.float64)
        weights = np.empty((edges.shape[0], len(start)))
        mixture_weights(
            edges.indptr,
            edges.indices,
            np.asarray(edges.data, dtype=np.float64),
            self.factor,
            start / start.sum(),
            _MOST_STEPS,
            _GAP,
            weights,
        )
        return weights.astype(self.factor.dtype)


def _prior(found: Factorization, isolated: NDArray[np.bool_]) -> FloatArray:
    # If all objects are isolated, the cluster weights are meaningless.
    return cluster_prior(np.zeros_like(found.scale) if isolated.all() else found.scale)
