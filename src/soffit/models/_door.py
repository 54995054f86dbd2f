"""What estimators over similarities share at the door: affinities by name, validated tables."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import validate_data

from soffit.affinity import Affinity, Precomputed, Settings, make_affinity
from soffit.models._page import PageWriter
from soffit.models._summary import NotebookSummary


class SimilarityDoor(NotebookSummary, PageWriter):
    """Tables, matrices and graphs in; the parameters say which affinity is made of them."""

    # Parameters, declared here for the type checker; every estimator's __init__ assigns them.
    affinity: Any
    metric: Any
    n_neighbors: int
    n_jobs: int | None
    # Set by `fit`.
    _affinity: Affinity
    # Which neighbours make an edge, and its weight.
    _keep: ClassVar[Literal["mutual", "union"]] = "mutual"
    _weights: ClassVar[Literal["overlap", "local", "binary"]] = "overlap"

    def _settings(self) -> Settings:
        """What the parameters say about affinities."""
        return Settings(
            metric=self.metric,
            n_neighbors=self.n_neighbors,
            relative_neighbor=self.n_neighbors,
            keep=self._keep,
            weights=self._weights,
            n_jobs=self.n_jobs,
        )

    def _make_affinity(self, kind: Literal["table", "graph"]) -> Affinity:
        if kind == "graph":
            return Precomputed()
        return make_affinity(self.affinity, self._settings())

    @property
    def neighbor_recall_(self) -> float:
        """Share of true nearest neighbours in the graph, measured on a sample of the objects.

        1 where the search was exact. Only models whose affinities are a neighbour graph have it.
        """
        recall = getattr(vars(self).get("_affinity"), "recall_", None)
        if recall is None:
            raise AttributeError(
                f"{type(self).__name__} has no neighbor_recall_: it is not fitted, or its "
                "affinities are no graph of nearest neighbours."
            )
        return float(recall)

    def _validated(self, data: Any, builder: Affinity, *, reset: bool, depth: int = 3) -> Any:
        """Checked features; `depth` counts the calls down to the user's, for warnings."""
        table = validate_data(
            self, data, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        table = sp.csr_array(table) if sp.issparse(table) else table
        if reset and not self._takes_matrix(builder) and _is_symmetric(table):
            warnings.warn(
                f"X is a symmetric {table.shape[0]} x {table.shape[0]} matrix, but "
                f"affinity={self.affinity!r} reads its rows as features. Pass "
                "affinity='precomputed' if it holds similarities, metric='precomputed' if it "
                "holds distances.",
                UserWarning,
                stacklevel=depth,
            )
        return table

    def _takes_matrix(self, builder: Affinity) -> bool:
        return isinstance(builder, Precomputed) or self._names("metric", "precomputed")

    def _names(self, parameter: str, value: str) -> bool:
        """Whether a parameter, which may be any object, is this text."""
        given = getattr(self, parameter)
        return isinstance(given, str) and given == value

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._names("affinity", "precomputed") or self._names(
            "metric", "precomputed"
        )
        return tags


def _is_symmetric(table: Any) -> bool:
    n, d = table.shape
    if n != d or n < 3:
        return False
    if isinstance(table, sp.csr_array):
        return bool(abs(table - table.T).max() == 0)
    return bool(np.array_equal(table, table.T))
