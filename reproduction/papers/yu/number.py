"""Yu, Yu & Tresp, section 5: the number of clusters found by a prior on their weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from reproduction.harness.claims import counted, held
from reproduction.harness.experiment import Experiment, Measured, Results, Setup, Unit
from reproduction.harness.report import LABEL_TUNED, SHOWN, Finding, Picture, Report
from reproduction.papers.yu import data as yu
from soffit._typing import IntArray
from soffit.metrics import accuracy
from soffit.models import RelationFactorization

_BETA = 0.7
_BLOCKS, _SIZE = 5, 40
_INSIDE, _ACROSS = 0.3, 0.02
# Total weights to which the same graph is scaled; the first is that of ones and zeros.
_TOTALS = (None, 200.0, 20.0, 10.0, 7.0, 5.0, 2.0)
_STARTS = (10, 20)


def plan(setup: Setup) -> list[Unit]:
    graphs = range(setup.n_runs(6, quick=1))
    starts = _STARTS[:1] if setup.quick else _STARTS
    totals = (None, 10.0) if setup.quick else _TOTALS
    units = [
        Unit(
            f"planted/{graph}/{total or 'ones'}/{start}",
            {"set": "planted", "graph": 211 + graph, "total": total, "start": start},
        )
        for graph in graphs
        for total in totals
        for start in starts
    ]
    units += [
        Unit(f"planted/{graph}/path", {"set": "planted path", "graph": 211 + graph})
        for graph in graphs
    ]
    n = 400 if setup.quick else None
    units += [Unit(f"{name}/path", {"set": name, "n": n}, needs=(name,)) for name in yu.SETS]
    return units


def measure(unit: Unit, setup: Setup) -> Measured:
    s = unit.settings
    if s["set"] in yu.SETS:
        given = yu.problem(s["set"], s["n"], setup.data)
        return _by_path(given.graph, given.labels)
    A, labels = planted(s["graph"])
    if s["set"] == "planted path":
        return _by_path(A, labels)
    total = float(A.sum()) if s["total"] is None else s["total"]
    model = RelationFactorization(
        s["start"],
        pruning=min((1.0 - _BETA) / total, 0.999),
        affinity="precomputed",
        random_state=29,
    ).fit(A)
    return _found(model, labels, total)


def planted(seed: int) -> tuple[sp.csr_array, IntArray]:
    """A random graph of five blocks."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(_BLOCKS), _SIZE)
    chance = np.where(labels[:, None] == labels, _INSIDE, _ACROSS)
    upper = np.triu(rng.random(chance.shape) < chance, 1)
    return sp.csr_array((upper | upper.T).astype(np.float64)), labels


def _by_path(A: Any, labels: IntArray) -> Measured:
    model = RelationFactorization(None, affinity="precomputed", random_state=29).fit(A)
    return _found(model, labels, float(A.sum()))


def _found(model: Any, labels: IntArray, total: float) -> Measured:
    values = {
        "clusters": len(model.lambda_),
        "accuracy": accuracy(labels, model.labels_),
        "total weight": total,
    }
    return Measured(values)


def report(results: Results) -> Report:
    findings = [_planted_finding(results, total) for total in _totals(results)]
    path = results.column("clusters", set="planted path")
    if len(path):
        right = int(np.sum(path == _BLOCKS))
        findings.append(
            Finding(
                "five planted blocks, number found without any prior to set",
                "-",
                f"right in {right} of {len(path)} graphs",
                "RelationFactorization(n_clusters=None), defaults",
                SHOWN,
            )
        )
    for name, words in yu.SETS.items():
        for record in results.where(set=name):
            findings.append(
                Finding(
                    f"{words}, number of clusters (4 classes)",
                    "not given",
                    f"{record.values['clusters']}, accuracy {record.values['accuracy']:.3f}",
                    f"RelationFactorization(n_clusters=None), {yu.graph_words(name)}",
                    SHOWN,
                )
            )
    picture = Picture(
        "number",
        "Clusters left by beta = 0.7 when the weights of one and the same graph are scaled.",
        _figure(results),
        width=900,
        height=480,
    )
    return Report(_reading(results), findings, pictures=[picture])


def _totals(results: Results) -> list[float | None]:
    seen = [record.unit.settings["total"] for record in results.where(set="planted")]
    return list(dict.fromkeys(seen))


