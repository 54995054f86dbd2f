"""The evidence for each number of clusters."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit.figures.style import ACCENT, FAINT, GREY, PALETTE, dress
from soffit.results.summary import choice_of

# Panels: columns of the table of evidence, and their titles.
_PANELS = (
    (("credibility",), "credibility"),
    (("score",), "score: log-odds"),
    (("link_depth", "depth"), "depth of the valley around mode k"),
    (("valley",), "density between clusters: 0 is a gap"),
    (("mixture",), "likelihood of Gaussian clusters"),
    (("dip",), "density between whole clusters"),
    (("gap",), "gap: persistence of k groups"),
    (("modularity",), "modularity"),
    (("smallest",), "size of the smallest cluster"),
    (("cut", "bound"), "normalized cut and its bound"),
    (("stability",), "stability under resampling"),
    (("likelihood",), "likelihood of held-out edges"),
)
_WIDTH = 4


def k_selection(choice: Any, *, title: str | None = None) -> Any:
    """Show the evidence for every number of clusters that was considered.

    Parameters
    ----------
    choice : KChoice, or a model fitted with ``n_clusters=None``
        What `soffit.choose_k` returns, or a model that has it as `k_choice_`.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        One panel per kind of evidence; the chosen number is marked by a line, the runner-up by a
        dashed one.

    Examples
    --------
    >>> from soffit.datasets import make_gaussians
    >>> from soffit.figures import k_selection
    >>> from soffit import choose_k
    >>> X, _, _ = make_gaussians(150, n_clusters=3, separation=6.0, random_state=7)
    >>> figure = k_selection(choose_k(X, ks=range(1, 6)))
    >>> figure.data[0].x.tolist()
    [1, 2, 3, 4, 5]
    """
    from plotly.subplots import make_subplots

    found = choice_of(choice) if hasattr(choice, "k_choice_") else choice
    if not hasattr(found, "table") or not hasattr(found, "ks"):
        raise ValueError(
            f"choice must be a KChoice or a model fitted with n_clusters=None, got "
            f"{type(choice).__name__}. Call soffit.choose_k first."
        )
    panels = [panel for panel in _PANELS if all(name in found.table for name in panel[0])]
    n_rows = -(-len(panels) // _WIDTH)
    figure = make_subplots(
        n_rows,
        _WIDTH,
        subplot_titles=[words for _, words in panels],
        horizontal_spacing=0.055,
        vertical_spacing=0.17,
    )
    figure.update_annotations(font_size=12, font_color=GREY)
    for number, (columns, _) in enumerate(panels):
        row, col = number // _WIDTH + 1, number % _WIDTH + 1
        for trace in _traces(found, columns):
            figure.add_trace(trace, row=row, col=col)
        _mark(figure, found, row, col)
        if row == n_rows:
            figure.update_xaxes(title_text="number of clusters", row=row, col=col)
    heading = title or f"Number of clusters: {found.n_clusters}"
    dress(figure, heading, _notes(found), height=190 + 220 * n_rows)
    figure.update_layout(showlegend=False)
    figure.update_xaxes(tickformat="d", nticks=8, title_font_size=12, title_standoff=4)
    return figure


def _notes(found: Any) -> list[str]:
    notes = [f"chosen with confidence {found.confidence:.2f} (red line)"]
    if found.runner_up is not None:
        notes.append(f"runner-up {found.runner_up} (dashed)")
    return notes


def _traces(found: Any, columns: tuple[str, ...]) -> list[Any]:
    import plotly.graph_objects as go

    ks = np.asarray(found.ks)
    if columns == ("credibility",):
        colours = [ACCENT if k == found.n_clusters else "#b8bec8" for k in ks]
        return [
            go.Bar(
                x=ks,
                y=np.asarray(found.table["credibility"]),
                marker={"color": colours},
                hovertemplate="%{x} clusters<br>credibility %{y:.2f}<extra></extra>",
            )
        ]
    return [
        go.Scatter(
            x=ks,
            y=np.asarray(found.table[name]),
            mode="lines+markers",
            name=name,
            line={"color": PALETTE[0] if first else "#94a4a2", "width": 2},
            marker={"size": 5},
            hovertemplate=f"%{{x}} clusters<br>{name} %{{y:.3g}}<extra></extra>",
        )
        for first, name in zip((True, False), columns, strict=False)
    ]


def _mark(figure: Any, found: Any, row: int, col: int) -> None:
    marks = [(found.n_clusters, ACCENT, "solid"), (found.runner_up, GREY, "dash")]
    for k, colour, dash in marks:
        if k is not None:
            line = {"color": colour, "width": 1.2, "dash": dash}
            figure.add_vline(x=int(k), line=line, layer="below", row=row, col=col)
    figure.update_yaxes(zeroline=True, zerolinecolor=FAINT, row=row, col=col)
