"""A map of the uncertainty of the objects and of its two parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.figures.layouts import first_layout
from soffit.figures.style import (
    DOUBT,
    cluster_names,
    colour_bar,
    dress,
    link_axes,
    marker_size,
    object_names,
    part_shown,
    scale,
    set_axes,
    thinned,
    trace_class,
)
from soffit.results.summary import Summary

_WHOLE = "entropy"
_PARTS = (
    "overlap: clusters touch here",
    "instability: the partition changes here",
)


def entropy_map(
    model: Any,
    X: Any = None,
    *,
    ids: Any = None,
    max_points: int = 20_000,
    axes: tuple[str, str] | None = None,
    title: str | None = None,
) -> Any:
    """Show the uncertainty of the objects on a map.

    A model fitted with `n_resamples` splits the entropy into two parts: clusters overlap at an
    object, or the partition itself changes there between subsamples. Both are shown next to the
    total, with one colour scale.

    Parameters
    ----------
    model : fitted model, result or array of shape (n, k)
        Memberships of the objects.
    X : table of shape (n, p), optional
        Where the objects lie, as for `embedding`.
    ids : array of shape (n,), optional
        Names of the objects.
    max_points : int, default 20000
        Points in all panels together. With more objects a subsample is shown, stratified by
        cluster.
    axes : tuple of str, optional
        Titles of the two axes.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace, or three: the entropy, the overlap and the instability.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.figures import entropy_map
    >>> memberships = np.array([[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]])
    >>> figure = entropy_map(memberships, np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]))
    >>> sorted(figure.data[0].marker.color.round(2).tolist())
    [0.0, 0.5, 0.69]
    """
    shown = Summary.of(model, X, ids=ids)
    placed = first_layout(shown)
    panels = _panels(shown)
    kept = thinned(shown.labels, max(max_points // len(panels), min(max_points, 1)))
    # The most uncertain ones are drawn last, above all others.
    kept = kept[np.argsort(shown.entropy[kept], kind="stable")]
    figure = _empty(panels)
    points = placed.points[kept].astype(np.float32)
    hover = _hover(shown, kept, list(panels))
    for number, values in enumerate(panels.values(), start=1):
        trace = _trace(points, values[kept], hover)
        figure.add_trace(trace, row=1, col=number)
    notes = [f"mean {shown.entropy.mean():.2f} nats, at most {np.log(shown.n_clusters):.2f}"]
    notes += [placed.note] if placed.note else []
    notes += part_shown(len(kept), shown.n_objects)
    dress(figure, title or "Uncertainty of the objects", notes, height=560)
    set_axes(figure, axes or placed.axes)
    most = max(float(shown.entropy.max()), 1e-3)
    figure.update_layout(
        showlegend=False,
        coloraxis={
            "colorscale": scale(DOUBT),
            "cmin": 0.0,
            "cmax": most,
            "colorbar": colour_bar("nats"),
        },
    )
    if len(panels) > 1:
        link_axes(figure, len(panels))
        for col in range(2, len(panels) + 1):
            figure.update_yaxes(title_text=None, showticklabels=False, col=col)
    return figure


def _panels(shown: Summary) -> dict[str, FloatArray]:
    if shown.overlap is None or shown.instability is None:
        return {_WHOLE: shown.entropy}
    return {_WHOLE: shown.entropy, _PARTS[0]: shown.overlap, _PARTS[1]: shown.instability}


def _empty(panels: dict[str, FloatArray]) -> Any:
    from plotly.subplots import make_subplots

    titles = list(panels) if len(panels) > 1 else None
    figure = make_subplots(1, len(panels), horizontal_spacing=0.03, subplot_titles=titles)
    figure.update_annotations(font_size=13, xanchor="center")
    return figure


def _hover(shown: Summary, kept: IntArray, panels: list[str]) -> dict[str, Any]:
    lines = [
        "<b>%{text}</b>",
        "cluster %{hovertext}",
        "certainty %{customdata[0]:.2f}",
        "entropy %{customdata[1]:.2f} nats",
    ]
    columns = [shown.certainty[kept], shown.entropy[kept]]
    if len(panels) > 1:
        assert shown.overlap is not None
        assert shown.instability is not None
        columns += [shown.overlap[kept], shown.instability[kept]]
        lines += ["overlap %{customdata[2]:.2f}", "instability %{customdata[3]:.2f}"]
    return {
        "text": object_names(shown, kept),
        "hovertext": np.array(cluster_names(shown))[shown.labels[kept]].tolist(),
        "customdata": np.column_stack(columns).astype(np.float32),
        "hovertemplate": "<br>".join(lines) + "<extra></extra>",
    }


def _trace(points: FloatArray, values: FloatArray, hover: dict[str, Any]) -> Any:
    return trace_class(len(points))(
        x=points[:, 0],
        y=points[:, 1],
        mode="markers",
        marker={
            "color": values.astype(np.float32),
            "coloraxis": "coloraxis",
            "size": marker_size(len(points)),
        },
        **hover,
    )
