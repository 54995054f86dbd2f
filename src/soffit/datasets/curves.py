"""Moons, rings, a donut, a bridge and crossing lines, with the true memberships."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import i0e, log_ndtr, logsumexp
from sklearn.utils import check_random_state

from soffit._typing import FloatArray, IntArray
from soffit.datasets.sample import (
    Sample,
    Seed,
    check_count,
    check_number,
    cluster_sizes,
    shuffled_labels,
)

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


# The lower half moon: centre of its circle. The upper one is centred at the origin.
_LOWER_MOON = (1.0, 0.5)


def make_moons(
    n_samples: int,
    *,
    noise: float = 0.13,
    n_features: int = 2,
    weights: Sequence[float] | None = None,
    random_state: Seed = None,
) -> Sample:
    r"""Draw two interleaved half circles with Gaussian noise and their posterior.

    The density of a moon is the integral over its half circle,

    .. math:: p_j(x) = \frac{1}{\pi} \int_0^\pi N(x;\, c_j(t), s^2 I) \, dt,

    computed by Gauss-Legendre quadrature to rounding error.

    Parameters
    ----------
    n_samples : int
        Number of points.
    noise : float
        Standard deviation s, above zero.
    n_features : int
        Number of coordinates, at least 2. Those after the second are noise of the same standard
        deviation and carry no information about the cluster.
    weights : sequence of two floats, optional
        Relative sizes, equal by default; met exactly up to rounding.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        With `X`, `labels` (0 the upper moon), `posterior` and `name`.

    Examples
    --------
    >>> from soffit.datasets import make_moons
    >>> make_moons(100, n_features=10, random_state=7).X.shape
    (100, 10)
    """
    noise = check_number(noise, "noise")
    labels, sizes, rng = _labels(n_samples, 2, weights, random_state)
    angle = rng.uniform(0, np.pi, len(labels))
    sign = np.where(labels == 0, 1.0, -1.0)
    X = _noise_points(len(labels), n_features, noise, rng)
    X[:, 0] += sign * np.cos(angle) + labels * _LOWER_MOON[0]
    X[:, 1] += sign * np.sin(angle) + labels * _LOWER_MOON[1]
    upper = log_arc(X[:, :2], (0.0, 0.0), 0.0, np.pi, noise)
    lower = log_arc(X[:, :2], _LOWER_MOON, np.pi, 2 * np.pi, noise)
    posterior = posterior_from(np.stack([upper, lower], axis=1), sizes)
    return Sample(X, labels, posterior, "moons")


def make_rings(
    n_samples: int,
    *,
    radii: Sequence[float] = (0.5, 1.0),
    noise: float = 0.14,
    n_features: int = 2,
    weights: Sequence[float] | None = None,
    random_state: Seed = None,
) -> Sample:
    r"""Draw concentric circles with Gaussian noise and their exact posterior.

    The integral over a circle of radius r is a Bessel function,

    .. math::
        p_r(x) = \frac{1}{2\pi} \int_0^{2\pi} N(x;\, r u(t), s^2 I) \, dt
               = \frac{1}{2 \pi s^2} e^{-(|x|^2 + r^2) / 2 s^2} I_0(r |x| / s^2).

    Parameters
    ----------
    n_samples : int
        Number of points.
    radii : sequence of float
        One radius per ring. With several rings each has the same share of the points unless
        `weights` says otherwise.
    noise : float
        Standard deviation s, above zero.
    n_features : int
        Number of coordinates, at least 2. Those after the second are noise of the same standard
        deviation and carry no information about the cluster.
    weights : sequence of float, optional
        Relative sizes, one per ring; met exactly up to rounding.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        With `X`, `labels` (in the order of `radii`), `posterior` and `name`.

    Examples
    --------
    >>> from soffit.datasets import make_rings
    >>> make_rings(90, radii=(1, 2, 3), random_state=7).posterior.shape
    (90, 3)
    """
    noise = check_number(noise, "noise")
    radius = np.array([check_number(value, "radii") for value in radii])
    n_rings = check_count(len(radius), "the number of radii")
    labels, sizes, rng = _labels(n_samples, n_rings, weights, random_state)
    X = _noise_points(len(labels), n_features, noise, rng)
    X[:, :2] += _on_circle(radius[labels], rng)
    log_density = np.stack([log_ring(X[:, :2], value, noise) for value in radius], axis=1)
    return Sample(X, labels, posterior_from(log_density, sizes), "rings")


def make_donut(
    n_samples: int = 200,
    *,
    radius: float = 1.0,
    noise: float = 0.05,
    disc_radius: float = 0.3,
    random_state: Seed = None,
) -> Sample:
    """Draw a ring around a disc, half of the points each, with their exact posterior.

    The ring is a circle with isotropic Gaussian noise (its density as in :func:`make_rings`),
    the disc is uniform. With the defaults the two do not touch and the posterior is 0 or 1.

    Parameters
    ----------
    n_samples : int
        Number of points.
    radius, noise : float
        Radius of the ring and standard deviation of its noise.
    disc_radius : float
        Radius of the disc.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        With `X`, `labels` (0 the ring, 1 the disc), `posterior` and `name`.

    References
    ----------
    R. Zass and A. Shashua, "A unifying approach to hard and probabilistic clustering",
    ICCV 2005, figure 5.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.datasets import make_donut
    >>> np.bincount(make_donut(random_state=7).labels).tolist()
    [100, 100]
    """
    radius = check_number(radius, "radius")
    noise = check_number(noise, "noise")
    disc_radius = check_number(disc_radius, "disc_radius")
    labels, sizes, rng = _labels(n_samples, 2, None, random_state)
    # The square root makes the points uniform over the disc, not over its radius.
    inner = disc_radius * np.sqrt(rng.uniform(size=len(labels)))
    X = _on_circle(np.where(labels == 0, radius, inner), rng)
    X += _noise_points(len(labels), 2, noise, rng) * (labels == 0)[:, None]
    log_density = np.stack([log_ring(X, radius, noise), log_disc(X, disc_radius)], axis=1)
    return Sample(X, labels, posterior_from(log_density, sizes), "donut")


def make_bridge(
    n_samples: int = 110,
    *,
    n_bridge: int = 10,
    center: float = 3.0,
    bridge_end: float = 2.0,
    noise: float = 0.5,
    random_state: Seed = None,
) -> Sample:
    """Draw two Gaussian clouds joined by a straight chain of points.

    The clouds lie at ``(-center, 0)`` and ``(center, 0)`` with standard deviation `noise` in both
    directions. The bridge is fixed: evenly spaced from ``(-bridge_end, 0)`` to
    ``(bridge_end, 0)``. It belongs to neither cloud, so its posterior and labels are
    **defined** here as those that the two clouds alone give to its positions.

    Parameters
    ----------
    n_samples : int
        Number of points, the bridge included.
    n_bridge : int
        Number of bridge points; may be 0.
    center, bridge_end : float
        Where the clouds and the ends of the bridge lie on the first axis.
    noise : float
        Standard deviation of the clouds.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        The rows are the left cloud (label 0), the right cloud (label 1), then the bridge from left
        to right. An odd point goes to the left cloud.

    References
    ----------
    R. Zass and A. Shashua, "A unifying approach to hard and probabilistic clustering",
    ICCV 2005, figure 1.

    Examples
    --------
    >>> from soffit.datasets import make_bridge
    >>> sample = make_bridge(random_state=7)
    >>> sample.X[-10:, 0].round(1).tolist()
    [-2.0, -1.6, -1.1, -0.7, -0.2, 0.2, 0.7, 1.1, 1.6, 2.0]
    """
    n_bridge = check_count(n_bridge, "n_bridge", minimum=0)
    n_samples = check_count(n_samples, "n_samples", minimum=n_bridge + 2)
    center = check_number(center, "center")
    noise = check_number(noise, "noise")
    bridge_end = check_number(bridge_end, "bridge_end")
    sizes = cluster_sizes(n_samples - n_bridge, 2, None)
    rng = check_random_state(random_state)
    labels = np.repeat(np.arange(2), sizes)
    centers = np.array([[-center, 0.0], [center, 0.0]])
    clouds = centers[labels] + _noise_points(len(labels), 2, noise, rng)
    bridge = np.zeros((n_bridge, 2))
    bridge[:, 0] = np.linspace(-bridge_end, bridge_end, n_bridge)
    X = np.concatenate([clouds, bridge])
    factor = noise * np.eye(2)
    log_density = np.stack([log_gaussian(X, mean, factor) for mean in centers], axis=1)
    posterior = posterior_from(log_density, sizes)
    labels = np.concatenate([labels, posterior[len(clouds) :].argmax(axis=1)])
    return Sample(X, labels, posterior, "bridge")


def _labels(
    n_samples: int, n_clusters: int, weights: Sequence[float] | None, random_state: Seed
) -> tuple[IntArray, IntArray, np.random.RandomState]:
    """Shuffled labels, the cluster sizes and the random number generator."""
    sizes = cluster_sizes(check_count(n_samples, "n_samples"), n_clusters, weights)
    rng = check_random_state(random_state)
    return shuffled_labels(sizes, rng), sizes, rng


def _noise_points(
    n_samples: int, n_features: int, noise: float, rng: np.random.RandomState
) -> FloatArray:
    n_features = check_count(n_features, "n_features", minimum=2)
    return noise * rng.standard_normal((n_samples, n_features))


def _on_circle(radius: FloatArray, rng: np.random.RandomState) -> FloatArray:
    angle = rng.uniform(0, 2 * np.pi, len(radius))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def make_lines(
    n_samples: int = 300,
    *,
    n_lines: int = 3,
    noise: float = 0.01,
    offset: float = 0.1,
    n_features: int = 2,
    random_state: Seed = None,
) -> Sample:
    r"""Draw crossing straight segments with Gaussian noise and their exact posterior.

    Segment j has length 2 and the direction :math:`\pi j / k`; its middle is at distance `offset`
    from the origin, alternately to its left and right. Points are uniform along it. With u along a
    segment and v across it, measured from its middle, its density is

    .. math:: p(u, v) = \tfrac12 \Big[\Phi\Big(\frac{1 - u}{s}\Big) -
              \Phi\Big(\frac{-1 - u}{s}\Big)\Big] \, N(v; 0, s^2).

    Parameters
    ----------
    n_samples : int
        Number of points.
    n_lines : int
        Number of segments; each has the same share of the points.
    noise : float
        Standard deviation s, above zero.
    offset : float
        Distance of the segments from the origin; with 0 all cross there.
    n_features : int
        Number of coordinates, at least 2. Those after the second are noise of the same standard
        deviation and carry no information about the cluster.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        With `X`, `labels`, `posterior` and `name`.

    Examples
    --------
    >>> from soffit.datasets import make_lines
    >>> make_lines(90, n_lines=3, random_state=7).posterior.shape
    (90, 3)
    """
    n_lines = check_count(n_lines, "n_lines")
    noise = check_number(noise, "noise")
    offset = check_number(offset, "offset", positive=False)
    n_features = check_count(n_features, "n_features", minimum=2)
    sizes = cluster_sizes(check_count(n_samples, "n_samples"), n_lines, None)
    rng = check_random_state(random_state)
    labels = shuffled_labels(sizes, rng)
    angle = np.pi * np.arange(n_lines) / n_lines
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    middle = np.where(np.arange(n_lines) % 2 == 0, offset, -offset)
    X = noise * rng.standard_normal((len(labels), n_features))
    X[:, :2] += rng.uniform(-1, 1, len(labels))[:, None] * along[labels]
    X[:, :2] += middle[labels][:, None] * across[labels]
    u, v = X[:, :2] @ along.T, X[:, :2] @ across.T - middle
    log_density = _log_uniform_with_noise(u, noise) - 0.5 * (v / noise) ** 2
    return Sample(X, labels, posterior_from(log_density, sizes), "lines")


def _log_uniform_with_noise(u: FloatArray, noise: float) -> FloatArray:
    """Log of Phi((1 - u) / s) - Phi((-1 - u) / s), by symmetry from the accurate side."""
    outer, inner = (1.0 - np.abs(u)) / noise, (-1.0 - np.abs(u)) / noise
    log_outer = log_ndtr(outer)
    return np.asarray(log_outer + np.log1p(-np.exp(log_ndtr(inner) - log_outer)))
