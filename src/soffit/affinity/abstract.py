"""The interface of affinities: a matrix for the fitted objects, a block for new ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import BaseEstimator

from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity.isolation import spacing_of_similarities, strongest

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
    # Whether the affinities are exponentials of distances.
    _decays: ClassVar[bool] = False

    @abstractmethod
    def fit(self, X: Any) -> Self:
        """Compute `matrix_` and keep what `cross` needs."""

    @abstractmethod
    def cross(self, X: Any) -> Matrix:
        """Affinities of new objects (rows) to the fitted objects (columns)."""

    def neighborhood(self, X: Any = None) -> tuple[FloatArray, IntArray]:
        """How far objects are from their neighbours among the fitted ones, and which these are.

        Parameters
        ----------
        X : objects, optional
            New objects. By default each fitted object is compared with the others.

        Returns
        -------
        spacing : ndarray of shape (m,)
            A distance to the neighbours, in any unit; infinite without neighbours.
        neighbors : int ndarray of shape (m, l)
            Numbers of fitted objects; negative where there are fewer than l.
        """
        rows = self.matrix_ if X is None else self.cross(X)
        neighbors, values = strongest(rows, among_themselves=X is None)
        return spacing_of_similarities(values, decaying=self._decays), neighbors
