"""Typical and uncertain members of clusters, and which clusters overlap."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.results.differences import ColumnMeans, divided
from soffit.results.summary import Summary

# Typical members are chosen among this share of the members of a cluster, those with the highest
# memberships.
_FIRM = 0.25


class Members:
    """Finds the typical and the uncertain members of clusters."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._labels = summary.labels
        self._certainty = summary.certainty
        self._means = means = summary.means
        self._table = (
            None if means is None or summary.table is None else _standardized(summary.table, means)
        )

    def typical(self, cluster: int, most: int = 3) -> list[int]:
        """Of the most certain members, those nearest to the centre of the cluster."""
        members = np.flatnonzero(self._labels == cluster)
        if not len(members):
            return []
        n_firm = max(most, int(np.ceil(_FIRM * len(members))))
        firm = members[np.argsort(-self._certainty[members], kind="stable")[:n_firm]]
        # Rounded, so that rounding errors do not decide between equals.
        rank = np.round(self._remoteness(firm, cluster), 9)
        order = np.lexsort((firm, -np.round(self._certainty[firm], 9), rank))
        return [int(position) for position in firm[order[:most]]]

    def central(self, cluster: int, most: int = 5) -> list[int]:
        """The members with the strongest links to the cluster, for graphs."""
        A = self._summary.affinities
        members = np.flatnonzero(self._labels == cluster)
        if A is None or not len(members):
            return []
        weights = self._summary.memberships[:, cluster]
        strength = np.asarray(A[members] @ weights, dtype=np.float64).ravel() * weights[members]
        order = np.lexsort((members, -np.round(strength, 9)))[:most]
        return [int(position) for position in members[order]]

    def shown(self, cluster: int) -> tuple[str, list[int]]:
        """The members that stand for a cluster: the best linked or typical ones; the word first."""
        if self._summary.has_given_links and self._summary.table is None:
            return "best linked", self.central(cluster)
        return "typical", self.typical(cluster)

    def uncertain(self, cluster: int, most: int = 3) -> list[int]:
        """The members with the highest entropy."""
        members = np.flatnonzero(self._labels == cluster)
        order = np.argsort(-self._summary.entropy[members], kind="stable")[:most]
        return [int(position) for position in members[order]]

    def runner_up(self, position: int) -> int:
        """The second most probable cluster of an object."""
        row = self._summary.memberships[position].copy()
        row[self._labels[position]] = -1.0
        return int(row.argmax())

    def _remoteness(self, members: IntArray, cluster: int) -> FloatArray:
        """Distance from the centre; without columns, minus the affinity to the cluster."""
        weights = self._summary.memberships[:, cluster]
        A = self._summary.affinities
        if self._table is not None and self._means is not None:
            scale = np.where(self._means.spread > 0, self._means.spread, 1.0)
            centre = np.where(self._means.spread > 0, self._means.inside[cluster] / scale, 0.0)
            rows = self._table[members]
            if is_sparse(rows):
                squares = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
                return np.asarray(squares - 2 * (rows @ centre))
            return np.asarray(np.linalg.norm(rows - centre, axis=1))
        if A is not None:
            return -np.asarray(A[members] @ weights, dtype=np.float64).ravel()
        return np.zeros(len(members))


def _standardized(table: Matrix, means: ColumnMeans) -> Matrix:
    """The table in standard deviations; not centred, which distances do not need."""
    scale = divided(np.ones_like(means.spread), means.spread)
    if not is_sparse(table):
        # A missing value is at the mean.
        table = np.where(np.isnan(table), means.overall, table)
    return table.multiply(scale).tocsr() if is_sparse(table) else np.asarray(table * scale)


# A smaller share of the membership does not count as overlap.
_LEANING = 0.01


def overlap_with(summary: Summary, cluster: int) -> tuple[int, float] | None:
    """The other cluster that has most of the membership of a cluster's objects, and its share.

    None if the cluster is well separated, empty, or the only one.
    """
    rows = summary.memberships[summary.labels == cluster]
    if summary.n_clusters == 1 or not len(rows):
        return None
    elsewhere = rows.mean(axis=0)
    elsewhere[cluster] = 0.0
    other = int(elsewhere.argmax())
    return None if elsewhere[other] < _LEANING else (other, float(elsewhere[other]))
