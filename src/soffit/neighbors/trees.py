"""Random trees: recursive halving of the points along random lines."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray

# Subtrees are grown in pieces of this many points, which fit into the cache.
_RANGE = 2**14
_MOST_RANGES = 64
# The largest prime below 2**64: powers of two modulo it separate the random numbers of levels.
_PRIME = 2**64 - 59


@dataclass(frozen=True, eq=False)
class Tree:
    """Points in the order of the leaves, bounds of the leaves, and the planes of the nodes."""

    order: IntArray
    bounds: IntArray
    normals: FloatArray
    offsets: FloatArray


def grow_tree(
    points: FloatArray, leaf: int, seed: int, n_jobs: int | None, *, keep_planes: bool = False
) -> Tree:
    """A tree whose leaves have about `leaf` points, within a factor of the square root of two."""
    from soffit.neighbors.kernels import grow

    n, d = points.shape
    depth = max(round(np.log2(n / leaf)), 0)
    n_kept = 2**depth - 1 if keep_planes else 0
    normals = np.zeros((n_kept, d), dtype=np.float32)
    offsets = np.zeros(n_kept, dtype=np.float32)
    order = np.arange(n, dtype=np.int32)
    heights = np.empty(n, dtype=np.float32)
    bounds = np.array([0, n], dtype=np.int64)
    state = np.uint64(0x9E3779B97F4A7C15 ^ (seed * 0x2545F491))

    def grow_level(node: int, steps: int) -> None:
        own = np.uint64((int(state) + pow(2, len(bounds), _PRIME) + node) % 2**64)
        # A stack of ranges to be halved; it never holds more than one per level, and one more.
        stack = np.empty((steps + 2, 4), dtype=np.int64)
        stack[0] = bounds[node], bounds[node + 1], len(bounds) - 2 + node, steps
        states = np.full(steps + 2, own, dtype=np.uint64)
        line = np.empty(d, dtype=np.float32)
        grow(points, order, heights, normals, offsets, stack, states, line)

    done = 0
    while done < depth:
        # The first halvings one level at a time, then whole subtrees.
        steps = 1 if n / (len(bounds) - 1) > 2 * _RANGE else depth - done
        each(partial(grow_level, steps=steps), range(len(bounds) - 1), n_jobs)
        for _ in range(steps):
            middle = (bounds[:-1] + bounds[1:]) // 2
            bounds = np.sort(np.concatenate([bounds, middle]))
        done += steps
    return Tree(order, bounds, normals, offsets)


def ranges(n: int) -> list[range]:
    """Ranges of points for threads: few enough that each may have a mark for every point."""
    return pieces(n, max(_RANGE, -(-n // _MOST_RANGES)))


def ranges_of_leaves(bounds: IntArray) -> list[range]:
    """Ranges of leaves, by their number of points."""
    n_leaves, n = len(bounds) - 1, int(bounds[-1])
    return pieces(n_leaves, max(_RANGE * n_leaves // n, -(-n_leaves // _MOST_RANGES), 1))
