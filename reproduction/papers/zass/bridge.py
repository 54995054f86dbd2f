"""Zass & Shashua, figure 1: memberships along a bridge of ten points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduction.harness.claims import PICTURE, held
from reproduction.harness.experiment import Experiment, Measured, Record, Results, Setup, Unit
from reproduction.harness.panels import grid
from reproduction.harness.report import SHOWN, Finding, Picture, Report
from reproduction.papers.zass.dots import kernel
from soffit.datasets import make_bridge
from soffit.models import CompletelyPositive

_BRIDGE = 10
_WAYS = {
    "as published": "eq. 6, exp(-d²/2), Sinkhorn, random start",
    "defaults": "CompletelyPositive(2), all defaults (Sinkhorn)",
    "additive": 'CompletelyPositive(2, normalization="additive"), else defaults',
}


def plan(setup: Setup) -> list[Unit]:
    runs = setup.n_runs(20, quick=2)
    return [
        Unit(f"{way}/{draw:02d}", {"way": way, "draw": 29 + draw})
        for way in _WAYS
        for draw in range(runs)
    ]


def measure(unit: Unit, setup: Setup) -> Measured:
    sample = make_bridge(n_bridge=_BRIDGE, random_state=unit.settings["draw"])
    way = unit.settings["way"]
    if way == "as published":
        model = CompletelyPositive(
            2, affinity="precomputed", solver="multiplicative", init="random", random_state=3
        ).fit(kernel(sample.X, np.sqrt(2.0)))
    else:
        normalization: Any = "additive" if way == "additive" else "sinkhorn"
        model = CompletelyPositive(2, normalization=normalization, random_state=3).fit(sample.X)
    left = model.memberships_[:, np.bincount(model.labels_[:50]).argmax()]
    across = left[-_BRIDGE:]
    values = {
        "first": across[0],
        "fifth": across[4],
        "sixth": across[5],
        "last": across[-1],
        "falls": bool(np.all(np.diff(across) < 0)),
    }
    return Measured(values, {"X": sample.X, "left": left})


def report(results: Results) -> Report:
    findings = []
    for way, setting in _WAYS.items():
        records = results.where(way=way)
        if not records:
            continue
        findings.append(_finding(way, setting, records))
    reading = (
        "The paper shows ten points on a line between two clouds, whose two memberships cross "
        "smoothly. With the multiplicative normalization they fall at every step in "
        f"{_falling(results, 'as published')} draws as published and in "
        f"{_falling(results, 'defaults')} with all defaults, with the additive one in "
        f"{_falling(results, 'additive')}. Mean memberships of the two ends: {_ends(results)}. "
        "The coordinates of the paper are not known; the clouds are ours."
    )
    picture = Picture(
        "bridge",
        "Left: one draw, the ten bridge points numbered. Right: their two memberships in all "
        "draws (thin) and on average (thick), as published.",
        _figure(results),
        width=1000,
        height=460,
    )
    return Report(reading, findings, pictures=[picture])


def _falling(results: Results, way: str) -> str:
    falls = results.column("falls", way=way)
    return f"{int(np.sum(falls))} of {len(falls)}"


def _ends(results: Results) -> str:
    """How clear the ends of the bridge are."""
    return "; ".join(
        f"{results.column('first', way=way).mean():.2f} and "
        f"{results.column('last', way=way).mean():.2f} {words}"
        for way, words in (("as published", "as published"), ("additive", "with the additive one"))
        if results.where(way=way)
    )


def _finding(way: str, setting: str, records: Sequence[Record]) -> Finding:
    across = np.array([record.arrays["left"][-_BRIDGE:] for record in records])
    falls = [record.values["falls"] for record in records]
    middle = across[:, 4:6]
    clear = across[:, 0].min() > 0.9 and across[:, -1].max() < 0.1
    even = bool(np.all(np.abs(middle.mean(axis=1) - 0.5) < 0.15))
    ours = (
        f"falls at every step in {sum(falls)} of {len(falls)} draws; ends >= "
        f"{across[:, 0].min():.2f} and <= {across[:, -1].max():.2f}; the middle pair "
        f"{middle[:, 0].mean():.2f} and {middle[:, 1].mean():.2f}"
    )
    published = f"{PICTURE}: clear at the ends, even in the middle, smooth between"
    verdict = SHOWN if way == "additive" else held(all(falls) and bool(clear) and even)
    return Finding("ten bridge points", published, ours, setting, verdict)


def _figure(results: Results) -> Any:
    import plotly.graph_objects as go

    from soffit.figures.style import DOUBT, INK, colour, dress, scale

    records = results.where(way="as published") or list(results.records)
    X, left = records[0].arrays["X"], records[0].arrays["left"]
    titles = ["one draw, darker where in doubt", "memberships of the ten bridge points"]
    figure = grid(1, 2, titles)
    doubt = 1 - np.abs(2 * left - 1)
    figure.add_trace(
        go.Scatter(
            x=X[:, 0],
            y=X[:, 1],
            mode="markers+text",
            text=[""] * (len(X) - _BRIDGE) + [str(i + 1) for i in range(_BRIDGE)],
            textposition="top center",
            textfont={"size": 11, "color": INK},
            marker={
                "color": doubt,
                "colorscale": scale(DOUBT),
                "cmin": 0,
                "cmax": 1,
                "size": 8,
                "line": {"color": "#ffffff", "width": 0.5},
            },
            customdata=left,
            hovertemplate="left cloud %{customdata:.2f}<extra></extra>",
            showlegend=False,
        ),
        row=1,
        col=1,
    )
    place = np.arange(1, _BRIDGE + 1)
    across = np.array([record.arrays["left"][-_BRIDGE:] for record in records])
    for side, name in ((0, "left cloud"), (1, "right cloud")):
        curves = across if side == 0 else 1 - across
        for curve in curves:
            _line(figure, place, curve, colour(side), width=1, opacity=0.25)
        _line(figure, place, curves.mean(axis=0), colour(side), width=3.5, name=name)
    dress(
        figure,
        "Memberships cross smoothly on the bridge",
        [f"completely positive factorization, eq. 6, Sinkhorn, {len(records)} draws"],
        height=460,
    )
    figure.update_xaxes(title_text="first coordinate", domain=[0, 0.45], row=1, col=1)
    figure.update_yaxes(title_text="second coordinate", row=1, col=1)
    figure.update_xaxes(title_text="bridge point", domain=[0.55, 1], dtick=1, row=1, col=2)
    figure.update_yaxes(title_text="membership", range=[-0.02, 1.02], row=1, col=2)
    return figure


def _line(figure: Any, x: Any, y: Any, tint: str, name: str | None = None, **look: Any) -> None:
    import plotly.graph_objects as go

    opacity = look.pop("opacity", 1.0)
    mode = "lines+markers" if name else "lines"
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode=mode,
            line={"color": tint, **look},
            opacity=opacity,
            name=name,
            showlegend=name is not None,
            hovertemplate="point %{x}: %{y:.2f}<extra></extra>",
        ),
        row=1,
        col=2,
    )


EXPERIMENT = Experiment(
    name="zass-bridge",
    paper="Zass & Shashua 2005, figure 1",
    title="The bridge: memberships between two clouds",
    plan=plan,
    measure=measure,
    report=report,
)
