"""Collections of other libraries as blocks of rows, which need not fit into memory together."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._matrix_checks import largest_number
from soffit._typing import IntArray
from soffit._wording import Message, Parameter, first_few
from soffit.distributed.engine import Engine, need_dask, serial
from soffit.distributed.shared_value import Elsewhere
from soffit.fitting.monitor import Progress
from soffit.graph import stacked
from soffit.inputs import lazy_part

# Bytes of a block of an array in a file, if its chunks are not larger.
BLOCK_BYTES = 2**25
# Bytes of what tells a task how to read its rows, at most.
_LIGHT = 2**20
# What to pass instead of collections that are no tables.
_REMEDIES = {
    "Series": "Pass a data frame, X.to_frame() for a single column.",
    "Delayed": "Pass dask.array.from_delayed(X, shape=(n, d), dtype='float32').",
    "Bag": "Pass a data frame, X.to_dataframe().",
    "Group": "Pass one of its arrays, for example X['name'].",
}


@dataclass(frozen=True, eq=False)
class Blocks:
    """A table in blocks of rows."""

    array: Any  # (n, d): one chunk of columns; the numbers of rows may be unknown.
    columns: NDArray[Any] | None = None  # (d,): names of the columns, if they have any.

    @classmethod
    def of(cls, X: Any) -> Blocks:
        """The blocks of a Dask array or data frame, a zarr array, or AnnData that holds one."""
        need_dask("A collection of blocks")
        part = lazy_part(X)
        for kind in type(part).__mro__:
            if kind.__name__ in _REMEDIES:
                raise TypeError(f"X is a {kind.__name__}, not a table. {_REMEDIES[kind.__name__]}")
        if hasattr(part, "to_dask_array"):
            return _of_frame(part)
        if not hasattr(part, "__dask_graph__"):
            part = rows_of_zarr(part)
        return cls(_checked(part))

    @property
    def lengths(self) -> tuple[int, ...] | None:
        """Rows of each block; None if they are unknown."""
        rows = self.array.chunks[0]
        return None if any(np.isnan(count) for count in rows) else tuple(int(c) for c in rows)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return int(self.array.shape[1])

    @property
    def is_sparse(self) -> bool:
        """Whether the blocks are SciPy's sparse matrices."""
        return sp.issparse(self.array._meta)

    @property
    def dtype(self) -> Any:
        """Precision of the table: single if the blocks are in single precision."""
        return np.dtype(np.float32 if self.array.dtype == np.float32 else np.float64)

    def tasks(self) -> list[Any]:
        """The blocks as delayed values."""
        found = self.array.to_delayed(optimize_graph=True)
        return list(found.ravel())

    def counted(self, engine: Engine, progress: Progress) -> Blocks:
        """The same with known numbers of rows, which are counted if necessary."""
        if self.lengths is not None:
            return self
        progress.phase("rows")
        counts = engine.results(_n_rows, [(block,) for block in self.tasks()], progress)
        array = self.array.copy()
        array._chunks = (tuple(counts), array.chunks[1])
        return replace(self, array=array)

    def starts(self) -> IntArray:
        """Number of the first row of each block, and the number of all rows at the end."""
        assert self.lengths is not None
        return np.concatenate([[0], np.cumsum(self.lengths, dtype=np.int64)])


