"""What people see of a fit to blocks: exact counts of all objects, and some objects to look at."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.distributed.engine import Engine
from soffit.distributed.row_blocks import Blocks

# A report describes this many objects; its counts are those of all.
MOST_SHOWN = 20_000
# Files of a folder of results, and their first columns.
_PART, _PARTS = "part-{:06d}.parquet", "part-[0-9][0-9][0-9][0-9][0-9][0-9].parquet"
_COLUMNS = ("row", "cluster", "certainty", "entropy")


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of all objects."""

    sizes: IntArray  # (k,): objects per cluster.
    certainty: FloatArray  # (k,): mean of the largest membership of these.
    n_objects: int  # Their number.


def count_and_write(memberships: Any, write: Any, progress: Any) -> Counts:
    """Count the objects of each cluster, and write the memberships on the way.

    `memberships` (n, k): memberships of all objects.
    `write`: writes the memberships of a block.
    `progress`: shows how many blocks are done.
    """
    k = memberships.shape[1]
    tasks = [
        (block, number, write)
        for number, block in enumerate(memberships.to_delayed(optimize_graph=True).ravel())
    ]
    found = Engine.current().results(_counted, tasks, progress)
    sizes = np.sum([part[0] for part in found], axis=0).astype(np.int64)
    # In the order of the blocks, so that the last digits do not depend on the workers.
    sums = np.sum([part[1] for part in found], axis=0)
    certainty = np.divide(sums, sizes, out=np.full(k, np.nan), where=sizes > 0)
    return Counts(sizes, certainty, int(sizes.sum()))


def _counted(rows: FloatArray, number: int, write: BlockWriter | None) -> tuple[Any, Any]:
    labels, k = rows.argmax(axis=1), rows.shape[1]
    if write is not None:
        write.block(rows, number)
    largest = rows.max(axis=1).astype(np.float64)
    return np.bincount(labels, minlength=k), np.bincount(labels, largest, minlength=k)


@dataclass(frozen=True)
class BlockWriter:
    """Writes memberships as a folder of Parquet files, one per block, in their order."""

    folder: str  # Where to write, as all workers see it.
    starts: tuple[int, ...]  # Number of the first row of each block.

    @classmethod
    def into(cls, folder: Path, starts: IntArray) -> BlockWriter:
        """A writer into a folder, which is made, or emptied of the results of an earlier command.

        These may have more blocks, of which the last ones would stay.
        """
        folder.mkdir(exist_ok=True)
        for old in folder.glob(_PARTS):
            old.unlink()
        return cls(str(folder.resolve()), tuple(starts.tolist()))

    @staticmethod
    def strangers(folder: Path) -> list[Path]:
        """Files in a folder that are no results."""
        import polars as pl

        shown = [path for path in sorted(folder.iterdir()) if not path.name.startswith(".")]
        found = [path for path in shown if not path.match(_PARTS)]
        # A folder with data may have the same names: one file tells.
        for part in sorted(folder.glob(_PARTS))[:1]:
            if list(pl.read_parquet_schema(part))[: len(_COLUMNS)] != list(_COLUMNS):
                found.append(part)
        return found

    def block(self, rows: FloatArray, number: int) -> None:
        """Write one block; a block that is written again replaces its file."""
        import polars as pl

        from soffit._atomic import replaced
        from soffit.memberships import entropy

        first = self.starts[number]
        numbers = np.arange(first, first + len(rows))
        values = (numbers, rows.argmax(axis=1), rows.max(axis=1), entropy(rows))
        frame = pl.DataFrame(
            {
                **dict(zip(_COLUMNS, values, strict=True)),
                **{f"p{k}": rows[:, k] for k in range(rows.shape[1])},
            }
        )
        with replaced(Path(self.folder) / _PART.format(number)) as temporary:
            frame.write_parquet(temporary)


def rows_to_show(X: Any, numbers: IntArray) -> tuple[FloatArray, Any, IntArray]:
    """Some of the fitted rows, the names of their columns, and their numbers."""
    chosen = np.sort(numbers)
    chosen = chosen[:: -(-len(chosen) // MOST_SHOWN)]
    blocks = Blocks.of(X)
    if blocks.lengths is None:
        from soffit.fitting.monitor import Progress

        blocks = blocks.counted(Engine.current(), Progress("rows", 0))
    return np.asarray(blocks.array[chosen].compute()), blocks.columns, chosen
