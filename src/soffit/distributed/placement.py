"""New objects placed block by block: the fitted value goes to the workers, nothing comes back."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray
from soffit.affinity.mixed_table import MixedPreparation
from soffit.distributed.engine import Engine, serial
from soffit.distributed.row_blocks import Blocks, Place, as_table
from soffit.distributed.shared_value import resolved
from soffit.fitting.fitted import Fitted, SimilarityPlacer
from soffit.fitting.update import GrownPlacer
from soffit.graph import as_array, stacked
from soffit.memberships import entropy
from soffit.memberships.assignment import UNASSIGNED, assigned
from soffit.neighbors.search import ApproximateSearch

What = Literal["memberships", "labels", "novelty", "quick_novelty"]
# Rows are placed in numbers that are multiples of this: the last digits of a product of matrices
# depend on the position of a row in an incomplete tile, and so on the chunks.
_TILE = 2**10
# Rows that are placed at a time, which bounds the memory. Fewer are slower: they are placed in an
# order of space, and the fitted objects near one are then no longer in the cache for the next.
MOST_ROWS = 2**17


@dataclass(frozen=True, eq=False)
class Placement:
    """What workers need to place objects."""

    fitted: Fitted  # The fit, without anything that only describes the fitted objects.
    n_columns: int  # Columns of the memberships.
    dtype: Any  # Precision of the memberships.
    classes: NDArray[Any] | None = None  # (c,): what the labels of a classifier stand for.

    @classmethod
    def of(cls, fitted: Fitted, classes: NDArray[Any] | None = None) -> Placement:
        """From a complete fit."""
        if isinstance(fitted.preparation, MixedPreparation):
            raise TypeError(
                "A model with metric='gower' cannot place collections of blocks. Place it part by "
                "part: predict_proba(part) for the partitions of the data frame in turn."
            )
        attributes = fitted.attributes
        rows = attributes["memberships_" if classes is None else "label_distributions_"]
        lean = replace(fitted, attributes={}, placer=_lean(fitted.placer))
        return cls(lean, rows.shape[1], rows.dtype, classes)

    def memberships(self, table: Any) -> FloatArray:
        """Probabilities; rows sum to one."""
        return as_array(self.fitted.place(table)).astype(self.dtype, copy=False)

    def novelty(self, table: Any) -> FloatArray:
        """How far outside objects lie."""
        return self.fitted.novelty(table)

    def quick_novelty(self, table: Any) -> FloatArray:
        """The same from distances that may be too large, at a fraction of the cost."""
        placer: Any = self.fitted.placer
        return np.asarray(1.0 - placer.tail(self.fitted.prepared(table), quick=True))

    def labels(
        self, table: Any, min_certainty: float | None = None, max_novelty: float | None = None
    ) -> NDArray[Any]:
        """The most probable cluster or class of each object; -1 where it is refused."""
        rows = self.memberships(table)
        if self.classes is not None:
            return np.asarray(self.classes[rows.argmax(axis=1)])
        labels = assigned(rows, min_certainty=min_certainty)
        if max_novelty is not None:
            labels[self.novelty(table) > max_novelty] = UNASSIGNED
        return labels

    def sample_of(self, what: What) -> NDArray[Any]:
        """An empty result: its shape and precision are known in advance."""
        if what == "memberships":
            return np.empty((0, self.n_columns), dtype=self.dtype)
        if what in ("novelty", "quick_novelty"):
            return np.empty(0)
        return np.empty(0, dtype=np.int64 if self.classes is None else self.classes.dtype)


def _lean(placer: Any) -> Any:
    """A placer without affinities and distances among fitted objects, which it does not need."""
    if isinstance(placer, GrownPlacer):
        return replace(
            placer,
            base=_lean(placer.base),
            added=None if placer.added is None else _lean(placer.added),
        )
    if not isinstance(placer, SimilarityPlacer) or not sp.issparse(placer.affinity.matrix_):
        return placer
    affinity: Any = copy(placer.affinity)
    A = affinity.matrix_
    affinity.matrix_ = sp.csr_array(A.shape, dtype=A.dtype)
    search = getattr(affinity, "_search", None)
    if isinstance(search, ApproximateSearch):
        affinity._search = copy(search)
        affinity._search.index = search.index.without_distances()
    return replace(placer, affinity=affinity)


def place_lazily(
    blocks: Blocks, shared: Any, placement: Placement, what: What, **options: Any
) -> Any:
    """Memberships, labels or novelty of all blocks, as a Dask array that is not computed yet.

    `shared`: the placement, at the workers.
    `placement`: the same, here.
    `what`: what to compute.
    `**options`: arguments of `Placement.labels`.
    """
    import dask.array as da

    empty = placement.sample_of(what)
    flat = empty.ndim == 1
    rows = blocks.array.chunks[0]
    return da.map_blocks(
        placed_block,
        blocks.array,
        shared,
        what=what,
        precision=blocks.dtype,
        columns=blocks.columns,
        options=options,
        token=f"soffit-{what.replace('_', '-')}",
        dtype=empty.dtype,
        meta=empty,
        chunks=(rows,) if flat else (rows, (empty.shape[1],)),
        drop_axis=1 if flat else None,
    )


def placed_block(
    block: Any,
    placement: Placement,
    *,
    what: What,
    precision: Any,
    options: dict[str, Any],
    columns: NDArray[Any] | None = None,
    block_id: tuple[int, ...] | None = None,
) -> NDArray[Any]:
    """The result for one block."""
    place = Place(0 if block_id is None else int(block_id[0]), columns=columns)
    table = as_table(block, precision, place)
    return np.asarray(serial(by_tiles, placement, table, what, options))


def by_tiles(
    placement: Placement, table: Any, what: What, options: dict[str, Any] | None = None
) -> NDArray[Any]:
    """The result for rows, the same bytes for a row wherever the table is divided."""
    m = table.shape[0]
    if m == 0:
        return placement.sample_of(what)
    missing = -m % _TILE
    if missing:
        table = stacked([table, table[np.full(missing, m - 1)]])
    compute = getattr(placement, what)
    parts = [
        compute(table[first : first + MOST_ROWS], **(options or {}))
        for first in range(0, table.shape[0], MOST_ROWS)
    ]
    return np.concatenate(parts)[:m]


def labels_of(memberships: Any) -> Any:
    """The most probable clusters, as a Dask array."""
    return memberships.map_blocks(
        _most_probable,
        token="soffit-labels",
        dtype=np.int64,
        drop_axis=1,
        meta=np.empty(0, dtype=np.int64),
    )


def entropy_of(memberships: Any) -> Any:
    """The uncertainty of each object, as a Dask array."""
    empty = np.empty(0, dtype=memberships.dtype)
    return memberships.map_blocks(
        entropy, token="soffit-entropy", dtype=empty.dtype, drop_axis=1, meta=empty
    )


def _most_probable(rows: FloatArray) -> NDArray[np.int64]:
    return np.asarray(rows.argmax(axis=1), dtype=np.int64)


def in_given_blocks(blocks: Blocks, rows: FloatArray, engine: Engine) -> Any:
    """Rows in memory as a Dask array with the chunks of the blocks."""
    import dask.array as da
    from dask.delayed import delayed

    shared = engine.share(rows, "memberships")
    cut = delayed(_rows_of, pure=True, traverse=False)
    starts = blocks.starts()
    parts = [
        da.from_delayed(
            cut(shared, int(first), int(last)), (int(last - first), rows.shape[1]), rows.dtype
        )
        for first, last in pairwise(starts)
    ]
    return da.concatenate(parts)


def _rows_of(rows: Any, first: int, last: int) -> FloatArray:
    return as_array(resolved(rows)[first:last])
