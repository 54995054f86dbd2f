"""Informative pairs of objects to ask an expert about."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from soffit._threads import one_blas_thread
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity import SideInformation
from soffit.affinity.distinct import first_rows
from soffit.affinity.side_information import called
from soffit.factorize import leading_eigenvectors
from soffit.graph import Graph, as_array, pair_components, reciprocal
from soffit.memberships.answers import DUBIOUS, chances_wrong
from soffit.normalize import degree
from soffit.partition.candidates import MergeRule, conductance_gain, cut_gain
from soffit.partition.multilevel import multilevel_eigenvectors
from soffit.partition.rounding import cluster_qr

# Eigenvectors of larger graphs are computed level by level.
_MANY_OBJECTS = 20_000
_LEAST_REGIONS = 36
_MOST_REGIONS = 150
# An object asked about before represents its region unless another is twice as central.
_PREFER_KNOWN = 2.0
# Numbers of clusters of the committee's partitions, as multiples of the model's.
_COMMITTEE = (0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 1.8, 2.0)
# Weight of the model's own memberships relative to the committee.
_SHARE_OF_MODEL = 0.5


@dataclass(frozen=True, eq=False)
class Answers:
    """Known pairs and their implications: components of must-links, and which are separate.

    Pairs that are probably wrong imply nothing. They are not asked about again, but others in their
    place: `doubtful` objects, which are in no other pair, represent no region.
    """

    component: IntArray
    apart: IntArray
    touched: IntArray
    asked: IntArray
    doubtful: IntArray

    @classmethod
    def of(
        cls, side: SideInformation | None, n: int, trusted: NDArray[np.bool_] | None = None
    ) -> Answers:
        """The implications of the pairs for all objects, must-links first."""
        none = np.empty((0, 2), dtype=np.int64)
        given = SideInformation(none, none, n) if side is None else side
        known = given if trusted is None else given.only(trusted)
        rest = SideInformation(none, none, n) if trusted is None else given.only(~trusted)
        asked = np.concatenate([rest.must, rest.cannot])
        must, cannot = known.must, known.cannot
        component = pair_components(must[:, 0], must[:, 1], n).astype(np.int64)
        rivals = component[cannot]
        # Answers may be contradictory; must-links then take precedence here.
        rivals = rivals[rivals[:, 0] != rivals[:, 1]]
        apart = np.unique(_key(rivals[:, 0], rivals[:, 1], n))
        touched = known.touched()
        keys = _key(asked[:, 0], asked[:, 1], n)
        return cls(component, apart, touched, keys, np.setdiff1d(asked, touched))

    def separate(self, a: IntArray, b: IntArray) -> Any:
        """Whether objects are known to be in different clusters."""
        n = len(self.component)
        return np.isin(_key(self.component[a], self.component[b], n), self.apart)

    def is_open(self, a: IntArray, b: IntArray) -> Any:
        """Whether the answer for a pair is unknown."""
        implied = (self.component[a] == self.component[b]) | self.separate(a, b)
        return ~implied & ~np.isin(_key(a, b, len(self.component)), self.asked)

    def n_open(self) -> int:
        """Number of pairs with an unknown answer."""
        n = len(self.component)
        size = np.bincount(self.component).astype(np.int64)
        apart = np.sum(size[self.apart // n] * size[self.apart % n])
        first, second = self.component[self.asked // n], self.component[self.asked % n]
        asked = (first != second) & ~np.isin(_key(first, second, n), self.apart)
        return int(n * (n - 1) // 2 - np.sum(size * (size - 1) // 2) - apart - asked.sum())


def _key(a: IntArray, b: IntArray, n: int) -> IntArray:
    return np.minimum(a, b).astype(np.int64) * n + np.maximum(a, b)


# --- regions, and what answers make of them ----------------------------------------------------


@dataclass(frozen=True, eq=False)
class Regions:
    """A fine partition of the graph; every region is represented by a central object."""

    region: IntArray
    size: FloatArray
    representative: IntArray
    between: FloatArray

    @classmethod
    def of(cls, A: Matrix, region: IntArray, answers: Answers) -> Regions:
        """Regions of the graph by number, each with a representative."""
        graph = Graph.of(A)
        central = graph.inside(region)
        central[answers.touched] *= _PREFER_KNOWN
        central[answers.doubtful] = 0.0
        order = np.lexsort((-central, region))
        first = np.flatnonzero(np.diff(region[order], prepend=-1))
        # Isolated objects belong to no real region and represent no other object.
        linked = graph.degrees() > 0
        size = np.bincount(region, weights=linked).astype(np.float64)
        return cls(region, size, order[first], graph.between(region, len(size)))


def find_regions(A: Matrix, n_clusters: int, *, seed: int) -> IntArray:
    """The number of each object's region, by eigenvectors of the graph; answers play no part."""
    n = A.shape[0]
    n_regions = _number_of_regions(n, n_clusters)
    if not is_sparse(A) or n <= _MANY_OBJECTS:
        V = leading_eigenvectors(degree(A).matrix, n_regions, random_state=seed)[1]
        return np.asarray(np.unique(cluster_qr(V), return_inverse=True)[1])
    # Rough vectors are good enough for regions, and much quicker. Isolated objects represent none.
    region = np.zeros(n, dtype=np.int64)
    linked = Graph.of(A).linked()
    part = sp.csr_array(Graph.of(A).subgraph(linked).matrix)
    V = multilevel_eigenvectors(part, n_regions, random_state=seed)[1]
    region[linked] = np.unique(cluster_qr(V), return_inverse=True)[1]
    return region


