"""Settings of the whole process that fits change for a while, also from several threads at once.

Each thread that saves and restores such a setting on its own may restore what another has set: what
it leaves behind then stays for good. Here the first thread sets, and the last one restores.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


class _Shared:
    """A setting that holds as long as any thread needs it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0
        self._restore: Callable[[], Any] = bool

    @contextmanager
    def held(self, change: Callable[[], Callable[[], Any]]) -> Iterator[None]:
        """A context in which the setting is changed; `change` returns how to restore it."""
        with self._lock:
            if self._holders == 0:
                self._restore = change()
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1
                if self._holders == 0:
                    self._restore()


_blas, _filters = _Shared(), _Shared()


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> ThreadpoolController:
    """The loaded libraries, cached: finding them takes longer than placing a few objects.

    Libraries are loaded by imports: they are searched again once there are more modules.
    """
    return ThreadpoolController()


def _set_threads(libraries: list[Any], counts: list[int]) -> None:
    for library, count in zip(libraries, counts, strict=True):
        # From 3.8 on, threadpoolctl lets only one thread set the number; here they agree on it.
        getattr(library, "_real_set_num_threads", library.set_num_threads)(count)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """A context in which BLAS uses one thread, so that results have the same bytes everywhere."""
    libraries = _libraries(len(sys.modules))

    def limit() -> Callable[[], Any]:
        blas = libraries.select(user_api="blas").lib_controllers
        before = [library.num_threads for library in blas]
        _set_threads(blas, [1] * len(blas))
        return lambda: _set_threads(blas, before)

    # OpenMP keeps its number of threads per thread, so each sets its own.
    with _blas.held(limit), libraries.select(user_api="openmp").limit(limits=1):
        yield


@contextmanager
def without_warnings(category: type[Warning] = Warning, message: str = "") -> Iterator[None]:
    """A context in which some warnings are not shown, in any thread, and no filter stays behind."""
    if getattr(sys.flags, "context_aware_warnings", False):
        # Filters belong to the thread, from Python 3.14 on if it is told so.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message, category)
            yield
        return

    def save() -> Callable[[], Any]:
        saved = warnings.catch_warnings()
        saved.__enter__()
        return lambda: saved.__exit__(None, None, None)

    with _filters.held(save):
        warnings.filterwarnings("ignore", message, category)
        yield
