"""Yu, Yu & Tresp, section 4.1: the hierarchy of the digits 1 to 4 as pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.harness.claims import PICTURE, held
from reproduction.harness.experiment import Experiment, Measured, Record, Results, Setup, Unit
from reproduction.harness.panels import Pixels, add_pixels, grid, in_grey
from reproduction.harness.report import Finding, Picture, Report, Table
from reproduction.papers.yu import data as yu
from soffit._typing import FloatArray, IntArray
from soffit.models import SoftHierarchy

_LEVELS = (100, 20, 10, 4)
# Tiles in a row, per level.
_ACROSS = {100: 20, 20: 20, 10: 10, 4: 4}
_FRAME = 2


def plan(setup: Setup) -> list[Unit]:
    n = 600 if setup.quick else None
    return [
        Unit(f"usps/{'refined' if refine else 'published'}", settings, needs=("usps",))
        for refine in (False, True)
        for settings in [{"refine": refine, "levels": list(_LEVELS), "seed": 29, "n": n}]
    ]


def measure(unit: Unit, setup: Setup) -> Measured:
    s = unit.settings
    given = yu.problem("usps", s["n"], setup.data)
    model = SoftHierarchy(
        levels=s["levels"], refine=s["refine"], affinity="precomputed", random_state=s["seed"]
    ).fit(given.graph)
    degrees = np.asarray(given.graph.sum(axis=1)).reshape(-1, 1)
    values: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for number, (m, level) in enumerate(zip(s["levels"], model.levels_, strict=True)):
        members = np.asarray(level.memberships)
        held_by = members.argmax(axis=1)
        values[f"purity {m}"] = _purity(given.labels, held_by)
        digits = np.eye(4)[given.labels]
        arrays[f"images_{m}"] = yu.mean_image(given.X, degrees * members).astype(np.float32)
        arrays[f"digit_{m}"] = ((degrees * members).T @ digits).argmax(axis=1)
        if number + 1 < len(s["levels"]):
            assert level.parents is not None
            arrays[f"parent_{m}"] = np.asarray(level.parents).argmax(axis=1)
    return Measured(values, arrays)


def _purity(truth: IntArray, labels: IntArray) -> float:
    from soffit.metrics import purity

    return purity(truth, labels)


def report(results: Results) -> Report:
    findings, rows = [], []
    for record in results:
        refine = record.unit.settings["refine"]
        purities = [record.values[f"purity {m}"] for m in _LEVELS]
        digits = sorted({int(d) + 1 for d in record.arrays["digit_4"]})
        name = f"SoftHierarchy(levels=[100, 20, 10, 4], refine={refine})"
        findings.append(
            Finding(
                '"clear clustering structure": at the top one cluster for each digit',
                PICTURE,
                f"digits of the four top clusters: {', '.join(map(str, digits))}; purity "
                + ", ".join(f"{p:.3f} at {m}" for m, p in zip(_LEVELS, purities, strict=True)),
                f"{name}, {yu.graph_words('usps')}",
                held(len(digits) == 4 and min(purities) > 0.9),
            )
        )
        rows.append(["yes" if refine else "no", *(f"{p:.3f}" for p in purities)])
    table = Table(
        "Share of images whose cluster has mostly their digit",
        ["levels refined", *(f"{m} clusters" for m in _LEVELS)],
        rows,
    )
    record = results.records[0]
    pictures = [
        Picture(
            "hierarchy",
            "Mean images of the clusters at each level, weighted by membership; frames have the "
            "colour of the top cluster above.",
            _figure(record),
            width=1080,
            height=760,
        )
    ]
    return Report(_reading(results), findings, [table], pictures)


def _reading(results: Results) -> str:
    parts = []
    for record in results:
        words = "refined" if record.unit.settings["refine"] else "as published"
        top, bottom = (record.values[f"purity {m}"] for m in (4, 100))
        parts.append(f"{words}, {bottom:.1%} at 100 clusters and {top:.1%} at 4")
    return (
        "The prototypes are mean images, weighted by the soft memberships at each level. "
        f"Images in a cluster of their own digit: {'; '.join(parts)}. The factorizations "
        "start from eigenvectors; the poster does not say where its own start."
    )


def _order(record: Record) -> dict[int, IntArray]:
    """Clusters of each level, sorted so that those with one parent stand together."""
    order: dict[int, IntArray] = {
        _LEVELS[-1]: np.argsort(record.arrays[f"digit_{_LEVELS[-1]}"], kind="stable")
    }
    for m, above in zip(reversed(_LEVELS[:-1]), reversed(_LEVELS[1:]), strict=True):
        place = np.argsort(order[above])
        order[m] = np.argsort(place[record.arrays[f"parent_{m}"]], kind="stable")
    return order


def _top(record: Record) -> dict[int, IntArray]:
    """The top cluster above each cluster."""
    last = _LEVELS[-1]
    top: dict[int, IntArray] = {last: np.arange(last)}
    for m, above in zip(reversed(_LEVELS[:-1]), reversed(_LEVELS[1:]), strict=True):
        top[m] = top[above][record.arrays[f"parent_{m}"]]
    return top


def _mosaic(images: FloatArray, tints: list[str], across: int) -> Pixels:
    """Framed images in rows."""
    side = images.shape[1] + 2 * _FRAME
    down = -(-len(images) // across)
    pixels = np.full((down * (side + 2), across * (side + 2), 3), 255, dtype=np.uint8)
    for number, (image, tint) in enumerate(zip(images, tints, strict=True)):
        row, column = divmod(number, across)
        y, x = row * (side + 2), column * (side + 2)
        pixels[y : y + side, x : x + side] = [int(tint[i : i + 2], 16) for i in (1, 3, 5)]
        inner = slice(y + _FRAME, y + side - _FRAME), slice(x + _FRAME, x + side - _FRAME)
        strongest = max(float(image.max()), 1e-9)
        pixels[inner] = in_grey(1.0 - image / strongest)
    return pixels


def _figure(record: Record) -> Any:
    from soffit.figures.style import colour, dress

    order, top = _order(record), _top(record)
    digit = record.arrays[f"digit_{_LEVELS[-1]}"]
    titles = [f"level {n}: {m} clusters" for n, m in enumerate(_LEVELS, start=1)][::-1]
    figure = grid(4, 1, titles, row_heights=[0.2, 0.14, 0.12, 0.54], vertical_spacing=0.06)
    for row, m in enumerate(reversed(_LEVELS), start=1):
        tints = [colour(int(digit[c])) for c in top[m][order[m]]]
        mosaic = _mosaic(record.arrays[f"images_{m}"][order[m]], tints, _ACROSS[m])
        add_pixels(figure, (row, 1), mosaic, times=2)
        figure.update_yaxes(constraintoward="top", row=row, col=1)
    notes = [f"{yu.graph_words('usps')}; dark is ink, frames tell the top cluster"]
    title = "Clusters of the digits 1 to 4, from the top down"
    dress(figure, title, notes, height=760, margin_l=24, margin_b=16)
    return figure


EXPERIMENT = Experiment(
    name="yu-hierarchy",
    paper="Yu, Yu & Tresp 2005, section 4.1",
    title="The hierarchy of the digits, as pictures",
    plan=plan,
    measure=measure,
    report=report,
)
