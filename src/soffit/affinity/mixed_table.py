"""Tables of numbers, yes/no, categories and gaps, prepared for `metric="gower"`.

Every column is scaled so that it counts alike among neighbours, whatever its unit and however many
values it has.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit.mixed_columns import Column
from soffit.neighbors.mixed.mixed_distance import MixedDistance

# A number column with at most this many values, and 20 objects per value, is discrete.
_FEW_VALUES = 10
_OBJECTS_PER_VALUE = 20
# Rare categories: a difference counts at most as much as that of two equally frequent values.
_LEAST_DIFFERENT = 0.5
# The rank of the neighbour at which number columns are compared with categories; the steps to the
# fixed point, and the relative change at which it is reached.
_RANK = 15
_MOST_STEPS = 8
_CLOSE = 0.05
# All objects up to this number, above only a sample, are compared with all others.
_COMPARED = 2000
_SAMPLE = 256
# Standard deviations between the 5th and the 95th percentile of a normal distribution, and the
# number of times that heavy tails may widen them.
_PERCENTILES = (5.0, 95.0)
_NORMAL_WIDTH = 3.29
_HEAVY = 2.0
# Numbers farther from the centre than this many spreads are all alike: squares must not overflow.
_FARTHEST = 1e100


@dataclass(frozen=True, eq=False)
class MixedPreparation:
    r"""Scales of the columns of a mixed table, and the distance of its rows.

    A continuous number column is divided by :math:`\sqrt 2 s` with a robust standard deviation s,
    so that the mean squared difference of two random objects is about one. Text, yes/no and number
    columns with few values are discrete. They are scaled in the same way and then by
    :math:`\rho`, the squared difference of an object and its 15th neighbour in a continuous column
    (the median over the objects). A category thus counts as much as a number column among
    neighbours, which is all that a neighbour graph sees. Without this factor neighbours would never
    differ in a category, and every combination of categories would be a cluster. A table without
    continuous or without discrete columns has :math:`\rho = 1`.
    """

    columns: tuple[Column, ...]  # What the columns hold.
    # (p,): numbers become (x - center) / spread.
    center: FloatArray
    spread: FloatArray
    distance: MixedDistance  # The distance of prepared rows.
    share: float = 1.0  # The factor of discrete columns.
    _arrays: ClassVar[dict[str, str]] = {
        "columns": "parts :Column",
        "center": "finite p",
        "spread": "finite p",
        "distance": "part :MixedDistance p",
        "share": "float",
    }

    @classmethod
    def of(cls, table: FloatArray, columns: Sequence[Column]) -> MixedPreparation:
        """Learn the scales of a table of numbers and codes."""
        found = [_scale(column, kind) for column, kind in zip(table.T, columns, strict=True)]
        _warn_of_useless(table, columns, found)
        whole = cls._scaled(tuple(columns), found, 1.0)
        share = _share_of_neighbors(table, whole, found)
        return whole if share == 1.0 else cls._scaled(tuple(columns), found, share)

    @classmethod
    def _scaled(
        cls, columns: tuple[Column, ...], found: Sequence[_Scale], share: float
    ) -> MixedPreparation:
        factors = np.array([share if scale.is_discrete else 1.0 for scale in found])
        distance = MixedDistance(
            np.array([scale.weight for scale in found]) * factors,
            np.array([scale.mismatch for scale in found]) * factors,
            np.array([scale.n_values for scale in found], dtype=np.int64),
        )
        center = np.array([scale.center for scale in found])
        # Codes stay codes.
        spread = np.array([scale.spread for scale in found])
        spread = np.where(distance.n_values > 0, 1.0, spread / np.sqrt(factors))
        return cls(columns, center, spread, distance, share)

    def apply(self, table: FloatArray) -> FloatArray:
        """Scaled numbers and codes, in the precision of the table."""
        # Halves: differences of the largest numbers overflow.
        prepared = (table * 0.5 - self.center * 0.5) / (self.spread * 0.5)
        np.clip(prepared, -_FARTHEST, _FARTHEST, out=prepared)
        # A column without information is the same for all objects, gaps included.
        prepared[:, self.distance.weights == 0] = 0.0
        return prepared.astype(table.dtype)


@dataclass(frozen=True)
class _Scale:
    """How a column is scaled; a weight of 0 leaves it out."""

    center: float
    spread: float
    weight: float
    mismatch: float = 0.0
    n_values: int = 0
    is_discrete: bool = False


_NOTHING = _Scale(0.0, 1.0, 0.0)


def _scale(column: FloatArray, kind: Column) -> _Scale:
    values = column[~np.isnan(column)].astype(np.float64)
    if len(values) == 0:
        return _NOTHING
    distinct, counts = np.unique(values, return_counts=True)
    if len(distinct) < 2:
        return _NOTHING
    if kind.values is not None and not kind.ordered:
        if counts.max() == 1:
            # Every object has a text of its own: a name, which says nothing about similarity.
            return _NOTHING
        different = 1.0 - float(((counts / len(values)) ** 2).sum())
        mismatch = 1.0 / max(different, _LEAST_DIFFERENT)
        n_values = len(kind.values)
        return _Scale(0.0, 1.0, different * mismatch, mismatch, n_values, is_discrete=True)
    # A power of two as the unit changes no digit, and no square or sum overflows or vanishes.
    exponent = int(np.frexp(np.abs(distinct).max())[1])
    scale = _number_scale(np.ldexp(values, -exponent), np.ldexp(distinct, -exponent))
    limits = np.finfo(np.float64)
    return replace(
        scale,
        center=float(np.ldexp(scale.center, exponent)),
        spread=float(np.clip(np.ldexp(scale.spread, exponent), 2 * limits.tiny, limits.max)),
    )


def _number_scale(values: FloatArray, distinct: FloatArray) -> _Scale:
    """The scale of numbers that are at most one."""
    if len(distinct) <= max(2, min(_FEW_VALUES, len(values) // _OBJECTS_PER_VALUE)):
        return _discrete(values, distinct)
    # Differences before squares and sums: no loss to a common offset.
    center = float(np.median(values))
    deviation = _robust_deviation(values - center)
    return _Scale(center, float(np.sqrt(2.0) * deviation), 1.0) if deviation > 0 else _NOTHING


def _discrete(values: FloatArray, distinct: FloatArray) -> _Scale:
    """Scale steps of numbers like categories: two values count as the same yes/no, in any code."""
    center = float(distinct[0])
    square = 2.0 * float(np.var(values - center))
    step = float(np.median(np.diff(distinct)))
    spread = max(np.sqrt(square), np.sqrt(_LEAST_DIFFERENT) * step)
    return _Scale(center, float(spread), square / spread**2, is_discrete=True)


def _robust_deviation(values: FloatArray) -> float:
    """Gini's mean difference as a standard deviation, limited by the middle 90 % of the values."""
    n = len(values)
    ranks = 2.0 * np.arange(1, n + 1) - n - 1
    gini = float(np.sqrt(np.pi) * (ranks @ np.sort(values)) / n**2)
    low, high = np.percentile(values, _PERCENTILES)
    width = _HEAVY * float(high - low) / _NORMAL_WIDTH
    return min(gini, width) if width > 0 else gini


