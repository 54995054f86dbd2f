"""Seconds and peak memory of reading a table of 1,000,000 x 16 numbers from files.

Each file is read in its own process, which imports everything before the measurement starts.
Memory is the increase of the maximum resident set size while reading, divided by the size of the
table as 8-byte numbers. Pages of memory-mapped files, which the system can reclaim, count as well.
`--fit` also fits `SoftClustering` to the table, for comparison; `--rows` sets the number of rows.
Linux only: memory is read from /proc.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks._table import print_table, print_target

N_COLUMNS, N_CLUSTERS, SEED = 16, 10, 5
ENDINGS = ("csv", "parquet", "arrow", "npy")
# Of the time of a fit, and of the table's own size.
MOST_TIME, MOST_MEMORY = 0.1, 2.0


def write_files(folder: Path, rows: int) -> None:
    import numpy as np
    import polars as pl

    from soffit.datasets import make_gaussians

    X = make_gaussians(
        rows, n_features=N_COLUMNS, n_clusters=N_CLUSTERS, separation=5.0, random_state=SEED
    ).X
    frame = pl.DataFrame(X, schema=[f"column {number}" for number in range(N_COLUMNS)])
    frame.write_csv(folder / "table.csv")
    frame.write_parquet(folder / "table.parquet")
    frame.write_ipc(folder / "table.arrow")
    np.save(folder / "table.npy", X)


def megabytes(field: str) -> float:
    """A line of what the system says about this process: VmRSS now, VmHWM the most so far."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


def measure(path: str) -> dict[str, float]:
    """Read one file in this process."""
    import polars as pl

    from soffit import io

    # The first call of polars starts its threads.
    pl.DataFrame({"a": [1.0]}).sum()
    before = megabytes("VmRSS")
    began = perf_counter()
    data = io.read(path).data
    seconds = perf_counter() - began
    return {
        "seconds": seconds,
        "memory": (megabytes("VmHWM") - before) / (data.nbytes / 2**20),
    }


def fit_seconds(path: Path) -> float:
    from soffit import SoftClustering, io

    X = io.read(path).data
    # Compiled before the clock starts.
    SoftClustering(N_CLUSTERS, random_state=SEED).fit(X[:30_000])
    began = perf_counter()
    SoftClustering(N_CLUSTERS, random_state=SEED).fit(X)
    return perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--fit", action="store_true", help="also time a fit")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure)))
        return
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, options.rows)
        found = {}
        for ending in ENDINGS:
            command = [sys.executable, "-m", "benchmarks.files"]
            command += ["--measure", str(folder / f"table.{ending}")]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found[ending] = json.loads(done.stdout)
        fit = fit_seconds(folder / "table.npy") if options.fit else None
        sizes = {ending: (folder / f"table.{ending}").stat().st_size for ending in ENDINGS}
    rows = [
        [
            ending,
            f"{sizes[ending] / 2**20:,.0f}",
            f"{found[ending]['seconds']:.2f}",
            f"{found[ending]['memory']:.2f}",
        ]
        for ending in ENDINGS
    ]
    print_table(["file", "MiB", "seconds to read", "memory / data"], rows)
    print("\ntargets")
    memory = found["csv"]["memory"]
    print_target("peak memory of reading the CSV / data", memory, MOST_MEMORY, at_least=False)
    share = None if fit is None else found["csv"]["seconds"] / fit
    print_target("seconds to read the CSV / seconds of a fit", share, MOST_TIME, at_least=False)
    if fit is not None:
        print(f"  the fit took {fit:.1f} s")


if __name__ == "__main__":
    main()