def _planted_finding(results: Results, total: float | None) -> Finding:
    counts = results.column("clusters", set="planted", total=total)
    right = int(np.sum(counts == _BLOCKS))
    scale = "weights of 1" if total is None else f"weights scaled to a total of {total:g}"
    mark = "" if total is None else f" {LABEL_TUNED}"
    return Finding(
        "alpha = 1, beta = 0.7 detects the number, five planted blocks",
        '"works fine", scale of the weights not given',
        f"right in {right} of {len(counts)} runs; {counts.min()} to {counts.max()} clusters left",
        f"RelationFactorization(m, pruning=0.3 / total), m = {_start_words(results)}, "
        f"{scale}{mark}",
        held(right == len(counts)),
    )


def _start_words(results: Results) -> str:
    starts = sorted({record.unit.settings["start"] for record in results.where(set="planted")})
    return " and ".join(map(str, starts))


def _reading(results: Results) -> str:
    good = [
        "1 for each edge" if total is None else f"a total of {total:g}"
        for total in _totals(results)
        if np.all(results.column("clusters", set="planted", total=total) == _BLOCKS)
    ]
    worked = f"is right in all runs with {' and '.join(good)}" if good else _nearly(results)
    parts = [
        f"{words} {counted(int(results.where(set=name)[0].values['clusters']), 'cluster')}"
        for name, words in yu.SETS.items()
        if results.where(set=name)
    ]
    text = (
        "The poster says that beta = 0.7 works fine, without the scale of the weights, and the "
        f"effect of the prior depends on the scale: on five planted blocks it {worked}. So the "
        "scale, or the corresponding share of the total weight, must be chosen instead of the "
        "number of clusters. The package defines the prior as that share, and with "
        "`n_clusters=None` keeps the number that persists over thresholds and lengths of the walk."
    )
    return text + (f" On real data that gives: {', '.join(parts)}." if parts else "")


def _nearly(results: Results) -> str:
    shares = {
        total: float(np.mean(results.column("clusters", set="planted", total=total) == _BLOCKS))
        for total in _totals(results)
    }
    best = max(shares, key=lambda total: shares[total])
    scale = "weights of 1" if best is None else f"a total weight of {best:g}"
    return f"is never right in all runs, and most often, in {shares[best]:.0%}, with {scale}"


def _figure(results: Results) -> Any:
    import plotly.graph_objects as go

    from soffit.figures.style import GREY, colour, new_figure

    figure = new_figure(
        "The number of clusters that beta = 0.7 leaves",
        [f"{_BLOCKS} planted blocks of {_SIZE}; mean and range over graphs"],
        height=480,
    )
    starts = sorted({record.unit.settings["start"] for record in results.where(set="planted")})
    for number, start in enumerate(starts):
        rows = []
        for total in _totals(results):
            records = results.where(set="planted", total=total, start=start)
            if records:
                counts = np.array([record.values["clusters"] for record in records])
                weight = np.mean([record.values["total weight"] for record in records])
                rows.append((weight, counts.mean(), counts.min(), counts.max()))
        x, mean, low, high = np.array(sorted(rows)).T
        figure.add_trace(
            go.Scatter(
                x=x,
                y=mean,
                error_y={"type": "data", "array": high - mean, "arrayminus": mean - low},
                mode="lines+markers",
                name=f"begun with {start} clusters",
                line={"color": colour(number), "width": 2.5},
                hovertemplate="total weight %{x:.3g}: %{y:.1f} clusters<extra></extra>",
            )
        )
    figure.add_hline(y=_BLOCKS, line={"color": GREY, "dash": "dash"})
    figure.add_annotation(
        x=1.0, xref="paper", xanchor="right", y=_BLOCKS, yanchor="bottom", showarrow=False,
        text="planted", font={"color": GREY},
    )  # fmt: skip
    figure.update_xaxes(type="log", title_text="total weight of the graph", dtick=1)
    figure.update_yaxes(title_text="clusters left", rangemode="tozero")
    return figure


EXPERIMENT = Experiment(
    name="yu-number",
    paper="Yu, Yu & Tresp 2005, section 5",
    title="The number of clusters, found by a prior",
    plan=plan,
    measure=measure,
    report=report,
)
