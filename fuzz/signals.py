"""Interrupts at random and aimed moments: the process lives, and the next fit is sound."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import soffit
from fuzz.fits import any_model, check_fitted, fit_any
from fuzz.outcome import ViolationError, check_rows, refused, require, same_bytes
from fuzz.tables import Generator, clear_clusters


@cache
def _reference() -> tuple[Any, Any]:
    X, _ = clear_clusters(np.random.default_rng(11), 150, 3, 3)
    return X, soffit.SoftClustering(3, random_state=1).fit(X).memberships_.copy()


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Ctrl-C after some time."""
    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-5))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def interrupt(rng: Generator, folder: Path) -> str:
    """Ctrl-C after a random time, within a fit, a prediction or the choice of a number."""
    # Loads and compiles what is needed: an interrupted import of numba cannot be repeated.
    _reference()
    n = int(rng.choice([200, 1000, 3000]))
    X, _ = clear_clusters(rng, n, int(rng.integers(2, 12)), 4)
    model = any_model(rng, n_jobs=2) if n <= 1000 else soffit.SoftClustering(4, random_state=1)
    outcome = _interrupted(lambda: fit_any(rng, model, X), 10.0 ** rng.uniform(-4, -0.3))
    if outcome == "finished":
        check_fitted(model, n)
        outcome = "interrupted fit" if getattr(model, "stop_reason_", "") == "interrupted" else ""
        outcome = outcome or "finished"
    _still_sound()
    return outcome


def aimed(rng: Generator, folder: Path) -> str:
    """Ctrl-C while threads search neighbours, in compiled code."""
    from soffit.affinity import NeighborGraph

    _reference()
    X, _ = clear_clusters(rng, 20_000, int(rng.integers(2, 8)), 4)
    search = NeighborGraph(15, n_jobs=2)
    outcome = _interrupted(lambda: search.fit(X), 10.0 ** rng.uniform(-4, -0.5))
    _still_sound()
    return outcome


def interrupted_command(rng: Generator, folder: Path) -> str:
    """Ctrl-C at any moment of the command, while its libraries are loaded in particular."""
    table = folder / "table.csv"
    X, _ = clear_clusters(rng, 100, 3, 3)
    table.write_text("x,y,z\n" + "".join(f"{a},{b},{c}\n" for a, b, c in X))
    process = subprocess.Popen(
        [sys.executable, "-m", "soffit", "fit", str(table), "-k", "3"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(0.15 + float(rng.exponential(0.7)))
    process.send_signal(signal.SIGINT)
    _, said = process.communicate()
    package = Path(soffit.__file__)
    ours = [line for line in said.splitlines() if str(package.parent) in line]
    if "Traceback" in said and all(str(package) in line for line in ours):
        # The first moments, and these may be long on a busy machine, belong to Python itself: it
        # imports the package before any line of the command runs.
        return "before soffit"
    require("Traceback" not in said and "Internal" not in said, f"after Ctrl-C: {said[-500:]}")
    require(process.returncode in (0, 130, -2), f"Ctrl-C gives exit code {process.returncode}")
    return f"exit {process.returncode}"


def _interrupted(run: Callable[[], Any], seconds: float) -> str:
    try:
        with _alarm(seconds):
            run()
    except KeyboardInterrupt:
        return "KeyboardInterrupt"
    except Exception as error:
        return refused(error)
    return "finished"


def _still_sound() -> None:
    # Threads that an interrupt left behind have time to fail.
    time.sleep(0.01)
    X, memberships = _reference()
    again = soffit.SoftClustering(3, random_state=1).fit(X)
    check_rows(again.predict_proba(X[:5]), "predict_proba")
    if not same_bytes(again.memberships_, memberships):
        raise ViolationError("a fit after an interrupt gives another result")
    require(again.converged_, "a fit after an interrupt does not converge")
