"""Memberships from densities: a Gaussian mixture that begins at given clusters and stays near.

A factorization knows which objects belong together; how far two clusters overlap in space is a
question about densities. Every cluster is described by a few Gaussians of its own; a handful of EM
steps fits them jointly. More steps would let the mixture walk away from the clusters.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray
from soffit.memberships._projection import Projection

# Gaussians a cluster: the number with the best Bayesian information criterion is taken.
_PIECES = (1, 2, 4, 8)
_EM_STEPS = 10
_MOST_OBJECTS = 4000
_FEW_OBJECTS = 20
# Directions are found from at most so many objects.
_MOST_PROJECTED = 2**17
# Entries of the largest working array.
_BLOCK_ENTRIES = 2**19
# Objects that one thread evaluates at a time.
_ROWS = 2**14


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
    # How much the mixture should count beside other evidence, from 0 to 1.
    trust: float

    def memberships(self, X: FloatArray) -> FloatArray:
        """Posterior probability of each cluster, the sum over the cluster's own Gaussians."""
        indicator = (self.owner[:, None] == np.arange(self.n_clusters)).astype(np.float64)
        result = np.empty((len(X), self.n_clusters), dtype=X.dtype)

        def evaluate(rows: range) -> None:
            part = slice(rows.start, rows.stop)
            Z = np.asarray(self.projection.apply(X[part]), dtype=np.float64)
            shares, _ = _posterior(Z, self.means, self.whitening, self.log_weights)
            summed = shares @ indicator
            result[part] = summed / summed.sum(axis=1, keepdims=True)

        each(evaluate, pieces(len(X), _ROWS))
        return result


def fit_seeded_mixture(
    X: FloatArray, labels: IntArray, n_clusters: int, *, random_state: int
) -> SeededMixture:
    """Fit the mixture that begins at `labels`, on a sample of the objects if there are many."""
    every = -(-len(X) // _MOST_PROJECTED)
    projection = Projection.of(X[::every], labels[::every], n_clusters)
    rng = np.random.default_rng(random_state)
    if len(X) > _MOST_OBJECTS:
        chosen = _sample(labels, rng)
        X, labels = X[chosen], labels[chosen]
    Z = np.asarray(projection.apply(X), dtype=np.float64)
    best: tuple[float, SeededMixture] | None = None
    for n_pieces in _PIECES:
        owner, responsibility = _seed(Z, labels, n_clusters, n_pieces, random_state)
        means, whitening, weights, likelihood = _expectation_maximisation(Z, responsibility)
        d = Z.shape[1]
        n_parameters = len(owner) * (1 + d + d * (d + 1) / 2)
        criterion = n_parameters * np.log(len(Z)) - 2.0 * likelihood
        if best is None or criterion < best[0]:
            trust = _trust(Z, means, whitening, np.log(weights))
            mixture = SeededMixture(
                projection, owner, np.log(weights), means, whitening, n_clusters, trust
            )
            best = (criterion, mixture)
    assert best is not None
    return best[1]


def _sample(labels: IntArray, rng: np.random.Generator) -> IntArray:
    """Numbers of a random sample of the objects, with a few of every cluster it would miss."""
    chosen = rng.choice(len(labels), _MOST_OBJECTS, replace=False)
    missed = np.setdiff1d(labels, labels[chosen])
    few = [rng.permutation(np.flatnonzero(labels == c))[:_FEW_OBJECTS] for c in missed]
    return np.sort(np.concatenate([chosen, *few]))


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

    with warnings.catch_warnings():
        # Points that differ hardly more than by rounding may leave a piece empty.
        warnings.simplefilter("ignore", ConvergenceWarning)
        part = KMeans(pieces, n_init=1, random_state=random_state).fit_predict(Z)
    return np.unique(part, return_inverse=True)[1]


def _expectation_maximisation(
    Z: FloatArray, responsibility: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """A fixed number of EM steps; d + 1 pseudo-points draw covariances to the pooled one."""
    d = Z.shape[1]
    products = (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), d * d)
    for _ in range(_EM_STEPS + 1):
        means, whitening, weights = _maximise(Z, products, responsibility)
        responsibility, likelihood = _posterior(Z, means, whitening, np.log(weights))
    return means, whitening, weights, likelihood


def _trust(
    Z: FloatArray, means: FloatArray, whitening: FloatArray, log_weights: FloatArray
) -> float:
    """1 where the fitted pieces look Gaussian, less the more they do not.

    Whitened residuals of a Gaussian piece have fourth moments of 3 (2.89 when squares are cut off
    at 9, which keeps outliers from deciding). Lines, rings cut into pieces and uniform regions
    deviate by 1 to 2, and their mixture has no say in where clusters end.
    """
    pieces, _ = _posterior(Z, means, whitening, log_weights)
    own = pieces.argmax(axis=1)
    noise = np.einsum("nij,nj->ni", whitening[own], Z - means[own])
    moment = np.mean(np.minimum(noise**2, 9.0) ** 2, axis=0)
    return float(1.0 / max(np.mean(np.abs(moment - 2.89)), 1.0))


def _maximise(
    Z: FloatArray, products: FloatArray, responsibility: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    n, d = Z.shape
    mass = responsibility.sum(axis=0) + 1e-10
    means = (responsibility.T @ Z) / mass[:, None]
    scatter = (responsibility.T @ products).reshape(-1, d, d)
    scatter -= mass[:, None, None] * means[:, :, None] * means[:, None, :]
    pooled = scatter.sum(axis=0) / n
    covariance = (scatter + (d + 1) * pooled) / (mass + d + 1)[:, None, None]
    # A constant direction has no spread at all: a trace of noise keeps it invertible.
    covariance += (1e-9 * abs(np.trace(pooled)) / d + 1e-12) * np.eye(d)
    whitening = np.linalg.inv(np.linalg.cholesky(covariance))
    return means, whitening, mass / mass.sum()


def _posterior(
    Z: FloatArray, means: FloatArray, whitening: FloatArray, log_weights: FloatArray
) -> tuple[FloatArray, float]:
    """Probability of every Gaussian for every object, and the log likelihood of all objects."""
    g, d = means.shape
    # One product whitens all objects for all Gaussians: L (z - mean) = L z - L mean.
    stacked = whitening.reshape(g * d, d)
    shift = np.einsum("gij,gj->gi", whitening, means)
    constant = log_weights + np.log(np.diagonal(whitening, axis1=1, axis2=2)).sum(axis=1)
    constant = constant - 0.5 * d * np.log(2 * np.pi)
    result = np.empty((len(Z), g))
    likelihood = 0.0
    step = max(_BLOCK_ENTRIES // (g * d), 1)
    for first in range(0, len(Z), step):
        rows = slice(first, first + step)
        noise = (Z[rows] @ stacked.T).reshape(-1, g, d) - shift
        joint = constant - 0.5 * np.einsum("ngd,ngd->ng", noise, noise)
        largest = joint.max(axis=1, keepdims=True)
        density = np.exp(joint - largest)
        total = density.sum(axis=1, keepdims=True)
        result[rows] = density / total
        likelihood += float((largest + np.log(total)).sum())
    return result, likelihood
