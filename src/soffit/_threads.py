"""Threads, and settings of the whole process that several of them share.

Pieces of work never depend on the number of threads. A thread that saves and restores a setting of
the process on its own may restore what another has set; here the first thread sets it, and the last
one restores it.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token, copy_context
from dataclasses import dataclass, field
from functools import cache, lru_cache
from queue import Empty, SimpleQueue
from threading import Lock
from time import perf_counter
from typing import Any, Generic, TypeVar

from threadpoolctl import ThreadpoolController

from soffit._compile import seconds_compiling

Item = TypeVar("Item")
Result = TypeVar("Result")

# Entries of one piece of a matrix: large enough for BLAS, small compared with the matrix.
_BLOCK_ENTRIES = 2**21

# Seconds between two checks of a waiting thread.
_PATIENCE = 0.2

# More threads gain nothing on any machine with fewer cores, and many would exhaust the system.
_MOST_THREADS = 64


@dataclass
class _Pool:
    """Threads that wait for work, and their numbers.

    They are kept: a new one costs BLAS a new working buffer. More are started when they are needed.
    """

    jobs: SimpleQueue[tuple[_Batch[Any, Any], int]] = field(default_factory=SimpleQueue)
    started: list[int] = field(default_factory=list)


# The pool of this process, once it is needed; a forked process has none.
_pools: dict[str, _Pool] = {}
# What threads work on.
_open: dict[int, _Batch[Any, Any]] = {}
# Whether the current thread is one of them.
_this_thread = threading.local()
# Number of threads that the current fit may use; None outside of fits.
_limit: ContextVar[int | None] = ContextVar("soffit_threads", default=None)
# When the current work must end; None if it need not.
_deadline: ContextVar[Deadline | None] = ContextVar("soffit_deadline", default=None)
# When searches of the current fit end with what they have found; None if they need not.
_search_deadline: ContextVar[Deadline | None] = ContextVar("soffit_search", default=None)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)
    os.register_at_fork(after_in_child=_open.clear)


@dataclass
class Deadline:
    """A moment of `perf_counter`, the time for compiling not counted, or none.

    Searches whose first iteration is spared end after it at the earliest.
    """

    moment: float | None
    spares_first: bool = False

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """The moment after some seconds of work."""
        return cls(None if seconds is None else perf_counter() - seconds_compiling() + seconds)

    @property
    def is_over(self) -> bool:
        """Whether the moment has passed."""
        return self.moment is not None and perf_counter() - seconds_compiling() > self.moment


class OutOfTime(Exception):  # noqa: N818 - it ends a phase, and is not always an error
    """The time of the current phase is over."""


@contextmanager
def time_limit(deadline: Deadline) -> Iterator[None]:
    """A context in which all loops end with `OutOfTime` after a deadline, which may be moved."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


@contextmanager
def search_limit(deadline: Deadline) -> Iterator[None]:
    """A context in which searches end after a deadline and keep what they have found."""
    token = _search_deadline.set(deadline)
    try:
        yield
    finally:
        _search_deadline.reset(token)


def begin_search(n_iter: int) -> Token[Deadline | None] | None:
    """From now on all loops end with `OutOfTime` after the deadline of searches, if there is one.

    Returns what `end_search` needs; None if nothing has changed after so many iterations.
    """
    deadline = _search_deadline.get()
    if deadline is None or (deadline.spares_first and n_iter == 0):
        return None
    return _deadline.set(deadline)


def end_search(begun: Token[Deadline | None] | None) -> None:
    """The time limit is again that before `begin_search`."""
    if begun is not None:
        _deadline.reset(begun)


def is_late() -> bool:
    """Whether the time for searches is over: what a fit can do without is left out."""
    deadline = _search_deadline.get()
    return deadline is not None and deadline.is_over


def check_time() -> None:
    """End the current phase if its time is over; for loops that do not use `each`."""
    deadline = _deadline.get()
    if deadline is not None and deadline.is_over:
        raise OutOfTime


@contextmanager
def thread_limit(n_jobs: int | None) -> Iterator[None]:
    """A context in which all loops use the number of threads of an estimator's `n_jobs`."""
    token = _limit.set(effective_threads(n_jobs))
    try:
        yield
    finally:
        _limit.reset(token)


def effective_threads(n_jobs: int | None) -> int:
    """Number of threads by the rules of scikit-learn: -1 means all cores, None joblib's setting.

    All cores are limited by OMP_NUM_THREADS, with which users and process pools keep cores free.
    There are at most 64, or as many as cores.
    """
    if n_jobs == -1:
        return _all_threads()
    if n_jobs == 0:
        raise ValueError("n_jobs must be a number of threads, or -1 for all cores, got 0.")
    from joblib import effective_n_jobs

    return min(int(effective_n_jobs(n_jobs)), max(_MOST_THREADS, _n_cores()))


def n_threads(n_jobs: int | None = None) -> int:
    """Number of threads for a loop: by default, and at most, that of the current fit.

    Outside of a fit, None means all cores.
    """
    limit = _limit.get()
    if n_jobs is None:
        return _all_threads() if limit is None else limit
    threads = effective_threads(n_jobs)
    return threads if limit is None else min(threads, limit)


def _all_threads() -> int:
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return min(_n_cores(), max(int(limit), 1)) if limit.isdigit() else _n_cores()


@cache
def _n_cores() -> int:
    """Cores available to this process; cached, because joblib's query is slow."""
    from joblib import cpu_count

    return int(cpu_count())


