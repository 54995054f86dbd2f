"""Tables 3, 4 and 5 of SoF: purity, Rand index and accuracy on seven UCI sets."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from benchmarks.datasets import load
from reproduction.harness.experiment import Experiment, Measured, Setup, Unit
from reproduction.papers.sof.methods import METHODS, Data
from reproduction.papers.sof.published import SETS
from reproduction.papers.sof.tables_report import report
from soffit._typing import IntArray
from soffit.metrics import accuracy, purity, rand_index

_RUNS = 20
# Runs that share their passes over P: more would be a little quicker, but progress rarely seen.
_TOGETHER = 5
_FIRST_SEED = 1001
_QUICK_SETS = ("iris", "glass")
_QUICK_OBJECTS = 80
_SIZES = {
    "blood_transfusion": 748,
    "breast_tissue": 106,
    "glass": 214,
    "iris": 150,
    "ecoli": 336,
    "satimage": 4435,
    "pendigits": 10992,
}


def plan(setup: Setup) -> list[Unit]:
    """Set by method by seed; sets together, as their matrices are kept."""
    units = []
    for name in _QUICK_SETS if setup.quick else SETS:
        part = _QUICK_OBJECTS if setup.quick else None
        for method, known in METHODS.items():
            if known.most is not None and (part or _SIZES[name]) > known.most:
                continue
            for number in range(setup.n_runs(_RUNS)):
                settings = {
                    "set": name,
                    "method": method,
                    "seed": _FIRST_SEED + number,
                    "setting": known.setting,
                    "n_objects": part,
                }
                place = f"{name}/{method}"
                together = f"{place}/{number // _TOGETHER}" if known.together else ""
                units.append(Unit(f"{place}/{number:02d}", settings, (name,), together))
    return units


def measure(unit: Unit, setup: Setup) -> Measured:
    """Fit once and score the labels."""
    chosen = unit.settings
    data, truth = _read(chosen["set"], chosen["n_objects"], setup.data)
    return Measured(_scores(truth, METHODS[chosen["method"]].labels(data, chosen["seed"])))


def measure_together(units: Sequence[Unit], setup: Setup) -> list[Measured]:
    """Fit from all seeds side by side and score the labels."""
    chosen = units[0].settings
    data, truth = _read(chosen["set"], chosen["n_objects"], setup.data)
    fit = METHODS[chosen["method"]].together
    assert fit is not None
    found = fit(data, [unit.settings["seed"] for unit in units])
    return [
        Measured(
            _scores(truth, result.factor.argmax(axis=1))
            | {"loss": result.objective, "n_iter": result.n_iter}
        )
        for result in found
    ]


def _scores(truth: IntArray, labels: IntArray) -> dict[str, float]:
    return {
        "purity": purity(truth, labels),
        "rand_index": rand_index(truth, labels),
        "accuracy": accuracy(truth, labels),
        "n_found": len(set(labels.tolist())),
    }


@lru_cache(maxsize=1)
def _read(name: str, n_objects: int | None, home: Path | None) -> tuple[Data, IntArray]:
    dataset = load(name, n_samples=n_objects, random_state=17, home=home)
    return Data(np.asarray(dataset.X), dataset.n_classes[0]), dataset.labels[0]


EXPERIMENT = Experiment(
    name="sof-tables",
    paper="Zhao, Poupart, Zhang & Lysy 2015 (SoF), tables 3, 4, 5",
    title="SoF on seven UCI sets",
    plan=plan,
    measure=measure,
    report=report,
    measure_together=measure_together,
)