def _number_of_regions(n: int, n_clusters: int) -> int:
    """Several per cluster, of at least six objects: few enough for some dozens of answers."""
    wanted = min(max(4 * n_clusters, _LEAST_REGIONS), n // 6, _MOST_REGIONS)
    return min(max(wanted, 2 * n_clusters), n)


@dataclass(frozen=True, eq=False)
class Groups:
    """Regions, merged if their representatives are known to belong together."""

    group: IntArray
    size: FloatArray
    speaker: IntArray
    memberships: FloatArray
    between: FloatArray
    apart: Any

    @classmethod
    def of(cls, regions: Regions, memberships: FloatArray, answers: Answers) -> Groups:
        """Regions merged by the answers, with their memberships."""
        n, n_regions = len(memberships), len(regions.size)
        component = answers.component[regions.representative]
        group = np.unique(component, return_inverse=True)[1]
        size = np.bincount(group, weights=regions.size).astype(np.float64)
        # The largest region of a group represents it.
        order = np.lexsort((-regions.size, group))
        speaker = regions.representative[order[np.flatnonzero(np.diff(group[order], prepend=-1))]]
        joined = sp.csr_array(
            (np.ones(n_regions), (group, np.arange(n_regions))), shape=(len(size), n_regions)
        )
        inside = sp.csr_array((np.ones(n), (group[regions.region], np.arange(n))))
        mean = (inside @ memberships) / np.asarray(inside.sum(axis=1)).reshape(-1, 1)
        between = np.asarray(joined @ regions.between @ joined.T)
        apart = answers.separate(speaker[:, None], speaker[None, :])
        return cls(group, size, speaker, mean, between, apart)


def chance_together(groups: Groups, n_clusters: int) -> FloatArray:
    """Probability that two groups share a cluster, by the model and by the committee."""
    by_model = groups.memberships @ groups.memberships.T
    levels = sorted({max(round(share * n_clusters), 2) for share in _COMMITTEE})
    levels = [level for level in levels if level < len(groups.size)]
    if not levels:
        return np.asarray(by_model)
    votes = np.zeros_like(by_model)
    for rule in (conductance_gain, cut_gain):
        for labels in _merged(groups.between, groups.apart, levels, rule):
            votes += labels[:, None] == labels[None, :]
    by_committee = votes / (2 * len(levels))
    return np.asarray(_SHARE_OF_MODEL * by_model + (1.0 - _SHARE_OF_MODEL) * by_committee)


def _merged(between: FloatArray, apart: Any, levels: list[int], rule: MergeRule) -> list[IntArray]:
    """Groups merged pairwise, except those known to be separate; labels at each level."""
    between, apart = between.copy(), apart.copy()
    cluster = np.arange(len(between))
    alive = np.arange(len(between))
    found: list[IntArray] = []
    for level in reversed(levels):
        while len(alive) > level:
            current = between[np.ix_(alive, alive)]
            allowed = (current > 0) & ~apart[np.ix_(alive, alive)]
            np.fill_diagonal(allowed, False)
            if not allowed.any():
                break
            gain = rule(current, np.maximum(current.sum(axis=1), 1e-300))
            best = int(np.where(allowed, gain, -np.inf).argmax())
            keep, drop = sorted(alive[list(divmod(best, len(alive)))])
            between[keep] += between[drop]
            between[:, keep] += between[:, drop]
            apart[keep] |= apart[drop]
            apart[:, keep] |= apart[:, drop]
            cluster[cluster == drop] = keep
            alive = alive[alive != drop]
        found.append(cluster.copy())
    return found


def suggest_pairs(
    model: Any, n_pairs: int, *, names: bool = False, random_state: Any = 0
) -> IntArray | list[tuple[Any, Any]]:
    r"""Select the pairs of objects whose must-link or cannot-link answers are most informative.

    Ask an expert about them, fit again with all answers so far, and repeat: the answers shape the
    next pairs. The value of a question about the objects a and b is

    .. math:: \min(w_a, w_b)\; h(p_{ab}), \quad h(p) = -p \log p - (1 - p) \log(1 - p),

    the number of objects that the answer affects, times the entropy of the answer. The graph is
    partitioned into several times as many regions as clusters, and the most central object
    represents the w objects of its region; regions merged by answers count as one. The probability
    p that two of them share a cluster is the mean of the model's (the product of their mean
    memberships) and that of a committee: partitions into fewer and more clusters, made by merging
    regions consistently with the answers. Clusters that may be two, and neighbours that may be one,
    therefore come first. Then follow single objects (w about 1) between clusters, each paired with
    a typical object of its most probable cluster. Where the model has `instability_`, that part of
    the uncertainty counts twice: unlike overlap of clusters, answers can resolve it.

    Each pair lowers the value of others about the same regions, which spreads the pairs over the
    clusters. No pair closes a cycle with others of the same call as long as other pairs are left.
    Known pairs, and pairs implied by them, are never returned. Answers that are probably wrong, by
    neighbours and other answers, imply nothing: other objects of the same regions are asked about,
    which confirms or outvotes them.

    Parameters
    ----------
    model : fitted model
        Any model with `memberships_` and `affinity_matrix_`. The pairs passed to its `fit` are
        known.
    n_pairs : int
        Number of pairs.
    names : bool, default False
        Whether to return names of rows or nodes, as `must_link` and `cannot_link` take them.
    random_state : int, RandomState or None, default 0
        Seed of the eigensolver, and of random pairs when all informative ones are used up. Keep it
        between rounds.

    Returns
    -------
    ndarray of shape (n_pairs, 2), or list of tuple
        Object numbers, the smaller first; the most valuable pair is in the first row. With `names`
        a list of pairs of names, or of numbers if the objects have no names. Names that are
        integers are returned as text, because an integer means a number of an object.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    TypeError
        If the model has no affinities between objects, or `n_pairs` is not an integer.
    ValueError
        If there is only one cluster, or fewer than `n_pairs` pairs are unknown.

    Examples
    --------
    >>> from soffit import SoftClustering
    >>> from soffit.datasets import make_gaussians
    >>> from soffit.selection import suggest_pairs
    >>> X, labels, posterior = make_gaussians(200, n_clusters=3, random_state=7)
    >>> model = SoftClustering(n_clusters=3, random_state=7).fit(X)
    >>> pairs = suggest_pairs(model, 10)
    >>> same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    >>> better = model.fit(X, must_link=pairs[same], cannot_link=pairs[~same])
    >>> suggest_pairs(better, 10).shape
    (10, 2)

    References
    ----------
    Explore and consolidate neighbourhoods: S. Basu, A. Banerjee, R. J. Mooney (2004). Active
    semi-supervision for pairwise constrained clustering. SDM. Questions by the entropy of the
    answer: S. Xiong, J. Azimi, X. Z. Fern (2014). Active learning of constraints for
    semi-supervised clustering. IEEE TKDE 26.
    """
    pairs, _ = valued_pairs(model, n_pairs, random_state=random_state)
    if not names:
        return pairs
    first, second = (called(end, getattr(model, "object_names_", None)) for end in pairs.T)
    return list(zip(first, second, strict=True))


def valued_pairs(
    model: Any,
    n_pairs: int,
    *,
    random_state: Any = 0,
    known_regions: dict[int, IntArray] | None = None,
) -> tuple[IntArray, FloatArray]:
    """The pairs of `suggest_pairs`, and the value of each in objects times nats.

    Regions are the same for all models of one graph with the same number of clusters: those in
    `known_regions` are used again, and new ones are added to it.
    """
    memberships, A = _of_fitted(model)
    copies = getattr(model, "copies_", None)
    doubt, known = _weight_of_doubt(model), _known_pairs(model)
    if copies is not None:
        # Equal objects have the same answers: ask about the first of them.
        asked = first_rows(copies)
        memberships, doubt = memberships[asked], doubt[asked]
        known = None if known is None else known.among_distinct(copies)
    n, k = memberships.shape
    graph = Graph.of(A).without_diagonal().without_strays(k).matrix
    answers = Answers.of(known, n, None if known is None else _trusted(model, graph, known))
    n_pairs = _checked_number(n_pairs, answers.n_open())
    generator = check_random_state(random_state)
    # One BLAS thread, as in fits: the same bytes on any machine.
    with one_blas_thread():
        seed = int(generator.randint(np.iinfo(np.int32).max))
        known_regions = {} if known_regions is None else known_regions
        if k not in known_regions:
            known_regions[k] = find_regions(graph, k, seed=seed)
        regions = Regions.of(graph, known_regions[k], answers)
    groups = Groups.of(regions, memberships, answers)
    choice = _Choice(answers, regions.region)
    choice.take_best(
        [
            _about_groups(groups, regions, doubt, k),
            _about_objects(groups, graph, memberships, answers, doubt),
        ],
        n_pairs,
    )
    choice.fill_up(n_pairs, generator)
    pairs = np.array(choice.pairs, dtype=np.int64)
    values = np.zeros(len(pairs))
    values[: len(choice.values)] = choice.values
    if copies is not None:
        pairs = np.sort(first_rows(copies)[pairs], axis=1)
    return pairs, values


# --- the model and its known pairs -------------------------------------------------------------


def _of_fitted(model: Any) -> tuple[FloatArray, Matrix]:
    """Memberships and affinities of a model, checked."""
    name = type(model).__name__
    memberships = getattr(model, "memberships_", None)
    if memberships is None:
        raise NotFittedError(f"This {name} has no memberships_. Call fit before suggest_pairs.")
    A = getattr(model, "affinity_matrix_", None)
    if A is None:
        raise TypeError(
            f"suggest_pairs needs affinities between objects, but {name} has no "
            "affinity_matrix_. Use a model of pairwise affinities, such as SoftClustering."
        )
    if memberships.shape[1] < 2:
        raise ValueError(
            f"model has n_clusters={memberships.shape[1]}: all pairs are in one cluster and "
            "there is nothing to ask. Fit it with at least two clusters."
        )
    return as_array(memberships).astype(np.float64, copy=False), A


def _known_pairs(model: Any) -> SideInformation | None:
    return getattr(model, "side_information_", None)


def _trusted(model: Any, A: Matrix, known: SideInformation) -> NDArray[np.bool_]:
    """Which answers the model follows and nothing speaks against."""
    after = of_distinct(model, model.memberships_)
    chances = chances_wrong(before_answers(model), A, known)
    return known.kept_by(after.argmax(axis=1)) & (chances < DUBIOUS)


def of_distinct(model: Any, values: Any) -> FloatArray:
    """Values of a model's distinct objects."""
    copies = getattr(model, "copies_", None)
    return as_array(values if copies is None else values[first_rows(copies)]).astype(np.float64)


def before_answers(model: Any) -> FloatArray:
    """Memberships of distinct objects without the answers, or with them if these are unknown."""
    after = of_distinct(model, model.memberships_)
    placer = getattr(getattr(model, "_fitted", None), "placer", None)
    correction = getattr(getattr(placer, "smoothing", None), "correction", None)
    if correction is None or correction.shape != after.shape:
        return after
    return np.clip(after - as_array(correction), 0.0, 1.0)


def _checked_number(n_pairs: Any, n_open: int) -> int:
    if not isinstance(n_pairs, Integral) or isinstance(n_pairs, bool):
        raise TypeError(f"n_pairs must be an integer, got {n_pairs!r}.")
    if int(n_pairs) < 1:
        raise ValueError(f"n_pairs must be at least 1, got {n_pairs}.")
    if int(n_pairs) > n_open:
        raise ValueError(
            f"n_pairs={n_pairs} is more than the {n_open} pairs with an unknown answer. Ask "
            f"for at most {n_open}."
        )
    return int(n_pairs)


def _weight_of_doubt(model: Any) -> FloatArray:
    """Between 1 and 2: one plus the share of instability in each object's entropy."""
    instability = getattr(model, "instability_", None)
    if instability is None:
        return np.ones(model.memberships_.shape[0])
    entropy = np.asarray(model.entropy_, dtype=np.float64)
    share = np.divide(instability, entropy, out=np.zeros(len(entropy)), where=entropy > 0)
    return np.asarray(1.0 + np.clip(share, 0.0, 1.0))


# --- questions and their values ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Questions:
    """Pairs with their values; the answer concerns the first object more than the second."""

    first: IntArray
    second: IntArray
    value: FloatArray


def _binary_entropy(p: FloatArray) -> FloatArray:
    p = np.clip(p, 1e-12, 1.0 - 1e-12)
    return np.asarray(-p * np.log(p) - (1.0 - p) * np.log1p(-p))


def _about_groups(
    groups: Groups, regions: Regions, doubt: FloatArray, n_clusters: int
) -> _Questions:
    """Representatives of any two groups; the smaller group comes first."""
    a, b = np.triu_indices(len(groups.size), 1)
    a, b = np.where(groups.size[a] <= groups.size[b], (a, b), (b, a))
    member = groups.group[regions.region]
    mean_doubt = np.bincount(member, weights=doubt) / np.bincount(member)
    value = groups.size[a] * _binary_entropy(chance_together(groups, n_clusters)[a, b])
    value *= (mean_doubt[a] + mean_doubt[b]) / 2
    return _Questions(groups.speaker[a], groups.speaker[b], value)


def _about_objects(
    groups: Groups, A: Matrix, memberships: FloatArray, answers: Answers, doubt: FloatArray
) -> _Questions:
    """Each object with a typical one of its most probable cluster that is not excluded."""
    n = len(memberships)
    objects = np.arange(n)
    typical = groups.speaker[(groups.size[:, None] * groups.memberships).argmax(axis=0)]
    ruled_out = answers.separate(objects[:, None], typical[None, :])
    p = np.where(ruled_out, 0.0, memberships)
    p /= np.maximum(p.sum(axis=1, keepdims=True), 1e-12)
    cluster = p.argmax(axis=1)
    # For how many objects this one is the first choice: about one on average.
    stands_for = np.asarray(A @ reciprocal(Graph.of(A).degrees())).ravel()
    value = stands_for * doubt * _binary_entropy(p[objects, cluster])
    # A known group is asked about through its representative only.
    value[np.bincount(answers.component)[answers.component] > 1] = 0.0
    return _Questions(objects, typical[cluster], value)


class _Choice:
    """Pairs chosen greedily; each lowers the value of others about the same regions."""

    def __init__(self, answers: Answers, region: IntArray) -> None:
        self.pairs: list[tuple[int, int]] = []
        self.values: list[float] = []
        self._answers = answers
        self._region = region
        self._used = np.zeros(int(region.max()) + 1)
        # Trees of objects linked by the pairs of this call; pairs inside a tree may be implied.
        self._chain: dict[int, int] = {}

    def take_best(self, kinds: list[_Questions], n_pairs: int) -> None:
        """Take pairs with a positive value that close no cycle, best first."""
        first = np.concatenate([kind.first for kind in kinds])
        second = np.concatenate([kind.second for kind in kinds])
        value = np.concatenate([kind.value for kind in kinds])
        usable = np.flatnonzero((value > 0) & self._answers.is_open(first, second))
        waiting = [(-value[q], int(q)) for q in usable]
        heapify(waiting)
        while waiting and len(self.pairs) < n_pairs:
            promised, q = heappop(waiting)
            a, b = int(first[q]), int(second[q])
            if self._end(a) == self._end(b):
                continue
            now = -value[q] / self._discount(a, b)
            # Values only fall: a question that still leads the queue is the best one.
            if waiting and now > waiting[0][0] and now > promised:
                heappush(waiting, (now, q))
                continue
            self._add(a, b)
            self.values.append(float(value[q]))

    def fill_up(self, n_pairs: int, generator: np.random.RandomState) -> None:
        """Add random unknown pairs, evenly over the objects, until there are enough."""
        order = generator.permutation(len(self._region))
        taken = set(self.pairs)
        for shift in range(1, len(order)):
            if len(self.pairs) >= n_pairs:
                return
            a, b = order[:-shift], order[shift:]
            for i in np.flatnonzero(self._answers.is_open(a, b)):
                pair = (int(min(a[i], b[i])), int(max(a[i], b[i])))
                if pair not in taken and len(self.pairs) < n_pairs:
                    self.pairs.append(pair)

    def _discount(self, a: int, b: int) -> float:
        return float((1 + self._used[self._region[a]]) * (1 + self._used[self._region[b]]))

    def _add(self, a: int, b: int) -> None:
        self.pairs.append((min(a, b), max(a, b)))
        self._chain[self._end(a)] = self._end(b)
        self._used[self._region[a]] += 1.0
        self._used[self._region[b]] += 0.5

    def _end(self, a: int) -> int:
        """The root of an object's tree."""
        while a in self._chain:
            a = self._chain[a]
        return a
