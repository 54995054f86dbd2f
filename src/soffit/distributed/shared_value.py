"""Values that all tasks use: read from one file on one machine, sent once to other machines.

Both ways survive the loss of a worker: data that were only scattered would be lost with it.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import pickle
import shutil
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, finalize

# Bytes of one piece of a value that is sent: Dask warns of tasks with more than 10 MB.
_PIECE = 4 * 2**20
# Arrays begin at multiples of this in a file.
_ALIGNED = 64
# Values that a worker keeps open.
_MOST_OPEN = 4
_HERE = ("inproc://", "tcp://127.", "tls://127.", "tcp://[::1]", "tls://[::1]")
# Seconds to wait for the answer of a worker, and the priority of the question among its tasks.
_PATIENCE = 10.0
_URGENT = 100
# Files live as long as their client, because tasks may outlive the collections they belong to.
_folders: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


class Elsewhere:
    """An argument of a task that is opened where the task runs."""

    def value(self) -> Any:
        """The argument."""
        raise NotImplementedError


@dataclass(frozen=True)
class MappedValue(Elsewhere):
    """A value in a file: only its name travels, and all workers share the memory of its arrays."""

    path: str  # Where it is.
    # Where its parts begin and end: the pickled value, and each of its arrays.
    bounds: tuple[tuple[int, int], ...]

    @classmethod
    def write(cls, value: Any, folder: str) -> MappedValue:
        """Write a value, or find it if it was written before."""
        arrays: list[pickle.PickleBuffer] = []
        whole = pickle.dumps(value, protocol=5, buffer_callback=arrays.append)
        parts = [memoryview(whole), *(array.raw() for array in arrays)]
        digest = hashlib.blake2b(digest_size=16)
        bounds, end = [], 0
        for part in parts:
            digest.update(part)
            begin = -(-end // _ALIGNED) * _ALIGNED
            end = begin + part.nbytes
            bounds.append((begin, end))
        path = Path(folder) / digest.hexdigest()
        if not path.exists():
            with path.open("xb") as stream:
                for part, (begin, _) in zip(parts, bounds, strict=True):
                    stream.seek(begin)
                    stream.write(part)
        return cls(str(path), tuple(bounds))

    def value(self) -> Any:
        """The value; its arrays are pages of the file, copied where they are written to."""
        return _opened(self)

    def read(self) -> Any:
        """The value, in memory of its own: the file may be removed."""
        parts = []
        with open(self.path, "rb") as stream:
            for begin, end in self.bounds:
                stream.seek(begin)
                parts.append(bytearray(stream.read(end - begin)))
        return pickle.loads(parts[0], buffers=parts[1:])


@lru_cache(_MOST_OPEN)
def _opened(given: MappedValue) -> Any:
    with open(given.path, "rb") as stream:
        whole = memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_COPY))
    first, *others = (whole[begin:end] for begin, end in given.bounds)
    return pickle.loads(first, buffers=others)


def resolved(argument: Any) -> Any:
    """An argument of a task, opened if it is elsewhere."""
    return argument.value() if isinstance(argument, Elsewhere) else argument


def share(client: Any, value: Any, name: str) -> Any:
    """A value for the workers of a client, or for threads if there is none: delayed or mapped."""
    from dask.delayed import delayed

    key = f"soffit-{name}-{uuid.uuid4().hex}"
    if client is None:
        return delayed(value, name=key, traverse=False)
    if client.scheduler.address.startswith(_HERE):
        mapped = MappedValue.write(value, _folder_of(client))
        if _is_seen(client, mapped.path):
            return delayed(mapped, name=key, traverse=False)
    whole = pickle.dumps(value, protocol=5)
    # At one worker, from which the others take the whole.
    near = {"workers": sorted(client.scheduler_info()["workers"])[:1], "allow_other_workers": True}
    pieces = [
        client.submit(_piece, whole[first:last], key=f"{key}-{first}", **near)
        for first, last in pairwise([*range(0, len(whole), _PIECE), len(whole)])
    ]
    return delayed(client.submit(_assembled, pieces, key=key, **near))


def _is_seen(client: Any, path: str) -> bool:
    """Whether the workers see a file; those in a container have an address of this machine, too.

    Workers that are dying do not answer: a task that waits for one is given up.
    """
    from distributed import TimeoutError as NoAnswer
    from distributed import wait

    alone: dict[str, Any] = {"pure": False, "allow_other_workers": False, "priority": _URGENT}
    futures = [
        client.submit(os.path.exists, path, workers=[address], **alone)
        for address in sorted(client.scheduler_info(n_workers=-1)["workers"])
    ]
    with suppress(NoAnswer):
        wait(futures, timeout=_PATIENCE)
    answers = [future.result() for future in futures if future.status == "finished"]
    client.cancel(futures)
    return bool(answers) and all(answers)


def _folder_of(client: Any) -> str:
    """A private folder that is removed together with the client."""
    if client not in _folders:
        _folders[client] = tempfile.mkdtemp(prefix="soffit-")
        finalize(client, shutil.rmtree, _folders[client], ignore_errors=True)
    return _folders[client]


def _piece(part: bytes) -> bytes:
    return part


def _assembled(pieces: list[bytes]) -> Any:
    return pickle.loads(b"".join(pieces))
