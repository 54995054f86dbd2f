"""A map made from memberships alone: clusters lie on a circle, objects between them."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, IntArray

# Radius of the disc over which objects with the same memberships are spread, in distances of
# neighbouring clusters.
_DISC = 0.28
_GOLDEN_ANGLE = np.pi * (3.0 - np.sqrt(5.0))


def membership_map(memberships: FloatArray) -> FloatArray:
    """Points of the objects, (n, 2): means of the clusters' places, weighted by memberships.

    Clusters that share objects are neighbours on the circle. Objects of one cluster would lie on
    one another; they are spread over a disc, like the seeds of a sunflower, the most certain ones
    at its centre.
    """
    n, k = memberships.shape
    anchors, disc = cluster_places(memberships)
    labels, certainty = memberships.argmax(axis=1), memberships.max(axis=1)
    order = np.lexsort((-certainty, labels))
    sizes = np.bincount(labels, minlength=k)
    rank = np.empty(n)
    rank[order] = np.arange(n) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    radius = disc * np.sqrt((rank + 0.5) / sizes.max())
    turn = rank * _GOLDEN_ANGLE
    seeds = radius[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    return np.asarray(memberships @ anchors + seeds, dtype=np.float64)


def cluster_places(memberships: FloatArray) -> tuple[FloatArray, float]:
    """Places of the clusters on a circle of radius 1, (k, 2), and the radius of a disc for each."""
    k = memberships.shape[1]
    anchors = np.zeros((k, 2))
    if k == 1:
        return anchors, _DISC
    angles = 2 * np.pi * np.arange(k) / k + np.pi / 2
    anchors[_round_trip(memberships)] = np.column_stack([np.cos(angles), np.sin(angles)])
    return anchors, _DISC * 2 * np.sin(np.pi / k)


def _round_trip(memberships: FloatArray) -> IntArray:
    """Clusters in an order in which each is followed by the one it shares most with."""
    shared = np.asarray(memberships.T @ memberships, dtype=np.float64)
    np.fill_diagonal(shared, -1.0)
    trip = [int(shared.max(axis=1).argmax())]
    left = set(range(len(shared))) - set(trip)
    while left:
        following = max(sorted(left), key=lambda c: shared[trip[-1], c])
        trip.append(following)
        left.remove(following)
    return np.array(trip)
