"""A graph of nearest neighbours, connected by its shortest links."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial.distance import cdist

from soffit._memory import check_memory
from soffit._parameters import OneOf, check_parameter
from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray
from soffit._wording import Message, Parameter
from soffit.affinity.abstract import USUAL_NUMBER, Affinity
from soffit.affinity.isolation import Neighborhood
from soffit.graph import Graph, pair_components
from soffit.neighbors.distances import distances
from soffit.neighbors.search import (
    ApproximateSearch,
    ExactSearch,
    Metric,
    Search,
    make_search,
    nearest_neighbors,
    neighbors_of,
)

if TYPE_CHECKING:
    from typing_extensions import Self


# Up to this number of components the shortest link of each is searched among all objects; with
# more, each is represented by its densest object, which keeps the work near linear.
_MOST_EXACT_COMPONENTS = 64
# Up to this number of pairs, and of their coordinates, the shortest link between two sets is
# searched exhaustively.
_MOST_EXACT_PAIRS, _MOST_EXACT_COORDINATES = 2**28, 2**32
_SAMPLED = 2**11
# Up to this number of objects are compared with all others pair by pair.
_FEW = 64
_LINKED_OBJECTS = 2**16
_COMPARED = 2**14
_MOST_TURNS = 4
# Entries of the rows that are ranked at once, and between which their largest entry lies.
_LINKED_ENTRIES = 2**20
_PLAIN = (1e-10, 1e10)

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
        component = _joined(component, found[-1])
    while component.max() > 0 and not (metric == "precomputed" and sp.issparse(X)):
        if component.max() >= _MOST_EXACT_COMPONENTS:
            links = _links_between_representatives(X, component, density_radius, metric, n_jobs)
        else:
            links = _shortest_outside(X, component, metric, n_jobs)
        found.append(_spanning_links(component, links))
        component = _joined(component, found[-1])
    return (
        np.concatenate([links[0] for links in found]),
        np.concatenate([links[1] for links in found]),
        np.concatenate([links[2] for links in found]),
    )


def _listed_links(component: IntArray, lists: IntArray, values: FloatArray) -> Links:
    """Listed pairs in different components, the smaller number first."""

    def search(part: range) -> Links:
        rows = slice(part.start, part.stop)
        apart = (component[lists[rows]] != component[rows, None]) & (lists[rows] >= 0)
        owner, place = np.nonzero(apart)
        other = lists[rows][owner, place].astype(np.int64)
        owner += part.start
        return np.minimum(owner, other), np.maximum(owner, other), values[rows][apart]

    if component.max() == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), values[:0].ravel()
    parts = each(search, pieces(len(lists), _LINKED_OBJECTS))
    first, second, distance = (np.concatenate([part[a] for part in parts]) for a in range(3))
    return first, second, distance


def _joined(component: IntArray, links: Links) -> IntArray:
    """Components after the links have joined some of them."""
    ends = component[links[0]], component[links[1]]
    return pair_components(*ends, int(component.max()) + 1)[component]


def _spanning_links(component: IntArray, links: Links) -> Links:
    """The links of a minimum spanning tree over the components."""
    first, second, distance = links
    a, b = component[first], component[second]
    apart = a != b
    first, second, distance = first[apart], second[apart], distance[apart]
    low, high = np.minimum(a, b)[apart], np.maximum(a, b)[apart]
    if len(first) == 0:
        return first, second, distance
    order = _in_order(distance, (low, high, first, second))
    n = int(component.max()) + 1
    # Places in this order as weights: distances may be equal, or zero, which stands for no link.
    ends, earliest = np.unique(low[order].astype(np.int64) * n + high[order], return_index=True)
    # SciPy's tree takes 32-bit numbers only, and older releases do not convert them.
    places = tuple(place.astype(np.int32) for place in np.divmod(ends, n))
    links_of = sp.csr_array((earliest + 1.0, places), shape=(n, n))
    kept = order[minimum_spanning_tree(links_of).data.astype(np.int64) - 1]
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
    wanted = np.flatnonzero(np.arange(len(sizes)) != np.argmax(sizes))
    n_pairs = sizes[wanted] * (len(component) - sizes[wanted])
    most = min(_MOST_EXACT_PAIRS, _MOST_EXACT_COORDINATES // X.shape[1])
    few = (n_pairs <= most) | (metric == "precomputed")
    links = [_Sides(X, component == c, metric, n_jobs).shortest() for c in wanted[few]]
    if not few.all():
        links += _short_links(X, component, wanted[~few], metric, n_jobs)
    first, second, distance = zip(*links, strict=True)
    return np.array(first), np.array(second), np.array(distance)


def _short_links(
    X: Any, component: IntArray, wanted: IntArray, metric: Metric, n_jobs: int | None
) -> list[Link]:
    """A short link of each of these components: the shortest of a sample, improved at both ends."""
    most = max(_SAMPLED // (int(component.max()) + 1), 1)
    chosen = np.concatenate([_thinned(np.flatnonzero(component == c), most) for c in wanted])
    others = np.flatnonzero(~np.isin(component, wanted))
    chosen = np.concatenate([chosen, _thinned(others, most)])
    among = distances(X[chosen], metric=metric, n_jobs=n_jobs)
    among[component[chosen][:, None] == component[chosen]] = np.inf
    ends = np.empty((2, len(wanted)), dtype=np.int64)
    length = np.empty(len(wanted), dtype=among.dtype)
    for number, c in enumerate(wanted):
        inside = np.flatnonzero(component[chosen] == c)
        i, j = np.unravel_index(among[inside].argmin(), (len(inside), len(chosen)))
        ends[:, number] = chosen[inside[i]], chosen[j]
        length[number] = among[inside[i], j]

    # Rows of ordinary size are ranked by products, and only the nearest ones are measured.
    is_plain = metric in ("euclidean", "l2") and not sp.issparse(X)
    ranked = is_plain and _PLAIN[0] < float(np.abs(X[chosen]).max()) < _PLAIN[1]
    rows_at_once = max(_LINKED_ENTRIES // X.shape[1], 1) if ranked else _COMPARED
    center = X[chosen].mean(axis=0) if ranked else None

    def nearest_across(part: range, rows: Any, *, outside: bool) -> tuple[IntArray, FloatArray]:
        there = slice(part.start, part.stop)
        if center is None:
            block = distances(rows, X[there], metric=metric, n_jobs=1)
        else:
            block = _ranks(rows - center, X[there] - center)
        block[(component[there] == wanted[:, None]) == outside] = np.inf
        closest = block.argmin(axis=1)
        return closest + part.start, block[np.arange(len(wanted)), closest]

    for turn in range(_MOST_TURNS):
        fixed, moved = X[ends[turn % 2]], ends[1 - turn % 2]
        search = partial(nearest_across, rows=fixed, outside=turn % 2 == 0)
        parts = each(search, pieces(len(component), rows_at_once), n_jobs)
        numbers, lengths = (np.array(values) for values in zip(*parts, strict=True))
        best = lengths.argmin(axis=0), np.arange(len(wanted))
        nearest, reached = numbers[best], lengths[best]
        if ranked:
            measured = np.diagonal(distances(fixed, X[nearest], metric=metric))
            reached = np.where(np.isfinite(reached), measured, np.inf)
        closer = reached < length
        moved[closer], length[closer] = nearest[closer], reached[closer]
        if not closer.any() and turn > 0:
            break
    return list(zip(*ends, length, strict=True))


def _ranks(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Half the squared distances of some rows to others, less a number for each of the rows."""
    with np.errstate(over="ignore", invalid="ignore"):
        halves = 0.5 * np.einsum("ij,ij->i", others, others)
        ranks = halves - rows @ others.T
    # Squares of outliers may overflow.
    return np.where(np.isnan(ranks), np.inf, ranks)


