"""All memberships, sorted by cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit._parameters import WholeNumber, check_parameter
from soffit._typing import FloatArray, IntArray, is_sparse
from soffit.figures.style import SHARE, cluster_names, colour_bar, new_figure, scale
from soffit.memberships.measures import group_sums
from soffit.results.summary import Summary

# A screen has no more lines.
_MOST_ROWS = 1000
# The name of a cluster is shown if its rows fill this share of the height.
_NAMED = 0.022


def membership_heatmap(model: Any, *, max_rows: int = _MOST_ROWS, title: str | None = None) -> Any:
    """Show all memberships as a heat map: objects sorted by cluster, then by certainty.

    Parameters
    ----------
    model : fitted model, result or array of shape (n, k)
        Memberships of the objects.
    max_rows : int, default 1000
        With more objects, consecutive rows of one cluster are averaged, with a note.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        One heat map with a row per object or group of objects, and a column per cluster.

    Examples
    --------
    >>> from soffit.figures import membership_heatmap
    >>> figure = membership_heatmap([[0.4, 0.6], [0.9, 0.1], [0.2, 0.8]])
    >>> figure.data[0].z.tolist()
    [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]
    """
    check_parameter("max_rows", max_rows, WholeNumber(1))
    shown = Summary.of(model)
    order = np.lexsort((-shown.certainty, shown.labels))
    first = row_starts(shown.labels[order], max_rows)
    counts = np.diff(np.append(first, shown.n_objects))
    if is_sparse(shown.memberships):
        row = np.repeat(np.arange(len(first)), counts)
        sums = group_sums(shown.memberships[order], row, len(first))
    else:
        sums = np.add.reduceat(shown.memberships[order], first, axis=0)
    z = sums / counts[:, None]
    labels = shown.labels[order][first]
    averaged = len(first) < shown.n_objects
    figure = new_figure(
        title or "Memberships, sorted by cluster",
        [f"{shown.n_objects:,} objects averaged to {len(first):,} rows"] if averaged else [],
        height=620,
    )
    figure.add_trace(_heatmap(shown, z, labels, counts))
    _borders(figure, shown, labels)
    return figure


def row_starts(labels: IntArray, most: int) -> IntArray:
    """Where the rows of the picture begin among objects sorted by cluster.

    Every cluster has a number of rows in proportion to its size, at least one.
    """
    n = len(labels)
    if n <= most:
        return np.arange(n)
    begin = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    sizes = np.diff(np.append(begin, n))
    rows = np.maximum(sizes * max(most - len(sizes), 0) // n, 1)
    pieces = [b + np.arange(r) * s // r for b, s, r in zip(begin, sizes, rows, strict=True)]
    return np.concatenate(pieces)


def _heatmap(shown: Summary, z: FloatArray, labels: IntArray, counts: IntArray) -> Any:
    import plotly.graph_objects as go

    row = np.column_stack([labels, counts]).astype(np.int32)
    return go.Heatmap(
        z=z.astype(np.float32) if z.size > 10_000 else z,
        x=np.arange(z.shape[1]),
        y=np.arange(len(z)),
        zmin=0.0,
        zmax=1.0,
        colorscale=scale(SHARE),
        colorbar=colour_bar("membership"),
        customdata=np.repeat(row[:, None, :], z.shape[1], axis=1),
        hovertemplate=(
            "membership in cluster %{x}: %{z:.2f}<br>objects of cluster %{customdata[0]} "
            "in this row: %{customdata[1]}<extra></extra>"
        ),
    )


def _borders(figure: Any, shown: Summary, labels: IntArray) -> None:
    """Lines between clusters, and the names of clusters with enough rows."""
    begin = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    end = np.append(begin[1:], len(labels))
    for place in begin[1:].tolist():
        figure.add_hline(y=place - 0.5, line={"color": "#ffffff", "width": 1.5})
    named = (end - begin) >= _NAMED * len(labels)
    names = cluster_names(shown)
    present = labels[begin]
    figure.update_yaxes(
        tickvals=((begin + end - 1) / 2)[named].tolist(),
        ticktext=[f"{names[c]}  ({shown.sizes[c]:,})" for c in present[named]],
        autorange="reversed",
        title_text="objects by cluster (number of objects)",
        showgrid=False,
        tickcolor="#ffffff",
    )
    figure.update_xaxes(
        title_text="membership in cluster",
        tickvals=list(range(shown.n_clusters)),
        ticktext=names,
        showgrid=False,
    )
