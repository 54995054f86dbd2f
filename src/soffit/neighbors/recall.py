"""Recall of approximate neighbour lists, estimated on a sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soffit._threads import each, pieces
from soffit._typing import IntArray

_SAMPLE = 256
_COMPARED_AT_ONCE = 64

# Fills the lists of a range of the chosen objects by comparing them with all others.
Comparison = Callable[[range, IntArray, IntArray], None]


@dataclass(frozen=True, eq=False)
class Recall:
    """Recall of neighbour lists, by the true neighbours of a sample."""

    chosen: IntArray
    members: IntArray

    @classmethod
    def of(cls, n: int, n_neighbors: int, compare: Comparison, n_jobs: int | None) -> Recall:
        """Compare a sample of n objects with all of them."""
        size = min(_SAMPLE, n)
        chosen = np.sort(np.random.default_rng(0).choice(n, size, replace=False))
        members = np.full((size, n_neighbors), -1, dtype=np.int32)
        parts = pieces(size, _COMPARED_AT_ONCE)
        each(lambda part: compare(part, chosen, members), parts, n_jobs)
        return cls(chosen, members)

    def of_lists(self, lists: IntArray) -> float:
        """Share of the true neighbours that the lists of the chosen objects contain."""
        listed = lists[:, : self.members.shape[1]]
        return float((self.members[:, :, None] == listed[:, None, :]).any(axis=2).mean())
