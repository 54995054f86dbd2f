"""Expectation and maximisation for mixtures of Gaussians, or of Student t with heavier tails."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from soffit._typing import FloatArray

_EM_STEPS = 10
# Entries of the largest working array.
_BLOCK_ENTRIES = 2**19


class Pieces(NamedTuple):
    """Weights, centres and shapes of the pieces of a mixture."""

    log_weights: FloatArray
    means: FloatArray
    # Inverse Cholesky factors: rows of (x - mean) become white noise.
    whitening: FloatArray
    # Degrees of freedom of Student's t; infinite for Gaussians.
    tails: float

    def shares(self, Z: FloatArray) -> FloatArray:
        """Probability of every piece for every object."""
        return _expect(Z, self)[0]


def fit_pieces(
    Z: FloatArray,
    members: FloatArray,
    tails: float,
    *,
    common: bool = False,
    n_steps: int = _EM_STEPS,
) -> tuple[Pieces, float]:
    """A fixed number of EM steps after given members; the pieces and the log likelihood."""
    d = Z.shape[1]
    products = (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), d * d)
    shares, pull = members, members
    for _ in range(n_steps + 1):
        pieces = _maximise(Z, products, shares, pull, tails, common=common)
        shares, pull, likelihood = _expect(Z, pieces)
    return pieces, likelihood


def n_parameters(n_pieces: int, d: int, *, common: bool = False) -> float:
    """Weight and mean of every piece; a covariance of every piece or a common one."""
    return n_pieces * (1 + d) + (1 if common else n_pieces) * d * (d + 1) / 2


def _maximise(
    Z: FloatArray,
    products: FloatArray,
    shares: FloatArray,
    pull: FloatArray,
    tails: float,
    *,
    common: bool,
) -> Pieces:
    """Best pieces; d + 1 pseudo-points draw covariances of their own to the pooled one.

    For Student's t, objects pull the less the farther out they are (Peel & McLachlan 2000); the
    covariance is divided by the sum of pulls, which converges in fewer steps (Kent et al. 1994).
    """
    d = Z.shape[1]
    mass = pull.sum(axis=0) + 1e-10
    means = (pull.T @ Z) / mass[:, None]
    scatter = (pull.T @ products).reshape(-1, d, d)
    scatter -= mass[:, None, None] * means[:, :, None] * means[:, None, :]
    pooled = scatter.sum(axis=0) / mass.sum()
    if common:
        covariance = np.repeat(pooled[None], len(mass), axis=0)
    else:
        covariance = (scatter + (d + 1) * pooled) / (mass + d + 1)[:, None, None]
    # A constant direction has no spread at all: a trace of noise keeps it invertible.
    covariance += (1e-9 * abs(np.trace(pooled)) / d + 1e-12) * np.eye(d)
    whitening = np.linalg.inv(np.linalg.cholesky(covariance))
    weights = shares.sum(axis=0) + 1e-10
    return Pieces(np.log(weights / weights.sum()), means, whitening, tails)


def _expect(Z: FloatArray, pieces: Pieces) -> tuple[FloatArray, FloatArray, float]:
    """Share of every piece in every object, how far it pulls, and the log likelihood of all."""
    g, d = pieces.means.shape
    tails = pieces.tails
    # One product whitens all objects for all pieces: L (z - mean) = L z - L mean.
    stacked = pieces.whitening.reshape(g * d, d)
    shift = np.einsum("gij,gj->gi", pieces.whitening, pieces.means)
    scale = np.log(np.diagonal(pieces.whitening, axis1=1, axis2=2)).sum(axis=1)
    constant = pieces.log_weights + scale + _log_constant(d, tails)
    shares = np.empty((len(Z), g))
    pull = shares if np.isinf(tails) else np.empty((len(Z), g))
    likelihood = 0.0
    step = max(_BLOCK_ENTRIES // (g * d), 1)
    for first in range(0, len(Z), step):
        rows = slice(first, first + step)
        noise = (Z[rows] @ stacked.T).reshape(-1, g, d) - shift
        squares = np.einsum("ngd,ngd->ng", noise, noise)
        if np.isinf(tails):
            joint = constant - 0.5 * squares
        else:
            joint = constant - 0.5 * (tails + d) * np.log1p(squares / tails)
        largest = joint.max(axis=1, keepdims=True)
        density = np.exp(joint - largest)
        total = density.sum(axis=1, keepdims=True)
        shares[rows] = density / total
        if pull is not shares:
            pull[rows] = shares[rows] * ((tails + d) / (tails + squares))
        likelihood += float((largest + np.log(total)).sum())
    return shares, pull, likelihood


def _log_constant(d: int, tails: float) -> float:
    if np.isinf(tails):
        return -0.5 * d * float(np.log(2 * np.pi))
    gammas = gammaln((tails + d) / 2) - gammaln(tails / 2)
    return float(gammas - 0.5 * d * np.log(tails * np.pi))
