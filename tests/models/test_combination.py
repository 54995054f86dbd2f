"""Parts of four papers in one line: neighbour graph, random walk, Sinkhorn, simplex rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.datasets import load
from soffit import BaumEagon
from soffit.affinity import NeighborGraph, walk_affinity
from soffit.metrics import accuracy
from soffit.normalize import normalize

every_set = pytest.mark.parametrize("number", range(1, 7))


def combined(X: Any, n_clusters: int, *, steps: int = 32, **options: Any) -> BaumEagon:
    """Locally scaled graph, `steps` steps, doubly stochastic, rows on the simplex with alpha."""
    graph = NeighborGraph(10, keep="union", weights="local", connect=False).fit(X)
    # An even number of steps has a positive diagonal, so that Sinkhorn's scaling exists.
    walked = walk_affinity(graph.matrix_, steps)
    doubly_stochastic = normalize(walked, "sinkhorn").matrix
    return BaumEagon(n_clusters, affinity="precomputed", **options).fit(doubly_stochastic)


@every_set
@pytest.mark.parametrize("solver", ["rows", "gradient"])
@pytest.mark.parametrize("seed", [29, 31, 37])
def test_every_start_solves_every_set(data_home: Any, number: int, solver: str, seed: int) -> None:
    points = load(f"zp{number}", home=data_home)
    labels = points.labels[0]
    model = combined(points.X, len(np.unique(labels)), solver=solver, random_state=seed)
    assert accuracy(labels, model.labels_) >= 0.99


def test_two_steps_do_not(data_home: Any) -> None:
    rings = load("zp1", home=data_home)
    model = combined(rings.X, 3, steps=2, random_state=29)
    assert accuracy(rings.labels[0], model.labels_) <= 0.95
