"""The interface of affinities: a matrix for the fitted objects, a block for new ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator, clone

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity.isolation import Neighborhood, distances_of_similarities

if TYPE_CHECKING:
    from typing_extensions import Self


# Clusters of which a set of objects should have room, if their number is not known.
USUAL_NUMBER = 3


class Affinity(BaseEstimator, ABC):
    """Objects in, nonnegative symmetric affinity matrix out.

    An affinity is a scikit-learn estimator: ``get_params``, ``set_params`` and ``clone`` work, and
    a model passes on nested parameters. Two affinities are equal if they have the same class and
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
    objects_: Any
    # Whether equal rows are equal objects, so that one of them may stand for all.
    _of_rows: ClassVar[bool] = False

    @abstractmethod
    def fit(self, X: Any) -> Self:
        """Compute `matrix_` and keep what `cross` needs."""

    @abstractmethod
    def cross(self, X: Any) -> Matrix:
        """Affinities of new objects (rows) to the fitted objects (columns)."""

    def fit_for(self, X: Any, n_clusters: int | None) -> Self:
        """The same for a number of clusters, or None if it is not known."""
        return self.fit(X)

    def masses(self, weights: FloatArray) -> FloatArray:
        """Factors c that make the affinities c_i A_ij c_j those of objects with these weights.

        An object of weight 3 stands for three equal ones: by default its affinities are the sums
        over them, and c is the weight.

        Parameters
        ----------
        weights : array of shape (n,)
            Positive; 1 on average.

        Returns
        -------
        array of shape (n,)
            The factors.
        """
        return weights

    def neighborhood(self, X: Any = None) -> Neighborhood:
        """How far objects are from their neighbours among the fitted ones, and which these are.

        Parameters
        ----------
        X : objects, optional
            New objects. By default each fitted object is compared with the others.

        Returns
        -------
        Neighborhood
            Distances in any unit, but always in the same.
        """
        rows = self.matrix_ if X is None else self.cross(X)
        return Neighborhood.of_similarities(rows, among_themselves=X is None)

    def nearby(self, X: Any) -> Neighborhood:
        """The neighbourhood of new objects with distances that may be too large, if that is quick.

        Parameters
        ----------
        X : objects
            New objects.

        Returns
        -------
        Neighborhood
            In the unit of `neighborhood`.
        """
        return self.neighborhood(X)

    def neighborhood_among(self, X: Any, rank: int) -> tuple[IntArray, FloatArray]:
        """The nearest of the objects X for each of them, and the distances.

        Parameters
        ----------
        X : objects
            At least two, not fitted.
        rank : int
            Number of neighbours.

        Returns
        -------
        neighbors, distances : arrays of shape (m, rank)
            In the unit of `neighborhood`; fewer columns if there are fewer objects.
        """
        return distances_of_similarities(clone(self).fit(X).matrix_, rank)

    def fitted_rows(self, numbers: IntArray) -> Any:
        """Some of the fitted objects, as they could be passed to `cross`."""
        return self.objects_[numbers]
