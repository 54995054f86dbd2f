"""A small table, and a cluster of two processes that all tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

pytest.importorskip("dask.array")
pytest.importorskip("distributed")


def separated(n: int, *, seed: int = 7, columns: int = 4, dtype: Any = np.float64) -> Any:
    """Five separate Gaussian clusters and their labels."""
    rng = np.random.default_rng(seed)
    centers = 8 * np.eye(5, columns) - 8 * np.eye(5, columns, k=columns)
    labels = rng.integers(0, 5, n)
    return (centers[labels] + rng.normal(size=(n, columns))).astype(dtype), labels


@pytest.fixture(scope="session")
def table() -> Any:
    return separated(6000)[0]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes of one thread each."""
    import dask

    from distributed import Client, LocalCluster

    quick = {"distributed.worker.memory.terminate": False}
    with (
        dask.config.set(quick),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address=None,
            silence_logs=50,
        ) as local,
        Client(local) as client,
    ):
        yield client
