"""Clusters merged, split and named by hand, in a fitted value and for new objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import IntArray, Matrix, is_sparse
from soffit.affinity.distinct import first_rows
from soffit.affinity.given_objects import Affinities, Objects
from soffit.affinity.precomputed import Precomputed
from soffit.fitting.data import Data
from soffit.fitting.fitted import Fitted, Placer, Smoothing
from soffit.fitting.monitor import Progress
from soffit.fitting.recipe import Recipe, membership_attributes, run
from soffit.graph import as_array
from soffit.memberships.measures import largest
from soffit.selection.density import Density

# Attributes that describe clusters one by one, or the uncertainty of these clusters: they are no
# longer true when clusters are others.
_OF_CLUSTERS = frozenset(
    {
        *("factor_", "scale_", "lambda_", "bipartite_", "log_likelihood_", "threshold_path_"),
        *("embedding_", "eigenvalues_", "cut_", "relaxed_bound_", "levels_", "tree_"),
        *("k_choice_", "overlap_", "instability_", "cluster_stability_"),
        *("agreement_", "expected_accuracy_"),
    }
)


# --- new objects ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Merged:
    """A smoothing whose clusters are then merged."""

    smoothing: Smoothing  # From rows to memberships in the clusters before.
    group: IntArray  # (i,): new cluster of each of them.
    n_clusters: int  # Number of new clusters.
    _arrays: ClassVar[dict[str, str]] = {
        "n_clusters": "size k",
        "group": "int i <k",
        "smoothing": "part place() n? p? j k=i",
    }

    def place(self, rows: Any, table: Any, block: Matrix) -> Any:
        """Memberships of new objects."""
        return summed(self.smoothing.place(rows, table, block), self.group, self.n_clusters)


@dataclass(frozen=True, eq=False)
class Split:
    """A smoothing one of whose clusters is then split."""

    smoothing: Smoothing  # From rows to memberships in the clusters before.
    origin: IntArray  # (k,): the cluster before from which each new one comes.
    share: IntArray  # (k,): which part of that cluster it is; -1 for the whole of it.
    members: IntArray  # (s,): objects of the cluster.
    # A fit of these objects to their affinities, which places others by their affinities to them.
    parts: Placer
    # Numbers of all objects, of clusters before, and of parts.
    n_objects: int
    n_before: int
    n_parts: int
    _arrays: ClassVar[dict[str, str]] = {
        "n_objects": "size n",
        "n_before": "size i",
        "n_parts": "size q",
        "smoothing": "part place() n? p? j k=i",
        "origin": "int k <i",
        "share": "int k -1<q",
        "members": "int s <n",
        "parts": "part place() explained() n=s k=q",
    }

    def place(self, rows: Any, table: Any, block: Matrix) -> Any:
        """Memberships of new objects."""
        before = self.smoothing.place(rows, table, block)
        shares = self.parts.place(block[:, self.members])
        return distributed(before, self.origin, self.share, shares)


def summed(memberships: Any, group: IntArray, n_clusters: int) -> Any:
    """Memberships in groups of clusters."""
    if is_sparse(memberships):
        places = group[memberships.indices]
        rows = (memberships.data, places, memberships.indptr)
        # Sums are made in place, and the memberships before stay.
        result = sp.csr_array(rows, shape=(memberships.shape[0], n_clusters), copy=True)
        result.sum_duplicates()
        return result
    order = np.argsort(group, kind="stable")
    found, first = np.unique(group[order], return_index=True)
    result = np.zeros((memberships.shape[0], n_clusters), dtype=memberships.dtype)
    result[:, found] = np.add.reduceat(memberships[:, order], first, axis=1)
    return result


def distributed(memberships: Any, origin: IntArray, share: IntArray, shares: Any) -> Any:
    """Memberships in clusters one of which is divided by the shares of each object."""
    is_part = share >= 0
    if is_sparse(memberships):
        parts = memberships[:, origin[is_part]] * as_array(shares)[:, share[is_part]]
        split = sp.hstack([memberships[:, origin[~is_part]], parts], format="csr")
        order = np.concatenate([np.flatnonzero(~is_part), np.flatnonzero(is_part)])
        return sp.csr_array(split[:, np.argsort(order)]).astype(memberships.dtype)
    result, shares = memberships[:, origin], as_array(shares)
    result[:, is_part] *= shares[:, share[is_part]].astype(result.dtype, copy=False)
    return result


# --- the fitted value -----------------------------------------------------------------------------


def merged_fit(fitted: Fitted, group: IntArray, names: NDArray[Any] | None, step: str) -> Fitted:
    """A fitted value whose clusters are merged."""
    n_clusters = int(group.max()) + 1
    memberships = summed(fitted.attributes["memberships_"], group, n_clusters)
    return _curated(
        fitted,
        memberships,
        lambda smoothing: Merged(smoothing, group, n_clusters),
        names,
        step,
    )


def split_fit(
    fitted: Fitted,
    cluster: int,
    recipe: Recipe[Any],
    names: Callable[[int], NDArray[Any] | None],
    step: str,
    *,
    seeds: np.random.RandomState,
    progress: Progress,
) -> Fitted:
    """A fitted value one of whose clusters is split into parts.

    The objects of the cluster are fitted by the recipe to their own affinities. All other objects
    are placed among the parts by their affinities to these. The largest part keeps the number of
    the cluster, the others follow after the last one.

    `fitted`: with affinities between objects.
    `recipe`: how to fit the parts.
    `names`: names of all clusters for a number of parts.
    `step`: what is done, for the record.
    `seeds`: source of randomness.
    `progress`: shows the fit.
    """
    attributes, placer = fitted.attributes, fitted.placer
    memberships = attributes["memberships_"]
    # Equal objects may have been fitted as one: affinities are those of distinct objects.
    nodes = distinct_objects(attributes)
    labels = attributes["labels_"] if nodes is None else attributes["labels_"][nodes]
    A = _factorized(placer, attributes)
    k, n = memberships.shape[1], len(labels)
    members = np.flatnonzero(labels == cluster)
    # Where the cluster has parts depends on the density around its objects, which the affinities
    # of its objects alone do not show.
    density = density_of(placer, n)
    inside = _fit_inside(
        recipe,
        A[members][:, members],
        fitted,
        None if density is None else density.of_nodes(members, None),
        seeds=seeds,
        progress=progress,
    )
    parts = inside.placer
    assert parts is not None
    found = inside.attributes["memberships_"]
    shares = np.empty((n, found.shape[1]), dtype=memberships.dtype)
    shares[members] = as_array(found)
    others = np.flatnonzero(labels != cluster)
    if len(others):
        shares[others] = as_array(parts.place(A[others][:, members]))
    of_objects = shares if nodes is None else shares[attributes["copies_"]]
    n_parts = found.shape[1]
    origin = np.concatenate([np.arange(k), np.full(n_parts - 1, cluster)])
    places = [cluster, *range(k, len(origin))]
    share = np.full(len(origin), -1)
    share[places] = np.arange(n_parts)
    # A part may lose objects to other clusters: its size is that after the division.
    divided = distributed(memberships, origin, share, of_objects)
    sizes = np.bincount(largest(divided)[0], minlength=len(origin))[places]
    share[places] = np.argsort(-sizes, kind="stable")
    return _curated(
        fitted,
        distributed(memberships, origin, share, of_objects),
        lambda smoothing: Split(smoothing, origin, share, members, parts, n, k, n_parts),
        names(n_parts),
        step,
    )


def distinct_objects(attributes: Mapping[str, Any]) -> IntArray | None:
    """The first of the objects that were fitted as one, for each distinct one; None without any."""
    index = attributes.get("copies_")
    return None if index is None else first_rows(index)


def _factorized(placer: Any, attributes: Mapping[str, Any]) -> Matrix:
    """The part of the affinities in which the clusters were found."""
    A: Matrix = attributes["affinity_matrix_"]
    part = getattr(placer, "part", None)
    return A if part is None else part.of(A, attributes.get("side_information_"))


def density_of(placer: Any, n_objects: int) -> Density | None:
    """The density at the fitted objects; None if it is not known."""
    affinity = getattr(placer, "affinity", None)
    density = None if affinity is None else Density.of(affinity)
    return None if density is None or len(density.logarithm) != n_objects else density


def renamed_fit(fitted: Fitted, names: NDArray[Any] | None, step: str) -> Fitted:
    """A fitted value with other names of clusters."""
    return replace(fitted, attributes=recorded(fitted.attributes, names, step))


def _curated(
    fitted: Fitted,
    memberships: Any,
    wrap: Callable[[Smoothing], Smoothing],
    names: NDArray[Any] | None,
    step: str,
) -> Fitted:
    kept = without_clusters(fitted.attributes)
    attributes = {
        **recorded(kept, names, step),
        "n_clusters_": memberships.shape[1],
        **membership_attributes(memberships),
    }
    placer: Any = fitted.placer
    if placer is not None:
        placer = replace(placer, smoothing=wrap(placer.smoothing))
    return replace(fitted, attributes=attributes, placer=placer)


def without_clusters(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that stay true when clusters change."""
    return {name: value for name, value in attributes.items() if name not in _OF_CLUSTERS}


def recorded(
    attributes: Mapping[str, Any], names: NDArray[Any] | None, step: str
) -> dict[str, Any]:
    """The attributes with new names of clusters and one more step of the record."""
    steps = [*attributes.get("curation_", ()), step]
    kept = {name: value for name, value in attributes.items() if name != "cluster_names_"}
    kept["curation_"] = np.array(steps, dtype=np.str_)
    return kept if names is None else {**kept, "cluster_names_": names}


def _fit_inside(
    recipe: Recipe[Any],
    A: Matrix,
    whole: Fitted,
    density: Density | None,
    *,
    seeds: np.random.RandomState,
    progress: Progress,
) -> Fitted:
    """A fit of objects to given affinities, which were checked when they were computed."""
    affinity = Precomputed()
    affinity.matrix_ = A
    relations = Affinities(affinity, whole.preparation, A, A)
    given = replace(recipe, relate=lambda *_: relations)
    return run(given, Data(Objects(A, True, affinity), density=density), seeds, progress)
