"""Distances of rows that hold numbers, categories and gaps, and the search for neighbours.

Rows are prepared by `soffit.affinity.mixed_table`: numbers are scaled, categories are codes, gaps
are NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray

# Rows that one thread compares with all others at a time.
_ROWS = 64
# More values than this are drawn at random directions, which are nearly perpendicular.
_MOST_AXES = 64
_DIRECTIONS = 32
# The approximate search lists this many times as many candidates, which are compared exactly.
_SPARE = 2


@dataclass(frozen=True, eq=False)
class MixedDistance:
    r"""Distance of rows of numbers and categories, over the columns that both rows have.

    .. math:: d^2 = S + (V - V_s) \frac{S + \bar v}{V_s + \bar v}, \quad
              S = \sum_{j\ \text{shared}} d_j^2

    with :math:`d_j = |x_j - y_j|` of numbers, :math:`d_j^2 = m_j` of different categories, the
    weights :math:`v_j` of the columns, their sum V, their mean, and the sum :math:`V_s` over the
    columns that both rows have. A column that one of them lacks counts like the average of the
    shared ones, to which one column at the mean distance of random rows is added: rows that share
    nothing are at that distance. Equal rows are at distance 0.
    """

    weights: FloatArray  # (p,): mean squared difference of random rows in each column.
    mismatch: FloatArray  # (p,): squared difference of different categories; 0 for numbers.
    n_values: IntArray  # (p,): number of categories; 0 for numbers.
    _arrays: ClassVar[dict[str, str]] = {
        "weights": "nonnegative p",
        "mismatch": "nonnegative p",
        "n_values": "int p",
    }

    def squares(self, X: FloatArray, Y: FloatArray) -> FloatArray:
        """Squared distances of all rows of X to all rows of Y."""
        from soffit.neighbors.mixed.kernels import mixed_squares

        self._check_width(X, Y)
        out = np.empty((len(X), len(Y)))
        total, one = self._sums
        mixed_squares(X, Y, self._terms, total, one, out)
        return out

    def nearest(
        self, X_new: FloatArray, X: FloatArray, n_neighbors: int, n_jobs: int | None
    ) -> tuple[IntArray, FloatArray]:
        """The nearest rows of X for every row of X_new, and their distances."""
        from soffit.neighbors.mixed.kernels import nearest_mixed

        self._check_width(X_new, X)
        indices = np.empty((len(X_new), n_neighbors), dtype=np.int64)
        squares = np.empty(indices.shape)
        terms, (total, one) = self._terms, self._sums

        def search(part: range) -> None:
            rows = slice(part.start, part.stop)
            nearest_mixed(X_new[rows], X, terms, total, one, indices[rows], squares[rows])

        each(search, pieces(len(X_new), _ROWS), n_jobs)
        return indices, np.sqrt(squares).astype(X.dtype)

    def ranked(
        self, X_new: FloatArray, X: FloatArray, candidates: IntArray, n_neighbors: int
    ) -> tuple[IntArray, FloatArray]:
        """The nearest of the candidates of every row."""
        from soffit.neighbors.mixed.kernels import rank_candidates

        self._check_width(X_new, X)
        ordered = np.sort(candidates, axis=1)
        indices = np.empty((len(X_new), n_neighbors), dtype=np.int64)
        squares = np.empty(indices.shape)
        terms, (total, one) = self._terms, self._sums

        def rank(part: range) -> None:
            rows = slice(part.start, part.stop)
            rank_candidates(
                X_new[rows], X, ordered[rows], terms, total, one, indices[rows], squares[rows]
            )

        each(rank, pieces(len(X_new), _ROWS**2))
        return indices, np.sqrt(squares).astype(X.dtype)

    def embedded(self, X: FloatArray) -> FloatArray:
        """Points whose Euclidean distances are the distances of rows without gaps.

        A category is a point on an axis of its own. A gap is the centre of the column, so that
        distances of rows with gaps are approximate, as are those of columns with many categories.
        """
        parts: list[FloatArray] = []
        for column, count, mismatch in zip(X.T, self.n_values, self.mismatch, strict=True):
            if count == 0:
                parts.append(np.nan_to_num(column)[:, None])
                continue
            places = _places(int(count)) * np.sqrt(mismatch / 2)
            known = (column >= 0) & (column < count)
            points = np.zeros((len(column), places.shape[1]))
            points[:] = places.mean(axis=0)
            points[known] = places[column[known].astype(np.intp)]
            parts.append(points)
        return np.hstack(parts).astype(X.dtype)

    def _check_width(self, *tables: FloatArray) -> None:
        """Compiled loops follow the columns without looking."""
        p = len(self.weights)
        for table in tables:
            if table.ndim != 2 or table.shape[1] != p:
                raise ValueError(f"X has shape {table.shape}, but the distance is of {p} columns.")

    @property
    def _terms(self) -> FloatArray:
        return np.stack([(self.n_values > 0).astype(np.float64), self.mismatch, self.weights])

    @property
    def _sums(self) -> tuple[float, float]:
        """The sum of the weights, and the mean of those of columns that are compared."""
        total = float(self.weights.sum())
        return total, total / max(int((self.weights > 0).sum()), 1)


def _places(count: int) -> FloatArray:
    """One point per category, at squared distances of 2, or about 2 if there are many."""
    if count <= _MOST_AXES:
        return np.eye(count)
    directions = np.random.RandomState(count).normal(size=(count, _DIRECTIONS))
    return np.asarray(directions / np.linalg.norm(directions, axis=1, keepdims=True))


class MixedSearch:
    """Most of the true neighbours of many rows: candidates by an embedding, exact distances."""

    _arrays: ClassVar[dict[str, str]] = {
        "X": "table n p",
        "metric": "part :MixedDistance p",
        "index": "part query() n",
        "n_jobs": "int?",
        "recall": "finite",
    }

    def __init__(
        self, X: FloatArray, metric: MixedDistance, index: Any, n_jobs: int | None
    ) -> None:
        self.X = X
        self.metric = metric
        self.index = index
        self.n_jobs = n_jobs
        self.recall = index.recall

    def neighbors(self, count: int, rows: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Indices and distances for the fitted rows."""
        candidates, _ = self.index.neighbors(n_candidates(count), rows)
        wanted = self.X if rows is None else self.X[rows]
        return self.metric.ranked(wanted, self.X, candidates, count)

    def query(self, X_new: FloatArray, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Indices and distances of fitted rows for new ones."""
        points = self.metric.embedded(X_new)
        candidates, _ = self.index.query(points, n_candidates(n_neighbors))
        return self.metric.ranked(X_new, self.X, candidates, n_neighbors)

    def rows(self, numbers: IntArray) -> FloatArray:
        """Some of the fitted rows."""
        return self.X[numbers]


def n_candidates(n_neighbors: int) -> int:
    """Candidates to compare exactly for so many neighbours."""
    return _SPARE * n_neighbors
