"""Fits to Dask collections on a local cluster: time, memory, bytes moved, same bytes.

``python -m benchmarks.distributed`` makes its data in --folder and prints the table. The full run
is ``python -m benchmarks.distributed --n 1e6 1e7 1e8 --in-memory 1e7 --planted 1e7 --same 1e5
--speedup 1e6 --many 1e6 --edges 1e6``; smaller sizes run anywhere.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import os
import resource
import signal
import threading
import time
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
        n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs=50
    )


# --- cases ----------------------------------------------------------------------------------------


def placed(folder: Path, n: int, sample: int, refine: Any, workers: int) -> dict[str, float]:
    """One fit and the labels of all objects."""
    path, truth = files(folder, n)
    with cluster(workers) as local, Client(local) as client:
        X = read_blocks(path)
        begin, sent, busy = time.perf_counter(), moved_bytes(client), time.process_time()
        model = SoftClustering(K, sample_size=sample, refine=refine, random_state=7).fit(X)
        fitted = time.perf_counter()
        after_fit = worker_seconds(client)
        print(f"fitted after {fitted - begin:.0f} s", flush=True)
        counts = confusion(model.labels_, truth, model.n_clusters_, K)
        end = time.perf_counter()
        found = {
            "accuracy": best_accuracy(counts),
            "fit": fitted - begin,
            "place": end - fitted,
            "total": end - begin,
            "place_cpu": worker_seconds(client) - after_fit,
            "cpu": worker_seconds(client) + time.process_time() - busy,
            "moved": (moved_bytes(client) - sent) / n,
            "sample": sample * (4 * COLUMNS + 8) / n,
            "load": os.getloadavg()[2],
            "worker": worker_peak(client),
            "client": own_peak(),
            "estimate": model.memory_per_worker_ / GB,
        }
        first = model.memberships_.blocks[0].compute()
        labels = np.load(truth, mmap_mode="r")[: len(first)]
        found["calibration"] = calibration_error(labels, first)
        return found


def in_memory(folder: Path, n: int) -> tuple[float, float]:
    path, truth = files(folder, n)
    model = SoftClustering(K, random_state=7).fit(np.load(path))
    labels = np.load(truth)
    first = slice(0, PART // 2)
    return accuracy(labels, model.labels_), calibration_error(
        labels[first], model.memberships_[first]
    )


def same_bytes(folder: Path, n: int, sample: int) -> Row:
    path, _ = files(folder, n)
    seen = set()
    for workers in (1, 2, 4):
        for rows in (n, n // 3 + 7, n // 40):
            with cluster(workers) as local, Client(local):
                X = read_blocks(path, block_rows=rows)
                model = SoftClustering(K, sample_size=sample, random_state=7).fit(X)
                seen.add(hashlib.sha256(model.memberships_.compute().tobytes()).hexdigest())
    return Row(
        f"1, 2, 4 workers and three chunkings, n={n:.0e}",
        f"{len(seen)} different result{'s' if len(seen) > 1 else ''}",
        "identical bytes",
        len(seen) == 1,
    )


def killed(folder: Path, n: int, sample: int) -> Row:
    """A worker is killed while the sample is drawn, during the fit, and while rows are placed."""
    path, _ = files(folder, n)
    X = read_blocks(path, block_rows=n // 40)
    with dask.config.set(scheduler="threads"):
        model = SoftClustering(K, sample_size=sample, random_state=7).fit(X)
        expected = model.memberships_.compute()
    with cluster(2) as local, Client(local) as client:

        def kill(*_: Any) -> None:
            os.kill(min(client.run(os.getpid).values()), signal.SIGKILL)

        once = [kill]
        threading.Timer(0.2, kill).start()
        model = SoftClustering(
            K,
            sample_size=sample,
            random_state=7,
            callback=lambda event: once.pop()() if once else None,
        ).fit(X)
        client.wait_for_workers(2)
        rows = client.compute(model.memberships_)
        time.sleep(1.0)
        kill()
        same = bool((rows.result() == expected).all())
    case = f"a worker killed three times, n={n:.0e}"
    return Row(case, "same bytes" if same else "other bytes", "same bytes", same)


def found_planted(folder: Path, n: int, sample: int) -> Row:
    path, truth = files(folder, n, planted=True)
    with cluster(2) as local, Client(local):
        X = read_blocks(path)
        model = SoftClustering(K, sample_size=sample, random_state=7).fit(X)
        k, everything = model.n_clusters_, K + N_PLANTED
        counts = confusion(model.labels_, truth, k, everything)
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
    ari = float(adjusted_rand(b, a))
    return Row(
        f"planted clusters of {SHARE:.3%}, n={n:.0e}, sample {sample:.0e}",
        f"{k - K} new clusters, ARI {ari:.3f}",
        f"{N_PLANTED} found, ARI >= 0.9",
        ari >= 0.9,
    )


def many_clusters(n: int, k: int) -> list[Row]:
    """Groups of all rows against a sample of as many rows, where clusters are many."""
    random = np.random.default_rng(SEED)
    centres = 3.0 * random.normal(size=(k, 8))
    labels = random.integers(k, size=n)
    X = (centres[labels] + random.normal(size=(n, 8))).astype(np.float32)
    found: dict[str, Any] = {}
    with cluster(2) as local, Client(local) as client:
        table = da.from_array(X, chunks=(n // 8, 8)).persist()
        wait(table)
        size = n // 100
        for refine in ("micro", None):
            sent = moved_bytes(client)
            model = SoftClustering(k, sample_size=size, refine=refine, random_state=7).fit(table)
            moved = (moved_bytes(client) - sent) / n
            size = len(model.sample_indices_)
            rows = model.memberships_.compute()
            right, error = accuracy(labels, rows.argmax(axis=1)), calibration_error(labels, rows)
            found[str(refine)] = (right, error, moved)
    micro, sample = found["micro"], found["None"]
    case = f"{k} clusters, n={n:.0e}, {size} fitted"
    return [
        Row(
            f"{case}: accuracy of groups, of a sample",
            f"{micro[0]:.4f}, {sample[0]:.4f}",
            "groups are better",
            micro[0] > sample[0],
        ),
        Row(
            f"{case}: calibration error of groups, of a sample",
            f"{micro[1]:.4f}, {sample[1]:.4f}",
            "-",
            None,
        ),
        Row(f"{case}: bytes sent per object", f"{micro[2]:.2f}", "<= 10", micro[2] <= 10),
    ]


def edges(n: int, degree: int, k: int = 20) -> list[Row]:
    """A planted graph in partitions of edges, against the fit in memory with fewer edges."""
    seconds, right, peak = {}, {}, 0.0
    for name, per_object in (("memory", 20), ("blocks", degree)):
        source, target, labels = _planted_edges(n, n * per_object // 2, k)
        if name == "memory":
            ends = (np.concatenate([source, target]), np.concatenate([target, source]))
            weights = np.ones(len(ends[0]), dtype=np.float32)
            A = sp.csr_array(sp.coo_array((weights, ends), shape=(n, n)))
            begin = time.process_time()
            model = RelationFactorization(k, affinity="precomputed", random_state=7, n_jobs=1)
            found = model.fit(A).labels_
            seconds[name] = (time.process_time() - begin) / len(source) / model.n_iter_
        else:
            with cluster(2) as local, Client(local) as client:
                frame = pd.DataFrame({"source": source, "target": target})
                parts = dd.from_pandas(frame, npartitions=16).persist()
                wait(parts)
                busy = worker_seconds(client)
                model = RelationFactorization(k, random_state=7).fit(parts)
                found = model.labels_.compute()
                used = worker_seconds(client) - busy
                seconds[name] = used / len(source) / model.n_iter_
                peak = worker_peak(client)
        right[name] = accuracy(labels, found)
    ratio = seconds["blocks"] / seconds["memory"]
    case = f"{n:.0e} objects, {n * degree // 2:.0e} edges"
    return [
        Row(
            f"{case}: processor time per edge and iteration, of that in memory",
            f"{ratio:.2f} times",
            "<= 1.5",
            ratio <= 1.5,
        ),
        Row(f"{case}: worker", f"{peak:.2f} GB", "<= 4 GB", peak <= 4),
        Row(
            f"{case}: accuracy (in memory, {n * 10:.0e} edges)",
            f"{right['blocks']:.4f} ({right['memory']:.4f})",
            "-",
            None,
        ),
    ]


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


def rows_of(folder: Path, options: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    totals: dict[int, float] = {}
    sample = int(options.sample)
    for n in (int(size) for size in options.n):
        found = placed(folder, n, min(sample, n // 10), options.refine, 2)
        totals[n] = found["cpu"]
        for name, value in found.items():
            print(f"n={n:.0e} {name}: {value:.4g}", flush=True)
        limit = n / 1e8 * 60
        rows += [
            Row(
                f"{n:.0e} x {COLUMNS}, sample {min(sample, n // 10):.0e}, time (processor time)",
                f"{found['total'] / 60:.1f} min ({found['cpu'] / 60:.1f} min)",
                f"<= {limit:.1f} min" if n >= 10**8 else "-",
                found["total"] / 60 <= limit if n >= 10**8 else None,
            ),
            Row(f"{n:.0e}, worker", f"{found['worker']:.2f} GB", "<= 4 GB", found["worker"] <= 4),
            Row(f"{n:.0e}, client", f"{found['client']:.2f} GB", "<= 2 GB", found["client"] <= 2),
            Row(
                f"{n:.0e}, bytes sent per object (of these, the sample)",
                f"{found['moved']:.2f} ({found['sample']:.2f})",
                "<= 1",
                found["moved"] <= 1,
            ),
        ]
        if options.in_memory and n <= options.in_memory:
            right, error = in_memory(folder, n)
            gap, off = found["accuracy"] - right, found["calibration"] - error
            rows += [
                Row(
                    f"{n:.0e}, accuracy against the fit in memory",
                    f"{found['accuracy']:.4f} against {right:.4f}",
                    "within 0.005",
                    abs(gap) <= 0.005,
                ),
                Row(
                    f"{n:.0e}, calibration error against the fit in memory",
                    f"{found['calibration']:.4f} against {error:.4f}",
                    "within 0.01",
                    abs(off) <= 0.01,
                ),
            ]
        else:
            shown = f"{found['accuracy']:.4f}, {found['calibration']:.4f}"
            rows.append(Row(f"{n:.0e}, accuracy and calibration error", shown, "-", None))
    if len(totals) > 1:
        (small, t), (large, u) = min(totals.items()), max(totals.items())
        exponent = math.log(u / t) / math.log(large / small)
        rows.append(
            Row(
                f"growth exponent of the processor time, {small:.0e} to {large:.0e}",
                f"{exponent:.3f}",
                "<= 1.05",
                exponent <= 1.05,
            )
        )
    if options.speedup:
        n = int(options.speedup)
        times = [placed(folder, n, n // 10, None, workers)["place"] for workers in (1, 2)]
        gain = times[0] / times[1]
        case = f"placing {n:.0e}, one worker to two"
        rows.append(Row(case, f"{gain:.2f} times", ">= 1.8", gain >= 1.8))
    if options.same:
        n = int(options.same)
        rows += [same_bytes(folder, n, n // 10), killed(folder, n, n // 10)]
    if options.planted:
        rows.append(found_planted(folder, int(options.planted), min(sample, int(1e5))))
    if options.many:
        rows += many_clusters(int(options.many), 150)
    if options.edges:
        rows += edges(int(options.edges), int(options.degree))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=float, nargs="*", default=[1e6])
    parser.add_argument("--sample", type=float, default=1e6)
    parser.add_argument("--refine", default="leftovers")
    parser.add_argument("--in-memory", type=float, default=0, help="compare up to this size")
    parser.add_argument("--same", type=float, default=0, help="objects of the runs compared")
    parser.add_argument("--planted", type=float, default=0, help="objects with planted clusters")
    parser.add_argument(
        "--speedup", type=float, default=0, help="objects placed by 1 and 2 workers"
    )
    parser.add_argument("--many", type=float, default=0, help="objects in 150 clusters")
    parser.add_argument("--edges", type=float, default=0, help="objects of a graph in blocks")
    parser.add_argument("--degree", type=float, default=100, help="edges per object of this graph")
    parser.add_argument("--folder", type=Path, default=Path(gettempdir()) / "soffit-distributed")
    options = parser.parse_args()
    options.refine = None if options.refine in ("none", "None") else options.refine
    rows = rows_of(options.folder, options)
    print_table(
        ("case", "measured", "target", "verdict"),
        [row.cells() for row in rows],
        title=f"LocalCluster, two workers of one thread, {os.cpu_count()} cores",
    )


if __name__ == "__main__":
    main()