@dataclass(frozen=True, eq=False)
class _Sides:
    """The objects of one component, and all others."""

    X: Any
    is_inside: NDArray[np.bool_]
    metric: Metric
    n_jobs: int | None

    def shortest(self) -> Link:
        """The shortest link between the two."""
        inside = np.flatnonzero(self.is_inside)
        if len(inside) <= _FEW:
            return self._from_few(inside)
        return self._between(inside, np.flatnonzero(~self.is_inside))

    def _from_few(self, fixed: IntArray) -> Link:
        """The shortest link of a few objects inside to those outside."""
        if sp.issparse(self.X) or self.metric not in ("euclidean", "l2"):
            return self._between(fixed, np.flatnonzero(~self.is_inside))
        rows = self.X[fixed]

        def search(part: range) -> tuple[float, int, int]:
            there = slice(part.start, part.stop)
            squares = cdist(rows, self.X[there], "sqeuclidean")
            outside = ~self.is_inside[there]
            squares[:, ~outside] = np.inf
            i, j = divmod(int(squares.argmin()), squares.shape[1])
            if not outside[j]:
                # Nobody is there, or all distances overflow.
                j = int(outside.argmax()) if outside.any() else len(self.X) - part.start
            return float(squares[i, min(j, squares.shape[1] - 1)]), int(fixed[i]), part.start + j

        square, i, j = min(each(search, pieces(len(self.X), _COMPARED), self.n_jobs))
        return i, j, float(np.sqrt(square))

    def _between(self, inside: IntArray, outside: IntArray) -> Link:
        if self.metric == "precomputed":
            block = np.asarray(self.X)[np.ix_(inside, outside)]
            nearest = block.argmin(axis=1)
            distance = block[np.arange(len(inside)), nearest]
        else:
            index, lengths = neighbors_of(
                self.X[inside], self.X[outside], 1, metric=self.metric, n_jobs=self.n_jobs
            )
            nearest, distance = index[:, 0], lengths[:, 0]
        best = int(distance.argmin())
        return inside[best], outside[nearest[best]], distance[best]


