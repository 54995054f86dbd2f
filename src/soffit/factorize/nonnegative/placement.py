"""Memberships from a factor that is only nonnegative: rows divided by their sums."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from soffit._typing import FloatArray, Matrix
from soffit.factorize.problem import Factorization, Problem


@dataclass(frozen=True, eq=False)
class NonnegativeRows:
    r"""The fitted factor, its rows as probabilities, and its extension to new objects.

    A fitted object has the memberships :math:`G_{ir} / \sum_s G_{is}`. A new object with
    normalized affinities :math:`b_j` to the fitted ones gets the row that fits them best,

    .. math:: \min_{g \ge 0} \sum_j \big(b_j - \textstyle\sum_r g_r G_{jr}\big)^2,

    divided by its sum. Isolated objects, and objects with a zero row, get the mean membership of
    the others.

    Examples
    --------
    >>> from soffit import CompletelyPositive
    >>> from soffit.datasets import make_gaussians
    >>> X = make_gaussians(60, n_clusters=2, separation=9.0, random_state=7).X
    >>> model = CompletelyPositive(2, random_state=0).fit(X)
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
    def of(cls, problem: Problem, found: Factorization) -> NonnegativeRows:
        """Keep the factor and the mean membership."""
        memberships = cls.fitted(problem, found)
        return cls(factor=found.factor, prior=memberships.mean(axis=0, dtype=np.float64))

    @staticmethod
    def fitted(problem: Problem, found: Factorization) -> FloatArray:
        """Memberships of the fitted objects: the rows of the factor as probabilities."""
        G = found.factor
        linked = G.sum(axis=1) > 0
        k = G.shape[1]
        prior = _shares(G[linked]).mean(axis=0) if linked.any() else np.full(k, 1.0 / k)
        return _with_prior(G, linked, prior)

    def profiles(self) -> FloatArray:
        """How similar the fitted objects are to each cluster, one column per cluster."""
        return self.factor

    def place(self, block: Matrix, degrees: FloatArray) -> FloatArray:
        """Memberships of new objects.

        Parameters
        ----------
        block : array or CSR of shape (m, n)
            Normalized affinities of the new objects to the fitted ones.
        degrees : array of shape (m,)
            Sums of their affinities before normalization.
        """
        from soffit.factorize.nonnegative.kernels import solve_new_rows

        G = np.asarray(self.factor, dtype=np.float64)
        linear = np.ascontiguousarray(block @ self.factor, dtype=np.float64)
        rows = np.zeros(linear.shape)
        solve_new_rows(G.T @ G, linear, rows)
        linked = (degrees > 0) & (rows.sum(axis=1) > 0)
        placed = _with_prior(rows, linked, self.prior)
        return placed.astype(self.factor.dtype, copy=False)


def _with_prior(
    G: FloatArray, linked: np.typing.NDArray[np.bool_], prior: FloatArray
) -> FloatArray:
    """Rows as probabilities; isolated objects get the prior."""
    result = np.empty_like(G)
    result[linked] = _shares(G[linked])
    result[~linked] = prior
    return result


def _shares(G: FloatArray) -> FloatArray:
    """Positive rows divided by their sums, after their largest entry to avoid underflow."""
    relative = G / G.max(axis=1, keepdims=True, initial=0.0)
    return np.asarray(relative / relative.sum(axis=1, keepdims=True))
