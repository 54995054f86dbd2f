"""Similarity matrices with planted blocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.utils import check_random_state

from soffit._memory import check_allocation
from soffit._typing import IntArray
from soffit.datasets.sample import (
    Seed,
    SimilaritySample,
    check_count,
    check_number,
    cluster_sizes,
    shuffled_labels,
)


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
