"""Euclidean projection of every row onto the probability simplex."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray


def project_rows(V: FloatArray) -> FloatArray:
    """The nearest matrix whose rows are nonnegative and sum to one."""
    k = V.shape[1]
    ordered = -np.sort(-V, axis=1)
    excess = np.cumsum(ordered, axis=1) - 1.0
    positive = ordered * np.arange(1, k + 1, dtype=V.dtype) > excess
    last = k - 1 - np.argmax(positive[:, ::-1], axis=1)
    shift = excess[np.arange(len(V)), last] / (last + 1).astype(V.dtype)
    return make_rows_sum_to_one(np.maximum(V - shift[:, None], 0.0))


def make_rows_sum_to_one(W: FloatArray) -> FloatArray:
    """Divide nonnegative rows by their sums; an all-zero row becomes uniform."""
    sums = W.sum(axis=1, keepdims=True)
    safe = np.where(sums > 0, sums, 1.0)
    uniform = np.asarray(1.0 / W.shape[1], dtype=W.dtype)
    return np.asarray(np.where(sums > 0, W / safe, uniform), dtype=W.dtype)
