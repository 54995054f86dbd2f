"""Mixtures of Gaussian, skewed and heavy-tailed clusters, and planted blocks of similarities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import check_random_state

from soffit._memory import check_allocation
from soffit._typing import FloatArray, IntArray
from soffit.datasets.curves import log_gaussian, log_student_t, posterior_from
from soffit.datasets.sample import (
    Sample,
    Seed,
    SimilaritySample,
    check_count,
    check_number,
    cluster_sizes,
    shuffled_labels,
)

# Principal variances of "full" components lie within a factor exp(2) before rescaling.
_LOG_VARIANCE_RANGE = 1.0


def regular_centers(n_clusters: int, n_features: int, separation: float) -> FloatArray:
    """Centres whose nearest neighbours are `separation` apart, centred at the origin.

    A regular simplex if the dimension allows it; otherwise a line (one feature) or a regular
    polygon in the first two features.
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


# Three unit Gaussians on a triangle with this side have a mean top posterior of 0.8847.
DEFAULT_SEPARATION = 3.0


def make_gaussians(
    n_samples: int,
    *,
    n_clusters: int = 3,
    n_features: int = 2,
    separation: float = DEFAULT_SEPARATION,
    covariance: str = "spherical",
    weights: Sequence[float] | None = None,
    centers: FloatArray | Sequence[Sequence[float]] | None = None,
    random_state: Seed = None,
) -> Sample:
    r"""Draw overlapping Gaussian clusters with their exact posterior.

    .. math:: P(j \mid x) \propto \pi_j \, |C_j|^{-1/2} \exp(-(x-m_j)^T C_j^{-1} (x-m_j) / 2)

    With the defaults the clusters are three unit Gaussians in the plane whose mean top posterior
    is about 0.885.

    Parameters
    ----------
    n_samples : int
        Number of points.
    n_clusters, n_features : int
        Number of clusters and of coordinates. Taken from `centers` when those are given.
    separation : float
        Distance of neighbouring centres, in standard deviations. The centres are the corners of
        a regular simplex; if the dimension is too low for one, they lie on a line (one feature) or
        on a regular polygon in the first two features.
    covariance : {"spherical", "full"}
        Unit covariances, or a random one of determinant 1 for each cluster.
    weights : sequence of float, optional
        Relative cluster sizes, equal by default. The sizes are met exactly up to rounding, every
        cluster gets at least one point, and the prior :math:`\pi` is the size obtained.
    centers : array of shape (n_clusters, n_features), optional
        Centres to use instead of the regular ones.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    Sample
        With `X`, `labels`, `posterior` and `name`.

    Examples
    --------
    >>> from soffit.datasets import make_gaussians
    >>> sample = make_gaussians(3000, random_state=7)
    >>> round(float(sample.posterior.max(axis=1).mean()), 1)
    0.9
    """
    means = _means(n_clusters, n_features, separation, centers)
    return _gaussian_sample(n_samples, means, covariance, weights, random_state, name="gaussians")


def make_student_t(
    n_samples: int,
    *,
    n_clusters: int = 3,
    n_features: int = 2,
    separation: float = DEFAULT_SEPARATION,
    dof: float = 3.0,
    weights: Sequence[float] | None = None,
    random_state: Seed = None,
) -> Sample:
    r"""Draw clusters with heavy tails (multivariate Student t) and their exact posterior.

    .. math:: P(j \mid x) \propto \pi_j \, (1 + |x - m_j|^2 / \nu)^{-(\nu + d) / 2}

    Parameters
    ----------
    n_samples : int
        Number of points.
    n_clusters, n_features, separation, weights, random_state
        As in :func:`make_gaussians`; `separation` is in units of the scale of the t.
    dof : float
        Degrees of freedom :math:`\nu`; the smaller, the heavier the tails.

    Returns
    -------
    Sample
        With `X`, `labels`, `posterior` and `name`.

    Examples
    --------
    >>> from soffit.datasets import make_student_t
    >>> make_student_t(100, random_state=7).posterior.shape
    (100, 3)
    """
    dof = check_number(dof, "dof")
    means = _means(n_clusters, n_features, separation, None)
    n_samples = check_count(n_samples, "n_samples")
    sizes = cluster_sizes(n_samples, len(means), weights)
    rng = check_random_state(random_state)
    labels = shuffled_labels(sizes, rng)
    noise = rng.standard_normal((n_samples, means.shape[1]))
    # One chi-square per point, shared by its coordinates, makes the t multivariate.
    stretch = np.sqrt(dof / rng.chisquare(dof, n_samples))
    X = means[labels] + noise * stretch[:, None]
    log_density = np.stack([log_student_t(X, mean, dof) for mean in means], axis=1)
    return Sample(X, labels, posterior_from(log_density, sizes), "student_t")


