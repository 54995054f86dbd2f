"""The evidence for each number of clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from soffit._threads import each
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.factorize import leading_eigenvectors, normalized_cut
from soffit.graph import Graph
from soffit.normalize import degree
from soffit.partition.candidates import group_weights
from soffit.partition.cut import bound_from
from soffit.selection.path import PartitionPath
from soffit.selection.pruning import lasting, pruning_path, random_edges, relaxation_times
from soffit.selection.valleys import valleys

# Share of the links that each resample leaves out.
_LEFT_OUT = 0.2


@dataclass(frozen=True, eq=False)
class Agreement:
    """Per resample, for 1, 2, ..., `most` clusters."""

    stability: FloatArray
    likelihood: FloatArray
    valley: FloatArray


def resample(
    A: sp.csr_array, path: PartitionPath, n_vectors: int, *, n_resamples: int, random_state: int
) -> Agreement:
    """Partition graphs without some links into every number of clusters; compare with `path`."""
    rng = np.random.default_rng(random_state)
    links = sp.coo_array(sp.triu(A, k=1))
    masks = [rng.random(links.nnz) < _LEFT_OUT for _ in range(n_resamples)]
    found = each(lambda out: _one(A, links, path, n_vectors, out), masks)
    return Agreement(*(np.array(column) for column in zip(*found, strict=True)))


def _one(
    A: sp.csr_array,
    links: sp.coo_array,
    path: PartitionPath,
    n_vectors: int,
    out: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    graph = Graph.of(_graph(links, ~out, A.shape[0]))
    linked = graph.linked()
    stability, likelihood = np.zeros(path.most), np.zeros(path.most)
    stability[0] = 1.0
    valley = (np.arange(path.most) > 0).astype(np.float64)
    if len(linked) < 2 * path.most:
        return stability, likelihood, valley
    thinned = graph.subgraph(linked).csr
    values, V = leading_eigenvectors(degree(thinned).matrix, min(n_vectors, len(linked) - 1))
    again = PartitionPath(thinned, V, min(path.most, V.shape[1]))
    left_out = Graph.of(_graph(links, out, A.shape[0])).subgraph(linked).csr
    half = 0.5 * float(thinned.data.mean())
    for k in range(2, again.most + 1):
        labels = again.labels(k)
        stability[k - 1] = _adjusted_rand(path.labels(k)[linked], labels, k)
        seen, unseen = (group_weights(graph, labels, k) for graph in (thinned, left_out))
        likelihood[k - 1] = _gain(seen, unseen, half)
    valley[: again.most] = valleys(thinned, values, V, again)
    return stability, likelihood, valley


def _graph(links: sp.coo_array, chosen: IntArray, n: int) -> sp.csr_array:
    upper = sp.csr_array((links.data[chosen], (links.row[chosen], links.col[chosen])), shape=(n, n))
    return sp.csr_array(upper + upper.T)


def _gain(seen: FloatArray, left_out: FloatArray, half: float) -> float:
    """Gain in log-likelihood per unit of held-out weight over a model without clusters.

    In the degree-corrected block model a link between clusters r and s is
    W_rs 2m / (vol_r vol_s) times as likely as in one without clusters; both expect the same total.
    `half` a link is added everywhere, so that pairs of clusters without links are not impossible.
    """
    volume = seen.sum(axis=1)
    gain = np.log((seen + half) / (np.outer(volume, volume) / volume.sum() + half))
    return float(np.sum(left_out * gain) / max(float(left_out.sum()), 1e-300))


def _adjusted_rand(first: IntArray, second: IntArray, k: int) -> float:
    """Adjusted Rand index of two partitions into at most k clusters."""
    table = np.bincount(first * k + second, minlength=k * k).reshape(k, k).astype(np.float64)
    together = np.sum(table * (table - 1))
    a, b = table.sum(axis=1), table.sum(axis=0)
    in_first, in_second = np.sum(a * (a - 1)), np.sum(b * (b - 1))
    chance = in_first * in_second / (len(first) * (len(first) - 1.0))
    most = (in_first + in_second) / 2
    return float((together - chance) / (most - chance)) if most > chance else 1.0


# A number is compared with this many larger ones.
AHEAD = 2
# All valleys below this share of the inner cuts count as deep.
DEEP = 0.05
# A sample represents a dense matrix; a matrix with many zeros is stored as sparse.
_MOST_DENSE = 1200
_FULL = 0.1
# Fewer objects per eigenvector than this are not a group.
_LEAST_PER_VECTOR = 4

Evidence = dict[str, FloatArray]


def gather_evidence(A: Matrix, most: int, *, n_resamples: int, random_state: int) -> Evidence:
    """Columns for 1, 2, ..., `most` clusters; worst values where the graph is too small."""
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
    agreement = resample(graph, path, n_vectors, n_resamples=n_resamples, random_state=random_state)
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
    """The evidence from a graph without structure or without links."""
    size = most + AHEAD
    k = np.arange(1.0, size + 1)
    columns: Evidence = {name: np.zeros(size) for name in ("gap", "edge", "lasting", "likelihood")}
    columns |= {"bound": k - 1, "cut": k - 1}
    columns |= {"valley": (k > 1).astype(float), "stability": (k == 1).astype(float)}
    return columns


def _linked_part(A: Matrix, most: int, random_state: int) -> sp.csr_array | None:
    """The objects with links as a sparse graph; None if there are too few."""
    graph = Graph.of(A).without_diagonal().without_strays(most)
    n = graph.n
    if n > _MOST_DENSE and np.count_nonzero(graph.values) > _FULL * n * n:
        chosen = np.sort(np.random.default_rng(random_state).permutation(n)[:_MOST_DENSE])
        graph = graph.subgraph(chosen)
    graph = Graph(sp.csr_array(graph.matrix))
    linked = graph.linked()
    if len(linked) < 3 * _LEAST_PER_VECTOR:
        return None
    part = graph.subgraph(linked).csr
    part.sort_indices()
    return part


def _spectral_columns(N: sp.csr_array, values: FloatArray, reach: int) -> Evidence:
    """Gap of relaxation times, distance to a random graph's spectrum, and the relaxed bound."""
    times = relaxation_times(values)
    gap = np.log(times[:reach] / times[1 : reach + 1])
    # With one cluster there is nothing to forget: the first gap carries no information.
    gap[0] = 0.0
    above = np.concatenate([[0.0], values[1:reach] - random_edges(N, values)[: reach - 1]])
    bound = np.array([bound_from(values, 0, k) for k in range(1, reach + 1)])
    return {"gap": gap, "edge": above, "bound": bound}


def _pruning_column(graph: sp.csr_array, path: PartitionPath) -> FloatArray:
    """How long each number persists under pruning; the nodes are groups of the fine partition."""
    n_groups = int(path.fine.max()) + 1
    between = group_weights(graph, path.fine, n_groups)
    _, alive = pruning_path(between, np.arange(n_groups), n_groups)
    column = np.zeros(path.most)
    column[1:] = lasting(alive, np.arange(2, path.most + 1))
    return column
