"""Clusters beside columns: which to show, in which order, their values and distributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray, is_sparse
from soffit._wording import number, short_percent
from soffit.memberships.measures import group_sums
from soffit.results.differences import EVERYWHERE, ColumnMeans, divided
from soffit.results.summary import Summary

# A table of more columns or clusters is no longer read at a glance.
MOST_ROWS = 24
MOST_CLUSTERS = 30
# Values of a text column that are shown one by one.
_MOST_VALUES = 6


@dataclass(frozen=True)
class ColumnGroup:
    """A column of numbers, or a text column with the columns of its values."""

    name: str  # What the column is called in the data.
    members: tuple[int, ...]  # Positions in `Summary.columns`.
    values: tuple[str, ...] = ()  # The text that each member stands for; empty for numbers.


def column_groups(summary: Summary) -> tuple[ColumnGroup, ...]:
    """The columns as the user knows them: values of one text column belong together."""
    means = summary.means
    if means is None:
        return ()

    def origin(position: int) -> tuple[str, bool]:
        name = summary.columns[position]
        head, sign, _ = name.partition("=")
        is_value = bool(sign) and bool(means.is_binary[position])
        return (head, True) if is_value else (f"{position}", False)

    groups = []
    for (head, is_value), found in groupby(range(len(summary.columns)), key=origin):
        members = tuple(found)
        if is_value:
            values = tuple(summary.columns[j].partition("=")[2] for j in members)
            groups.append(ColumnGroup(head, members, values))
        else:
            groups.append(ColumnGroup(summary.columns[members[0]], members))
    return tuple(groups)


def separation(summary: Summary, groups: Sequence[ColumnGroup]) -> FloatArray:
    """Share of each column's variance that lies between the clusters, from 0 to 1."""
    means = summary.means
    if means is None:
        return np.zeros(0)
    sizes = summary.expected_sizes
    between = np.asarray((sizes / sizes.sum()) @ means.difference**2)
    variance = means.spread**2
    shares = [
        float((between[m] * variance[m]).sum() / variance[m].sum()) if variance[m].any() else 0.0
        for m in (np.array(group.members) for group in groups)
    ]
    return np.array(shares)


def separating_groups(summary: Summary, most: int) -> list[ColumnGroup]:
    """The columns that separate the clusters best; every cluster has a say.

    Each cluster names the columns that differ most in it, turn by turn; for sparse tables, such as
    counts of words, those that are frequent in it.
    """
    groups = column_groups(summary)
    means = summary.means
    if means is None or summary.n_clusters == 1:
        return []
    shares = separation(summary, groups)
    varied = [place for place in np.argsort(-shares, kind="stable") if shares[place] > 0]
    if len(varied) <= most:
        return [groups[place] for place in varied]
    signed = np.abs(means.difference)
    if means.presence is not None:
        signed = np.where(means.presence[-1] < EVERYWHERE, means.difference, 0.0)
    strength = np.array([signed[:, list(group.members)].max(axis=1) for group in groups])
    turns = np.argsort(-strength, axis=0, kind="stable")
    chosen: dict[int, None] = {}
    clusters = np.argsort(-summary.expected_sizes, kind="stable")
    half = most if is_sparse(summary.table) else (most + 1) // 2
    for turn in turns[:most]:
        for cluster in clusters:
            if len(chosen) < half and strength[turn[cluster], cluster] > 0:
                chosen[int(turn[cluster])] = None
    for place in varied:
        if len(chosen) < most:
            chosen[int(place)] = None
    return [groups[place] for place in sorted(chosen, key=lambda place: (-shares[place], place))]


@dataclass(frozen=True)
class ProfileRow:
    """One column, or one value of a text column, in all clusters."""

    column: str  # Name of the column.
    value: str  # The value of a text column; empty for numbers.
    overall: str  # Mean over all objects as text, or share.
    means: tuple[str, ...]  # Mean inside each cluster of the profile.
    # The same as differences from the overall mean in standard deviations.
    levels: tuple[float, ...]

    @property
    def name(self) -> str:
        """``colour = red``, or the name of a column of numbers."""
        return f"{self.column} = {self.value}" if self.value else self.column


@dataclass(frozen=True)
class Profile:
    """A table of clusters and columns; clusters and columns that belong together stand together."""

    clusters: tuple[int, ...]  # The clusters, in their order.
    rows: tuple[ProfileRow, ...]  # The columns, in their order.
    n_columns: int  # How many columns the data have.
    n_shown: int  # How many of them are shown.
    are_shares: bool  # Whether cells are shares of objects with the word, rather than means.

    @classmethod
    def of(cls, summary: Summary, most: int = MOST_ROWS) -> Profile | None:
        """The profile of a summary; None without a table or with a single cluster."""
        means = summary.means
        groups = separating_groups(summary, most)
        if means is None or not groups:
            return None
        kept = np.sort(np.argsort(-summary.sizes, kind="stable")[:MOST_CLUSTERS])
        levels = [_strongest(means, group)[kept] for group in groups]
        clusters = kept[seriated(np.array(levels).T)]
        ordered = [groups[place] for place in _from_the_top(np.array(levels), clusters, kept)]
        rows = [row for group in ordered for row in _rows(summary, group, clusters)]
        return cls(
            tuple(int(cluster) for cluster in clusters),
            tuple(rows),
            len(column_groups(summary)),
            len(groups),
            means.presence is not None,
        )


