"""Memberships from densities: a Gaussian mixture that begins at given clusters and stays near.

A factorization knows which objects belong together; how far two clusters overlap in space is a
question about densities. Every cluster is described by a few Gaussians of its own; a handful of EM
steps fits them jointly. More steps would let the mixture walk away from the clusters.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from soffit._typing import FloatArray, IntArray
from soffit.memberships._projection import Projection

# Gaussians a cluster: the number with the best Bayesian information criterion is taken.
_PIECES = (1, 2, 4, 8)
_EM_STEPS = 10
_MOST_OBJECTS = 4000


@dataclass(frozen=True, eq=False)
class SeededMixture:
    """A fitted mixture; `memberships` evaluates it anywhere in the feature space."""

    projection: Projection
    owner: IntArray
    log_weights: FloatArray
    means: FloatArray
    # Inverse Cholesky factors: rows of (x - mean) become white noise.
    whitening: FloatArray
    n_clusters: int

    def memberships(self, X: FloatArray) -> FloatArray:
        """Posterior probability of each cluster, the sum over the cluster's own Gaussians."""
        Z = self.projection.apply(X)
        joint = _log_densities(Z, self.means, self.whitening) + self.log_weights
        pieces = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
        indicator = (self.owner[:, None] == np.arange(self.n_clusters)).astype(pieces.dtype)
        result = pieces @ indicator
        return np.asarray(result / result.sum(axis=1, keepdims=True))


def fit_seeded_mixture(
    X: FloatArray, labels: IntArray, n_clusters: int, *, random_state: int
) -> SeededMixture:
    """Fit the mixture that begins at `labels`, on a sample of the objects if there are many."""
    projection = Projection.of(X, labels, n_clusters)
    rng = np.random.default_rng(random_state)
    if len(X) > _MOST_OBJECTS:
        chosen = np.sort(rng.choice(len(X), _MOST_OBJECTS, replace=False))
        X, labels = X[chosen], labels[chosen]
    Z = np.asarray(projection.apply(X), dtype=np.float64)
    best: tuple[float, SeededMixture] | None = None
    for pieces in _PIECES:
        owner, responsibility = _seed(Z, labels, n_clusters, pieces, random_state)
        means, whitening, weights, likelihood = _expectation_maximisation(Z, responsibility)
        d = Z.shape[1]
        n_parameters = len(owner) * (1 + d + d * (d + 1) / 2)
        criterion = n_parameters * np.log(len(Z)) - 2.0 * likelihood
        if best is None or criterion < best[0]:
            mixture = SeededMixture(
                projection, owner, np.log(weights), means, whitening, n_clusters
            )
            best = (criterion, mixture)
    assert best is not None
    return best[1]


def _seed(
    Z: FloatArray, labels: IntArray, n_clusters: int, pieces: int, random_state: int
) -> tuple[IntArray, FloatArray]:
    """Cut every cluster into pieces by k-means; returns each piece's cluster and its members."""
    piece = np.zeros(len(Z), dtype=np.int64)
    owner: list[int] = []
    for c in range(n_clusters):
        members = np.flatnonzero(labels == c)
        if len(members):
            part = _split(Z[members], min(pieces, max(len(members) // 2, 1)), random_state)
            piece[members] = len(owner) + part
            owner += [c] * (int(part.max()) + 1)
    responsibility = np.zeros((len(Z), len(owner)))
    responsibility[np.arange(len(Z)), piece] = 1.0
    return np.array(owner), responsibility


def _split(Z: FloatArray, pieces: int, random_state: int) -> IntArray:
    distinct = len(np.unique(Z, axis=0)) if pieces > 1 else 1
    pieces = min(pieces, distinct)
    if pieces == 1:
        return np.zeros(len(Z), dtype=np.int64)
    from sklearn.cluster import KMeans

    part = KMeans(pieces, n_init=1, random_state=random_state).fit_predict(Z)
    return np.unique(part, return_inverse=True)[1]


def _expectation_maximisation(
    Z: FloatArray, responsibility: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """A fixed number of EM steps; d + 1 pseudo-points draw covariances to the pooled one."""
    for _ in range(_EM_STEPS + 1):
        means, whitening, weights = _maximise(Z, responsibility)
        joint = _log_densities(Z, means, whitening) + np.log(weights)
        total = logsumexp(joint, axis=1, keepdims=True)
        responsibility = np.exp(joint - total)
    return means, whitening, weights, float(total.sum())


def _maximise(
    Z: FloatArray, responsibility: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    n, d = Z.shape
    mass = responsibility.sum(axis=0) + 1e-10
    means = (responsibility.T @ Z) / mass[:, None]
    scatter = np.empty((len(mass), d, d))
    for g, mean in enumerate(means):
        centred = Z - mean
        scatter[g] = (responsibility[:, g, None] * centred).T @ centred
    pooled = scatter.sum(axis=0) / n
    covariance = (scatter + (d + 1) * pooled) / (mass + d + 1)[:, None, None]
    # A constant direction has no spread at all: a trace of noise keeps it invertible.
    covariance += (1e-9 * np.trace(pooled) / d + 1e-300) * np.eye(d)
    identity = np.eye(d)
    whitening = np.stack(
        [solve_triangular(np.linalg.cholesky(S), identity, lower=True) for S in covariance]
    )
    return means, whitening, mass / mass.sum()


def _log_densities(Z: FloatArray, means: FloatArray, whitening: FloatArray) -> FloatArray:
    d = Z.shape[1]
    result = np.empty((len(Z), len(means)))
    for g, (mean, white) in enumerate(zip(means, whitening, strict=True)):
        noise = (Z - mean) @ white.T
        result[:, g] = np.log(np.diag(white)).sum() - 0.5 * np.einsum("ij,ij->i", noise, noise)
    return np.asarray(result - 0.5 * d * np.log(2 * np.pi))
