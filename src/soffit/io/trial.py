"""A first reading in a process of its own: compiled parsers may crash on damaged files.

polars decodes Parquet and Arrow and HDF5 decodes .h5ad in compiled code, which now and then ends
the process, panics or never ends when a byte is wrong. A child reads the file first. What it raises
does not matter, because the same error is raised, and worded, where the file is read in earnest;
only how it ends does. The child runs this file alone, so that it loads nothing but the parser.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

# Entries that are tried; what follows in a larger file is not.
_MOST = 2**28
_AT_ONCE = 2**22
# Attributes that anndata asks for by name, which can be read, or crash, where their list cannot.
_ASKED_FOR = (
    *("encoding-type", "encoding-version", "column-order", "_index", "shape", "ordered"),
    *("categories", "h5sparse_format", "h5sparse_shape"),
)
# Signals of a crash; any other end, such as a request to stop, tells nothing about the file.
_CRASHES = {
    -getattr(signal, name)
    for name in ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE")
    if hasattr(signal, name)
}
# Of a panic of polars, whose threads may be left waiting; and of a parser that makes no progress.
_PANIC, _STALLED = 70, 71
# Seconds without any work after which it is given up, and seconds of work for the first bytes.
_PATIENCE = 60.0
_SECONDS, _BYTES_PER_SECOND = 120, 10**6
# Where there are no signals, a crash ends with a status of this size, such as an access violation.
_FIRST_STATUS_OF_CRASH = 0xC0000000


def try_reading(path: Path) -> None:
    """DataError if reading a Parquet, Arrow or .h5ad file ends the process that does it.

    A panic of the parser counts as well, and so does work without end.
    """
    from soffit.io.data_error import DataError

    with suppress(OSError):
        found = path.stat()
        how = _ends_badly(str(path.resolve()), found.st_mtime_ns, found.st_size)
        if how:
            raise DataError(
                f"{path}: it is damaged: its parser {how}.", "Copy or save the file again."
            )


@lru_cache(maxsize=64)
def _ends_badly(path: str, changed: int, size: int) -> str:
    """What the parser does with a damaged file; nothing if the reading ends."""
    if not sys.executable or getattr(sys, "frozen", False):
        return ""
    command = [sys.executable, "-I", __file__, path, json.dumps(sys.path)]
    none = subprocess.DEVNULL
    code = subprocess.run(command, check=False, stdin=none, stdout=none, stderr=none).returncode
    if code == _STALLED or code == -getattr(signal, "SIGXCPU", 0) != 0:
        return "never ends"
    is_crash = code in _CRASHES or code == _PANIC or code >= _FIRST_STATUS_OF_CRASH
    return "crashes" if is_crash else ""


# --- the child ------------------------------------------------------------------------------------


def _frame(path: str, *, is_arrow: bool) -> None:
    import polars as pl

    scan = pl.scan_ipc if is_arrow else pl.scan_parquet
    frame = scan(path, glob=False)
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
            item, place = waiting.pop(), None
            with suppress(Exception):
                place = h5py.h5o.get_info(item.id).addr
            if place is not None and place in seen:
                continue
            seen.add(place)
            names = set(_ASKED_FOR)
            with suppress(Exception):
                names.update(item.attrs)
            for name in sorted(names):
                with suppress(Exception):
                    item.attrs[name]
            with suppress(Exception):
                if isinstance(item, h5py.Group) and place is not None:
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


def _watch() -> None:
    """End the process when it has done nothing for a while."""
    done, since = _work_done(), time.monotonic()
    while True:
        time.sleep(1.0)
        now = _work_done()
        # The watch itself takes a little.
        if now[0] - done[0] > 0.1 or now[1:] != done[1:]:
            done, since = now, time.monotonic()
        elif time.monotonic() - since > _PATIENCE:
            os._exit(_STALLED)


def _work_done() -> tuple[float, ...]:
    """Seconds of processor time, and blocks read."""
    with suppress(ImportError):
        import resource

        return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_inblock
    return (time.process_time(),)


def _main() -> None:
    path, sys.path[:] = sys.argv[1], json.loads(sys.argv[2])
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        most = _SECONDS + Path(path).stat().st_size // _BYTES_PER_SECOND
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    threading.Thread(target=_watch, daemon=True).start()
    code = 0
    try:
        with Path(path).open("rb") as file:
            start = file.read(6)
        if start.startswith(b"\x89HDF"):
            _hdf5(path)
        else:
            _frame(path, is_arrow=start == b"ARROW1")
    except BaseException as error:
        code = _PANIC if type(error).__name__ == "PanicException" else 0
    # Threads that wait for a panicked one would keep the interpreter from ending.
    os._exit(code)


if __name__ == "__main__":
    _main()
