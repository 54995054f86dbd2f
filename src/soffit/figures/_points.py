"""What all maps of points share."""

from __future__ import annotations

from typing import Any

from soffit.figures._text import escaped

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
        # Distances mean the same in both directions.
        figure.layout.yaxis.scaleanchor = "x"
        figure.update_xaxes(**hidden, **where)
        figure.update_yaxes(**hidden, **where)
        return
    figure.update_xaxes(title_text=escaped(axes[0]), **where)
    figure.update_yaxes(title_text=escaped(axes[1]), **where)


def link_axes(figure: Any, n_panels: int) -> None:
    """Let zooming into one of several panels in a row show the same part of all of them."""
    for col in range(2, n_panels + 1):
        figure.update_xaxes(matches="x", col=col)
        figure.update_yaxes(matches="y", col=col)
