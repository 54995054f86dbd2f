"""What a script prints when it may use one thread, and two."""

from __future__ import annotations

import os
import subprocess
import sys


def printed_with_one_and_two_threads(script: str, *, blas: bool = False) -> set[str]:
    """All that the script prints in processes of their own; `blas` counts threads of BLAS, too."""
    found = set()
    for threads in ("1", "2"):
        environment = os.environ | {
            "OMP_NUM_THREADS": threads,
            "NUMBA_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads if blas else "1",
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        run = subprocess.run(
            [sys.executable, "-c", script],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
            # Threads that wait for each other would do so forever.
            timeout=300,
        )
        found.add(run.stdout)
    return found