def _share_of_neighbors(
    table: FloatArray, whole: MixedPreparation, found: Sequence[_Scale]
) -> float:
    """The squared difference of near neighbours over that of random objects, continuous columns.

    It determines which objects are neighbours, and depends on them: the fixed point below 1.
    """
    discrete = np.array([scale.is_discrete for scale in found])
    continuous = ~discrete & (whole.distance.weights > 0)
    if not continuous.any() or not discrete.any():
        return 1.0
    known = ~np.isnan(table[:, continuous]).all(axis=1)
    rows = table[known]
    rank = min(_RANK, int(np.ceil(np.sqrt(len(rows)))), len(rows) - 1)
    if rank < 1:
        return 1.0
    numbers = np.ascontiguousarray(whole.apply(rows)[:, continuous])
    chosen = _sample(numbers)

    share = 1.0
    for _ in range(_MOST_STEPS):
        scaled = MixedPreparation._scaled(whole.columns, found, share)
        prepared = scaled.apply(rows)
        near, _ = scaled.distance.nearest(prepared[chosen], prepared, rank + 1, None)
        there = min(_typical_square(numbers[chosen] - numbers[near[:, -1]]), 1.0)
        if there == 0.0 or abs(np.log(there / share)) < _CLOSE:
            break
        share = there
    return share


def _typical_square(differences: FloatArray) -> float:
    """Median over the rows of the mean squared difference of the columns that are there."""
    squares = differences[~np.isnan(differences).all(axis=1)].astype(np.float64) ** 2
    if len(squares) == 0:
        return 0.0
    means = np.nanmean(squares, axis=1)
    # Half of the objects may have copies; only copies leave no difference at all.
    return float(np.median(means)) or float(means.mean())


def _sample(rows: FloatArray) -> IntArray:
    """All rows, or a sample that does not depend on their order."""
    n = len(rows)
    if n <= _COMPARED:
        return np.arange(n)
    order = np.lexsort(rows.T[::-1])
    return np.asarray(order[np.linspace(0, n - 1, _SAMPLE).astype(np.intp)])


def _warn_of_useless(table: FloatArray, columns: Sequence[Column], found: Sequence[_Scale]) -> None:
    names = [
        repr(column.name)
        for place, (column, scale) in enumerate(zip(columns, found, strict=True))
        if scale.weight == 0 and column.values is not None and _all_differ(table[:, place])
    ]
    if names:
        warnings.warn(
            f"The text in {', '.join(names)} differs between all objects, so it is not compared. "
            "Leave such columns out, or use them as names of the objects.",
            UserWarning,
            stacklevel=7,
        )


def _all_differ(column: FloatArray) -> bool:
    values: NDArray[Any] = column[~np.isnan(column)]
    return len(values) > 1 and len(np.unique(values)) == len(values)
