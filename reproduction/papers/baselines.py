"""Methods the papers compare with and scikit-learn does not have."""

from __future__ import annotations

from math import floor, log2, sqrt

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray
from soffit.affinity import NeighborGraph
from soffit.factorize import Problem, solve_coordinate
from soffit.normalize import normalize

_TINY = 1e-12


def spherical_kmeans(X: FloatArray, n_clusters: int, seed: int, *, max_iter: int = 300) -> IntArray:
    """K-means with the distance 1 - cos, from objects drawn at random as centres."""
    rng = np.random.default_rng(seed)
    units = unit_rows(np.asarray(X, dtype=np.float64))
    centres = units[rng.choice(len(units), n_clusters, replace=False)]
    labels = np.full(len(units), -1)
    for _ in range(max_iter):
        similarity = units @ centres.T
        previous, labels = labels, similarity.argmax(axis=1)
        if np.array_equal(previous, labels):
            break
        sums = np.zeros_like(centres)
        np.add.at(sums, labels, units)
        # An empty cluster takes the object that its own centre suits least.
        worst = np.argsort(similarity[np.arange(len(units)), labels], kind="stable")
        empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
        sums[empty] = units[worst[: len(empty)]]
        centres = unit_rows(sums)
    return labels


def graph_nmf(
    X: FloatArray,
    n_clusters: int,
    seed: int,
    *,
    weight: float = 100.0,
    n_neighbors: int = 5,
    max_iter: int = 500,
    tol: float = 1e-5,
) -> FloatArray:
    r"""NMF whose rows vary little along a neighbour graph (Cai, He, Han & Huang 2011).

    .. math:: \min_{U, V \ge 0} \|X - V U^\top\|^2 + \lambda \, \mathrm{tr}(V^\top L V)

    by their multiplicative updates. Returns V for columns of U of length one.
    """
    rng = np.random.default_rng(seed)
    X = np.asarray(X, dtype=np.float64)
    X = X / X.max()
    graph = NeighborGraph(n_neighbors, keep="union", weights="binary", connect=False).fit(X)
    A = sp.csr_array(graph.matrix_)
    degrees = np.asarray(A.sum(axis=1)).reshape(-1, 1)
    V, U = rng.random((len(X), n_clusters)), rng.random((X.shape[1], n_clusters))
    norm, before = float(np.vdot(X, X)), np.inf
    for _ in range(max_iter):
        U *= (X.T @ V) / np.maximum(U @ (V.T @ V), _TINY)
        # Length can be moved between U and V at no cost to the fit, so it is fixed.
        length = np.maximum(np.linalg.norm(U, axis=0), _TINY)
        U, V = U / length, V * length
        product, near = X @ U, A @ V
        V *= (product + weight * near) / np.maximum(V @ (U.T @ U) + weight * degrees * V, _TINY)
        fit = norm - 2 * np.vdot(V, X @ U) + np.vdot(V.T @ V, U.T @ U)
        value = float(fit + weight * (np.vdot(degrees * V, V) - np.vdot(A @ V, V)))
        if abs(before - value) <= tol * abs(value):
            break
        before = value
    return V


def symmetric_nmf(X: FloatArray, n_clusters: int, seed: int) -> FloatArray:
    r"""SymNMF (Kuang, Park & Ding 2012): :math:`D^{-1/2} A D^{-1/2} \approx H H^\top, H \ge 0`.

    A is their graph: :math:`\lfloor \log_2 n \rfloor + 1` neighbours with self-tuning weights. The
    solver is exact coordinate descent of this package, which leaves the (empty) diagonal out.
    """
    rng = np.random.default_rng(seed)
    n_neighbors = min(floor(log2(len(X))) + 1, len(X) - 1)
    graph = NeighborGraph(n_neighbors, keep="union", weights="local", connect=False).fit(X)
    A = normalize(graph.matrix_, "degree").matrix
    problem = Problem(A, n_clusters, constraint="nonnegative")
    mean = float(A.sum()) / len(X) ** 2
    start = rng.random((len(X), n_clusters)) * 2 * sqrt(mean / n_clusters)
    return np.asarray(solve_coordinate(problem, start, max_iter=1000, tol=1e-5).factor)


def nonnegative(X: FloatArray) -> FloatArray:
    """Features with the least value of a column moved to zero where it is negative."""
    return X - np.minimum(X.min(axis=0), 0.0)


def unit_rows(X: FloatArray) -> FloatArray:
    """Rows divided by their lengths; rows of zeros stay."""
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), _TINY))
