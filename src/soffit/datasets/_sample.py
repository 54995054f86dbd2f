"""What a generator returns: the data and the truth behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
