"""Soft segments of two images of 320 by 240 pixels: a drawn one with known areas, and a photo."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from reproduction.harness.claims import met
from reproduction.harness.experiment import Experiment, Measured, Results, Setup, Unit
from reproduction.harness.report import SHOWN, Finding, Report
from soffit import segment
from soffit._typing import FloatArray, IntArray
from soffit.metrics import accuracy

_SECONDS = 30.0
_IMAGES = {
    "drawn": "drawn, five grey areas with noise",
    "photo": "colour photo (scikit-learn's china.jpg)",
}


def plan(setup: Setup) -> list[Unit]:
    step = 4 if setup.quick else 1
    return [Unit(name, {"image": name, "every": step, "seed": 29}) for name in _IMAGES]


def measure(unit: Unit, setup: Setup) -> Measured:
    s = unit.settings
    image, truth = _drawn() if s["image"] == "drawn" else (_photo(), None)
    image = image[:: s["every"], :: s["every"]]
    # Kernels are compiled before the clock starts.
    segment(np.random.default_rng(3).random((12, 16, 3)), 2, random_state=29)
    began = perf_counter()
    result = segment(image, 5, random_state=s["seed"])
    values: dict[str, Any] = {"segment seconds": perf_counter() - began}
    if truth is not None:
        truth = truth[:: s["every"], :: s["every"]]
        values["accuracy"] = accuracy(truth.ravel(), result.labels.ravel())
    return Measured(values)


def _drawn() -> tuple[FloatArray, IntArray]:
    down, right = np.mgrid[:240, :320]
    truth = np.zeros((240, 320), dtype=np.int64)
    truth[(down - 75) ** 2 + (right - 90) ** 2 < 52**2] = 1
    truth[(down - 150) ** 2 + (right - 225) ** 2 < 64**2] = 2
    truth[(down > 172) & (right < 118)] = 3
    truth[(down < 60) & (right > 240)] = 4
    noise = 0.03 * np.random.default_rng(6151).normal(size=truth.shape)
    return np.array([0.3, 0.7, 0.1, 0.9, 0.5])[truth] + noise, truth


def _photo() -> FloatArray:
    from PIL import Image
    from sklearn.datasets import load_sample_image

    return np.asarray(Image.fromarray(load_sample_image("china.jpg")).resize((320, 240)))


def report(results: Results) -> Report:
    findings = []
    for record in results:
        setting = f"segment(image, 5), {_IMAGES[record.unit.settings['image']]}"
        seconds = record.values["segment seconds"]
        claim = f"five segments within {_SECONDS:.0f} s"
        findings.append(Finding(claim, "-", f"{seconds:.1f} s", setting, met(seconds < _SECONDS)))
        if "accuracy" in record.values:
            ours = f"accuracy {record.values['accuracy']:.4f}"
            findings.append(Finding("the drawn areas are found", "-", ours, setting, SHOWN))
    return Report("Times depend on the load of the machine and on `--jobs`.", findings)


EXPERIMENT = Experiment(
    name="zass-image",
    paper="Zass & Shashua 2005, figures 3, 4 (segmentation)",
    title="An image of 320 by 240 pixels",
    plan=plan,
    measure=measure,
    report=report,
)
