"""Affinities of tuples of points: one of the ready-made deviations, or a user's function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soffit._threads import each
from soffit._typing import FloatArray, IntArray
from soffit.affinity._tuple_deviations import DEVIATIONS

# Tuples measured at once: a fixed number, so that threads change no byte.
_BLOCK = 2**15

TupleFunction = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class TupleMeasure:
    """What is measured of a tuple: its deviation from a shape, or minus its affinity.

    Either way less is better. Deviations become affinities once their width is known.

    Parameters
    ----------
    function : callable
        Takes the points of t tuples, an array of shape (t, order, d); returns t numbers.
    order : int
        Objects in a tuple.
    is_deviation : bool
        Whether the function gives deviations; otherwise it gives affinities.
    n_jobs : int, optional
        Threads; a user's function is called by one thread only.
    """

    function: TupleFunction
    order: int
    is_deviation: bool
    n_jobs: int | None = None

    def of_tuples(self, X: FloatArray, tuples: IntArray) -> FloatArray:
        """Measures of tuples of rows of X."""
        unit = _unit(X) if self.is_deviation else 1.0

        def measure(first: int) -> FloatArray:
            points = X[tuples[first : first + _BLOCK]].astype(np.float64, copy=False)
            # Deviations scale with the points; squares of very large or small ones do not exist.
            return unit * self._of_points(points / unit) if unit != 1.0 else self._of_points(points)

        blocks = range(0, len(tuples), _BLOCK)
        parts = each(measure, blocks, self.n_jobs if self.is_deviation else 1)
        return np.concatenate(parts) if parts else np.zeros(0)

    def affinity(self, measures: FloatArray, width: float | None) -> FloatArray:
        """Affinities that go with the measures: exp(-deviation^2 / width^2)."""
        if width is None:
            return -measures
        return np.asarray(np.exp(-((measures / width) ** 2)))

    def _of_points(self, points: FloatArray) -> FloatArray:
        if self.is_deviation:
            return self.function(points)
        values = np.asarray(self.function(points), dtype=np.float64)
        if values.shape != (len(points),):
            raise ValueError(
                f"tuple_affinity must return one value a tuple, an array of shape "
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
    """A power of two, by which dividing is exact, about as large as the largest coordinate."""
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
    """The measure that a name or a function stands for, after a look at order and dimension.

    Parameters
    ----------
    tuple_affinity : {"point", "line", "plane", "circle"} or callable
        A callable takes an array of shape (t, order, d) and returns t affinities >= 0, which
        should not depend on the order of the points in a tuple.
    order : int
        Objects in a tuple.
    n_features : int
        Dimension of the points.
    width : float, optional
        Width asked for; only named deviations have one.
    n_jobs : int, optional
        Threads.
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
