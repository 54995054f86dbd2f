"""Work in threads: same results, same order, limits obeyed."""

from __future__ import annotations

import os
import threading

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


def test_none_obeys_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert n_threads() == 1
    monkeypatch.setenv("OMP_NUM_THREADS", "4,2")
    assert n_threads() >= 1
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert 1 <= n_threads() <= (os.cpu_count() or 1)
    assert n_threads(3) == 3
