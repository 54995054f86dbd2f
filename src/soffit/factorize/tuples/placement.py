"""Memberships of new points that complete tuples of fitted ones."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import ClassVar

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.affinity.tuples import TupleMeasure, TupleSample
from soffit.factorize.nonnegative.placement import NonnegativeRows

# Bases that new points complete, and tuples measured at once.
_BASES = 256
_BLOCK_TUPLES = 2**18
# Affinities below this share of the largest fitted one count as zero.
_NEGLIGIBLE = 1e-6


@dataclass(frozen=True, eq=False)
class TupleRows:
    r"""Fitted points that new ones complete to tuples.

    A new point whose tuples with the bases b have affinities :math:`K_b` gets the row

    .. math:: \min_{g \ge 0} \sum_b \Big(K_b - \sum_r g_r \prod_{j \in b} G_{jr}\Big)^2,

    divided by its sum. A point that completes no base gets the mean membership.
    """

    measure: TupleMeasure  # Computes the measure of a tuple.
    width: float | None  # Width of its affinity.
    points: FloatArray  # (p, d): fitted points that occur in bases.
    bases: IntArray  # (b, order - 1): rows of `points`.
    least: float  # Affinities below it count as zero.
    rows: NonnegativeRows  # The bases' products as factor, and the mean membership.
    _arrays: ClassVar[dict[str, str]] = {
        "measure": "part of_tuples() affinity()",
        "width": "positive?",
        "points": "finite q p",
        "bases": "int b * <q",
        "least": "nonnegative",
        "rows": "part :NonnegativeRows n=b k",
    }

    @classmethod
    def of(
        cls,
        sample: TupleSample,
        measure: TupleMeasure,
        X: FloatArray,
        factor: FloatArray,
        memberships: FloatArray,
    ) -> TupleRows:
        """Keep for every cluster the most certain and most informative bases."""
        k = factor.shape[1]
        surely = np.prod(memberships[sample.bases], axis=1) * sample.contrast[:, None]
        # At most the better half: bases of close points fit nearly everything.
        count = ceil(min(_BASES, len(sample.bases) / 2) / k)
        chosen = np.unique(np.argsort(-surely, axis=0, kind="stable")[:count])
        bases = sample.bases[chosen]
        occurring, place = np.unique(bases, return_inverse=True)
        products = np.prod(factor[bases], axis=1, dtype=np.float64)
        return cls(
            measure=measure,
            width=sample.width,
            points=X[occurring],
            bases=place.reshape(bases.shape),
            least=_NEGLIGIBLE * float(sample.values.max()),
            rows=NonnegativeRows(products, memberships.mean(axis=0, dtype=np.float64)),
        )

    def place(self, X: FloatArray) -> FloatArray:
        """Memberships of new points."""
        result = np.empty((len(X), self.rows.factor.shape[1]), dtype=self.points.dtype)
        step = max(_BLOCK_TUPLES // len(self.bases), 1)
        for first in range(0, len(X), step):
            values = self.values(X[first : first + step])
            result[first : first + step] = self.rows.place(values, values.sum(axis=1))
        return result

    def values(self, X: FloatArray) -> FloatArray:
        """Affinities of the tuples of all bases with all new points."""
        n, m = len(self.points), len(X)
        fitted = np.tile(self.bases, (m, 1))
        new = np.repeat(np.arange(n, n + m), len(self.bases))
        tuples = np.concatenate([fitted, new[:, None]], axis=1)
        measures = self.measure.of_tuples(np.concatenate([self.points, X]), tuples)
        values = self.measure.affinity(measures, self.width)
        return np.where(values >= self.least, values, 0.0).reshape(m, len(self.bases))
