"""Calibration of the memberships against true classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.figures.style import FAINT, GREY, PALETTE, dress
from soffit.metrics import calibration_curve
from soffit.results.summary import Summary

# A point of the curve stands for at least so many objects, and at least this share of all.
_LEAST_OBJECTS = 10
_LEAST_SHARE = 0.02
# The normal quantile of intervals of 95 %.
_NORMAL = 1.959963984540054


@dataclass(frozen=True, eq=False)
class MergedBins:
    """A calibration curve without bins of a few objects, and Wilson intervals of 95 %."""

    confidence: FloatArray
    accuracy: FloatArray
    low: FloatArray
    high: FloatArray
    count: IntArray

    @property
    def least(self) -> int:
        """The number of objects of the smallest bin."""
        return int(self.count.min())

    def rows(self) -> Iterator[tuple[float, float, float, float, int]]:
        """Confidence, accuracy, its interval and the number of objects, bin by bin."""
        parts = (self.confidence, self.accuracy, self.low, self.high)
        for *values, count in zip(*(part.tolist() for part in parts), self.count, strict=True):
            confidence, accuracy, low, high = values
            yield confidence, accuracy, low, high, int(count)


def merged_bins(curve: Any) -> MergedBins:
    """Join neighbouring bins until each has enough objects."""
    total = int(curve.count.sum())
    least = max(_LEAST_OBJECTS, _LEAST_SHARE * total)
    # Merged from the certain end, where most objects are.
    group, filled = np.zeros(len(curve.count), dtype=np.int64), 0.0
    for place in range(len(curve.count) - 1, -1, -1):
        group[place] = group[place + 1] if place + 1 < len(group) else 0
        if filled >= least:
            group[place] += 1
            filled = 0.0
        filled += curve.count[place]
    if filled < least and group[0] > 0:
        group[group == group[0]] -= 1
    group = group.max() - group
    count = np.bincount(group, curve.count)
    confidence = np.bincount(group, curve.count * curve.confidence) / count
    accuracy = np.bincount(group, curve.count * curve.accuracy) / count
    z2 = _NORMAL**2
    middle = (accuracy + z2 / (2 * count)) / (1 + z2 / count)
    half = _NORMAL * np.sqrt(accuracy * (1 - accuracy) / count + z2 / (4 * count**2))
    half = half / (1 + z2 / count)
    low, high = np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
    return MergedBins(confidence, accuracy, low, high, count.astype(np.int64))


def calibration(truth: Any, model: Any, *, n_bins: int = 15, title: str | None = None) -> Any:
    """Show the accuracy of the largest membership as a function of its size.

    Calibrated memberships lie on the diagonal: of the objects with a certainty of 0.8, four in
    five are correct. Below the line a model is overconfident, above it underconfident. Neighbouring
    bins are joined until each has ten objects and 2 % of all; error bars are intervals of 95 %. The
    bars below count the objects of the original bins. Clusters are matched to classes as in
    `soffit.metrics.calibration_curve`.

    Parameters
    ----------
    truth : array of shape (n,)
        True classes of any type.
    model : fitted model, result or array of shape (n, k)
        Memberships of the objects.
    n_bins : int, default 15
        Bins of equal width.
    title : str, optional
        Another title, in place of the one that gives the expected calibration error.

    Returns
    -------
    plotly.graph_objects.Figure
        The diagonal, the curve and the counts.

    Examples
    --------
    >>> from soffit.figures import calibration
    >>> memberships = [[0.7, 0.3]] * 20 + [[0.0, 1.0]] * 10
    >>> figure = calibration(["a"] * 10 + ["b"] * 20, memberships, n_bins=5)
    >>> figure.data[1].y.tolist(), figure.layout.title.text
    ([0.5, 1.0], 'Calibration error 0.13')
    """
    from plotly.subplots import make_subplots

    shown = Summary.of(model)
    curve = calibration_curve(truth, shown.memberships, n_bins=n_bins)
    # As `calibration_error`, from the curve at hand.
    gap = np.abs(curve.accuracy - curve.confidence)
    error = float((curve.count * gap).sum() / curve.count.sum())
    figure = make_subplots(2, 1, shared_xaxes=True, row_heights=[0.76, 0.24], vertical_spacing=0.05)
    for trace in _traces(merged_bins(curve)):
        figure.add_trace(trace, row=1, col=1)
    figure.add_trace(_counts(curve, n_bins), row=2, col=1)
    accuracy = float((curve.accuracy * curve.count).sum() / curve.count.sum())
    claimed = float((curve.confidence * curve.count).sum() / curve.count.sum())
    dress(
        figure,
        title or f"Calibration error {error:.2f}",
        [f"mean certainty {claimed:.2f}, accuracy {accuracy:.2f}"],
        height=600,
    )
    figure.update_xaxes(range=[0, 1.02])
    figure.update_xaxes(title_text="certainty (largest membership)", row=2, col=1)
    figure.update_yaxes(title_text="accuracy", range=[0, 1.04], row=1, col=1)
    figure.update_yaxes(title_text="objects", row=2, col=1)
    return figure


def _traces(curve: MergedBins) -> list[Any]:
    import plotly.graph_objects as go

    ideal = go.Scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        name="ideal",
        line={"color": GREY, "width": 1.5, "dash": "dash"},
        hoverinfo="skip",
    )
    found = go.Scatter(
        x=curve.confidence,
        y=curve.accuracy,
        mode="lines+markers",
        name="memberships",
        line={"color": PALETTE[0], "width": 2},
        marker={
            "size": 7 + 9 * np.sqrt(curve.count / curve.count.max()),
            "line": {"color": "#ffffff", "width": 1},
        },
        error_y={
            "array": curve.high - curve.accuracy,
            "arrayminus": curve.accuracy - curve.low,
            "color": GREY,
            "thickness": 1.2,
            "width": 3,
        },
        customdata=curve.count,
        hovertemplate=(
            "certainty %{x:.2f}<br>accuracy %{y:.2f}<br>objects %{customdata:,}<extra></extra>"
        ),
    )
    return [ideal, found]


def _counts(curve: Any, n_bins: int) -> Any:
    import plotly.graph_objects as go

    middle = (np.minimum(np.ceil(curve.confidence * n_bins), n_bins) - 0.5) / n_bins
    return go.Bar(
        x=middle,
        y=curve.count,
        width=0.9 / n_bins,
        name="objects in the bin",
        marker={"color": FAINT, "line": {"color": "#c3c8d0", "width": 1}},
        showlegend=False,
        hovertemplate="objects %{y:,}<extra></extra>",
    )
