"""Work in threads: same results, same order, limits obeyed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from soffit import _threads
from soffit._threads import Deadline, OutOfTime, check_time, each, n_threads, time_limit


@pytest.mark.parametrize("n_jobs", [1, 2, 3, None])
def test_results_come_in_the_order_of_the_items(n_jobs: int | None) -> None:
    assert each(lambda x: x * x, range(20), n_jobs) == [x * x for x in range(20)]


def test_errors_reach_the_caller() -> None:
    def fail(x: int) -> int:
        raise ValueError(f"item {x}")

    with pytest.raises(ValueError, match="item 0"):
        each(fail, range(3), 2)


def test_threads_are_used_and_kept() -> None:
    def name(_: int) -> str:
        return threading.current_thread().name

    assert set(each(name, range(8), 1)) == {threading.current_thread().name}
    assert all(thread.startswith("soffit") for thread in each(name, range(8), 2))


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_work_within_work_does_not_wait_for_itself(n_jobs: int) -> None:
    """More items than threads, each of which asks for threads."""
    found: list[list[int]] = []

    def work() -> None:
        found.extend(each(lambda x: each(lambda y: x * y, range(4), n_jobs), range(9), n_jobs))

    # In a thread that does not outlive the tests: a deadlock fails instead of lasting forever.
    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(timeout=30)
    assert found == [[x * y for y in range(4)] for x in range(9)]


def test_none_obeys_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    assert n_threads() >= 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert 1 <= n_threads() <= (os.cpu_count() or 1)
    assert n_threads(3) == 3


def test_no_thread_works_on_after_an_error() -> None:
    working, done = set(), set()

    def work(x: int) -> None:
        if x == 1:
            raise ValueError("item 1")
        working.add(x)
        time.sleep(0.1)
        done.add(x)

    with pytest.raises(ValueError, match="item 1"):
        each(work, range(50), 2)
    assert working == done
    assert len(done) < 10
    time.sleep(0.2)
    assert working == done


def test_the_time_limit_holds_in_threads() -> None:
    def work(_: int) -> int:
        for _ in range(200):
            time.sleep(0.01)
            check_time()
        return 1

    for n_jobs in (1, 2):
        begin = time.perf_counter()
        with time_limit(Deadline.after(0.1)), pytest.raises(OutOfTime):
            each(work, range(4), n_jobs)
        assert time.perf_counter() - begin < 1.0


def test_error_states_hold_in_threads() -> None:
    with np.errstate(all="raise"):
        states = each(lambda _: np.geterr()["over"], range(4), 2)
    assert states == ["raise"] * 4


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_no_lock_of_python_code_is_used(monkeypatch: pytest.MonkeyPatch, n_jobs: int) -> None:
    """Ctrl-C after such a lock is taken, and before it is noted, would leave it taken for ever."""
    each(str, range(4), n_jobs)

    def enter(_: object) -> bool:
        raise AssertionError("a lock of Python code")

    monkeypatch.setattr(threading.Condition, "__enter__", enter)
    assert each(str, range(4), n_jobs) == ["0", "1", "2", "3"]


_INTERRUPTED = """
import faulthandler, random, signal
from soffit._threads import each

def work(x):
    return sum(range(200)) + x

signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
draw = random.Random(1).uniform
expected = each(work, range(4), 2)
for _ in range(1500):
    faulthandler.dump_traceback_later(60, exit=True)
    try:
        signal.setitimer(signal.ITIMER_REAL, draw(1e-5, 1.5e-3))
        while True:
            each(work, range(4), 2)
    except KeyboardInterrupt:
        assert each(work, range(4), 2) == expected
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs timers that send signals")
def test_interrupts_at_any_moment_leave_the_threads_alive() -> None:
    """It waited forever after one of a few hundred."""
    command = [sys.executable, "-c", _INTERRUPTED]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


def test_an_error_keeps_no_data_alive() -> None:
    import gc
    import weakref

    class Data:
        pass

    def fail(data: Data) -> None:
        raise ValueError("failed")

    gc.disable()
    try:
        data = Data()
        noted = weakref.ref(data)
        with pytest.raises(ValueError, match="failed"):
            each(fail, [data, data], 2)
        del data
        assert noted() is None
    finally:
        gc.enable()


def test_fewer_threads_than_asked_for_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(work: object, arguments: tuple[int]) -> None:
        if started:
            raise RuntimeError("can't start new thread")
        started.append(threading.Thread(target=work, args=arguments, daemon=True))
        started[0].start()

    monkeypatch.setattr(_threads, "_pools", {})
    monkeypatch.setattr(_threads, "start_new_thread", start)
    assert each(lambda x: 2 * x, range(9), 3) == [2 * x for x in range(9)]


def test_threads_are_shared_and_never_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []

    def start(work: object, arguments: tuple[object, ...]) -> None:
        started.append(threading.Thread(target=work, args=arguments, daemon=True))
        started[-1].start()

    monkeypatch.setattr(_threads, "_pools", {})
    monkeypatch.setattr(_threads, "start_new_thread", start)
    most = max(64, _threads._n_cores())
    # A forged model file may ask for any number.
    for n_jobs in (2, 3, 10**9, 5000, 2):
        assert each(lambda x: 2 * x, range(9), n_jobs) == [2 * x for x in range(9)]
        assert len(started) <= most
    assert len(started) == most
