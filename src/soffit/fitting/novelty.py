"""How far outside everything seen an object lies, as a tail probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from soffit._typing import FloatArray
from soffit.affinity.abstract import Affinity
from soffit.affinity.isolation import relative_spacing

# An object is outside what was seen if its novelty is at least this: one ordinary object in a
# hundred is.
OUTSIDE_FROM = 0.99
# Share of the most isolated fitted objects from which the tail is continued, and their least
# number.
_TAIL = 0.1
_FEWEST = 5
# The mean excess of a logarithm that counts like this many objects, to steady that of few.
_USUAL_EXCESS = 0.2
_WEIGHT = 3


@dataclass(frozen=True, eq=False)
class Surroundings:
    r"""How isolated the fitted objects are, to judge new ones by.

    The isolation s of an object is its distance to its 7th neighbour among the fitted objects,
    divided by the mean of the same distances of its neighbours. The tail probability of a new
    object is its rank among the n fitted ones, each compared with the others,

    .. math:: p(s) = \frac{1 + \#\{i : s_i \ge s\}}{n + 1},

    and, beyond the largest of them, :math:`p(s) = \frac{1}{n + 1} (s / \max_i s_i)^{-1 / \xi}`,
    where :math:`\xi` is the mean excess of :math:`\log s_i` over the tenth most isolated ones.

    Parameters
    ----------
    spacing : array of shape (n,)
        Distance of each fitted object to its 7th neighbour.
    isolation : array of shape (n,)
        The same, relative to its neighbours.
    """

    spacing: FloatArray
    isolation: FloatArray
    _arrays: ClassVar[dict[str, str]] = {"spacing": "float n", "isolation": "float n"}

    @classmethod
    def of(cls, affinity: Affinity) -> Surroundings:
        """Measure the fitted objects."""
        around = affinity.neighborhood()
        if len(around.spacing) == 1:
            # A single object is not isolated, for lack of others.
            return cls(np.zeros(1), np.zeros(1))
        spacing = np.asarray(around.spacing, dtype=np.float64)
        return cls(spacing, relative_spacing(around, spacing))

    def tail(self, affinity: Affinity, table: Any) -> FloatArray:
        """Tail probabilities of new objects."""
        isolation = relative_spacing(affinity.neighborhood(table), self.spacing)
        return tail_probability(isolation, self.isolation)

    def inner_tail(self) -> FloatArray:
        """Tail probabilities of the fitted objects, each compared with the others."""
        isolation = self.isolation
        n = len(isolation)
        if n == 1:
            return np.ones(1)
        # Others that are at least as isolated: all of these but the object itself.
        ranked = np.sort(isolation)
        p = (n - np.searchsorted(ranked, isolation, side="left")) / n
        if ranked[-1] > ranked[-2]:
            top = int(isolation.argmax())
            p[top] = tail_probability(isolation[[top]], np.delete(isolation, top))[0]
        return np.asarray(p)


def tail_probability(isolation: FloatArray, fitted: FloatArray) -> FloatArray:
    """Share of fitted objects that are at least as isolated, continued beyond the largest."""
    ranked = np.sort(fitted)
    n = len(ranked)
    p = (1 + n - np.searchsorted(ranked, isolation, side="left")) / (n + 1)
    beyond = isolation > ranked[-1]
    if ranked[-1] > 0 and beyond.any():
        exponent = -1.0 / _mean_excess(ranked)
        p[beyond] = (isolation[beyond] / ranked[-1]) ** exponent / (n + 1)
    return np.asarray(p)


def _mean_excess(ranked: FloatArray) -> float:
    """Mean of log s over the most isolated objects, above the next one: Hill's estimate."""
    usable = ranked[(ranked > 0) & np.isfinite(ranked)]
    count = min(max(int(np.ceil(_TAIL * len(usable))), _FEWEST), len(usable) - 1)
    total = float(np.log(usable[-count:] / usable[-count - 1]).sum()) if count > 0 else 0.0
    return (total + _WEIGHT * _USUAL_EXCESS) / (max(count, 0) + _WEIGHT)
