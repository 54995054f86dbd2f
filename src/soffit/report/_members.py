"""Typical and uncertain members of a cluster."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, IntArray, is_sparse
from soffit.report._differences import ColumnMeans, standardized
from soffit.report._subject import Subject

# Typical members are sought among this share of a cluster's members, those with the highest
# memberships.
_FIRM = 0.25


class Members:
    """Looks for the members of clusters that are worth naming."""

    def __init__(self, subject: Subject, means: ColumnMeans | None) -> None:
        self._subject = subject
        self._labels = subject.labels
        self._certainty = subject.certainty
        self._means = means
        self._table = (
            None if means is None or subject.table is None else standardized(subject.table, means)
        )

    def typical(self, cluster: int, most: int = 3) -> list[int]:
        """Of the surest members those nearest to the cluster's centre."""
        members = np.flatnonzero(self._labels == cluster)
        if not len(members):
            return []
        n_firm = max(most, int(np.ceil(_FIRM * len(members))))
        firm = members[np.argsort(-self._certainty[members], kind="stable")[:n_firm]]
        # Rounded, so that rounding errors do not decide between equals.
        rank = np.round(self._remoteness(firm, cluster), 9)
        order = np.lexsort((firm, -np.round(self._certainty[firm], 9), rank))
        return [int(position) for position in firm[order[:most]]]

    def uncertain(self, cluster: int, most: int = 3) -> list[int]:
        """The members that come closest to belonging elsewhere."""
        members = np.flatnonzero(self._labels == cluster)
        order = np.argsort(-self._subject.entropy[members], kind="stable")[:most]
        return [int(position) for position in members[order]]

    def runner_up(self, position: int) -> int:
        """The second likeliest cluster of an object."""
        row = self._subject.memberships[position].copy()
        row[self._labels[position]] = -1.0
        return int(row.argmax())

    def _remoteness(self, members: IntArray, cluster: int) -> FloatArray:
        """Distance from the centre; without columns, how few ties an object has to the cluster."""
        weights = self._subject.memberships[:, cluster]
        A = self._subject.affinities
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
