"""How two label vectors share out the same objects, kept sparse and in exact integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._typing import IntArray
from soffit.memberships._partition import check_same_length, encode_labels


@dataclass(frozen=True)
class Contingency:
    """Counts of objects by true class (row) and predicted cluster (column)."""

    table: sp.csr_array
    class_sizes: IntArray
    cluster_sizes: IntArray
    n_objects: int


@dataclass(frozen=True)
class PairCounts:
    """Numbers of pairs as Python integers, which cannot overflow."""

    together_in_both: int
    together_in_true: int
    together_in_predicted: int
    total: int


def contingency(y_true: Any, y_pred: Any) -> Contingency:
    """Cross-tabulate two label vectors."""
    classes, n_classes = encode_labels(y_true, "y_true")
    clusters, n_clusters = encode_labels(y_pred, "y_pred")
    check_same_length(classes.size, clusters.size, "y_true", "y_pred")
    ones = np.ones(classes.size, dtype=np.int64)
    table = sp.coo_array((ones, (classes, clusters)), shape=(n_classes, n_clusters)).tocsr()
    table.sum_duplicates()
    return Contingency(
        table=table,
        class_sizes=np.bincount(classes, minlength=n_classes),
        cluster_sizes=np.bincount(clusters, minlength=n_clusters),
        n_objects=int(classes.size),
    )


def pair_counts(counts: Contingency) -> PairCounts:
    """Pairs that lie together in both, in the true, in the predicted clustering, and all pairs."""
    return PairCounts(
        together_in_both=_pairs_within(counts.table.data),
        together_in_true=_pairs_within(counts.class_sizes),
        together_in_predicted=_pairs_within(counts.cluster_sizes),
        total=counts.n_objects * (counts.n_objects - 1) // 2,
    )


def _pairs_within(sizes: IntArray) -> int:
    # The sum is at most n (n - 1), which int64 holds up to n = 3e9.
    wide = sizes.astype(np.int64, copy=False)
    return int((wide * (wide - 1)).sum()) // 2
