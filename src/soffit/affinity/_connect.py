"""The shortest links that join the components of a neighbour graph into one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

from soffit._typing import FloatArray, IntArray
from soffit.affinity._search import Metric, neighbors_of

# Up to here the shortest link of every component is searched among all objects; with more
# components each one is represented by its densest object, which keeps the work near linear.
_MOST_EXACT_COMPONENTS = 64
# Up to so many pairs the shortest link between two sets is searched among all of them.
_MOST_EXACT_PAIRS = 2**28
_SAMPLED = 2**11
_MOST_TURNS = 8

Links = tuple[IntArray, IntArray, FloatArray]


def connecting_links(
    X: Any,
    edges: tuple[IntArray, IntArray],
    lists: tuple[IntArray, FloatArray],
    density_radius: FloatArray,
    *,
    metric: Metric,
    n_jobs: int | None = None,
) -> Links:
    """Links (first, second, distance) that make the graph `edges` connected.

    Pairs already known as neighbours (`lists` with their distances) are used first, shortest ones
    first; what they leave apart is searched for. Sparse precomputed distances offer nothing beyond
    the lists, so their components may stay apart.
    """
    n = X.shape[0]
    count, component = _components(n, *edges)
    found = [_spanning_links(component, _listed_links(component, *lists))]
    if count > 1:
        count, component = _components(n, *_with_links(edges, found))
    while count > 1 and not (metric == "precomputed" and sp.issparse(X)):
        if count > _MOST_EXACT_COMPONENTS:
            links = _links_between_representatives(X, component, density_radius, metric, n_jobs)
        else:
            links = _shortest_outside(X, component, metric, n_jobs)
        found.append(_spanning_links(component, links))
        count, component = _components(n, *_with_links(edges, found))
    return (
        np.concatenate([links[0] for links in found]),
        np.concatenate([links[1] for links in found]),
        np.concatenate([links[2] for links in found]),
    )


def _listed_links(component: IntArray, lists: IntArray, values: FloatArray) -> Links:
    """Listed pairs in two components, the smaller number first."""
    row, place = np.nonzero((lists >= 0) & (component[lists] != component[:, None]))
    column = lists[row, place].astype(row.dtype)
    return np.minimum(row, column), np.maximum(row, column), values[row, place]


def _components(n: int, first: IntArray, second: IntArray) -> tuple[int, IntArray]:
    graph = sp.coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n, n))
    count, component = connected_components(graph, directed=False)
    return int(count), component


def _with_links(edges: tuple[IntArray, IntArray], found: list[Links]) -> tuple[IntArray, IntArray]:
    return (
        np.concatenate([edges[0], *(links[0] for links in found)]),
        np.concatenate([edges[1], *(links[1] for links in found)]),
    )


def _spanning_links(component: IntArray, links: Links) -> Links:
    """The links of a minimum spanning tree over the components."""
    first, second, distance = links
    a, b = component[first], component[second]
    apart = a != b
    first, second, distance = first[apart], second[apart], distance[apart]
    low, high = np.minimum(a, b)[apart].astype(np.int64), np.maximum(a, b)[apart].astype(np.int64)
    if len(first) == 0:
        return first, second, distance
    # One link a pair of components: the shortest, ties by the objects' numbers.
    order = np.lexsort((second, first, distance, high, low))
    n_components = int(component.max()) + 1
    key = low[order] * n_components + high[order]
    chosen = order[np.concatenate([[True], key[1:] != key[:-1]])]
    # Zero distances would vanish from a sparse matrix: rank the links instead, from 1.
    rank = np.empty(len(chosen))
    rank[np.argsort(distance[chosen], kind="stable")] = np.arange(1, len(chosen) + 1)
    graph = sp.coo_array(
        (rank, (low[chosen], high[chosen])), shape=(n_components, n_components)
    ).tocsr()
    tree = minimum_spanning_tree(graph).data
    kept = chosen[np.isin(rank, tree)]
    return first[kept], second[kept], distance[kept]


def _shortest_outside(X: Any, component: IntArray, metric: Metric, n_jobs: int | None) -> Links:
    """For every component but the largest, its shortest link to any other component."""
    sizes = np.bincount(component)
    links = []
    for c in np.flatnonzero(np.arange(len(sizes)) != np.argmax(sizes)):
        inside, outside = np.flatnonzero(component == c), np.flatnonzero(component != c)
        few = metric == "precomputed" or len(inside) * len(outside) <= _MOST_EXACT_PAIRS
        shortest = _shortest_between if few else _short_between
        links.append(shortest(X, inside, outside, metric, n_jobs))
    first, second, distance = zip(*links, strict=True)
    return np.array(first), np.array(second), np.array(distance)


def _shortest_between(
    X: Any, inside: IntArray, outside: IntArray, metric: Metric, n_jobs: int | None
) -> tuple[int, int, float]:
    if metric == "precomputed":
        block = np.asarray(X)[np.ix_(inside, outside)]
        nearest = block.argmin(axis=1)
        distance = block[np.arange(len(inside)), nearest]
    else:
        index, distances = neighbors_of(X[inside], X[outside], 1, metric=metric, n_jobs=n_jobs)
        nearest, distance = index[:, 0], distances[:, 0]
    best = int(distance.argmin())
    return inside[best], outside[nearest[best]], distance[best]


def _short_between(
    X: Any, inside: IntArray, outside: IntArray, metric: Metric, n_jobs: int | None
) -> tuple[int, int, float]:
    """A short link between two large sets: the shortest of a sample, drawn in from end to end."""
    some_inside, some_outside = _thinned(inside), _thinned(outside)
    first, second, distance = _shortest_between(X, some_inside, some_outside, metric, n_jobs)
    for turn in range(_MOST_TURNS):
        part = outside if turn % 2 == 0 else inside
        fixed = np.array([first if turn % 2 == 0 else second])
        _, nearest, closer = _shortest_between(X, fixed, part, metric, n_jobs)
        if not closer < distance and turn > 0:
            break
        first, second = (first, nearest) if turn % 2 == 0 else (nearest, second)
        distance = min(closer, distance)
    return first, second, distance


def _thinned(part: IntArray) -> IntArray:
    return part[:: -(-len(part) // _SAMPLED)]


def _links_between_representatives(
    X: Any, component: IntArray, density_radius: FloatArray, metric: Metric, n_jobs: int | None
) -> Links:
    order = np.lexsort((density_radius, component))
    starts = np.concatenate([[True], component[order][1:] != component[order][:-1]])
    chosen = order[starts]
    if metric == "precomputed":
        block = np.asarray(X)[np.ix_(chosen, chosen)].copy()
        np.fill_diagonal(block, np.inf)
        nearest = block.argmin(axis=1)
        distance = block[np.arange(len(chosen)), nearest]
    else:
        index, distances = neighbors_of(X[chosen], X[chosen], 2, metric=metric, n_jobs=n_jobs)
        other = (index[:, 0] == np.arange(len(chosen))).astype(int)
        nearest = index[np.arange(len(chosen)), other]
        distance = distances[np.arange(len(chosen)), other]
    return chosen, chosen[nearest], distance
