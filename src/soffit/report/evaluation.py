"""The result beside known labels: scores, a confusion matrix and a calibration curve."""

from __future__ import annotations

import numpy as np

from soffit.figures.calibration_plot import merged_bins
from soffit.metrics import calibration_curve
from soffit.report.drawing import line, path, svg, words
from soffit.report.html import caption_of, name, table, text
from soffit.report.overview import dot
from soffit.results.sentences import missing_labels
from soffit.results.summary import SCORES, Summary
from soffit.results.words import count_of, shorten

# A confusion matrix with more labels than this is no longer readable.
_MOST_LABELS = 60
_SIZE, _LEFT, _FOOT = 300.0, 40.0, 36.0


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
    across, up = (_SIZE - _LEFT - 8) / 1.0, _SIZE - _FOOT - 8

    def at(x: float, y: float) -> tuple[float, float]:
        return _LEFT + x * across, 8 + (1 - y) * up

    content = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = at(tick, tick)
        content += [line(x, 8, x, 8 + up, "grid"), line(_LEFT, y, _SIZE - 8, y, "grid")]
        content.append(words(x, 8 + up + 14, f"{tick:g}", "tick", "middle"))
        content.append(words(_LEFT - 5, y + 4, f"{tick:g}", "tick", "end"))
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
    content.append(words((_SIZE + _LEFT) / 2, _SIZE - 4, "certainty", "tick", "middle"))
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
