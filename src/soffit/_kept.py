"""Steps of a fit that are not repeated while a session fits the same data again.

Only a step whose inputs are all equal, value by value, is taken from memory, so that results are
those of a fit that remembers nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from soffit._threads import is_late

Result = TypeVar("Result")
# Of each step, and each number of objects, the last results.
_MOST = 2


class Kept:
    """The results of steps, with their inputs."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, int], list[tuple[tuple[Any, ...], Any]]] = {}

    def result(self, step: str, n: int, inputs: tuple[Any, ...], work: Callable[[], Any]) -> Any:
        """The result of a step for these inputs, computed unless it is known."""
        known = self._found.setdefault((step, n), [])
        for place, (given, found) in enumerate(known):
            if all(_equal(a, b) for a, b in zip(given, inputs, strict=True)):
                known.append(known.pop(place))
                return found
        found = work()
        # What was cut short by `max_time` is not the result.
        if not is_late():
            known.append((inputs, found))
            del known[:-_MOST]
        return found


_current: ContextVar[Kept | None] = ContextVar("soffit_kept", default=None)


@contextmanager
def keeping(kept: Kept) -> Iterator[None]:
    """Fits inside remember their steps in `kept`."""
    token = _current.set(kept)
    try:
        yield
    finally:
        _current.reset(token)


def remembered(step: str, n: int, inputs: tuple[Any, ...], work: Callable[[], Result]) -> Result:
    """The result of `work`, from memory if a session has done it with the same inputs.

    `step`: name of the step.
    `n`: number of objects.
    `inputs`: all that the result depends on: arrays, sparse matrices, or what `==` compares.
    """
    kept = _current.get()
    if kept is None:
        return work()
    found: Result = kept.result(step, n, inputs, work)
    return found


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and np.array_equal(a, b)
    if sp.issparse(a):
        parts = ("data", "indices", "indptr")
        return a.shape == b.shape and all(_equal(getattr(a, p), getattr(b, p)) for p in parts)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    return bool(a == b)