def rows_of_zarr(array: Any) -> Any:
    """A zarr array as a Dask array in blocks of whole rows.

    A block is read from several chunks of the file if these hold some columns, or few rows.
    """
    import dask.array as da

    stored = getattr(array, "shards", None) or array.chunks
    row = math.prod(array.shape[1:]) * array.dtype.itemsize
    several = max(BLOCK_BYTES // max(stored[0] * row, 1), 1)
    return da.from_zarr(array, chunks=(several * stored[0], *array.shape[1:]))


def _n_rows(block: Any) -> int:
    return int(block.shape[0])


def _of_frame(frame: Any) -> Blocks:
    dtypes = list(frame.dtypes)
    wrong = [
        f"{name!r} ({dtype})"
        for name, dtype in zip(frame.columns, dtypes, strict=True)
        if dtype.kind not in "biuf"
    ]
    if wrong:
        raise ValueError(
            f"X has columns that are not numeric: {first_few(wrong)}. Select the others, "
            "X[[...]], or encode these as numbers (for example with dask.dataframe's "
            "X.categorize() and dask.dataframe.get_dummies)."
        )
    single = all(dtype == np.float32 for dtype in dtypes)
    values = frame.astype(np.float32 if single else np.float64).to_dask_array()
    return Blocks(_checked(values), np.array(list(frame.columns), dtype=object))


def _checked(array: Any) -> Any:
    """Refuse what is no table of numbers in blocks of rows."""
    if array.ndim != 2:
        raise ValueError(
            f"X must have two dimensions, objects and columns, got {array.ndim}. Reshape it, "
            "for example X.reshape(-1, 1) for a single column."
        )
    if array.dtype.kind not in "biuf":
        raise TypeError(
            f"X has the dtype {array.dtype}, which does not hold real numbers. Convert it, "
            "X.astype('float32')."
        )
    if array.numblocks[1] > 1:
        raise ValueError(
            f"X is divided into {array.numblocks[1]} chunks of columns; every chunk must hold "
            "whole rows. Pass X.rechunk({0: 'auto', 1: -1})."
        )
    if array.shape[1] == 0 or array.shape[0] == 0:
        raise ValueError(f"X has the shape {array.shape}: there is nothing to cluster.")
    return array


# --- inside a block -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Place:
    """Which block of a collection this is: its number, and that of its first row if it is known."""

    number: int
    first: int | None = None
    columns: NDArray[Any] | None = None  # (d,): their names, if they have any.

    def named(self, inside: IntArray) -> str:
        """Columns, as a message names them."""
        names = inside if self.columns is None else map(repr, self.columns[inside])
        return f"columns {first_few(names)}"

    def rows(self, inside: IntArray) -> str:
        """Rows of the block, as a message names them."""
        if self.first is None:
            return f"rows {first_few(inside)} of block {self.number}"
        found = first_few(row + self.first for row in inside)
        return f"block {self.number}, rows {found}"


def as_table(block: Any, dtype: Any, place: Place) -> Any:
    """A block as numbers of the given precision, without gaps."""
    if sp.issparse(block):
        table = sp.csr_array(block).astype(dtype, copy=False)
        values = table.data
    else:
        if np.ma.is_masked(block):
            block = np.ma.filled(np.ma.asarray(block, dtype=dtype), np.nan)
        values = table = np.ascontiguousarray(block, dtype=dtype)
    if values.size:
        # Neither comparison holds for NaN.
        limit = largest_number(table.dtype)
        if not (values.min() >= -limit and values.max() <= limit):
            _refuse(table, place)
    return table


def _refuse(table: Any, place: Place) -> None:
    """Name the rows and columns of values that are missing, infinite, or too large to square."""
    limit = largest_number(table.dtype)
    entries = sp.coo_array(table) if sp.issparse(table) else None
    values = table if entries is None else entries.data
    gaps = bool((~np.isfinite(values)).any())
    wrong = np.nonzero(~np.isfinite(values) if gaps else np.abs(values) > limit)
    rows, columns = wrong if entries is None else [axis[wrong] for axis in entries.coords]
    where = f"{place.rows(np.unique(rows))} ({place.named(np.unique(columns))})"
    if gaps:
        raise ValueError(
            f"X has missing or infinite values in {where}. Drop these rows, or fill in the values "
            "before the fit."
        )
    raise ValueError(
        f"X has values above {limit:g} in {where}, whose squares are infinite in {table.dtype}. "
        "Correct them, or divide the columns by a constant."
    )


# --- a sample -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drawn:
    """Some rows of all blocks, in the order of their numbers."""

    numbers: IntArray
    table: Any


def row_hash(numbers: IntArray, salt: int) -> NDArray[np.uint64]:
    """A random number of 64 bits for every row number: the finalizer of SplitMix64."""
    mixed = np.asarray(numbers, dtype=np.uint64) + np.uint64(salt)
    mixed *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))


@dataclass(frozen=True)
class Selection:
    """A rule that chooses rows by their hashes, and checks all rows on the way."""

    salt: int  # Seed of the hashes.
    limit: int  # The largest hash of a chosen row.
    dtype: Any  # Precision of the rows.

    @classmethod
    def share(cls, share: float, salt: int, dtype: Any) -> Selection:
        """A share of all rows, on average."""
        return cls(salt, int(share * 2.0**64) - 1 if share < 1 else 2**64 - 1, dtype)

    def rows(self, block: Any, place: Place) -> tuple[IntArray, Any]:
        """Numbers and values of the chosen rows of a block."""
        table = as_table(block, self.dtype, place)
        first = place.first or 0
        numbers = np.arange(first, first + table.shape[0])
        if self.limit == 2**64 - 1:
            return numbers, table
        chosen = np.flatnonzero(row_hash(numbers, self.salt) <= np.uint64(self.limit))
        return numbers[chosen], table[chosen]


def over_blocks(
    function: Callable[..., Any],
    blocks: Blocks,
    engine: Engine,
    progress: Progress,
    *more: Any,
) -> list[Any]:
    """The results of ``function(block, place, *more)`` for all blocks, in order.

    A block is read in the task that works on it, so that its rows never travel.
    """
    starts = tuple(blocks.starts().tolist())
    return engine.gather(_mapped(function, blocks, blocks.array, starts, more), progress)


