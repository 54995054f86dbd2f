"""Where the centres of a mixture lie, and how its components are stretched."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray

# Principal variances of "full" components lie within a factor exp(2) before rescaling.
_LOG_VARIANCE_RANGE = 1.0


def regular_centers(n_clusters: int, n_features: int, separation: float) -> FloatArray:
    """Centres whose nearest neighbours are `separation` apart, centred at the origin.

    A regular simplex where the space has room for it; otherwise a line (one feature) or a
    regular polygon in the first two features.
    """
    centers = np.zeros((n_clusters, n_features))
    if n_features == 1:
        centers[:, 0] = separation * np.arange(n_clusters)
    elif n_clusters == 3 or n_clusters > n_features + 1:
        radius = separation / (2 * np.sin(np.pi / n_clusters))
        angles = np.pi / 2 + 2 * np.pi * np.arange(n_clusters) / n_clusters
        centers[:, 0], centers[:, 1] = radius * np.cos(angles), radius * np.sin(angles)
    else:
        centers[:, : n_clusters - 1] = separation * _unit_simplex(n_clusters)
    centers -= centers.mean(axis=0)
    return centers


def random_covariance_factors(
    n_clusters: int, n_features: int, rng: np.random.RandomState
) -> FloatArray:
    """Cholesky factors of random covariances with determinant 1, shape (k, d, d)."""
    rotations = np.linalg.qr(rng.standard_normal((n_clusters, n_features, n_features)))[0]
    log_variances = rng.uniform(-_LOG_VARIANCE_RANGE, _LOG_VARIANCE_RANGE, (n_clusters, n_features))
    # Determinant 1 keeps the amount of overlap comparable with the spherical case.
    log_variances -= log_variances.mean(axis=1, keepdims=True)
    scaled = rotations * np.exp(log_variances)[:, None, :]
    return np.linalg.cholesky(scaled @ rotations.transpose(0, 2, 1))


def _unit_simplex(n_clusters: int) -> FloatArray:
    """Corners of a regular simplex with side 1 in n_clusters - 1 dimensions."""
    corners = np.zeros((n_clusters, max(n_clusters - 1, 0)))
    for axis in range(n_clusters - 1):
        corners[: axis + 1, axis] = -1.0 / (axis + 1)
        corners[axis + 1, axis] = 1.0
        # Scale this axis so that corner axis + 1 is at distance 1 from the earlier ones.
        corners[: axis + 2, axis] *= np.sqrt((axis + 1) / (2 * (axis + 2)))
    return corners
