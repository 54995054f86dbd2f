"""A map of the objects: colour is the cluster, opacity the certainty."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.figures.layouts import first_layout
from soffit.figures.style import (
    cluster_names,
    colour,
    marker_size,
    new_figure,
    object_names,
    part_shown,
    relative_certainty,
    set_axes,
    symbol,
    thinned,
    trace_class,
    write_name,
)
from soffit.results.summary import Summary

# The faintest and the strongest points.
_FAINT, _STRONG = 0.12, 0.92
# With more clusters their numbers would cover the points.
_MOST_NUMBERS = 40


def scatter(
    model: Any,
    X: Any = None,
    *,
    ids: Any = None,
    max_points: int = 20_000,
    axes: tuple[str, str] | None = None,
    title: str | None = None,
) -> Any:
    """Show the objects on a map: colour is the cluster, opacity the certainty.

    Parameters
    ----------
    model : fitted model, result or array of shape (n, k)
        Memberships of the objects.
    X : table of shape (n, p), optional
        Where the objects lie, as for `embedding`.
    ids : array of shape (n,), optional
        Names of the objects, shown on hover. By default those of the model or the result, or
        else numbers.
    max_points : int, default 20000
        With more objects a subsample is shown, stratified by cluster, with a note.
    axes : tuple of str, optional
        Titles of the two axes.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.figures import scatter
    >>> memberships = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> figure = scatter(memberships, np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]]))
    >>> [trace.name for trace in figure.data]
    ['0', '1']
    """
    shown = Summary.of(model, X, ids=ids)
    placed = first_layout(shown)
    kept = thinned(shown.labels, max_points)
    notes = ["faint points are uncertain"]
    notes += [placed.note] if placed.note else []
    notes += part_shown(len(kept), shown.n_objects)
    figure = new_figure(title or "Clusters", notes, height=560)
    points = placed.points.astype(np.float32)
    for cluster in range(shown.n_clusters):
        members = kept[shown.labels[kept] == cluster]
        if len(members):
            # The legend takes the opacity of the first point, so this is the most certain one.
            members = members[np.argsort(-shown.certainty[members], kind="stable")]
            figure.add_trace(_cluster_trace(shown, cluster, members, points, len(kept)))
    if 1 < shown.n_clusters <= _MOST_NUMBERS:
        _write_numbers(figure, shown, kept, points)
    set_axes(figure, axes or placed.axes)
    figure.update_layout(legend_title_text="cluster", showlegend=True)
    return figure


def _cluster_trace(
    shown: Summary, cluster: int, members: IntArray, points: FloatArray, n_points: int
) -> Any:
    certainty = shown.certainty[members]
    name = cluster_names(shown)[cluster]
    return trace_class(n_points)(
        x=points[members, 0],
        y=points[members, 1],
        mode="markers",
        name=name,
        marker={
            "color": colour(cluster),
            "symbol": symbol(cluster),
            "size": marker_size(n_points),
            "opacity": opacities(certainty, shown.n_clusters),
        },
        customdata=np.column_stack([certainty, shown.entropy[members]]).astype(np.float32),
        text=object_names(shown, members),
        hovertemplate=(
            f"<b>%{{text}}</b><br>cluster {name}<br>certainty %{{customdata[0]:.2f}}"
            "<br>entropy %{customdata[1]:.2f} nats<extra></extra>"
        ),
    )


def _write_numbers(figure: Any, shown: Summary, kept: IntArray, points: FloatArray) -> None:
    """Write the name of each cluster at the object nearest to the middle of its certain ones."""
    for cluster in range(shown.n_clusters):
        members = kept[shown.labels[kept] == cluster]
        if not len(members):
            continue
        sure = members[shown.certainty[members] >= np.median(shown.certainty[members])]
        gap = np.abs(points[sure] - np.median(points[sure], axis=0))
        middle = sure[(gap / (np.ptp(points, axis=0) + 1e-30)).max(axis=1).argmin()]
        x, y = points[middle].tolist()
        write_name(figure, cluster, cluster_names(shown)[cluster], x, y, opacity=0.9)


def opacities(certainty: FloatArray, n_clusters: int) -> FloatArray:
    """Opacity of points: faint where all clusters are alike, strong where there is one only."""
    share = relative_certainty(certainty, n_clusters)
    return np.asarray(_FAINT + (_STRONG - _FAINT) * share, dtype=np.float32)
