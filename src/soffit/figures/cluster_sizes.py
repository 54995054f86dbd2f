"""Sizes of the clusters and certainty of their objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit.figures.style import INK, cluster_names, faded, new_figure
from soffit.results.sentences import uncertainty
from soffit.results.summary import UNCERTAIN_BELOW, Summary

# Lower ends of the bands of certainty, and how strong their colour is.
_BANDS = ((0.9, 1.0), (UNCERTAIN_BELOW, 0.62), (0.0, 0.3))


def cluster_sizes(model: Any, *, title: str | None = None) -> Any:
    """Show the sizes of the clusters, split by the certainty of their objects.

    A bar counts the objects whose largest membership is in the cluster. The mark is the expected
    size, the sum of all memberships: it is above the bar if objects of other clusters have
    memberships in the cluster.

    Parameters
    ----------
    model : fitted model, result or array of shape (n, k)
        Memberships of the objects.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per band of certainty, and one of expected sizes.

    Examples
    --------
    >>> from soffit.figures import cluster_sizes
    >>> figure = cluster_sizes([[0.95, 0.05], [0.7, 0.3], [0.45, 0.55]])
    >>> [trace.y.tolist() for trace in figure.data]
    [[1, 0], [1, 0], [0, 1], [2.1, 0.9]]
    """
    import plotly.graph_objects as go

    shown = Summary.of(model)
    figure = new_figure(
        title or "Cluster sizes",
        [uncertainty(shown).rstrip(".")],
        height=440,
        barmode="stack",
        bargap=0.3,
        legend_title_text="certainty",
    )
    above = np.inf
    for low, strength in _BANDS:
        figure.add_trace(_band(shown, low, above, strength))
        above = low
    figure.add_trace(
        go.Scatter(
            x=np.arange(shown.n_clusters),
            y=shown.expected_sizes,
            mode="markers",
            name="expected size",
            marker={
                "symbol": "line-ew",
                # About the width of a bar.
                "size": min(22.0, max(4.0, 250.0 / shown.n_clusters)),
                "line": {"color": INK, "width": 2},
            },
            hovertemplate="cluster %{x}<br>expected size %{y:,.1f}<extra></extra>",
        )
    )
    figure.update_xaxes(
        title_text="cluster",
        tickvals=list(range(shown.n_clusters)),
        ticktext=cluster_names(shown),
        showgrid=False,
        ticks="",
    )
    figure.update_yaxes(title_text="objects", rangemode="tozero")
    return figure


def _band(shown: Summary, low: float, above: float, strength: float) -> Any:
    import plotly.graph_objects as go

    inside = (shown.certainty >= low) & (shown.certainty < above)
    counts = np.bincount(shown.labels[inside], minlength=shown.n_clusters)
    name = "0.9 and more" if above == np.inf else f"{low:g} to {above:g}"
    name = name if low > 0 else f"below {above:g}"
    clusters = range(shown.n_clusters)
    return go.Bar(
        x=np.arange(shown.n_clusters),
        y=counts,
        name=name,
        marker={
            "color": [faded(cluster, strength) for cluster in clusters],
            "line": {"width": 0},
        },
        customdata=cluster_names(shown),
        hovertemplate=f"cluster %{{customdata}}<br>objects with certainty {name}: %{{y:,}}"
        "<extra></extra>",
    )
