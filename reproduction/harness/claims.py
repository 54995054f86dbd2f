"""Words for findings: verdicts on claims, how numbers are shown, and words for pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from reproduction.harness.report import MET, MISSED, NOT_REPRODUCED, REPRODUCED

PICTURE = "picture"


def held(condition: bool) -> str:
    """Verdict on a published claim that holds or does not."""
    return REPRODUCED if condition else NOT_REPRODUCED


def met(condition: Any) -> str:
    """Verdict on what is asked of our models where nothing is published."""
    return MET if condition else MISSED


def spread(scores: Iterable[Any], digits: int = 3) -> str:
    """Mean of scores, with the range unless all are the same."""
    values = np.asarray(list(scores), dtype=np.float64)
    mean, low, high = (f"{v:.{digits}f}" for v in (values.mean(), values.min(), values.max()))
    return mean if low == high else f"{mean} ({low} to {high})"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
