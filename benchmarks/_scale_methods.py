"""What scale.py fits: memberships or labels of all objects, by the models and by their peers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks._scale_data import Data

SEED = 7
NEIGHBORS = 15
EVERYTHING = 2**62
# So small that real sets are made coarser by it.
COARSE_NODES = 4000
# A neighbour search to compare with.
HNSW = "faiss, HNSW"


def soft(data: Data, threads: int) -> Any:
    from soffit import SoftClustering

    affinity = "precomputed" if data.is_graph else "nearest_neighbors"
    return SoftClustering(data.n_clusters, affinity=affinity, random_state=SEED).fit(data.X)


def relation(data: Data, threads: int) -> Any:
    from soffit import RelationFactorization

    affinity = "precomputed" if data.is_graph else "nearest_neighbors"
    model = RelationFactorization(data.n_clusters, affinity=affinity, random_state=SEED)
    return model.fit(data.X)


def spectral(data: Data, threads: int) -> Any:
    from sklearn.cluster import SpectralClustering

    return SpectralClustering(
        data.n_clusters,
        affinity="precomputed" if data.is_graph else "nearest_neighbors",
        n_neighbors=NEIGHBORS,
        random_state=SEED,
        n_jobs=threads,
    ).fit(data.X)


def mixture(data: Data, threads: int) -> Any:
    """Fitted, with the memberships of all objects as `memberships_`."""
    from sklearn.mixture import GaussianMixture

    model = GaussianMixture(data.n_clusters, max_iter=100, random_state=SEED).fit(data.X)
    model.memberships_ = model.predict_proba(data.X)
    return model


def means(data: Data, threads: int) -> Any:
    from sklearn.cluster import MiniBatchKMeans

    return MiniBatchKMeans(data.n_clusters, random_state=SEED).fit(data.X)


def density(data: Data, threads: int) -> Any:
    from sklearn.cluster import HDBSCAN

    return HDBSCAN(min_cluster_size=_smallest(data), n_jobs=threads, copy=True).fit(data.X)


def soft_density(data: Data, threads: int) -> Any:
    """Fitted, with the soft vectors of all objects as `memberships_`."""
    import hdbscan

    model = hdbscan.HDBSCAN(
        min_cluster_size=_smallest(data), prediction_data=True, core_dist_n_jobs=threads
    ).fit(data.X)
    vectors = np.nan_to_num(np.asarray(hdbscan.all_points_membership_vectors(model)))
    model.memberships_ = vectors if vectors.ndim == 2 else np.ones((len(data.X), 1))
    return model


def _smallest(data: Data) -> int:
    """A tenth of an average cluster: these methods find their own number."""
    return max(5, len(data.X) // (10 * data.n_clusters))


OWN = ("SoftClustering", "RelationFactorization")
PEERS = (
    "SpectralClustering",
    "GaussianMixture",
    "MiniBatchKMeans",
    "HDBSCAN",
    "hdbscan, soft",
)
FITS: dict[str, Callable[[Data, int], Any]] = {
    "SoftClustering": soft,
    "RelationFactorization": relation,
    "SpectralClustering": spectral,
    "GaussianMixture": mixture,
    "MiniBatchKMeans": means,
    "HDBSCAN": density,
    "hdbscan, soft": soft_density,
}


def labels_of(model: Any) -> Any:
    memberships = getattr(model, "memberships_", None)
    if memberships is None or hasattr(memberships, "indptr"):
        return model.labels_
    return np.asarray(memberships).argmax(axis=1)


def installed(method: str) -> bool:
    from importlib.util import find_spec

    needed = {"hdbscan, soft": "hdbscan", HNSW: "faiss"}
    return method not in needed or find_spec(needed[method]) is not None


@contextmanager
def search_by(rule: str) -> Iterator[None]:
    """Let steps that depend on the number of objects be taken at any number, or not ("default").

    The neighbour search is "exact" or "approximate"; the start is found on the whole graph
    ("direct") or through a coarser one ("coarse").
    """
    from soffit.neighbors import search as _search
    from soffit.partition import candidates as _graph_partition

    direct = {"_MOST_DIRECT": EVERYTHING, "_MOST_NODES": EVERYTHING}
    coarse = {"_MOST_DIRECT": COARSE_NODES // 2, "_MOST_NODES": COARSE_NODES}
    module, changes = {
        "default": (_search, {}),
        "exact": (_search, {"_MOST_COMPARED": EVERYTHING}),
        "approximate": (_search, {"_MOST_COMPARED": 0}),
        "direct": (_graph_partition, direct),
        "coarse": (_graph_partition, coarse),
    }[rule]
    usual = {name: getattr(module, name) for name in changes}
    vars(module).update(changes)
    try:
        yield
    finally:
        vars(module).update(usual)
