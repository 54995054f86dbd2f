"""Expectation and maximisation for mixtures of Gaussians, or of Student t with heavier tails.

Both steps are one matrix product with the objects' moments: their coordinates, their pairwise
products and a one. Components are computed from weighted sums of moments, and squared distances to
components are linear in them. Components with a common covariance need the coordinates only.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from soffit._typing import FloatArray, IntArray

# Entries of the largest working array.
_BLOCK_ENTRIES = 2**19
# Below this number of distances, NumPy finishes before a compiled loop is loaded.
_FEW_ENTRIES = 2**12
# Objects whose moments are added up at a time.
_SUMMED = 2**13
# Components whose log density is this far below the largest have a negligible share.
NEGLIGIBLE = -40.0


class Pieces(NamedTuple):
    """Weights, means and covariances of the components of a mixture."""

    log_weights: FloatArray
    means: FloatArray
    # Inverse Cholesky factors, which whiten rows of (x - mean).
    whitening: FloatArray
    # Degrees of freedom of Student's t; infinite for Gaussians.
    tails: float

    def shares(self, Z: FloatArray) -> FloatArray:
        """Posterior probability of every component for every object."""
        shares = np.empty((len(Z), len(self.means)))
        step = max(_BLOCK_ENTRIES // moments_of(Z[:1]).shape[1], 1)
        for first in range(0, len(Z), step):
            rows = slice(first, first + step)
            shares[rows] = _expect(_squares(moments_of(Z[rows]), self), self, None)[0]
        return shares


class Sums(NamedTuple):
    """What a step needs to know of many objects: sums over them, which can be added up."""

    sizes: FloatArray  # (g,): responsibilities of the components.
    moments: FloatArray  # (g, c): moments, weighted by them.

    @classmethod
    def over(cls, Z: FloatArray, pieces: Pieces) -> Sums:
        """Those over some objects."""
        sizes, sums = np.zeros(len(pieces.means)), None
        for first in range(0, len(Z), _SUMMED):
            moments = moments_of(Z[first : first + _SUMMED])
            shares, pull, _ = _expect(_squares(moments, pieces), pieces, None)
            sizes += shares.sum(axis=0)
            part = pull.T @ moments
            sums = part if sums is None else sums + part
        assert sums is not None
        return cls(sizes, sums)

    def pieces(self, tails: float, *, common: bool) -> Pieces:
        """The components after a step."""
        mass, means, scatter = _scatters_of(self.moments)
        if common:
            pooled = scatter.sum(axis=0) / mass.sum()
            whitening = np.repeat(_whitening(pooled[None], pooled), len(mass), axis=0)
        else:
            whitening, means = _shapes_of(mass, means, scatter)
        sizes = self.sizes + 1e-10
        return Pieces(np.log(sizes / sizes.sum()), means, whitening, tails)


class Fit(NamedTuple):
    """Components after some steps, with the state that further steps need."""

    moments: FloatArray
    shares: FloatArray
    pull: FloatArray
    common: bool
    pieces: Pieces
    log_likelihood: float
    # Weights of the objects; None means 1.
    weights: FloatArray | None = None
    # Sums of the products of all objects, if every step needs the same ones.
    products: FloatArray | None = None

    def advanced(self) -> Fit:
        """The fit after one more step."""
        return _stepped(
            *(self.moments, self.shares, self.pull, self.pieces.tails, self.weights),
            common=self.common,
            products=self.products,
        )


def begin_fit(
    moments: FloatArray,
    members: FloatArray,
    tails: float,
    weights: FloatArray | None = None,
    *,
    common: bool = False,
) -> Fit:
    """The components of given members, and their responsibilities for the objects."""
    return _stepped(moments, members, members, tails, weights, common=common)


def _stepped(
    moments: FloatArray,
    shares: FloatArray,
    pull: FloatArray,
    tails: float,
    weights: FloatArray | None,
    *,
    common: bool,
    products: FloatArray | None = None,
) -> Fit:
    if weights is not None:
        shares, pull = shares * weights[:, None], pull * weights[:, None]
    if common:
        if products is None:
            # Sums by BLAS: those of NumPy take longer along short rows.
            products = (pull @ np.ones(pull.shape[1])) @ _products(moments)
        whitening, means = _common_shape(moments, pull, products)
    else:
        whitening, means = _own_shapes(moments, pull)
    sizes = shares.sum(axis=0) + 1e-10
    pieces = Pieces(np.log(sizes / sizes.sum()), means, whitening, tails)
    squares = _squares_of_common(moments, pieces) if common else _squares(moments, pieces)
    shares, pull, log_likelihood = _expect(squares, pieces, weights)
    # The shares of an object sum to one: for Gaussians, how they are split does not matter.
    kept = products if np.isinf(tails) else None
    return Fit(moments, shares, pull, common, pieces, log_likelihood, weights, kept)


def n_parameters(n_pieces: int, d: int, *, common: bool = False) -> float:
    """Parameters of weights and means, and of one covariance per component or a common one."""
    return n_pieces * (1 + d) + (1 if common else n_pieces) * d * (d + 1) / 2


def moments_of(Z: FloatArray) -> FloatArray:
    """Products of coordinates (upper triangle, row by row), the coordinates and a one."""
    n, d = Z.shape
    # Column by column in memory: loops over all objects are long ones.
    moments = np.empty((d * (d + 1) // 2 + d + 1, n))
    columns = moments[-1 - d : -1]
    columns[:] = Z.T
    first = 0
    for i in range(d):
        np.multiply(columns[i], columns[i:], out=moments[first : first + d - i])
        first += d - i
    moments[-1] = 1.0
    return moments.T


def _coordinates(moments: FloatArray) -> FloatArray:
    # d coordinates have (d + 1)(d + 2) / 2 moments.
    d = int(np.sqrt(2.0 * moments.shape[1])) - 1
    return moments[:, -1 - d : -1]


def _own_shapes(moments: FloatArray, pull: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Whitening and mean per component; d + 1 pseudo-points shrink covariances to the pooled one.

    For Student's t, distant objects get smaller weights (Peel & McLachlan 2000); the covariance is
    divided by the sum of weights, which converges in fewer steps (Kent et al. 1994).
    """
    return _shapes_of(*scatters(moments, pull))


