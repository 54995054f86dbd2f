"""Each cluster in words: size, members, what sets it apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray, IntArray, is_sparse
from soffit.report._differences import ColumnMeans, standardized
from soffit.report._subject import CLEAR, Subject
from soffit.report._words import (
    capitalized,
    count_of,
    listed,
    number,
    percent,
    short_percent,
    shorten,
)
from soffit.report.html import name, text

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


_VERY = 2.0
# With more clusters than this, the larger ones matter first.
MANY = 12
# Below this share of their membership, members do not lean anywhere.
_LEANING = 0.01


@dataclass(frozen=True)
class Portrait:
    """One cluster in words; all sentences are HTML."""

    cluster: int
    title: str
    size: str
    sentences: tuple[str, ...]
    typical: str
    uncertain: str


def portraits(subject: Subject) -> list[Portrait]:
    """All clusters by number; of many, the largest first."""
    table = subject.table
    means = None if table is None else ColumnMeans.of(table, subject.memberships)
    members = Members(subject, means)
    order = np.arange(subject.n_clusters)
    if len(order) > MANY:
        order = np.argsort(-subject.sizes, kind="stable")
    return [_portrait(subject, means, members, int(cluster)) for cluster in order]


def _portrait(
    subject: Subject, means: ColumnMeans | None, members: Members, cluster: int
) -> Portrait:
    size = int(subject.sizes[cluster])
    share = percent(size / subject.n_objects)
    sentences = [_setting_apart(subject, means, cluster), _leaning(subject, cluster)]
    return Portrait(
        cluster=cluster,
        title=capitalized(text(shorten(subject.cluster(cluster)))),
        size=f"{count_of(size, 'object')}, {share}",
        sentences=tuple(sentence for sentence in sentences if sentence),
        typical=_typical(subject, members, cluster),
        uncertain=_uncertain(subject, members, cluster),
    )


# --- columns --------------------------------------------------------------------------------------


def _setting_apart(subject: Subject, means: ColumnMeans | None, cluster: int) -> str:
    if means is None or subject.n_clusters == 1:
        return ""
    notable = means.notable(cluster)
    if not notable:
        return "No single column sets it apart."
    phrases = [_phrase(subject.columns[column], means, cluster, column) for column in notable]
    return capitalized_html(listed(phrases)) + "."


def _phrase(column_name: str, means: ColumnMeans, cluster: int, column: int) -> str:
    """``petal length is high (mean 5.6, overall 3.8)``."""
    inside, overall = means.inside[cluster, column], means.overall[column]
    difference = means.difference[cluster, column]
    label = f"<em>{name(shorten(column_name))}</em>"
    if means.is_binary[column]:
        word = "common" if difference > 0 else "rare"
        return f"{label} is {word} ({short_percent(inside)}, overall {short_percent(overall)})"
    word = "high" if difference > 0 else "low"
    degree = "very " if abs(difference) >= _VERY else ""
    spread = float(means.spread[column])
    here, everywhere = number(inside, spread=spread), number(overall, spread=spread)
    return f"{label} is {degree}{word} (mean {here}, overall {everywhere})"


def capitalized_html(sentence: str) -> str:
    """A sentence that begins with a user's name stays as it is: names keep their spelling."""
    return sentence if sentence.startswith("<") else capitalized(sentence)


def _leaning(subject: Subject, cluster: int) -> str:
    rows = subject.memberships[subject.labels == cluster]
    if subject.n_clusters == 1 or not len(rows):
        return ""
    elsewhere = rows.mean(axis=0)
    elsewhere[cluster] = 0.0
    other = int(elsewhere.argmax())
    if elsewhere[other] < _LEANING:
        return "It is well separated from all others."
    share = short_percent(float(elsewhere[other]))
    return (
        f"It touches {text(shorten(subject.cluster(other)))} most, "
        f"which takes {share} of its members' membership."
    )


# --- members --------------------------------------------------------------------------------------


def _typical(subject: Subject, members: Members, cluster: int) -> str:
    return listed([name(shorten(subject.id_of(i))) for i in members.typical(cluster)])


def _uncertain(subject: Subject, members: Members, cluster: int) -> str:
    if subject.n_clusters == 1:
        return ""
    found = members.uncertain(cluster)
    doubtful = [i for i in found if subject.memberships[i, cluster] < CLEAR]
    if not found:
        return ""
    if not doubtful:
        lowest = min(float(subject.memberships[i, cluster]) for i in found)
        return f"none; every member has a membership of {lowest:.2f} or more"
    return "; ".join(_two_likeliest(subject, members, i, cluster) for i in doubtful)


def _two_likeliest(subject: Subject, members: Members, position: int, cluster: int) -> str:
    other = members.runner_up(position)
    here = short_percent(float(subject.memberships[position, cluster]))
    there = short_percent(float(subject.memberships[position, other]))
    return (
        f"{name(shorten(subject.id_of(position)))} ({here} here, "
        f"{there} {text(shorten(subject.cluster(other)))})"
    )
