"""Positions of objects: principal components, graph layouts or memberships."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from soffit._threads import one_blas_thread
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.factorize import leading_eigenvectors
from soffit.graph import as_array, reciprocal, row_numbers, without_diagonal
from soffit.memberships.measures import largest
from soffit.normalize import degree

# With more columns than this, only products with vectors are computed, not covariances.
_FEW_COLUMNS = 400


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """Two principal axes: `points` (n, 2), `loadings` (2, p), `shares` of the variance (2,)."""

    points: FloatArray
    loadings: FloatArray
    shares: FloatArray


def principal_components(table: Matrix) -> FloatArray:
    """Coordinates of the rows on the first two principal axes, (n, 2), centred.

    A table of lower rank has zeros in the second column. Signs are scikit-learn's.
    """
    return principal_axes(table).points


def principal_axes(table: Matrix) -> PrincipalAxes:
    """The first two principal axes; those without variance are zero."""
    from sklearn.decomposition import PCA

    n, p = table.shape
    points, loadings, shares = np.zeros((n, 2)), np.zeros((2, p)), np.zeros(2)
    if abs(table.max(axis=0) - table.min(axis=0)).sum() == 0:
        return PrincipalAxes(points, loadings, shares)
    # Correcting covariances of a sparse table for its means would lose digits.
    dense = not is_sparse(table)
    covariances = dense and p <= _FEW_COLUMNS
    centred = table - table.mean(axis=0) if dense else table
    solver = "covariance_eigh" if covariances else "arpack"
    most = min(n - 1, p if covariances else p - 1)
    with one_blas_thread():
        found = PCA(min(2, most), svd_solver=solver, tol=1e-4, random_state=0)
        points[:, : min(2, most)] = found.fit_transform(centred)
    loadings[: found.n_components_] = found.components_
    shares[: found.n_components_] = found.explained_variance_ratio_
    # A direction without variance, up to rounding, is set to zero.
    spread = np.abs(points).max(axis=0)
    flat = spread <= 1e-9 * spread.max()
    points[:, flat], loadings[flat], shares[flat] = 0.0, 0.0, 0.0
    return PrincipalAxes(points, loadings, shares)


# Radius of the disc over which objects with the same memberships are spread, in distances of
# neighbouring clusters.
_DISC = 0.28


def membership_map(memberships: FloatArray) -> FloatArray:
    """Points of the objects, (n, 2): means of the cluster positions, weighted by memberships.

    Clusters that share objects are neighbours on the circle. Objects of one cluster would coincide;
    they are spread over a disc, like the seeds of a sunflower, with the most certain ones at its
    centre.
    """
    k = memberships.shape[1]
    anchors, disc = cluster_places(memberships)
    labels, certainty = largest(memberships)
    order = np.lexsort((-certainty, labels))
    sizes = np.bincount(labels, minlength=k)
    rank, directions = sunflower(order, sizes)
    seeds = disc * np.sqrt((rank + 0.5) / sizes.max())[:, None] * directions
    return np.asarray(memberships @ anchors + seeds, dtype=np.float64)


def sunflower(order: IntArray, sizes: IntArray) -> tuple[FloatArray, FloatArray]:
    """Ranks of objects, ordered by groups of these sizes, in their group, and where each goes."""
    rank = np.empty(len(order))
    rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    turn = rank * np.pi * (3.0 - np.sqrt(5.0))
    return rank, np.column_stack([np.cos(turn), np.sin(turn)])


def cluster_places(memberships: FloatArray) -> tuple[FloatArray, float]:
    """Positions of the clusters on the unit circle, (k, 2), and the radius of their discs."""
    k = memberships.shape[1]
    anchors = np.zeros((k, 2))
    if k == 1:
        return anchors, _DISC
    angles = 2 * np.pi * np.arange(k) / k + np.pi / 2
    anchors[_round_trip(memberships)] = np.column_stack([np.cos(angles), np.sin(angles)])
    return anchors, _DISC * 2 * np.sin(np.pi / k)


def _round_trip(memberships: FloatArray) -> IntArray:
    """Clusters in an order in which each is followed by the one it shares most with."""
    shared = as_array(memberships.T @ memberships).astype(np.float64, copy=False)
    np.fill_diagonal(shared, -1.0)
    trip = [int(shared.max(axis=1).argmax())]
    left = set(range(len(shared))) - set(trip)
    while left:
        following = max(sorted(left), key=lambda c: shared[trip[-1], c])
        trip.append(following)
        left.remove(following)
    return np.array(trip)


# Steps of small and of large graphs, which take longer.
_STEPS, _FEWER_STEPS, _LARGE = 200, 80, 4000
_SEED = 20150125
# Number of objects that repel each object in a step.
_OTHERS = 5
# Radius of the circle of initial cluster positions; the usual length of a link is one.
_RADIUS = 8.0
# The largest displacement of an object in a step.
_FARTHEST = 4.0
# Links per object that are used in a dense matrix.
_MOST_LINKS = 15
# Eigenvectors beyond the number of clusters, which describe the structure within clusters.
_INNER_VECTORS = 6


def graph_map(A: Matrix, memberships: FloatArray) -> FloatArray:
    """Points of the objects, (n, 2), from their links.

    Clusters start on a circle, and their objects at positions from eigenvectors of the graph. Then
    each object moves in small steps towards linked objects and away from a few random ones, with
    forces that decrease with the distance (those of L. McInnes et al., 2018, UMAP, with
    a = b = 1).
    """
    n = memberships.shape[0]
    ties = graph_links(A)
    if n < 3 or ties.nnz == 0:
        return membership_map(memberships)
    points = _RADIUS * _start(ties, memberships)
    P = _shares(ties)
    rows = row_numbers(P)
    rng = np.random.default_rng(_SEED)
    n_steps = _STEPS if n <= _LARGE else _FEWER_STEPS
    for step in range(n_steps):
        apart = points[P.indices] - points[rows]
        weight = 2.0 * P.data / (1.0 + np.einsum("ij,ij->i", apart, apart))
        force = np.zeros((n, 2))
        for axis in (0, 1):
            force[:, axis] = np.bincount(rows, weight * apart[:, axis], n)
        for other in rng.integers(n, size=(_OTHERS, n)):
            force += _push(points - points[other])
        points += (1.0 - step / n_steps) * np.clip(force, -_FARTHEST, _FARTHEST)
    return np.asarray(points - points.mean(axis=0))


# Graphs up to this size are laid out by the distances between all pairs of nodes.
SMALL_GRAPH = 600
_STRESS_STEPS = 150


def stress_map(A: Matrix, start: FloatArray) -> FloatArray:
    """Points of the nodes of a small graph whose distances are those along the links.

    Minimizes the stress of E. Gansner, Y. Koren and S. North (2004), with weights of the inverse
    squared distance, by majorization. Parts without links between them are kept apart. The longer
    axis lies across.
    """
    from scipy.sparse.csgraph import shortest_path

    links = graph_links(A)
    distance = shortest_path(links, directed=False, unweighted=True)
    reached = np.isfinite(distance)
    distance[~reached] = distance[reached].max() * 1.3 + 1.0
    # Strong links are a little shorter than weak ones.
    strength = links.copy()
    strength.data = 1.0 - 0.3 * strength.data / strength.data.max()
    edges = strength.tocoo()
    distance[edges.row, edges.col] = edges.data
    np.fill_diagonal(distance, 1.0)
    weight = distance**-2
    np.fill_diagonal(weight, 0.0)
    points = np.array(start, dtype=np.float64)
    points *= np.sqrt((distance**2).mean() / max(2 * points.var(axis=0).sum(), 1e-12))
    total = weight.sum(axis=1, keepdims=True)
    for _ in range(_STRESS_STEPS):
        apart = points[:, np.newaxis] - points
        length = np.sqrt((apart**2).sum(axis=2))
        pull = weight * distance / np.where(length > 1e-9, length, 1.0)
        np.fill_diagonal(pull, 0.0)
        step = weight @ points + (pull[:, :, np.newaxis] * apart).sum(axis=1)
        points = step / np.where(total > 0, total, 1.0)
    return principal_components(points)


def _push(away: FloatArray) -> FloatArray:
    square = np.einsum("ij,ij->i", away, away)
    strength = 2.0 / ((0.01 + square) * (1.0 + square))
    return np.clip(strength[:, None] * away, -_FARTHEST, _FARTHEST)


def _start(ties: sp.csr_array, memberships: FloatArray) -> FloatArray:
    """Positions of the clusters and, around them, of their objects by graph eigenvectors."""
    n, k = memberships.shape
    walk = walk_vectors(ties, k + _INNER_VECTORS)
    anchors, radius = cluster_places(memberships)
    labels = largest(memberships)[0]
    points = np.asarray(memberships @ anchors, dtype=np.float64)
    for cluster in np.unique(labels):
        members = np.flatnonzero(labels == cluster)
        inside = principal_components(walk[members])
        # Ranks prevent a few outliers from compressing all others.
        for axis in range(2 if len(members) > 1 else 0):
            rank = np.argsort(np.argsort(inside[:, axis], kind="stable"), kind="stable")
            share = np.sqrt(len(members) * k / n)
            points[members, axis] += radius * share * (2.0 * rank / (len(members) - 1) - 1.0)
    return points


def walk_vectors(links: sp.csr_array, count: int) -> FloatArray:
    """The leading eigenvectors of the random walk on a graph, (n, count) or fewer."""
    with one_blas_thread():
        _, V = leading_eigenvectors(degree(links).matrix, min(count, links.shape[0] - 1))
    degrees = np.asarray(links.sum(axis=1)).ravel()
    root = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    return np.asarray(V, dtype=np.float64) / root[:, None]


def graph_links(A: Matrix) -> sp.csr_array:
    """Strengths of links; for a dense matrix, the strongest ones per object."""
    ties = without_diagonal(A)
    if not sp.issparse(ties):
        ties = _strongest(ties)
    ties = sp.csr_array(abs(ties), dtype=np.float64)
    ties.eliminate_zeros()
    return ties


def _shares(ties: sp.csr_array) -> sp.csr_array:
    """Links divided by their sums per object."""
    sums = np.asarray(ties.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(reciprocal(sums)) @ ties)


def _strongest(A: FloatArray) -> sp.csr_array:
    n = len(A)
    count = min(_MOST_LINKS, n)
    columns = np.argpartition(-A, count - 1, axis=1)[:, :count]
    values = np.maximum(np.take_along_axis(A, columns, axis=1), 0.0)
    rows = np.repeat(np.arange(n), count)
    half = sp.csr_array((values.ravel(), (rows, columns.ravel())), shape=(n, n))
    return sp.csr_array(half.maximum(half.T))
