"""Compilation of kernels: announced, and possible where compiled code cannot be stored."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, current_thread, main_thread
from time import perf_counter
from typing import Any

_lock = Lock()
_warned = False
# Seconds of compilation in this process, which no time limit can shorten.
_clock: Any = None
# Called with the name of every function that is about to be compiled, in any thread.
_listeners: list[Callable[[str], None]] = []


@contextmanager
def told_of_compiling(tell: Callable[[str], None]) -> Iterator[None]:
    """A context in which `tell` is called with the name of every function before it is compiled.

    Functions that are loaded from the cache are not compiled.
    """
    _listeners.append(tell)
    try:
        yield
    finally:
        _listeners.remove(tell)


def njit(*, cache: bool, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Numba's `njit`, whose cache on disk is a help and never a condition.

    numba refuses to compile a function with `cache=True` if it finds no folder to write to, and
    fails on a full disk or on a damaged file. Here the function is compiled in memory instead, with
    one warning per process.
    """
    with interrupts_held():
        import numba

    _start_clock()

    def compiled(function: Callable[..., Any]) -> Any:
        # Nobody calls kernels from C: one function less to compile for each.
        chosen: dict[str, Any] = {**options, "no_cfunc_wrapper": True}
        kernel = numba.njit(**chosen)(function)
        # Without compilation (NUMBA_DISABLE_JIT) the function itself comes back.
        if cache and hasattr(kernel, "enable_caching"):
            try:
                kernel._cache = _cache_of(function)
            except (OSError, RuntimeError) as error:
                _warn_once(error)
        return kernel

    return compiled


def seconds_compiling() -> float:
    """Seconds that this process has compiled so far, unless in other threads at the same time."""
    return 0.0 if _clock is None else float(_clock.total)


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Ctrl-C takes effect at the end.

    For imports within a fit: numba and compiled modules of scikit-learn cannot be loaded again
    after half of them was, and no fit in this process would work any more.
    """
    before = signal.getsignal(signal.SIGINT)
    if current_thread() is not main_thread() or not callable(before):
        yield
        return
    received: list[Any] = []
    signal.signal(signal.SIGINT, lambda *arguments: received.append(arguments))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received:
        before(*received[-1])


def _start_clock() -> None:
    global _clock  # noqa: PLW0603
    if _clock is not None:
        return
    from numba.core import event

    class Clock(event.Listener):  # type: ignore[misc,unused-ignore]
        """Tells of compilations and adds them up; some are parts of others."""

        def __init__(self) -> None:
            self.total = self._begin = 0.0
            self._depth = 0

        def on_start(self, event: Any) -> None:
            """A function begins to be compiled."""
            for tell in tuple(_listeners):
                tell(event.data["dispatcher"].py_func.__name__)
            if self._depth == 0:
                self._begin = perf_counter()
            self._depth += 1

        def on_end(self, event: Any) -> None:
            """It is compiled."""
            self._depth -= 1
            if self._depth == 0:
                self.total += perf_counter() - self._begin

    _clock = Clock()
    event.register("numba:compile", _clock)


def _cache_of(function: Callable[..., Any]) -> Any:
    """The cache of a function, whose errors leave the function to be compiled in memory."""
    from numba.core.caching import FunctionCache

    class ForgivingCache(FunctionCache):  # type: ignore[misc,unused-ignore]
        """Loads and saves if it can."""

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """The compiled function, or None if it is not stored or cannot be read."""
            try:
                return super().load_overload(sig, target_context)
            except Exception as error:  # A damaged file may raise anything.
                self._forget(error)
                return None

        def save_overload(self, sig: Any, data: Any) -> None:
            """Store the compiled function, if possible."""
            try:
                super().save_overload(sig, data)
            except Exception as error:
                self._forget(error)

        def _forget(self, error: Exception) -> None:
            """Start the cache of this function anew; without a place to write to, do without."""
            try:
                self.flush()
            except Exception:
                self.disable()
                _warn_once(error)

    return ForgivingCache(function)


def _warn_once(error: Exception) -> None:
    global _warned  # noqa: PLW0603
    with _lock:
        if _warned:
            return
        _warned = True
    warnings.warn(
        f"Compiled code cannot be stored ({error}): every new process compiles it again, which "
        "takes some ten seconds. Set the environment variable NUMBA_CACHE_DIR to a folder that "
        "can be written to.",
        UserWarning,
        stacklevel=2,
    )
