"""A fit to blocks: a sample is fitted in memory, and all objects are placed by it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import dataclass, replace
from tempfile import TemporaryDirectory
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from soffit._memory import size_words
from soffit._typing import FloatArray, IntArray
from soffit._wording import Message, Parameter
from soffit.distributed.engine import Engine
from soffit.distributed.leftovers import (
    Search,
    collect,
    hidden_groups,
    real_groups,
    thinned,
    with_new_clusters,
)
from soffit.distributed.micro_groups import Contraction, group_rows, swept
from soffit.distributed.placement import (
    MOST_ROWS,
    Placement,
    entropy_of,
    in_given_blocks,
    labels_of,
    place_lazily,
)
from soffit.distributed.row_blocks import Blocks, Drawn, draw
from soffit.distributed.shared_value import MappedValue
from soffit.fitting.fitted import Fitted
from soffit.fitting.monitor import Progress
from soffit.fitting.recipe import Recipe

Refine = Literal["leftovers", "micro"] | None
MakeRecipe = Callable[[int], Recipe[Any]]

# Bytes per fitted object of what workers keep: lists of neighbours twice, and single numbers.
_LISTS = 400
# Bytes per placed object while a part of a block is placed.
_WORKING = 4096
# Bytes of a worker that has not done anything but load and compile.
_PROCESS = 5e8
# Rows from which the spread of the columns is estimated, if only groups of rows are fitted.
_PREPARED = 100_000


class FitTable(Protocol):
    """The fit in memory."""

    def __call__(
        self, table: Any, columns: NDArray[Any] | None, weights: FloatArray | None = None
    ) -> Fitted:
        """Fit a table with these names of columns, and weights of the rows."""
        ...


@dataclass(frozen=True, eq=False)
class InMemory:
    """What a model does with tables in memory."""

    fit: FitTable  # The fit.
    # The preprocessing of a table, from some of its rows, and the distance between rows.
    geometry: Callable[[Any], tuple[Any, Any]]
    make_recipe: MakeRecipe  # The recipe for further objects with a number of clusters.


@dataclass(frozen=True, eq=False)
class BlocksFit:
    """A fit to blocks."""

    fitted: Fitted  # The fit of the sample, which places everything else.
    blocks: Blocks  # All objects.
    attributes: dict[str, Any]  # Public attributes that belong to all objects.


def fit_blocks(
    X: Any,
    inside: InMemory,
    *,
    sample_size: int,
    refine: Refine,
    n_clusters: int | None,
    seeds: np.random.RandomState,
    progress: Progress,
) -> BlocksFit:
    """Fit a sample of the rows, and place all of them when they are needed.

    `X`: anything that `Blocks.of` takes.
    `inside`: the fit in memory.
    `sample_size`: number of rows to fit. If there are no more, the result is that of the fit in
        memory.
    `refine`: whether to search all blocks for clusters that the sample does not show, or to fit the
        centres of small groups of all rows instead of a sample.
    `n_clusters`: the number of clusters, if it is given.
    `seeds`: source of randomness.
    `progress`: shows phases, and says when to stop.
    """
    engine = Engine.current()
    blocks = Blocks.of(X)
    blocks = blocks.counted(engine, progress)
    needed = memory_per_worker(blocks, sample_size, n_clusters, engine)
    n = int(blocks.starts()[-1])
    whole = n <= sample_size
    _check_shows(min(n, sample_size), n_clusters if n_clusters and n_clusters <= n else None)
    salt = 0 if whole else int(seeds.randint(np.iinfo(np.int32).max))
    progress.phase(f"sample of {min(n, sample_size):,} of {n:,} objects")
    micro = refine == "micro" and not whole
    size = min(n, sample_size, _PREPARED) if micro else min(n, sample_size)
    sample = draw(blocks, size, salt, engine, progress)
    if micro:
        contraction = Contraction(*inside.geometry(sample.table), n, sample_size, blocks.dtype)
        groups = group_rows(blocks, contraction, engine, progress)
        _check_shows(len(groups.counts), n_clusters)
        fitted = inside.fit(groups.centers, blocks.columns, groups.counts)
        improved = progress.attempt(lambda: swept(fitted, groups, blocks, engine, progress))
        fitted = improved or _cut_short(fitted, progress)
        found = _Sampled(fitted, groups.numbers, leftover_share=float("nan"))
    else:
        found = _Sampled(inside.fit(sample.table, blocks.columns), sample.numbers)
    if not whole and refine == "leftovers" and found.fitted.knows_novelty:
        refinement = _Refinement(blocks, sample, salt, engine, progress)
        with TemporaryDirectory(prefix="soffit-") as folder:
            first = _Held(found, folder)
            # Nothing else may hold the fit while it is in a file.
            del found
            found = refinement.attempt(first, inside.fit, inside.make_recipe, seeds)
    return BlocksFit(
        found.fitted,
        blocks,
        {
            **memberships_of_all(blocks, found.fitted, found.shared),
            "sample_indices_": found.numbers,
            "leftover_share_": found.leftover_share,
            "memory_per_worker_": int(needed),
        },
    )


def _check_shows(n_fitted: int, n_clusters: int | None) -> None:
    """Refuse fewer fitted objects than clusters."""
    if n_clusters is not None and n_fitted < n_clusters:
        raise ValueError(
            Message(
                f"{n_fitted:,} fitted objects cannot show ",
                Parameter("n_clusters"),
                f"={n_clusters:,} clusters. Pass a larger ",
                Parameter("sample_size"),
                ": at least ten objects per cluster.",
            )
        )


def memberships_of_all(blocks: Blocks, fitted: Fitted, shared: Any = None) -> dict[str, Any]:
    """The attributes of all objects that follow from a fit of some of them, as Dask arrays.

    `blocks`: all objects, with known numbers of rows.
    `fitted`: the fit; of all rows in their order, if it has as many.
    `shared`: its placement, if the workers have it.
    """
    engine, rows = Engine.current(), fitted.attributes["memberships_"]
    if rows.shape[0] == blocks.starts()[-1]:
        memberships = in_given_blocks(blocks, rows, engine)
    else:
        placement = Placement.of(fitted)
        if shared is None:
            shared = engine.share(placement, "model")
        memberships = place_lazily(blocks, shared, placement, "memberships")
    return {
        "memberships_": memberships,
        "labels_": labels_of(memberships),
        "entropy_": entropy_of(memberships),
    }


@dataclass(frozen=True, eq=False)
class _Sampled:
    """The fit of a sample, the numbers of its rows, and what lies outside."""

    fitted: Fitted
    numbers: IntArray
    leftover_share: float = 0.0
    # The placement of this fit, if the workers have it.
    shared: Any = None


class _Held:
    """A fit to return to, which can wait in a file while another one needs the memory."""

    def __init__(self, found: _Sampled, folder: str) -> None:
        self._found: _Sampled | None = found
        self._file: MappedValue | None = None
        self._folder = folder

    @property
    def found(self) -> _Sampled:
        """The fit."""
        if self._found is None:
            assert self._file is not None
            self._found = self._file.read()
        return self._found

    def put_away(self) -> None:
        """Keep it in a file, if it can be written to one."""
        try:
            self._file = MappedValue.write(self._found, self._folder)
        except (OSError, pickle.PicklingError, AttributeError, TypeError):
            return
        self._found = None


@dataclass(frozen=True, eq=False)
class _Refinement:
    """The search for clusters that the sample does not show; see `soffit.distributed.leftovers`."""

    blocks: Blocks
    sample: Drawn
    salt: int
    engine: Engine
    progress: Progress

    def attempt(
        self, first: _Held, fit: FitTable, make_recipe: MakeRecipe, seeds: np.random.RandomState
    ) -> _Sampled:
        """The fit with these clusters, or the first one if there is no time for them."""
        more = self.progress.attempt(lambda: self._run(first, fit, make_recipe, seeds))
        if more is not None:
            return more
        found = first.found
        stopped = _cut_short(found.fitted, self.progress)
        return replace(found, fitted=stopped, leftover_share=float("nan"))

    def _run(
        self, first: _Held, fit: FitTable, make_recipe: MakeRecipe, seeds: np.random.RandomState
    ) -> _Sampled:
        progress, engine, salt = self.progress, self.engine, self.salt
        progress.phase("small groups in the sample")
        k = int(first.found.fitted.attributes["n_clusters_"])
        hidden = hidden_groups(first.found.fitted, self.sample.table, k)
        if len(hidden):
            first.put_away()
            kept = np.setdiff1d(np.arange(len(self.sample.numbers)), hidden)
            found = _Sampled(
                fit(self.sample.table[kept], self.blocks.columns), self.sample.numbers[kept]
            )
        else:
            found = first.found
        shared = engine.share(Placement.of(found.fitted), "model")
        progress.phase("leftovers")
        search = Search.of(self.blocks, len(self.sample.numbers), salt, engine, progress)
        leftovers = collect(search, shared)
        share = len(leftovers.drawn.numbers) / leftovers.n_searched
        found = replace(found, leftover_share=share, shared=shared)
        groups = real_groups(search, leftovers, found.fitted)
        if not groups:
            return found
        members = thinned(leftovers.drawn, groups, salt)
        rows = leftovers.drawn.table[members]
        grown = with_new_clusters(found.fitted, rows, make_recipe, seeds=seeds, progress=progress)
        return _Sampled(
            grown,
            np.concatenate([found.numbers, leftovers.drawn.numbers[members]]),
            leftover_share=share,
        )


def _cut_short(fitted: Fitted, progress: Progress) -> Fitted:
    """A fit without what there was no time for."""
    reason = progress.stopped or "max_time"
    attributes = {**fitted.attributes, "stop_reason_": reason, "converged_": False}
    return replace(fitted, attributes=attributes, stopped=reason)


def memory_per_worker(
    blocks: Blocks, sample_size: int, n_clusters: int | None, engine: Engine
) -> float:
    """Bytes that a worker needs for the model and the blocks in its threads, if it has them."""
    assert blocks.lengths is not None
    size, d, k = blocks.dtype.itemsize, blocks.n_columns, n_clusters or 16
    fitted = min(sample_size, sum(blocks.lengths))
    model = fitted * (4 * d + 2 * size * k + _LISTS)
    longest = max(blocks.lengths)
    block = longest * (3 * size * d + 2 * size * k) + min(longest, MOST_ROWS) * _WORKING
    # The model is received in pieces and put together.
    needed = (_PROCESS if engine.client else 0.0) + 2.0 * model + engine.n_threads * block
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