def over_pieces(
    function: Callable[..., Any],
    blocks: Blocks,
    bounds: IntArray,
    engine: Engine,
    progress: Progress,
    *more: Any,
) -> list[Any]:
    """The same for pieces between given rows, which need not be those of the blocks.

    On a cluster, the task that works on a piece also reads it, so that no rows travel. If the rows
    are in memory already, every piece has a graph of its own: in one for all, blocks would be read
    once and their rows sent to the workers of the pieces. Then only rows of a piece that has rows
    of two blocks may be sent.
    """
    pieces = [
        blocks.array[first:last].rechunk({0: -1}) for first, last in pairwise(bounds.tolist())
    ]
    firsts = bounds.tolist()[:-1]
    if engine.client is not None and Reading.serves(blocks.array):
        columns = blocks.columns
        given = [
            (Reading(piece), Place(0, first, columns), *more)
            for piece, first in zip(pieces, firsts, strict=True)
        ]
        return engine.results(function, given, progress)
    tasks = [
        _mapped(function, blocks, piece, (first,), more)[0]
        for piece, first in zip(pieces, firsts, strict=True)
    ]
    return engine.gather(tasks, progress)


class Reading(Elsewhere):
    """Rows that a task reads itself, from all blocks that hold some of them."""

    def __init__(self, rows: Any) -> None:
        from dask.base import optimize

        (found,) = optimize(rows)
        self._graph, self._keys = dict(found.__dask_graph__()), found.__dask_keys__()

    @classmethod
    def serves(cls, array: Any) -> bool:
        """Whether blocks are read from somewhere: those in memory would be sent with every task."""
        from distributed.protocol.pickle import dumps

        from distributed import futures_of

        if futures_of(array):
            return False
        return len(dumps(cls(array.blocks[0]))) < _LIGHT

    def value(self) -> Any:
        """The rows."""
        from dask.local import get_sync

        ((rows,),) = get_sync(self._graph, self._keys)
        return rows


def _mapped(
    function: Callable[..., Any],
    blocks: Blocks,
    array: Any,
    starts: tuple[int, ...],
    more: tuple[Any, ...],
) -> list[Any]:
    """Delayed results of a function for the chunks of an array of these blocks."""
    import dask.array as da

    stem = function.__name__.strip("_").replace("_", "-")
    results = da.map_blocks(
        _of_block,
        array,
        *more,
        function=function,
        starts=starts,
        columns=blocks.columns,
        name=f"soffit-{stem}-{uuid.uuid4().hex}",
        dtype=object,
        meta=np.empty((0, 0), dtype=object),
        chunks=((1,) * array.numblocks[0], (1,)),
    )
    return list(results.to_delayed(optimize_graph=True).ravel())


def _of_block(
    block: Any,
    *more: Any,
    function: Callable[..., Any],
    starts: tuple[int, ...],
    columns: NDArray[Any] | None,
    block_id: tuple[int, ...],
) -> Any:
    """The result for one block, which need not be an array: it is never joined with others."""
    place = Place(int(block_id[0]), starts[block_id[0]], columns)
    return serial(function, block, place, *more)


def draw(blocks: Blocks, size: int, salt: int, engine: Engine, progress: Progress) -> Drawn:
    """The rows with the smallest hashes; also checks the values of all rows.

    Which rows these are depends on nothing but their number and the salt.
    """
    # A few more than wanted on average, so that the smallest ones are certainly among them.
    share = (size + 8 * np.sqrt(size) + 64) / float(blocks.starts()[-1])
    selection = Selection.share(share, salt, blocks.dtype)
    found = over_blocks(drawn_rows, blocks, engine, progress, selection)
    numbers = np.concatenate([part[0] for part in found])
    if len(numbers) > size:
        kept = np.sort(np.argsort(row_hash(numbers, salt), kind="stable")[:size])
    else:
        kept = np.arange(len(numbers))
    table = stacked([part[1] for part in found])
    return Drawn(numbers[kept], table[kept])


def drawn_rows(block: Any, place: Place, selection: Selection) -> tuple[IntArray, Any]:
    """The chosen rows of a block."""
    return selection.rows(block, place)


def check_no_pairs(constraints: Any) -> None:
    """Refuse what names single objects."""
    for name in ("must_link", "cannot_link", "pair_weight", "sample_weight"):
        if getattr(constraints, name, None) is not None:
            raise ValueError(
                Message(
                    Parameter(name),
                    " is not supported for collections of blocks, of which only a sample is "
                    "fitted. Fit a sample in memory with it, and pass the collection to "
                    "predict_proba.",
                )
            )
