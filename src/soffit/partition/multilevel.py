"""Coarser graphs, and eigenvectors computed with them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.graph import Graph, row_numbers
from soffit.normalize import degree
from soffit.partition.eigenvectors import leading_eigenvectors

# Pairing continues as long as it removes at least this share of the nodes.
_LEAST_REMOVED = 0.1
# Two pairings make one level: about a quarter of the nodes are left.
_PAIRINGS = 2
# Groups whose rows one thread joins at a time: few pieces, each needs a mark for every group.
_MOST_PIECES = 32
_GROUPS = 2**12


def coarser_graphs(
    A: sp.csr_array, n_nodes: int, *, pairings: int = _PAIRINGS
) -> tuple[list[sp.csr_array], list[IntArray]]:
    """The graph and coarser ones; and for each but the last, the coarse node of every node."""
    levels, groups = [A], []
    while levels[-1].shape[0] > n_nodes:
        coarse = levels[-1]
        group: IntArray = np.arange(coarse.shape[0])
        for _ in range(pairings):
            pairs, coarse = _paired(coarse)
            group = pairs[group]
        if coarse.shape[0] > (1 - _LEAST_REMOVED) * levels[-1].shape[0]:
            break
        levels.append(coarse)
        groups.append(group)
    return levels, groups


class CoarseGraph(NamedTuple):
    """A graph whose nodes represent several objects, and the node of every object."""

    matrix: sp.csr_array
    node: IntArray

    @property
    def sizes(self) -> FloatArray:
        """Number of objects per node."""
        return np.bincount(self.node).astype(np.float64)


def coarse_graph(A: sp.csr_array, n_nodes: int, *, pairings: int = _PAIRINGS) -> CoarseGraph:
    """A graph of at most about `n_nodes` nodes, made by pairing nodes along their edges.

    With one pairing per level it has more than about half as many, with two about a quarter.
    """
    levels, groups = coarser_graphs(A, n_nodes, pairings=pairings)
    group: IntArray = np.arange(A.shape[0])
    for coarser in groups:
        group = coarser[group]
    return CoarseGraph(levels[-1], group)


def _paired(A: sp.csr_array) -> tuple[IntArray, sp.csr_array]:
    """Pairs of nodes, and the graph of their total weights (inner weights on the diagonal)."""
    from soffit.partition.kernels import join_rows, pair_nodes

    n, graph = A.shape[0], Graph(A)
    edges = graph.edges()
    inverse = 1.0 / np.sqrt(np.maximum(graph.degrees(), np.finfo(np.float64).tiny))
    group = np.full(n, -1, dtype=np.int32)
    count = pair_nodes(*edges, inverse, group)
    # The nodes of each group, in ascending order.
    there = np.ones(n, dtype=np.int8)
    nodes = sp.csr_array((there, (group, np.arange(n, dtype=np.int32))), shape=(count, n))
    begins, members = nodes.indptr.astype(np.int32), nodes.indices.astype(np.int32)
    degrees = np.diff(A.indptr)[members]

    def join(part: range) -> tuple[IntArray, IntArray, FloatArray]:
        room = int(degrees[begins[part.start] : begins[part.stop]].sum())
        place = np.full(count, -1, dtype=np.int32)
        lengths = np.empty(len(part), dtype=np.int32)
        columns, weights = np.empty(room, dtype=np.int32), np.empty(room)
        total = join_rows(
            *edges, group, begins, members, part.start, part.stop, place, lengths, columns, weights
        )
        return lengths, columns[:total], weights[:total].astype(A.dtype, copy=False)

    parts = each(join, pieces(count, max(_GROUPS, -(-count // _MOST_PIECES))))
    lengths = np.concatenate([part[0] for part in parts])
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(edges[0].dtype)
    columns = np.concatenate([part[1] for part in parts])
    weights = np.concatenate([part[2] for part in parts])
    joined = sp.csr_array((weights, columns, indptr), shape=(count, count))
    # The graph is symmetric, and the transpose has its columns in order.
    sorted_ = joined.tocsc()
    return group, sp.csr_array(
        (sorted_.data, sorted_.indices, sorted_.indptr), shape=(count, count)
    )


# Graphs of at most this many nodes are decomposed directly.
_COARSEST = 600
_DEGREE = 20
# Above this, the components that a filter amplifies least are lost to rounding.
_MOST_AMPLIFIED = 1e3
# Filters are repeated while they lower the sum of 1 - eigenvalue by this share.
_GAIN = 0.1
_MOST_FILTERS = 2
# Residuals up to this share of 1 - eigenvalue are accurate enough for a partition.
_ACCURATE = 0.3
# The smallest distance from 1 that counts, and the smallest in units of rounding.
_SMALLEST_GAP, _ROUNDINGS = 1e-6, 100.0
# Residuals up to this share of the gap after the clusters leave their span accurate.
_SHARE_OF_GAP = 0.05
# Tolerance for the products of the columns of an orthonormal basis.
_ORTHONORMAL = 1e-9


def multilevel_eigenvectors(
    A: sp.csr_array, n_vectors: int, *, random_state: int = 0
) -> tuple[FloatArray, FloatArray]:
    """The largest eigenvalues (descending) of the degree-normalized A, and their eigenvectors.

    Approximate: accurate to a few per cent of each eigenvalue's distance from 1, which is
    sufficient for a partition. No node may be isolated.
    """
    levels, groups = coarser_graphs(A, max(_COARSEST, 4 * n_vectors))
    coarsest = degree(levels[-1]).matrix
    values, V = leading_eigenvectors(coarsest, n_vectors, random_state=random_state)
    for A_fine, A_coarse, group in zip(levels[-2::-1], levels[:0:-1], groups[::-1], strict=True):
        root = np.sqrt(Graph.of(A_fine).degrees() / Graph.of(A_coarse).degrees()[group])
        N = Graph.of(degree(A_fine).matrix)
        values, V = _improved(N, np.asarray(root[:, None] * V[group], dtype=A.dtype))
    return values, V


def are_accurate(N: Matrix, values: FloatArray, V: FloatArray) -> bool:
    """Whether the residual of every vector is small against its eigenvalue's distance from 1."""
    residuals = np.linalg.norm(Graph.of(N).product(V) - V * values.astype(V.dtype), axis=0)
    # Eigenvalues of 1, one per component, have no distance, and residuals at rounding level.
    smallest = max(_SMALLEST_GAP, _ROUNDINGS * float(np.finfo(V.dtype).eps))
    return bool(np.all(residuals <= _ACCURATE * np.maximum(1.0 - values, smallest)))


