"""Zass & Shashua, figure 4: a segmentation with and without a user's strokes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from reproduction.harness.claims import PICTURE, counted, held, spread
from reproduction.harness.experiment import Experiment, Measured, Record, Results, Setup, Unit
from reproduction.harness.panels import (
    Pixels,
    add_pixels,
    grid,
    in_colours,
    in_grey,
    larger_first,
    matched,
)
from reproduction.harness.report import SHOWN, Finding, Picture, Report
from reproduction.papers.zass.photographs import photograph
from reproduction.papers.zass.strokes import outline, strokes
from soffit._typing import FloatArray, IntArray
from soffit.affinity import image_affinity
from soffit.models import CompletelyPositive, segment
from soffit.models.segmentation import scribble_pairs

_SEGMENTS = 5
_GRAPH: dict[str, Any] = {"radius": 5.0, "sigma_value": 0.1, "sigma_distance": 4.0}
_METHODS = {
    "cp": "CompletelyPositive(5), Sinkhorn",
    "cp additive": 'CompletelyPositive(5, normalization="additive"), eq. 10',
    "segment": "soffit.segment(image, 5)",
}
# The additive normalization fills an n x n matrix: small pictures only.
_DENSE_HEIGHT = 64


def plan(setup: Setup) -> list[Unit]:
    heights = (32,) if setup.quick else (64, 96)
    seeds = [3 + run for run in range(setup.n_runs(5, quick=1))]
    return [Unit("astronaut", {"heights": list(heights), "seeds": seeds})]


def measure(unit: Unit, setup: Setup) -> Measured:
    values: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for height in unit.settings["heights"]:
        image, marks = photograph("astronaut", height), strokes(height)
        person = outline(height)
        A = image_affinity(image, **_GRAPH)
        arrays |= {f"image {height}": image.astype(np.float32), f"marks {height}": marks}
        for method in _METHODS:
            if method == "cp additive" and height > _DENSE_HEIGHT:
                continue
            for told in (False, True):
                found = [
                    _segments(image, A, marks if told else None, method, seed)
                    for seed in (unit.settings["seeds"] if told else unit.settings["seeds"][:1])
                ]
                name = f"{method} {'told' if told else 'alone'} {height}"
                values[name] = [overlap(labels, person)[0] for labels in found]
                arrays[name] = larger_first(found[0]).astype(np.uint8)
    return Measured(values, arrays)


def _segments(
    image: FloatArray, A: Any, marks: IntArray | None, method: str, seed: int
) -> IntArray:
    if method == "segment":
        return np.asarray(segment(image, _SEGMENTS, marks, random_state=seed, **_GRAPH).labels)
    normalization: Any = "additive" if method == "cp additive" else "sinkhorn"
    model = CompletelyPositive(
        _SEGMENTS,
        affinity="precomputed",
        normalization=normalization,
        transitive=False,
        random_state=seed,
    )
    pairs: dict[str, Any] = {}
    if marks is not None:
        together, apart = scribble_pairs(marks, check_random_state(seed))
        pairs = {"must_link": together, "cannot_link": apart}
    return np.asarray(model.fit(A, **pairs).labels_).reshape(image.shape)


def overlap(labels: IntArray, person: Any) -> tuple[float, int]:
    """The segment that covers the person best: intersection over union, and its number."""
    return max(
        (float(np.sum((labels == c) & person) / np.sum((labels == c) | person)), int(c))
        for c in np.unique(labels)
    )


def report(results: Results) -> Report:
    (record,) = results.records
    findings = []
    for height in record.unit.settings["heights"]:
        for method, setting in _METHODS.items():
            alone = record.values.get(f"{method} alone {height}")
            told = record.values.get(f"{method} told {height}")
            if alone is None or told is None:
                continue
            gain = float(np.mean(told)) - float(np.mean(alone))
            verdict = SHOWN if method == "segment" else held(gain > 0.02)
            findings.append(
                Finding(
                    f"strokes improve the segmentation, {height} by {height} pixels",
                    PICTURE,
                    f"overlap with the person: {spread(alone)} without, {spread(told)} with",
                    f"{setting}, radius 5, brightness 0.1, distance 4, "
                    f"{counted(len(told), 'seed')}",
                    verdict,
                )
            )
    picture = Picture(
        "scribbles",
        "The image with the strokes, and the segments without and with them; last, the segment "
        "that covers the person best.",
        _figure(record),
        width=1080,
        height=620,
    )
    return Report(_reading(record), findings, pictures=[picture])


def _reading(record: Record) -> str:
    parts = []
    for height in record.unit.settings["heights"]:
        for method, words in (
            ("cp", "CP with Sinkhorn"),
            ("cp additive", "CP with the published additive normalization"),
            ("segment", "the package's own `segment`"),
        ):
            if f"{method} told {height}" in record.values:
                alone = float(np.mean(record.values[f"{method} alone {height}"]))
                told = float(np.mean(record.values[f"{method} told {height}"]))
                parts.append(f"{words} {alone:.2f} to {told:.2f} at {height} pixels")
    return (
        "The paper's image is not available; scikit-image's astronaut replaces it, with strokes "
        "and an outline of the person drawn by hand, the outline for evaluation only. Overlap of "
        f"the best segment with the person, without and with strokes: {'; '.join(parts)}."
        f"{_on_additive(record)}{_on_sinkhorn(record)}"
    )


def _on_sinkhorn(record: Record) -> str:
    """Whether strokes help `segment` more than CP, at the largest size that both have."""
    height = record.unit.settings["heights"][-1]
    gains = [
        np.mean(record.values[f"{method} told {height}"])
        - np.mean(record.values[f"{method} alone {height}"])
        for method in ("cp", "segment")
        if f"{method} told {height}" in record.values
    ]
    if len(gains) < 2 or gains[1] <= gains[0]:
        return ""
    return (
        " Strokes help `segment` more than CP: Sinkhorn scaling can reduce an affinity "
        "only to zero, while `segment` also uses cannot-links in its initial partition."
    )


def _on_additive(record: Record) -> str:
    height = record.unit.settings["heights"][0]
    alone, told = (record.values.get(f"cp additive {w} {height}") for w in ("alone", "told"))
    if alone is None or told is None or np.mean(told) > np.mean(alone):
        return ""
    return (
        " The additive normalization, which the paper introduces for side information, does not "
        "help here: it makes the sparse graph of pixels dense, and one negative affinity raises "
        "all entries."
    )


def _figure(record: Record) -> Any:
    from soffit.figures.style import dress

    height = record.unit.settings["heights"][-1]
    arrays = record.arrays
    image, marks = arrays[f"image {height}"], arrays[f"marks {height}"]
    titles = ["picture and strokes"]
    for words in ("CP", "segment"):
        titles += [f"{words}, without strokes", f"{words}, with strokes", f"{words}: the person"]
    order = [titles[0], *titles[1:4], "outline, for evaluation only", *titles[4:7]]
    figure = grid(2, 4, order, horizontal_spacing=0.02, vertical_spacing=0.09)
    add_pixels(figure, (1, 1), _with_strokes(image, marks), times=3)
    person = outline(height)
    add_pixels(figure, (2, 1), _with_outline(image, person), times=3)
    for row, method in ((1, "cp"), (2, "segment")):
        told = arrays[f"{method} told {height}"].astype(np.int64)
        alone = arrays[f"{method} alone {height}"].astype(np.int64)
        alone = matched(told.ravel(), alone.ravel()).reshape(alone.shape)
        add_pixels(figure, (row, 2), in_colours(alone), times=3)
        add_pixels(figure, (row, 3), in_colours(told), times=3)
        best = overlap(told, person)[1]
        add_pixels(figure, (row, 4), in_grey(np.where(told == best, image, 1.0)), times=3)
    scores = {m: np.mean(record.values[f"{m} told {height}"]) for m in ("cp", "segment")}
    notes = [
        f"{_SEGMENTS} segments, {height} by {height} pixels; overlap with the outline: CP "
        f"{scores['cp']:.2f}, segment {scores['segment']:.2f}"
    ]
    title = "Strokes tell the person from the background"
    dress(figure, title, notes, height=620, margin_l=24, margin_b=16)
    return figure


def _with_strokes(image: FloatArray, marks: IntArray) -> Pixels:
    from soffit.figures.style import PALETTE

    pixels = in_grey(image)
    for number, tint in ((1, PALETTE[1]), (2, PALETTE[0])):
        pixels[marks == number] = [int(tint[i : i + 2], 16) for i in (1, 3, 5)]
    return pixels


def _with_outline(image: FloatArray, person: Any) -> Pixels:
    return in_grey(np.where(person, image, 0.5 + 0.5 * image))


EXPERIMENT = Experiment(
    name="zass-scribbles",
    paper="Zass & Shashua 2005, figure 4",
    title="Segmentation with and without strokes",
    plan=plan,
    measure=measure,
    report=report,
)
