"""Time of the same fits by two checkouts of soffit, taken in turns.

    python -m benchmarks.commits ../other-checkout --sizes 1e5 1e6

The machine's load changes more from minute to minute than code does from commit to commit. So each
turn fits once with either checkout, and the ratio is that of the medians. Both must find the same
labels.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks._table import print_table

HERE = Path(__file__).resolve().parents[1]
FIT = """
import hashlib, json, resource, sys, time
import numpy as np
from soffit import SoftClustering
from soffit.datasets import make_gaussians

n = int(float(sys.argv[1]))
make = lambda n: make_gaussians(n, n_clusters=10, n_features=16, separation=6.0, random_state=7).X
# Kernels are compiled, or loaded, before the clock starts; large data take other ways than small.
SoftClustering(10, random_state=7).fit(make(50_000))
X = make(n)
start, busy = time.perf_counter(), time.process_time()
model = SoftClustering(10, random_state=7).fit(X)
print(json.dumps({
    "seconds": time.perf_counter() - start,
    "cpu": time.process_time() - busy,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    "labels": hashlib.sha256(model.labels_.tobytes()).hexdigest(),
}))
"""


def fit(checkout: Path, size: float) -> dict[str, float | str]:
    """One fit in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    done = subprocess.run(
        [sys.executable, "-c", FIT, str(size)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        cwd=checkout,
    )
    found: dict[str, float | str] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("other", type=Path, help="another checkout")
    parser.add_argument("--sizes", nargs="+", type=float, default=[1e5, 1e6])
    parser.add_argument("--turns", type=int, default=5)
    arguments = parser.parse_args()
    rows = []
    for size in arguments.sizes:
        turns = [
            (fit(arguments.other.resolve(), size), fit(HERE, size)) for _ in range(arguments.turns)
        ]
        row = [f"{size:.0e}"]
        for what in ("seconds", "cpu", "peak"):
            other, ours = (median(float(turn[side][what]) for turn in turns) for side in (0, 1))
            row += [f"{other:.2f}", f"{ours:.2f}", f"{ours / other:.3f}"]
        same = {turn[0]["labels"] == turn[1]["labels"] for turn in turns} == {True}
        rows.append([*row, "yes" if same else "no"])
    titles = ["n", "s other", "s here", "ratio", "cpu other", "cpu here", "ratio"]
    print_table([*titles, "GB other", "GB here", "ratio", "same labels"], rows)


if __name__ == "__main__":
    main()
