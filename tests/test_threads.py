"""Work in threads: same results, same order, limits obeyed."""

from __future__ import annotations

import os
import threading
import time

import pytest

from soffit._threads import each, n_threads


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
