"""Yu, Yu & Tresp, section 4.3: few labels, walks of several lengths, on points and on clusters."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from reproduction.harness.claims import held
from reproduction.harness.experiment import Experiment, Measured, Record, Results, Setup, Unit
from reproduction.harness.panels import grid
from reproduction.harness.report import SHOWN, Finding, Picture, Report, Table
from reproduction.papers.yu import data as yu
from soffit._typing import FloatArray, IntArray
from soffit.models import RandomWalkClassifier

_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_PER_CLASS = (1, 2, 5, 10, 25)
_CURVES = (1, 4, 16, 64, 256)
_CLUSTERS = 100
# Both kinds alternate, so that they have the same load; the fastest repetition counts.
_TURNS = 15
_TIMED_STEPS = 16


def plan(setup: Setup) -> list[Unit]:
    draws = setup.n_runs(20, quick=2)
    shared = {
        "n": 300 if setup.quick else None,
        "turns": 2 if setup.quick else _TURNS,
        "draws": draws,
        "steps": list(_STEPS[::4] if setup.quick else _STEPS),
        "per class": list(_PER_CLASS[::2] if setup.quick else _PER_CLASS),
        "seed": 29,
    }
    return [Unit(name, {"set": name, **shared}, needs=(name,)) for name in yu.SETS]


def measure(unit: Unit, setup: Setup) -> Measured:
    s = unit.settings
    given = yu.problem(s["set"], s["n"], setup.data)
    first = few_labels(given.labels, s["per class"][-1], 8461)
    models, values = {}, {}
    for on in ("points", "clusters"):
        began = perf_counter()
        models[on] = RandomWalkClassifier(
            affinity="precomputed", on=on, n_clusters=_CLUSTERS, random_state=s["seed"]
        ).fit(given.graph, first)
        values[f"fit {on} seconds"] = perf_counter() - began
    shape = (2, len(s["per class"]), len(s["steps"]), s["draws"])
    scores = np.empty(shape)
    for i, count in enumerate(s["per class"]):
        for draw in range(s["draws"]):
            y = few_labels(given.labels, count, 8461 + draw)
            for j, steps in enumerate(s["steps"]):
                for kind, model in enumerate(models.values()):
                    found = model.set_params(n_steps=steps).relabel(y).transduction_
                    scores[kind, i, j, draw] = np.mean((found == given.labels)[y < 0])
    seconds = np.array([_times(models, first, steps, s["turns"]) for steps in s["steps"]])
    return Measured(values, {"scores": scores, "seconds": seconds})


def few_labels(labels: IntArray, per_class: int, seed: int) -> IntArray:
    """Labels of a few objects of every class, -1 for all others."""
    rng = np.random.default_rng(seed)
    y = np.full(len(labels), -1)
    for c in np.unique(labels):
        y[rng.choice(np.flatnonzero(labels == c), per_class, replace=False)] = c
    return y


def _times(models: dict[str, Any], y: IntArray, steps: int, turns: int) -> list[float]:
    best = dict.fromkeys(models, np.inf)
    for _ in range(turns):
        for on, model in models.items():
            model.set_params(n_steps=steps)
            began = perf_counter()
            model.relabel(y)
            best[on] = min(best[on], perf_counter() - began)
    return list(best.values())


def report(results: Results) -> Report:
    findings, tables, pictures = [], [], []
    for record in results:
        findings += _findings(record)
        tables.append(_table(record))
    pictures.append(
        Picture(
            "curves",
            "Accuracy on the objects without a label over the number of labels, for walks of "
            "several lengths, on points and on clusters.",
            _curves(results),
            width=1080,
            height=440 * len(results) + 80,
        )
    )
    pictures.append(
        Picture(
            "steps_and_time",
            "Accuracy over the length of the walk with five labels per class, and the time of one "
            "classification.",
            _time_figure(results),
            width=1080,
            height=480,
        )
    )
    return Report(_reading(results), findings, tables, pictures)


def _means(record: Record) -> FloatArray:
    return np.asarray(record.arrays["scores"].mean(axis=-1))


def _findings(record: Record) -> list[Finding]:
    s = record.unit.settings
    name, steps = yu.SETS[s["set"]], s["steps"]
    points, clusters = _means(record)
    setting = f"RandomWalkClassifier, {yu.graph_words(s['set'])}, {s['draws']} draws"
    best = steps[int(points.mean(axis=0).argmax())]
    ratio = _ratio(record)
    return [
        *(_against_one_step(record, kind, setting) for kind in (0, 1)),
        Finding(
            f"{name}: the best length of the walk",
            "-",
            f"{best} steps; {steps[-1]} steps have {points.mean(axis=0)[-1]:.3f} only",
            f"{setting}, on=points",
            SHOWN,
        ),
        Finding(
            f"{name}: clusters as accurate as points",
            "figure",
            f"best over steps, mean over numbers of labels: clusters "
            f"{clusters.max(axis=1).mean():.3f}, points {points.max(axis=1).mean():.3f}",
            f"{setting}, {_CLUSTERS} clusters",
            held(clusters.max(axis=1).mean() >= points.max(axis=1).mean() - 0.01),
        ),
        Finding(
            f'{name}: clusters "much faster" than points',
            "text, figure",
            f"{_ratio_words(record)}, after one factorization of "
            f"{record.values['fit clusters seconds']:.1f} s",
            f"fastest of {s['turns']} runs; judged at {_timed_steps(record)} steps, the default",
            held(ratio >= 2.0) if not s["n"] else SHOWN,
        ),
    ]


def _against_one_step(record: Record, kind: int, setting: str) -> Finding:
    s, means = record.unit.settings, _means(record)[kind]
    steps, one = s["steps"], s["steps"].index(1)
    losses = [
        f"{t} steps with {4 * count} labels"
        for i, count in enumerate(s["per class"])
        for j, t in enumerate(steps)
        if t > 1 and means[i, j] <= means[i, one]
    ]
    best = int(means.mean(axis=0).argmax())
    on = ("points", "clusters")[kind]
    return Finding(
        f'{yu.SETS[s["set"]]}: multi-step transitions "always lead to better" results, {on}',
        "text, figure",
        f"1 step {means[:, one].mean():.3f}, {steps[best]} steps {means[:, best].mean():.3f} on "
        "average over the numbers of labels; "
        + (f"not better: {'; '.join(losses)}" if losses else "better at every number of steps"),
        f"{setting}, on={on}, against one step",
        held(not losses),
    )


def _timed_steps(record: Record) -> int:
    steps = record.unit.settings["steps"]
    return int(min(steps, key=lambda t: abs(t - _TIMED_STEPS)))


def _ratio(record: Record) -> float:
    points, clusters = record.arrays["seconds"][
        record.unit.settings["steps"].index(_timed_steps(record))
    ]
    return float(points / clusters)


def _ratio_words(record: Record) -> str:
    steps, seconds = record.unit.settings["steps"], record.arrays["seconds"]
    ratios = [
        f"{p / c:.1f} times at {t}" for t, (p, c) in zip(steps, seconds, strict=True) if t >= 16
    ]
    return ", ".join(ratios) + " steps"


def _table(record: Record) -> Table:
    s = record.unit.settings
    means = _means(record)
    rows = [
        [
            on,
            str(t),
            *(f"{means[kind, i, j]:.3f}" for i in range(len(s["per class"]))),
            f"{1e3 * record.arrays['seconds'][j, kind]:.1f}",
        ]
        for kind, on in enumerate(("points", "clusters"))
        for j, t in enumerate(s["steps"])
    ]
    header = ["on", "steps", *(f"{4 * c} labels" for c in s["per class"]), "ms"]
    note = f"Accuracy on objects without a label, mean of {s['draws']} draws of the labels."
    return Table(f"Few labels, {yu.SETS[s['set']]}", header, rows, note)


def _reading(results: Results) -> str:
    parts = []
    for record in results:
        points, clusters = _means(record)
        steps = record.unit.settings["steps"]
        mean = points.mean(axis=0)
        best = int(mean.argmax())
        parts.append(
            f"On {yu.SETS[record.unit.settings['set']]} one step on points gives {mean[0]:.3f}, "
            f"{steps[best]} steps {mean[best]:.3f} and {steps[-1]} steps {mean[-1]:.3f}; the best "
            f"walk on clusters gives {clusters.mean(axis=0).max():.3f}, "
            f"{_ratio(record):.1f} times as fast at {_timed_steps(record)} steps."
        )
    return (
        " ".join(parts) + " These are means over all numbers of labels. The poster shows curves "
        "without numbers and does not name its classifier; a walk from the labels is our "
        "interpretation. Times depend on the load of the machine; so does their ratio for short "
        "walks."
    )


def _curves(results: Results) -> Any:
    import plotly.graph_objects as go

    from soffit.figures.style import colour, dress

    names = [record.unit.settings["set"] for record in results]
    titles = [f"{yu.SETS[name]}, {on}" for name in names for on in ("points", "clusters")]
    figure = grid(len(names), 2, titles, horizontal_spacing=0.09, vertical_spacing=0.13)
    for row, record in enumerate(results, start=1):
        s = record.unit.settings
        labels = [4 * c for c in s["per class"]]
        shown = [t for t in s["steps"] if t in _CURVES]
        for kind in (0, 1):
            for number, t in enumerate(shown):
                figure.add_trace(
                    go.Scatter(
                        x=labels,
                        y=_means(record)[kind, :, s["steps"].index(t)],
                        mode="lines+markers",
                        name=f"{t} step{'s' if t > 1 else ''}",
                        legendgroup=str(t),
                        showlegend=row == 1 and kind == 0,
                        line={"color": colour(number), "width": 2.5},
                        hovertemplate=f"{t} steps, %{{x}} labels: %{{y:.3f}}<extra></extra>",
                    ),
                    row=row,
                    col=kind + 1,
                )
            figure.update_xaxes(
                type="log",
                title_text="labelled objects",
                tickvals=labels,
                ticktext=[str(v) for v in labels],
                row=row,
                col=kind + 1,
            )
            figure.update_yaxes(title_text="accuracy", range=[0.2, 1.02], row=row, col=kind + 1)
    draws = results.records[0].unit.settings["draws"]
    notes = [f"accuracy on objects without a label, mean of {draws} draws"]
    height = 440 * len(results) + 80
    dress(figure, "Few labels and walks of several lengths", notes, height=height)
    figure.update_layout(legend_title_text="length of the walk")
    return figure


def _time_figure(results: Results) -> Any:
    import plotly.graph_objects as go

    from soffit.figures.style import colour, dress

    figure = grid(1, 2, ["accuracy, 5 labels per class", "time of one classification"])
    for number, record in enumerate(results):
        s = record.unit.settings
        at = s["per class"].index(5) if 5 in s["per class"] else 0
        for kind, (on, dash) in enumerate((("points", "solid"), ("clusters", "dot"))):
            name = f"{yu.SETS[s['set']]}, {on}"
            look = {"color": colour(number), "width": 2.5, "dash": dash}
            values = (_means(record)[kind, at], 1e3 * record.arrays["seconds"][:, kind])
            for column, (y, unit) in enumerate(zip(values, ("", " ms"), strict=True), start=1):
                figure.add_trace(
                    go.Scatter(
                        x=s["steps"],
                        y=y,
                        mode="lines+markers",
                        name=name,
                        legendgroup=name,
                        showlegend=column == 1,
                        line=look,
                        hovertemplate=f"{name}<br>%{{x}} steps: %{{y:.3g}}{unit}<extra></extra>",
                    ),
                    row=1,
                    col=column,
                )
    steps = results.records[0].unit.settings["steps"]
    figure.update_xaxes(
        type="log", title_text="steps of the walk", tickvals=steps, ticktext=[str(t) for t in steps]
    )
    figure.update_yaxes(title_text="accuracy", range=[0.2, 1.02], row=1, col=1)
    ticks = [1, 2, 5, 10, 20, 50, 100, 200]
    figure.update_yaxes(title_text="milliseconds", type="log", tickvals=ticks, row=1, col=2)
    notes = [f"{_CLUSTERS} clusters; each time is the fastest of several repetitions"]
    dress(figure, "The length of the walk: accuracy and time", notes, height=480)
    figure.update_layout(
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": -0.18, "yanchor": "top"},
        margin_b=90,
    )
    return figure


EXPERIMENT = Experiment(
    name="yu-labels",
    paper="Yu, Yu & Tresp 2005, section 4.3",
    title="Few labels: walks on points and on clusters",
    plan=plan,
    measure=measure,
    report=report,
)
