"""Relation factorization, written down plainly."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit.factorize import Problem


def relation_problem(A, k, **priors):
    return Problem(A, k, scale="cluster", diagonal=True, loss="kl", constraint="columns", **priors)


def divergence(A, H, lam):
    """Sum of w log(w / q) - w + q."""
    Q = (H * lam) @ H.T
    positive = A > 0
    return float((A[positive] * np.log(A[positive] / Q[positive])).sum() - A.sum() + Q.sum())


def em_step(A, B):
    """B <- B * ((W / (B L^-1 B')) B L^-1)."""
    lam = B.sum(axis=0)
    H = B / np.where(lam > 0, lam, 1.0)
    Q = B @ H.T
    ratio = np.divide(A, Q, out=np.zeros_like(A), where=Q > 0)
    return B * (ratio @ H)


def planted_graph(sizes, seed, inside=10.0, outside=2.0):
    """A random graph with blocks: mean numbers of neighbours inside and outside an object's own."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    first = np.concatenate([[0], np.cumsum(sizes)])
    pairs = [
        first[b] + rng.integers(0, size, (rng.poisson(size * inside / 2), 2))
        for b, size in enumerate(sizes)
    ]
    drawn = rng.integers(0, n, (4 * int(n * outside), 2))
    across = drawn[labels[drawn[:, 0]] != labels[drawn[:, 1]]]
    pairs = np.concatenate([*pairs, across[: int(n * outside / 2)]])
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    A = sp.coo_array((np.ones(len(pairs)), pairs.T), shape=(n, n)).tocsr()
    A = sp.csr_array(A + A.T)
    A.data[:] = 1.0
    A.sort_indices()
    return A, labels
