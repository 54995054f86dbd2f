"""One figure of table 5: every method on every set."""

from __future__ import annotations

from typing import Any

from reproduction.papers.sof.methods import METHODS
from reproduction.papers.sof.published import SETS, published
from soffit.figures.style import ACCENT, GREY, PALETTE, dress

_COLUMNS = 4


def accuracies(means: dict[tuple[str, str, str], float], sets: list[str]) -> Any:
    """A panel for each set: one line a method, with the published and our accuracy."""
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    n_rows = -(-len(sets) // _COLUMNS)
    figure = make_subplots(
        n_rows,
        min(_COLUMNS, len(sets)),
        shared_yaxes=True,
        subplot_titles=[SETS[name] for name in sets],
        horizontal_spacing=0.02,
        vertical_spacing=0.12,
    )
    methods = list(METHODS)
    for place, name in enumerate(sets):
        row, column = divmod(place, _COLUMNS)
        where = {"row": row + 1, "col": column + 1}
        theirs = [published("accuracy", method, name) for method in methods]
        ours = [means.get(("accuracy", method, name)) for method in methods]
        for label, values, style in (
            ("published", theirs, {"symbol": "line-ns-open", "size": 11, "color": GREY}),
            ("ours", ours, {"symbol": "circle", "size": 9, "color": PALETTE[0]}),
        ):
            trace = go.Scatter(
                x=values,
                y=methods,
                mode="markers",
                marker={**style, "line": {"width": 2 if label == "published" else 0}},
                name=label,
                legendgroup=label,
                showlegend=place == 0,
                hovertemplate=f"%{{y}}<br>{label} %{{x:.3f}}<extra>{SETS[name]}</extra>",
            )
            figure.add_trace(trace, **where)
        line = {"width": 1, "dash": "dot", "color": ACCENT}
        figure.add_vline(x=published("accuracy", "SoF", name), line=line, **where)
    dress(
        figure,
        "Accuracy on seven UCI sets, published and ours",
        ["mean over the runs", "dotted: the published SoF"],
        height=900,
    )
    figure.update_xaxes(range=[0, 1.02], dtick=0.25, title_text="accuracy")
    figure.update_yaxes(autorange="reversed", dtick=1)
    figure.update_layout(legend={"orientation": "h", "x": 0.7, "y": 1.11, "xanchor": "left"})
    return figure