def make_skewed(
    n_samples: int,
    *,
    n_clusters: int = 3,
    n_features: int = 2,
    separation: float = DEFAULT_SEPARATION,
    scale: float = 1.0,
    weights: Sequence[float] | None = None,
    random_state: Seed = None,
) -> Sample:
    r"""Draw skewed clusters, exponentiated Gaussians, with their exact posterior.

    Each coordinate of a Gaussian point z becomes :math:`x = \exp(s z)`. The map is one-to-one,
    and its Jacobian is the same factor for every cluster, so x has the posterior of z:

    .. math:: P(j \mid x) = P(j \mid z = \log(x) / s)

    Parameters
    ----------
    n_samples : int
        Number of points.
    n_clusters, n_features, separation, weights, random_state
        As in :func:`make_gaussians`, before the map.
    scale : float
        The factor s; the larger, the more skewed.

    Returns
    -------
    Sample
        With `X` (all positive), `labels`, `posterior` and `name`.

    Examples
    --------
    >>> from soffit.datasets import make_skewed
    >>> bool((make_skewed(100, random_state=7).X > 0).all())
    True
    """
    scale = check_number(scale, "scale")
    means = _means(n_clusters, n_features, separation, None)
    gaussian = _gaussian_sample(n_samples, means, "spherical", weights, random_state, name="skewed")
    largest = scale * float(np.abs(gaussian.X).max())
    if largest > np.log(np.finfo(np.float64).max):
        raise ValueError(
            f"scale={scale} and separation={separation} make exp({largest:.0f}), which float64 "
            "cannot hold. Pass a smaller scale or separation."
        )
    return Sample(np.exp(scale * gaussian.X), gaussian.labels, gaussian.posterior, "skewed")


def make_unequal(
    n_samples: int,
    *,
    weights: Sequence[float] = (0.80, 0.15, 0.05),
    n_features: int = 2,
    separation: float = DEFAULT_SEPARATION,
    covariance: str = "spherical",
    random_state: Seed = None,
) -> Sample:
    r"""Draw overlapping Gaussians of very different sizes with their exact posterior.

    The posterior is that of :func:`make_gaussians` with the sizes as prior :math:`\pi`.

    Parameters
    ----------
    n_samples : int
        Number of points.
    weights : sequence of float
        Relative cluster sizes; their number is the number of clusters.
    n_features, separation, covariance, random_state
        As in :func:`make_gaussians`.

    Returns
    -------
    Sample
        With `X`, `labels`, `posterior` and `name`.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.datasets import make_unequal
    >>> np.bincount(make_unequal(200, random_state=7).labels).tolist()
    [160, 30, 10]
    """
    means = _means(len(weights), n_features, separation, None)
    return _gaussian_sample(n_samples, means, covariance, weights, random_state, name="unequal")


def _means(
    n_clusters: int,
    n_features: int,
    separation: float,
    centers: FloatArray | Sequence[Sequence[float]] | None,
) -> FloatArray:
    if centers is None:
        n_clusters = check_count(n_clusters, "n_clusters")
        n_features = check_count(n_features, "n_features")
        return regular_centers(n_clusters, n_features, check_number(separation, "separation"))
    means = np.array(centers, dtype=np.float64)
    if means.ndim != 2 or means.size == 0 or not np.isfinite(means).all():
        raise ValueError(
            f"centers must be a finite array of shape (n_clusters, n_features), got shape "
            f"{means.shape}. Pass one row per cluster."
        )
    return means


