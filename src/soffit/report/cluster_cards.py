"""A description of each cluster: size, members, what sets it apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.report.html import name, text
from soffit.results.differences import ColumnMeans, Difference, divided
from soffit.results.summary import CLEAR_FROM, Summary
from soffit.results.words import (
    capitalized,
    count_of,
    listed,
    percent,
    short_percent,
    shorten,
)

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


# A difference from here on, in standard deviations, is called very high or very low.
_VERY = 1.5
# With more clusters than this, the largest are shown first.
MANY = 12
# A smaller share of the membership does not count as overlap.
_LEANING = 0.01


@dataclass(frozen=True)
class Portrait:
    """The description of one cluster; all sentences are HTML."""

    cluster: int
    title: str
    size: str
    sentences: tuple[str, ...]
    typical: str
    uncertain: str


def portraits(summary: Summary) -> list[Portrait]:
    """All clusters by number; of many, the largest first."""
    members = Members(summary)
    order = np.arange(summary.n_clusters)
    if len(order) > MANY:
        order = np.argsort(-summary.sizes, kind="stable")
    return [_portrait(summary, members, int(cluster)) for cluster in order]


def _portrait(summary: Summary, members: Members, cluster: int) -> Portrait:
    size = int(summary.sizes[cluster])
    share = percent(size / summary.n_objects)
    sentences = [_setting_apart(summary, cluster), _leaning(summary, cluster)]
    return Portrait(
        cluster=cluster,
        title=capitalized(text(shorten(summary.name_of(cluster)))),
        size=f"{count_of(size, 'object')}, {share}",
        sentences=tuple(sentence for sentence in sentences if sentence),
        typical=_typical(summary, members, cluster),
        uncertain=_uncertain(summary, members, cluster),
    )


# --- columns --------------------------------------------------------------------------------------


def _setting_apart(summary: Summary, cluster: int) -> str:
    if summary.means is None or summary.n_clusters == 1:
        return ""
    found = summary.apart(cluster)
    if not found:
        return "No single column sets it apart."
    return capitalized_html(listed([_phrase(difference) for difference in found])) + "."


def _phrase(found: Difference) -> str:
    """``petal length is high (mean 5.6, overall 3.8)``."""
    label = f"<em>{name(shorten(found.column))}</em>"
    here, everywhere = (text(value) for value in found.values())
    if found.is_binary:
        word = "common" if found.difference > 0 else "rare"
        return f"{label} is {word} ({here}, overall {everywhere})"
    word = "high" if found.difference > 0 else "low"
    degree = "very " if abs(found.difference) >= _VERY else ""
    return f"{label} is {degree}{word} (mean {here}, overall {everywhere})"


def capitalized_html(sentence: str) -> str:
    """Capitalized, unless the sentence begins with a name from the data."""
    return sentence if sentence.startswith("<") else capitalized(sentence)


def _leaning(summary: Summary, cluster: int) -> str:
    rows = summary.memberships[summary.labels == cluster]
    if summary.n_clusters == 1 or not len(rows):
        return ""
    elsewhere = rows.mean(axis=0)
    elsewhere[cluster] = 0.0
    other = int(elsewhere.argmax())
    if elsewhere[other] < _LEANING:
        return "It is well separated from all others."
    share = short_percent(float(elsewhere[other]))
    return (
        f"It overlaps most with {text(shorten(summary.name_of(other)))}, "
        f"which has {share} of the membership of its objects."
    )


# --- members --------------------------------------------------------------------------------------


def _typical(summary: Summary, members: Members, cluster: int) -> str:
    return listed([name(shorten(summary.id_of(i))) for i in members.typical(cluster)])


def _uncertain(summary: Summary, members: Members, cluster: int) -> str:
    if summary.n_clusters == 1:
        return ""
    found = members.uncertain(cluster)
    doubtful = [i for i in found if summary.memberships[i, cluster] < CLEAR_FROM]
    if not found:
        return ""
    if not doubtful:
        lowest = min(float(summary.memberships[i, cluster]) for i in found)
        return f"none; every member has a membership of {lowest:.2f} or more"
    return "; ".join(_two_most_probable(summary, members, i, cluster) for i in doubtful)


def _two_most_probable(summary: Summary, members: Members, position: int, cluster: int) -> str:
    other = members.runner_up(position)
    here = short_percent(float(summary.memberships[position, cluster]))
    there = short_percent(float(summary.memberships[position, other]))
    return (
        f"{name(shorten(summary.id_of(position)))} ({here} here, "
        f"{there} {text(shorten(summary.name_of(other)))})"
    )