def each(
    function: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None = None
) -> list[Result]:
    """Results of the function for all items, in order.

    The function should spend its time in code that releases the GIL, such as loops of NumPy and
    BLAS. A nested call of `each` uses no further threads: all of them are busy, and waiting for
    them would be a deadlock. No thread works on after an error or Ctrl-C: items that have not begun
    are dropped, the others are waited for, because they use memory that the caller is about to
    release.
    """
    threads = n_threads(n_jobs)
    check_time()
    if threads == 1 or getattr(_this_thread, "works", False):
        return [_in_time(function, item) for item in items]
    batch = _Batch(function, items, threads)
    try:
        jobs = _jobs_of(threads)
        for worker in range(batch.n_workers):
            jobs.put((batch, worker))
        batch.wait()
    finally:
        batch.close()
    return batch.found()


def search_each(
    function: Callable[[Item], Result], items: Iterable[Item], stop: Callable[[], object]
) -> list[Result]:
    """The same for long searches, each of which may use further threads.

    Only the main thread receives Ctrl-C. It calls `stop`, which must tell the searches to end soon.
    Items that have not begun are dropped then, and the results of the others returned.
    """
    batch = _Batch(function, items, n_threads())
    try:
        _start(batch.work, batch.n_workers)
        batch.wait()
    except KeyboardInterrupt:
        stop()
        batch.close()
        if not batch.results:
            raise
    finally:
        batch.close()
    return batch.found()


class _Batch(Generic[Item, Result]):
    """Items that threads work on, until one fails or the caller closes it.

    No lock of Python code is used, as those of `threading` and `concurrent.futures` are: Ctrl-C
    between taking one and noting it would leave it taken, and the next call would wait forever.
    Every step on what threads share is a single call of C code.
    """

    def __init__(
        self, function: Callable[[Item], Result], items: Iterable[Item], n_threads: int
    ) -> None:
        self._function = function
        self._waiting = deque(enumerate(items))
        self._closed = not self._waiting
        self.results: dict[int, Result] = {}
        self._errors: dict[int, BaseException] = {}
        self.n_workers = min(n_threads, len(self._waiting))
        # Time limits and NumPy's error state hold in the threads, too.
        self._contexts = [copy_context() for _ in range(self.n_workers)]
        self._begun = [False] * self.n_workers
        self._ended = [False] * self.n_workers
        self._news: SimpleQueue[None] = SimpleQueue()
        _open[id(self)] = self

    def work(self, worker: int) -> None:
        """Work on items as long as there are any; called once by each thread."""
        # First: a caller that closes the batch waits for all who have begun.
        self._begun[worker] = True
        try:
            if not self._closed:
                self._contexts[worker].run(self._work)
        finally:
            self._ended[worker] = True
            self._news.put(None)

    def _work(self) -> None:
        while not self._closed:
            try:
                number, item = self._waiting.popleft()
            except IndexError:
                self._closed = True
                return
            try:
                self.results[number] = _in_time(self._function, item)
            except BaseException as error:
                self._errors[number] = error
                self._closed = True

    def wait(self) -> None:
        """Wait until no thread works on an item, and none will."""
        while not (self._closed and self._is_idle()):
            try:
                # Some systems do not wake a thread that waits without a limit.
                self._news.get(timeout=_PATIENCE)
            except Empty:
                continue

    def _is_idle(self) -> bool:
        begun = tuple(self._begun)
        return all(ended or not has for has, ended in zip(begun, self._ended, strict=True))

    def close(self) -> None:
        """Let no item begin any more, and wait for the others."""
        self._closed = True
        self.wait()
        _open.pop(id(self), None)

    def found(self) -> list[Result]:
        """The results in order of the items, or the error of the first one that failed."""
        errors, self._errors = self._errors, {}
        try:
            if errors:
                raise errors[min(errors)]
        finally:
            # An error that leads to itself would keep data alive.
            del errors
        return [self.results[number] for number in sorted(self.results)]


def _jobs_of(threads: int) -> SimpleQueue[tuple[_Batch[Any, Any], int]]:
    """The queue from which so many threads, started now if they are not yet, take their work."""
    pool = _pools.setdefault("threads", _Pool())
    for number in range(len(pool.started), threads):
        try:
            start_new_thread(_work_for_all, (pool.jobs, number))
        except RuntimeError:
            # The system allows no more.
            if not pool.started:
                raise
            break
        # Only now: Ctrl-C before leaves a thread too many.
        pool.started.append(number)
    return pool.jobs


def _work_for_all(jobs: SimpleQueue[tuple[_Batch[Any, Any], int]], number: int) -> None:
    _this_thread.works = True
    threading.current_thread().name = f"soffit-{number}"
    while True:
        batch, worker = jobs.get()
        batch.work(worker)
        # A waiting thread keeps no data alive.
        del batch


def _start(work: Callable[[int], None], count: int) -> None:
    """Start threads; fewer than asked for, but at least one, if the system allows no more."""
    for number in range(count):
        try:
            start_new_thread(work, (number,))
        except RuntimeError:
            if number == 0:
                raise
            return


@atexit.register
def _wait_for_threads() -> None:
    """Wait for work that a second Ctrl-C has left behind: it uses what the interpreter frees."""
    for batch in list(_open.values()):
        batch.close()


def _in_time(function: Callable[[Item], Result], item: Item) -> Result:
    result = function(item)
    check_time()
    return result


def pieces(n: int, size: int) -> list[range]:
    """Ranges of at most `size` of n items."""
    return [range(first, min(first + size, n)) for first in range(0, n, size)]


def row_blocks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Slices of a matrix's rows that depend only on its shape."""
    step = max(16, _BLOCK_ENTRIES // max(shape[1], 1))
    for start in range(0, shape[0], step):
        yield slice(start, min(start + step, shape[0]))


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


@contextmanager
def recorded_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """A context whose warnings are collected instead of shown, but for those about libraries."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield caught
