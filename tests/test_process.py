"""Fits in several threads leave the process as it was."""

from __future__ import annotations

import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from soffit import RandomWalkClassifier, SoftClustering
from soffit._threads import one_blas_thread, without_warnings
from soffit.datasets import make_gaussians


def blas_threads() -> set[int]:
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def overlapping(context: Any, seen: list[Any], look: Any) -> None:
    """Two threads of which the first that enters is the first that leaves."""
    entered = [threading.Event(), threading.Event()]

    def first() -> None:
        with context():
            entered[0].set()
            entered[1].wait(10)
            seen.append(look())

    def second() -> None:
        entered[0].wait(10)
        with context():
            entered[1].set()
            time.sleep(0.2)
            seen.append(look())

    threads = [threading.Thread(target=work) for work in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_blas_has_its_threads_again() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        seen: list[Any] = []
        overlapping(one_blas_thread, seen, blas_threads)
        assert seen == [{1}, {1}]
        assert blas_threads() == before


def test_filters_are_those_of_before() -> None:
    before = list(warnings.filters)
    shown = warnings.showwarning

    def warned() -> int:
        warnings.warn("lost", UserWarning, stacklevel=1)
        return len(warnings.filters)

    overlapping(lambda: without_warnings(UserWarning, "lost"), [], warned)
    assert warnings.filters == before
    assert warnings.showwarning is shown


def test_errors_restore_too() -> None:
    before = list(warnings.filters)
    with pytest.raises(ZeroDivisionError), without_warnings():
        _ = 1 / 0
    assert warnings.filters == before


def test_fits_in_threads_leave_no_marks_and_do_not_disturb_each_other() -> None:
    X, labels, _ = make_gaussians(150, n_clusters=3, random_state=7)
    y = np.where(np.arange(150) % 10 == 0, labels, -1)

    def fit(number: int) -> bytes:
        if number % 2:
            model = RandomWalkClassifier(on="clusters", n_clusters=9, random_state=number)
            return model.fit(X, y).predict_proba(X).tobytes()
        model = SoftClustering(3, n_resamples=2, random_state=number).fit(X)
        return model.predict_proba(X).tobytes()

    alone = [fit(number) for number in range(6)]
    with threadpool_limits(limits=2, user_api="blas"):
        filters, threads = list(warnings.filters), blas_threads()
        with ThreadPoolExecutor(4) as pool:
            together = list(pool.map(fit, range(6)))
        assert warnings.filters == filters
        assert blas_threads() == threads
    assert together == alone
