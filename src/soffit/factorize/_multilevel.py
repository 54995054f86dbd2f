"""Leading eigenvectors of a large graph by way of smaller and smaller ones.

Nodes are paired along strong ties until the graph is small enough for a dense decomposition. On
the way back, its eigenvectors are spread over the nodes of each finer graph and made better there
by a polynomial filter. Where eigenvalues crowd below 1, as in graphs of pixels, this takes a
fraction of the time of Lanczos iterations, which single precision brings to a halt too early.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._products import product
from soffit._typing import FloatArray
from soffit.factorize._coarse import coarser_graphs
from soffit.factorize._spectral import leading_eigenvectors
from soffit.normalize import normalize

# Graphs of at most this many nodes are decomposed directly.
_COARSEST = 600
_DEGREE = 20
# Above this, what a filter amplifies least is lost to rounding.
_MOST_AMPLIFIED = 1e3
# Filters are repeated while they lower the sum of 1 - eigenvalue by this share.
_GAIN = 0.1
_MOST_FILTERS = 2
# Products of the columns of an orthonormal basis differ by less from zero and one.
_ORTHONORMAL = 1e-9


def multilevel_eigenvectors(
    A: sp.csr_array, n_vectors: int, *, random_state: int = 0
) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues (descending) of the degree-normalized A, and their eigenvectors.

    Approximate: accurate to a few per cent of each eigenvalue's distance from 1, which is what a
    partition needs. Every node must have a tie.
    """
    levels, groups = coarser_graphs(A, max(_COARSEST, 4 * n_vectors))
    coarsest = normalize(levels[-1], "degree").matrix
    values, V = leading_eigenvectors(coarsest, n_vectors, random_state=random_state)
    for A_fine, A_coarse, group in zip(levels[-2::-1], levels[:0:-1], groups[::-1], strict=True):
        root = np.sqrt(_degrees(A_fine) / _degrees(A_coarse)[group])
        N = normalize(A_fine, "degree").matrix
        values, V = _improved(N, np.asarray(root[:, None] * V[group], dtype=A.dtype))
    return values, V


def _improved(N: sp.csr_array, V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Filters and Rayleigh-Ritz steps until they gain little."""
    values, V = _rayleigh_ritz(N, V)
    for _ in range(_MOST_FILTERS):
        before = np.sum(1.0 - values)
        values, V = _rayleigh_ritz(N, _filtered(N, V, float(values[-1])))
        if before - np.sum(1.0 - values) < _GAIN * before:
            break
    return values, V


def _filtered(N: sp.csr_array, V: FloatArray, cut: float) -> FloatArray:
    """A Chebyshev polynomial of N times V: small on [-1, cut], growing fast above."""
    center, half = 0.5 * (cut - 1.0), max(0.5 * (cut + 1.0), 1e-3)
    steepness = float(np.arccosh(max((1.0 - center) / half, 1.0 + 1e-12)))
    degree = min(_DEGREE, max(int(np.arccosh(_MOST_AMPLIFIED) / steepness), 1))
    shift, scale = V.dtype.type(center), V.dtype.type(1.0 / half)
    earlier, current = V, scale * (product(N, V) - shift * V)
    for _ in range(degree - 1):
        following = product(N, current) - shift * current
        following *= 2 * scale
        following -= earlier
        earlier, current = current, following
    return current


def _rayleigh_ritz(N: sp.csr_array, V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The best approximate eigenvectors in the span of V's columns."""
    Q = _orthonormal(V)
    H = np.asarray(Q.T @ product(N, Q), dtype=np.float64)
    values, turn = np.linalg.eigh((H + H.T) / 2)
    return values[::-1], np.asarray(Q @ turn[:, ::-1].astype(V.dtype))


def _orthonormal(V: FloatArray) -> FloatArray:
    """An orthonormal basis of the columns' span, in the precision of V.

    By the Cholesky factor of their products, once more if rounding left too much: matrix products
    are several times quicker than reflections, which serve columns that nearly coincide.
    """
    Q = np.asarray(V, dtype=np.float64)
    products = Q.T @ Q
    for _ in range(2):
        try:
            Q = Q @ np.linalg.inv(np.linalg.cholesky(products)).T
        except np.linalg.LinAlgError:
            break
        products = Q.T @ Q
        if np.abs(products - np.eye(Q.shape[1])).max() < _ORTHONORMAL:
            return Q.astype(V.dtype)
    return np.linalg.qr(np.asarray(V, dtype=np.float64))[0].astype(V.dtype)


def _degrees(A: sp.csr_array) -> FloatArray:
    return np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
