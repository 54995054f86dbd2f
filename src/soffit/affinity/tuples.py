"""Affinities of tuples of points: how far they lie from a common line, plane or circle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import ceil, comb
from typing import ClassVar

import numpy as np

from soffit._threads import each
from soffit._typing import FloatArray, IntArray

# Newton steps on the circle polynomial; they converge quadratically from one side.
_NEWTON_STEPS = 40
_NEWTON_PRECISION = 1e-12


@dataclass(frozen=True)
class Deviation:
    """A deviation, with the smallest order and dimension for which it can be nonzero."""

    of: Callable[[FloatArray], FloatArray]
    least_order: int
    least_features: int


def point_deviation(points: FloatArray) -> FloatArray:
    """Root mean square distance of each tuple's points to their mean.

    `points` (t, order, d): the points of t tuples, in any dimension.
    """
    centered = _centered(points)
    return np.asarray(np.sqrt(np.einsum("tod,tod->t", centered, centered) / points.shape[1]))


def line_deviation(points: FloatArray) -> FloatArray:
    """Root mean square distance of each tuple's points to their best line.

    `points` (t, order, d): the points of t tuples, in any dimension.
    """
    if points.shape[1] == 3:
        return _triangle_deviation(points)
    return _flat_deviation(points, 1)


def plane_deviation(points: FloatArray) -> FloatArray:
    """Root mean square distance of each tuple's points to their best plane.

    `points` (t, order, d): the points of t tuples, in any dimension.
    """
    return _flat_deviation(points, 2)


def circle_deviation(points: FloatArray) -> FloatArray:
    r"""Root mean square distance of each tuple's points to their best circle.

    In the plane this is Pratt's fit: with :math:`F(x) = a|x|^2 + b \cdot x + c` and
    :math:`b \cdot b - 4ac = 1`, :math:`F` is the distance to the circle to first order (exactly,
    if the circle is a straight line), and the least mean square of F is a root of a polynomial of
    degree four. In space the circle lies in the best plane, to which distances are added.

    `points` (t, order, d): the points of t tuples, in any dimension.
    """
    centered = _centered(points)
    if points.shape[2] == 2:
        return np.sqrt(_circle_square(centered))
    in_plane, outside = _best_plane(centered)
    return np.sqrt(_circle_square(in_plane) + outside)


DEVIATIONS: dict[str, Deviation] = {
    "point": Deviation(point_deviation, least_order=2, least_features=1),
    "line": Deviation(line_deviation, least_order=3, least_features=2),
    "plane": Deviation(plane_deviation, least_order=4, least_features=3),
    "circle": Deviation(circle_deviation, least_order=4, least_features=2),
}


# --- lines and planes -----------------------------------------------------------------------------


def _centered(points: FloatArray) -> FloatArray:
    return points - points.mean(axis=1, keepdims=True)


def _triangle_deviation(points: FloatArray) -> FloatArray:
    """Three points spread in two directions: both variances follow from sides and area."""
    first = points[:, 1] - points[:, 0]
    second = points[:, 2] - points[:, 0]
    a = np.einsum("td,td->t", first, first)
    b = np.einsum("td,td->t", second, second)
    ab = np.einsum("td,td->t", first, second)
    total = 2.0 * (a + b - ab) / 3.0
    if points.shape[2] == 2:
        area = (first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]) ** 2
    else:
        area = np.maximum(a * b - ab * ab, 0.0)
    product = area / 3.0
    # The smaller root of x^2 - total x + product, in the form that does not cancel.
    larger = 0.5 * (total + np.sqrt(np.maximum(total * total - 4.0 * product, 0.0)))
    smaller = np.divide(product, larger, out=np.zeros_like(product), where=larger > 0)
    return np.asarray(np.sqrt(smaller / 3.0))


def _flat_deviation(points: FloatArray, dimension: int) -> FloatArray:
    """Root mean square distance to the best flat of the given dimension."""
    centered = _centered(points)
    order, d = points.shape[1:]
    gram = _gram(centered) if order <= d else np.einsum("tod,toe->tde", centered, centered)
    squares = np.linalg.eigvalsh(gram)[:, : max(gram.shape[1] - dimension, 0)].sum(axis=1)
    return np.asarray(np.sqrt(np.maximum(squares, 0.0) / order))


def _gram(centered: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("tod,tpd->top", centered, centered))


def _best_plane(centered: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coordinates in each tuple's best plane, and the mean square distance to it."""
    values, vectors = np.linalg.eigh(_gram(centered))
    values = np.maximum(values, 0.0)
    coordinates = vectors[:, :, -2:] * np.sqrt(values[:, None, -2:])
    return coordinates, values[:, :-2].sum(axis=1) / centered.shape[1]