def _shapes_of(
    mass: FloatArray, means: FloatArray, scatter: FloatArray
) -> tuple[FloatArray, FloatArray]:
    d = means.shape[1]
    pooled = scatter.sum(axis=0) / mass.sum()
    covariance = (scatter + (d + 1) * pooled) / (mass + d + 1)[:, None, None]
    return _whitening(covariance, pooled), means


def scatters(moments: FloatArray, pull: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mass, mean and scatter (d by d) of the objects of each component."""
    return _scatters_of(pull.T @ moments)


def _scatters_of(sums: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    d = _coordinates(sums).shape[1]
    mass = sums[:, -1] + 1e-10
    means = sums[:, -1 - d : -1] / mass[:, None]
    scatter = _symmetric(sums[:, : -1 - d], d)
    scatter -= mass[:, None, None] * means[:, :, None] * means[:, None, :]
    return mass, means, scatter


def _products(moments: FloatArray) -> FloatArray:
    return moments[:, : -1 - _coordinates(moments).shape[1]]


def _common_shape(
    moments: FloatArray, pull: FloatArray, products: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Whitening and mean per component, with one common covariance from the sums of products."""
    d = _coordinates(moments).shape[1]
    sums = pull.T @ moments[:, -1 - d :]
    mass = sums[:, -1] + 1e-10
    means = sums[:, :-1] / mass[:, None]
    scatter = _symmetric(products[None], d)[0] - (mass * means.T) @ means
    pooled = scatter / mass.sum()
    return np.repeat(_whitening(pooled[None], pooled), len(mass), axis=0), means


@cache
def _upper_triangle(d: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Rows and columns of the upper triangle, and how often each entry occurs in the matrix."""
    row, column = np.triu_indices(d)
    return row, column, np.where(row == column, 1.0, 2.0)


def _symmetric(upper: FloatArray, d: int) -> FloatArray:
    """Symmetric matrices from their upper triangles, row by row."""
    row, column, _ = _upper_triangle(d)
    full = np.empty((len(upper), d, d))
    full[:, row, column] = upper
    full[:, column, row] = upper
    return full


def _whitening(covariance: FloatArray, pooled: FloatArray) -> FloatArray:
    d = len(pooled)
    # A constant direction has zero variance: a trace of noise keeps it invertible.
    noise = 1e-9 * abs(np.trace(pooled)) / d + 1e-12
    return np.linalg.inv(np.linalg.cholesky(covariance + noise * np.eye(d)))


def _expect(
    squares: FloatArray, pieces: Pieces, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray, float]:
    """Responsibilities, the weights of objects in the M step, and the total log likelihood."""
    d, tails = pieces.means.shape[1], pieces.tails
    scale = np.log(np.diagonal(pieces.whitening, axis1=1, axis2=2)).sum(axis=1)
    constant = pieces.log_weights + scale + _log_constant(d, tails)
    if squares.size < _FEW_ENTRIES:
        return _share_out(squares, constant, tails, d, weights)
    from soffit.memberships.kernels import share_out

    shares = np.empty_like(squares)
    pull = shares if np.isinf(tails) else np.empty_like(squares)
    counted = np.ones(len(squares)) if weights is None else weights
    room = np.empty(squares.shape[1])
    total = share_out(squares, constant, tails, d, counted, shares, pull, room)
    return shares, pull, float(total)


def _share_out(
    squares: FloatArray, constant: FloatArray, tails: float, d: int, weights: FloatArray | None
) -> tuple[FloatArray, FloatArray, float]:
    """The same as the compiled loop, which few objects need not wait for."""
    squares = np.maximum(squares, 0.0)
    if np.isinf(tails):
        log_density = constant - 0.5 * squares
    else:
        log_density = constant - 0.5 * (tails + d) * np.log(1.0 + squares / tails)
    largest = log_density.max(axis=1, keepdims=True)
    below = log_density - largest
    shares = np.where(below > NEGLIGIBLE, np.exp(below), 0.0)
    total = shares.sum(axis=1, keepdims=True)
    shares /= total
    pull = shares if np.isinf(tails) else shares * (tails + d) / (tails + squares)
    log_likelihood = largest + np.log(total)
    if weights is not None:
        log_likelihood *= weights[:, None]
    return shares, pull, float(log_likelihood.sum())


def _squares(moments: FloatArray, pieces: Pieces) -> FloatArray:
    """Squared Mahalanobis distance of every object to every component."""
    return moments @ _quadratic_forms(pieces).T


def _squares_of_common(moments: FloatArray, pieces: Pieces) -> FloatArray:
    """The same for components with one common covariance."""
    white, centres = (
        points @ pieces.whitening[0].T for points in (_coordinates(moments), pieces.means)
    )
    lengths = [np.einsum("ij,ij->i", points, points) for points in (white, centres)]
    return lengths[0][:, None] + lengths[1] - 2.0 * white @ centres.T


def _quadratic_forms(pieces: Pieces) -> FloatArray:
    """Coefficients of the moments in (z - mean)' A (z - mean), one row per component."""
    g, d = pieces.means.shape
    precision = np.swapaxes(pieces.whitening, 1, 2) @ pieces.whitening
    row, column, times = _upper_triangle(d)
    slope = (precision @ pieces.means[:, :, None])[:, :, 0]
    forms = np.empty((g, len(row) + d + 1))
    forms[:, : len(row)] = precision[:, row, column] * times
    forms[:, len(row) : -1] = -2.0 * slope
    forms[:, -1] = (slope * pieces.means).sum(axis=1)
    return forms


def _log_constant(d: int, tails: float) -> float:
    if np.isinf(tails):
        return -0.5 * d * float(np.log(2 * np.pi))
    gammas = gammaln((tails + d) / 2) - gammaln(tails / 2)
    return float(gammas - 0.5 * d * np.log(tails * np.pi))
