"""What the first fits after an installation compile, and how long that takes.

    python -m benchmarks.compile
    python -m benchmarks.compile --cases "iris" --functions 20

Every case runs in a process of its own with an empty cache of compiled functions. numba tells of
every function it compiles, its own helpers included. Seconds are CPU seconds of the process, which
depend little on what else the machine is doing; `import` is the time until the first fit begins.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from typing import Any, NamedTuple

from benchmarks._table import print_table, print_target


class Case(NamedTuple):
    """Code that runs before the clock starts, and code that is measured."""

    setup: str
    measured: str
    # CPU seconds from the import on, if there is a target.
    target: float | None = None


_BLOBS = """
import numpy as np
random = np.random.default_rng(7)
place = random.normal(scale=4.0, size=(10, {d}))
X = place[random.integers(10, size={n})] + random.normal(size=({n}, {d}))
model = SoftClustering(10, random_state=0)
"""
_IRIS = """
from sklearn.datasets import load_iris
X = load_iris().data
model = SoftClustering(3, random_state=0)
"""
_SMALL = _BLOBS.format(n=1_000, d=10)
_LARGE = _BLOBS.format(n=60_000, d=16)
CASES = {
    "iris": Case(_IRIS, "model.fit(X)", 4.0),
    "iris, float32 after float64": Case(
        _IRIS + "model.fit(X)", "model.fit(X.astype('float32'))", 0.5
    ),
    "iris, predict_proba after fit": Case(_IRIS + "model.fit(X)", "model.predict_proba(X[:100])"),
    "1,000 x 10": Case(_SMALL, "model.fit(X)"),
    "60,000 x 16": Case(_LARGE, "model.fit(X)", 12.0),
    "60,000 x 16, float32 after float64": Case(
        _LARGE + "model.fit(X)", "model.fit(X.astype('float32'))"
    ),
    "60,000 x 16, predict_proba after fit": Case(
        _LARGE + "model.fit(X)", "model.predict_proba(X[:1000])"
    ),
}

_CHILD = """
import json, time
from soffit import SoftClustering
from numba.core import event

class Compiled(event.Listener):
    # Calls nest: a function is compiled when another one that calls it is.
    def __init__(self):
        self.open, self.functions = [], []
    def on_start(self, start):
        self.open.append([time.process_time(), 0.0])
    def on_end(self, end):
        begun, inner = self.open.pop()
        seconds = time.process_time() - begun
        if self.open:
            self.open[-1][1] += seconds
        function = end.data["dispatcher"].py_func
        name = function.__module__ + "." + function.__qualname__
        self.functions.append((name, seconds - inner, seconds))

compiled = Compiled()
event.register("numba:compile", compiled)
{setup}
compiled.functions.clear()
imported = time.process_time()
{measured}
seconds = time.process_time() - imported
functions = list(compiled.functions)
imported = 0.0 if {repeats} else imported
again = time.process_time()
{measured}
print(json.dumps(dict(
    imported=imported, seconds=seconds, functions=functions, later=time.process_time() - again,
)))
"""


def run(case: Case) -> dict[str, Any]:
    """One case in a process of its own, with an empty cache."""
    code = _CHILD.format(setup=case.setup, measured=case.measured, repeats="fit" in case.setup)
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "NUMBA_CACHE_DIR": cache},
            capture_output=True,
            text=True,
            check=True,
        )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _summary(name: str, found: dict[str, Any]) -> list[str]:
    functions = found["functions"]
    ours = [one for one in functions if one[0].startswith("soffit.")]
    return [
        name,
        str(len(functions)),
        str(len(ours)),
        *(
            f"{seconds:.2f}"
            for seconds in (
                sum(one[1] for one in functions),
                found["imported"],
                found["seconds"],
                found["later"],
            )
        ),
    ]


def _by_function(found: dict[str, Any]) -> list[list[str]]:
    """Per function: how often it was compiled, seconds without and with what it calls."""
    table: dict[str, list[float]] = {}
    for name, own, whole in found["functions"]:
        row = table.setdefault(name, [0, 0.0, 0.0])
        row[0], row[1], row[2] = row[0] + 1, row[1] + own, row[2] + whole
    ordered = sorted(table.items(), key=lambda item: -item[1][1])
    return [[name, f"{n:.0f}", f"{own:.2f}", f"{all_:.2f}"] for name, (n, own, all_) in ordered]


def main() -> None:
    """Print the table of the cases, and of the functions that take longest."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--functions", type=int, default=8, help="functions shown per case")
    arguments = parser.parse_args()
    results = {name: run(CASES[name]) for name in arguments.cases}
    for name, found in results.items():
        rows = _by_function(found)[: arguments.functions]
        if rows:
            print_table(["function", "times", "own s", "with calls"], rows, title=name)
    header = ["case", "compiled", "of soffit", "compile s", "import s", "first s", "later s"]
    print_table(header, [_summary(*item) for item in results.items()], title="CPU seconds")
    for name, found in results.items():
        target = CASES[name].target
        if target is not None:
            seconds = found["imported"] + found["seconds"]
            print_target(f"{name}, CPU seconds with import", seconds, target, at_least=False)


if __name__ == "__main__":
    main()
