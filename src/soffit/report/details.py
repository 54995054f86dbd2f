"""The result in detail: beside known labels, and panels for authors that are folded away."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit._typing import FloatArray, is_sparse
from soffit._wording import count_of, number, short_percent, shorten
from soffit.figures.calibration_plot import merged_bins
from soffit.figures.reconstruction import average, blocks, factored_of
from soffit.memberships.measures import group_sums
from soffit.metrics import calibration_curve
from soffit.report.html import (
    caption_of,
    dot,
    line,
    name,
    nice_ticks,
    path,
    png,
    svg,
    table,
    text,
    tick_text,
    words,
)
from soffit.results.fit_quality import settings
from soffit.results.sentences import missing_labels
from soffit.results.summary import SCORES, UNCERTAIN_BELOW, Summary

# A confusion matrix with more labels than this is no longer readable.
_MOST_LABELS = 60
_SIZE, _MARGIN, _BELOW = 300.0, 40.0, 36.0


def labels_section(summary: Summary) -> str:
    """Scores and figures against the labels of the data; nothing without labels."""
    found = summary.scores
    if found is None:
        return ""
    rows = [
        (text(SCORES[key].name), f"{value:.3f}", text(SCORES[key].meaning))
        for key, value in found.items()
    ]
    caption = "Clusters were matched to labels for maximum agreement. " + text(
        missing_labels(summary)
    )
    return (
        '<section id="labels" aria-labelledby="labels-title">'
        '<h2 id="labels-title">Against the labels</h2>'
        + _confusion(summary)
        + f'<div class="pair">{_calibration(summary)}'
        + table(caption, ("Score", "Value", "Meaning"), rows, numeric=(1,))
        + "</div></section>"
    )


def _confusion(summary: Summary) -> str:
    """How many objects of each label are in each cluster, coloured by the share of the label."""
    if summary.truth is None:
        return ""
    known = summary.truth != ""
    given, codes = np.unique(summary.truth[known], return_inverse=True)
    if len(given) > _MOST_LABELS or summary.n_clusters > _MOST_LABELS:
        return ""
    counts = np.zeros((len(given), summary.n_clusters), dtype=np.int64)
    np.add.at(counts, (codes, summary.labels[known]), 1)
    columns = np.argsort(
        _main_label(counts), kind="stable"
    )  # clusters beside the label they hold most of
    heads = "".join(
        f'<th scope="col">{dot(int(c))}{text(shorten(summary.names[c], 24))}</th>' for c in columns
    )
    lines = "".join(
        f'<tr><th scope="row">{name(shorten(str(label), 40))}</th>'
        + "".join(_cell(int(row[c]), int(row.sum())) for c in columns)
        + f'<td class="all">{int(row.sum()):,}</td></tr>'
        for label, row in zip(given, counts, strict=True)
    )
    return (
        '<div class="scroll" id="figure-confusion" tabindex="0"><table class="heat">'
        + caption_of(
            "Objects of each label (rows) in each cluster (columns); the colour is the share of "
            "the label."
        )
        + f'<thead><tr><th scope="col">Label</th>{heads}<th scope="col" class="all">All</th></tr>'
        f"</thead><tbody>{lines}</tbody></table></div>"
    )


def _main_label(counts: np.ndarray) -> np.ndarray:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return shares.argmax(axis=0)


def _cell(count: int, total: int) -> str:
    share = round(100 * count / max(total, 1))
    return f'<td class="heatcell" style="--d:{share}">{count:,}</td>'


def _calibration(summary: Summary) -> str:
    """The accuracy of memberships by their size, with intervals of 95 %."""
    if summary.truth is None:
        return ""
    known = summary.truth != ""
    curve = merged_bins(calibration_curve(summary.truth[known], summary.memberships[known]))
    across, up = (_SIZE - _MARGIN - 8) / 1.0, _SIZE - _BELOW - 8

    def at(x: float, y: float) -> tuple[float, float]:
        return _MARGIN + x * across, 8 + (1 - y) * up

    content = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = at(tick, tick)
        content += [line(x, 8, x, 8 + up, "grid"), line(_MARGIN, y, _SIZE - 8, y, "grid")]
        content.append(words(x, 8 + up + 14, f"{tick:g}", "tick", "middle"))
        content.append(words(_MARGIN - 5, y + 4, f"{tick:g}", "tick", "end"))
    content.append(line(*at(0, 0), *at(1, 1), "ideal"))
    points = []
    for confidence, accuracy, low, high, count in curve.rows():
        x, y = at(confidence, accuracy)
        hover = (
            f"certainty {confidence:.2f}: accuracy {accuracy:.2f} ({low:.2f} to {high:.2f}), "
            f"{count_of(count, 'object')}"
        )
        content.append(line(x, at(0, low)[1], x, at(0, high)[1], "interval"))
        points.append((x, y))
        content.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" class="point">'
            f"<title>{text(hover)}</title></circle>"
        )
    if len(points) > 1:
        content.append(f'<path d="{path(points)}" class="curve"/>')
    content.append(words((_SIZE + _MARGIN) / 2, _SIZE - 4, "certainty", "tick", "middle"))
    content.append(
        f'<text class="tick" text-anchor="middle" transform="translate(10 {8 + up / 2:.0f}) '
        'rotate(-90)">accuracy</text>'
    )
    label = "Accuracy of the memberships by their size"
    return (
        '<figure id="figure-calibration"><figcaption><h3>Calibration of the memberships</h3>'
        "<p>Of the objects with a membership of 0.8, eight in ten should have the label that "
        "matches their cluster. Calibrated memberships lie on the dashed line. Lines are intervals "
        f"of 95 %; every point stands for at least {curve.least} objects.</p></figcaption>"
        f"{svg(_SIZE, _SIZE, content, label)}</figure>"
    )


# The reconstruction of a dense matrix takes as many entries as there are pairs of objects.
_MOST_RECONSTRUCTED = 5000
_PIXELS = 150
_ROWS = 400
_LONG_TABLE = 20
_WIDTH, _HEIGHT, _LEFT, _FOOT = 640.0, 220.0, 60.0, 24.0


def numbers_table(summary: Summary) -> str:
    """The table of clusters."""
    stability = summary.stability
    header = [
        summary.noun.capitalize(),
        "Objects",
        "Share",
        "Expected size",
        "Certainty",
        "Uncertain",
    ]
    meaning = (
        f"Objects are counted in their most probable {summary.noun}; the expected size is the sum "
        "of memberships. Certainty is the mean largest membership of the members. Uncertain "
        f"members have a largest membership below {UNCERTAIN_BELOW:g}."
    )
    if summary.weights is not None:
        header.insert(3, "Weight")
        meaning += " Weight is the sum of the weights of the members."
    if stability is not None:
        header.append("Stability")
        meaning += " Stability is the overlap with the same cluster in other fits; 1 is perfect."
    rows = []
    for row in summary.clusters:
        cells = [
            f"{dot(row.cluster)}{text(shorten(summary.names[row.cluster]))}",
            f"{row.size:,}",
            text(short_percent(row.size / summary.n_objects)),
            f"{row.expected_size:,.1f}",
            f"{row.certainty:.2f}" if row.size else "empty",
            f"{row.n_uncertain:,}",
        ]
        if row.weight is not None:
            cells.insert(3, f"{row.weight:,.6g}")
        if stability is not None:
            cells.append(f"{float(stability[row.cluster]):.2f}")
        rows.append(cells)
    is_long = summary.n_clusters > _LONG_TABLE
    return table(meaning, header, rows, numeric=range(1, len(header)), is_long=is_long)


def details_section(summary: Summary) -> str:
    """All panels, each behind its own heading."""
    panels = [
        ("numbers", "Sizes and certainty in numbers", numbers_table(summary)),
        ("memberships", "All memberships at a glance", _memberships(summary)),
        ("hierarchy", "Hierarchy", _hierarchy(summary)),
        ("selection", "Evidence for each number of clusters", _selection(summary)),
        ("reconstruction", "Similarities and their reconstruction", _reconstruction(summary)),
        ("objective", "Objective by iteration", _objective(summary)),
        ("settings", "Settings", _settings(summary)),
    ]
    return "".join(
        f'<details id="detail-{key}"><summary>{heading}</summary>{content}</details>'
        for key, heading, content in panels
        if content
    )


# --- memberships ----------------------------------------------------------------------------------


def _shaded(values: FloatArray) -> Any:
    """Values from 0 to 1 as colours from white to dark blue."""
    low, high = np.array([247.0, 249.0, 251.0]), np.array([11.0, 60.0, 111.0])
    share = np.clip(np.nan_to_num(values), 0.0, 1.0)[..., np.newaxis]
    return np.round(low + share * (high - low)).astype(np.uint8)


def _memberships(summary: Summary) -> str:
    if summary.n_clusters == 1:
        return ""
    order = np.lexsort((-summary.certainty, summary.labels))
    n = len(order)
    block = np.arange(n) * min(n, _ROWS) // n
    sizes = np.bincount(block)[:, np.newaxis]
    means = group_sums(summary.memberships[order], block, len(sizes)) / sizes
    return (
        "<p>One line per object, sorted by cluster; one column per cluster. A line with one dark "
        "cell is certain; several shaded cells show between which clusters an object lies.</p>"
        f'<img class="matrix tallest" alt="All memberships, one line per object" '
        f'src="{png(_shaded(means))}">'
    )


def _hierarchy(summary: Summary) -> str:
    levels = getattr(summary.model, "levels_", None)
    if not levels:
        return ""
    sizes = [Summary.of(level.memberships).sizes for level in levels]
    rows = [
        (count_of(len(found), "cluster"), ", ".join(f"{size:,}" for size in found))
        for found in sorted(sizes, key=len)
    ]
    return table(
        "The levels from the coarsest to the finest, and the sizes of their clusters.",
        ("Level", "Objects in each"),
        rows,
    )


# --- the fit --------------------------------------------------------------------------------------


def _selection(summary: Summary) -> str:
    choice = summary.choice
    if choice is None or len(choice.ks) < 2:
        return ""
    names = [key for key in choice.table if key != "k"]
    rows = []
    for place, k in enumerate(choice.ks):
        values = [_figure(choice.table[key][place]) for key in names]
        mark = " (chosen)" if k == choice.n_clusters else ""
        mark = " (runner-up)" if k == choice.runner_up else mark
        rows.append([f"{int(k)}{mark}", *values])
    header = ["Clusters", *(text(key.replace("_", " ").capitalize()) for key in names)]
    caption = "The evidence for each candidate number of clusters."
    return table(caption, header, rows, numeric=range(1, len(header)), is_long=len(rows) > 12)


def _figure(value: Any) -> str:
    found = float(value)
    return "\N{EN DASH}" if not np.isfinite(found) else number(found)


def _reconstruction(summary: Summary) -> str:
    A = summary.affinities
    if A is None or not hasattr(summary.model, "factor_"):
        return ""
    if not is_sparse(A) and summary.n_objects > _MOST_RECONSTRUCTED:
        return ""
    try:
        fit = factored_of(summary.model)
    except ValueError:
        return ""
    if fit.matrix.shape[0] != summary.n_objects:
        return ""
    found = average(fit, blocks(summary.labels, summary.certainty, _PIXELS))
    both = np.concatenate([found.observed.ravel(), found.fitted.ravel()])
    top = float(np.nanquantile(both, 0.99)) or 1.0
    pictures = "".join(
        f'<figure><img class="matrix" alt="{label}" src="{png(_shaded(values / top))}">'
        f"<figcaption>{label}</figcaption></figure>"
        for label, values in (
            (f"The {fit.name}", found.observed),
            (f"Their reconstruction, {fit.formula}", found.fitted),
        )
    )
    return (
        "<p>Objects are sorted by cluster, in both directions; blocks along the diagonal are the "
        f'clusters.</p><div class="pair">{pictures}</div>'
    )


def _objective(summary: Summary) -> str:
    history = getattr(summary.model, "objective_history_", None)
    if history is None or len(history) < 2:
        return ""
    values = np.asarray(history, dtype=np.float64)
    low, high = float(values.min()), float(values.max())
    span = (high - low) or 1.0

    def at(step: float, value: float) -> tuple[float, float]:
        x = _LEFT + step / (len(values) - 1) * (_WIDTH - _LEFT - 8)
        return x, 8 + (high - value) / span * (_HEIGHT - _FOOT - 16)

    content = []
    for tick in nice_ticks(low, high):
        _, y = at(0, tick)
        content.append(line(_LEFT, y, _WIDTH - 8, y, "grid"))
        content.append(words(_LEFT - 5, y + 4, tick_text(tick), "tick", "end"))
    points = [at(step, float(value)) for step, value in enumerate(values)]
    content.append(f'<path d="{path(points)}" class="curve"/>')
    last = count_of(len(values) - 1, "iteration")
    content.append(words(_WIDTH - 8, _HEIGHT - 6, last, "tick", "end"))
    return "<p>The objective decreases with every iteration and is flat at convergence.</p>" + svg(
        _WIDTH, _HEIGHT, content, "Objective by iteration"
    )


def _settings(summary: Summary) -> str:
    if summary.model is None:
        return ""
    found = sorted(settings(summary.model), key=lambda setting: not setting.is_changed)
    rows = [tuple(map(_code, (item.name, item.value, item.default))) for item in found]
    n_changed = sum(setting.is_changed for setting in found)
    caption = "All settings have their default values."
    if n_changed == 1:
        caption = "1 setting differs from its default and comes first."
    elif n_changed:
        caption = f"{n_changed} settings differ from their defaults and come first."
    return table(caption, ("Setting", "Value", "Default"), rows)


def _code(value: str) -> str:
    return f"<code>{text(value)}</code>"
