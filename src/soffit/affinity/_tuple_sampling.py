"""Which tuples are worth measuring: a sample that grows linearly with the objects.

Most random tuples mix clusters and say only that. So the sample is made of *bases*, which hold all
members of a tuple but one, each completed by random objects. An object's bases are those of its
candidates that tell objects apart best: with a base inside a cluster, about one completion in k
fits (nearly) and the others do not; with a base across clusters nothing fits, and with a base of
nearly equal points everything does. No labels are needed to see the difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil, comb

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.affinity._tuples import TupleMeasure

# Tuples an object, and completions a base.
_TUPLES_PER_OBJECT = 100
_COMPLETIONS = 20
# Candidate bases of an object: this many times the number of tries that one inside a cluster
# takes on average, within limits; and the objects on which a candidate is tried.
_CANDIDATES = 4
_MOST_CANDIDATES = 64
_PROBES = (8, 24, 96)
# Rounds in which objects try the best bases of others; pairs leave nothing to be passed on.
_ROUNDS = 2
# Width of the affinity in typical deviations of points that lie on one shape, and its least
# share of the typical deviation of points that do not.
_WIDTH = 5.0
_LEAST_WIDTH = 1e-3
# Objects whose candidates are tried at once.
_BLOCK = 512


@dataclass(frozen=True, eq=False)
class TupleSample:
    """Sampled tuples with their affinities, and the bases they were made of.

    Parameters
    ----------
    tuples : array of shape (t, order)
        Objects of each tuple, all different.
    values : array of shape (t,)
        Their affinities.
    bases : array of shape (b, order - 1)
        Tuples that lack one object, for new objects to complete.
    contrast : array of shape (b,)
        How well a base tells objects apart, 0 to 1 for deviations.
    width : float or None
        Width of the affinity; None where a function gives affinities itself.
    """

    tuples: IntArray
    values: FloatArray
    bases: IntArray
    contrast: FloatArray
    width: float | None


def sample_tuples(
    measure: TupleMeasure,
    X: FloatArray,
    n_clusters: int,
    random_state: np.random.RandomState,
    *,
    n_tuples: int | None = None,
    width: float | None = None,
) -> TupleSample:
    """Sample tuples of rows of X and measure their affinities.

    All tuples are taken where there are at most `n_tuples`.

    Parameters
    ----------
    measure : TupleMeasure
        What is measured of a tuple.
    X : array of shape (n, d)
        The points, at least as many as a tuple holds.
    n_clusters : int
        Number of clusters that is looked for: bases inside one are rarer with more of them.
    random_state : RandomState
        Source of the tuples.
    n_tuples : int, optional
        How many; by default 100 for each object.
    width : float, optional
        Width of the affinity of deviations; by default five times the deviation that is typical
        of the completions that fit an object's best base.
    """
    n, order = len(X), measure.order
    n_tuples = _TUPLES_PER_OBJECT * n if n_tuples is None else n_tuples
    candidates = _propose(measure, X, n_clusters, random_state)
    if measure.is_deviation and width is None:
        width = _typical_width(candidates)
    spread = measure.affinity(candidates.low, width) - measure.affinity(candidates.high, width)
    bases, contrast = _best_bases(
        candidates.bases, spread, ceil(n_tuples / _COMPLETIONS), random_state
    )
    tuples: IntArray
    if comb(n, order) <= n_tuples:
        tuples = np.array(list(combinations(range(n), order)), dtype=np.int64)
    else:
        repeated = np.repeat(bases, ceil(n_tuples / len(bases)), axis=0)[:n_tuples]
        tuples = with_another(repeated, n, random_state)
    values = measure.affinity(measure.of_tuples(X, tuples), width)
    return TupleSample(tuples, values, bases, contrast, width)


def with_another(taken: IntArray, n_objects: int, random_state: np.random.RandomState) -> IntArray:
    """Each row with one more object, drawn evenly from those that the row does not hold."""
    drawn = random_state.randint(0, n_objects - taken.shape[1], size=len(taken))
    # The numbers that are left are counted through by stepping over those that are taken.
    for column in np.sort(taken, axis=1).T:
        drawn += drawn >= column
    return np.concatenate([taken, drawn[:, None]], axis=1)


# --- candidates -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Bases of every object (itself comes first), and a low and a high quantile of measures."""

    bases: IntArray
    low: FloatArray
    high: FloatArray
    is_deviation: bool

    def quality(self) -> FloatArray:
        """How well a base tells objects apart, before any width is known."""
        if not self.is_deviation:
            return self.high - self.low
        relative = np.divide(self.low, self.high, out=np.ones_like(self.low), where=self.high > 0)
        return -relative

    def best(self) -> IntArray:
        """The best base of every object."""
        return self.quality().argmax(axis=1)


