"""The evidence for every number of clusters, column by column."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, Matrix, is_sparse
from soffit.affinity._trim import without_diagonal, without_strays
from soffit.factorize import leading_eigenvectors, normalized_cut
from soffit.factorize._cut import bound_from
from soffit.factorize._partition import group_weights
from soffit.normalize import degree
from soffit.selection._cluster_count import lasting, pruning_path, random_edges, relaxation_times
from soffit.selection._path import PartitionPath
from soffit.selection._resampling import resample
from soffit.selection._valleys import valleys

# What lies ahead of a number is judged by this many further ones.
AHEAD = 2
# Valleys below this share of the cuts inside are all deep.
DEEP = 0.05
# A full matrix says the same about fewer objects; one with many zeros is stored as sparse.
_MOST_DENSE = 1200
_FULL = 0.1
# Fewer objects than this per eigenvector are no group.
_LEAST_PER_VECTOR = 4

Evidence = dict[str, FloatArray]


def gather_evidence(A: Matrix, most: int, *, resamples: int, random_state: int) -> Evidence:
    """Columns for 1, 2, ..., `most` clusters; worst values where a graph is too small for them."""
    columns = _nothing(most)
    graph = _linked_part(A, most, random_state)
    if graph is None:
        return columns
    n = graph.shape[0]
    n_vectors = min(2 * (most + AHEAD), max(n // _LEAST_PER_VECTOR, 3), n)
    N = degree(graph).matrix
    values, V = leading_eigenvectors(N, n_vectors)
    values = np.asarray(values, dtype=np.float64)
    reach = min(most + AHEAD, n_vectors - 1)
    path = PartitionPath(graph, V, reach)
    found = _spectral_columns(N, values, reach)
    found["cut"] = np.array([normalized_cut(graph, path.labels(k)) for k in range(1, reach + 1)])
    found["lasting"] = _pruning_column(graph, path)
    agreement = resample(graph, path, n_vectors, resamples=resamples, random_state=random_state)
    found["stability"] = agreement.stability.mean(axis=0)
    found["likelihood"] = agreement.likelihood.mean(axis=0)
    found["valley"] = _typical(np.vstack([valleys(graph, values, V, path), agreement.valley]))
    for name, column in found.items():
        shown = min(len(column), most + AHEAD)
        columns[name][:shown] = column[:shown]
    return columns


def _typical(valley: FloatArray) -> FloatArray:
    """Geometric mean over the graph and its resamples; below DEEP all valleys are equal."""
    mean = np.exp(np.log(valley + DEEP).mean(axis=0)) - DEEP
    return np.asarray(np.clip(mean, 0.0, 1.0))


def _nothing(most: int) -> Evidence:
    """What a graph without any structure, or without any link, says about every number."""
    size = most + AHEAD
    k = np.arange(1.0, size + 1)
    columns: Evidence = {name: np.zeros(size) for name in ("gap", "edge", "lasting", "likelihood")}
    columns |= {"bound": k - 1, "cut": k - 1}
    columns |= {"valley": (k > 1).astype(float), "stability": (k == 1).astype(float)}
    return columns


def _linked_part(A: Matrix, most: int, random_state: int) -> sp.csr_array | None:
    """The objects with any tie as a sparse graph; None where there are too few of them."""
    A = without_strays(without_diagonal(A), most)
    n = A.shape[0]
    if not is_sparse(A) and n > _MOST_DENSE and np.count_nonzero(A) > _FULL * n * n:
        chosen = np.sort(np.random.default_rng(random_state).permutation(n)[:_MOST_DENSE])
        A = A[np.ix_(chosen, chosen)]
    graph = sp.csr_array(A)
    tied = np.flatnonzero(np.asarray(graph.sum(axis=1)).ravel() > 0)
    if len(tied) < 3 * _LEAST_PER_VECTOR:
        return None
    graph = graph if len(tied) == graph.shape[0] else graph[tied][:, tied]
    graph.sort_indices()
    return graph


def _spectral_columns(N: sp.csr_array, values: FloatArray, reach: int) -> Evidence:
    """Gap of relaxation times, distance to a random graph's spectrum, and the relaxed bound."""
    times = relaxation_times(values)
    gap = np.log(times[:reach] / times[1 : reach + 1])
    # The walk has forgotten nothing when there is one cluster: the first gap says nothing.
    gap[0] = 0.0
    above = np.concatenate([[0.0], values[1:reach] - random_edges(N, values)[: reach - 1]])
    bound = np.array([bound_from(values, 0, k) for k in range(1, reach + 1)])
    return {"gap": gap, "edge": above, "bound": bound}


def _pruning_column(graph: sp.csr_array, path: PartitionPath) -> FloatArray:
    """How long each number lasts when clusters are pruned; groups of the fine cut are the nodes."""
    n_groups = int(path.fine.max()) + 1
    between = group_weights(graph, path.fine, n_groups)
    _, alive = pruning_path(between, np.arange(n_groups), n_groups)
    column = np.zeros(path.most)
    column[1:] = lasting(alive, np.arange(2, path.most + 1))
    return column
