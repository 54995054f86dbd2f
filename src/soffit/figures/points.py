"""Points drawn in the plane: their traces, and subsamples of many points."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit._typing import IntArray
from soffit.figures.text import escaped

# Above this number the points are drawn by WebGL.
_MANY = 1000


def trace_class(n_points: int) -> Any:
    """Plotly's class of point traces that suits the number of points."""
    import plotly.graph_objects as go

    return go.Scattergl if n_points > _MANY else go.Scatter


def marker_size(n_points: int) -> float:
    """Diameter of a point in pixels: fewer points are larger."""
    return 9.0 if n_points <= 300 else 7.0 if n_points <= 2000 else 5.0 if n_points <= 8000 else 3.5


def set_axes(figure: Any, axes: tuple[str, str] | None, **where: Any) -> None:
    """Titles of the axes; axes without a meaning have neither ticks nor titles."""
    if axes is None:
        hidden = {"showticklabels": False, "ticks": "", "title": None, "showgrid": False}
        # Both axes have the same scale.
        figure.layout.yaxis.scaleanchor = "x"
        figure.update_xaxes(**hidden, **where)
        figure.update_yaxes(**hidden, **where)
        return
    figure.update_xaxes(title_text=escaped(axes[0]), **where)
    figure.update_yaxes(title_text=escaped(axes[1]), **where)


def link_axes(figure: Any, n_panels: int) -> None:
    """Link the axes of several panels in a row, so that zooming affects all of them."""
    for col in range(2, n_panels + 1):
        figure.update_xaxes(matches="x", col=col)
        figure.update_yaxes(matches="y", col=col)


# One fixed seed for all figures, so that they show the same objects.
_SEED = 20210721


def thinned(labels: IntArray, most: int) -> IntArray:
    """At most `most` objects, ascending, stratified by cluster to within one object.

    Objects are shuffled in a fixed way and sorted by cluster; evenly spaced ones are taken. A
    cluster too small for that keeps one object, as far as there is room.
    """
    if isinstance(most, bool) or most < 1:
        raise ValueError(f"max_points must be at least 1, got {most!r}; try 20000.")
    n = len(labels)
    if n <= most:
        return np.arange(n)
    order = np.random.default_rng(_SEED).permutation(n)
    order = order[np.argsort(labels[order], kind="stable")]
    _, first = np.unique(labels[order], return_index=True)
    clusters = order[first][:most]
    spaced = order[((np.arange(most) + 0.5) * (n / most)).astype(np.int64)]
    missing = clusters[~np.isin(labels[clusters], labels[spaced])]
    if len(missing):
        # They replace evenly spaced others.
        kept = np.linspace(0, most - 1, most - len(missing)).astype(np.int64)
        spaced = np.concatenate([spaced[kept], missing])
    return np.unique(spaced)
