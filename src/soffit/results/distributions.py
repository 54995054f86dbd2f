"""How the values of a column are distributed inside each cluster."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray, is_sparse
from soffit.results.differences import divided
from soffit.results.profiles import ColumnGroup, column_groups, separating_groups, separation
from soffit.results.summary import Summary
from soffit.results.words import number

_BINS = 30
# Whole numbers with at most this many values have a bar per value.
_FEW_VALUES = 16
# Rare extreme values would compress all others.
_CLIPPED = 0.002
# Values of a text column that are shown.
_MOST_CATEGORIES = 8
# Columns that hardly separate the clusters are not worth a chart, apart from the first.
_LEAST_SEPARATION = 0.05
_ALWAYS = 2


@dataclass(frozen=True, eq=False)
class Distribution:
    """One column in all clusters, weighted by memberships.

    Attributes
    ----------
    name : str
        Name of the column.
    kind : {"numbers", "categories", "presence"}
        Whether `heights` are parts of a histogram, shares of the values of a text column, or the
        share of objects that have an entry at all (sparse tables).
    heights : ndarray of shape (k, b)
        Share of the cluster in each bin or category.
    edges : ndarray of shape (b + 1,)
        Limits of the bins; empty unless these are numbers.
    quartiles : ndarray of shape (k, 3)
        First quartile, median and third quartile; NaN unless these are numbers.
    labels : tuple of str
        Names of the categories.
    is_discrete : bool
        Whether each bin is one whole number.
    separation : float
        Share of the variance that lies between clusters.
    """

    name: str
    kind: str
    heights: FloatArray
    edges: FloatArray
    quartiles: FloatArray
    labels: tuple[str, ...]
    is_discrete: bool
    separation: float

    def quartile_texts(self, cluster: int) -> tuple[str, str, str]:
        """Quartiles as text."""
        spread = float(self.edges[-1] - self.edges[0]) / 4
        low, middle, high = (number(float(q), spread=spread) for q in self.quartiles[cluster])
        return low, middle, high


def distributions(summary: Summary, most: int = 6) -> list[Distribution]:
    """The columns that separate the clusters most, the best first."""
    groups = separating_groups(summary, most)
    if summary.n_clusters == 1:
        # Nothing separates; the columns are shown in their order.
        return [_distribution(summary, group, 0.0) for group in column_groups(summary)[:most]]
    shares = separation(summary, groups)
    return [
        _distribution(summary, group, float(share))
        for place, (group, share) in enumerate(zip(groups, shares, strict=True))
        if share >= _LEAST_SEPARATION or place < _ALWAYS
    ]


def _distribution(summary: Summary, group: ColumnGroup, share: float) -> Distribution:
    table, means = summary.table, summary.means
    if table is None or means is None:
        raise ValueError("There is no table.")
    k = summary.n_clusters
    blank = np.full((k, 3), np.nan)
    if is_sparse(table):
        heights = (
            np.zeros((k, 1)) if means.presence is None else means.presence[:-1, [group.members[0]]]
        )
        labels: tuple[str, ...] = (group.name,)
        return Distribution(
            group.name, "presence", heights, np.zeros(0), blank, labels, False, share
        )
    if group.values or means.is_binary[group.members[0]]:
        heights, labels = _category_shares(summary, group)
        return Distribution(
            group.name, "categories", heights, np.zeros(0), blank, labels, False, share
        )
    values = np.asarray(table[:, group.members[0]], dtype=np.float64)
    known = ~np.isnan(values)
    values, weights = values[known], summary.memberships[known]
    edges, is_discrete = _edges(values)
    heights = _histogram(values, weights, edges)
    if not is_discrete:
        heights = _smoothed(heights)
    quartiles = _quantiles(values, weights)
    return Distribution(group.name, "numbers", heights, edges, quartiles, (), is_discrete, share)


def _category_shares(summary: Summary, group: ColumnGroup) -> tuple[FloatArray, tuple[str, ...]]:
    means = summary.means
    if means is None:
        raise ValueError("There is no table.")
    members = sorted(group.members, key=lambda j: -means.overall[j])[:_MOST_CATEGORIES]
    heights = means.inside[:, members]
    if not group.values:
        return heights, ("yes",)
    labels = tuple(group.values[group.members.index(j)] for j in members)
    return heights, labels


def _edges(values: FloatArray) -> tuple[FloatArray, bool]:
    found = np.unique(values)
    is_whole = bool(np.equal(np.mod(found, 1), 0).all())
    if is_whole and found[-1] - found[0] < _FEW_VALUES:
        return np.arange(found[0] - 0.5, found[-1] + 1), True
    low, high = np.quantile(values, [_CLIPPED, 1 - _CLIPPED])
    if low == high:
        low, high = found[0], found[-1]
    if is_whole:
        # Bins of equal numbers of whole values; others would show a comb.
        step = max(1.0, np.ceil((high - low + 1) / (_BINS - 4)))
        return np.arange(np.floor(low) - 0.5 - 2 * step, high + 3 * step, step), False
    # Room on both sides lets the curves fall to zero.
    step = (high - low) / (_BINS - 4)
    return np.linspace(low - 2 * step, high + 2 * step, _BINS + 1), False


def _histogram(values: FloatArray, weights: FloatArray, edges: FloatArray) -> FloatArray:
    n_bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, n_bins - 1)
    sums = np.array([np.bincount(place, column, n_bins) for column in weights.T])
    return divided(sums, sums.sum(axis=1, keepdims=True))


def _smoothed(heights: FloatArray) -> FloatArray:
    """Means over neighbouring bins, which take away the noise of few objects."""
    wide = np.pad(heights, ((0, 0), (2, 2)), mode="edge")
    kernel = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
    smooth = sum(part * wide[:, i : i + heights.shape[1]] for i, part in enumerate(kernel))
    return np.asarray(smooth)


def _quantiles(values: FloatArray, weights: FloatArray) -> FloatArray:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    total = np.cumsum(weights[order], axis=0)
    found = np.full((weights.shape[1], 3), np.nan)
    for cluster, column in enumerate(total.T):
        if len(column) and column[-1] > 0:
            places = np.searchsorted(column, np.array([0.25, 0.5, 0.75]) * column[-1])
            found[cluster] = ordered[np.minimum(places, len(ordered) - 1)]
    return found
