"""Fits to Dask collections on a local cluster of two workers with one thread each.

``python -m benchmarks.distributed`` measures every row of the table of targets, at full size; with
names of rows only these, for example ``python -m benchmarks.distributed large growth bytes``.
``--scale 0.01`` makes all sizes a hundred times smaller. Every measurement runs in a process of its
own, so that its memory is its own, and is made once even if several rows need it. The data, 6.4 GB
for 10^8 objects, are made in --folder and used again; so are measurements, with --again.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import multiprocessing
import os
import pickle
import resource
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from benchmarks._scale_data import SEED, blobs
from benchmarks._table import print_table
from distributed import Client, LocalCluster, as_completed, default_client, wait
from soffit import RelationFactorization, SoftClustering
from soffit.io import read_blocks
from soffit.metrics import accuracy, adjusted_rand, calibration_error

K, COLUMNS = 10, 16
# Rows that are drawn at a time; a file of n rows begins like every longer one.
PART = 10**6
# Planted clusters: their number, their share of the objects, and their standard deviation.
N_PLANTED, SHARE, SPREAD, FAR = 4, 5e-5, 0.5, 3.0
GB = 1e9
# Gigabytes that a worker may use.
LIMIT = 4
# Objects of the comparisons of bytes and of clusterings; clusters of the latter, and the spread of
# their centres in standard deviations.
N_SAME = 2 * 10**5
N_MANY, OVERLAPPING = 60, 1.5
# Thin clusters: how much longer than wide they are, and the spread of their centres.
LONG, LONG_SPREAD = 10.0, 3.0
# Blocks of the comparison of one worker and two.
_MANY_BLOCKS = 64
# Seconds between two lines about a long run.
REPORT_EVERY = 120.0


@dataclass
class Row:
    """A line of the table."""

    case: str
    measured: str
    target: str
    met: bool | None

    def cells(self) -> tuple[str, ...]:
        """Its words."""
        verdict = "-" if self.met is None else "met" if self.met else "missed"
        return self.case, self.measured, self.target, verdict


# --- data -----------------------------------------------------------------------------------------


def files(folder: Path, n: int, *, planted: bool = False) -> tuple[Path, Path]:
    """Paths of n objects and their labels, which are made if they do not exist."""
    stem = f"{'planted' if planted else 'blobs'}-{n:.0e}"
    X, y = folder / f"{stem}.npy", folder / f"{stem}-labels.npy"
    if X.exists() and y.exists():
        return X, y
    folder.mkdir(parents=True, exist_ok=True)
    table = np.lib.format.open_memmap(X, "w+", np.float32, (n, COLUMNS))
    labels = np.lib.format.open_memmap(y, "w+", np.int64, (n,))
    for number, first in enumerate(range(0, n, PART)):
        part = blobs(min(PART, n - first), K, number)
        table[first : first + PART], labels[first : first + PART] = part.X, part.labels
    if planted:
        random = np.random.default_rng(SEED)
        size = round(SHARE * n)
        rows = random.permutation(n)[: N_PLANTED * size].reshape(N_PLANTED, size)
        for number, own in enumerate(rows):
            centre = FAR * 1.5 * random.choice([-1.0, 1.0], COLUMNS)
            own.sort()
            table[own] = (centre + SPREAD * random.normal(size=(size, COLUMNS))).astype("f4")
            labels[own] = K + number
    table.flush()
    labels.flush()
    return X, y


# --- measuring ------------------------------------------------------------------------------------


def moved_bytes(client: Client) -> int:
    """Bytes that workers have sent, to each other and to the client."""
    sent = client.run(lambda dask_worker: int(dask_worker.transfer_outgoing_bytes_total))
    return sum(sent.values())


def worker_peak(client: Client) -> float:
    def peak() -> float:
        import resource

        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e9

    return max(client.run(peak).values())


def worker_seconds(client: Client) -> float:
    def used() -> float:
        import time

        return time.process_time()

    return sum(client.run(used).values())


def own_peak() -> float:
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GB


def confusion(labels: Any, truth: Path, n_found: int, n_true: int) -> np.ndarray:
    """Counts of pairs of labels, block by block."""
    blocks = labels.to_delayed(optimize_graph=True).ravel()
    starts = np.cumsum([0, *labels.chunks[0][:-1]]).tolist()
    tasks = [
        dask.delayed(_pairs)(block, str(truth), first, n_found * n_true, n_true)
        for block, first in zip(blocks, starts, strict=True)
    ]
    counts = np.zeros(n_found * n_true, dtype=np.int64)
    begin = told = time.perf_counter()
    for number, future in enumerate(as_completed(default_client().compute(tasks)), 1):
        counts += future.result()
        if time.perf_counter() - told > REPORT_EVERY:
            told = time.perf_counter()
            print(
                f"{number} of {len(tasks)} blocks placed after {told - begin:.0f} s, load average "
                f"{os.getloadavg()[1]:.1f}",
                flush=True,
            )
    return counts.reshape(n_found, n_true)


def _pairs(labels: Any, truth: str, first: int, size: int, n_true: int) -> np.ndarray:
    own = np.load(truth, mmap_mode="r")[first : first + len(labels)]
    return np.bincount(labels * n_true + own, minlength=size)


def best_accuracy(counts: np.ndarray) -> float:
    rows, columns = linear_sum_assignment(-counts)
    return float(counts[rows, columns].sum() / counts.sum())


def cluster(n_workers: int) -> Any:
    return LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        memory_limit=f"{LIMIT} GB",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )


# --- measurements, each in a process of its own -------------------------------------------------


class Measurements:
    """Results of measurements; with `again`, those of earlier commands, too."""

    def __init__(self, folder: Path, *, again: bool) -> None:
        self._file = folder / "measured.pickle"
        self._known: dict[Any, Any] = {}
        if self._file.exists():
            self._known = pickle.loads(self._file.read_bytes())
        self._fresh: set[Any] = set(self._known) if again else set()

    def apart(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a function in a process of its own; the same call is made once."""
        key = (function.__name__, *arguments)
        if key not in self._fresh:
            spawn = multiprocessing.get_context("spawn")
            with ProcessPoolExecutor(1, mp_context=spawn) as pool:
                found = pool.submit(function, *arguments).result()
            self._known[key] = found, os.getloadavg()[2], time.strftime("%F %H:%M")
            self._fresh.add(key)
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.write_bytes(pickle.dumps(self._known))
        found, load, moment = self._known[key]
        words = ", ".join(str(part) for part in arguments if not isinstance(part, Path))
        print(f"{function.__name__}({words}): {found} (load {load:.1f}, {moment})", flush=True)
        return found


