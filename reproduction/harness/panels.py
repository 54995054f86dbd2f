"""Figures of several panels: dots with their clusters, and pictures made of pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit.figures.segments import data_address
from soffit.figures.style import colour
from soffit.memberships import match_clusters

Place = tuple[int, int]
Pixels = NDArray[np.uint8]

# Clusters told apart by shape, too.
_SHAPES = ("circle", "diamond", "square", "triangle-up", "x")
_BARE = {"showticklabels": False, "ticks": "", "showgrid": False}


def grid(rows: int, columns: int, titles: Sequence[str], **options: Any) -> Any:
    """An empty figure of panels with these titles."""
    from plotly.subplots import make_subplots

    options = {"horizontal_spacing": 0.06, "vertical_spacing": 0.14} | options
    figure = make_subplots(rows, columns, subplot_titles=list(titles), **options)
    figure.update_annotations(font_size=13)
    return figure


def matched(truth: IntArray, labels: IntArray) -> IntArray:
    """Labels renumbered so that each cluster has the number of its class."""
    order = match_clusters(truth, labels)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    codes = np.unique(labels, return_inverse=True)[1]
    return np.asarray(place[codes])


def add_dots(
    figure: Any, place: Place, X: FloatArray, labels: IntArray, *, size: float = 5.5
) -> None:
    """Points in the colours and shapes of their clusters, in a panel with equal scales."""
    import plotly.graph_objects as go

    row, column = place
    for c in np.unique(labels).tolist():
        chosen = labels == c
        figure.add_trace(
            go.Scatter(
                x=X[chosen, 0].astype(np.float32),
                y=X[chosen, 1].astype(np.float32),
                mode="markers",
                marker={
                    "color": colour(c),
                    "size": size,
                    "symbol": _SHAPES[c % len(_SHAPES)],
                    "line": {"color": "#ffffff", "width": 0.5},
                },
                name=f"cluster {c + 1}",
                showlegend=False,
                hovertemplate=f"cluster {c + 1}<br>%{{x:.2f}}, %{{y:.2f}}<extra></extra>",
            ),
            row=row,
            col=column,
        )
    equal_scales(figure, place)


def equal_scales(figure: Any, place: Place) -> None:
    """The same length for a unit of both axes, and no ticks: only shapes matter."""
    row, column = place
    axis = next(figure.select_xaxes(row=row, col=column))
    figure.update_xaxes(**_BARE, constrain="domain", row=row, col=column)
    anchor = "x" + (axis.plotly_name.removeprefix("xaxis"))
    figure.update_yaxes(**_BARE, constrain="domain", scaleanchor=anchor, row=row, col=column)


def add_pixels(figure: Any, place: Place, pixels: Pixels, *, times: int = 1) -> None:
    """A picture in a panel; `times` repeats its pixels, lest a browser blurs them."""
    import plotly.graph_objects as go

    row, column = place
    large = pixels.repeat(times, axis=0).repeat(times, axis=1)
    figure.add_trace(go.Image(source=data_address(large), hoverinfo="skip"), row=row, col=column)
    bare: dict[str, Any] = {**_BARE, "showline": False}
    figure.update_xaxes(**bare, constrain="domain", row=row, col=column)
    figure.update_yaxes(**bare, constrain="domain", row=row, col=column)


def in_colours(labels: IntArray) -> Pixels:
    """Labels of pixels as a picture in the colours of the clusters."""
    table = [[int(colour(c)[i : i + 2], 16) for i in (1, 3, 5)] for c in range(labels.max() + 1)]
    return np.asarray(np.array(table, dtype=np.uint8)[labels])


def in_grey(values: FloatArray) -> Pixels:
    """Brightness between 0 and 1 as a picture."""
    levels = np.round(np.clip(values, 0.0, 1.0) * 255).astype(np.uint8)
    return np.repeat(levels[:, :, None], 3, axis=2)


def larger_first(labels: IntArray) -> IntArray:
    """Labels renumbered by size, so that pictures of the same segments look alike."""
    codes = np.unique(labels, return_inverse=True)[1].reshape(np.shape(labels))
    order = np.argsort(-np.bincount(codes.ravel()), kind="stable")
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return np.asarray(place[codes])
