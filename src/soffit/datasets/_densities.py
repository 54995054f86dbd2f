"""Log densities of the components, and the posterior they imply."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import i0e, logsumexp

from soffit._typing import FloatArray, IntArray

# Gauss-Legendre nodes for each stretch of curve that is two noise deviations long: the
# integrand is then one Gaussian bump or less per stretch and the error is at rounding level.
_NODES_PER_PANEL = 16
_BLOCK_ENTRIES = 2**22


def posterior_from(log_density: FloatArray, sizes: IntArray) -> FloatArray:
    """Bayes' rule: log densities (n, k) and cluster sizes to rows on the simplex."""
    log_joint = log_density + np.log(sizes / sizes.sum())
    log_joint -= log_joint.max(axis=1, keepdims=True)
    posterior: FloatArray = np.exp(log_joint)
    posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior


def log_gaussian(X: FloatArray, center: FloatArray, factor: FloatArray) -> FloatArray:
    """Gaussian with covariance factor @ factor.T (lower triangular), up to (2 pi)^(-d/2)."""
    whitened = solve_triangular(factor, (X - center).T, lower=True)
    log_density: FloatArray = -0.5 * np.sum(whitened**2, axis=0)
    log_density -= np.log(np.diag(factor)).sum()
    return log_density


def log_student_t(X: FloatArray, center: FloatArray, dof: float) -> FloatArray:
    """Spherical multivariate t, up to the constant that all components share."""
    squared = np.sum((X - center) ** 2, axis=1)
    log_density: FloatArray = -0.5 * (dof + X.shape[1]) * np.log1p(squared / dof)
    return log_density


def log_ring(points: FloatArray, radius: float, noise: float) -> FloatArray:
    """Uniform circle about the origin plus isotropic Gaussian noise in the plane.

    The integral over the angle is the Bessel function I0, here in its scaled form:
    p(x) = exp(-(|x| - r)^2 / 2s^2) * i0e(|x| r / s^2) / (2 pi s^2).
    """
    distance = np.hypot(points[:, 0], points[:, 1])
    log_density: FloatArray = np.log(i0e(distance * radius / noise**2))
    log_density -= (distance - radius) ** 2 / (2 * noise**2) + np.log(2 * np.pi * noise**2)
    return log_density


def log_disc(points: FloatArray, radius: float) -> FloatArray:
    """Uniform disc about the origin: minus infinity outside."""
    inside = np.hypot(points[:, 0], points[:, 1]) <= radius
    return np.where(inside, -np.log(np.pi * radius**2), -np.inf)


def log_arc(
    points: FloatArray, center: tuple[float, float], start: float, stop: float, noise: float
) -> FloatArray:
    """Uniform arc of the unit circle about `center` plus isotropic Gaussian noise in the plane."""
    angles, weights = _panel_rule(start, stop, 2 * noise)
    directions = np.stack([np.cos(angles), np.sin(angles)])
    offset = points - np.asarray(center)
    log_weights = np.log(weights / (stop - start))
    result: FloatArray = np.empty(len(points))
    rows = max(1, _BLOCK_ENTRIES // len(angles))
    for first in range(0, len(points), rows):
        block = offset[first : first + rows]
        # |x - u|^2 = |x|^2 + 1 - 2 x.u for points u of the unit circle
        squared = np.sum(block**2, axis=1, keepdims=True) + 1.0 - 2.0 * block @ directions
        result[first : first + rows] = logsumexp(log_weights - squared / (2 * noise**2), axis=1)
    result -= np.log(2 * np.pi * noise**2)
    return result


def _panel_rule(start: float, stop: float, width: float) -> tuple[FloatArray, FloatArray]:
    """Gauss-Legendre nodes and weights on equal panels no wider than `width`."""
    nodes, weights = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    edges = np.linspace(start, stop, int(np.ceil((stop - start) / width)) + 1)
    half = 0.5 * np.diff(edges)[:, None]
    middle = 0.5 * (edges[1:] + edges[:-1])[:, None]
    return (middle + half * nodes).ravel(), (half * weights).ravel()