def placed(
    folder: Path, n: int, sample: int, refine: Any, given: tuple[int, int | None]
) -> dict[str, float]:
    """One fit and the labels of all objects; workers and rows of a block are given."""
    workers, block_rows = given
    path, truth = files(folder, n)
    with cluster(workers) as local, Client(local) as client:
        X = read_blocks(path, block_rows=block_rows)
        # Without the time in which workers start.
        sent, started = moved_bytes(client), worker_seconds(client)
        begin, busy = time.perf_counter(), time.process_time()
        model = SoftClustering(K, sample_size=sample, refine=refine, random_state=7).fit(X)
        fitted, fit_cpu = time.perf_counter(), worker_seconds(client) - started
        own = time.process_time() - busy
        print(f"n={n:.0e}: fitted after {fitted - begin:.0f} s", flush=True)
        counts = confusion(model.labels_, truth, model.n_clusters_, K)
        end = time.perf_counter()
        place_cpu = worker_seconds(client) - started - fit_cpu
        found = {
            "accuracy": best_accuracy(counts),
            "minutes": (end - begin) / 60,
            "place": end - fitted,
            "cpu": own + fit_cpu + place_cpu,
            "place_cpu": place_cpu,
            "moved": (moved_bytes(client) - sent) / n,
            "worker": worker_peak(client),
            "client": own_peak(),
            "estimate": model.memory_per_worker_ / GB,
            "fitted": len(model.sample_indices_),
        }
        first = model.memberships_.blocks[0].compute()
        labels = np.load(truth, mmap_mode="r")[: len(first)]
        return {name: round(float(value), 4) for name, value in found.items()} | {
            "calibration": calibration_error(labels, first)
        }


