"""How many clusters the levels of a hierarchy have: the rule for given numbers, and a choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np

from soffit._typing import Matrix
from soffit.selection._cluster_count import count_clusters

# From one level to the next the number of clusters falls by about this factor.
_FALL = 3.0


@dataclass(frozen=True)
class DecreasingNumbers:
    """A sequence of integers of at least 1, each below the one before it."""

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        if (
            isinstance(value, str)
            or not isinstance(value, (Sequence, np.ndarray))
            or len(value) < 1
        ):
            return False
        whole = all(isinstance(m, Integral) and not isinstance(m, bool) for m in value)
        return whole and value[-1] >= 1 and all(a > b for a, b in pairwise(value))

    def __str__(self) -> str:
        return "a decreasing sequence of integers of at least 1, from the bottom to the top"


def check_levels(levels: Sequence[int], n_clusters: int | None, n_objects: int) -> list[int]:
    """The numbers as a list, if they agree with the number of clusters and of objects."""
    if levels[0] > n_objects:
        raise ValueError(
            f"levels[0]={levels[0]} is larger than the number of objects, n_samples={n_objects}. "
            f"Choose levels of at most {n_objects} clusters."
        )
    if n_clusters is not None and n_clusters != levels[-1]:
        raise ValueError(
            f"n_clusters={n_clusters} is not the last of levels={list(levels)}. Leave one of them "
            "out."
        )
    return [int(m) for m in levels]


def choose_levels(A: Matrix, n_clusters: int | None) -> list[int]:
    """The given or found number at the top, sqrt(n) at the bottom, a geometric series between."""
    top = count_clusters(A).n_clusters if n_clusters is None else int(n_clusters)
    bottom = max(round(A.shape[0] ** 0.5), top)
    n_falls = round(np.log(bottom / top) / np.log(_FALL))
    numbers = np.geomspace(bottom, top, n_falls + 1) if n_falls else np.array([top])
    return sorted({int(m) for m in np.round(numbers)}, reverse=True)
