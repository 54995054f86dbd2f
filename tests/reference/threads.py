"""What a script prints when it may use one thread, and two."""

from __future__ import annotations

import os
import subprocess
import sys
from types import ModuleType
from typing import Any


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
            check=False,
            env=environment,
            # Threads that wait for each other would do so forever.
            timeout=300,
        )
        assert run.returncode == 0, run.stderr
        found.add(run.stdout)
    return found


def lower(module: ModuleType, **constants: int) -> None:
    """Set constants of a module, which must exist: a wrong name would change nothing."""
    for name, value in constants.items():
        assert hasattr(module, name), f"{module.__name__} has no {name}"
        setattr(module, name, value)


def watch(*modules: ModuleType) -> dict[str, int]:
    """Most pieces that the loops of each module share among all threads; it is filled later."""
    from soffit._threads import each, n_threads

    most = {module.__name__: 0 for module in modules}

    def watched(name: str) -> Any:
        def share(function: Any, items: Any, n_jobs: int | None = None) -> Any:
            listed = list(items)
            if n_threads(n_jobs) == n_threads():
                most[name] = max(most[name], len(listed))
            return each(function, listed, n_jobs)

        return share

    for module in modules:
        assert module.each is each
        module.each = watched(module.__name__)  # type: ignore[attr-defined]
    return most
