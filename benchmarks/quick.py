"""What users meet first: times beside their targets, with peers in the same run.

    python -m benchmarks.quick
    python -m benchmarks.quick --only small texts

Everything is compiled before. Short fits are repeated, and the median is printed. Processor time
is that of all threads together, which other processes on the machine influence little; targets are
wall time, which means something only on a machine with nothing else to do. The first fit after an
installation is measured by `python -m benchmarks.compile`.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import SpectralClustering
from sklearn.mixture import GaussianMixture

from benchmarks import _scale_data
from benchmarks._table import print_table
from soffit import SoftClustering, warmup
from soffit._threads import one_blas_thread
from soffit.metrics import accuracy
from soffit.neighbors.search import make_search, neighbors_of

N_NEIGHBORS = 15
# Objects whose true neighbours are searched.
CHECKED = 300
# Inverted lists of faiss, and how many of them are searched.
LISTS, PROBED = 316, 12
SEED = 0
SINGLE_FITS = 3
# Starts of GaussianMixture, and a difference in accuracy that does not count.
STARTS, SAME = 10, 0.001
MOST_MEMORY = 8 * 10**9

Row = list[str]


def seconds(run: Callable[[], Any], *, times: int = 1) -> tuple[float, float, Any]:
    """Medians of processor and wall time of some runs, and the result of the last one."""
    found, processor, wall = None, [], []
    for _ in range(times):
        begin, begin_wall = time.process_time(), time.perf_counter()
        found = run()
        processor.append(time.process_time() - begin)
        wall.append(time.perf_counter() - begin_wall)
    return median(processor), median(wall), found


def row(case: str, method: str, taken: tuple[float, float], quality: str, target: float) -> Row:
    """A line of the table; a target of infinity is none."""
    processor, wall = taken
    limit = f"<= {target:g} s" if np.isfinite(target) else ""
    verdict = ("yes" if wall <= target else "NO") if limit else ""
    return [case, method, f"{processor:.3g} s", f"{wall:.3g} s", quality, limit, verdict]


def fit(
    case: str, data: _scale_data.Data, target: float, *, times: int = 1, **parameters: Any
) -> tuple[Row, Any]:
    """A fit of SoftClustering, and the model."""
    model = SoftClustering(data.n_clusters, random_state=SEED, **parameters)
    *taken, model = seconds(lambda: model.fit(data.X), times=times)
    score = accuracy(data.labels, np.asarray(model.labels_))
    return row(case, "SoftClustering", (taken[0], taken[1]), f"{score:.3f}", target), model


def small() -> Iterator[Row]:
    """Fits of small tables, of peers, too."""
    for n, target in ((1_000, 0.05), (10_000, 0.3)):
        data, times = _scale_data.draw("blobs", n, 10), 7 if n <= 1000 else 3
        fit("", data, target)
        yield fit(f"{n:,} x 16, later fits", data, target, times=times)[0]
        peers: list[Any] = [
            SpectralClustering(
                10, affinity="nearest_neighbors", n_neighbors=N_NEIGHBORS, random_state=SEED
            ),
            GaussianMixture(10, random_state=SEED),
        ]
        for peer in peers:
            *taken, labels = seconds(partial(peer.fit_predict, data.X), times=times)
            score = f"{accuracy(data.labels, np.asarray(labels)):.3f}"
            yield row("", type(peer).__name__, (taken[0], taken[1]), score, np.inf)


def texts() -> Iterator[Row]:
    """Fits of tables with as many columns as embeddings and words have."""
    _scale_data.SHEET_COLUMNS = 768
    for name, draw in (("dense", "sheets"), ("sparse", "words")):
        fit("", _scale_data.draw(draw, 3_000, 20), 5)
        data = _scale_data.draw(draw, 20_000, 20)
        yield fit(f"20,000 x 768 {name} text", data, 5)[0]


def number() -> Iterator[Row]:
    """Choosing the number of clusters, against a single fit."""
    for n in (10_000, 100_000, 1_000_000):
        data = _scale_data.draw("blobs", n, 10)
        if n < 1_000_000:
            SoftClustering(None, random_state=SEED).fit(data.X)
        single, _ = fit(f"{n:,} x 16, one fit", data, np.inf)
        yield single
        *taken, model = seconds(lambda X=data.X: SoftClustering(None, random_state=SEED).fit(X))
        limit = SINGLE_FITS * float(single[3].split()[0])
        case, found = f"{n:,} x 16, n_clusters=None", f"k = {model.n_clusters_}"
        yield row(case, "SoftClustering", (taken[0], taken[1]), found, limit)


def placing(name: str, n: int, k: int, target: float) -> Iterator[Row]:
    """Memberships of new objects, and the size of the model."""
    n_new = 50_000
    fitted, new = _scale_data.draw(name, n, k), _scale_data.draw(name, n_new, k, part=1)
    shape = f"{n:,} x {fitted.X.shape[1]}"
    line, model = fit(f"{shape}, fit", fitted, 20 if n == 1_000_000 else np.inf)
    yield line
    if n == 1_000_000:
        peer = GaussianMixture(k, random_state=SEED)
        *taken, labels = seconds(partial(peer.fit_predict, fitted.X))
        score = f"{accuracy(fitted.labels, np.asarray(labels)):.3f}"
        yield row("", "GaussianMixture", (taken[0], taken[1]), score, np.inf)
    model.predict_proba(new.X[:3000])
    processor, wall, rows = seconds(lambda: model.predict_proba(new.X), times=3)
    score = f"{accuracy(new.labels, np.asarray(rows.argmax(axis=1))):.3f}"
    rates = [f"{n_new / taken:,.0f} / s" for taken in (processor, wall)]
    verdict = "yes" if n_new / wall >= target else "NO"
    yield [f"{shape}, new objects", "predict_proba", *rates, score, f">= {target:,.0f}", verdict]
    size = f"{len(pickle.dumps(model)) / n:,.0f} bytes"
    yield [f"{shape}, pickled model per object", "", "", "", size, "", ""]


def predict() -> Iterator[Row]:
    """New objects among 100,000."""
    _scale_data.SHEET_COLUMNS = 128
    yield from placing("blobs", 100_000, 10, 100_000)
    yield from placing("sheets", 100_000, 20, 50_000)


def million() -> Iterator[Row]:
    """A million objects, and new ones among them."""
    yield from placing("blobs", 1_000_000, 10, 70_000)


def graph() -> Iterator[Row]:
    """A given graph of a million nodes."""
    fit("", _scale_data.draw("graph", 60_000, 10), 60, affinity="precomputed")
    data = _scale_data.draw("graph", 1_000_000, 50)
    yield fit("graph, 1,000,000 nodes, 10,000,000 edges", data, 60, affinity="precomputed")[0]


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


def starts() -> Iterator[Row]:
    """GaussianMixture from several seeds: how many of its starts reach the accuracy of ours."""
    data = _scale_data.draw("blobs", 1_000_000, 10)
    line, model = fit("1,000,000 x 16", data, np.inf)
    yield line
    own, right, total = accuracy(data.labels, np.asarray(model.labels_)), 0, 0.0
    for seed in range(STARTS):
        peer = GaussianMixture(10, random_state=seed)
        *taken, labels = seconds(partial(peer.fit_predict, data.X))
        score = accuracy(data.labels, np.asarray(labels))
        right, total = right + (score >= own - SAME), total + taken[1]
        yield row("", f"GaussianMixture, seed {seed}", (taken[0], taken[1]), f"{score:.3f}", np.inf)
    reached = f"{right} of {STARTS} starts"
    yield ["", "GaussianMixture, mean per start", "", f"{total / STARTS:.3g} s", reached, "", ""]


def limits() -> Iterator[Row]:
    """Time limits: at most one second and a tenth more; Ctrl-C: what comes back, and how soon."""
    _scale_data.BLOB_COLUMNS, columns = 20, _scale_data.BLOB_COLUMNS
    data = _scale_data.draw("blobs", 200_000, 10)
    _scale_data.BLOB_COLUMNS = columns
    case = "200,000 x 20"
    line, _ = fit(f"{case}, no limit", data, np.inf)
    yield line
    whole = float(line[3].split()[0])
    for share in (0.25, 0.5, 0.75, 0.95):
        limit = share * whole
        model = SoftClustering(10, random_state=SEED, max_time=limit)
        *taken, found = seconds(partial(_outcome, model, data))
        yield row(f"{case}, max_time={limit:.3g}", found, (taken[0], taken[1]), "", 1 + 1.1 * limit)
    for share in (0.25, 0.5, 0.75, 0.95):
        model = SoftClustering(10, random_state=SEED)
        alarm = threading.Timer(share * whole, partial(os.kill, os.getpid(), signal.SIGINT))
        alarm.start()
        *taken, found = seconds(partial(_outcome, model, data))
        # The fit may have been faster this time.
        alarm.cancel()
        yield row(
            f"{case}, Ctrl-C after {share * whole:.3g} s", found, (taken[0], taken[1]), "", np.inf
        )


def _outcome(model: Any, data: _scale_data.Data) -> str:
    """How a fit ends, with the accuracy of a model that comes back."""
    try:
        model.fit(data.X)
        model.predict_proba(data.X[:100])
    except (KeyboardInterrupt, ValueError) as error:
        return f"{type(error).__name__}, no model"
    score = accuracy(data.labels, np.asarray(model.labels_))
    return f"{model.stop_reason_}, accuracy {score:.3f}"


_MANY = """
import resource, warnings
resource.setrlimit(resource.RLIMIT_DATA, ({limit}, {limit}))
warnings.simplefilter("ignore")
from benchmarks.quick import fit, peak
from benchmarks import _scale_data
line, model = fit("", _scale_data.draw("blobs", {n}, {k}), float("inf"))
print(*line[2:5], peak(), sep=";")
"""


def peak() -> str:
    """The largest memory of this process so far."""
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.3g} GB"


def many() -> Iterator[Row]:
    """1,000 clusters, in a process that may not have more than 8 GB."""
    for n in (100_000, 1_000_000):
        code = _MANY.format(limit=MOST_MEMORY, n=n, k=1_000)
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        last = (done.stderr if done.returncode else done.stdout).strip().split("\n")[-1]
        processor, wall, score, memory = ["", "", "", last] if done.returncode else last.split(";")
        case, verdict = f"{n:,} x 16, 1,000 clusters", "NO" if done.returncode else "yes"
        yield [case, f"SoftClustering, {memory}", processor, wall, score, "<= 8 GB", verdict]


def wide() -> Iterator[Row]:
    """Neighbours of all objects on curved sheets, with the recall on a sample; a whole fit."""
    for n_columns in (384, 768):
        yield from _wide(n_columns)


def _wide(n_columns: int) -> Iterator[Row]:
    _scale_data.SHEET_COLUMNS = n_columns
    n = 100_000
    data = _scale_data.draw("sheets", n, 20)
    X, chosen = data.X, np.random.default_rng(SEED).choice(n, CHECKED, replace=False)
    true = neighbors_of(X[chosen], X, N_NEIGHBORS + 1, metric="euclidean")[0][:, 1:]
    for search in (by_soffit, by_pynndescent, by_faiss):
        name = search.__name__.removeprefix("by_")
        try:
            search(X[:25_000])
        except ImportError:
            continue
        *taken, lists = seconds(lambda search=search: search(X))
        pairs = zip(lists[chosen], true, strict=True)
        recall = np.mean([len(np.intersect1d(*pair)) / N_NEIGHBORS for pair in pairs])
        is_own = search is by_soffit
        target = 5 if is_own and n_columns == 384 else np.inf
        case = f"{n:,} x {n_columns}, neighbours" if is_own else ""
        yield row(case, name, (taken[0], taken[1]), f"{recall:.3f}", target)
    some = _scale_data.Data(X[:25_000], data.labels[:25_000], 20)
    fit("", some, 10)
    yield fit(f"{n:,} x {n_columns}, whole fit", data, 10 if n_columns == 384 else np.inf)[0]


CASES: dict[str, Callable[[], Iterator[Row]]] = {
    case.__name__: case
    for case in (small, texts, number, predict, wide, million, starts, graph, limits, many)
}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warmup()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    header = ["case", "method", "processor", "wall", "accuracy", "target (wall)", "met"]
    for name in options.only:
        rows = list(CASES[name]())
        print_table(header, rows, title=CASES[name].__doc__ or "", names=2)
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
