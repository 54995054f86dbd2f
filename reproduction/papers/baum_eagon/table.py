"""Table 1 and figures 1, 2 of Rota Bulo & Pelillo: blocks, digits and iris."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import load
from reproduction.harness.experiment import Experiment, Measured, Setup, Unit
from reproduction.papers.baselines import unit_rows
from reproduction.papers.baum_eagon.report import CASES, METHODS, report
from soffit._typing import FloatArray, IntArray
from soffit.affinity import RelativeDistance
from soffit.datasets import make_block_stochastic
from soffit.metrics import accuracy
from soffit.models import BaumEagon, CompletelyPositive, SpectralClustering

_RUNS = 10
_FIRST_SEED = 2003
_MOST_PIXELS = 200
_SHARPNESS = 200


def plan(setup: Setup) -> list[Unit]:
    """Case by method by seed."""
    per_class = 10 if setup.quick else 100
    return [
        Unit(
            f"{case}/{method}/{number:02d}",
            {
                "case": case,
                "method": method,
                "seed": _FIRST_SEED + number,
                "digits_per_class": per_class if case == "digits" else None,
            },
            ("iris",) if case.startswith("iris") else (),
        )
        for case in CASES
        for method in METHODS
        for number in range(setup.n_runs(_RUNS))
    ]


def measure(unit: Unit, setup: Setup) -> Measured:
    """Fit once; the first run of our model keeps what the figures show."""
    chosen = unit.settings
    A, truth = _similarities(chosen["case"], chosen["digits_per_class"], setup.data)
    k = int(truth.max()) + 1
    model = _model(chosen["method"], k, chosen["seed"]).fit(A)
    values = {"accuracy": accuracy(truth, model.labels_)}
    if chosen["method"] != "BE" or chosen["seed"] != _FIRST_SEED:
        return Measured(values)
    order = np.argsort(truth, kind="stable")
    W, Y = A[np.ix_(order, order)], np.asarray(model.memberships_)[order]
    fitted = float(model.scale_[0]) * Y @ Y.T
    arrays = {
        "before": _averaged(W),
        "after": _averaged(fitted),
        "profiles": Y.astype(np.float32),
        "truth": truth[order],
    }
    return Measured(values | {"alpha": float(model.scale_[0])}, arrays)


def _model(method: str, k: int, seed: int) -> Any:
    common: dict[str, Any] = {"affinity": "precomputed", "n_init": 1, "random_state": seed}
    if method == "BE":
        return BaumEagon(k, **common)
    if method == "CP":
        return CompletelyPositive(k, init="random", **common)
    return SpectralClustering(k, variant="ncut" if method == "NCUT" else "njw", **common)


@lru_cache(maxsize=1)
def _similarities(
    case: str, per_class: int | None, home: Path | None
) -> tuple[FloatArray, IntArray]:
    """W of a case and the labels 0, 1, ..."""
    if case.startswith("blocks"):
        within, noise = (0.6, 0.2) if case == "blocks" else (0.5, 0.25)
        sample = make_block_stochastic(
            100, n_clusters=5, within=within, between=0.3, noise=noise, random_state=2011
        )
        return sample.matrix, sample.labels
    if case == "digits":
        X, truth = _digits(per_class or 100)
    else:
        iris = load("iris", home=home)
        X, truth = np.asarray(iris.X), iris.labels[0]
    if case == "iris, cosine":
        units = unit_rows(X)
        return np.clip(units @ units.T, 0.0, 1.0) ** _SHARPNESS, truth
    return np.asarray(RelativeDistance(neighbor=7, squared=True).fit(X).matrix_), truth


def _digits(per_class: int) -> tuple[FloatArray, IntArray]:
    """The first digits of each class among those that scikit-learn has."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    rows = np.concatenate([np.flatnonzero(y == digit)[:per_class] for digit in range(10)])
    return X[rows], y[rows]


def _averaged(A: FloatArray) -> FloatArray:
    """Means over square blocks, so that the picture has at most so many pixels."""
    step = -(-len(A) // _MOST_PIXELS)
    n = len(A) // step * step
    blocks = A[:n, :n].reshape(n // step, step, n // step, step)
    return np.asarray(blocks.mean(axis=(1, 3)), dtype=np.float32)


EXPERIMENT = Experiment(
    name="baum-eagon",
    paper="Rota Bulo & Pelillo 2010 (Baum-Eagon), table 1, figures 1, 2",
    title="Baum-Eagon on blocks, digits and iris",
    plan=plan,
    measure=measure,
    report=report,
)
