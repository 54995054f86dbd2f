"""Small tables, new objects and wide tables: processor and wall time, with peers in the same run.

Fits are repeated, and the median is printed; everything is compiled before. Processor time is that
of all threads together, which other processes on the machine influence little; wall time means
something only on a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering
from sklearn.mixture import GaussianMixture

from benchmarks import _scale_data
from benchmarks._table import print_table
from soffit import SoftClustering
from soffit._threads import one_blas_thread
from soffit.metrics import accuracy
from soffit.neighbors.search import make_search, neighbors_of

N_NEIGHBORS = 15
# Objects whose true neighbours are searched.
CHECKED = 300
# Inverted lists of faiss, and how many of them are searched.
LISTS, PROBED = 316, 12
SEED = 0


def seconds(run: Callable[[], Any], *, times: int = 1) -> tuple[float, float, Any]:
    """Medians of processor and wall time of some runs, and the result of the last one."""
    found, processor, wall = None, [], []
    for _ in range(times):
        begin, begin_wall = time.process_time(), time.perf_counter()
        found = run()
        processor.append(time.process_time() - begin)
        wall.append(time.perf_counter() - begin_wall)
    return median(processor), median(wall), found


def fits(n: int) -> list[list[str]]:
    """Fits of n objects in 16 columns, 10 clusters."""
    data = _scale_data.draw("blobs", n, 10)
    models: dict[str, Callable[[], Any]] = {
        "SoftClustering": lambda: SoftClustering(10, random_state=SEED),
        "SpectralClustering": lambda: SpectralClustering(
            10, affinity="nearest_neighbors", n_neighbors=N_NEIGHBORS, random_state=SEED
        ),
        "GaussianMixture": lambda: GaussianMixture(10, random_state=SEED),
    }
    rows = []
    for name, make in models.items():
        make().fit_predict(data.X)
        times = 7 if n <= 1000 else 3
        *taken, labels = seconds(lambda make=make: make().fit_predict(data.X), times=times)
        score = accuracy(data.labels, np.asarray(labels))
        rows.append([name, f"{n:,}", *(f"{1000 * t:.0f} ms" for t in taken), f"{score:.3f}"])
    return rows


def placed(name: str, n: int, k: int, n_new: int) -> list[str]:
    """Memberships of new objects."""
    fitted, new = _scale_data.draw(name, n, k), _scale_data.draw(name, n_new, k, part=1)
    model = SoftClustering(k, random_state=SEED).fit(fitted.X)
    model.predict_proba(new.X[:3000])
    *taken, rows = seconds(lambda: model.predict_proba(new.X), times=3)
    score = accuracy(new.labels, np.asarray(rows.argmax(axis=1)))
    rates = [f"{n_new / t:,.0f}" for t in taken]
    return [f"{n:,} x {fitted.X.shape[1]}", *rates, f"{score:.3f}"]


def by_soffit(X: NDArray[np.float32]) -> NDArray[Any]:
    """The search of `SoftClustering`, with one thread of BLAS in each of its own, as in a fit."""
    with one_blas_thread():
        return make_search(X, N_NEIGHBORS, metric="euclidean").neighbors(N_NEIGHBORS)[0]


def by_pynndescent(X: NDArray[np.float32]) -> NDArray[Any]:
    """Default settings."""
    from pynndescent import NNDescent

    found = NNDescent(X, n_neighbors=N_NEIGHBORS + 1, random_state=SEED).neighbor_graph[0]
    return np.asarray(found)[:, 1:]


def by_faiss(X: NDArray[np.float32]) -> NDArray[Any]:
    """Inverted lists, of which some are searched."""
    import faiss

    index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], LISTS)
    index.train(X)
    index.add(X)
    index.nprobe = PROBED
    return np.asarray(index.search(X, N_NEIGHBORS + 1)[1])[:, 1:]


def searches(n: int, n_columns: int) -> list[list[str]]:
    """Neighbours of all objects on curved sheets, with the recall on a sample."""
    _scale_data.SHEET_COLUMNS = n_columns
    X = _scale_data.draw("sheets", n, 20).X
    chosen = np.random.default_rng(SEED).choice(n, CHECKED, replace=False)
    true = neighbors_of(X[chosen], X, N_NEIGHBORS + 1, metric="euclidean")[0][:, 1:]
    rows = []
    for search in (by_soffit, by_pynndescent, by_faiss):
        name = search.__name__.removeprefix("by_")
        try:
            search(X[:25_000])
        except ImportError:
            continue
        *taken, lists = seconds(lambda search=search: search(X))
        pairs = zip(lists[chosen], true, strict=True)
        recall = np.mean([len(np.intersect1d(*pair)) / N_NEIGHBORS for pair in pairs])
        times = [f"{t:.1f} s" for t in taken]
        rows.append([name, f"{n:,} x {n_columns}", *times, f"{recall:.3f}"])
    return rows


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Small tables, new objects, wide tables.")
    parser.add_argument("--objects", type=int, default=100_000, help="of the large tables")
    parser.add_argument("--new", type=int, default=50_000, help="new objects to place")
    parser.add_argument("--columns", type=int, default=384, help="of the wide table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print_table(
        ["fit", "objects", "processor", "wall", "accuracy"],
        [*fits(1_000), *fits(10_000)],
        title="16 columns, 10 clusters",
    )
    print_table(
        ["fitted", "per processor second", "per second", "accuracy"],
        [
            placed("blobs", options.objects, 10, options.new),
            placed("sheets", options.objects, 20, options.new),
        ],
        title="predict_proba",
    )
    print_table(
        ["search", "objects", "processor", "wall", "recall"],
        searches(options.objects, options.columns),
        title=f"{N_NEIGHBORS} neighbours on curved sheets",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
