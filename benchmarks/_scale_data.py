"""Data of scale.py: drawn from fixed seeds, in blocks, so that drawing needs little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer

SEED = 2027
BLOCK = 2**16
# Gaussian clusters: unit noise about centres with this standard deviation. The first hardly
# overlap (the rule that knows them is right in 999 of 1000 cases), the second do (928).
BLOB_COLUMNS, CENTRE_SPREAD, NARROW_SPREAD = 16, 1.5, 0.8
# Curved sheets: waves of so many frequencies in three coordinates, and noise in every column.
SHEET_COLUMNS, SHEET_DIMENSIONS, WAVES = 128, 3, 24
FREQUENCY, SHEET_NOISE = 2.0, 0.1
# Share of a planted partition's edges that lie inside a block.
INSIDE = 0.7


@dataclass(frozen=True, eq=False)
class Data:
    """Objects (a table, or a graph as CSR), their true clusters and the number of these."""

    X: Any
    labels: NDArray[np.integer]
    n_clusters: int
    # Accuracy of the rule that knows the distribution, on a sample.
    best: float | None = None

    @property
    def n_bytes(self) -> int:
        if sp.issparse(self.X):
            return int(self.X.data.nbytes + self.X.indices.nbytes + self.X.indptr.nbytes)
        return int(self.X.nbytes)

    @property
    def is_graph(self) -> bool:
        return sp.issparse(self.X)


def draw(name: str, n: int, k: int, *, part: int = 0) -> Data:
    """A set by name; other parts are new objects from the same clusters."""
    makers = {
        "blobs": blobs,
        "overlapping": overlapping,
        "sheets": sheets,
        "graph": planted_partition,
        "words": words,
    }
    return makers[name](n, k, part) if name in makers else labelled(name)


def blobs(n: int, k: int, part: int = 0, spread: float = CENTRE_SPREAD) -> Data:
    centres = np.random.default_rng(SEED).normal(0.0, spread, (k, BLOB_COLUMNS))
    centres = centres.astype(np.float32)
    random = np.random.default_rng([SEED, part])
    labels = random.integers(k, size=n, dtype=np.int32)
    X = np.empty((n, BLOB_COLUMNS), dtype=np.float32)
    for rows in _blocks(n):
        random.standard_normal(out=X[rows], dtype=np.float32)
        X[rows] += centres[labels[rows]]
    return Data(X, labels, k, best=_accuracy_of_nearest(X[:BLOCK], centres, labels[:BLOCK]))


def overlapping(n: int, k: int, part: int = 0) -> Data:
    return blobs(n, k, part, NARROW_SPREAD)


def _accuracy_of_nearest(X: Any, centres: Any, labels: Any) -> float:
    """Clusters are alike but for their centres: the nearest centre is the Bayes rule."""
    right = 0
    for rows in _blocks(len(X), BLOCK // 64):
        affinity = X[rows] @ centres.T - 0.5 * (centres * centres).sum(axis=1)
        right += int((affinity.argmax(axis=1) == labels[rows]).sum())
    return right / len(X)


def sheets(n: int, k: int, part: int = 0) -> Data:
    """Each cluster is a smooth random image of a cube; all of them bend through the same region."""
    maps = np.random.default_rng(SEED + 1)
    random = np.random.default_rng([SEED + 1, part])
    labels = random.integers(k, size=n, dtype=np.int32)
    X = np.empty((n, SHEET_COLUMNS), dtype=np.float32)
    for cluster in range(k):
        waves = maps.normal(0.0, FREQUENCY, (SHEET_DIMENSIONS, WAVES))
        phases = maps.uniform(0.0, 2.0 * np.pi, WAVES)
        heights = maps.normal(0.0, np.sqrt(2.0 / WAVES), (WAVES, SHEET_COLUMNS))
        members = np.flatnonzero(labels == cluster)
        for piece in _blocks(len(members), BLOCK // 16):
            inside = random.uniform(-1.0, 1.0, (len(members[piece]), SHEET_DIMENSIONS))
            X[members[piece]] = np.cos(inside @ waves + phases) @ heights
    for rows in _blocks(n, BLOCK // 16):
        X[rows] += SHEET_NOISE * random.standard_normal(X[rows].shape, dtype=np.float32)
    return Data(X, labels, k)


def words(n: int, k: int, part: int = 0, *, n_words: int = 768, length: int = 40) -> Data:
    """TF-IDF weights of texts: each topic prefers some words, and all share the frequent ones."""
    topics = np.random.default_rng(SEED + 4)
    random = np.random.default_rng([SEED + 4, part])
    common = topics.permutation(1.0 / np.arange(1, n_words + 1))
    labels = random.integers(k, size=n, dtype=np.int32)
    of_topic = common * topics.gamma(0.3, 1.0, (k, n_words))
    shares = 0.6 * of_topic / of_topic.sum(axis=1, keepdims=True) + 0.4 * common / common.sum()
    lengths = np.maximum(random.poisson(length, n), 8)
    rows = np.repeat(np.arange(n), lengths)
    drawn = np.empty(len(rows), dtype=np.int64)
    for topic in range(k):
        own = labels[rows] == topic
        drawn[own] = random.choice(n_words, size=int(own.sum()), p=shares[topic])
    counts = sp.csr_array((np.ones(len(rows)), (rows, drawn)), shape=(n, n_words))
    return Data(sp.csr_array(TfidfTransformer().fit_transform(counts)), labels, k)


def planted_partition(n: int, k: int, part: int = 0, *, degree: int = 20) -> Data:
    """Blocks of equal size in random order; n * degree / 2 edges, most of them inside blocks."""
    random = np.random.default_rng([SEED + 2, part])
    order = random.permutation(n).astype(np.int64)
    size = n // k
    n_edges = n * degree // 2
    # Some pairs come twice or meet themselves: a few more are drawn.
    n_drawn = int(1.01 * n_edges) + 10
    first = random.integers(size * k, size=n_drawn)
    second = random.integers(size * k, size=n_drawn)
    inside = random.random(n_drawn) < INSIDE
    second[inside] = first[inside] // size * size + second[inside] % size
    keys = np.unique(np.minimum(first, second) * n + np.maximum(first, second))
    low, high = keys // n, keys % n
    # Pairs of one block that were drawn as pairs of any two blocks are few, and stay.
    chosen = np.flatnonzero(low != high)
    if len(chosen) > n_edges:
        chosen = np.sort(random.choice(chosen, n_edges, replace=False))
    low, high = order[low[chosen]].astype(np.int32), order[high[chosen]].astype(np.int32)
    ends = np.concatenate([low, high]), np.concatenate([high, low])
    A = sp.csr_array((np.ones(2 * len(low), dtype=np.float32), ends), shape=(n, n))
    A.sort_indices()
    labels = np.empty(n, dtype=np.int32)
    labels[order] = np.minimum(np.arange(n) // size, k - 1)
    return Data(A, labels, k)


def labelled(name: str) -> Data:
    """A real set, as `benchmarks.datasets` reads it, in one unit for all methods."""
    from benchmarks._prepared import prepared
    from benchmarks.datasets import load

    dataset = load(name)
    return Data(prepared(np.asarray(dataset.X)), dataset.labels[0], dataset.n_classes[0])


def sweep_graph(n: int, k: int) -> tuple[sp.csr_array, NDArray[np.integer]]:
    """Like a graph of 15 neighbours after reordering: ties lie near the diagonal, a few far off."""
    random = np.random.default_rng(SEED + 3)
    rows = np.repeat(np.arange(n, dtype=np.int32), 8)
    steps = 1 + random.geometric(0.01, size=len(rows)).astype(np.int32)
    columns = (rows + steps) % n
    far = np.flatnonzero(random.random(len(rows)) < 0.02)
    columns[far] = random.integers(n, size=len(far), dtype=np.int32)
    weights = random.uniform(0.5, 1.0, len(rows)).astype(np.float32)
    half = sp.csr_array((weights, (rows, columns)), shape=(n, n))
    A = sp.csr_array(half.maximum(half.T))
    A.setdiag(0.0)
    A.eliminate_zeros()
    return A, np.arange(n) * k // n


def _blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
    for first in range(0, n, size):
        yield slice(first, min(first + size, n))
