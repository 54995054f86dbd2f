"""The few directions in which given clusters differ, for densities in high dimension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from soffit._typing import FloatArray, IntArray

# Densities are estimated directly up to this many columns.
_FEW_COLUMNS = 5
_MOST_COMPONENTS = 30
_SHRINKAGE = 0.05


@dataclass(frozen=True, eq=False)
class Projection:
    """An affine map from features to a few directions."""

    center: FloatArray
    directions: FloatArray

    @classmethod
    def of(cls, X: FloatArray, labels: IntArray, n_clusters: int) -> Projection:
        """At most max(k - 1, 3) directions in which the labels' clusters differ in place."""
        return cls.principal(X).toward(X, labels, n_clusters)

    @classmethod
    def principal(cls, X: FloatArray) -> Projection:
        """The leading principal components; all columns as they are where there are few."""
        center = X.mean(axis=0, dtype=np.float64)
        if X.shape[1] <= _FEW_COLUMNS:
            size = float((X - center).std(axis=0).max()) or 1.0
            return cls(center, np.eye(X.shape[1]) / size)
        return cls(center, _principal_directions(X - center))

    def toward(self, X: FloatArray, labels: IntArray, n_clusters: int) -> Projection:
        """The discriminant directions of the labels among these; all where there are few."""
        if X.shape[1] <= _FEW_COLUMNS:
            return self
        turned = _discriminant_directions(self.apply(X), labels, n_clusters)
        return Projection(self.center, self.directions @ turned)

    def apply(self, X: FloatArray) -> FloatArray:
        """Coordinates of the objects in the chosen directions."""
        return np.asarray((X - self.center) @ self.directions)


def _principal_directions(centred: FloatArray) -> FloatArray:
    n, d = centred.shape
    if d > 500:
        from sklearn.utils.extmath import randomized_svd

        count = min(_MOST_COMPONENTS, n, d)
        _, values, right = randomized_svd(centred, count, random_state=0)
        values, vectors = values**2, right.T
    else:
        values, vectors = np.linalg.eigh(centred.T @ centred)
        values, vectors = values[::-1], vectors[:, ::-1]
    kept = int(np.sum(values[:_MOST_COMPONENTS] > 1e-10 * max(values[0], 1e-300)))
    count = max(kept, 1)
    scale = float(np.sqrt(max(float(values[0]), 0.0) / n)) or 1.0
    return np.asarray(vectors[:, :count] / scale)


def _discriminant_directions(Z: FloatArray, labels: IntArray, n_clusters: int) -> FloatArray:
    """Between-cluster against within-cluster spread, filled up with principal directions."""
    n, p = Z.shape
    indicator = (labels[:, None] == np.arange(n_clusters)).astype(Z.dtype)
    sizes = indicator.sum(axis=0)
    means = (indicator.T @ Z) / np.maximum(sizes, 1.0)[:, None]
    within = Z - means[labels]
    inside = within.T @ within / n
    between = (means * sizes[:, None]).T @ means / n
    trace = float(np.trace(inside))
    inside = (1 - _SHRINKAGE) * inside + (_SHRINKAGE * trace / p + 1e-12) * np.eye(p)
    _, vectors = eigh(between, inside)
    wanted = min(p, max(n_clusters - 1, 3))
    leading = vectors[:, ::-1][:, : min(n_clusters - 1, wanted)]
    if leading.shape[1] == wanted:
        return leading
    orthogonal, _ = np.linalg.qr(np.column_stack([leading, np.eye(p)]))
    return np.column_stack([leading, orthogonal[:, leading.shape[1] : wanted]])