def _propose(
    measure: TupleMeasure, X: FloatArray, n_clusters: int, random_state: np.random.RandomState
) -> _Candidates:
    """Random bases for every object, then bases that are good for others."""
    n, order = len(X), measure.order
    count = min(_CANDIDATES * n_clusters ** max(order - 2, 1), _MOST_CANDIDATES)
    bases: IntArray = np.repeat(np.arange(n), count)[:, None]
    for _ in range(order - 2):
        bases = with_another(bases, n, random_state)
    found = _tried(bases.reshape(n, count, order - 1), measure, X, n_clusters, random_state)
    if order < 4 or n < order:
        return found
    count = min(_CANDIDATES * n_clusters, _MOST_CANDIDATES)
    for _ in range(_ROUNDS):
        passed_on = _from_others(found, count, random_state)
        more = _tried(passed_on, measure, X, n_clusters, random_state)
        found = _joined(found, more)
    return found


def _from_others(found: _Candidates, count: int, random_state: np.random.RandomState) -> IntArray:
    """For every object the best bases of random others, itself in place of one member."""
    n, _, size = found.bases.shape
    theirs = found.bases[np.arange(n), found.best()][random_state.randint(0, n, (n, count))]
    own = np.arange(n)[:, None]
    # An object that the base holds already takes its own place, so that no base holds it twice.
    holds = theirs == own[:, :, None]
    leaves = np.where(
        holds.any(axis=2), holds.argmax(axis=2), random_state.randint(0, size, (n, count))
    )
    np.put_along_axis(theirs, leaves[:, :, None], theirs[:, :, :1], axis=2)
    theirs[:, :, 0] = own
    return theirs


def _joined(first: _Candidates, second: _Candidates) -> _Candidates:
    return _Candidates(
        np.concatenate([first.bases, second.bases], axis=1),
        np.concatenate([first.low, second.low], axis=1),
        np.concatenate([first.high, second.high], axis=1),
        first.is_deviation,
    )


def _tried(
    bases: IntArray,
    measure: TupleMeasure,
    X: FloatArray,
    n_clusters: int,
    random_state: np.random.RandomState,
) -> _Candidates:
    """Measure every base together with random objects.

    A base inside a cluster has about 1/k of the objects with it: the low quantile at half that
    share is what is typical of them, the high one what is typical of the others.
    """
    n, count, size = bases.shape
    per_cluster, least, most = _PROBES
    probes = int(np.clip(per_cluster * n_clusters, least, most))
    rank = min(probes // (2 * n_clusters), probes - 1)
    ranks = sorted({rank, probes - 1 - rank})
    low, high = np.empty((n, count)), np.empty((n, count))
    for first in range(0, n, _BLOCK):
        rows = slice(first, first + _BLOCK)
        tuples = np.repeat(bases[rows].reshape(-1, size), probes, axis=0)
        measures = measure.of_tuples(X, with_another(tuples, len(X), random_state))
        ordered = np.partition(measures.reshape(-1, count, probes), ranks, axis=2)
        low[rows], high[rows] = ordered[:, :, ranks[0]], ordered[:, :, ranks[-1]]
    return _Candidates(bases, low, high, measure.is_deviation)


# --- choice ---------------------------------------------------------------------------------------


def _typical_width(candidates: _Candidates) -> float:
    """Five times the deviation typical of objects on one shape."""
    best = candidates.best()[:, None]
    inside = float(np.median(np.take_along_axis(candidates.low, best, axis=1)))
    outside = float(np.median(candidates.high))
    width = max(_WIDTH * inside, _LEAST_WIDTH * outside)
    return width if width > 0 else 1.0


def _best_bases(
    bases: IntArray, contrast: FloatArray, n_bases: int, random_state: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """Every object's best base, then every object's second best, until there are enough."""
    n, _, size = bases.shape
    ranked = np.argsort(-contrast, axis=1, kind="stable")[:, : ceil(n_bases / n)]
    # Neighbouring objects may belong together; where bases run short, chance leaves some out.
    objects = random_state.permutation(n)
    chosen = np.take_along_axis(bases, ranked[:, :, None], axis=1)[objects]
    contrast = np.take_along_axis(contrast, ranked, axis=1)[objects]
    return chosen.transpose(1, 0, 2).reshape(-1, size)[:n_bases], contrast.T.ravel()[:n_bases]
