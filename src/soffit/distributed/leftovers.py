"""Clusters that a sample is too small to show: objects outside it, from all blocks.

A cluster of a few objects in ten thousand has less than a handful of objects in the sample. They
belong to no cluster there, and the others of their kind lie outside everything that was fitted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from soffit._threads import without_warnings
from soffit._typing import FloatArray, IntArray
from soffit.affinity import Affinity, NeighborGraph
from soffit.affinity.isolation import Surroundings
from soffit.distributed.engine import Engine
from soffit.distributed.placement import Placement, by_tiles
from soffit.distributed.row_blocks import (
    Blocks,
    Drawn,
    Place,
    Selection,
    over_blocks,
    row_hash,
)
from soffit.fitting.fitted import Fitted
from soffit.fitting.monitor import Progress
from soffit.fitting.recipe import Recipe
from soffit.fitting.update import FEWEST_MEMBERS, groups_outside, update_fit
from soffit.graph import stacked

# At most this many times as many rows as were fitted are searched for leftovers.
_SEARCHED = 10
# A leftover is as isolated among the sample as one object in so many is, at most.
LEFTOVER = 1e-3
# Separate groups of the sample with fewer objects cannot hide others of their kind.
_FEWEST_HIDING = 3
# Separate groups with a larger share of an even cluster are left to the fit.
_STRAY_SHARE = 0.1
# Objects among which it is judged whether such a group lies outside.
_COMPARED = 10_000
_OUTSIDE = 0.01
# Most of the objects in the range of a group must be leftovers: else it is the rim of a cluster.
_PURE = 0.9
_INSIDE = 0.01
# A share of the rows rules most of the others out, with a margin of so many standard deviations.
_GLANCE = 0.02
_MARGIN = 4.0
# A new cluster is fitted to no more rows.
_MOST_FITTED = 20_000


# --- groups that hide in the sample ---------------------------------------------------------------


def hidden_groups(fitted: Fitted, table: Any, n_clusters: int) -> IntArray:
    """Objects of a sample in small groups far from all others, by their rows.

    A fit gives them to the next cluster. With them, the sample would seem to show what they are.
    """
    affinity = getattr(fitted.placer, "affinity", None)
    none = np.zeros(0, dtype=np.int64)
    if not isinstance(affinity, NeighborGraph) or "copies_" in fitted.attributes:
        return none
    component = affinity.separate_components()
    sizes = np.bincount(component)
    limit = _STRAY_SHARE * len(component) / n_clusters
    small = np.flatnonzero((sizes >= _FEWEST_HIDING) & (sizes < limit))
    if not len(small):
        return none
    rows = fitted.preparation.apply(table)
    rest = np.flatnonzero(~np.isin(component, small))
    rest = rest[:: -(-len(rest) // _COMPARED)]
    compared = clone(affinity).fit(rows[rest])
    members = np.flatnonzero(np.isin(component, small))
    tails = Surroundings.of(compared).tail(compared, rows[members])
    order = np.argsort(component[members], kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(component[members][order])) + 1)
    far = [members[part] for part in parts if np.median(tails[part]) <= _OUTSIDE]
    return np.sort(np.concatenate(far)) if far else none


# --- leftovers of all blocks ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Leftovers:
    """Objects outside the sample, and how many rows were searched for them."""

    drawn: Drawn
    n_searched: int


@dataclass(frozen=True, eq=False)
class Search:
    """Which rows of which blocks are searched, and by whom."""

    blocks: Blocks
    selection: Selection
    engine: Engine
    progress: Progress

    @classmethod
    def of(
        cls, blocks: Blocks, n_fitted: int, salt: int, engine: Engine, progress: Progress
    ) -> Search:
        """All rows, or those with the smallest hashes if there are many more than were fitted."""
        share = _SEARCHED * n_fitted / float(blocks.starts()[-1])
        return cls(blocks, Selection.share(share, salt, blocks.dtype), engine, progress)

    def glance(self) -> Search:
        """The same for a small share of the rows."""
        selection = replace(self.selection, limit=int(_GLANCE * self.selection.limit))
        return replace(self, selection=selection)

    def run(self, function: Callable[..., Any], shared: Any) -> list[Any]:
        """The results of ``function(block, place, selection, shared)`` for all blocks."""
        return over_blocks(
            function, self.blocks, self.engine, self.progress, self.selection, shared
        )


def collect(search: Search, shared: Any) -> Leftovers:
    """The leftovers among the rows that are searched; `shared` is the placement at the workers."""
    found = search.run(_outside_rows, shared)
    numbers = np.concatenate([part[0] for part in found])
    table = stacked([part[1] for part in found])
    return Leftovers(Drawn(numbers, table), int(sum(part[2] for part in found)))


def _outside_rows(
    block: Any, place: Place, selection: Selection, placement: Placement
) -> tuple[IntArray, Any, int]:
    numbers, table = selection.rows(block, place)
    # Whoever is close enough to the first fitted objects that are found is close enough.
    unclear = np.flatnonzero(1.0 - by_tiles(placement, table, "quick_novelty") <= LEFTOVER)
    tails = 1.0 - by_tiles(placement, table[unclear], "novelty")
    outside = unclear[tails <= LEFTOVER]
    return numbers[outside], table[outside], len(numbers)


# --- groups of leftovers --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GroupRange:
    """The range of a group of objects, prepared as for the fit."""

    affinity: Affinity
    surroundings: Surroundings
    lowest: FloatArray
    highest: FloatArray

    @classmethod
    def of(cls, members: FloatArray, affinity: Affinity) -> GroupRange:
        """That of some objects."""
        own = clone(affinity).fit(members)
        around = Surroundings.of(own)
        finite = around.spacing[np.isfinite(around.spacing)]
        margin = 2.0 * float(finite.max(initial=0.0))
        return cls(own, around, members.min(axis=0) - margin, members.max(axis=0) + margin)

    def count(self, rows: FloatArray) -> int:
        """How many of the rows are in the range."""
        near = np.flatnonzero(((rows >= self.lowest) & (rows <= self.highest)).all(axis=1))
        if not len(near):
            return 0
        tails = self.surroundings.tail(self.affinity, rows[near])
        return int(np.count_nonzero(tails >= _INSIDE))


def _counts(block: Any, place: Place, selection: Selection, ranges: Any) -> list[int]:
    preparation, groups = ranges
    table = preparation.apply(selection.rows(block, place)[1])
    return [group.count(table) for group in groups]


def real_groups(search: Search, leftovers: Leftovers, fitted: Fitted) -> list[IntArray]:
    """Groups of leftovers that are clusters of their own, as positions among the leftovers.

    Near the rim of a cluster, where the sample is thin, leftovers of all rows seem to be dense. But
    there, other objects that are no leftovers lie between them.
    """
    table = leftovers.drawn.table
    if table.shape[0] < FEWEST_MEMBERS or not isinstance(table, np.ndarray):
        return []
    placer: Any = fitted.placer
    with without_warnings():
        rows = fitted.preparation.apply(table)
        groups = groups_outside(rows, placer.tail(rows), placer)
        if not groups:
            return []
        ranges = [GroupRange.of(rows[group], placer.affinity) for group in groups]
    search.progress.phase("ranges of new clusters")
    hashes = row_hash(leftovers.drawn.numbers, search.selection.salt)
    for part, margin in ((search.glance(), _MARGIN), (search, 0.0)):
        if not groups:
            break
        shared = search.engine.share((fitted.preparation, ranges), "ranges")
        inside = np.sum(part.run(_counts, shared), axis=0)
        seen = hashes <= np.uint64(part.selection.limit)
        own = [
            found.count(rows[group[seen[group]]])
            for found, group in zip(ranges, groups, strict=True)
        ]
        kept = np.flatnonzero(np.array(own) + margin * np.sqrt(inside) >= _PURE * inside)
        groups, ranges = [groups[number] for number in kept], [ranges[number] for number in kept]
    return groups


def with_new_clusters(
    fitted: Fitted,
    members: Any,
    make_recipe: Callable[[int], Recipe[Any]],
    *,
    seeds: np.random.RandomState,
    progress: Progress,
) -> Fitted:
    """The fit with the clusters of further objects."""
    names: NDArray[Any] | None = fitted.attributes.get("object_names_")
    with without_warnings():
        return update_fit(fitted, members, names, make_recipe, seeds=seeds, progress=progress)


def thinned(leftovers: Drawn, groups: list[IntArray], salt: int) -> IntArray:
    """Positions of the members of all groups, or of those with the smallest hashes."""
    chosen = []
    for group in groups:
        rank = np.argsort(row_hash(leftovers.numbers[group], salt), kind="stable")
        chosen.append(group[rank[:_MOST_FITTED]])
    return np.sort(np.concatenate(chosen))
