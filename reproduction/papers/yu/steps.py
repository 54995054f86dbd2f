"""Yu, Yu & Tresp, section 3.2: similarity to one vertex after 2 and after 64 steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from reproduction.harness.claims import PICTURE, held, spread
from reproduction.harness.experiment import Experiment, Measured, Results, Setup, Unit
from reproduction.harness.panels import equal_scales, grid
from reproduction.harness.report import Finding, Picture, Report
from soffit._typing import FloatArray
from soffit.affinity import NeighborGraph
from soffit.datasets import make_moons

_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 4096)
_SHOWN = (2, 64)


def plan(setup: Setup) -> list[Unit]:
    n = 200 if setup.quick else 400
    return [
        Unit(f"moons/{draw}", {"n": n, "draw": 53 + draw, "steps": list(_STEPS)})
        for draw in range(setup.n_runs(10, quick=2))
    ]


def measure(unit: Unit, setup: Setup) -> Measured:
    s = unit.settings
    X, labels, _ = make_moons(s["n"], noise=0.07, random_state=s["draw"])
    graph = NeighborGraph(10, keep="union", weights="binary", connect=False).fit(X).matrix_
    # The end of the upper moon.
    marked = int(np.argmin(np.where(labels == 0, X[:, 0], np.inf)))
    rows = similarities(graph, marked, s["steps"])
    own = labels == 0
    values = {
        "inside": [float(row[own].sum() / row.sum()) for row in rows],
        "reached": [float(np.mean(row[own] > 0)) for row in rows],
        "evenness": [_evenness(row[own]) for row in rows],
    }
    shown = np.array([rows[s["steps"].index(t)] for t in _SHOWN])
    return Measured(values, {"X": X.astype(np.float32), "rows": shown, "marked": np.array(marked)})


def similarities(W: sp.csr_array, vertex: int, steps: list[int]) -> list[FloatArray]:
    """Rows of W (D^-1 W)^(t-1) for one vertex and growing t."""
    inverse = 1.0 / np.asarray(W.sum(axis=1)).ravel()
    row = np.asarray(W[[vertex]].toarray()).ravel()
    rows, done = [], 1
    for t in steps:
        for _ in range(t - done):
            row = np.asarray((row * inverse) @ W)
        done = t
        rows.append(row)
    return rows


def _evenness(shares: FloatArray) -> float:
    """The number of equal shares that would be as spread, as a part of all: 1 is even."""
    total = float(shares.sum())
    return float(total**2 / (np.sum(shares**2) * len(shares))) if total > 0 else 0.0


def _means(results: Results, value: str) -> FloatArray:
    return np.mean([record.values[value] for record in results], axis=0)


def report(results: Results) -> Report:
    two, many = (_STEPS.index(t) for t in _SHOWN)
    inside, even, reached = (
        np.array([r.values[v] for r in results]) for v in ("inside", "evenness", "reached")
    )
    setting = "two moons, 10-NN, union, binary weights"
    findings = [
        Finding(
            "2 steps see the neighbourhood only",
            PICTURE,
            f"spread over {spread(even[:, two])} of the own moon",
            setting,
            held(float(even[:, two].mean()) < 0.25),
        ),
        Finding(
            "64 steps decay slowly and show the cluster",
            PICTURE,
            f"spread over {spread(even[:, many])} of the own moon, points of it reached "
            f"{spread(reached[:, many])}, share of similarity inside it {spread(inside[:, many])}",
            setting,
            held(
                float(even[:, many].mean()) > 2 * float(even[:, two].mean())
                and float(inside[:, many].mean()) > 0.9
            ),
        ),
        Finding(
            "very many steps forget the cluster",
            "not mentioned",
            f"share inside the own moon {spread(inside[:, -1])} after {_STEPS[-1]:,} steps",
            setting,
            "shown",
        ),
    ]
    spreads, shares = _means(results, "evenness"), _means(results, "inside")
    enough = next((t for t, e in zip(_STEPS, spreads, strict=True) if e > 0.5), None)
    later = "" if enough is None else f"; {enough:,} steps spread it over more than half"
    reading = (
        "The similarity of a vertex at the tip of a moon is spread over "
        f"{spreads[two]:.0%} of its moon after 2 steps and over {spreads[many]:.0%} after 64, "
        f"with {shares[many]:.0%} of it inside the moon{later}. The poster's point set is not "
        "given; two moons stand in, and a smaller cluster would be covered sooner. What the "
        f"poster does not mention is the other end: after {_STEPS[-1]:,} steps {shares[-1]:.0%} "
        "is inside, as every walk on a connected graph ends at the degrees."
    )
    picture = Picture(
        "steps",
        "Similarity to the marked vertex after 2 and after 64 steps, each divided by its largest, "
        "and what happens with more steps.",
        _figure(results),
        width=1080,
        height=460,
    )
    return Report(reading, findings, pictures=[picture])


def _figure(results: Results) -> Any:
    import plotly.graph_objects as go

    from soffit.figures.style import ACCENT, INK, SHARE, colour, dress, scale

    arrays = results.records[0].arrays
    X, marked = arrays["X"], int(arrays["marked"])
    titles = [f"{t} steps" for t in _SHOWN] + ["all numbers of steps"]
    figure = grid(1, 3, titles, column_widths=[0.31, 0.31, 0.38], horizontal_spacing=0.06)
    for column, row in enumerate(arrays["rows"], start=1):
        strength = np.sqrt(row / row.max())
        order = np.argsort(strength)
        figure.add_trace(
            go.Scatter(
                x=X[order, 0],
                y=X[order, 1],
                mode="markers",
                marker={
                    "color": strength[order].astype(np.float32),
                    "colorscale": scale(SHARE),
                    "cmin": 0,
                    "cmax": 1,
                    "size": 7,
                    "line": {"color": "#b8bec8", "width": 0.5},
                },
                customdata=(row / row.max())[order].astype(np.float32),
                hovertemplate="similarity %{customdata:.3f}<extra></extra>",
                showlegend=False,
            ),
            row=1,
            col=column,
        )
        figure.add_trace(
            go.Scatter(
                x=[float(X[marked, 0])],
                y=[float(X[marked, 1])],
                mode="markers",
                marker={
                    "symbol": "star",
                    "size": 15,
                    "color": ACCENT,
                    "line": {"color": INK, "width": 1},
                },
                name="marked vertex",
                showlegend=column == 1,
                hoverinfo="skip",
            ),
            row=1,
            col=column,
        )
        equal_scales(figure, (1, column))
    curves = {"inside": "similarity inside the own moon", "evenness": "own moon seen evenly"}
    for number, (value, words) in enumerate(curves.items()):
        figure.add_trace(
            go.Scatter(
                x=list(_STEPS),
                y=_means(results, value),
                mode="lines+markers",
                name=words,
                line={"color": colour(number), "width": 2.5},
                hovertemplate="%{x} steps: %{y:.2f}<extra></extra>",
            ),
            row=1,
            col=3,
        )
    figure.update_xaxes(
        type="log", dtick=1, title_text="steps of the walk", exponentformat="none", row=1, col=3
    )
    figure.update_yaxes(title_text="share", range=[0, 1.04], row=1, col=3)
    notes = [f"darker is more similar to the star; curves are means of {len(results)} draws"]
    dress(figure, "More steps see further", notes, height=460)
    figure.update_layout(
        legend={"orientation": "h", "x": 1.0, "xanchor": "right", "y": -0.18, "yanchor": "top"},
        margin_b=100,
    )
    return figure


EXPERIMENT = Experiment(
    name="yu-steps",
    paper="Yu, Yu & Tresp 2005, section 3.2",
    title="Similarity after 2 and 64 steps",
    plan=plan,
    measure=measure,
    report=report,
)
