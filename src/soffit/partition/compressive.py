"""A partition of a graph into hundreds of clusters, without one eigenvector per cluster.

Some dozens of random signals on the graph, low-pass filtered to the slow modes, separate clusters
as well as hundreds of eigenvectors (N. Tremblay, G. Puy, R. Gribonval & P. Vandergheynst, 2016,
Compressive spectral clustering, ICML). The cut-off is read from the density of eigenvalues,
estimated by Lanczos quadrature.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh_tridiagonal
from sklearn.exceptions import ConvergenceWarning

from soffit._compile import interrupts_held
from soffit._threads import without_warnings
from soffit._typing import FloatArray, IntArray
from soffit.graph import Graph
from soffit.partition.rounding import fill_empty_by_size, unit_rows

_SIGNALS = 128
_FILTER_DEGREE = 60
_PROBES = 4
_LANCZOS_STEPS = 60
_MOST_ITERATIONS = 20
# Objects per cluster among which the first centers are chosen.
_SAMPLED = 10


def many_clusters(N: sp.csr_array, n_clusters: int, *, random_state: int) -> tuple[IntArray, float]:
    """Labels, and an estimate of the eigenvalue after the slowest `n_clusters` modes."""
    with interrupts_held():
        from sklearn.cluster import KMeans, kmeans_plusplus

    rng = np.random.default_rng(random_state)
    cut = _eigenvalue_behind(N, n_clusters, rng)
    signals = rng.standard_normal((N.shape[0], _SIGNALS)).astype(N.dtype)
    smooth = unit_rows(_slow_part(N, signals, cut))
    sample = rng.permutation(len(smooth))[: _SAMPLED * n_clusters]
    # In double precision: scikit-learn would convert single precision again for every center.
    seeds, _ = kmeans_plusplus(
        smooth[sample].astype(np.float64), n_clusters, random_state=random_state
    )
    # For hundreds of centres in many dimensions, scikit-learn's BLAS products are several times
    # faster than our own short runs.
    with without_warnings(ConvergenceWarning):
        model = KMeans(n_clusters, init=seeds, n_init=1, max_iter=_MOST_ITERATIONS)
        labels = np.asarray(model.fit_predict(smooth))
    return fill_empty_by_size(labels, n_clusters), cut


def _slow_part(N: sp.csr_array, V: FloatArray, cut: float) -> FloatArray:
    """V without the modes below the cut: a smoothed step as a Chebyshev polynomial of N."""
    place = float(np.arccos(np.clip(cut, -1.0, 1.0)))
    order = np.arange(1, _FILTER_DEGREE + 1)
    # Chebyshev coefficients of the step 1[x >= cut], damped by Jackson's factors.
    step = np.concatenate([[place / np.pi], 2.0 * np.sin(order * place) / (order * np.pi)])
    angle = np.pi / (_FILTER_DEGREE + 2)
    index = np.arange(_FILTER_DEGREE + 1)
    damping = (
        (_FILTER_DEGREE + 2 - index) * np.cos(angle * index) + np.sin(angle * index) / np.tan(angle)
    ) / (_FILTER_DEGREE + 2)
    coefficients = (step * damping).astype(V.dtype)
    graph = Graph.of(N)
    before, now = V, graph.product(V)
    total = coefficients[0] * before + coefficients[1] * now
    for coefficient in coefficients[2:]:
        before, now = now, 2 * graph.product(now) - before
        total += coefficient * now
    return total


def _eigenvalue_behind(N: sp.csr_array, count: int, rng: np.random.Generator) -> float:
    """The value above which `count` eigenvalues lie, by stochastic Lanczos quadrature."""
    values, weights = [], []
    for _ in range(_PROBES):
        nodes, vectors = _quadrature(N, rng)
        values.append(nodes)
        weights.append(vectors[0] ** 2 * N.shape[0] / _PROBES)
    nodes, mass = np.concatenate(values), np.concatenate(weights)
    order = np.argsort(-nodes)
    behind = int(np.searchsorted(np.cumsum(mass[order]), count))
    return float(nodes[order][min(behind, len(nodes) - 1)])


def _quadrature(N: sp.csr_array, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and eigenvectors of the Lanczos matrix of a random start."""
    v = rng.standard_normal(N.shape[0])
    v /= np.linalg.norm(v)
    basis, diagonal, beside = [v], [], []
    for step in range(_LANCZOS_STEPS):
        w = N @ basis[-1]
        diagonal.append(float(w @ basis[-1]))
        for known in basis:
            w -= (w @ known) * known
        length = float(np.linalg.norm(w))
        if step == _LANCZOS_STEPS - 1 or length < 1e-12:
            break
        beside.append(length)
        basis.append(w / length)
    found = eigh_tridiagonal(np.array(diagonal), np.array(beside[: len(diagonal) - 1]))
    return np.asarray(found[0]), np.asarray(found[1])
