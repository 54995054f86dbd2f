"""Random trees, level by level."""

import numpy as np
import pytest

from soffit.neighbors.approximate import grow_tree


@pytest.mark.parametrize("piece", [2, 2**14])
def test_leaves_hold_every_point_once_however_many_levels_are_grown_singly(piece, limits):
    # Ten million points have hundreds of nodes before whole subtrees are grown.
    limits(approximate_range=piece)
    points = np.random.default_rng(6043).normal(size=(5000, 4)).astype(np.float32)
    tree = grow_tree(points, 4, 1, None)
    assert np.array_equal(np.sort(tree.order), np.arange(5000))
    assert tree.bounds[0] == 0
    assert tree.bounds[-1] == 5000
    sizes = np.diff(tree.bounds)
    # Between two numbers of levels, the one whose leaves are nearer to what is asked for.
    assert sizes.min() >= 4
    assert sizes.max() <= 5


def test_leaves_are_near(limits):
    limits(approximate_range=2)
    points = np.random.default_rng(6047).normal(size=(4000, 2)).astype(np.float32)
    tree = grow_tree(points, 8, 2, None)
    spreads = [
        points[tree.order[first:last]].std(axis=0).mean()
        for first, last in zip(tree.bounds[:-1], tree.bounds[1:], strict=True)
    ]
    assert np.mean(spreads) < 0.2 * points.std()
