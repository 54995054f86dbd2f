"""A fitted value that learns of further objects, and of new clusters among them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from soffit._memory import check_allocation
from soffit._threads import without_warnings
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity import Affinity
from soffit.affinity.distinct import DistinctColumns
from soffit.affinity.given_objects import Objects, is_matrix_affinity
from soffit.affinity.isolation import OUTSIDE_FROM, Surroundings
from soffit.fitting.curation import distinct_objects, recorded, without_clusters
from soffit.fitting.data import Data
from soffit.fitting.fitted import Fitted, SimilarityPlacer, Smoothing, Unchanged
from soffit.fitting.monitor import Progress
from soffit.fitting.recipe import Recipe, membership_attributes, run
from soffit.graph import as_array, pair_components, stacked
from soffit.selection import choose_k_of_graph
from soffit.selection.density import Density

# A new cluster has at least this many objects, each with most of them as neighbours.
FEWEST_MEMBERS = 8
# Objects are in one group if they are closer to each other than to any known object by this factor.
_CLOSER = 1.5
# A group is a cluster if the known objects next to it are as isolated among its members as one of
# them is with this probability, at most.
_APART = 0.01
# Fewer objects are one cluster; with more, the number is chosen, if the choice is clear.
_FEWEST_TO_DIVIDE = 20
_CLEAR = 0.8
_NEARLY_ALL = 0.9


@dataclass(frozen=True, eq=False)
class GrownPlacer:
    r"""Places new objects among those of a fit, and among further ones with clusters of their own.

    A new object has memberships P in the clusters before and Q in the new ones, and the tail
    probabilities p and q of being as isolated among the objects of either (see `Surroundings`). It
    gets :math:`(1 - w) P` and :math:`w Q` with :math:`w = q / (p + q)`.
    """

    base: Any  # The fit before, or a grown one.
    # Numbers of objects before and now, and of clusters before anything is merged.
    n_base: int
    n_objects: int
    n_columns: int
    tails: FloatArray  # (n,): tail probabilities of all objects.
    first: IntArray  # (i,): columns of the clusters before.
    is_matrix: bool  # Whether objects are rows of similarities or distances to all others.
    added: SimilarityPlacer | None = None  # A fit of the objects that form new clusters.
    members: IntArray | None = None  # (a,): these objects.
    second: IntArray | None = None  # (q,): columns of their clusters.
    # What is done to the clusters afterwards.
    smoothing: Smoothing = field(default_factory=Unchanged)
    _arrays: ClassVar[dict[str, str]] = {
        "n_base": "size b",
        "n_objects": "size n",
        "n_columns": "size j",
        "tails": "finite n",
        "first": "int i <j",
        "is_matrix": "bool",
        "base": "part place() explained() tail() links() n=b p? k=i",
        "added": "part? :SimilarityPlacer n=a p? k=q",
        "members": "int? a <n",
        "second": "int? q <j",
        "smoothing": "part place() n? p? j k",
    }

    @property
    def affinity(self) -> Affinity:
        """The affinity of the first fit."""
        found: Affinity = self.base.affinity
        return found

    def place(self, table: Any) -> FloatArray:
        """Memberships of new objects."""
        return self._placed(table, with_tail=False)[0]

    def _placed(self, table: Any, *, with_tail: bool) -> tuple[FloatArray, Any]:
        """Memberships and, if wanted, tails: what one fit has computed, those around it use."""
        given, is_wanted = self.for_base(table), with_tail or self.added is not None
        if isinstance(self.base, GrownPlacer):
            before, p = self.base._placed(given, with_tail=is_wanted)
        else:
            before = as_array(self.base.place(given))
            p = self.base.tail(given) if is_wanted else None
        rows = np.zeros((before.shape[0], self.n_columns), dtype=before.dtype)
        rows[:, self.first] = before
        if self.added is not None:
            new = self.for_added(table)
            q = self.added.tail(new)
            # Both may be too small for a number; then the nearer ones decide nothing.
            share = np.divide(q, p + q, out=np.full(len(p), 0.5), where=p + q > 0)[:, None]
            rows[:, self.first] *= (1.0 - share).astype(rows.dtype)
            rows[:, self.second] = share * as_array(self.added.place(new))
            p = np.maximum(p, q)
        if not isinstance(self.smoothing, Unchanged):
            rows = self.smoothing.place(rows, table, self.links(table))
        return rows, p

    def explained(self, table: Any) -> tuple[float, float]:
        """Squared affinities that the first fit explains, and the total."""
        found: tuple[float, float] = self.base.explained(self.for_base(table))
        return found

    def tail(self, table: Any) -> FloatArray:
        """Probability that an ordinary object is as isolated as each new one."""
        p = self.base.tail(self.for_base(table))
        if self.added is not None:
            p = np.maximum(p, self.added.tail(self.for_added(table)))
        return np.asarray(p)

    def inner_tail(self) -> FloatArray:
        """The same for all objects."""
        return self.tails

    def nearest(self, table: Any) -> tuple[FloatArray, IntArray]:
        """Distance of new objects to the closest fitted one, in any unit, and which it is."""
        distance, numbers = self.base.nearest(self.for_base(table))
        if self.added is not None and self.members is not None:
            other, which = self.added.nearest(self.for_added(table))
            is_nearer = other < distance
            distance = np.where(is_nearer, other, distance)
            numbers = np.where(is_nearer, self.members[which], numbers)
        return distance, numbers

    def fitted_rows(self, numbers: IntArray) -> Any:
        """Some of the fitted objects, as new ones would be given."""
        if self.added is None or self.members is None:
            return self.base.fitted_rows(numbers)
        inside = np.isin(numbers, self.members)
        position = np.searchsorted(self.members, numbers[inside])
        parts = [self.base.fitted_rows(numbers[~inside]), self.added.fitted_rows(position)]
        return sp.vstack(parts, format="csr") if is_sparse(parts[0]) else np.concatenate(parts)

    def links(self, table: Any) -> Matrix:
        """Affinities of new objects to all objects."""
        before = self.base.links(self.for_base(table))
        shape = (before.shape[0], self.n_objects)
        added = None if self.added is None else self.added.links(self.for_added(table))
        if is_sparse(before):
            whole = sp.csr_array((before.data, before.indices, before.indptr), shape=shape)
            if added is None:
                return whole
            entries = sp.coo_array(added)
            assert self.members is not None
            placed = (entries.data, (entries.coords[0], self.members[entries.coords[1]]))
            return sp.csr_array(whole + sp.csr_array(placed, shape=shape))
        block = np.zeros(shape, dtype=before.dtype)
        block[:, : before.shape[1]] = before
        if added is not None:
            block[:, self.members] += added.toarray() if is_sparse(added) else added
        return block

    def for_base(self, table: Any) -> Any:
        """What the fit before sees of new objects."""
        return table[:, : self.n_base] if self.is_matrix else table

    def for_added(self, table: Any) -> Any:
        """What the fit of the added objects sees of new ones."""
        return table[:, self.members] if self.is_matrix else table


def update_fit(
    fitted: Fitted,
    table: Any,
    names: Any,
    make_recipe: Callable[[int], Recipe[Any]],
    *,
    seeds: np.random.RandomState,
    progress: Progress,
) -> Fitted:
    """A fitted value of old and new objects.

    `fitted`: that of the old objects, with a placer that knows novelty.
    `table`: the new objects; of a matrix model their rows of similarities or distances to the old
        and the new objects.
    `names`: names of all objects.
    `make_recipe`: the recipe for a number of new clusters.
    `seeds`: source of randomness.
    `progress`: shows the fits of new clusters.
    """
    old = fitted.attributes
    placer: Any = fitted.placer
    affinity: Affinity = placer.affinity
    is_matrix = is_matrix_affinity(affinity)
    preparation: Any = fitted.preparation
    if isinstance(preparation, DistinctColumns):
        preparation = preparation.grown(table.shape[0])
        table = preparation.apply(table)
    elif not is_matrix:
        table = fitted.prepared(table)
    m, k = table.shape[0], old["n_clusters_"]
    # Equal objects may have been fitted as one: affinities are those of distinct objects.
    known = old["affinity_matrix_"].shape[0]
    start = GrownPlacer(placer, known, known + m, k, np.zeros(0), np.arange(k), is_matrix)
    progress.phase("objects outside")
    tails = np.concatenate([placer.inner_tail(), start.tail(table)])
    grown = replace(start, tails=tails)
    A = _joined(old["affinity_matrix_"], placer.links(start.for_base(table)))
    for group in groups_outside(table, tails[known:], grown):
        progress.phase("new cluster")
        rows = table[group]
        objects = Objects(rows[:, group + known] if is_matrix else rows, is_matrix, clone(affinity))
        inside = _fit_group(make_recipe, objects, seeds, progress)
        first = distinct_objects(inside.attributes)
        members = known + (group if first is None else group[first])
        grown = _with_clusters(grown, inside, members, table)
        A = _linked(A, inside.attributes["affinity_matrix_"], members)
    return replace(
        fitted,
        attributes=_attributes(old, grown, grown.place(table), A, names),
        preparation=preparation,
        placer=grown,
    )


def _attributes(
    old: Any, grown: GrownPlacer, placed: FloatArray, A: Matrix, names: Any
) -> dict[str, Any]:
    """The public attributes of old and new objects."""
    rows, k = old["memberships_"], old["n_clusters_"]
    n = rows.shape[0] + len(placed)
    memberships: Any
    if is_sparse(rows):
        shape = rows.shape[0], grown.n_columns
        wider = sp.csr_array((rows.data, rows.indices, rows.indptr), shape=shape)
        memberships = stacked([wider, sp.csr_array(placed.astype(rows.dtype))])
    else:
        memberships = np.zeros((n, grown.n_columns), dtype=rows.dtype)
        memberships[: len(rows), :k] = rows
        memberships[len(rows) :] = placed
    attributes = {
        **_recorded(old, grown.n_columns),
        "object_names_": names,
        "affinity_matrix_": A,
        "n_clusters_": grown.n_columns,
        **membership_attributes(memberships),
    }
    if "copies_" in old:
        further = np.arange(grown.n_objects - len(placed), grown.n_objects)
        attributes["copies_"] = np.concatenate([old["copies_"], further])
    side = old.get("side_information_")
    if side is not None:
        attributes["side_information_"] = replace(side, n_objects=n)
    if grown.is_matrix:
        # The columns are the objects: names of the former ones are no longer all.
        attributes["n_features_in_"] = n
        attributes.pop("feature_names_in_", None)
    return attributes


def _recorded(old: Any, n_clusters: int) -> dict[str, Any]:
    """The names of clusters, numbers for new ones, and one more step of the record."""
    names = old.get("cluster_names_")
    if names is not None:
        more = [str(number) for number in range(len(names), n_clusters)]
        names = np.array([*map(str, names), *more], dtype=np.str_)
    return recorded(without_clusters(old), names, "update(X_new)")


# --- groups of objects that fit nowhere -----------------------------------------------------------


def groups_outside(table: Any, tails: FloatArray, known: Any) -> list[IntArray]:
    """New objects that form clusters of their own, the largest first.

    `table`: the new objects.
    `tails` (m,): their tail probabilities.
    `known`: places objects among the known ones.
    """
    affinity: Affinity = known.affinity
    is_matrix = is_matrix_affinity(affinity)
    outside = np.flatnonzero(1.0 - tails >= OUTSIDE_FROM)
    if len(outside) < FEWEST_MEMBERS:
        return []
    far = table[outside]
    among = far[:, known.n_base + outside] if is_matrix else far
    neighbors, distances = affinity.neighborhood_among(among, FEWEST_MEMBERS - 1)
    nearest, which = known.nearest(far)
    rows = np.repeat(np.arange(len(outside)), neighbors.shape[1])
    ends, length = neighbors.ravel(), distances.ravel()
    limit = np.minimum(nearest[rows], nearest[np.maximum(ends, 0)]) / _CLOSER
    linked = (ends >= 0) & (length <= limit) & np.isfinite(length)
    component = pair_components(rows[linked], ends[linked], len(outside))
    found = []
    for number in np.flatnonzero(np.bincount(component) >= FEWEST_MEMBERS):
        group = np.flatnonzero(component == number)
        beside = np.unique(which[group])
        if is_matrix:
            members, others = among[group][:, group], far[group][:, beside[beside >= 0]].T
        else:
            members, others = far[group], known.fitted_rows(beside)
        if _is_apart(members, others, affinity):
            found.append(outside[group])
    return sorted(found, key=len, reverse=True)


def _is_apart(members: Any, others: Any, affinity: Affinity) -> bool:
    """Whether the other objects lie outside a group."""
    if others.shape[0] == 0:
        return True
    fresh = clone(affinity).fit(members)
    return bool(np.median(Surroundings.of(fresh).tail(fresh, others)) <= _APART)


def _fit_group(
    make_recipe: Callable[[int], Recipe[Any]],
    objects: Objects,
    seeds: np.random.RandomState,
    progress: Progress,
) -> Fitted:
    # They are about the group, which the user does not know of.
    with without_warnings():
        n_clusters = _number_of_clusters(objects)
        fitted = run(make_recipe(n_clusters), Data(objects), seeds, progress)
        if n_clusters > 1 and not _are_apart(objects, fitted):
            fitted = run(make_recipe(1), Data(objects), seeds, progress)
    assert isinstance(fitted.placer, SimilarityPlacer)
    return replace(fitted, placer=fitted.placer.with_surroundings())


def _number_of_clusters(objects: Objects) -> int:
    """The number of clusters of a group: more than one only if that is clear."""
    if objects.n_objects < _FEWEST_TO_DIVIDE:
        return 1
    affinity = objects.affinities().affinity
    choice = choose_k_of_graph(affinity.matrix_, density=Density.of(affinity))
    return int(choice.n_clusters) if choice.confidence >= _CLEAR else 1


def _are_apart(objects: Objects, fitted: Fitted) -> bool:
    """Whether every cluster of a group has members, and nearly all others lie outside it."""
    first = distinct_objects(fitted.attributes)
    objects = objects if first is None else objects.inside(first)
    assert fitted.placer is not None
    labels = fitted.placer.place(objects.table).argmax(axis=1)
    assert objects.builder is not None
    for cluster in range(fitted.attributes["n_clusters_"]):
        inside, outside = np.flatnonzero(labels == cluster), np.flatnonzero(labels != cluster)
        if len(inside) < FEWEST_MEMBERS:
            return False
        affinity = clone(objects.builder).fit(objects.inside(inside).table)
        tails = Surroundings.of(affinity).tail(affinity, objects.outside(outside, inside))
        if np.quantile(tails, _NEARLY_ALL) > _APART:
            return False
    return True


def _with_clusters(
    known: GrownPlacer, inside: Fitted, members: IntArray, table: Any
) -> GrownPlacer:
    """The placer with the clusters of a group."""
    added: Any = inside.placer
    k, q = known.n_columns, int(inside.attributes["n_clusters_"])
    grown = GrownPlacer(
        known,
        known.n_objects,
        known.n_objects,
        k + q,
        known.tails,
        np.arange(k),
        known.is_matrix,
        added,
        members,
        np.arange(k, k + q),
    )
    tails = known.tails.copy()
    n_old = known.n_objects - table.shape[0]
    tails[n_old:] = np.maximum(tails[n_old:], added.tail(grown.for_added(table)))
    # The objects of the group are compared with the others of it.
    tails[members] = np.maximum(known.tails[members], added.inner_tail())
    return replace(grown, tails=tails)


# --- the graph of all objects ---------------------------------------------------------------------


def _joined(A: Matrix, links: Matrix) -> Matrix:
    """Affinities of old objects, and those between old and new ones."""
    n, m = A.shape[0], links.shape[0]
    if is_sparse(A):
        links = sp.csr_array(links).astype(A.dtype)
        none = sp.csr_array((m, m), dtype=A.dtype)
        joined = sp.csr_array(sp.block_array([[A, links.T], [links, none]], format="csr"))
        joined.sort_indices()
        return joined
    remedy = "Update with fewer objects, or use affinity='nearest_neighbors'."
    check_allocation((n + m, n + m), A.dtype, what="the affinities of all objects", remedy=remedy)
    joined = np.zeros((n + m, n + m), dtype=A.dtype)
    joined[:n, :n], joined[n:, :n] = A, links.toarray() if is_sparse(links) else links
    joined[:n, n:] = joined[n:, :n].T
    return joined


def _linked(A: Matrix, inside: Matrix, members: IntArray) -> Matrix:
    """The affinities with those inside a group of new objects."""
    if is_sparse(A):
        entries = sp.coo_array(inside)
        placed = (entries.data, (members[entries.coords[0]], members[entries.coords[1]]))
        joined = sp.csr_array(A + sp.csr_array(placed, shape=A.shape, dtype=A.dtype))
        joined.sort_indices()
        return joined
    A = A.copy()
    A[np.ix_(members, members)] = inside.toarray() if is_sparse(inside) else inside
    return A
