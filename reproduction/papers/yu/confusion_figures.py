"""Figures of section 4.2 of Yu, Yu & Tresp: confusion matrices and NMI."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.harness.experiment import Results
from reproduction.harness.panels import grid
from reproduction.papers.yu import data as yu


def confusion_figure(results: Results, name: str) -> Any:
    """The printed tables above ours."""
    from soffit.figures.style import GREY, dress

    methods = list(yu.METHODS)
    titles = [f"{yu.METHODS[m]}, printed" for m in methods]
    titles += [f"{yu.METHODS[m]}, ours" for m in methods]
    figure = grid(2, len(methods), titles, horizontal_spacing=0.03, vertical_spacing=0.16)
    for column, method in enumerate(methods, start=1):
        printed = yu.PUBLISHED[name].get(method)
        records = results.where(set=name, method=method)
        ours = records[0].arrays["table"][:, :4] if records else None
        for row, table in ((1, printed), (2, ours)):
            _add(figure, (row, column), name, table)
    figure.update_annotations(font_size=12)
    for annotation in figure.layout.annotations:
        if annotation.text == "N/A":
            annotation.update(font={"size": 16, "color": GREY})
    notes = ["objects of each class (rows) in each cluster (columns); colour is the class's share"]
    dress(figure, f"Five methods on {yu.SETS[name]}", notes, height=560)
    return figure


def _add(figure: Any, place: tuple[int, int], name: str, table: Any) -> None:
    import plotly.graph_objects as go

    from soffit.figures.style import SHARE, scale

    row, column = place
    counts = np.zeros((4, 4), dtype=int) if table is None else np.array(table)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    names = list(yu.CLASSES[name])
    figure.add_trace(
        go.Heatmap(
            z=shares,
            x=["C1", "C2", "C3", "C4"],
            y=names,
            text=np.where(counts.sum() > 0, counts.astype(str), ""),
            texttemplate="%{text}",
            textfont={"size": 11},
            zmin=0,
            zmax=1,
            colorscale=scale(SHARE),
            showscale=False,
            xgap=1,
            ygap=1,
            hovertemplate="class %{y}, cluster %{x}: %{text} objects<extra></extra>",
        ),
        row=row,
        col=column,
    )
    if table is None:
        figure.add_annotation(x="C2", y=names[1], text="N/A", showarrow=False, row=row, col=column)
    figure.update_xaxes(
        showgrid=False, title_text="cluster" if row == 2 else "", row=row, col=column
    )
    figure.update_yaxes(
        showgrid=False,
        autorange="reversed",
        showticklabels=column == 1,
        title_text="class" if column == 1 else "",
        row=row,
        col=column,
    )


def nmi_figure(results: Results, words: dict[str, str]) -> Any:
    """Bars of NMI, printed and ours, for each set."""
    import plotly.graph_objects as go

    from soffit.figures.style import GREY, PALETTE, dress

    shown = [name for name in yu.SETS if results.where(set=name)]
    figure = grid(1, len(shown), [yu.SETS[name] for name in shown], horizontal_spacing=0.09)
    for column, name in enumerate(shown, start=1):
        methods = [m for m in words if results.where(set=name, method=m)]
        labels = [words[m].replace(", ", ",<br>") for m in methods]
        printed = [yu.printed_scores(name, m) for m in methods]
        ours = [results.column("nmi", set=name, method=m) for m in methods]
        means = [float(scores.mean()) for scores in ours]
        bars = (
            ("printed", [None if p is None else p[1] for p in printed], GREY, None),
            ("ours, mean and range", means, PALETTE[0], _reach(ours, means)),
        )
        for title, heights, tint, error in bars:
            figure.add_trace(
                go.Bar(
                    x=labels,
                    y=heights,
                    name=title,
                    legendgroup=title,
                    showlegend=column == 1,
                    marker_color=tint,
                    error_y=error,
                    text=[None if h is None else f"{h:.2f}" for h in heights],
                    textposition="outside",
                    textfont={"size": 10},
                    hovertemplate="%{x}: %{y:.3f}<extra>" + title + "</extra>",
                ),
                row=1,
                col=column,
            )
        figure.update_yaxes(title_text="NMI", range=[0, 1.08], row=1, col=column)
        figure.update_xaxes(tickangle=-40, row=1, col=column)
    dress(figure, "Normalized mutual information with the classes", [], height=460)
    figure.update_layout(
        barmode="group",
        legend={"orientation": "h", "x": 1.0, "xanchor": "right", "y": 1.12, "yanchor": "bottom"},
    )
    return figure


def _reach(scores: list[Any], means: list[float]) -> dict[str, Any]:
    """From the lowest to the highest run."""
    above = [float(s.max()) - m for s, m in zip(scores, means, strict=True)]
    below = [m - float(s.min()) for s, m in zip(scores, means, strict=True)]
    return {"type": "data", "array": above, "arrayminus": below, "thickness": 1, "width": 3}