def _thinned(part: IntArray, most: int) -> IntArray:
    return part[:: -(-len(part) // most)]


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
        index, lengths = neighbors_of(X[chosen], X[chosen], 2, metric=metric, n_jobs=n_jobs)
        other = (index[:, 0] == np.arange(len(chosen))).astype(int)
        nearest = index[np.arange(len(chosen)), other]
        distance = lengths[np.arange(len(chosen)), other]
    return chosen, chosen[nearest], distance


# Zelnik-Manor & Perona's neighbour for the local scale.
_SCALE_NEIGHBOR = 7
_LINK_WEIGHT = 0.3
# Lists are at most this many times as long as asked for, to hold all objects at equal distances.
_MOST_TIED = 2
# Relative differences of equal distances. Differences of coordinates lose digits: more than the
# last one may be rounded. A wider margin in single precision ties distances by chance.
_TIED, _TIED_SINGLE = 2.0**-31, 2.0**-18
# Lists during the search (twice), sorted lists, and the graph in both directions.
_BYTES_PER_NEIGHBOR = 48
_FEWER_NEIGHBORS = Message(
    *("Use fewer neighbours (", Parameter("n_neighbors"), "), or fit a subsample and predict the "),
    "other objects.",
)
# Below this number of comparisons of list entries, NumPy finishes before a loop is loaded.
_FEW_COMPARISONS = 2**19
# Objects, and edges, per thread at a time.
_OBJECTS = 2**14
_EDGES = 2**17


@dataclass(repr=False)
class NeighborGraph(Affinity):
    r"""Nearest-neighbour graph with local weights, sparse at any size.

    Parameters
    ----------
    n_neighbors : int
        Neighbours per object.
    metric : str or callable
        Any metric of scikit-learn, or "precomputed" for distances.
    keep : {"mutual", "union"}
        Keep an edge if both ends list each other, or if one does.
    weights : {"overlap", "local", "binary"}
        Jaccard overlap of the two neighbour lists, :math:`|L_i \cap L_j| / |L_i \cup L_j|`;
        :math:`\exp(-d_{ij}^2/\sigma_i\sigma_j)` with the distance to the 7th neighbour as scale;
        or one.
    connect : bool
        Join separate components by their shortest links, which count like ordinary edges (weight
        at least 0.3), so that a stray object does not become a cluster.
    n_jobs : int, optional
        Number of threads of the search.

    Notes
    -----
    Objects as far away as the last neighbour are neighbours, too, up to twice as many as asked for;
    if there are still more of them, none is. The graph therefore does not depend on the order of
    the objects where distances are equal, as those of counts and rounded values often are.

    A model tells the graph how many clusters it looks for (`fit_for`). If an even cluster has fewer
    objects than neighbours are asked for, all lists reach beyond the clusters, and their overlap
    says little. The weights are then those of ``weights="local"``, with the distance to the
    neighbour halfway through an even cluster as scale. If the number is not known, an even cluster
    is a third of the objects.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import NeighborGraph
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> graph = NeighborGraph(n_neighbors=2, weights="binary", connect=False).fit(X)
    >>> graph.matrix_.toarray()[0]
    array([0., 1., 1., 0., 0., 0.])
    """

    n_neighbors: int = 15
    metric: Metric = "euclidean"
    keep: Literal["mutual", "union"] = "mutual"
    weights: Literal["overlap", "local", "binary"] = "overlap"
    connect: bool = True
    n_jobs: int | None = None
    _of_rows: ClassVar[bool] = True
    _arrays: ClassVar[dict[str, str]] = {
        "n_neighbors": "count",
        "metric": "metric",
        "keep": "text",
        "weights": "text",
        "connect": "bool",
        "n_jobs": "int?",
        "_members": "int?matrix_ n *",
        "_radius": "float?matrix_ n",
        "_local_scale": "float?matrix_ n",
        "_few_rank": "count?",
        "_search": "part?matrix_ query() n? p?",
        "matrix_": "affinities? n n",
        "recall_": "finite?matrix_",
    }

    def fit(self, X: Any) -> Self:
        """Search the neighbours of all objects and build the weighted graph."""
        return self._fit(X, None)

    def _fit(self, X: Any, few_rank: int | None) -> Self:
        check_parameter("keep", self.keep, OneOf(("mutual", "union")))
        check_parameter("weights", self.weights, OneOf(("overlap", "local", "binary")))
        if self.metric == "precomputed":
            X = distances(X, metric="precomputed")
        # Which neighbour's distance is the local scale, if there are few objects per cluster.
        self._few_rank = few_rank
        n = X.shape[0]
        length = min(self.n_neighbors, n - 1)
        check_memory(
            _BYTES_PER_NEIGHBOR * n * max(length, 1),
            what=f"The neighbour graph of {n:,} objects with {length} neighbours each",
            remedy=_FEWER_NEIGHBORS,
        )
        self._search: Search = make_search(X, length, metric=self.metric, n_jobs=self.n_jobs)
        lists: IntArray = np.zeros((1, 0), dtype=np.int64)
        values: FloatArray = np.zeros((1, 0), dtype=X.dtype)
        if n > 1:
            lists, values = _with_ties(self._search.neighbors, length, n - 1)
        self.recall_ = self._search.recall
        if self.metric == "precomputed":
            # New objects bring their own distances; those of the fitted ones are not needed.
            self._search = ExactSearch(None, self.metric, self.n_jobs)
        self._members = _sorted_members(lists)
        self._radius = _last_distance(values) if length else np.full(n, np.inf, dtype=X.dtype)
        self._local_scale = _local_scale(values, few_rank)
        self.matrix_ = self._build(X, lists, values)
        return self

    def fit_for(self, X: Any, n_clusters: int | None) -> Self:
        """Build the graph for a number of clusters, or None if it is not known; see Notes."""
        size = X.shape[0] / (n_clusters or USUAL_NUMBER)
        is_few = size <= self.n_neighbors
        return self._fit(X, int(np.clip(np.ceil(size / 2), 1, _SCALE_NEIGHBOR)) if is_few else None)

    def masses(self, weights: FloatArray) -> FloatArray:
        r"""Factors :math:`w_i / \sqrt{a_i}`, with a the mean weight of an object's neighbours.

        Objects have a limited number of neighbours wherever they lie: the degree of one that stands
        for many is in proportion to its weight, and not to the weights of its neighbours, too.
        """
        graph = Graph.of(self.matrix_)
        around = np.asarray(graph.product(weights[:, None])).ravel()
        degrees = graph.degrees()
        mean = np.divide(around, degrees, out=weights.copy(), where=degrees > 0)
        return np.asarray(weights / np.sqrt(mean))

    def cross(self, X: Any) -> sp.csr_array:
        """Weights from new objects to the fitted ones they would be linked to.

        A new object keeps the neighbours within whose own radius it lies (``keep="mutual"``), and
        always the nearest one.
        """
        n = len(self._members)
        lists, values = self._nearest(X)
        known = lists >= 0
        reached = values <= self._radius[np.where(known, lists, 0)]
        kept = known & (reached if self.keep == "mutual" else True)
        kept[:, 0] = known[:, 0]
        row, place = np.nonzero(kept)
        column, distance = lists[row, place], values[row, place]
        scale = _local_scale(values, self._rank, self._local_scale)
        weight = self._weigh(_sorted_members(lists, first=n), scale, row, column, distance)
        shape = (lists.shape[0], n)
        return sp.csr_array((weight.astype(values.dtype), (row, column)), shape=shape)

    def neighborhood(self, X: Any = None) -> Neighborhood:
        """Distances of objects to their 7th neighbour among the fitted ones, and the neighbours."""
        if X is not None:
            return Neighborhood.of_lists(*self._nearest(X), rank=self._rank or _SCALE_NEIGHBOR)
        # Where all neighbours are copies, there is no distance.
        spacing = np.where(self._radius > 0, self._local_scale, 0.0)
        return Neighborhood(spacing, self._members)

    def nearby(self, X: Any) -> Neighborhood:
        """The same for new objects, from those fitted ones that are found at once."""
        if not isinstance(self._search, ApproximateSearch):
            return self.neighborhood(X)
        length = max(min(self.n_neighbors, len(self._members) - 1), 1)
        found = self._search.nearby(X, length)
        return Neighborhood.of_lists(*found, rank=self._rank or _SCALE_NEIGHBOR)

    def spacings(self) -> tuple[FloatArray, FloatArray, int, int]:
        """Distances to a near and to the last neighbour of each object, and their ranks."""
        rank = max(min(self.n_neighbors, len(self._radius) - 1), 1)
        near = min(self._rank or _SCALE_NEIGHBOR, rank)
        return self._local_scale, self._radius, near, rank

    @property
    def is_few(self) -> bool:
        """Whether there are fewer objects per cluster than neighbours; see Notes."""
        return self._rank is not None

    def separate_components(self) -> IntArray:
        """The component of each object in the graph without the links that join components."""
        first, place = self._edges(self._members)
        return pair_components(first, self._members[first, place], len(self._members))

    def neighborhood_among(self, X: Any, rank: int) -> tuple[IntArray, FloatArray]:
        """The nearest of the objects X for each of them, and the distances."""
        return nearest_neighbors(X, rank, metric=self.metric, n_jobs=self.n_jobs)

    def fitted_rows(self, numbers: IntArray) -> Any:
        """Some of the fitted objects, as they could be passed to `cross`."""
        return self._search.rows(numbers)

    @property
    def _rank(self) -> int | None:
        # Files of earlier versions lack it.
        rank: int | None = vars(self).get("_few_rank")
        return rank

    def _nearest(self, X: Any) -> tuple[IntArray, FloatArray]:
        """The fitted objects next to new ones, and their distances."""
        if self.metric == "precomputed":
            X = distances(X, np.empty((len(self._members), 0)), metric="precomputed")
        n = len(self._members)
        length = max(min(self.n_neighbors, n - 1), 1)

        def find(count: int, rows: IntArray | None = None) -> tuple[IntArray, FloatArray]:
            return self._search.query(X if rows is None else X[rows], count)

        return _with_ties(find, length, n)

    def _build(self, X: Any, lists: IntArray, values: FloatArray) -> sp.csr_array:
        n = len(lists)
        first, place = self._edges(lists)
        second, distance = lists[first, place], values[first, place]
        if self.connect:
            links = connecting_links(
                X,
                (first, second),
                (lists, values),
                self._radius,
                metric=self.metric,
                n_jobs=self.n_jobs,
            )
            first = np.concatenate([first, links[0]])
            second = np.concatenate([second, links[1]])
            distance = np.concatenate([distance, links[2]])
        weight = self._weigh(self._members, self._local_scale, first, second, distance)
        if self.connect:
            joining = slice(len(first) - len(links[0]), None)
            weight[joining] = np.maximum(weight[joining], _LINK_WEIGHT)
        return _symmetric(n, first, second, weight.astype(values.dtype))

    def _edges(self, lists: IntArray) -> tuple[IntArray, IntArray]:
        """Each edge once: an object, and the position of the other end in its list."""
        n, length = lists.shape
        mutual = self.keep == "mutual"
        if 4 * n * length**2 < _FEW_COMPARISONS:
            i = np.arange(n)[:, None]
            both = (self._members[lists] == i[:, :, None]).any(axis=2)
            kept = (lists >= 0) & (both & (i < lists) | ~both & (not mutual))
        else:
            from soffit.neighbors.kernels import edges_of_lists

            kept = np.zeros((n, length), dtype=bool)
            short = lists.astype(np.int32, copy=False), self._members.astype(np.int32, copy=False)

            def search(part: range) -> None:
                edges_of_lists(*short, part.start, part.stop, mutual, kept)

            each(search, pieces(n, _OBJECTS), self.n_jobs)
        first, place = np.nonzero(kept)
        return first.astype(np.int32), place.astype(np.int32)

    def _weigh(
        self,
        members: IntArray,
        scale: FloatArray,
        row: IntArray,
        column: IntArray,
        distance: FloatArray,
    ) -> FloatArray:
        """Weights of edges from objects with these lists and scales to fitted objects."""
        few = self._rank is not None and self.weights != "binary"
        if self.weights == "overlap" and not few:
            return _overlap(members, self._members, row, column, self.n_jobs)
        if self.weights == "local" or few:
            return _locally_scaled(distance, scale[row], self._local_scale[column])
        return np.ones(len(row))


def _symmetric(n: int, first: IntArray, second: IntArray, weight: FloatArray) -> sp.csr_array:
    """The symmetric matrix of edges that are each given once."""
    # Short integers where they suffice: half the memory traffic in every product with the graph.
    dtype = np.int32 if 2 * len(first) < np.iinfo(np.int32).max else np.int64
    ends = first.astype(dtype, copy=False), second.astype(dtype, copy=False)
    half = sp.csr_array((weight, ends), shape=(n, n))
    whole = sp.csr_array(half + half.T)
    # Older releases of SciPy leave the columns of a sum unsorted.
    whole.sort_indices()
    return whole


def _sorted_members(lists: IntArray, first: int = 0) -> IntArray:
    """Lists in ascending order; unknown members get numbers that no other list has.

    The objects are numbered starting at `first`.
    """
    result = np.empty_like(lists)

    def sort(part: range) -> None:
        rows = slice(part.start, part.stop)
        unused = -1 - first - np.arange(part.start, part.stop, dtype=lists.dtype)[:, None]
        result[rows] = np.sort(np.where(lists[rows] >= 0, lists[rows], unused), axis=1)

    each(sort, pieces(len(lists), _OBJECTS))
    return result


def _overlap(
    own: IntArray, other: IntArray, row: IntArray, column: IntArray, n_jobs: int | None
) -> FloatArray:
    """Jaccard overlap of neighbour lists; an empty overlap counts as 0.5, to keep the edge."""
    lengths = own.shape[1], other.shape[1]
    if len(row) * lengths[0] * lengths[1] < _FEW_COMPARISONS:
        shared = (own[row][:, :, None] == other[column][:, None, :]).sum(axis=(1, 2))
    else:
        from soffit.neighbors.kernels import shared_neighbors

        shared = np.empty(len(row), dtype=np.int32)
        lists = own.astype(np.int32, copy=False), other.astype(np.int32, copy=False)
        ends = row.astype(np.int32, copy=False), column.astype(np.int32, copy=False)

        def compare(part: range) -> None:
            edges = slice(part.start, part.stop)
            shared_neighbors(*lists, ends[0][edges], ends[1][edges], shared[edges])

        each(compare, pieces(len(row), _EDGES), n_jobs)
    found = np.maximum(shared, 0.5)
    listed = [np.sum(lists >= 0, axis=1) for lists in (own, other)]
    return np.asarray(found / (listed[0][row] + listed[1][column] - found))


def _local_scale(
    values: FloatArray, rank: int | None = None, known: FloatArray | None = None
) -> FloatArray:
    """Distance to the 7th neighbour, or another; the smallest positive one where that is zero.

    Where all neighbours are at distance zero, it is the smallest scale of all objects (or of the
    `known` ones): no unit of distance matters. It is one only if all objects are equal.
    """
    if values.shape[1] == 0:
        return np.ones(len(values), dtype=values.dtype)
    scale = values[:, min(rank or _SCALE_NEIGHBOR, values.shape[1]) - 1].copy()
    other = np.flatnonzero(~_usable(scale))
    rest = values[other]
    scale[other] = np.where(_usable(rest), rest, np.inf).min(axis=1)
    if not np.isfinite(scale).all():
        found = scale if known is None else known
        usable = found[_usable(found)]
        scale[~np.isfinite(scale)] = usable.min() if len(usable) else 1.0
    return scale


def _usable(distances: FloatArray) -> NDArray[np.bool_]:
    return np.asarray((distances > 0) & np.isfinite(distances))


def _last_distance(values: FloatArray) -> FloatArray:
    """Distance to the last neighbour of each list; lists may end early."""
    known = np.isfinite(values)
    last = np.where(known, values, -np.inf).max(axis=1)
    return np.asarray(np.where(known.any(axis=1), last, np.inf), dtype=values.dtype)


class _Find(Protocol):
    def __call__(self, count: int, rows: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Lists of so many neighbours (or fewer) of all objects or some, and the distances."""
        ...


def _with_ties(find: _Find, length: int, most: int) -> tuple[IntArray, FloatArray]:
    """Neighbours of all objects, with all others that are as far away as the last one.

    Only objects whose list ends among equal distances are searched again, for a longer one.

    `find`: from a number of neighbours, and the numbers of some objects, to lists and distances,
        nearest first. It may find fewer.
    `length`: number of neighbours.
    `most`: number of other objects.
    Returns (n, length): lists that are shorter than others end with -1 and infinite distances.
    """
    lists, values = find(min(length + 1, most))
    tied: IntArray = np.zeros(0, dtype=np.int64)
    if lists.shape[1] > length:
        tied = np.flatnonzero(_is_tied(values[:, length], values[:, length - 1]))
    lists, values = lists[:, :length], values[:, :length]
    if not len(tied):
        return np.ascontiguousarray(lists), np.ascontiguousarray(values)
    longer, lengths = _up_to_ties(*find(min(_MOST_TIED * length + 1, most), tied), length, most)
    missing = ((0, 0), (0, longer.shape[1] - length))
    lists = np.pad(lists, missing, constant_values=-1)
    values = np.pad(values, missing, constant_values=np.inf)
    lists[tied], values[tied] = longer, lengths
    return lists, values


def _up_to_ties(
    lists: IntArray, values: FloatArray, length: int, most: int
) -> tuple[IntArray, FloatArray]:
    """Long lists cut off after all objects that are as far away as the last of `length`."""
    last = values[:, length - 1].copy()
    # If even the longer list ends among equal distances, it holds some of them by chance.
    full = _is_tied(values[:, -1], last) & (values.shape[1] < most)
    nearer = ~_is_tied(values, last[:, None]) & (values < last[:, None])
    full &= nearer.any(axis=1)
    kept = np.where(full[:, None], nearer, nearer | _is_tied(values, last[:, None]))
    width = max(int(kept.sum(axis=1).max()), length)
    kept, lists, values = kept[:, :width], lists[:, :width], values[:, :width]
    return np.where(kept, lists, -1), np.where(kept, values, np.inf).astype(values.dtype)


def _is_tied(distance: FloatArray, other: FloatArray) -> NDArray[np.bool_]:
    """Whether distances are equal up to rounding."""
    tolerance = _TIED_SINGLE if distance.dtype == np.float32 else _TIED
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(distance - other) <= tolerance * np.abs(other))


def _locally_scaled(distance: FloatArray, a: FloatArray, b: FloatArray) -> FloatArray:
    # In float64, and without the product of two scales, nothing under- or overflows.
    distance = distance.astype(np.float64)
    # The floor keeps every edge in the graph, however long.
    return np.maximum(np.exp(-(distance / a) * (distance / b)), 1e-6)
