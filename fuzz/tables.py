"""Random data: clear clusters, and everything that tables in the wild can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[Any]
Generator = np.random.Generator


def clear_clusters(rng: Generator, n: int, p: int, k: int) -> tuple[Array, Array]:
    """Gaussian clusters far from each other, of sizes that differ little."""
    labels = np.arange(n) % k
    # On the axes, and further out where there are more clusters than axes.
    number = np.arange(k)
    centers = 12.0 * np.eye(p)[number % p] * (1 + number // p)[:, None]
    return centers[labels] + rng.normal(size=(n, p)), labels


def _rounded(rng: Generator, X: Array) -> Array:
    return np.round(X)


def _copies(rng: Generator, X: Array) -> Array:
    return X[rng.integers(max(len(X) // 4, 1), size=len(X))]


def _constant_column(rng: Generator, X: Array) -> Array:
    return np.column_stack([X, np.full(len(X), rng.choice([0.0, 1e9, -3.5]))])


def _large(rng: Generator, X: Array) -> Array:
    return X * 10.0 ** rng.uniform(3, 307)


def _small(rng: Generator, X: Array) -> Array:
    return X * 10.0 ** -rng.uniform(3, 307)


def _far_object(rng: Generator, X: Array) -> Array:
    X = X.astype(float)
    X[rng.integers(len(X)), rng.integers(X.shape[1])] = rng.choice([1e6, 1e12, 1e154, 1.79e308])
    return X


def _far_from_zero(rng: Generator, X: Array) -> Array:
    return X + 10.0 ** rng.uniform(3, 15)


def _columns_of_all_sizes(rng: Generator, X: Array) -> Array:
    return X * 10.0 ** rng.uniform(-12, 12, X.shape[1])


def _equal(rng: Generator, X: Array) -> Array:
    return np.repeat(X[:1], len(X), axis=0)


def _heavy_tails(rng: Generator, X: Array) -> Array:
    return rng.standard_cauchy(X.shape)


def _collinear(rng: Generator, X: Array) -> Array:
    return np.outer(X[:, 0], rng.normal(size=X.shape[1]))


def _zeros(rng: Generator, X: Array) -> Array:
    return np.where(rng.random(X.shape) < 0.8, 0.0, X)


def _flags(rng: Generator, X: Array) -> Array:
    return (rng.random(X.shape) < 0.3).astype(float)


def _gaps(rng: Generator, X: Array) -> Array:
    X = X.astype(float)
    X[rng.integers(len(X)), 0] = rng.choice([np.nan, np.inf, -np.inf])
    return X


def _integers(rng: Generator, X: Array) -> Array:
    return np.clip(X, -100, 100).astype(rng.choice([np.int8, np.int64, np.uint8]))


def _single_precision(rng: Generator, X: Array) -> Array:
    return X.astype(np.float32)


def _columns_first(rng: Generator, X: Array) -> Array:
    return np.asfortranarray(X)


def _every_second(rng: Generator, X: Array) -> Array:
    return np.repeat(X, 2, axis=0)[::2]


CHANGES: tuple[Callable[[Generator, Array], Array], ...] = (
    lambda rng, X: X,
    lambda rng, X: X,
    *(_rounded, _copies, _constant_column, _large, _small, _far_object, _far_from_zero),
    *(_columns_of_all_sizes, _equal, _heavy_tails, _collinear, _zeros, _flags, _gaps, _integers),
    *(_single_precision, _columns_first, _every_second),
)


def any_table(rng: Generator) -> Array:
    """A table of any kind, from two objects to a few hundred."""
    n = int(rng.choice([2, 3, 5, 9, 20, 40, 80, 150, 300]))
    p = int(rng.choice([1, 2, 3, 5, 12, 40]))
    X, _ = clear_clusters(rng, n, p, int(rng.integers(1, 6)))
    if rng.random() < 0.4:
        X = rng.normal(size=(n, p))
    for _ in range(int(rng.integers(1, 3))):
        X = CHANGES[int(rng.integers(len(CHANGES)))](rng, X)
    return X


def any_pairs(rng: Generator) -> tuple[str, Any]:
    """A square matrix and what it is; some are not symmetric, some lie about their indices."""
    n = int(rng.choice([2, 3, 8, 30, 90]))
    X = rng.normal(size=(n, 2)) + 8 * (np.arange(n) % 3)[:, None]
    distances = np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2))
    what = str(rng.choice(["distances", "similarities", "graph", "lies"]))
    if what == "distances":
        D = distances * 10.0 ** rng.choice([0, 0, -150, 150])
        if rng.random() < 0.2:
            D = D + rng.normal(size=D.shape) * rng.choice([1e-13, 1.0])
        return what, D.astype(rng.choice([np.float32, np.float64]))
    A = np.exp(-distances) * 10.0 ** rng.choice([0, 0, 0, -300, 300])
    if what == "similarities":
        return what, A
    A[rng.random(A.shape) < 0.7] = 0
    S = sp.csr_array(np.maximum(A, A.T))
    if what == "lies" and S.nnz:
        what = "graph"
        S.indices[rng.integers(S.nnz)] = rng.choice([-1, n, 2**30, -(2**30)])
    return what, S
