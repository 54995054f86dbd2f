"""Members of clusters: typical ones, uncertain ones, and why an object lies between two."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit._wording import count_of, listed, number, short_percent, shorten
from soffit.affinity.distinct import repeated_rows
from soffit.results.differences import NOTABLE, ColumnMeans, divided
from soffit.results.profiles import ColumnGroup, column_groups
from soffit.results.summary import CLEAR_FROM, Summary

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
        weights = self._summary.column(cluster)
        strength = np.asarray(A[members] @ weights, dtype=np.float64).ravel() * weights[members]
        order = np.lexsort((members, -np.round(strength, 9)))[:most]
        return [int(position) for position in members[order]]

    def shown(self, cluster: int) -> tuple[str, list[int]]:
        """The members that stand for a cluster: the best linked or typical ones; the word first."""
        if self._summary.has_given_links and self._summary.table is None:
            return "best linked", self.central(cluster)
        return "typical", self.typical(cluster)

    def runner_up(self, position: int) -> int:
        """The second most probable cluster of an object."""
        row = self._summary.rows([position])[0].copy()
        row[self._labels[position]] = -1.0
        return int(row.argmax())

    def _remoteness(self, members: IntArray, cluster: int) -> FloatArray:
        """Distance from the centre; without columns, minus the affinity to the cluster."""
        weights = self._summary.column(cluster)
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


def in_short(summary: Summary, cluster: int) -> str:
    """What is special about a cluster in very few words: ``high petal_length``; or nothing.

    The two best linked members of a graph, the three most telling words, else the first column.
    """
    is_named = summary.names[cluster] != str(cluster)
    if is_named or summary.n_clusters == 1 or summary.pixels is not None:
        return ""
    if summary.table is None:
        found = Members(summary).central(cluster, 2) if summary.has_given_links else []
        return ", ".join(shorten(summary.id_of(i), 20) for i in found)
    apart = summary.apart(cluster)
    if is_sparse(summary.table):
        return ", ".join(shorten(item.column, 16) for item in apart)
    for item in apart[:1]:
        value = item.column.partition("=")[2]
        if item.is_binary and value and item.difference > 0:
            return shorten(value, 24)
        few = ("few", "many") if item.is_binary else ("low", "high")
        return f"{few[item.difference > 0]} {shorten(item.column, 24)}"
    return ""


def called(summary: Summary) -> tuple[str, ...]:
    """What each cluster is called in a sentence; nothing unless the words tell all of them apart.

    Their names if a user gave them, else what is special about them.
    """
    found = tuple(
        shorten(name, 30) if name != str(cluster) else in_short(summary, cluster)
        for cluster, name in enumerate(summary.names)
    )
    says_something = all(any(c.isalpha() for c in words) for words in found)
    return found if says_something and len(set(found)) == len(found) else ()


# A smaller share of the membership does not count as overlap.
_LEANING = 0.01


def overlap_with(summary: Summary, cluster: int) -> tuple[int, float] | None:
    """The other cluster that has most of the membership of a cluster's objects, and its share.

    None if the cluster is well separated, empty, or the only one.
    """
    rows = summary.memberships[summary.labels == cluster]
    if summary.n_clusters == 1 or not rows.shape[0]:
        return None
    elsewhere = np.asarray(rows.mean(axis=0))
    elsewhere[cluster] = 0.0
    other = int(elsewhere.argmax())
    return None if elsewhere[other] < _LEANING else (other, float(elsewhere[other]))


_NAMED = 3
# A missing value.
_GAP = "\N{EN DASH}"


@dataclass(frozen=True)
class Comparison:
    """One column: the object's value and what is typical of both clusters.

    `nearer` is 0 if the value is nearer to the first cluster, 1 for the second, None if missing.
    `gap` is the difference of the two clusters in standard deviations. `is_presence` marks a word
    or gene that the object has, compared by how many objects of the clusters have it.
    """

    column: str
    own: str
    first: str
    second: str
    nearer: int | None
    gap: float
    is_presence: bool = False


@dataclass(frozen=True)
class Between:
    """An object and the two clusters it lies between."""

    position: int  # The object.
    clusters: tuple[int, int]  # Its two most probable clusters.
    shares: tuple[float, float]  # Its memberships in them.
    # The columns in which the two clusters differ most, the largest difference first.
    columns: tuple[Comparison, ...]
    links: str = ""  # A sentence on its links, for graphs.

    def sentence(self, summary: Summary) -> str:
        """Which of its values speak for which cluster; the links of a graph's node."""
        if self.links:
            return self.links
        parts = list(filter(None, (self._speaking_for(side, summary) for side in (0, 1))))
        if len(parts) == 2:
            return f"{parts[0]}, but {parts[1]}."
        return f"{parts[0]}." if parts else "The two clusters hardly differ in any single column."

    def _speaking_for(self, side: int, summary: Summary) -> str:
        """``year and V6 are nearer to cluster 1, where hockey is more frequent``, or part of it."""
        where = shorten(summary.name_of(self.clusters[side]))
        found = [c for c in self.columns if c.nearer == side and c.gap >= NOTABLE][:_NAMED]
        near, frequent = (
            [shorten(c.column, 40) for c in found if c.is_presence == is_presence]
            for is_presence in (False, True)
        )
        more = f"{listed(frequent)} {'is' if len(frequent) == 1 else 'are'} more frequent"
        if not near:
            return f"{more} in {where}" if frequent else ""
        nearer = f"{listed(near)} {'is' if len(near) == 1 else 'are'} nearer to {where}"
        return f"{nearer}, where {more}" if frequent else nearer