def _strongest(means: ColumnMeans, group: ColumnGroup) -> FloatArray:
    """Differences of a column; of a text column, those of the value that separates best."""
    members = list(group.members)
    best = members[int(np.abs(means.difference[:, members]).max(axis=0).argmax())]
    return means.difference[:, best]


def _from_the_top(levels: FloatArray, clusters: IntArray, kept: IntArray) -> IntArray:
    """Seriated columns, those that are high in the first clusters at the top."""
    order = seriated(levels)
    place = {int(cluster): rank for rank, cluster in enumerate(clusters)}
    ranks = np.array([place[int(cluster)] for cluster in kept], dtype=np.float64)
    lean = levels[order] @ (ranks - ranks.mean())
    half = len(lean) // 2
    return order if lean[:half].sum() <= lean[len(lean) - half :].sum() else order[::-1]


def _rows(
    summary: Summary,
    group: ColumnGroup,
    clusters: IntArray,
) -> list[ProfileRow]:
    (_, means), members = summary.measured_table(), group.members
    if group.values:
        frequent = sorted(members, key=lambda j: -means.overall[j])[:_MOST_VALUES]
        # Of two values one says it all.
        members = tuple(frequent[:1] if len(members) == 2 else frequent)
    rows = []
    for j in members:
        value = group.values[group.members.index(j)] if group.values else ""
        if means.presence is not None:
            texts = [short_percent(float(means.presence[cluster, j])) for cluster in clusters]
            everywhere = short_percent(float(means.presence[-1, j]))
        else:
            texts = [_text(means, j, float(means.inside[cluster, j])) for cluster in clusters]
            everywhere = _text(means, j, float(means.overall[j]))
        levels = tuple(float(means.difference[cluster, j]) for cluster in clusters)
        rows.append(ProfileRow(group.name, value, everywhere, tuple(texts), levels))
    return rows


def _text(means: ColumnMeans, j: int, value: float) -> str:
    if means.is_binary[j]:
        return short_percent(value)
    return number(value, spread=float(means.spread[j]))


def seriated(points: FloatArray) -> IntArray:
    """An order of the rows in which similar ones are neighbours (optimal leaf order of a tree)."""
    n = len(points)
    if n < 3 or not np.ptp(points, axis=0).any():
        return np.arange(n)
    from scipy.cluster.hierarchy import leaves_list, linkage

    tree = linkage(points, method="average", optimal_ordering=n <= 200)
    order = np.asarray(leaves_list(tree), dtype=np.intp)
    return order if order[0] < order[-1] else order[::-1]


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
    """One column in all clusters, weighted by memberships."""

    name: str  # Name of the column.
    # Whether `heights` are parts of a histogram, shares of the values of a text column, or the
    # share of objects that have an entry at all (sparse tables).
    kind: str
    heights: FloatArray  # (k, b): share of the cluster in each bin or category.
    edges: FloatArray  # (b + 1,): limits of the bins; empty unless these are numbers.
    # (k, 3): first quartile, median and third quartile; NaN unless these are numbers.
    quartiles: FloatArray
    labels: tuple[str, ...]  # Names of the categories.
    is_discrete: bool  # Whether each bin is one whole number.
    separation: float  # Share of the variance that lies between clusters.

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
    table, means = summary.measured_table()
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
    _, means = summary.measured_table()
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


def _histogram(values: FloatArray, weights: Any, edges: FloatArray) -> FloatArray:
    n_bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, n_bins - 1)
    sums = group_sums(weights, place, n_bins).T
    return divided(sums, sums.sum(axis=1, keepdims=True))


def _smoothed(heights: FloatArray) -> FloatArray:
    """Means over neighbouring bins, which take away the noise of few objects."""
    wide = np.pad(heights, ((0, 0), (2, 2)), mode="edge")
    kernel = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
    smooth = sum(part * wide[:, i : i + heights.shape[1]] for i, part in enumerate(kernel))
    return np.asarray(smooth)


def _quantiles_of_entries(ordered: FloatArray, weights: Any) -> FloatArray:
    found = np.full((weights.shape[1], 3), np.nan)
    weights.sort_indices()
    for cluster in range(len(found)):
        own = slice(*weights.indptr[cluster : cluster + 2])
        total = np.cumsum(weights.data[own])
        if len(total):
            places = np.searchsorted(total, np.array([0.25, 0.5, 0.75]) * total[-1])
            inside = ordered[weights.indices[own]]
            found[cluster] = inside[np.minimum(places, len(inside) - 1)]
    return found


def _quantiles(values: FloatArray, weights: Any) -> FloatArray:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    if is_sparse(weights):
        return _quantiles_of_entries(ordered, sp.csc_array(weights[order]))
    total = np.cumsum(weights[order], axis=0)
    found = np.full((weights.shape[1], 3), np.nan)
    for cluster, column in enumerate(total.T):
        if len(column) and column[-1] > 0:
            places = np.searchsorted(column, np.array([0.25, 0.5, 0.75]) * column[-1])
            found[cluster] = ordered[np.minimum(places, len(ordered) - 1)]
    return found
