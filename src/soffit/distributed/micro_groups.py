"""Rows contracted to small groups, piece by piece: only what describes the groups travels.

That is centres, counts and scatter. The densities of clusters of centres are then improved by all
rows, of which again only sums travel. Pieces depend on nothing but the number of rows, and so do
groups and sums. Ties between groups of one piece were tried as further affinities: where clusters
overlap, they join what the distances of centres separate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit._wording import Message, Parameter
from soffit.affinity import NeighborGraph
from soffit.distributed.engine import Engine
from soffit.distributed.row_blocks import Blocks, Place, as_table, over_pieces
from soffit.fitting.fitted import Corrected, Fitted, SimilarityPlacer
from soffit.fitting.monitor import Progress
from soffit.memberships.em_steps import Sums
from soffit.partition.multilevel import coarse_graph

# Rows of a piece, at most.
_PIECE = 2**16
# Rows per group, at least; pairing gives up to twice as many.
_SMALLEST = 50
_NEIGHBORS = 15
# Passes over all rows after the fit of the groups.
_SWEEPS = 2


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows."""

    centers: FloatArray  # (m, d): mean rows.
    counts: FloatArray  # (m,): rows per group.
    numbers: IntArray  # (m,): the number of the row that is closest to the centre.
    # (m, d): mean squared deviation of the rows from the centre, prepared as for the fit.
    scatter: FloatArray

    @classmethod
    def of_pieces(cls, pieces: list[Groups]) -> Groups:
        """The groups of all pieces."""
        names = ("centers", "counts", "numbers", "scatter")
        parts = [np.concatenate([getattr(piece, name) for piece in pieces]) for name in names]
        centers, counts, numbers, scatter = parts
        return cls(centers, counts.astype(np.float64), numbers, scatter)


@dataclass(frozen=True, eq=False)
class Contraction:
    """How rows are contracted."""

    preparation: Any  # Preprocessing of the table.
    metric: Any  # Distance between rows.
    # The number of all rows, and how many groups there may be at most.
    n_rows: int
    n_groups: int
    dtype: Any  # Precision of the table.

    @property
    def size(self) -> int:
        """Rows per group, at least."""
        return max(_SMALLEST, -(-self.n_rows // self.n_groups))


def group_rows(
    blocks: Blocks, contraction: Contraction, engine: Engine, progress: Progress
) -> Groups:
    """The groups of all rows."""
    if blocks.is_sparse:
        raise ValueError(
            Message(
                Parameter("refine"),
                "='micro' needs dense blocks: sparse rows have no mean that is as sparse. Use "
                "another value, or reduce the columns first.",
            )
        )
    n, size = contraction.n_rows, contraction.size
    bounds = _bounds(n)
    progress.phase(f"groups of {size} to {2 * size} of {n:,} objects")
    found = over_pieces(_contracted, blocks, bounds, engine, progress, contraction)
    return Groups.of_pieces(found)


def _bounds(n: int) -> IntArray:
    """Where pieces of n rows begin and end."""
    return np.linspace(0, n, -(-n // _PIECE) + 1).astype(np.int64)


def _contracted(block: Any, place: Place, contraction: Contraction) -> Groups:
    """The groups of a piece."""
    table = as_table(block, contraction.dtype, place)
    rows = contraction.preparation.apply(table)
    graph = NeighborGraph(min(_NEIGHBORS, len(rows) - 1), metric=contraction.metric).fit(rows)
    groups = coarse_graph(graph.matrix_, max(len(rows) // contraction.size, 1), pairings=1)
    node, counts = groups.node, groups.sizes

    def means(values: FloatArray) -> FloatArray:
        columns = [np.bincount(node, column) for column in values.T.astype(np.float64)]
        return np.stack(columns, axis=1) / counts[:, None]

    deviations = (rows - means(rows)[node]) ** 2
    order = np.lexsort((deviations.sum(axis=1), node))
    central = order[np.concatenate([[0], np.cumsum(counts[:-1])]).astype(np.int64)]
    return Groups(
        means(table).astype(table.dtype),
        counts.astype(np.float32),
        central + (place.first or 0),
        means(deviations).astype(np.float32),
    )


# --- back to the rows -----------------------------------------------------------------------------


def swept(
    fitted: Fitted, groups: Groups, blocks: Blocks, engine: Engine, progress: Progress
) -> Fitted:
    """A fit of centres as rows see it: the densities of its clusters become those of rows.

    They begin as densities of centres, widened by the scatter inside groups, and take steps of EM
    over all rows.
    """
    placer = fitted.placer
    if not isinstance(placer, SimilarityPlacer):
        return fitted
    mixture = _mixture_of(placer.smoothing)
    if mixture is None:
        return fitted
    centers = fitted.preparation.apply(groups.centers)
    mixture = mixture.widened(centers, groups.counts, groups.scatter)
    bounds = _bounds(int(blocks.starts()[-1]))
    for number in range(_SWEEPS):
        progress.phase(f"sweep {number + 1} of {_SWEEPS} over all objects")
        shared = engine.share((fitted.preparation, mixture), "mixture")
        found = over_pieces(_sums, blocks, bounds, engine, progress, blocks.dtype, shared)
        # In the order of the pieces, so that the last digits do not depend on the workers.
        sizes, moments = (np.sum([part[a] for part in found], axis=0) for a in range(2))
        mixture = mixture.stepped(Sums(sizes, moments))
    smoothing = _with_mixture(placer.smoothing, mixture)
    return replace(fitted, placer=replace(placer, smoothing=smoothing))


def _sums(block: Any, place: Place, dtype: Any, shared: Any) -> Sums:
    preparation, mixture = shared
    found: Sums = mixture.sums(preparation.apply(as_table(block, dtype, place)))
    return found


def _mixture_of(smoothing: Any) -> Any:
    """The densities of the clusters, if there are any."""
    if isinstance(smoothing, Corrected):
        return _mixture_of(smoothing.smoothing)
    return getattr(smoothing, "mixture", None)


def _with_mixture(smoothing: Any, mixture: Any) -> Any:
    if isinstance(smoothing, Corrected):
        return replace(smoothing, smoothing=_with_mixture(smoothing.smoothing, mixture))
    return replace(smoothing, mixture=mixture)