# --- circles --------------------------------------------------------------------------------------


def _circle_square(centered: FloatArray) -> FloatArray:
    """Least mean square of Pratt's F for centred points in the plane.

    With moments M of (z, x, y, 1), z = x^2 + y^2, and the constraint a'Ba = 1, it is the smallest
    root at or above zero of det(M - eta B). In units where the mean of z is 1 this polynomial is
    c0 + c1 eta + c2 eta^2 - 4 eta^4. Its roots are real, add up to zero, and one is negative;
    hence it falls and is convex from 0 up to the wanted root, and Newton's steps from 0 climb to
    the root without passing it.
    """
    size = np.einsum("toc,toc->t", centered, centered) / centered.shape[1]
    unit = np.sqrt(np.where(size > 0, size, 1.0))
    x, y = np.moveaxis(centered / unit[:, None, None], 2, 0)
    c0, c1, c2 = _circle_polynomial(x, y)
    eta = np.zeros(len(centered))
    for _ in range(_NEWTON_STEPS):
        value = c0 + eta * (c1 + eta * (c2 - 4.0 * eta * eta))
        slope = c1 + eta * (2.0 * c2 - 16.0 * eta * eta)
        step = np.divide(-value, slope, out=np.zeros_like(eta), where=slope < 0)
        step = np.maximum(step, 0.0)
        eta += step
        if np.all(step <= _NEWTON_PRECISION):
            break
    return np.asarray(eta * size)


