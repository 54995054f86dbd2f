"""Full disks and kills: an output is the old file or the new one, never a part."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import soffit
from fuzz.files import run_command
from fuzz.outcome import refused, require
from fuzz.tables import Generator, clear_clusters
from soffit.io import Result, write_result

OLD = b"the old content"
_ENDINGS = (".csv", ".tsv", ".parquet", ".arrow", ".jsonl", ".xlsx", ".npz", ".json", ".soffit")


@cache
def _model() -> Any:
    X, _ = clear_clusters(np.random.default_rng(3), 80, 3, 3)
    return soffit.SoftClustering(3, random_state=5).fit(X)


def write(path: Path) -> None:
    """Write whatever the ending says."""
    if path.suffix == ".soffit":
        soffit.save(_model(), path)
    elif path.suffix == ".html":
        _model().report(path)
    else:
        write_result(Result.from_memberships(_model().memberships_), path)


def full_disk(rng: Generator, folder: Path) -> str:
    """No file may grow beyond some size; the old file must survive."""
    ending = (*_ENDINGS, ".html")[int(rng.integers(len(_ENDINGS) + (rng.random() < 0.2)))]
    target = folder / f"out{ending}"
    target.write_bytes(OLD)
    target.chmod(0o640)
    shown = target
    if rng.random() < 0.3:
        shown = folder / f"link{ending}"
        shown.symlink_to(target)
    _model()
    try:
        with_full_disk(lambda: write(shown), int(10 ** rng.uniform(0, 4)))
        outcome = "written"
        require(target.read_bytes() != OLD, f"{ending} was not written")
    except OSError:
        outcome = "refused"
    except Exception as error:
        outcome = refused(error)
    if outcome == "refused":
        require(target.read_bytes() == OLD, f"a full disk destroyed the old {ending} file")
    require(target.stat().st_mode & 0o777 == 0o640, f"{ending} lost its mode")
    require(shown == target or shown.is_symlink(), f"{ending} replaced a link")
    left = {entry.name for entry in folder.iterdir()} - {target.name, shown.name}
    require(not left, f"{ending} left {left} behind")
    return outcome


def full_disk_command(rng: Generator, folder: Path) -> str:
    """The same of the command: a message, no traceback."""
    table = folder / "table.csv"
    X, _ = clear_clusters(np.random.default_rng(3), 60, 2, 2)
    table.write_text("x,y\n" + "".join(f"{a:.3f},{b:.3f}\n" for a, b in X))
    ending = (*_ENDINGS[:-1], ".html")[int(rng.integers(len(_ENDINGS)))]
    target = folder / f"out{ending}"
    target.write_bytes(OLD)
    option = "--report" if ending == ".html" else "-o"
    arguments = ["fit", str(table), "-k", "2", option, str(target)]
    code, text = with_full_disk(lambda: run_command(arguments), int(10 ** rng.uniform(0, 3.5)))
    require(code in (0, 1), f"soffit fit with a full disk exits with {code}: {text[-300:]}")
    if code == 1:
        require(target.read_bytes() == OLD, f"a full disk destroyed the old {ending} file")
    return f"exit {code}"


def with_full_disk(run: Any, most: int) -> Any:
    """Run while no file of this process may grow beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        return run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


def kill(rng: Generator, folder: Path) -> str:
    """Kill a process that writes files; each is an old or a new one afterwards."""
    ending = _ENDINGS[int(rng.integers(len(_ENDINGS)))]
    target = folder / f"out{ending}"
    write(target)
    whole = target.read_bytes()
    target.write_bytes(OLD)
    code = (
        "import sys; from pathlib import Path; from fuzz.disks import write, _model\n"
        "_model(); write(Path(sys.argv[1]).with_name('warm' + sys.argv[2]))\n"
        "print(flush=True)\n"
        "while True: write(Path(sys.argv[1]))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(target), ending],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "NUMBA_NUM_THREADS": "1"},
    )
    try:
        require(process.stdout is not None and process.stdout.readline(), "the writer failed")
        time.sleep(float(rng.uniform(0, 0.05)))
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    found = target.read_bytes()
    # The date inside an Excel file differs.
    fits = found in (OLD, whole) or (ending == ".xlsx" and abs(len(found) - len(whole)) < 50)
    require(fits, f"a killed writer left {len(found)} of {len(whole)} bytes in {ending}")
    return "old" if found == OLD else "new"
