"""Files larger than memory, as collections of blocks that are read when they are needed."""

from __future__ import annotations

from collections.abc import Iterable
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

from soffit._wording import Message, Parameter, first_few
from soffit.distributed.row_blocks import BLOCK_BYTES, rows_of_zarr
from soffit.io.data_error import DataError, need

_FEWEST_ROWS = 2**12
_ENDINGS = ".npy, .zarr, .parquet, .csv and .tsv"


def read_blocks(
    path: Any,
    *,
    columns: Iterable[str] | None = None,
    drop: Iterable[str] = (),
    block_rows: int | None = None,
) -> Any:
    """Open one file, a folder or several files as a Dask collection, for `SoftClustering.fit`.

    Nothing but headers is read. Workers open the files by their names, so that on a cluster of
    several machines all of them must see the same folder.

    Parameters
    ----------
    path : str or path
        An array (.npy, which is mapped into memory, or .zarr, also one inside a group, such as
        ``"cells.zarr/obsm/X_pca"``), a Parquet file or folder, or a
        pattern such as ``"part-*.parquet"`` or ``"part-*.csv"``.
    columns : iterable of str, optional
        The columns to use. By default all numeric ones.
    drop : iterable of str
        Columns to leave out.
    block_rows : int, optional
        Rows per block of an .npy file; by default blocks have about 32 MB.

    Returns
    -------
    dask.array.Array or dask.dataframe.DataFrame
        The collection.

    Raises
    ------
    DataError
        If there is no such file, its kind is not known, or no column is numeric.

    Examples
    --------
    >>> import numpy as np
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from soffit.io import read_blocks
    >>> with TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "x.npy", np.zeros((1000, 3), dtype=np.float32))
    ...     X = read_blocks(Path(folder) / "x.npy", block_rows=300)
    ...     print(X.shape, X.chunks[0])
    (1000, 3) (300, 300, 300, 100)
    """
    need("dask.array", "dask", "Reading files in blocks")
    names = matching_files(path)
    first = Path(names[0])
    # An array may be inside a group, as in cells.zarr/obsm/X_pca.
    inside = any(part.lower().endswith(".zarr") for part in first.parts)
    ending = ".zarr" if inside else first.suffix.lower()
    if ending in (".npy", ".zarr"):
        if len(names) > 1:
            raise DataError(
                f"{path} matches {len(names)} arrays.", "Pass one array, or Parquet files."
            )
        return _array(names[0], ending, block_rows)
    need("dask.dataframe", "dask", "Reading tables in blocks")
    return _chosen(_frame(path, names, ending), str(path), columns, list(drop))


def matching_files(path: Any) -> list[str]:
    """The names of all files that match a pattern, or the name itself; there is at least one."""
    text = str(path)
    names = sorted(glob(text)) if any(sign in text for sign in "*?[") else [text]
    if not names or not Path(names[0]).exists():
        raise DataError(f"{path}: there is no such file.", "Check the spelling and the folder.")
    return names


def _array(name: str, ending: str, block_rows: int | None) -> Any:
    import dask.array as da

    if ending == ".zarr":
        zarr = need("zarr", "dask", "Reading .zarr files")
        try:
            stored = zarr.open(name, mode="r")
        except (OSError, ValueError) as error:
            raise DataError(
                f"{name} holds no zarr array ({error}).", "Check the name, or write it again."
            ) from None
        if not hasattr(stored, "chunks"):
            raise DataError(
                f"{name} is a group of arrays: {first_few(map(repr, sorted(stored)), 12)}.",
                f"Pass the name of one, such as {name}/obsm/X_pca.",
            )
        return rows_of_zarr(stored)
    source = MappedArray(name)
    rows = block_rows or max(BLOCK_BYTES // max(source.row_bytes, 1), _FEWEST_ROWS)
    chunks = (rows, *source.shape[1:])
    return da.from_array(source, chunks=chunks, name=f"npy-{abs(hash(source.key))}", lock=False)


class MappedArray:
    """An .npy file: opened where it is read, so that only its name travels to workers."""

    def __init__(self, name: str) -> None:
        self.name = str(Path(name).resolve())
        try:
            mapped = self._open()
        except ValueError as error:
            raise DataError(f"{name}: {error}", "Save it again with numpy.save.") from None
        self.shape, self.dtype, self.ndim = mapped.shape, mapped.dtype, mapped.ndim

    def _open(self) -> Any:
        return np.load(self.name, mmap_mode="r")

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return int(np.prod(self.shape[1:], dtype=np.int64)) * self.dtype.itemsize

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this file from others, and from what it held before."""
        return (self.name, Path(self.name).stat().st_mtime_ns, self.shape)

    def __getitem__(self, where: Any) -> Any:
        return np.array(self._open()[where])


def _frame(path: Any, names: list[str], ending: str) -> Any:
    import dask.dataframe as dd

    given = names if len(names) > 1 else names[0]
    if ending in (".parquet", ".pq") or Path(names[0]).is_dir():
        return dd.read_parquet(given)
    if ending in (".csv", ".tsv"):
        return dd.read_csv(given, sep="\t" if ending == ".tsv" else ",")
    raise DataError(
        f"{path}: files ending in {ending or 'nothing'} cannot be read in blocks.",
        f"These can: {_ENDINGS}. Without --dask, soffit reads many more kinds into memory.",
    )


def _chosen(frame: Any, path: str, columns: Iterable[str] | None, drop: list[str]) -> Any:
    known = [str(name) for name in frame.columns]
    wanted = None if columns is None else list(columns)
    for parameter, given in (("columns", wanted or []), ("drop", drop)):
        unknown = [name for name in given if name not in known]
        if unknown:
            raise DataError(
                Message(
                    f"{path}: ",
                    Parameter(parameter),
                    f" names {first_few(map(repr, unknown))}, but there is no such column.",
                ),
                f"The columns are {first_few(map(repr, known), 12)}.",
            )
    if wanted is None:
        kinds = dict(zip(known, frame.dtypes, strict=True))
        wanted = [name for name in known if kinds[name].kind in "biuf"]
    wanted = [name for name in wanted if name not in drop]
    if not wanted:
        raise DataError(f"{path} has no numeric columns.", "Choose others, or encode the text.")
    return frame[wanted]
