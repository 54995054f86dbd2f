"""Calibration of the memberships against true classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit.figures.style import FAINT, GREY, PALETTE, dress
from soffit.metrics import calibration_curve
from soffit.results.summary import Summary


def calibration(truth: Any, model: Any, *, n_bins: int = 15, title: str | None = None) -> Any:
    """Show the accuracy of the largest membership as a function of its size.

    Calibrated memberships lie on the diagonal: of the objects with a certainty of 0.8, four in
    five are correct. Below the line a model is overconfident, above it underconfident. The bars
    count the objects per bin. Clusters are matched to classes as in
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
    >>> figure = calibration(["a", "b", "b"], [[0.7, 0.3], [0.7, 0.3], [0.0, 1.0]], n_bins=5)
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
    for trace in _traces(curve):
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


def _traces(curve: Any) -> list[Any]:
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
        marker={"size": _sizes(curve.count), "line": {"color": "#ffffff", "width": 1}},
        customdata=curve.count,
        hovertemplate=(
            "certainty %{x:.2f}<br>accuracy %{y:.2f}<br>objects %{customdata:,}<extra></extra>"
        ),
    )
    return [ideal, found]


def _sizes(count: Any) -> Any:
    return 7 + 9 * np.sqrt(count / count.max())


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
