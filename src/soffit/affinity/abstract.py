"""The interface of affinities: a matrix for the fitted objects, a block for new ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

from soffit._typing import Matrix

if TYPE_CHECKING:
    from typing_extensions import Self


class Affinity(BaseEstimator, ABC):
    """Objects in, nonnegative symmetric affinity matrix out.

    An affinity is a scikit-learn estimator: `get_params`, `set_params` and `clone` work, and a
    model passes on nested parameters. Two affinities are equal if they have the same class and
    equal parameters, fitted or not.

    After `fit`, `matrix_` holds the (n, n) affinities as an array or in CSR form; `cross` returns
    the (m, n) affinities of new objects to the fitted ones, by the same rule and scales. A model
    fits a clone and leaves the given object unchanged.

    Examples
    --------
    >>> from soffit import SoftClustering
    >>> from soffit.affinity import NeighborGraph
    >>> model = SoftClustering(3, affinity=NeighborGraph(5))
    >>> model.set_params(affinity__n_neighbors=7).affinity
    NeighborGraph(n_neighbors=7)
    """

    matrix_: Matrix

    @abstractmethod
    def fit(self, X: Any) -> Self:
        """Compute `matrix_` and keep what `cross` needs."""

    @abstractmethod
    def cross(self, X: Any) -> Matrix:
        """Affinities of new objects (rows) to the fitted objects (columns)."""
