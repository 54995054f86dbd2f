"""A first reading in a process of its own: compiled parsers may crash on damaged files.

polars decodes Parquet and HDF5 decodes .h5ad in compiled code, which now and then ends the process
when a byte is wrong. A child reads the file first. What it raises does not matter, because the
same error is raised, and worded, where the file is read in earnest; only how it ends does. The
child runs this file alone, so that it loads nothing but the parser.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

# Entries that are tried; what follows in a larger file is not.
_MOST = 2**28
_AT_ONCE = 2**22
# Signals of a crash; any other end, such as a request to stop, tells nothing about the file.
_CRASHES = {
    -getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE")
    if hasattr(signal, name)
}
# Where there are no signals, a crash ends with a status of this size, such as an access violation.
_FIRST_STATUS_OF_CRASH = 0xC0000000


def try_reading(path: Path) -> None:
    """DataError if reading a Parquet or .h5ad file ends the process that does it."""
    from soffit.io.data_error import DataError

    with suppress(OSError):
        found = path.stat()
        if not _ends_well(str(path.resolve()), found.st_mtime_ns, found.st_size):
            raise DataError(
                f"{path}: it is damaged: its parser crashes.", "Copy or save the file again."
            )


@lru_cache(maxsize=64)
def _ends_well(path: str, changed: int, size: int) -> bool:
    if not sys.executable or getattr(sys, "frozen", False):
        return True
    command = [sys.executable, "-I", __file__, path, json.dumps(sys.path)]
    none = subprocess.DEVNULL
    code = subprocess.run(command, check=False, stdin=none, stdout=none, stderr=none).returncode
    return code not in _CRASHES and code < _FIRST_STATUS_OF_CRASH


# --- the child ------------------------------------------------------------------------------------


def _parquet(path: str) -> None:
    import polars as pl

    frame = pl.scan_parquet(path, glob=False)
    step = max(_AT_ONCE // max(len(frame.collect_schema()), 1), 1)
    for first in range(0, _MOST // _AT_ONCE * step, step):
        if frame.slice(first, step).collect().height < step:
            break


def _hdf5(path: str) -> None:
    import h5py

    left = _MOST
    # HDF5 tells the place of an object in the file; a group may contain itself.
    seen = set()
    with h5py.File(path, "r") as file:
        waiting: list[Any] = [file]
        while waiting and left > 0:
            item = waiting.pop()
            with suppress(Exception):
                place = h5py.h5o.get_info(item.id).addr
                if place in seen:
                    continue
                seen.add(place)
                for name in item.attrs:
                    with suppress(Exception):
                        item.attrs[name]
                if isinstance(item, h5py.Group):
                    for name in item:
                        if not isinstance(item.get(name, getlink=True), h5py.ExternalLink):
                            with suppress(Exception):
                                waiting.append(item[name])
                elif isinstance(item, h5py.Dataset) and not (item.external or item.is_virtual):
                    left -= item.size
                    _array(item)


def _array(array: Any) -> None:
    if not array.shape:
        array[()]
        return
    step = max(_AT_ONCE * len(array) // max(array.size, 1), 1)
    for first in range(0, min(len(array), _MOST // _AT_ONCE * step), step):
        array[first : first + step]


def _main() -> None:
    path, sys.path[:] = sys.argv[1], json.loads(sys.argv[2])
    with suppress(ImportError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(BaseException):
        with Path(path).open("rb") as file:
            read = _hdf5 if file.read(4) == b"\x89HDF" else _parquet
        read(path)


if __name__ == "__main__":
    _main()
