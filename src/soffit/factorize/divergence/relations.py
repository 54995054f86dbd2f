"""A graph's weights for expectation-maximisation: one E step over stored pairs only."""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, n_threads, row_blocks
from soffit._typing import FloatArray, Matrix
from soffit.graph import Graph

# A pair fitted at less than this share of its weight is not explained by any cluster.
UNEXPLAINED = 1e-30
# Rows of a dense matrix processed at once.
_BLOCK = 128
# Graphs with more objects are large: a row uses only the few clusters it may belong to.
_LARGE = 40_000
# Number of multiplications below which a second thread does not pay.
_SMALL = 2**19


class Relations(Protocol):
    """Pair weights scaled to degrees of about one, and the EM step on them."""

    unit: float  # Divisor of the weights.
    degrees: FloatArray  # (n,): row sums.
    total: float  # Sum of all weights.
    entropy: float  # Sum of w log w.

    def step(self, B: FloatArray, H: FloatArray) -> tuple[FloatArray, float]:
        """Ratios (W / BH') H for the next B, and the likelihood sum w log BH'."""
        ...


def is_large(A: Matrix) -> bool:
    """Whether a graph has so many objects that its rows should use few clusters."""
    graph = Graph.of(A)
    return graph.is_sparse and graph.n > _LARGE


def read_relations(A: Matrix) -> Relations:
    """The weights of a symmetric matrix in either storage."""
    graph = Graph.of(A)
    return Edges(graph.matrix) if graph.is_sparse else _Blocks(np.ascontiguousarray(A))


class Edges:
    """CSR storage: a compiled loop over the edges, with rows split among threads."""

    def __init__(self, A: sp.csr_array) -> None:
        self.unit, self.degrees = _unit_and_degrees(A)
        self.total = float(self.degrees.sum())
        data = A.data if self.unit == 1 else A.data / A.dtype.type(self.unit)
        self.graph = (A.indptr, A.indices, data)
        self.entropy = entropy_of_weights(data)

    def step(self, B: FloatArray, H: FloatArray) -> tuple[FloatArray, float]:
        """One update of B (eq. 3 and 4 in one), and the divergence before it."""
        from soffit.factorize.divergence.kernels import edge_ratios

        n, m = B.shape
        ratios, terms = np.empty_like(B), np.empty(n)
        indptr, _, data = self.graph
        threads = n_threads() if len(data) * m > _SMALL else 1
        # Four pieces per thread balance the load. A row does not depend on its piece.
        cuts = np.linspace(0, len(data), 4 * threads + 1)[1:-1]
        places = [0, *np.searchsorted(indptr, cuts).tolist(), n]

        def rows(first: int, last: int) -> None:
            edge_ratios(*self.graph, B, H, first, last, UNEXPLAINED, ratios, terms)

        each(lambda piece: rows(*piece), pairwise(places), threads)
        return ratios, float(terms.sum())


class _Blocks:
    """Dense storage: products by BLAS for a block of rows at a time."""

    def __init__(self, A: FloatArray) -> None:
        self.unit, self.degrees = _unit_and_degrees(A)
        self.total = float(self.degrees.sum())
        self._A = A / A.dtype.type(self.unit)
        self.entropy = sum(entropy_of_weights(self._A[rows]) for rows in row_blocks(A.shape))

    def step(self, B: FloatArray, H: FloatArray) -> tuple[FloatArray, float]:
        from soffit.factorize.divergence.kernels import dense_shares

        n = len(B)
        ratios, terms = np.empty_like(B), np.empty(n)

        def block(first: int) -> None:
            rows = slice(first, min(first + _BLOCK, n))
            Q = B[rows] @ H.T
            dense_shares(self._A[rows], first, UNEXPLAINED, Q, terms)
            np.matmul(Q, H, out=ratios[rows])

        each(block, range(0, n, _BLOCK), n_threads() if self._A.size > _SMALL else 1)
        return ratios, float(terms.sum())


def _unit_and_degrees(A: Matrix) -> tuple[float, FloatArray]:
    degrees = Graph.of(A).degrees()
    unit = unit_of(float(degrees.mean()))
    return unit, degrees / unit


def unit_of(mean_degree: float) -> float:
    """What weights are divided by: a power of two, so that division is exact."""
    return float(2.0 ** np.round(np.log2(mean_degree))) if mean_degree > 0 else 1.0


def entropy_of_weights(weights: FloatArray) -> float:
    """Sum of w log w."""
    total = 0.0
    for block in row_blocks((weights.size, 1)):
        part = weights.ravel()[block]
        positive = np.asarray(part[part > 0], dtype=np.float64)
        total += float(positive @ np.log(positive))
    return total