def between(summary: Summary, position: int, most: int = 6) -> Between:
    """Compare an object with its two most probable clusters."""
    row = summary.rows([position])[0]
    first, second = (int(cluster) for cluster in np.argsort(-row, kind="stable")[:2])
    columns = _columns(summary, position, first, second)
    links = "" if columns else _links(summary, position, first, second)
    if summary.attributes is not None:
        columns = _columns(summary.attributes, position, first, second)[: most // 2] + columns
    shares = (float(row[first]), float(row[second]))
    return Between(position, (first, second), shares, tuple(columns[:most]), links)


def least_certain(summary: Summary, most: int = 6) -> list[int]:
    """Objects that do not clearly belong to one cluster, the least certain first.

    Objects between the same two clusters take turns with those between others; of objects with the
    same values the first stands for all.
    """
    if summary.n_clusters == 1:
        return []
    order = np.argsort(summary.certainty, kind="stable")
    doubtful = order[summary.certainty[order] < CLEAR_FROM]
    if summary.table is not None:
        doubtful = np.delete(doubtful, repeated_rows(summary.table[doubtful]))
    pairs = np.sort(summary.top(2, doubtful)[0])
    seen: dict[tuple[int, ...], int] = {}
    turns: list[int] = []
    for pair in map(tuple, pairs.tolist()):
        turns.append(seen.get(pair, 0))
        seen[pair] = turns[-1] + 1
    ranked = np.argsort(np.array(turns, dtype=np.int64), kind="stable")
    return [int(doubtful[place]) for place in ranked[:most]]


def _columns(summary: Summary, position: int, first: int, second: int) -> list[Comparison]:
    table, means = summary.table, summary.means
    if table is None or means is None:
        return []
    row = np.asarray(
        table[[position]].toarray()[0] if is_sparse(table) else table[position], dtype=np.float64
    )
    gaps = np.abs(means.difference[first] - means.difference[second])
    groups = column_groups(summary)
    strength = np.array([gaps[list(group.members)].max() for group in groups])
    if is_sparse(table):
        # A word that the object does not have says little.
        strength = np.where([row[group.members[0]] != 0 for group in groups], strength, 0.0)
    order = np.argsort(-strength, kind="stable")
    return [
        _compared(means, groups[place], row, (first, second), float(strength[place]))
        for place in order
        if strength[place] > 0
    ]


def _compared(
    means: ColumnMeans, group: ColumnGroup, row: FloatArray, pair: tuple[int, int], gap: float
) -> Comparison:
    first, second = pair
    members = list(group.members)
    here, there = means.inside[first, members], means.inside[second, members]
    if group.values:
        known = ~np.isnan(row[members])
        at = int(row[members].argmax()) if known.all() else -1
        own = group.values[at] if at >= 0 and row[members[at]] > 0 else _GAP
        nearer = None if own == _GAP else int(there[at] > here[at])
        texts = [_most_frequent(group, shares) for shares in (here, there)]
        return Comparison(group.name, own, texts[0], texts[1], nearer, gap)
    j = members[0]
    if means.presence is not None:
        here, there = means.presence[[first, second], [j, j]].tolist()
        texts = [short_percent(share) for share in (here, there)]
        return Comparison(group.name, "yes", texts[0], texts[1], int(there > here), NOTABLE, True)
    value, spread = float(row[j]), float(means.spread[j])
    low, high = float(here[0]), float(there[0])
    if np.isnan(value):
        nearer, own = None, _GAP
    else:
        nearer = int(abs(value - high) < abs(value - low))
        own = number(value, spread=spread)
    if means.is_binary[j]:
        own = _GAP if np.isnan(value) else ("yes" if value else "no")
        texts = [f"{short_percent(share)} yes" for share in (low, high)]
        return Comparison(group.name, own, texts[0], texts[1], nearer, gap)
    return Comparison(
        group.name, own, number(low, spread=spread), number(high, spread=spread), nearer, gap
    )


def _most_frequent(group: ColumnGroup, shares: FloatArray) -> str:
    best = int(shares.argmax())
    return f"{group.values[best]} ({short_percent(float(shares[best]))})"


def _links(summary: Summary, position: int, first: int, second: int) -> str:
    """How many links lead where, with the strongest neighbours by name."""
    A = summary.affinities
    if A is None or not summary.has_given_links:
        return ""
    row = np.asarray(A[[position]].toarray() if is_sparse(A) else A[[position]]).ravel().copy()
    row[position] = 0.0
    neighbours = np.flatnonzero(row > 0)
    if not len(neighbours):
        return ""
    neighbours = neighbours[np.argsort(-row[neighbours], kind="stable")]
    counts: list[int] = []
    parts = []
    for cluster in (first, second):
        inside = [int(i) for i in neighbours if summary.labels[i] == cluster]
        names = [shorten(summary.id_of(i), 30) for i in inside]
        where = shorten(summary.name_of(cluster))
        some = f" ({listed(names, most=_NAMED)})" if names else ""
        counts.append(len(inside))
        parts.append(f"to {where}{some}")
    if len(neighbours) in counts:
        whole = parts[counts.index(len(neighbours))]
        return f"{_all_links(len(neighbours))} {whole}."
    total = count_of(len(neighbours), "link")
    verbs = ["lead" if count != 1 else "leads" for count in counts]
    if 0 in counts:
        at = 1 - counts.index(0)
        return f"Of its {total}, {counts[at]} {verbs[at]} {parts[at]}."
    return f"Of its {total}, {counts[0]} {verbs[0]} {parts[0]} and {counts[1]} {parts[1]}."


def _all_links(count: int) -> str:
    words = {1: "Its only link leads", 2: "Both of its links lead"}
    return words.get(count, f"All of its {count:,} links lead")
