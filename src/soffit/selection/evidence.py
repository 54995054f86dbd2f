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
from soffit.partition.multilevel import coarse_graph
from soffit.selection.density import Density, mode_depths, valleys
from soffit.selection.gaussian_clusters import (
    Points,
    log_evidence,
    log_evidence_of_several,
    prepared,
)
from soffit.selection.path import PartitionPath
from soffit.selection.pruning import random_edges, relaxation_times
from soffit.selection.separation import dips

# Share of the links that each resample leaves out.
_LEFT_OUT = 0.2


@dataclass(frozen=True, eq=False)
class Agreement:
    """Per resample, for 1, 2, ..., `most` clusters."""

    stability: FloatArray
    likelihood: FloatArray


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
) -> tuple[FloatArray, FloatArray]:
    graph = Graph.of(_graph(links, ~out, A.shape[0]))
    linked = graph.linked()
    stability, likelihood = np.zeros(path.most), np.zeros(path.most)
    stability[0] = 1.0
    if len(linked) < 2 * path.most:
        return stability, likelihood
    thinned = graph.subgraph(linked).csr
    _, V = leading_eigenvectors(degree(thinned).matrix, min(n_vectors, len(linked) - 1))
    again = PartitionPath(thinned, V, min(path.most, V.shape[1]))
    left_out = Graph.of(_graph(links, out, A.shape[0])).subgraph(linked).csr
    half = 0.5 * float(thinned.data.mean())
    for k in range(2, again.most + 1):
        labels = again.labels(k)
        stability[k - 1] = _adjusted_rand(path.labels(k)[linked], labels, k)
        seen, unseen = (group_weights(graph, labels, k) for graph in (thinned, left_out))
        likelihood[k - 1] = _gain(seen, unseen, half)
    return stability, likelihood


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
# Fewer objects per eigenvector than this are not a group, unless there are few of both.
_LEAST_PER_VECTOR = 4
_FEW_VECTORS = 12
_FEWEST_OBJECTS = 4
# Where more than this share of the pairs is similar, a matrix is full.
_MOST_PAIRS = 0.5
# Modes with valleys of this depth around them are clear, by the density and by the links.
_CLEAR = (0.6, 0.8)
# Larger graphs are represented by coarser ones, with at least this many nodes per cluster.
_MOST_NODES = 2500
_NODES_PER_CLUSTER = 16
# A graph whose walk is still this slow after the groups of largest modularity has no such groups:
# it is a neighbour graph, where any finer partition has a larger modularity.
_SLOW = 0.75

# Ends of links of a random graph are joined among this many of about the same weight.
_WINDOW = 64

