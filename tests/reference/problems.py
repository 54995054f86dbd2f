"""Problems on which solvers are tested."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit.factorize import Problem


def random_rows(n, k, seed):
    return np.random.default_rng(seed).dirichlet(np.ones(k), size=n)


def random_matrix(n, seed, density=1.0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density))
    return upper + np.triu(upper, 1).T


def planted_memberships(n, k, seed):
    """Mostly whole members of a cluster, some between clusters; every cluster has pure members."""
    W = np.random.default_rng(seed).dirichlet(np.full(k, 0.3), size=n)
    W[: 3 * k] = np.eye(k)[np.arange(3 * k) % k]
    return W


def planted_matrix(n, k, seed, noise=0.0):
    W = planted_memberships(n, k, seed)
    error = np.random.default_rng(seed + 1).normal(scale=noise, size=(n, n))
    return np.maximum(W @ W.T + (error + error.T) / 2, 0.0)


def near(W, seed, share=0.3):
    """A start close to W."""
    return (1 - share) * W + share * random_rows(*W.shape, seed)


def relative_similarity(X, neighbor=10):
    """exp(-relative distance) of the rows of X, as in SoF."""
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=-1))
    reach = np.sort(distances, axis=1)[:, neighbor]
    return np.exp(-distances / np.sqrt(np.outer(reach, reach)))


def stored(A, storage):
    return sp.csr_array(A) if storage == "sparse" else np.array(A)


def random_problem(seed, n=12, k=3, **fields):
    return Problem(random_matrix(n, seed), k, **fields)


def block_diagonal(parts: Any) -> sp.csr_array:
    """Graphs beside each other; SciPy makes a sparse array of sparse arrays only."""
    return sp.csr_array(sp.block_diag([sp.coo_array(part) for part in parts], format="csr"))
