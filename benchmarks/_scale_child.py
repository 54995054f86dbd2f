"""The part of scale.py that runs in a process of its own: one task, measured, then the end."""

from __future__ import annotations

import json
import resource
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks._scale_data import Data, draw, planted_partition, sweep_graph
from benchmarks._scale_methods import FITS, HNSW, NEIGHBORS, OWN, labels_of, search_by

# So many that walks are taken by polynomials, as they are in every larger fit.
WARM_UP_ROWS, WARM_UP_CLUSTERS = 2500, 3
PRIMED_CLUSTERS, PRIMED_ROWS = 10, 5000
CHECKED, CHECK_BLOCK = 200, 2**14
# Usual settings, which find about as many neighbours as the library does.
LINKS, CONSTRUCTION, SEARCH = 16, 40, 32
SWEEPS = 6
# Fits of fewer seconds are repeated this often; the median is reported.
SHORT, REPEATS = 10.0, 5


class Report:
    """A file of one JSON object per line; the parent reads it while the task runs or has ended."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._begin = 0.0
        self._number = -1

    def write(self, **entry: Any) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def timed(self, work: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
        """The result, its time by the clock and of the processor, and the memory at its peak."""
        self.write(began=True)
        self._number += 1
        processor, self._begin = process_time(), perf_counter()
        result = work()
        seconds = perf_counter() - self._begin
        spent = process_time() - processor
        figures = {"seconds": seconds, "processor": spent, "peak": peak(), "number": self._number}
        return result, figures

    def listen(self) -> None:
        """Note when the phases of a fit begin."""
        from soffit.fitting.monitor import Progress

        original = Progress.phase

        def phase(progress: Progress, what: str, *rest: Any, **options: Any) -> Any:
            if self._begin:
                self.write(phase=what, at=perf_counter() - self._begin, number=self._number)
            return original(progress, what, *rest, **options)

        Progress.phase = phase  # type: ignore[method-assign]


def peak() -> int:
    """Bytes of the largest resident set of this process, or of one that it started."""
    unit = 1 if sys.platform == "darwin" else 1024
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return unit * max(resource.getrusage(one).ru_maxrss for one in who)


def main(text: str) -> None:
    """Do the task that is given as JSON and write what was measured to its report."""
    task = json.loads(text)
    report = Report(task["report"])
    warnings.simplefilter("ignore")
    try:
        result = KINDS[task["kind"]](task, report)
    except Exception as error:  # all that goes wrong is a line of the table
        report.write(error=f"{type(error).__name__}: {error}")
        raise
    report.write(result=result)


# --- fits -------------------------------------------------------------------------------------


def fit(task: dict[str, Any], report: Report) -> dict[str, Any]:
    data = draw(task["data"], task["n"], task["k"])
    method, threads = task["method"], task["threads"]
    if method in OWN:
        report.listen()
    warm_up(method, data, threads)
    with search_by(task["search"]):
        model, first = report.timed(lambda: FITS[method](data, threads))
        results = [first]
        while first["seconds"] < SHORT and len(results) < REPEATS:
            del model
            model, result = report.timed(lambda: FITS[method](data, threads))
            results.append(result)
    result = sorted(results, key=lambda one: one["seconds"])[len(results) // 2]
    # What earlier fits left behind is not the fit's own.
    result["peak"] = first["peak"]
    labels = labels_of(model)
    recall = getattr(model, "neighbor_recall_", None)
    return result | {
        **_scores(data, labels),
        "n": int(data.X.shape[0]),
        "k": data.n_clusters,
        "bytes": data.n_bytes,
        "best": data.best,
        "recall": None if recall is None else float(recall),
        "digest": _digest(model) if method in OWN else None,
        "n_iter": int(getattr(model, "n_iter_", 0) or 0),
    }


def warm_up(method: str, data: Data, threads: int) -> None:
    """A tiny fit by each way of searching, so that compiled kernels are at hand."""
    if data.is_graph:
        few = planted_partition(WARM_UP_ROWS, WARM_UP_CLUSTERS)
    else:
        rows = data.X[:WARM_UP_ROWS]
        few = Data(rows, data.labels[:WARM_UP_ROWS], WARM_UP_CLUSTERS)
    FITS[method](few, threads)
    if method in OWN and not data.is_graph:
        with search_by("approximate"):
            FITS[method](few, threads)


def _scores(data: Data, labels: Any) -> dict[str, float]:
    from soffit.metrics import accuracy, adjusted_rand

    return {
        "accuracy": float(accuracy(data.labels, labels)),
        "ari": float(adjusted_rand(data.labels, labels)),
    }


def _digest(model: Any) -> str:
    memberships = model.memberships_
    parts = [memberships]
    if hasattr(memberships, "indptr"):
        parts = [memberships.indptr, memberships.indices, memberships.data]
    total = sha256()
    for part in parts:
        total.update(np.ascontiguousarray(part).data)
    return total.hexdigest()


def prime(task: dict[str, Any], report: Report) -> dict[str, Any]:
    """Fit once, so that all kernels are compiled and kept on disk; nothing of it is reported."""
    for method in OWN:
        for name in ("blobs", "graph"):
            data = draw(name, task["n"], PRIMED_CLUSTERS)
            warm_up(method, data, task["threads"])
            model = FITS[method](data, task["threads"])
            if name == "blobs":
                model.predict_proba(data.X[: task["n"] // 2])
                # Real sets are in double precision, and large enough for what a warm-up skips.
                few = slice(min(task["n"], PRIMED_ROWS))
                double = replace(data, X=data.X[few].astype(np.float64), labels=data.labels[few])
                FITS[method](double, task["threads"])
    return {"seconds": 0.0}


# --- parts of a fit ---------------------------------------------------------------------------


def predict(task: dict[str, Any], report: Report) -> dict[str, Any]:
    """Time of `predict_proba` for new objects; that of the fit is reported as well."""
    data = draw(task["data"], task["n"], task["k"])
    new = draw(task["data"], task["new"], task["k"], part=1)
    method, threads = task["method"], task["threads"]
    warm_up(method, data, threads)
    began = perf_counter()
    model = FITS[method](data, threads)
    fitted = perf_counter() - began
    model.predict_proba(new.X[:WARM_UP_ROWS])
    memberships, result = report.timed(lambda: model.predict_proba(new.X))
    return result | {
        **_scores(new, np.asarray(memberships).argmax(axis=1)),
        "bytes": data.n_bytes + new.n_bytes,
        "best": new.best,
        "fit": fitted,
    }


def recall(task: dict[str, Any], report: Report) -> dict[str, Any]:
    """Neighbour lists of the library, or of a peer, against the true ones of some objects."""
    data = draw(task["data"], task["n"], task["k"])
    X = data.X
    search = SEARCHES[task["method"]]
    with search_by("approximate"):
        search(X[:WARM_UP_ROWS], task["threads"])
    (lists, own), result = report.timed(lambda: search(X, task["threads"]))
    chosen = np.random.default_rng(task["n"]).choice(len(X), min(CHECKED, len(X)), replace=False)
    true = true_neighbors(X, chosen, NEIGHBORS)
    found = [np.isin(true[i], lists[chosen[i]]).mean() for i in range(len(chosen))]
    return result | {
        "bytes": data.n_bytes,
        "recall": None if own is None else float(own),
        "true_recall": float(np.mean(found)),
    }


def own_search(X: Any, threads: int) -> tuple[Any, float]:
    from soffit.neighbors.search import make_search

    made = make_search(X, NEIGHBORS, metric="euclidean")
    return made.neighbors(NEIGHBORS)[0], made.recall


def hnsw_search(X: Any, threads: int) -> tuple[Any, None]:
    """Graph of small worlds; every object finds itself as well, which is left in the list."""
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexHNSWFlat(X.shape[1], LINKS)
    index.hnsw.efConstruction, index.hnsw.efSearch = CONSTRUCTION, SEARCH
    index.add(np.ascontiguousarray(X, dtype=np.float32))
    return index.search(np.ascontiguousarray(X, dtype=np.float32), NEIGHBORS + 1)[1], None


SEARCHES = {"": own_search, HNSW: hnsw_search}


def true_neighbors(X: Any, chosen: Any, n_neighbors: int) -> Any:
    """Nearest rows of X for the chosen ones, themselves left out; all rows are compared."""
    asked = X[chosen].astype(np.float64)
    best = np.full((len(chosen), n_neighbors), np.inf)
    nearest = np.full(best.shape, -1)
    for first in range(0, len(X), CHECK_BLOCK):
        rows = X[first : first + CHECK_BLOCK].astype(np.float64)
        squares = (rows * rows).sum(axis=1) - 2.0 * asked @ rows.T
        inside = (chosen >= first) & (chosen < first + len(rows))
        squares[inside, chosen[inside] - first] = np.inf
        numbers = np.broadcast_to(np.arange(first, first + len(rows)), squares.shape)
        squares, numbers = np.hstack([best, squares]), np.hstack([nearest, numbers])
        kept = np.argpartition(squares, n_neighbors - 1, axis=1)[:, :n_neighbors]
        best = np.take_along_axis(squares, kept, axis=1)
        nearest = np.take_along_axis(numbers, kept, axis=1)
    return nearest


def build(task: dict[str, Any], report: Report) -> dict[str, Any]:
    """Write the graph on which sweeps are timed."""
    from scipy.sparse import save_npz

    A, labels = sweep_graph(task["n"], task["k"])
    save_npz(Path(task["file"]), A, compressed=False)
    np.save(Path(task["file"]).with_suffix(".npy"), labels)
    return {"seconds": 0.0, "edges": int(A.nnz // 2)}


def sweep(task: dict[str, Any], report: Report) -> dict[str, Any]:
    """Sweeps of `solve_rows` alone: the time from the end of the first to the end of the last."""
    from scipy.sparse import csr_array, load_npz

    path = Path(task["file"])
    small, few_labels = sweep_graph(WARM_UP_ROWS, WARM_UP_CLUSTERS)
    _sweeps(small, few_labels, WARM_UP_CLUSTERS)
    A, labels = csr_array(load_npz(path)), np.load(path.with_suffix(".npy"))
    (ends, factor), result = report.timed(lambda: _sweeps(A, labels, task["k"]))
    digest = sha256(np.ascontiguousarray(factor).data).hexdigest()
    between = (ends[-1] - ends[0]) / (len(ends) - 1)
    return result | {"sweep": between, "sweeps": len(ends), "digest": digest}


def _sweeps(A: Any, labels: Any, k: int) -> tuple[list[float], Any]:
    from soffit.factorize import Problem, labels_start, solve_rows
    from soffit.normalize import normalize

    # A tenth of the labels is wrong, so that rows have to move.
    labels = labels.copy()
    labels[::10] = (labels[::10] + 1) % k
    degrees = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    problem = Problem(normalize(A, "degree").matrix, k, scale="held", degrees=degrees)
    ends: list[float] = []
    found = solve_rows(
        problem,
        labels_start(labels, k).astype(A.dtype, copy=False),
        max_iter=SWEEPS,
        tol=0.0,
        callback=lambda number, loss: ends.append(perf_counter()),
    )
    return ends, found.factor


KINDS: dict[str, Callable[[dict[str, Any], Report], dict[str, Any]]] = {
    "fit": fit,
    "prime": prime,
    "predict": predict,
    "recall": recall,
    "build": build,
    "sweep": sweep,
}