def has_accurate_span(N: Matrix, values: FloatArray, V: FloatArray, k: int) -> bool:
    """Whether the first k vectors span what the first k eigenvectors do.

    The sine of the angle between both is at most the residual over the gap after the k eigenvalues.
    Partitions depend on the span only, so that vectors of nearly equal eigenvalues may be mixed.
    """
    if len(values) <= k:
        return False
    first = V[:, :k]
    residuals = np.linalg.norm(
        Graph.of(N).product(first) - first * values[:k].astype(V.dtype), axis=0
    )
    return bool(residuals.max() <= _SHARE_OF_GAP * (values[k - 1] - values[k]))


def _improved(N: Graph, V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Filters and Rayleigh-Ritz steps until the gain is small."""
    values, V = _rayleigh_ritz(N, V)
    for _ in range(_MOST_FILTERS):
        before = np.sum(1.0 - values)
        values, V = _rayleigh_ritz(N, _filtered(N, V, float(values[-1])))
        if before - np.sum(1.0 - values) < _GAIN * before:
            break
    return values, V


def _filtered(N: Graph, V: FloatArray, cut: float) -> FloatArray:
    """A Chebyshev polynomial of N times V: small on [-1, cut], growing fast above."""
    center, half = 0.5 * (cut - 1.0), max(0.5 * (cut + 1.0), 1e-3)
    steepness = float(np.arccosh(max((1.0 - center) / half, 1.0 + 1e-12)))
    degree = min(_DEGREE, max(int(np.arccosh(_MOST_AMPLIFIED) / steepness), 1))
    shift, scale = V.dtype.type(center), V.dtype.type(1.0 / half)
    earlier, current = V, scale * (N.product(V) - shift * V)
    for _ in range(degree - 1):
        following = N.product(current) - shift * current
        following *= 2 * scale
        following -= earlier
        earlier, current = current, following
    return current


def _rayleigh_ritz(N: Graph, V: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The best approximate eigenvectors in the span of V's columns."""
    Q = _orthonormal(V)
    H = np.asarray(Q.T @ N.product(Q), dtype=np.float64)
    values, turn = np.linalg.eigh((H + H.T) / 2)
    return values[::-1], np.asarray(Q @ turn[:, ::-1].astype(V.dtype))


def _orthonormal(V: FloatArray) -> FloatArray:
    """An orthonormal basis of the column span, in the precision of V.

    By Cholesky factorization of their Gram matrix, repeated if rounding left too much: matrix
    products are several times faster than Householder reflections, which handle nearly collinear
    columns.
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


# Tolerance and restarts of the search for regularized vectors.
_TOL = 1e-4
_MOST_RESTARTS = 100


def regularized_eigenvectors(
    A: sp.csr_array,
    sizes: FloatArray,
    n_vectors: int,
    *,
    random_state: int = 0,
    near: FloatArray | None = None,
    n_clusters: int = 1,
) -> FloatArray | None:
    """Leading eigenvectors of the graph with raised degrees; None if they do not converge soon.

    `A` (n, n): a coarse graph; its diagonal is left out.
    `sizes` (n,): number of objects per node: every object's degree is raised alike.
    `n_vectors`: number of eigenvectors.
    `random_state`: seed of the start.
    `near` (n, n_vectors): other vectors of the same graph, whose span is near that of the
        regularized ones, as it is unless they describe outliers. They are improved, which takes a
        fraction of the time. If this does not find the first `n_clusters` vectors accurately, the
        search starts afresh.
    `n_clusters`: number of vectors that separate clusters.
    """
    n = A.shape[0]
    degrees = Graph.of(A).degrees() - A.diagonal()
    raised = degrees + degrees.sum() / sizes.sum() * sizes
    root = 1.0 / np.sqrt(np.maximum(raised, np.finfo(np.float64).tiny))
    rows = row_numbers(A)
    weights = np.where(rows == A.indices, 0.0, A.data * root[rows] * root[A.indices])
    N = sp.csr_array((weights.astype(A.dtype), A.indices, A.indptr), shape=A.shape)
    if near is not None:
        values, V = _improved(Graph.of(N), near)
        if has_accurate_span(N, values, V, n_clusters):
            return V[:, :n_vectors]
    start = np.random.default_rng(random_state).uniform(0.5, 1.0, n).astype(A.dtype)
    width = min(2 * n_vectors + 20, n)
    try:
        values, V = eigsh(
            N, n_vectors, which="LA", v0=start, ncv=width, tol=_TOL, maxiter=_MOST_RESTARTS
        )
    except ArpackNoConvergence:
        return None
    return np.asarray(V[:, np.argsort(-values, kind="stable")])
