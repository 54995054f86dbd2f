"""Class weights walking over a graph, from object to object or from cluster to cluster.

Half of a walk rests in its last step. Otherwise it would, on a two-sided (bipartite) graph such as
a tree, end on one side only, and each side would see half of the labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._typing import FloatArray, Matrix, is_sparse


@dataclass(frozen=True, eq=False)
class PointWalk:
    """The walk with transitions T = D^-1 A: products with A, never n x n powers."""

    A: Matrix
    degrees: FloatArray

    @classmethod
    def on(cls, A: Matrix) -> PointWalk:
        """The walk on a graph of objects."""
        return cls(A, _sums(A, axis=1))

    def walk(self, Y: FloatArray, steps: int) -> FloatArray:
        """T^(t-1) (I + T) / 2 Y."""
        # Long thin paths leave the range of float32; a graph is small enough to be converted.
        A: Any = self.A.astype(np.float64) if is_sparse(self.A) else self.A
        share = inverse(self.degrees)[:, None].astype(A.dtype)
        F = Y.astype(A.dtype)
        for _ in range(steps - 1):
            F = share * (A @ F)
        return np.asarray((F + share * (A @ F)) / 2)


@dataclass(frozen=True, eq=False)
class ClusterWalk:
    r"""The same walk on :math:`B \Lambda^{-1} B^\top`, taken from cluster to cluster.

    :math:`T^t = D^{-1} B (\Lambda^{-1} C)^{t-1} \Lambda^{-1} B^\top` with
    :math:`C = B^\top D^{-1} B` (eq. 5): labels go to the clusters, walk among them, and come
    back.
    """

    B: FloatArray
    degrees: FloatArray
    weights: FloatArray
    between: FloatArray

    @classmethod
    def on(cls, B: FloatArray) -> ClusterWalk:
        """The walk on a bipartite graph of objects and clusters."""
        degrees, weights = _sums(B, axis=1), _sums(B, axis=0)
        similarities = (B * inverse(degrees)[:, None].astype(B.dtype)).T @ B
        return cls(B, degrees, weights, inverse(weights)[:, None] * similarities)

    def walk(self, Y: FloatArray, steps: int) -> FloatArray:
        """T^(t-1) (I + T) / 2 Y."""
        Z = inverse(self.weights)[:, None] * (self.B.T @ Y.astype(self.B.dtype))
        for _ in range(steps - 2):
            Z = self.between @ Z
        if steps == 1:
            return (Y + self._carried_back(Z)) / 2
        return self._carried_back((Z + self.between @ Z) / 2)

    def _carried_back(self, Z: FloatArray) -> FloatArray:
        share = inverse(self.degrees)[:, None]
        return np.asarray(share * (self.B @ Z.astype(self.B.dtype)))


def inverse(values: FloatArray) -> FloatArray:
    """1 / value, and 0 for 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values > 0)


def _sums(A: Matrix, axis: int) -> FloatArray:
    return np.asarray(A.sum(axis=axis, dtype=np.float64)).ravel()