def _circle_polynomial(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coefficients of det(M - eta B) for points whose mean square distance from 0 is 1."""
    z = x * x + y * y
    xx, xy, yy = (x * x).mean(axis=1), (x * y).mean(axis=1), (y * y).mean(axis=1)
    xz, yz, zz = (x * z).mean(axis=1), (y * z).mean(axis=1), (z * z).mean(axis=1)
    covariance = xx * yy - xy * xy
    c0 = (zz - 1.0) * covariance - xz * xz * yy - yz * yz * xx + 2.0 * xz * yz * xy
    c1 = xz * xz + yz * yz - (zz - 1.0) - 4.0 * covariance
    c2 = zz + 3.0 - 4.0 * covariance
    return np.maximum(c0, 0.0), c1, c2


# Tuples measured at once: a fixed number, so that results do not depend on threads.
_BLOCK = 2**15

TupleFunction = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class TupleMeasure:
    """The measure of a tuple: its deviation from a shape, or minus its affinity.

    In both cases smaller is better. Deviations become affinities once their width is known.
    """

    # Takes the points of t tuples, an array of shape (t, order, d); returns t numbers.
    function: TupleFunction
    order: int  # Objects per tuple.
    is_deviation: bool  # Whether the function returns deviations; otherwise it returns affinities.
    n_jobs: int | None = None  # Number of threads; a user's function is called by one thread only.
    _arrays: ClassVar[dict[str, str]] = {
        "function": "function",
        "order": "count",
        "is_deviation": "bool",
        "n_jobs": "int?",
    }

    def of_tuples(self, X: FloatArray, tuples: IntArray) -> FloatArray:
        """Measures of tuples of rows of X."""
        unit = _unit(X) if self.is_deviation else 1.0

        def measure(first: int) -> FloatArray:
            points = X[tuples[first : first + _BLOCK]].astype(np.float64, copy=False)
            # Deviations scale with the points; this keeps squares in range.
            return unit * self._of_points(points / unit) if unit != 1.0 else self._of_points(points)

        blocks = range(0, len(tuples), _BLOCK)
        parts = each(measure, blocks, self.n_jobs if self.is_deviation else 1)
        return np.concatenate(parts) if parts else np.zeros(0)

    def affinity(self, measures: FloatArray, width: float | None) -> FloatArray:
        """Affinities of the measures: exp(-deviation^2 / width^2)."""
        if width is None:
            return -measures
        return np.asarray(np.exp(-((measures / width) ** 2)))

    def _of_points(self, points: FloatArray) -> FloatArray:
        if self.is_deviation:
            return self.function(points)
        values = np.asarray(self.function(points), dtype=np.float64)
        if values.shape != (len(points),):
            raise ValueError(
                f"tuple_affinity must return one value per tuple, an array of shape "
                f"({len(points)},) for points of shape {points.shape}; it returned shape "
                f"{values.shape}."
            )
        if not (np.isfinite(values).all() and (values >= 0).all()):
            bad = values[~(np.isfinite(values) & (values >= 0))][0]
            raise ValueError(
                f"tuple_affinity must return finite values of at least 0, it returned {bad}. "
                "Turn deviations into affinities, for instance by exp(-deviation**2)."
            )
        return -values


def _unit(X: FloatArray) -> float:
    """A power of two, so that division is exact, about as large as the largest coordinate."""
    largest = float(np.abs(X).max(initial=0.0))
    return float(2.0 ** np.floor(np.log2(largest))) if largest > 0 else 1.0


def tuple_measure(
    tuple_affinity: str | TupleFunction,
    order: int,
    *,
    n_features: int,
    width: float | None = None,
    n_jobs: int | None = None,
) -> TupleMeasure:
    """The measure for a name or a function, after checks of order and dimension.

    `tuple_affinity`: a callable takes an array of shape (t, order, d) and returns t affinities >=
        0, which should not depend on the order of the points in a tuple.
    `order`: objects per tuple.
    `n_features`: dimension of the points.
    `width`: requested width; only named deviations have one.
    `n_jobs`: number of threads.
    """
    if not isinstance(tuple_affinity, str):
        if width is not None:
            raise ValueError(
                f"width={width} applies to the named deviations {sorted(DEVIATIONS)} only: a "
                "tuple_affinity that is a callable returns affinities. Leave width=None."
            )
        return TupleMeasure(tuple_affinity, order, is_deviation=False, n_jobs=n_jobs)
    if tuple_affinity not in DEVIATIONS:
        raise ValueError(
            f"tuple_affinity must be one of {sorted(DEVIATIONS)} or a callable, got "
            f"{tuple_affinity!r}."
        )
    deviation = DEVIATIONS[tuple_affinity]
    if order < deviation.least_order:
        raise ValueError(
            f"order={order} is too small for tuple_affinity={tuple_affinity!r}: any {order} "
            f"points fit a {tuple_affinity}. Use order={deviation.least_order} or more."
        )
    if n_features < deviation.least_features:
        raise ValueError(
            f"tuple_affinity={tuple_affinity!r} needs points with at least "
            f"{deviation.least_features} features, got n_features={n_features}: all points would "
            f"fit one {tuple_affinity}. Use another tuple_affinity."
        )
    return TupleMeasure(deviation.of, order, is_deviation=True, n_jobs=n_jobs)


# Tuples per object, and completions per base.
_TUPLES_PER_OBJECT = 100
_COMPLETIONS = 20
# Candidate bases per object: this multiple of the expected number of draws for one inside a
# cluster, within limits; and the number of objects on which a candidate is tested.
_CANDIDATES = 4
_MOST_CANDIDATES = 64
_PROBES = (8, 24, 96)
# Rounds in which objects test the best bases of others; for pairs there is nothing to share.
_ROUNDS = 2
# Width of the affinity in typical deviations of points on one shape, and its minimum share of the
# typical deviation of points that are not.
_WIDTH = 5.0
_LEAST_WIDTH = 1e-3
# Objects whose candidates are tested at once.
_SAMPLE_BLOCK = 512


@dataclass(frozen=True, eq=False)
class TupleSample:
    """Sampled tuples with their affinities, and the bases they were built from."""

    tuples: IntArray  # (t, order): objects of each tuple, all different.
    values: FloatArray  # (t,): their affinities.
    bases: IntArray  # (b, order - 1): tuples with one object missing, for new objects to complete.
    contrast: FloatArray  # (b,): how well a base separates objects, 0 to 1 for deviations.
    width: float | None  # Width of the affinity; None if a function returns affinities itself.


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

    All tuples are used if there are at most `n_tuples`.

    `measure`: computes the measure of a tuple.
    `X` (n, d): the points, at least as many as in a tuple.
    `n_clusters`: expected number of clusters: with more of them, bases inside one are rarer.
    `random_state`: source of randomness.
    `n_tuples`: number of tuples; by default 100 per object.
    `width`: width of the affinity of deviations; by default five times the typical deviation of the
        completions that fit an object's best base.
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
    """Each row with one more object, drawn uniformly from those not in the row."""
    drawn = random_state.randint(0, n_objects - taken.shape[1], size=len(taken))
    # Draw among the free numbers by skipping those that are taken.
    for column in np.sort(taken, axis=1).T:
        drawn += drawn >= column
    return np.concatenate([taken, drawn[:, None]], axis=1)


# --- candidates -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Bases of every object (itself first), and a low and a high quantile of measures."""

    bases: IntArray
    low: FloatArray
    high: FloatArray
    is_deviation: bool

    def quality(self) -> FloatArray:
        """How well a base separates objects, before a width is known."""
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
    """For every object the best bases of random others, with itself replacing one member."""
    n, _, size = found.bases.shape
    theirs = found.bases[np.arange(n), found.best()][random_state.randint(0, n, (n, count))]
    own = np.arange(n)[:, None]
    # An object already in the base replaces itself, so that no base holds it twice.
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

    A base inside a cluster fits about 1/k of the objects: the low quantile at half that share is
    typical of them, the high one of the others.
    """
    n, count, size = bases.shape
    per_cluster, least, most = _PROBES
    probes = int(np.clip(per_cluster * n_clusters, least, most))
    rank = min(probes // (2 * n_clusters), probes - 1)
    ranks = sorted({rank, probes - 1 - rank})
    low, high = np.empty((n, count)), np.empty((n, count))
    for first in range(0, n, _SAMPLE_BLOCK):
        rows = slice(first, first + _SAMPLE_BLOCK)
        tuples = np.repeat(bases[rows].reshape(-1, size), probes, axis=0)
        measures = measure.of_tuples(X, with_another(tuples, len(X), random_state))
        ordered = np.partition(measures.reshape(-1, count, probes), ranks, axis=2)
        low[rows], high[rows] = ordered[:, :, ranks[0]], ordered[:, :, ranks[-1]]
    return _Candidates(bases, low, high, measure.is_deviation)


# --- choice ---------------------------------------------------------------------------------------


def _typical_width(candidates: _Candidates) -> float:
    """Five times the typical deviation of objects on one shape."""
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
    # Adjacent objects may belong together; if bases are few, leave some out at random.
    objects = random_state.permutation(n)
    chosen = np.take_along_axis(bases, ranked[:, :, None], axis=1)[objects]
    contrast = np.take_along_axis(contrast, ranked, axis=1)[objects]
    return chosen.transpose(1, 0, 2).reshape(-1, size)[:n_bases], contrast.T.ravel()[:n_bases]
