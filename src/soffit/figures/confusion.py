"""True classes against clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit._typing import IntArray
from soffit.figures.style import SHARE, colour_bar, escaped, new_figure, scale
from soffit.memberships.matching import check_same_length, encode_labels, partners

# Larger tables show their largest classes and clusters.
_MOST = 60
# Cells of tables up to this size show their counts.
_WITH_TEXT = 25


def confusion(truth: Any, labels: Any, *, title: str | None = None) -> Any:
    """Show how true classes and clusters share the objects.

    Clusters are matched to classes for maximum agreement; matched pairs lie on the diagonal,
    unmatched clusters come last. Cells show counts; colours are shares of the class.

    Parameters
    ----------
    truth : array of shape (n,)
        True classes of any type.
    labels : array of shape (n,), fitted model or result
        Clusters.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        One heat map of the shares, with the counts as ``customdata``.

    Examples
    --------
    >>> from soffit.figures import confusion
    >>> figure = confusion(["a", "a", "b", "b"], [1, 1, 0, 1])
    >>> figure.data[0].customdata.tolist(), figure.data[0].z.tolist()
    ([[2, 0], [1, 1]], [[1.0, 0.0], [0.5, 0.5]])
    """
    import plotly.graph_objects as go

    counts, classes, clusters = _table(truth, _labels_of(labels))
    n, full = int(counts.sum()), counts.shape
    partner = partners(counts.astype(np.float64))
    agreeing = int(counts[np.flatnonzero(partner >= 0), partner[partner >= 0]].sum())
    rows, columns = _arranged(counts, partner)
    shown = counts[np.ix_(rows, columns)]
    sizes = counts.sum(axis=1)[rows]
    shares = shown / np.maximum(sizes, 1)[:, None]
    figure = new_figure(
        title or "True classes and clusters",
        _notes(agreeing, n, full, shown.shape),
        height=int(np.clip(220 + 34 * len(rows), 360, 900)),
    )
    with_text = max(shown.shape) <= _WITH_TEXT
    figure.add_trace(
        go.Heatmap(
            z=shares,
            customdata=shown,
            zmin=0.0,
            zmax=1.0,
            colorscale=scale(SHARE),
            colorbar=colour_bar("share of<br>the class"),
            xgap=1,
            ygap=1,
            text=shown if with_text else None,
            texttemplate="%{text}" if with_text else None,
            textfont={"size": 12},
            hovertemplate=(
                "class %{y}<br>cluster %{x}<br>objects %{customdata:,}"
                "<br>share of the class %{z:.1%}<extra></extra>"
            ),
        )
    )
    _label_axes(figure, [classes[i] for i in rows], [clusters[i] for i in columns])
    return figure


def _labels_of(labels: Any) -> Any:
    for name in ("labels_", "transduction_", "labels"):
        found = getattr(labels, name, None)
        if found is not None and not callable(found):
            names = getattr(labels, "cluster_names_", None)
            return np.ravel(found) if names is None else np.asarray(names)[np.ravel(found)]
    return labels


def _table(truth: Any, labels: Any) -> tuple[IntArray, list[str], list[str]]:
    """Counts of objects by class and cluster, and the names of both."""
    codes, n_classes = encode_labels(truth, "truth")
    columns, n_clusters = encode_labels(labels, "labels")
    check_same_length(codes.size, columns.size, "truth", "labels")
    if n_classes * n_clusters > 10_000_000:
        raise ValueError(
            f"truth has {n_classes:,} classes and labels {n_clusters:,} clusters: too many for a "
            "table. Check that the column holds classes, not identifiers."
        )
    counts = np.bincount(codes * n_clusters + columns, minlength=n_classes * n_clusters)
    table = counts.reshape(n_classes, n_clusters)
    return table, _names(truth, codes, n_classes), _names(labels, columns, n_clusters)


def _names(values: Any, codes: IntArray, count: int) -> list[str]:
    first = np.full(count, len(codes))
    np.minimum.at(first, codes, np.arange(len(codes)))
    listed = values if isinstance(values, (list, tuple)) else np.asarray(values)
    return [escaped(listed[place], 30) for place in first.tolist()]


def _arranged(counts: IntArray, partner: IntArray) -> tuple[IntArray, IntArray]:
    """Classes and clusters as shown: the largest if there are many, partners side by side."""
    rows = np.arange(counts.shape[0])
    if len(rows) > _MOST:
        rows = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST])
    matched = partner[rows]
    # Unmatched classes and clusters come last.
    rows = rows[np.argsort(matched < 0, kind="stable")]
    matched = partner[rows][partner[rows] >= 0]
    spare = np.setdiff1d(np.arange(counts.shape[1]), matched)
    spare = spare[np.argsort(-counts[:, spare].sum(axis=0), kind="stable")]
    columns = np.concatenate([matched, spare])[:_MOST]
    return rows, columns


def _notes(agreeing: int, n: int, full: Any, shown: Any) -> list[str]:
    notes = [
        f"{agreeing:,} of {n:,} objects ({agreeing / n:.1%}) are in the cluster of their class"
    ]
    if shown != full:
        notes.append(f"{shown[0]} of {full[0]} classes, {shown[1]} of {full[1]} clusters shown")
    return notes


def _label_axes(figure: Any, classes: list[str], clusters: list[str]) -> None:
    bare: dict[str, Any] = {"showgrid": False, "tickcolor": "#ffffff", "showline": False}
    figure.update_xaxes(
        title_text="cluster", tickvals=list(range(len(clusters))), ticktext=clusters, **bare
    )
    figure.update_yaxes(
        title_text="true class",
        tickvals=list(range(len(classes))),
        ticktext=classes,
        autorange="reversed",
        **bare,
    )
