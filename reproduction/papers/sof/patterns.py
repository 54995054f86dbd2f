"""Maps of the six patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduction.harness.experiment import Record
from soffit.figures.style import DOUBT, colour, colour_bar, dress, scale
from soffit.memberships import match_clusters

_COLUMNS = 3
_HIDDEN = {"showticklabels": False, "ticks": "", "showgrid": False, "title": None}


def label_map(records: Sequence[Record], model: str) -> Any:
    """Objects in the colours of the clusters found."""
    import plotly.graph_objects as go

    figure = _panels(records, lambda r: f"{_name(r)}: accuracy {r.values['accuracy']:.3f}")
    named: set[int] = set()
    for place, record in enumerate(records):
        X, labels = record.arrays["X"], _matched(record)
        for cluster in np.unique(labels).tolist():
            chosen = labels == cluster
            trace = go.Scatter(
                x=X[chosen, 0],
                y=X[chosen, 1],
                mode="markers",
                marker={"color": colour(cluster), "size": 4.5},
                name=f"cluster {cluster + 1}",
                legendgroup=str(cluster),
                showlegend=cluster not in named,
            )
            named.add(cluster)
            figure.add_trace(trace, **_where(place))
    dress(figure, f"Six patterns, clusters of {model}", ["colour is the cluster"], height=640)
    _bare(figure, len(records))
    return figure


def entropy_map(records: Sequence[Record], model: str) -> Any:
    """Objects in the colour of their entropy."""
    import plotly.graph_objects as go

    figure = _panels(records, lambda r: f"{_name(r)}: mean {r.values['mean_entropy']:.2f}")
    for place, record in enumerate(records):
        X, entropy = record.arrays["X"], record.arrays["entropy"]
        trace = go.Scatter(
            x=X[:, 0],
            y=X[:, 1],
            mode="markers",
            marker={"color": entropy, "coloraxis": "coloraxis", "size": 4.5},
            showlegend=False,
            hovertemplate="entropy %{marker.color:.2f}<extra></extra>",
        )
        figure.add_trace(trace, **_where(place))
    notes = ["dark is uncertain", "1 is the entropy of equal memberships"]
    dress(figure, f"Six patterns, entropy of {model}", notes, height=640)
    bar = colour_bar("entropy")
    figure.update_layout(
        coloraxis={"colorscale": scale(DOUBT), "cmin": 0, "cmax": 1, "colorbar": bar}
    )
    _bare(figure, len(records))
    return figure


def _panels(records: Sequence[Record], title: Any) -> Any:
    from plotly.subplots import make_subplots

    return make_subplots(
        -(-len(records) // _COLUMNS),
        _COLUMNS,
        subplot_titles=[title(record) for record in records],
        horizontal_spacing=0.03,
        vertical_spacing=0.08,
    )


def _bare(figure: Any, n_panels: int) -> None:
    """Axes of plain coordinates need no ticks; distances mean the same in both directions."""
    figure.update_annotations(font_size=13)
    figure.update_xaxes(**_HIDDEN, constrain="domain")
    figure.update_yaxes(**_HIDDEN, constrain="domain")
    for place in range(n_panels):
        axis = "" if place == 0 else str(place + 1)
        figure.update_yaxes(scaleanchor=f"x{axis}", **_where(place))


def _where(place: int) -> dict[str, int]:
    row, column = divmod(place, _COLUMNS)
    return {"row": row + 1, "col": column + 1}


def _name(record: Record) -> str:
    return str(record.unit.settings["set"])


def _matched(record: Record) -> Any:
    """Labels renumbered so that clusters have the numbers of their groups."""
    labels = record.arrays["labels"]
    order = match_clusters(record.arrays["truth"], labels)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place[np.unique(labels, return_inverse=True)[1]]
