"""A map of the objects of a graph: linked ones attract each other, all others keep a distance."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from soffit._typing import FloatArray, Matrix
from soffit.affinity._trim import without_diagonal
from soffit.factorize import leading_eigenvectors
from soffit.figures._membership_map import cluster_places, membership_map
from soffit.figures._principal import principal_components
from soffit.normalize import normalize

# Steps of small and of large graphs, which take longer.
_STEPS, _FEWER_STEPS, _LARGE = 200, 80, 4000
_SEED = 20150125
# Others that each object keeps away from in a step.
_OTHERS = 5
# Radius of the circle on which the clusters begin; a link's usual length is one.
_RADIUS = 8.0
# No force moves an object farther than this in a step.
_FARTHEST = 4.0
# Links of an object that count in a dense matrix.
_MOST_LINKS = 15
# Eigenvectors beyond the number of clusters, which describe what lies inside of them.
_INNER_VECTORS = 6


def graph_map(A: Matrix, memberships: FloatArray) -> FloatArray:
    """Points of the objects, (n, 2), from their links.

    Clusters begin on a circle, their objects where eigenvectors of the graph put them. Then each
    object moves in small steps towards those it is linked to, and away from a few others drawn at
    random, with forces that fade with the distance (those of L. McInnes et al., 2018, UMAP, with
    a = b = 1).
    """
    n = len(memberships)
    ties = _links(A)
    if n < 3 or ties.nnz == 0:
        return membership_map(memberships)
    points = _RADIUS * _start(ties, memberships)
    P = _shares(ties)
    rows = np.repeat(np.arange(n), np.diff(P.indptr))
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


def _push(away: FloatArray) -> FloatArray:
    square = np.einsum("ij,ij->i", away, away)
    strength = 2.0 / ((0.01 + square) * (1.0 + square))
    return np.clip(strength[:, None] * away, -_FARTHEST, _FARTHEST)


def _start(ties: sp.csr_array, memberships: FloatArray) -> FloatArray:
    """The clusters' places and, around them, their objects as the graph's eigenvectors see them."""
    n, k = memberships.shape
    with threadpool_limits(limits=1):
        wanted = min(k + _INNER_VECTORS, n - 1)
        _, V = leading_eigenvectors(normalize(ties, "degree").matrix, wanted)
    degrees = np.asarray(ties.sum(axis=1)).ravel()
    root = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    walk = np.asarray(V, dtype=np.float64) / root[:, None]
    anchors, radius = cluster_places(memberships)
    labels = memberships.argmax(axis=1)
    points = np.asarray(memberships @ anchors, dtype=np.float64)
    for cluster in np.unique(labels):
        members = np.flatnonzero(labels == cluster)
        inside = principal_components(walk[members])
        # Ranks keep a few outliers from pressing all others together.
        for axis in range(2 if len(members) > 1 else 0):
            rank = np.argsort(np.argsort(inside[:, axis], kind="stable"), kind="stable")
            share = np.sqrt(len(members) * k / n)
            points[members, axis] += radius * share * (2.0 * rank / (len(members) - 1) - 1.0)
    return points


def _links(A: Matrix) -> sp.csr_array:
    """Strengths of links; of a dense matrix the strongest ones of each object."""
    ties = without_diagonal(A)
    if not sp.issparse(ties):
        ties = _strongest(ties)
    ties = sp.csr_array(abs(ties), dtype=np.float64)
    ties.eliminate_zeros()
    return ties


def _shares(ties: sp.csr_array) -> sp.csr_array:
    """Links as shares of each object's."""
    sums = np.asarray(ties.sum(axis=1)).ravel()
    share = np.divide(1.0, sums, out=np.zeros_like(sums), where=sums > 0)
    return sp.csr_array(sp.diags_array(share) @ ties)


def _strongest(A: FloatArray) -> sp.csr_array:
    n = len(A)
    count = min(_MOST_LINKS, n)
    columns = np.argpartition(-A, count - 1, axis=1)[:, :count]
    values = np.maximum(np.take_along_axis(A, columns, axis=1), 0.0)
    rows = np.repeat(np.arange(n), count)
    half = sp.csr_array((values.ravel(), (rows, columns.ravel())), shape=(n, n))
    return sp.csr_array(half.maximum(half.T))
