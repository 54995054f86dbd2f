"""Graphs with a share of their links left out: which partitions stay, which predict the links."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from soffit._threads import each
from soffit._typing import FloatArray, IntArray
from soffit.factorize import leading_eigenvectors
from soffit.factorize._partition import group_weights
from soffit.normalize import degree
from soffit.selection._path import PartitionPath
from soffit.selection._valleys import valleys

# Share of the links that each resample leaves out.
_LEFT_OUT = 0.2


@dataclass(frozen=True, eq=False)
class Agreement:
    """By resample, for 1, 2, ..., most clusters."""

    stability: FloatArray
    likelihood: FloatArray
    valley: FloatArray


def resample(
    A: sp.csr_array, path: PartitionPath, n_vectors: int, *, resamples: int, random_state: int
) -> Agreement:
    """Cut graphs without some links into every number of clusters, and compare with `path`."""
    rng = np.random.default_rng(random_state)
    links = sp.coo_array(sp.triu(A, k=1))
    masks = [rng.random(links.nnz) < _LEFT_OUT for _ in range(resamples)]
    found = each(lambda out: _one(A, links, path, n_vectors, out), masks)
    return Agreement(*(np.array(column) for column in zip(*found, strict=True)))


def _one(
    A: sp.csr_array,
    links: sp.coo_array,
    path: PartitionPath,
    n_vectors: int,
    out: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    thinned = _graph(links, ~out, A.shape[0])
    tied = np.flatnonzero(np.asarray(thinned.sum(axis=1)).ravel() > 0)
    stability, likelihood = np.zeros(path.most), np.zeros(path.most)
    stability[0] = 1.0
    valley = (np.arange(path.most) > 0).astype(np.float64)
    if len(tied) < 2 * path.most:
        return stability, likelihood, valley
    thinned = thinned[tied][:, tied]
    values, V = leading_eigenvectors(degree(thinned).matrix, min(n_vectors, len(tied) - 1))
    again = PartitionPath(thinned, V, min(path.most, V.shape[1]))
    left_out = _graph(links, out, A.shape[0])[tied][:, tied]
    half = 0.5 * float(thinned.data.mean())
    for k in range(2, again.most + 1):
        labels = again.labels(k)
        stability[k - 1] = _adjusted_rand(path.labels(k)[tied], labels, k)
        seen, unseen = (group_weights(graph, labels, k) for graph in (thinned, left_out))
        likelihood[k - 1] = _gain(seen, unseen, half)
    valley[: again.most] = valleys(thinned, values, V, again)
    return stability, likelihood, valley


def _graph(links: sp.coo_array, chosen: IntArray, n: int) -> sp.csr_array:
    upper = sp.csr_array((links.data[chosen], (links.row[chosen], links.col[chosen])), shape=(n, n))
    return sp.csr_array(upper + upper.T)


def _gain(seen: FloatArray, left_out: FloatArray, half: float) -> float:
    """Gain in log-likelihood per unit of left-out weight over a model without clusters.

    In the degree-corrected block model a link between clusters r and s is
    W_rs 2m / (vol_r vol_s) times as likely as in one without clusters; both expect the same total.
    `half` a link more everywhere: a pair of clusters without a seen link is not impossible.
    """
    volume = seen.sum(axis=1)
    gain = np.log((seen + half) / (np.outer(volume, volume) / volume.sum() + half))
    return float(np.sum(left_out * gain) / max(float(left_out.sum()), 1e-300))


def _adjusted_rand(first: IntArray, second: IntArray, k: int) -> float:
    """Agreement of two partitions into at most k clusters, 0 for what chance brings about."""
    table = np.bincount(first * k + second, minlength=k * k).reshape(k, k).astype(np.float64)
    together = np.sum(table * (table - 1))
    a, b = table.sum(axis=1), table.sum(axis=0)
    in_first, in_second = np.sum(a * (a - 1)), np.sum(b * (b - 1))
    chance = in_first * in_second / (len(first) * (len(first) - 1.0))
    most = (in_first + in_second) / 2
    return float((together - chance) / (most - chance)) if most > chance else 1.0