def in_memory(folder: Path, n: int) -> tuple[float, float]:
    """Accuracy and calibration error of the fit in memory."""
    path, truth = files(folder, n)
    model = SoftClustering(K, random_state=7).fit(np.load(path))
    labels = np.load(truth)
    first = slice(0, PART // 2)
    return accuracy(labels, model.labels_), calibration_error(
        labels[first], model.memberships_[first]
    )


def same_bytes(folder: Path, n: int, workers: int) -> set[str]:
    """Digests of the memberships for three chunkings."""
    path, _ = files(folder, n)
    seen = set()
    with cluster(workers) as local, Client(local):
        for rows in (n, n // 3 + 7, n // 40):
            X = read_blocks(path, block_rows=rows)
            model = SoftClustering(K, sample_size=n // 10, random_state=7).fit(X)
            seen.add(hashlib.sha256(model.memberships_.compute().tobytes()).hexdigest()[:16])
    return seen


def survives(folder: Path, n: int) -> bool:
    """A worker is killed while the sample is drawn, during the fit, and while rows are placed."""
    path, _ = files(folder, n)
    X = read_blocks(path, block_rows=n // 40)
    given: dict[str, Any] = {"sample_size": n // 10, "random_state": 7}
    with dask.config.set(scheduler="threads"):
        expected = SoftClustering(K, **given).fit(X).memberships_.compute()
    with cluster(2) as local, Client(local) as client:

        def kill(*_: Any) -> None:
            # Asked of the supervisors: a worker that is gone does not answer.
            os.kill(min(nanny.pid for nanny in local.workers.values() if nanny.pid), signal.SIGKILL)

        once = [kill]
        threading.Timer(0.2, kill).start()
        model = SoftClustering(
            K, **given, callback=lambda event: once.pop()() if once else None
        ).fit(X)
        client.wait_for_workers(2, timeout=120)
        rows = client.compute(model.memberships_)
        time.sleep(1.0)
        kill()
        return bool((rows.result() == expected).all())


def planted(folder: Path, n: int, sample: int) -> dict[str, float]:
    """Number of clusters beyond the large ones, and the ARI of planted objects and clusters."""
    path, truth = files(folder, n, planted=True)
    with cluster(2) as local, Client(local) as client:
        X = read_blocks(path)
        sent, begin = moved_bytes(client), time.perf_counter()
        model = SoftClustering(K, sample_size=sample, random_state=7).fit(X)
        print(f"n={n:.0e}: fitted after {time.perf_counter() - begin:.0f} s", flush=True)
        k, everything = model.n_clusters_, K + N_PLANTED
        counts = confusion(model.labels_, truth, k, everything)
        minutes = (time.perf_counter() - begin) / 60
        moved, worker = (moved_bytes(client) - sent) / n, worker_peak(client)
    # Objects that are planted, or in a cluster of planted ones.
    main = counts[:, :K].sum(axis=1) > counts[:, K:].sum(axis=1)
    pairs = [
        (row, column, counts[row, column])
        for row in range(k)
        for column in range(everything)
        if column >= K or not main[row]
    ]
    a = np.repeat([row for row, _, _ in pairs], [count for _, _, count in pairs])
    b = np.repeat([column for _, column, _ in pairs], [count for _, _, count in pairs])
    return {
        "more": k - K,
        "ari": float(adjusted_rand(b, a)),
        "minutes": minutes,
        "moved": moved,
        "worker": worker,
        "client": own_peak(),
    }


def many_clusters(n: int, refine: Any, sample: int, thin: bool) -> dict[str, float]:
    """Sixty overlapping clusters in eight columns, round or thin."""
    random = np.random.default_rng(SEED)
    centres = (LONG_SPREAD if thin else OVERLAPPING) * random.normal(size=(N_MANY, 8))
    labels = random.integers(N_MANY, size=n)
    X = random.normal(size=(n, 8))
    if thin:
        directions = random.normal(size=(N_MANY, 8))
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        along = (X * directions[labels]).sum(axis=1, keepdims=True)
        X += (LONG - 1.0) * along * directions[labels]
    X = (centres[labels] + X).astype(np.float32)
    with cluster(2) as local, Client(local) as client:
        table = da.from_array(X, chunks=(-(-n // 8), 8)).persist()
        wait(table)
        sent = moved_bytes(client)
        model = SoftClustering(N_MANY, sample_size=sample, refine=refine, random_state=7).fit(table)
        moved = (moved_bytes(client) - sent) / n
        rows = model.memberships_.compute()
    return {
        "accuracy": accuracy(labels, rows.argmax(axis=1)),
        "calibration": calibration_error(labels, rows),
        "fitted": len(model.sample_indices_),
        "moved": moved,
    }


def graph_in_memory(n: int, size: int) -> dict[str, float]:
    """Seconds of the processor per edge and iteration, and accuracy."""
    source, target, labels = _planted_edges(n, size, K)
    ends = (np.concatenate([source, target]), np.concatenate([target, source]))
    weights = np.ones(len(ends[0]), dtype=np.float32)
    A = sp.csr_array(sp.coo_array((weights, ends), shape=(n, n)))
    begin = time.process_time()
    model = RelationFactorization(K, affinity="precomputed", random_state=7, n_jobs=1)
    found = model.fit(A).labels_
    seconds = (time.process_time() - begin) / size / model.n_iter_
    return {"seconds": seconds, "accuracy": accuracy(labels, found), "n_iter": model.n_iter_}


def graph_in_blocks(n: int, size: int) -> dict[str, float]:
    """The same from partitions of edges, and the memory of a worker."""
    source, target, labels = _planted_edges(n, size, K)
    with cluster(2) as local, Client(local) as client:
        frame = pd.DataFrame({"source": source, "target": target})
        parts = dd.from_pandas(frame, npartitions=max(16, size // 10**6)).persist()
        wait(parts)
        busy = worker_seconds(client)
        model = RelationFactorization(K, random_state=7).fit(parts)
        found = model.labels_.compute()
        used = worker_seconds(client) - busy
        return {
            "seconds": used / size / model.n_iter_,
            "accuracy": accuracy(labels, found),
            "n_iter": model.n_iter_,
            "worker": worker_peak(client),
        }


def _planted_edges(n: int, size: int, k: int) -> tuple[Any, Any, Any]:
    random = np.random.default_rng(SEED)
    labels = random.integers(k, size=n)
    order = np.argsort(labels, kind="stable").astype(np.int32)
    begin = np.searchsorted(labels[order], np.arange(k + 1))
    source = random.integers(n, size=size).astype(np.int32)
    target = random.integers(n, size=size).astype(np.int32)
    inside = np.flatnonzero(random.random(size) < 0.7)
    own = labels[source[inside]]
    place = begin[own] + (random.random(len(inside)) * np.diff(begin)[own]).astype(np.int64)
    target[inside] = order[place]
    return source, target, labels


# --- rows of the table ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Sizes:
    """Where the data are, and by how much all sizes are divided."""

    folder: Path
    scale: float
    measurements: Measurements

    def apart(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """The result of a measurement."""
        return self.measurements.apart(function, *arguments)

    def __call__(self, full: float) -> int:
        """A number of objects or edges."""
        return max(round(full * self.scale), 10_000)

    def run(
        self,
        full: float,
        *,
        refine: Any = "leftovers",
        workers: int = 2,
        block_rows: int | None = None,
    ) -> dict[str, float]:
        """One fit to so many objects, and their labels."""
        n = self(full)
        return self.apart(placed, self.folder, n, sample_of(n), refine, (workers, block_rows))


def sample_of(n: int) -> int:
    """Fitted objects: a million, or a tenth."""
    return min(10**6, n // 10)


def large(sizes: Sizes) -> list[Row]:
    """Time and memory of the largest fit."""
    n, found = sizes(1e8), sizes.run(1e8)
    case, limit = f"{n:.0e} x {COLUMNS} from a memory-mapped file", 60 * n / 1e8
    cpu, place = found["cpu"] / 60, found["place"] / 60
    return [
        Row(
            f"{case}: time (placing; processor time)",
            f"{found['minutes']:.1f} min ({place:.1f}; {cpu:.1f})",
            f"<= {limit:.1f} min",
            found["minutes"] <= limit,
        ),
        Row(
            f"{case}: memory of a worker (estimate)",
            f"{found['worker']:.2f} GB ({found['estimate']:.2f})",
            "<= 4 GB",
            found["worker"] <= 4,
        ),
        Row(
            f"{case}: memory of the client",
            f"{found['client']:.2f} GB",
            "<= 2 GB",
            found["client"] <= 2,
        ),
    ]


def against_memory(sizes: Sizes) -> list[Row]:
    """Accuracy and calibration against the fit in memory."""
    n, found = sizes(1e7), sizes.run(1e7)
    right, error = sizes.apart(in_memory, sizes.folder, n)
    gap, off = abs(found["accuracy"] - right), abs(found["calibration"] - error)
    return [
        Row(
            f"accuracy at {n:.0e} against the fit in memory",
            f"{found['accuracy']:.4f}, {right:.4f}",
            "within 0.005",
            gap <= 0.005,
        ),
        Row(
            f"calibration error at {n:.0e} against the fit in memory",
            f"{found['calibration']:.4f}, {error:.4f}",
            "within 0.01",
            off <= 0.01,
        ),
    ]


def growth(sizes: Sizes) -> list[Row]:
    """How the processor time grows."""
    rows, largest, many = [], sizes.run(1e8), sizes(1e8)
    for size in (1e6, 1e7):
        found, few = sizes.run(size), sizes(size)
        exponent = math.log(largest["cpu"] / found["cpu"]) / math.log(many / few)
        case = f"growth exponent of the processor time, {few:.0e} to {many:.0e}"
        case += f" ({found['cpu']:.0f} s, {largest['cpu']:.0f} s)"
        rows.append(Row(case, f"{exponent:.3f}", "<= 1.05", exponent <= 1.05))
    return rows


def identical(sizes: Sizes) -> list[Row]:
    """The same bytes."""
    seen = set().union(
        *(sizes.apart(same_bytes, sizes.folder, N_SAME, count) for count in (1, 2, 4))
    )
    words = f"{len(seen)} different result{'s' if len(seen) > 1 else ''}"
    case = f"1, 2, 4 workers and three chunkings, n={N_SAME:.0e}"
    return [Row(case, words, "identical bytes", len(seen) == 1)]


def small_clusters(sizes: Sizes) -> list[Row]:
    """Planted clusters that the sample is too small to show."""
    n = sizes(1e7)
    found = sizes.apart(planted, sizes.folder, n, sample_of(n))
    more, ari, case = found["more"], found["ari"], f"planted clusters of {SHARE:.3%} at {n:.0e}"
    return [
        Row(
            case,
            f"{more} of {N_PLANTED} found, ARI {ari:.3f}",
            "found, ARI >= 0.9",
            ari >= 0.9 and more == N_PLANTED,
        ),
        Row(
            f"{case}: time; bytes sent per object; memory of a worker, of the client",
            f"{found['minutes']:.1f} min; {found['moved']:.2f}; {found['worker']:.2f} GB, "
            f"{found['client']:.2f} GB",
            "-",
            None,
        ),
    ]


def killed(sizes: Sizes) -> list[Row]:
    """Dead workers."""
    same = sizes.apart(survives, sizes.folder, N_SAME)
    case = f"a worker killed three times, n={N_SAME:.0e}"
    return [Row(case, "same bytes" if same else "other bytes", "same bytes", same)]


def moved(sizes: Sizes) -> list[Row]:
    """Bytes that workers send."""
    n, found = sizes(1e8), sizes.run(1e8)
    sample = found["fitted"] * (4 * COLUMNS + 8) / n
    return [
        Row(
            f"bytes sent per object at {n:.0e} (of these, the sample)",
            f"{found['moved']:.2f} ({sample:.2f})",
            "<= 1",
            found["moved"] <= 1,
        )
    ]


def micro(sizes: Sizes) -> list[Row]:
    """The same with groups of all rows instead of a sample."""
    n, found = sizes(1e7), sizes.run(1e7, refine="micro")
    case = f"refine='micro' at {n:.0e}"
    return [
        Row(
            f"{case}: bytes sent per object ({found['fitted']:,.0f} groups)",
            f"{found['moved']:.2f}",
            "<= 10",
            found["moved"] <= 10,
        ),
        Row(
            f"{case}: time; accuracy, calibration error",
            f"{found['minutes']:.1f} min; {found['accuracy']:.4f}, {found['calibration']:.4f}",
            "-",
            None,
        ),
    ]


def speedup(sizes: Sizes) -> list[Row]:
    """One worker to two."""
    n = sizes(1e7)
    # So many blocks that both workers are busy until the end.
    given: dict[str, Any] = {"refine": None, "block_rows": n // _MANY_BLOCKS}
    one, two = (sizes.run(1e7, workers=count, **given)["place"] for count in (1, 2))
    case, gain = f"speed-up of placing {n:.0e}, one worker to two", one / two
    return [Row(case, f"{gain:.2f} times", ">= 1.8", gain >= 1.8)]


def edges(sizes: Sizes) -> list[Row]:
    """A planted graph in partitions of edges, against the fit in memory with fewer edges."""
    n, few, many = sizes(1e6), sizes(1e7), sizes(5e7)
    memory, blocks = sizes.apart(graph_in_memory, n, few), sizes.apart(graph_in_blocks, n, many)
    ratio = blocks["seconds"] / memory["seconds"]
    case = f"{n:.0e} nodes, {many:.0e} edges"
    return [
        Row(
            f"{case}: processor time per edge and iteration, of that in memory at {few:.0e}",
            f"{ratio:.2f} times",
            "<= 1.5",
            ratio <= 1.5,
        ),
        Row(
            f"{case}: memory of a worker",
            f"{blocks['worker']:.2f} GB",
            "<= 4 GB",
            blocks["worker"] <= 4,
        ),
    ]


def groups(sizes: Sizes) -> list[Row]:
    """Groups of all rows against a sample of as many rows, where clusters are many or thin."""
    rows = []
    for words, thin in (("overlapping", False), (f"thin (1 : {LONG:.0f})", True)):
        micro = sizes.apart(many_clusters, N_SAME, "micro", N_SAME // 50, thin)
        sample = sizes.apart(many_clusters, N_SAME, None, int(micro["fitted"]), thin)
        case = f"{N_MANY} {words} clusters, {micro['fitted']:.0f} fitted of {N_SAME:.0e}"
        rows += [
            Row(
                f"{case}: accuracy with refine='micro', with a sample",
                f"{micro['accuracy']:.4f}, {sample['accuracy']:.4f}",
                "micro is better",
                micro["accuracy"] > sample["accuracy"],
            ),
            Row(
                f"{case}: calibration error",
                f"{micro['calibration']:.4f}, {sample['calibration']:.4f}",
                "-",
                None,
            ),
        ]
    return rows


ROWS: dict[str, Callable[[Sizes], list[Row]]] = {
    "large": large,
    "accuracy": against_memory,
    "growth": growth,
    "identical": identical,
    "planted": small_clusters,
    "killed": killed,
    "bytes": moved,
    "micro": micro,
    "speedup": speedup,
    "edges": edges,
    "groups": groups,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--scale", type=float, default=1.0, help="of all sizes")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir()) / "soffit-distributed")
    parser.add_argument("--again", action="store_true", help="use measurements made before")
    options = parser.parse_args()
    unknown = [name for name in options.rows if name not in ROWS]
    if unknown:
        parser.error(f"there is no row {unknown[0]!r}: choose from {', '.join(ROWS)}")
    measurements = Measurements(options.folder, again=options.again)
    sizes = Sizes(options.folder, options.scale, measurements)
    rows = [row for name in options.rows or ROWS for row in ROWS[name](sizes)]
    load = os.getloadavg()[2]
    print_table(
        ("case", "measured", "target", "verdict"),
        [row.cells() for row in rows],
        title=f"LocalCluster, two workers of one thread, {os.cpu_count()} cores, load {load:.1f}",
    )


if __name__ == "__main__":
    main()
