"""Memberships matched to true labels: the basis of every probability score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.memberships.measures import (
    check_memberships,
    check_same_length,
    encode_labels,
    overlap_table,
    partners,
)

# Wide enough for float32 and for values rounded in a file, far too narrow for raw factors.
_ROW_SUM_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Matched:
    """Memberships and, for each object, the cluster matched to its true class (-1: none)."""

    memberships: FloatArray
    true_cluster: IntArray

    def membership_of_truth(self) -> FloatArray:
        """Membership in the true class; zero where no cluster is matched to that class."""
        rows = np.arange(self.true_cluster.size)
        own = self.memberships[rows, self.true_cluster]
        return np.where(self.true_cluster >= 0, own, 0.0)


def match_to_truth(y_true: Any, memberships: Any) -> Matched:
    """Match clusters to classes by their overlap."""
    values = check_probabilities(memberships, "memberships")
    classes, _ = encode_labels(y_true, "y_true")
    check_same_length(classes.size, values.shape[0], "y_true", "memberships")
    partner = partners(overlap_table(classes, values, "y_true", "memberships"))
    return Matched(memberships=values, true_cluster=partner[classes])


def check_probabilities(memberships: Any, name: str) -> FloatArray:
    """Return memberships in float64 whose rows sum to one."""
    values = check_memberships(memberships, name).astype(np.float64, copy=False)
    row_sums = values.sum(axis=1)
    worst = int(np.abs(row_sums - 1).argmax())
    if abs(row_sums[worst] - 1) > _ROW_SUM_TOLERANCE:
        raise ValueError(
            f"each row of {name} must sum to 1, row {worst} sums to {row_sums[worst]:g}; "
            "divide each row by its sum."
        )
    return values
