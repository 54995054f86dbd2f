"""Objects as passed by the user, and the affinities between them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array

from soffit._typing import IntArray, Matrix
from soffit.affinity.abstract import Affinity
from soffit.affinity.make import Settings, make_affinity
from soffit.affinity.precomputed import Precomputed
from soffit.affinity.side_information import SideInformation
from soffit.affinity.standardize import Standardizer
from soffit.inputs import read_input

Check = Callable[[Any], Any]


@dataclass(frozen=True, eq=False)
class Objects:
    """Checked objects to cluster, with the affinity to compute from them.

    Parameters
    ----------
    table : ndarray or csr_array
        Features, or the affinities or distances between all objects if `is_matrix`.
    is_matrix : bool
        Whether the rows hold affinities or distances to all objects rather than features.
    builder : Affinity or None
        The affinity, not fitted; None if a model does not measure pairs.
    names : ndarray of shape (n,) or None
        Names of the objects, if the input has any.
    columns : ndarray of shape (d,) or None
        Names of the columns, if the input has them apart from the table.
    """

    table: Any
    is_matrix: bool
    builder: Affinity | None
    names: NDArray[Any] | None = None
    columns: NDArray[Any] | None = None

    @property
    def n_objects(self) -> int:
        """Number of rows of the table."""
        return int(self.table.shape[0])

    def inside(self, kept: IntArray) -> Objects:
        """Some of the objects, as if there were no others."""
        table = self.table[kept]
        return Objects(table[:, kept] if self.is_matrix else table, self.is_matrix, self.builder)

    def outside(self, left: IntArray, kept: IntArray) -> Any:
        """The rows of the objects left out, as new objects for a fit to those kept."""
        table = self.table[left]
        return table[:, kept] if self.is_matrix else table

    def affinities(self, standardize: Literal["auto"] | bool) -> Affinities:
        """The affinities of all pairs, of standardized columns if requested.

        Matrices are left unchanged. The builder is copied, because it may be used several times.
        """
        assert self.builder is not None
        preparation = Standardizer.of(self.table, False if self.is_matrix else standardize)
        table = preparation.apply(self.table)
        return Affinities(copy(self.builder).fit(table), preparation, table)


@dataclass(frozen=True, eq=False)
class Affinities:
    """Affinities of all pairs of objects, with constraints on pairs.

    Parameters
    ----------
    affinity : Affinity
        Fitted.
    preparation : Standardizer
        Preprocessing of the table.
    table : ndarray or csr_array
        The table after preprocessing.
    side : SideInformation, optional
        Pairs known to belong together or apart.
    pair_weight : ndarray or csr_array, optional
        Pair weights.
    """

    affinity: Affinity
    preparation: Standardizer
    table: Any
    side: SideInformation | None = None
    pair_weight: Matrix | None = None

    @property
    def A(self) -> Matrix:
        """The affinity matrix."""
        return self.affinity.matrix_


def read_objects(
    X: Any, *, affinity: Any, settings: Settings, check: Check | None = None
) -> Objects:
    """Read a table, a matrix or a graph.

    Parameters
    ----------
    X : table, matrix or graph
        As for the `fit` of the models.
    affinity : str, callable or Affinity
        The affinity of tables and matrices; a graph is its own affinity.
    settings : Settings
        Parameters of affinities selected by name.
    check : callable, optional
        Turns the data into a checked array or CSR matrix; by default scikit-learn's `check_array`.
    """
    given = read_input(X)
    builder = Precomputed() if given.kind == "graph" else make_affinity(affinity, settings)
    table = as_table(given.data, check or _checked)
    is_matrix = takes_matrix(builder, settings.metric)
    return Objects(table, is_matrix, builder, given.names, given.columns)


def takes_matrix(builder: Affinity, metric: Any) -> bool:
    """Whether an affinity reads similarities or distances between all objects, not features."""
    return isinstance(builder, Precomputed) or (isinstance(metric, str) and metric == "precomputed")


def as_table(data: Any, check: Check) -> Any:
    """Checked data as an array or a `csr_array`."""
    table = check(data)
    return sp.csr_array(table) if sp.issparse(table) else table


def _checked(data: Any) -> Any:
    return check_array(data, accept_sparse="csr", dtype=[np.float64, np.float32])