def _gaussian_sample(
    n_samples: int,
    means: FloatArray,
    covariance: str,
    weights: Sequence[float] | None,
    random_state: Seed,
    *,
    name: str,
) -> Sample:
    if covariance not in ("spherical", "full"):
        raise ValueError(f"covariance must be 'spherical' or 'full', got {covariance!r}.")
    n_samples = check_count(n_samples, "n_samples")
    n_clusters, n_features = means.shape
    sizes = cluster_sizes(n_samples, n_clusters, weights)
    rng = check_random_state(random_state)
    labels = shuffled_labels(sizes, rng)
    factors: FloatArray = np.tile(np.eye(n_features), (n_clusters, 1, 1))
    if covariance == "full":
        factors = random_covariance_factors(n_clusters, n_features, rng)
    X = rng.standard_normal((n_samples, n_features))
    for cluster, factor in enumerate(factors):
        X[labels == cluster] = X[labels == cluster] @ factor.T + means[cluster]
    pairs = zip(means, factors, strict=True)
    log_density = np.stack([log_gaussian(X, mean, factor) for mean, factor in pairs], axis=1)
    return Sample(X, labels, posterior_from(log_density, sizes), name)


def make_block_stochastic(
    n_samples: int,
    *,
    n_clusters: int = 5,
    within: float = 0.6,
    between: float = 0.3,
    noise: float = 0.2,
    degree_spread: float = 0.0,
    sizes: Sequence[int] | None = None,
    random_state: Seed = None,
) -> SimilaritySample:
    r"""Draw a symmetric nonnegative similarity matrix with planted blocks.

    .. math:: A_{ij} = \theta_i \theta_j \max(0,\; m_{ij} + s\, e_{ij}), \qquad e_{ij} \sim N(0, 1)

    with :math:`m_{ij}` = `within` for two objects of one cluster and `between` otherwise,
    s = `noise`, and log-normal degree factors :math:`\log \theta_i \sim N(0, \sigma^2)`,
    :math:`\sigma` = `degree_spread`. The diagonal follows the same rule.

    Parameters
    ----------
    n_samples : int
        Number of objects.
    n_clusters : int
        Number of clusters.
    within, between : float
        Mean similarity inside a cluster and between two clusters, before clipping at 0.
    noise : float
        Standard deviation of the similarities.
    degree_spread : float
        Standard deviation of the logarithm of the degree factors; 0 leaves them at 1.
    sizes : sequence of int, optional
        Cluster sizes that add up to `n_samples`, one per cluster. As equal as possible by default.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    SimilaritySample
        With `matrix`, `labels`, `posterior` and `name`. The posterior holds the planted 0/1
        memberships: the objects belong to exactly one block.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.datasets import make_block_stochastic
    >>> sample = make_block_stochastic(100, sizes=[40, 25, 15, 12, 8], random_state=7)
    >>> np.bincount(sample.labels).tolist()
    [40, 25, 15, 12, 8]
    """
    n_samples = check_count(n_samples, "n_samples")
    n_clusters = check_count(n_clusters, "n_clusters")
    within = check_number(within, "within", positive=False)
    between = check_number(between, "between", positive=False)
    noise = check_number(noise, "noise", positive=False)
    degree_spread = check_number(degree_spread, "degree_spread", positive=False)
    counts = _block_sizes(n_samples, n_clusters, sizes)
    check_allocation(
        (n_samples, n_samples),
        np.float64,
        what="make_block_stochastic",
        remedy="Pass a smaller n_samples.",
        copies=3,
    )
    rng = check_random_state(random_state)
    labels = shuffled_labels(counts, rng)
    degrees = np.exp(degree_spread * rng.standard_normal(n_samples))
    upper = np.triu(rng.standard_normal((n_samples, n_samples)))
    matrix = noise * (upper + np.triu(upper, 1).T)
    matrix += np.where(labels[:, None] == labels, within, between)
    np.maximum(matrix, 0.0, out=matrix)
    # The outer product is formed first: multiplying row- then column-wise rounds unsymmetrically.
    matrix *= np.outer(degrees, degrees)
    return SimilaritySample(matrix, labels, np.eye(n_clusters)[labels], "block_stochastic")


def _block_sizes(n_samples: int, n_clusters: int, sizes: Sequence[int] | None) -> IntArray:
    if sizes is None:
        return cluster_sizes(n_samples, n_clusters, None)
    counts = np.array([check_count(size, "sizes") for size in sizes])
    if len(counts) != n_clusters or counts.sum() != n_samples:
        raise ValueError(
            f"sizes must hold n_clusters={n_clusters} numbers that add up to "
            f"n_samples={n_samples}, got {counts.tolist()} (sum {counts.sum()}). "
            "Change sizes or the two numbers."
        )
    return counts
