"""A fit to blocks: a sample is fitted in memory, and all objects are placed by it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from soffit._memory import size_words
from soffit._wording import Message, Parameter
from soffit.distributed.engine import Engine
from soffit.distributed.placement import (
    Placement,
    entropy_of,
    in_given_blocks,
    labels_of,
    place_lazily,
)
from soffit.distributed.row_blocks import Blocks, draw
from soffit.fitting.fitted import Fitted
from soffit.fitting.monitor import Progress

# Bytes per fitted object of what workers keep: lists of neighbours twice, and single numbers.
_LISTS = 400
# Bytes per placed object while a part of a block is placed.
_WORKING = 4096
_SEEDS = np.iinfo(np.int32).max


class FitTable(Protocol):
    """The fit in memory."""

    def __call__(self, table: Any, columns: NDArray[Any] | None) -> Fitted:
        """Fit a table with these names of columns."""
        ...


@dataclass(frozen=True, eq=False)
class BlocksFit:
    """A fit to blocks.

    Parameters
    ----------
    fitted : Fitted
        The fit of the sample, which places everything else.
    attributes : dict
        Public attributes that belong to all objects.
    """

    fitted: Fitted
    attributes: dict[str, Any]


def fit_blocks(
    X: Any,
    fit: FitTable,
    *,
    sample_size: int,
    n_clusters: int | None,
    seeds: np.random.RandomState,
    progress: Progress,
) -> BlocksFit:
    """Fit a sample of the rows, and place all of them when they are needed.

    Parameters
    ----------
    X : collection
        Anything that `Blocks.of` takes.
    fit : callable
        The fit in memory.
    sample_size : int
        Number of rows to fit. If there are no more, the result is that of `fit`.
    n_clusters : int or None
        The number of clusters, if it is given.
    seeds : RandomState
        Source of randomness.
    progress : Progress
        Shows phases, and says when to stop.
    """
    engine = Engine.current()
    blocks = Blocks.of(X)
    blocks = blocks.counted(engine, progress)
    needed = memory_per_worker(blocks, sample_size, n_clusters, engine)
    n = int(blocks.starts()[-1])
    whole = n <= sample_size
    salt = 0 if whole else int(seeds.randint(_SEEDS))
    progress.phase(f"sample of {min(n, sample_size):,} of {n:,} objects")
    sample = draw(blocks, min(n, sample_size), salt, engine, progress)
    fitted = fit(sample.table, blocks.columns)
    if whole:
        memberships = in_given_blocks(blocks, fitted.attributes["memberships_"], engine)
    else:
        placement = Placement.of(fitted)
        memberships = place_lazily(
            blocks, engine.share(placement, "model"), placement, "memberships"
        )
    return BlocksFit(
        fitted,
        {
            "memberships_": memberships,
            "labels_": labels_of(memberships),
            "entropy_": entropy_of(memberships),
            "sample_indices_": sample.numbers,
            "memory_per_worker_": int(needed),
        },
    )


def memory_per_worker(
    blocks: Blocks, sample_size: int, n_clusters: int | None, engine: Engine
) -> float:
    """Bytes that a worker needs for the model and the blocks in its threads, if it has them."""
    assert blocks.lengths is not None
    size, d, k = blocks.dtype.itemsize, blocks.n_columns, n_clusters or 16
    fitted = min(sample_size, sum(blocks.lengths))
    model = fitted * (4 * d + 2 * size * k + _LISTS)
    longest = max(blocks.lengths)
    block = longest * (3 * size * d + 2 * size * k) + min(longest, 2**15) * _WORKING
    # The model is received in pieces and put together.
    needed = 2.0 * model + engine.n_threads * block
    rows = max(
        int((engine.memory - 2.0 * model) / engine.n_threads / (3 * size * d + 2 * size * k)), 0
    )
    smaller = (
        f"Make the blocks smaller, X.rechunk(({max(rows // 2, 1)}, -1)), or "
        if rows > 2**15
        else "Give the workers more memory, or "
    )
    engine.check_memory(
        needed,
        what=f"Placing blocks of up to {longest:,} rows by {fitted:,} fitted ones "
        f"({size_words(model)})",
        remedy=Message(smaller, "pass a smaller ", Parameter("sample_size"), "."),
    )
    return needed
