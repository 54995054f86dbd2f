"""The test behind the daggers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from soffit._typing import FloatArray

_LEVEL = 0.05


def beats_all(values: FloatArray, others: Sequence[FloatArray]) -> bool:
    """Whether paired runs are higher than each of the others by the signed-rank test."""
    return all(_beats(values, other) for other in others)


def _beats(values: FloatArray, other: FloatArray) -> bool:
    from scipy.stats import wilcoxon

    n = min(len(values), len(other))
    difference = np.asarray(values)[:n] - np.asarray(other)[:n]
    if not np.any(difference) or difference.mean() <= 0:
        return False
    return bool(wilcoxon(difference, zero_method="wilcox", method="approx").pvalue <= _LEVEL)
