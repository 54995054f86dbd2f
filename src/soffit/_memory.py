"""One budget of memory: what the machine, its limits and the user allow, checked in advance."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike

from soffit._wording import Message

# The environment variable that sets the budget, in bytes or as in "6GB".
VARIABLE = "SOFFIT_MEMORY"
# A dense fit holds its affinities, a normalized copy, and the working copies of its solver.
DENSE_COPIES = 4
# The rest of the available memory is for the libraries and everything else that runs.
_USABLE_SHARE = 0.8
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([KMGT]?)(I?)B?\s*", re.IGNORECASE)
_CONTROL_GROUPS = Path("/sys/fs/cgroup")


def memory_budget() -> float:
    """Bytes that may still be allocated; infinite if the system does not report its memory.

    This is the value of SOFFIT_MEMORY, or else a share of the memory that is available.
    """
    given = os.environ.get(VARIABLE, "").strip()
    if given:
        return _parsed(given)
    available = available_memory()
    return np.inf if available is None else _USABLE_SHARE * available


def available_memory() -> int | None:
    """Bytes that this process can still allocate, or None if the system does not report them."""
    limits = [_meminfo_available(), _control_group_available(), _address_space_available()]
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
    """Raise MemoryError if `copies` arrays of this shape would not fit into the budget."""
    needed = copies * int(np.prod(shape, dtype=np.float64)) * np.dtype(dtype).itemsize
    budget = memory_budget()
    if needed > budget:
        size = " x ".join(f"{side:,}" for side in shape)
        room = f"{size_words(needed)} with its working copies"
        raise MemoryError(
            Message(what, f" needs a dense {size} array ({room}), {limit_words(budget)} ", remedy)
        )


def check_memory(n_bytes: float, *, what: str, remedy: str) -> None:
    """Raise MemoryError if `n_bytes` would not fit into the budget."""
    budget = memory_budget()
    if n_bytes > budget:
        raise MemoryError(
            Message(what, f" needs about {size_words(n_bytes)}, {limit_words(budget)} ", remedy)
        )


def limit_words(budget: float) -> str:
    """The end of a sentence that refuses: the limit, and how to raise it."""
    return f"but only {size_words(budget)} can be used (the variable {VARIABLE} sets this limit)."


def size_words(n_bytes: float) -> str:
    """A number of bytes as people read it."""
    for unit in ("bytes", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.0f} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:,.1f} GB"


def peak_memory() -> int | None:
    """Peak memory of this process in bytes, or None if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def _parsed(given: str) -> float:
    found = _SIZE.fullmatch(given)
    if not found:
        raise ValueError(
            f"The environment variable {VARIABLE} must be a size such as 6GB or 500MB, got "
            f"{given!r}."
        )
    number, unit, binary = found.groups()
    size = _UNITS[unit.upper()]
    return float(number) * (size if not binary else 1024 ** round(np.log10(size) / 3))


def _meminfo_available() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return None


def _address_space_available() -> int | None:
    """Memory left by `ulimit -v`."""
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit == resource.RLIM_INFINITY:
            return None
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return max(limit - pages * resource.getpagesize(), 0)
    except (ImportError, OSError, ValueError):
        return None


# --- control groups: the limits of containers and batch systems -----------------------------------


def _control_group_available() -> int | None:
    """Memory left by the tightest limit of this process's control groups, versions 1 and 2."""
    left = [
        _left(folder, "memory.max", "memory.current", "inactive_file")
        for folder in _ancestors(_CONTROL_GROUPS, _own_group(""))
    ] + [
        _left(folder, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        for folder in _ancestors(_CONTROL_GROUPS / "memory", _own_group("memory"))
    ]
    known = [number for number in left if number is not None]
    return min(known) if known else None


def _own_group(controller: str) -> str:
    """The path of this process's group; version 2 has no controllers of its own."""
    try:
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controller in controllers.split(","):
                return path.strip("/")
    except (OSError, ValueError):
        pass
    return ""


def _ancestors(root: Path, path: str) -> list[Path]:
    """The group and all above it; in a container only the root may be visible."""
    folder = root / path
    return [root, *(above for above in (folder, *folder.parents) if root in above.parents)]


def _left(folder: Path, limit: str, usage: str, cache: str) -> int | None:
    try:
        text = (folder / limit).read_text().strip()
        # Version 1 writes the largest number of pages for "no limit".
        if text == "max" or int(text) >= 2**60:
            return None
        used = int((folder / usage).read_text()) - _reclaimable(folder, cache)
        return max(int(text) - used, 0)
    except (OSError, ValueError):
        return None


def _reclaimable(folder: Path, name: str) -> int:
    """Cached files, which the system drops when memory is needed."""
    try:
        for line in (folder / "memory.stat").read_text().splitlines():
            key, _, number = line.partition(" ")
            if key == name:
                return int(number)
    except (OSError, ValueError):
        pass
    return 0
