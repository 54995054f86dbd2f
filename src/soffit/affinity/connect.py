"""The shortest links that join the components of a neighbour graph into one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray
from soffit.graph import pair_components
from soffit.neighbors.search import Metric, neighbors_of

# Up to this number of components the shortest link of each is searched among all objects; with
# more, each is represented by its densest object, which keeps the work near linear.
_MOST_EXACT_COMPONENTS = 64
# Up to this number of pairs the shortest link between two sets is searched exhaustively.
_MOST_EXACT_PAIRS = 2**28
_SAMPLED = 2**11
# Up to this number of objects are compared with all others pair by pair.
_FEW = 64
_OBJECTS = 2**16
_MOST_TURNS = 8

Links = tuple[IntArray, IntArray, FloatArray]
Link = tuple[int, int, float]


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

    Pairs already known as neighbours (`lists` with their distances) are used first, shortest first;
    links between the remaining components are searched for. Sparse precomputed distances have no
    pairs beyond the lists, so their components may stay separate.
    """
    n = X.shape[0]
    component = pair_components(*edges, n)
    found = [_spanning_links(component, _listed_links(component, *lists))]
    if component.max() > 0:
        component = pair_components(*_with_links(edges, found), n)
    while component.max() > 0 and not (metric == "precomputed" and sp.issparse(X)):
        if component.max() >= _MOST_EXACT_COMPONENTS:
            links = _links_between_representatives(X, component, density_radius, metric, n_jobs)
        else:
            links = _shortest_outside(X, component, metric, n_jobs)
        found.append(_spanning_links(component, links))
        component = pair_components(*_with_links(edges, found), n)
    return (
        np.concatenate([links[0] for links in found]),
        np.concatenate([links[1] for links in found]),
        np.concatenate([links[2] for links in found]),
    )


def _listed_links(component: IntArray, lists: IntArray, values: FloatArray) -> Links:
    """Listed pairs in different components, the smaller number first."""
    from soffit.graph_kernels import links_in_lists

    def search(part: range) -> Links:
        found: Links = links_in_lists(component, lists, values, part.start, part.stop)
        return found

    parts = each(search, pieces(len(lists), _OBJECTS))
    first, second, distance = (np.concatenate([part[a] for part in parts]) for a in range(3))
    return first, second, distance


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
    low, high = np.minimum(a, b)[apart], np.maximum(a, b)[apart]
    if len(first) == 0:
        return first, second, distance
    from soffit.graph_kernels import spanning_links

    order = _in_order(distance, (low, high, first, second))
    joins = spanning_links(int(component.max()) + 1, low[order], high[order])
    kept = order[joins]
    kept = kept[np.lexsort((high[kept], low[kept]))]
    return first[kept], second[kept], distance[kept]


def _in_order(values: FloatArray, keys: tuple[IntArray, ...]) -> IntArray:
    """Argsort of the values, ties by the first key, then by the next."""
    order = np.argsort(values, kind="stable")
    same = values[order][1:] == values[order][:-1]
    tied = np.flatnonzero(np.concatenate([[False], same]) | np.concatenate([same, [False]]))
    # Usually few values are tied: sorting all by all keys would take many times as long.
    among = order[tied]
    order[tied] = among[np.lexsort([*(key[among] for key in keys[::-1]), values[among]])]
    return order


def _shortest_outside(X: Any, component: IntArray, metric: Metric, n_jobs: int | None) -> Links:
    """For every component but the largest, its shortest link to any other component."""
    sizes = np.bincount(component)
    links = []
    for c in np.flatnonzero(np.arange(len(sizes)) != np.argmax(sizes)):
        sides = _Sides(X, component == c, metric, n_jobs)
        few = metric == "precomputed" or sides.n_pairs <= _MOST_EXACT_PAIRS
        links.append(sides.shortest() if few else sides.short())
    first, second, distance = zip(*links, strict=True)
    return np.array(first), np.array(second), np.array(distance)


@dataclass(frozen=True, eq=False)
class _Sides:
    """The objects of one component, and all others."""

    X: Any
    is_inside: NDArray[np.bool_]
    metric: Metric
    n_jobs: int | None

    @property
    def n_pairs(self) -> int:
        size = int(self.is_inside.sum())
        return size * (len(self.is_inside) - size)

    def shortest(self) -> Link:
        """The shortest link between the two."""
        inside = np.flatnonzero(self.is_inside)
        if len(inside) <= _FEW:
            return self._from_few(inside, inside_out=True)
        return self._between(inside, np.flatnonzero(~self.is_inside))

    def short(self) -> Link:
        """A short link: the shortest of a sample, improved alternately at both ends."""
        inside, outside = np.flatnonzero(self.is_inside), np.flatnonzero(~self.is_inside)
        first, second, distance = self._between(_thinned(inside), _thinned(outside))
        for turn in range(_MOST_TURNS):
            inside_out = turn % 2 == 0
            fixed = np.array([first if inside_out else second])
            _, nearest, closer = self._from_few(fixed, inside_out=inside_out)
            if not closer < distance and turn > 0:
                break
            first, second = (first, nearest) if inside_out else (nearest, second)
            distance = min(closer, distance)
        return first, second, distance

    def _from_few(self, fixed: IntArray, *, inside_out: bool) -> Link:
        """The shortest link of a few objects on one side to those on the other side."""
        if sp.issparse(self.X) or self.metric not in ("euclidean", "l2"):
            return self._between(fixed, np.flatnonzero(self.is_inside != inside_out))
        from soffit.graph_kernels import shortest_link

        def search(part: range) -> tuple[float, int, int]:
            found: tuple[float, int, int] = shortest_link(
                self.X, fixed, self.is_inside, not inside_out, part.start, part.stop
            )
            return found

        # Nothing is copied: a copy would take longer than the search itself.
        square, i, j = min(each(search, pieces(len(self.X), _OBJECTS), self.n_jobs))
        return i, j, float(np.sqrt(square))

    def _between(self, inside: IntArray, outside: IntArray) -> Link:
        if self.metric == "precomputed":
            block = np.asarray(self.X)[np.ix_(inside, outside)]
            nearest = block.argmin(axis=1)
            distance = block[np.arange(len(inside)), nearest]
        else:
            index, distances = neighbors_of(
                self.X[inside], self.X[outside], 1, metric=self.metric, n_jobs=self.n_jobs
            )
            nearest, distance = index[:, 0], distances[:, 0]
        best = int(distance.argmin())
        return inside[best], outside[nearest[best]], distance[best]


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
