"""Data sets, graphs, labels and pairs that the benchmarks draw."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets import Dataset, load
from soffit.affinity import NeighborGraph


class MissingSetError(Exception):
    """A set that is neither in the data folder nor to be had from elsewhere."""


@cache
def read(name: str) -> Dataset:
    try:
        return load(name)
    except ValueError as error:
        raise MissingSetError(f"no data set {name!r}") from error


def digits() -> tuple[Any, Any]:
    """USPS digits 1 to 4."""
    dataset = read("usps")
    chosen = np.isin(dataset.labels[0], [1, 2, 3, 4])
    return dataset.X[chosen], dataset.labels[0][chosen]


def binary_graph(X: Any, metric: str = "euclidean") -> Any:
    """The published graph: ten neighbours, kept if either lists the other, without weights."""
    graph = NeighborGraph(10, metric=metric, keep="union", weights="binary", connect=False)
    return graph.fit(X).matrix_


def planted_graph(n: int, n_blocks: int, seed: int) -> tuple[Any, Any]:
    """A random graph: on average 18 neighbours in an object's own block and 2 in others."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_blocks
    ends = rng.integers(0, n // n_blocks, (9 * n, 2)) * n_blocks + labels[:, None].repeat(9, 0)
    across = rng.integers(0, n, (3 * n, 2))
    across = across[labels[across[:, 0]] != labels[across[:, 1]]][:n]
    ends = np.concatenate([ends, across])
    ends = ends[ends[:, 0] != ends[:, 1]]
    A = sp.coo_array((np.ones(len(ends)), ends.T), shape=(n, n)).tocsr()
    A = sp.csr_array(A + A.T)
    A.data[:] = 1.0
    return A, labels


def few_labels(labels: Any, per_class: int, seed: int) -> Any:
    """Labels of a few objects of every class, -1 for all others."""
    rng = np.random.default_rng(seed)
    y = np.full(len(labels), -1)
    for c in np.unique(labels):
        y[rng.choice(np.flatnonzero(labels == c), per_class, replace=False)] = c
    return y


def random_pairs(y: Any, pool: Any, count: int, rng: np.random.Generator) -> dict[str, Any]:
    """Pairs among the pool, as `fit` takes them."""
    first, second = np.triu_indices(len(pool), 1)
    chosen = rng.choice(len(first), count, replace=False)
    pairs = np.column_stack([pool[first[chosen]], pool[second[chosen]]])
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}
