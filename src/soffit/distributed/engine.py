"""Where blocks are worked on: the workers of a Dask cluster, or the threads of this process.

A block is one task, which uses one thread: the workers take their parallelism from blocks.
"""

from __future__ import annotations

import importlib
import os
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from soffit._memory import memory_budget, size_words
from soffit._threads import OutOfTime, one_blas_thread, thread_limit
from soffit._wording import Message
from soffit.distributed.shared_value import resolved, share
from soffit.fitting.monitor import Progress

# Seconds between two looks at a cluster.
_PACE = 0.02
# Tasks per thread between two looks at the clock, without a cluster.
_BATCH = 2


def need_dask(purpose: str) -> None:
    """Refuse with the remedy if Dask is not installed."""
    try:
        importlib.import_module("dask.array")
    except ImportError as error:
        raise ImportError(
            f"{purpose} needs the package dask ({error}). Install it with: "
            'pip install "soffit[dask]"'
        ) from error


@dataclass(frozen=True, eq=False)
class Engine:
    """The scheduler that Dask would use now."""

    client: Any = None  # The client of a cluster; None for the threads of this process.

    @classmethod
    def current(cls) -> Engine:
        """The current client, if there is one."""
        from dask.base import get_scheduler

        owner = getattr(get_scheduler(), "__self__", None)
        return cls(owner if hasattr(owner, "scheduler_info") else None)

    @property
    def n_workers(self) -> int:
        """Processes that work on blocks."""
        return 1 if self.client is None else max(len(self._workers()), 1)

    @property
    def n_threads(self) -> int:
        """Blocks that are worked on at the same time in one process."""
        if self.client is None:
            from dask import config

            return int(config.get("num_workers", None) or os.cpu_count() or 1)
        return max([worker["nthreads"] for worker in self._workers()], default=1)

    @property
    def memory(self) -> float:
        """Bytes that the smallest worker may use."""
        if self.client is None:
            return memory_budget()
        limits = [worker["memory_limit"] for worker in self._workers()]
        return float(min([limit for limit in limits if limit], default=memory_budget()))

    def _workers(self) -> list[Any]:
        return list(self.client.scheduler_info(n_workers=-1)["workers"].values())

    def share(self, value: Any, name: str) -> Any:
        """A value that all tasks can use; see `soffit.distributed.shared_value`."""
        return share(self.client, value, name)

    def results(
        self,
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        progress: Progress | None = None,
    ) -> list[Any]:
        """The results of a function for all arguments, which may be delayed, in order.

        Ends with `OutOfTime` when the time of the fit is over, if its progress is given.
        """
        return self.gather(_tasks(function, arguments), progress)

    def gather(self, tasks: list[Any], progress: Progress | None = None) -> list[Any]:
        """The results of delayed values, in order."""
        found: dict[int, Any] = {}
        for number, result in self._completed(tasks):
            found[number] = result
            if progress is not None:
                progress.share_done(len(found), len(tasks))
                if progress.is_hurried:
                    raise OutOfTime
        return [found[number] for number in range(len(tasks))]

    def keep(
        self,
        function: Callable[..., Any],
        arguments: Sequence[tuple[Any, ...]],
        nout: int | None = None,
    ) -> list[Any]:
        """The same, but the results stay with the workers, which may still compute them.

        `nout` is the number of parts of a result that can be used one by one.
        """
        tasks = _tasks(function, arguments, nout)
        if self.client is not None:
            return list(self.client.persist(tasks))
        from dask.base import persist

        return list(persist(*tasks))

    def _completed(self, tasks: list[Any]) -> Iterator[tuple[int, Any]]:
        """Numbers and results of tasks, as they are completed."""
        if self.client is not None:
            yield from self._completed_by_workers(tasks)
            return
        from dask.base import compute

        step = _BATCH * self.n_threads
        for first in range(0, len(tasks), step):
            yield from enumerate(compute(*tasks[first : first + step]), first)

    def _completed_by_workers(self, tasks: list[Any]) -> Iterator[tuple[int, Any]]:
        from distributed import as_completed

        futures = self.client.compute(tasks)
        number_of = {future.key: number for number, future in enumerate(futures)}
        waiting = as_completed(futures)
        try:
            while waiting.count():
                batch = waiting.next_batch(block=False)
                if not batch:
                    time.sleep(_PACE)
                for future in batch:
                    number = number_of[future.key]
                    with _worker_errors(number):
                        result = future.result()
                    # The cluster may forget it.
                    futures[number] = None
                    yield number, result
        finally:
            self.client.cancel([future for future in futures if future is not None], force=True)

    def check_memory(self, needed: float, *, what: str, remedy: str | Message) -> None:
        """Refuse what a worker cannot hold."""
        if needed > self.memory:
            raise MemoryError(
                Message(
                    f"{what} needs about {size_words(needed)} of memory per worker, but the "
                    f"smallest worker may use {size_words(self.memory)}. ",
                    remedy,
                )
            )


@contextmanager
def _worker_errors(number: int) -> Iterator[None]:
    """Say what to do if workers die of a task again and again."""
    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise MemoryError(
            f"Several workers died, one after the other, while they worked on block {number}, "
            "most likely for lack of memory. Make the blocks smaller, X.rechunk({0: 'auto'}), or "
            "give the workers more memory; their logs tell more."
        ) from error


def _tasks(
    function: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], nout: int | None = None
) -> list[Any]:
    from dask.delayed import delayed

    call = delayed(serial, pure=False, traverse=False, nout=nout)
    stem = f"soffit-{function.__name__.strip('_').replace('_', '-')}-{uuid.uuid4().hex}"
    return [
        call(function, *given, dask_key_name=(stem, number))
        for number, given in enumerate(arguments)
    ]


def serial(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run one task in one thread."""
    with one_blas_thread(), thread_limit(1):
        return function(*map(resolved, arguments))
