"""Each distinct object is fitted once, with the total weight of its copies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.affinity import SideInformation
from soffit.affinity.distinct import first_rows
from soffit.fitting.fitted import Fitted
from soffit.fitting.recipe import Data

# Attributes with a row per object; those of the factorization have one per distinct object.
_OF_OBJECTS = ("memberships_", "labels_", "entropy_", "overlap_", "instability_")


@dataclass(frozen=True, eq=False)
class DistinctColumns:
    """The columns of distinct objects in rows of distances to all objects."""

    kept: IntArray
    n_objects: int
    center: ClassVar[None] = None
    _arrays: ClassVar[dict[str, str]] = {"kept": "int * <p", "n_objects": "size p"}

    def apply(self, table: Any) -> Any:
        """Distances to the distinct objects."""
        return table[:, self.kept]

    def grown(self, m: int) -> DistinctColumns:
        """The same with m further objects, which are all distinct."""
        further = self.n_objects + np.arange(m)
        return DistinctColumns(np.concatenate([self.kept, further]), self.n_objects + m)


def distinct_data(data: Data, n_clusters: int | None) -> Data:
    """The data with each distinct object once, and the weights of the objects.

    Objects that must not be in one cluster stay apart even if they are equal, and so do some copies
    if there are fewer distinct objects than clusters.

    Parameters
    ----------
    data : Data
        The arguments of `fit`.
    n_clusters : int or None
        The number of clusters, if it is given.
    """
    objects, side = data.objects, data.side
    weights = data.constraints.checked_sample_weight(objects.n_objects)
    copies = objects.copies()
    if copies is not None:
        copies = _kept_apart(copies, side, n_clusters or 1)
    if copies is None:
        return replace(data, side=side, weights=_relative(weights))
    if side is not None:
        side = side.among_distinct(copies)
    return replace(
        data,
        objects=objects.distinct(copies),
        side=side,
        weights=_relative(np.bincount(copies, weights).astype(np.float64)),
        copies=copies,
    )


def for_all_objects(fitted: Fitted, data: Data, whole: Data) -> Fitted:
    """The fitted value of distinct objects as one of all objects.

    Parameters
    ----------
    fitted : Fitted
        That of the distinct objects.
    data, whole : Data
        The distinct objects, and all.
    """
    copies = data.copies
    if copies is None:
        return fitted
    attributes: dict[str, Any] = dict(fitted.attributes)
    for name in _OF_OBJECTS:
        if attributes.get(name) is not None:
            attributes[name] = attributes[name][copies]
    if "levels_" in attributes:
        attributes["levels_"] = [
            replace(level, memberships=level.memberships[copies]) for level in attributes["levels_"]
        ]
    attributes["copies_"] = copies
    attributes["object_names_"] = whole.names
    attributes["side_information_"] = whole.side
    preparation: Any = fitted.preparation
    if data.objects.is_matrix:
        preparation = DistinctColumns(first_rows(copies), len(copies))
    return replace(fitted, attributes=attributes, preparation=preparation)


def of_distinct_objects(attributes: Mapping[str, Any], values: Any) -> Any:
    """One row per distinct object of an array with a row per object."""
    copies = attributes.get("copies_")
    return values if copies is None else values[first_rows(copies)]


def _relative(weights: FloatArray) -> FloatArray | None:
    """Weights that are 1 on average; None if all are equal."""
    if len(weights) == 0 or np.all(weights == weights[0]):
        return None
    # By the largest first: the sum of very large weights would overflow.
    weights = weights / weights.max()
    return np.asarray(weights / weights.mean())


def _kept_apart(copies: IntArray, side: SideInformation | None, n_clusters: int) -> IntArray | None:
    """The same without the copies that must stay objects of their own."""
    alone = np.zeros(len(copies), dtype=bool)
    if side is not None and len(side.cannot):
        same = copies[side.cannot[:, 0]] == copies[side.cannot[:, 1]]
        alone[side.cannot[same].ravel()] = True
    missing = n_clusters - (int(copies.max()) + 1) - int(alone.sum())
    if missing > 0:
        again = np.ones(len(copies), dtype=bool)
        again[first_rows(copies)] = False
        alone[np.flatnonzero(again & ~alone)[:missing]] = True
    if not alone.any():
        return copies
    codes = np.where(alone, copies.max() + 1 + np.arange(len(copies)), copies)
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    if len(first) == len(copies):
        return None
    rank = np.argsort(np.argsort(first, kind="stable"), kind="stable")
    return np.asarray(rank[inverse.ravel()])
