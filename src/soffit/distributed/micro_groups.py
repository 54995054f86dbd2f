"""Rows contracted to small groups, piece by piece: only centres and counts travel.

Pieces depend on nothing but the number of rows, and so do the groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit._wording import Message, Parameter
from soffit.affinity import NeighborGraph
from soffit.distributed.engine import Engine
from soffit.distributed.row_blocks import Blocks, Place, as_table, over_pieces
from soffit.fitting.monitor import Progress
from soffit.partition.multilevel import coarse_graph

# Rows of a piece, at most.
_PIECE = 2**16
# Rows per group, at least; pairing gives up to twice as many.
_SMALLEST = 50
_NEIGHBORS = 15


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows."""

    centers: FloatArray  # (m, d): mean rows.
    counts: FloatArray  # (m,): rows per group.
    numbers: IntArray  # (m,): the number of the row that is closest to the centre.


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
    bounds = np.linspace(0, n, -(-n // _PIECE) + 1).astype(np.int64)
    progress.phase(f"groups of {size} to {2 * size} of {n:,} objects")
    found = over_pieces(_contracted, blocks, bounds, engine, progress, contraction)
    return Groups(*(np.concatenate([part[a] for part in found]) for a in range(3)))


def _contracted(
    block: Any, place: Place, contraction: Contraction
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Centres, counts and most central rows of the groups of a piece."""
    table = as_table(block, contraction.dtype, place)
    rows = contraction.preparation.apply(table)
    graph = NeighborGraph(min(_NEIGHBORS, len(rows) - 1), metric=contraction.metric).fit(rows)
    groups = coarse_graph(graph.matrix_, max(len(rows) // contraction.size, 1), pairings=1)
    node, counts = groups.node, groups.sizes

    def means(values: FloatArray) -> FloatArray:
        columns = [np.bincount(node, column) for column in values.T.astype(np.float64)]
        return np.stack(columns, axis=1) / counts[:, None]

    away = ((rows - means(rows)[node]) ** 2).sum(axis=1)
    order = np.lexsort((away, node))
    central = order[np.concatenate([[0], np.cumsum(counts[:-1])]).astype(np.int64)]
    return means(table).astype(table.dtype), counts, central + (place.first or 0)
