"""Refuse a large allocation in advance, with a remedy."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from soffit._wording import Message

# Leave room for the working copies that every solver needs besides the matrix itself.
_USABLE_SHARE = 0.8


def available_memory() -> int | None:
    """Bytes that can still be allocated, or None if the system does not report them."""
    limits = [_meminfo_available(), _control_group_available()]
    known = [limit for limit in limits if limit is not None]
    if known:
        return min(known)
    try:
        return int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return None


def check_allocation(
    shape: tuple[int, ...], dtype: DTypeLike, *, what: str, remedy: str, copies: int = 1
) -> None:
    """Raise MemoryError if `copies` arrays of this shape would not fit into memory."""
    needed = copies * int(np.prod(shape, dtype=np.float64)) * np.dtype(dtype).itemsize
    available = available_memory()
    if available is not None and needed > _USABLE_SHARE * available:
        size = " x ".join(f"{side:,}" for side in shape)
        raise MemoryError(
            Message(
                what,
                f" needs a dense {size} array ({needed / 2**30:.1f} GiB with its working copies), "
                f"but only {available / 2**30:.1f} GiB are available. ",
                remedy,
            )
        )


def check_memory(n_bytes: float, *, what: str, remedy: str) -> None:
    """Raise MemoryError if `n_bytes` would not fit into memory."""
    available = available_memory()
    if available is not None and n_bytes > _USABLE_SHARE * available:
        raise MemoryError(
            Message(
                what,
                f" needs about {n_bytes / 2**30:.2g} GiB, but only {available / 2**30:.2g} GiB are "
                "available. ",
                remedy,
            )
        )


def peak_memory() -> int | None:
    """Peak memory of this process in bytes, or None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _meminfo_available() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _control_group_available() -> int | None:
    """Memory left by a container's limit (control groups, version 2)."""
    folder = Path("/sys/fs/cgroup")
    try:
        limit = (folder / "memory.max").read_text().strip()
        used = (folder / "memory.current").read_text().strip()
        return None if limit == "max" else max(int(limit) - int(used), 0)
    except (OSError, ValueError):
        return None