Columns = dict[str, FloatArray]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a graph tells about the numbers of clusters 1, 2, ..., `most` and some more."""

    columns: Columns  # Evidence by name, one entry per number.
    n_objects: int  # Objects with links.
    # Dimension of the data around an object; None if distances are not known.
    dimension: float | None = None
    # Largest modularity in a random graph with the same degrees, if the graph is a network.
    chance: float | None = None
    n_modes: int = 0  # Clear modes of the density; 0 if distances are not known.
    # Objects whose coordinates the column "mixture" was computed from; 0 without this column.
    n_points: int = 0
    is_full: bool = False  # Whether distances are not known, and most pairs are similar.
    # How much more probable each of the points is as some Gaussian clusters than as one, wherever
    # these clusters are; as the column "mixture", which is about the partitions of the graph.
    several: float = 0.0


def gather_evidence(
    A: Matrix, most: int, *, density: Density | None, n_resamples: int, random_state: int
) -> Evidence:
    """Columns for 1, 2, ..., `most` clusters; worst values where the graph is too small."""
    names = ("depth", "link_depth") if density is not None else ()
    columns = _nothing(most, names, resampled=n_resamples > 0)
    part = _linked_part(A, most, density, random_state)
    if part is None:
        return Evidence(columns, A.shape[0], None if density is None else density.dimension)
    graph, sizes = part.graph, part.sizes
    n = graph.shape[0]
    n_vectors = _number_of_vectors(n, most)
    N = degree(graph).matrix
    values, V = leading_eigenvectors(N, n_vectors)
    values = np.asarray(values, dtype=np.float64)
    reach = min(most + AHEAD, n_vectors - 1)
    path = PartitionPath(graph, V, reach, by_splits=part.density is not None)
    found = _spectral_columns(N, values, reach)
    found["valley"] = valleys(graph, values, V, path)
    found |= _partition_columns(graph, path, sizes)
    chance, n_modes, n_points, several = None, 0, 0, 0.0
    if part.density is not None:
        depths = mode_depths(graph, part.density, sizes, most)
        found |= {n: np.concatenate([[0.0], d]) for n, d in zip(names, depths, strict=True)}
        n_modes = 1 + max(int(np.sum(d > least)) for d, least in zip(depths, _CLEAR, strict=True))
    is_full = part.density is None and graph.nnz > _MOST_PAIRS * n * (n - 1)
    if part.density is None and not is_full and _is_network(found["modularity"], values):
        chance = _chance_modularity(graph, most, random_state)
    points = part.points(is_full=is_full)
    if points is not None:
        n_points = len(points.rows)
        Z = prepared(points)

        def labels_of(k: int) -> IntArray:
            return path.labels(k)[points.node]

        found["mixture"] = log_evidence(Z, labels_of, reach) / n_points
        found["dip"] = dips(Z, labels_of, reach)
        if not is_full:
            several = log_evidence_of_several(Z, labels_of, min(most, reach))
        columns["mixture"] = np.full(most + AHEAD, float(found["mixture"].min()))
        columns["dip"] = np.full(most + AHEAD, float(found["dip"].max()))
    if n_resamples:
        agreement = resample(
            graph, path, n_vectors, n_resamples=n_resamples, random_state=random_state
        )
        found["stability"] = agreement.stability.mean(axis=0)
        found["likelihood"] = agreement.likelihood.mean(axis=0)
    for name, column in found.items():
        shown = min(len(column), most + AHEAD)
        columns[name][:shown] = column[:shown]
    dimension = None if part.density is None else part.density.dimension
    return Evidence(
        *(columns, int(sizes.sum()), dimension, chance, n_modes, n_points, is_full, several)
    )


def _number_of_vectors(n: int, most: int) -> int:
    """How many eigenvectors describe the groups of n objects."""
    return min(2 * (most + AHEAD), max(n // _LEAST_PER_VECTOR, min(_FEW_VECTORS, n - 1)), n)


def _nothing(most: int, depths: tuple[str, ...], *, resampled: bool) -> Columns:
    """The evidence from a graph without structure or without links."""
    size = most + AHEAD
    k = np.arange(1.0, size + 1)
    none = ("gap", "edge", *depths, "modularity", *(("likelihood",) if resampled else ()))
    columns: Columns = {name: np.zeros(size) for name in none}
    columns |= {"bound": k - 1, "cut": k - 1, "smallest": (k == 1).astype(float)}
    columns["valley"] = (k > 1).astype(float)
    if resampled:
        columns["stability"] = (k == 1).astype(float)
    return columns


@dataclass(frozen=True, eq=False)
class _Part:
    """The linked objects as a sparse graph; a node may represent several of them."""

    graph: sp.csr_array
    sizes: FloatArray
    density: Density | None

    def points(self, *, is_full: bool) -> Points | None:
        """Coordinates: those of the objects, or some that follow from a full matrix."""
        if self.density is not None:
            return self.density.points
        return Points.of_similarities(self.graph.toarray()) if is_full else None


def _linked_part(A: Matrix, most: int, density: Density | None, random_state: int) -> _Part | None:
    """The objects with links, as a graph that is not too large; None if there are too few."""
    graph = Graph.of(A).without_diagonal().without_strays(most)
    n = graph.n
    chosen = np.arange(n)
    if n > _MOST_DENSE and np.count_nonzero(graph.values) > _FULL * n * n:
        chosen = np.sort(np.random.default_rng(random_state).permutation(n)[:_MOST_DENSE])
        graph = graph.subgraph(chosen)
    graph = Graph(sp.csr_array(graph.matrix))
    linked = graph.linked()
    if len(linked) < _FEWEST_OBJECTS:
        return None
    part = graph.subgraph(linked).csr
    sizes: FloatArray = np.ones(len(linked))
    node = None
    most_nodes = max(_MOST_NODES, _NODES_PER_CLUSTER * most)
    if len(linked) > most_nodes:
        coarse = coarse_graph(part, most_nodes, pairings=1)
        part, sizes, node = coarse.matrix, coarse.sizes, coarse.node
        part = Graph(part).without_diagonal().csr
    part.sort_indices()
    at_nodes = None if density is None else density.of_nodes(chosen[linked], node)
    return _Part(part, sizes, at_nodes)


def _spectral_columns(N: sp.csr_array, values: FloatArray, reach: int) -> Columns:
    """Gap of relaxation times, distance to a random graph's spectrum, and the relaxed bound."""
    times = relaxation_times(values)
    gap = np.log(times[:reach] / times[1 : reach + 1])
    # With one cluster there is nothing to forget: the first gap carries no information.
    gap[0] = 0.0
    above = np.concatenate([[0.0], values[1:reach] - random_edges(N, values)[: reach - 1]])
    bound = np.array([bound_from(values, 0, k) for k in range(1, reach + 1)])
    return {"gap": gap, "edge": above, "bound": bound}


