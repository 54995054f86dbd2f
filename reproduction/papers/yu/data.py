"""Yu, Yu & Tresp: the two data sets with their graphs, and the printed confusion matrices."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.datasets import load
from soffit._typing import FloatArray, IntArray
from soffit.affinity import NeighborGraph
from soffit.metrics import accuracy, nmi

SETS = {"usps": "USPS digits 1 to 4", "news4": "four newsgroups"}
CLASSES = {
    "usps": ("1", "2", "3", "4"),
    "news4": ("autos", "motorcycles", "baseball", "hockey"),
}
METHODS = {
    "single": "single link",
    "complete": "complete link",
    "ncut": "normalized cut",
    "hierarchy": "soft hierarchy",
    "kmeans": "k-means",
}
# The tables of section 4.2, one row for each class; complete link is "N/A" on the newsgroups.
PUBLISHED: dict[str, dict[str, list[list[int]]]] = {
    "usps": {
        "single": [[1269, 0, 0, 0], [927, 1, 0, 1], [823, 0, 1, 0], [852, 0, 0, 0]],
        "complete": [[1266, 0, 3, 0], [584, 344, 1, 0], [440, 381, 3, 0], [440, 5, 300, 107]],
        "ncut": [[635, 630, 1, 3], [2, 4, 744, 179], [2, 1, 817, 4], [10, 6, 1, 835]],
        "hierarchy": [[1254, 3, 8, 4], [1, 886, 33, 9], [1, 4, 816, 3], [4, 8, 2, 838]],
        "kmeans": [[1265, 1, 0, 3], [17, 720, 95, 97], [10, 9, 796, 9], [58, 20, 0, 774]],
    },
    "news4": {
        "single": [[987, 1, 0, 0], [992, 0, 1, 0], [991, 0, 0, 1], [997, 0, 0, 0]],
        "ncut": [[858, 98, 30, 2], [79, 893, 16, 5], [44, 33, 875, 40], [11, 8, 893, 85]],
        "hierarchy": [[772, 182, 13, 21], [42, 934, 5, 12], [15, 33, 843, 101], [7, 21, 11, 958]],
        "kmeans": [[978, 9, 1, 0], [992, 0, 1, 0], [992, 0, 0, 0], [963, 0, 24, 10]],
    },
}
N_NEIGHBORS = 10


class Problem(NamedTuple):
    """A set: features, classes, and the published graph."""

    X: Any
    labels: IntArray
    graph: sp.csr_array
    counts: Any


@lru_cache(maxsize=1)
def problem(name: str, n: int | None, home: Path | None) -> Problem:
    """USPS digits 1 to 4 or the newsgroups; `n` keeps a random part."""
    dataset = load(name, home=home)
    rows = np.arange(dataset.n_samples)
    if name == "usps":
        rows = np.flatnonzero(np.isin(dataset.labels[0], [1, 2, 3, 4]))
    if n is not None:
        rows = np.sort(np.random.default_rng(4099).choice(rows, n, replace=False))
    part = dataset.subset(rows)
    labels = np.unique(part.labels[0], return_inverse=True)[1]
    X = part.X if name == "usps" else weighted_terms(part.X)
    metric = "euclidean" if name == "usps" else "cosine"
    graph = NeighborGraph(
        N_NEIGHBORS, metric=metric, keep="union", weights="binary", connect=False
    ).fit(X)
    return Problem(X, labels, graph.matrix_, part.X)


def weighted_terms(counts: Any) -> Any:
    """Counts of terms as tf-idf with rows of unit length."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer().fit_transform(counts)


def graph_words(name: str) -> str:
    """The graph in a few words."""
    kind = "Euclidean" if name == "usps" else "tf-idf, cosine"
    return f"{kind} {N_NEIGHBORS}-NN, union, binary weights"


def labels_of(table: list[list[int]]) -> tuple[IntArray, IntArray]:
    """Classes and clusters of objects with this confusion matrix."""
    counts = np.array(table)
    rows, columns = np.indices(counts.shape)
    return np.repeat(rows, counts.ravel()), np.repeat(columns, counts.ravel())


def printed_scores(name: str, method: str) -> tuple[float, float] | None:
    """Accuracy and NMI of a printed confusion matrix."""
    table = PUBLISHED[name].get(method)
    if table is None:
        return None
    classes, clusters = labels_of(table)
    return accuracy(classes, clusters), nmi(classes, clusters)


def mean_image(X: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean of 16 by 16 images for every column of weights, (m, 16, 16)."""
    shares = weights / np.maximum(weights.sum(axis=0), np.finfo(np.float64).tiny)
    return np.asarray((shares.T @ X).reshape(-1, 16, 16))
