"""Each cluster in a row: its size, how certain its members are, and what sets it apart."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from soffit.cli.console import Talk

if TYPE_CHECKING:
    from soffit._typing import FloatArray, IntArray

# Below this membership in every cluster an object counts as uncertain.
UNCERTAIN = 0.6
# Columns named for a cluster, and how far (in standard deviations) their means must be apart.
_MOST_COLUMNS = 2
_LEAST_DIFFERENCE = 0.5
_ROWS_AT_ONCE = 2**16
_LONGEST_NAME = 30
# More clusters than this fill a screen.
_MOST_ROWS = 60


@dataclass(frozen=True)
class Difference:
    """A column in which a cluster differs from the other objects."""

    column: str
    mean: float
    others: float

    def __str__(self) -> str:
        return f"{_short(self.column)} {_value(self.mean)} (others {_value(self.others)})"


@dataclass(frozen=True)
class Cluster:
    """What the table of clusters shows."""

    cluster: int
    size: int
    certainty: float
    apart: tuple[Difference, ...]


def describe_clusters(
    memberships: FloatArray, data: Any = None, columns: tuple[str, ...] = ()
) -> list[Cluster]:
    """The clusters in order; with a table also the columns that set each apart."""
    k = memberships.shape[1]
    labels = memberships.argmax(axis=1)
    top = memberships.max(axis=1)
    sizes = np.bincount(labels, minlength=k)
    certainty = np.bincount(labels, weights=top, minlength=k) / np.maximum(sizes, 1)
    differences: list[tuple[Difference, ...]] = [()] * k
    if data is not None and len(columns) == data.shape[1]:
        differences = _differences(data, columns, labels, sizes)
    return [
        Cluster(c, int(sizes[c]), float(certainty[c]) if sizes[c] else float("nan"), differences[c])
        for c in range(k)
    ]


def show_clusters(talk: Talk, clusters: list[Cluster], certainty: FloatArray) -> None:
    """The table, and how many objects are uncertain."""
    rows = [
        (str(c.cluster), str(c.size), _number(c.certainty), ", ".join(str(d) for d in c.apart))
        for c in clusters[:_MOST_ROWS]
    ]
    if any(c.apart for c in clusters):
        talk.table(("cluster", "size", "certainty", "set apart by"), rows)
    else:
        talk.table(("cluster", "size", "certainty"), [row[:3] for row in rows], words=0)
    if len(clusters) > _MOST_ROWS:
        talk.say(f"... and {len(clusters) - _MOST_ROWS} more clusters.")
    talk.say()
    if len(clusters) > 1:
        talk.say(_about_doubt(count_uncertain(certainty), len(certainty)))


def _about_doubt(n_uncertain: int, n: int) -> str:
    if not n_uncertain:
        return f"Every object has more than {UNCERTAIN:.0%} of its membership in one cluster."
    are = "is" if n_uncertain == 1 else "are"
    return (
        f"{n_uncertain} of {n} objects {are} uncertain: no cluster has more than {UNCERTAIN:.0%} "
        "of the membership."
    )


def count_uncertain(certainty: FloatArray) -> int:
    """Objects without any clear cluster."""
    return int(np.count_nonzero(certainty <= UNCERTAIN))


def as_dicts(clusters: list[Cluster]) -> list[dict[str, Any]]:
    """For JSON."""
    return [asdict(cluster) for cluster in clusters]


def _differences(
    data: Any, columns: tuple[str, ...], labels: IntArray, sizes: IntArray
) -> list[tuple[Difference, ...]]:
    """Per cluster the columns whose mean differs most from that of the other objects."""
    sums, squares = _sums(data, labels, len(sizes))
    n = len(labels)
    total = sums.sum(axis=0)
    variance = np.maximum(squares / n - (total / n) ** 2, 0.0)
    # Differences within rounding of a constant column are none.
    spread = np.sqrt(np.where(variance > 1e-12 * (squares / n), variance, np.inf))
    means = sums / np.maximum(sizes, 1)[:, None]
    others = (total - sums) / np.maximum(n - sizes, 1)[:, None]
    score = np.where(((sizes > 0) & (sizes < n))[:, None], np.abs(means - others) / spread, 0.0)
    best = np.argsort(-score, axis=1, kind="stable")[:, :_MOST_COLUMNS]
    return [
        tuple(
            Difference(columns[j], float(means[c, j]), float(others[c, j]))
            for j in best[c].tolist()
            if score[c, j] > _LEAST_DIFFERENCE
        )
        for c in range(len(sizes))
    ]


def _sums(data: Any, labels: IntArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Sums of each column by cluster, and of its squares, a part of the rows at a time."""
    import scipy.sparse as sp

    n, p = data.shape
    sums, squares = np.zeros((k, p)), np.zeros(p)
    for first in range(0, n, _ROWS_AT_ONCE):
        rows = data[first : first + _ROWS_AT_ONCE]
        part = labels[first : first + _ROWS_AT_ONCE]
        belongs = sp.csr_array((np.ones(len(part)), (part, np.arange(len(part)))), (k, len(part)))
        found = belongs @ rows
        sums += found.toarray() if sp.issparse(found) else np.asarray(found)
        squares += np.asarray((rows * rows).sum(axis=0), dtype=np.float64).ravel()
    return sums, squares


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"


def _value(value: float) -> str:
    """Three digits; large numbers without an exponent."""
    return f"{value:.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.3g}"


def _number(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"
