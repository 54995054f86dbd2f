"""What the generators return, and the checks of their arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from soffit._parameters import Number, WholeNumber, check_parameter
from soffit._typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Sample:
    """Points with their labels and the true posterior of each point.

    Iterating gives `X`, `labels` and `posterior`, so a sample can be unpacked.

    Parameters
    ----------
    X : ndarray of shape (n, d), float64
        The points.
    labels : ndarray of shape (n,), int
        The component that produced each point.
    posterior : ndarray of shape (n, k), float64
        ``posterior[i, j]`` is the probability that component j produced a point at ``X[i]``.
        Rows sum to 1.
    name : str
        The generator, without ``make_``.

    Examples
    --------
    >>> from soffit.datasets import make_gaussians
    >>> X, labels, posterior = make_gaussians(60, random_state=7)
    >>> X.shape, labels.shape, posterior.shape
    ((60, 2), (60,), (60, 3))
    """

    X: FloatArray
    labels: IntArray
    posterior: FloatArray
    name: str

    def __iter__(self) -> Iterator[FloatArray | IntArray]:
        """Yield the points, the labels and the posterior."""
        yield from (self.X, self.labels, self.posterior)


@dataclass(frozen=True, eq=False)
class SimilaritySample:
    """A similarity matrix with the planted clusters.

    Iterating gives `matrix`, `labels` and `posterior`, so a sample can be unpacked.

    Parameters
    ----------
    matrix : ndarray of shape (n, n), float64
        Symmetric, nonnegative similarities.
    labels : ndarray of shape (n,), int
        The planted cluster of each object.
    posterior : ndarray of shape (n, k), float64
        The planted memberships: row i is 1 at ``labels[i]`` and 0 elsewhere.
    name : str
        The generator, without ``make_``.

    Examples
    --------
    >>> from soffit.datasets import make_block_stochastic
    >>> matrix, labels, posterior = make_block_stochastic(50, random_state=7)
    >>> matrix.shape, posterior.shape
    ((50, 50), (50, 5))
    """

    matrix: FloatArray
    labels: IntArray
    posterior: FloatArray
    name: str

    def __iter__(self) -> Iterator[FloatArray | IntArray]:
        """Yield the similarities, the labels and the planted memberships."""
        yield from (self.matrix, self.labels, self.posterior)


# What `sklearn.utils.check_random_state` accepts.
Seed: TypeAlias = int | np.random.RandomState | None


def check_count(value: Any, name: str, minimum: int = 1) -> int:
    """Return an integer that is at least `minimum`."""
    check_parameter(name, value, WholeNumber(minimum))
    return int(value)


def check_number(value: Any, name: str, *, positive: bool = True) -> float:
    """Return a finite number, above zero unless `positive` is false (then zero is allowed)."""
    check_parameter(name, value, Number(0.0, strict=positive))
    return float(value)


def cluster_sizes(n_samples: int, n_clusters: int, weights: Sequence[float] | None) -> IntArray:
    """Sizes nearest to the weights (largest remainders); every cluster gets a point."""
    if n_samples < n_clusters:
        raise ValueError(
            f"n_samples must be at least the number of clusters ({n_clusters}), got {n_samples}. "
            "Increase n_samples, or use fewer clusters."
        )
    shares = n_samples * _proportions(weights, n_clusters)
    sizes = np.floor(shares).astype(np.int64)
    # A stable sort gives ties to the first cluster, so the sizes do not depend on the platform.
    by_remainder = np.argsort(sizes - shares, kind="stable")
    sizes[by_remainder[: n_samples - sizes.sum()]] += 1
    for empty in np.flatnonzero(sizes == 0):
        sizes[np.argmax(sizes)] -= 1
        sizes[empty] = 1
    return sizes


def shuffled_labels(sizes: IntArray, rng: np.random.RandomState) -> IntArray:
    """Labels with exactly these sizes, in random order."""
    return rng.permutation(np.repeat(np.arange(len(sizes)), sizes))


def _proportions(weights: Sequence[float] | None, n_clusters: int) -> FloatArray:
    if weights is None:
        return np.full(n_clusters, 1.0 / n_clusters)
    proportions = np.array(weights, dtype=np.float64)
    if proportions.shape != (n_clusters,):
        raise ValueError(
            f"weights must hold one number per cluster ({n_clusters}), got shape "
            f"{proportions.shape}. Pass as many weights as clusters."
        )
    if not np.isfinite(proportions).all() or (proportions <= 0).any():
        raise ValueError(
            f"weights must be finite and above zero, got {proportions.tolist()}. "
            "Omit clusters that should be empty."
        )
    proportions /= proportions.sum()
    return proportions
