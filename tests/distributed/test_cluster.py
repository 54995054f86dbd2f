"""A real cluster of two processes: the same bytes, also if workers die."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import dask
import dask.array as da
import numpy as np
import pytest

from soffit import SoftClustering


def model(**parameters):
    return SoftClustering(5, **{"random_state": 3, "sample_size": 1500, **parameters})


def test_workers_threads_and_one_thread_give_the_same_bytes(table, cluster):
    X = da.from_array(table, chunks=(1000, 4))
    found = []
    for scheduler in ("threads", "synchronous", cluster):
        with dask.config.set(scheduler=scheduler):
            fitted = model().fit(X)
            parts = dask.compute(fitted.memberships_, fitted.novelty_score(X))
            found.append(b"".join(part.tobytes() for part in parts))
    assert len(set(found)) == 1


def test_nothing_of_size_n_comes_to_the_client(table, cluster):
    X = da.from_array(np.tile(table, (10, 1)), chunks=(6000, 4)).persist()
    fitted = model(sample_size=600).fit(X)
    total = fitted.entropy_.sum()
    assert total.compute() >= 0
    # The graph of the results holds futures and no data.
    assert len(fitted.memberships_.__dask_keys__()) == 10


def kill(client, number=0):
    """End a worker as the system does when memory runs out."""
    pids = client.run(os.getpid)
    os.kill(sorted(pids.values())[number], signal.SIGKILL)


@pytest.mark.parametrize("moment", ["sample", "fit", "place"])
def test_a_killed_worker_costs_its_blocks_only(table, cluster, moment):
    X = da.from_array(table, chunks=(300, 4))
    with dask.config.set(scheduler="threads"):
        expected = model().fit(X).memberships_.compute()
    cluster.wait_for_workers(2, timeout=60)

    def slowly(block):
        import time

        time.sleep(0.05)
        return block

    slow = X.map_blocks(slowly, dtype=X.dtype, meta=X._meta)
    with ThreadPoolExecutor() as pool:
        killed = []

        def end_one(event=None):
            if not killed:
                killed.append(kill(cluster))

        if moment == "sample":
            work = pool.submit(model().fit, slow)
            end_one()
            fitted = work.result()
        else:
            fitted = model(callback=end_one if moment == "fit" else None).fit(slow)
        rows = cluster.compute(fitted.memberships_)
        if moment == "place":
            end_one()
        found = rows.result()
    assert killed
    assert (found == expected).all()


def test_eight_fits_in_threads_at_once(table):
    from tests.distributed.conftest import separated

    tables = [separated(500, seed=seed)[0] for seed in range(8)]
    alone = [model().fit(X).memberships_ for X in tables]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda X: model().fit(X).memberships_, tables))
    for one, other in zip(alone, together, strict=True):
        assert one.tobytes() == other.tobytes()
    X = da.from_array(table, chunks=(500, 4))
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: model().fit(X).memberships_.compute().tobytes(), range(8)))
    assert len(found) == 1


def test_fits_inside_tasks(table, cluster):
    def fit(part):
        return SoftClustering(5, random_state=3).fit(part).memberships_

    parts = [table[first : first + 500] for first in range(0, 2000, 500)]
    found = cluster.gather([cluster.submit(fit, part) for part in parts])
    for part, rows in zip(parts, found, strict=True):
        assert (fit(part) == rows).all()


def test_a_fit_that_is_stopped_cancels_its_tasks(table, cluster):
    def slowly(block):
        import time

        time.sleep(0.3)
        return block

    X = da.from_array(table, chunks=(100, 4)).map_blocks(slowly, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(ValueError, match="max_time"):
        model(max_time=0.5).fit(X)
    cluster.run_on_scheduler(_wait_until_idle)


def _wait_until_idle(dask_scheduler):
    left = [task for task in dask_scheduler.tasks.values() if "drawn" in str(task.key)]
    assert len(left) <= 2


def test_a_worker_that_does_not_answer_is_not_waited_for(cluster, monkeypatch):
    from soffit.distributed import shared_value

    monkeypatch.setattr(shared_value, "_PATIENCE", 1.0)
    cluster.wait_for_workers(2, timeout=60)
    silent = sorted(cluster.run(os.getpid).values())[0]
    os.kill(silent, signal.SIGSTOP)
    try:
        begin = time.perf_counter()
        shared = shared_value.share(cluster, np.arange(5.0), "test")
        assert time.perf_counter() - begin < 5.0
    finally:
        os.kill(silent, signal.SIGCONT)
    assert (shared_value.resolved(shared.compute()) == np.arange(5.0)).all()