def _partition_columns(graph: sp.csr_array, path: PartitionPath, sizes: FloatArray) -> Columns:
    """Cut, modularity and smallest cluster of every partition."""
    cut, modularity, smallest = (np.zeros(path.most) for _ in range(3))
    for k in range(1, path.most + 1):
        labels = path.labels(k)
        cut[k - 1] = normalized_cut(graph, labels)
        modularity[k - 1] = _modularity(group_weights(graph, labels, k))
        counts = np.bincount(labels, weights=sizes, minlength=k)
        smallest[k - 1] = counts.min() * k / sizes.sum()
    return {"cut": cut, "modularity": modularity, "smallest": smallest}


def _modularity(between: FloatArray) -> float:
    """Weight inside the clusters beyond that of a random graph with the same degrees."""
    volume = between.sum(axis=1)
    total = float(volume.sum())
    return float(np.trace(between) / total - np.sum((volume / total) ** 2))


def _is_network(modularity: FloatArray, values: FloatArray) -> bool:
    """Whether the walk mixes inside the groups of largest modularity."""
    after = int(modularity.argmax()) + 1
    return float(values[min(after, len(values) - 1)]) <= _SLOW


def _chance_modularity(A: sp.csr_array, most: int, random_state: int) -> float:
    """Largest modularity in a random graph with the same degrees (configuration model)."""
    rng = np.random.default_rng(random_state)
    links = sp.coo_array(sp.triu(A, k=1))
    ends = np.concatenate([links.row, links.col])
    weights = np.concatenate([links.data, links.data])
    # Ends of links of about the same weight are joined, so that the degrees stay the same.
    window = np.arange(len(ends)) // _WINDOW
    order = np.lexsort((rng.random(len(ends)), weights))
    order = order[np.lexsort((rng.random(len(ends)), window))]
    first, second = ends[order[::2]], ends[order[1::2]]
    weight = (weights[order[::2]] + weights[order[1::2]]) / 2
    apart = first != second
    upper = sp.csr_array((weight[apart], (first[apart], second[apart])), shape=A.shape)
    graph = Graph(sp.csr_array(upper + upper.T))
    linked = graph.linked()
    if len(linked) < _FEWEST_OBJECTS:
        return 0.0
    random = graph.subgraph(linked).csr
    n = len(linked)
    n_vectors = _number_of_vectors(n, most)
    _, V = leading_eigenvectors(degree(random).matrix, n_vectors)
    path = PartitionPath(random, V, min(most + AHEAD, n_vectors - 1))
    found = [_modularity(group_weights(random, path.labels(k), k)) for k in range(2, path.most + 1)]
    return max(found, default=0.0)
