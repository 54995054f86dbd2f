"""Jordan's notes, section 2: eigenvector rows in the ideal case and as noise grows."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduction.harness.claims import held, spread
from reproduction.harness.experiment import Experiment, Measured, Record, Results, Setup, Unit
from reproduction.harness.panels import equal_scales, grid
from reproduction.harness.report import Finding, Picture, Report
from soffit._typing import FloatArray, IntArray
from soffit.factorize import normalized_cut
from soffit.metrics import accuracy
from soffit.models import SpectralClustering

_K, _SIZE, _SPREAD = 3, 40, 1.0
_NOISE = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8)
_SHOWN = (0.0, 0.1, 0.3, 0.6)
# What counts as zero in double precision.
_ROUNDING = 1e-10
# A tenth of the largest affinity.
_LITTLE = 0.1


def plan(setup: Setup) -> list[Unit]:
    noise = list(_SHOWN if setup.quick else _NOISE)
    return [
        Unit(f"three blocks/{draw:02d}", {"draw": 71 + draw, "noise": noise})
        for draw in range(setup.n_runs(20, quick=2))
    ]


def affinities(draw: int, noise: float) -> tuple[FloatArray, IntArray]:
    """Three clouds infinitely far apart, and uniform noise in the zeros between them."""
    rng = np.random.default_rng(draw)
    labels = np.repeat(np.arange(_K), _SIZE)
    X = _SPREAD * rng.standard_normal((len(labels), 2))
    W = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=-1) / 2.0)
    upper = np.triu(rng.random(W.shape), 1)
    between = noise * (upper + upper.T)
    return np.where(labels[:, None] == labels, W, between), labels


def decomposed(W: FloatArray) -> tuple[FloatArray, FloatArray]:
    """All eigenvalues, descending, and the k leading eigenvectors with rows of unit length."""
    degrees = W.sum(axis=1)
    values, vectors = np.linalg.eigh(W / np.sqrt(np.outer(degrees, degrees)))
    X = vectors[:, ::-1][:, :_K]
    return values[::-1], X / np.linalg.norm(X, axis=1, keepdims=True)


def turned(Y: FloatArray, labels: IntArray) -> FloatArray:
    """Rows turned so that clusters lie as near to the axes as a rotation allows."""
    left, _, right = np.linalg.svd(Y.T @ np.eye(_K)[labels])
    return np.asarray(Y @ (left @ right))


def measure(unit: Unit, setup: Setup) -> Measured:
    names = ("gap", "third", "angle", "scatter", "cut", "bound", "accuracy", "difference")
    values: dict[str, list[float]] = {name: [] for name in names}
    rows = []
    ideal, labels = affinities(unit.settings["draw"], 0.0)
    for noise in unit.settings["noise"]:
        W, _ = affinities(unit.settings["draw"], noise)
        eigenvalues, Y = decomposed(W)
        means = np.array([Y[labels == c].mean(axis=0) for c in range(_K)])
        means /= np.linalg.norm(means, axis=1, keepdims=True)
        cosines = np.abs(means @ means.T - np.eye(_K))
        distance = np.linalg.norm(Y - means[labels], axis=1)
        found = SpectralClustering(_K, affinity="precomputed", random_state=3).fit(W).labels_
        measured = (
            eigenvalues[_K - 1] - eigenvalues[_K],
            eigenvalues[_K - 1],
            np.degrees(np.arcsin(min(cosines.max(), 1.0))),
            distance.max(),
            normalized_cut(W, labels),
            _K - eigenvalues[:_K].sum(),
            accuracy(labels, found),
            np.linalg.norm(W - ideal) / np.linalg.norm(ideal),
        )
        for name, value in zip(names, measured, strict=True):
            values[name].append(float(value))
        rows.append(turned(Y, labels))
    return Measured(values, {"rows": np.array(rows, dtype=np.float32), "labels": labels})


def _all(results: Results, value: str) -> FloatArray:
    return np.array([record.values[value] for record in results])


def report(results: Results) -> Report:
    noise = results.records[0].unit.settings["noise"]
    third, gap = _all(results, "third")[:, 0], _all(results, "gap")[:, 0]
    angle, scatter = _all(results, "angle"), _all(results, "scatter")
    cut, bound = _all(results, "cut"), _all(results, "bound")
    exact = _all(results, "accuracy")
    setting = f"{_K} clouds of {_SIZE} points, sigma 1, infinitely far apart"
    noisy = f"uniform noise up to {noise[1]:g}, ..., {noise[-1]:g} between the clouds"
    far = scatter.max(axis=0)
    little = noise.index(_LITTLE)
    findings = [
        Finding(
            "ideal: eigenvalue 1 once for each cluster, then a gap",
            "proved",
            f"third eigenvalue 1 up to {_tiny(np.abs(1 - third).max())}; gap {spread(gap)}",
            setting,
            held(bool(np.abs(1 - third).max() < _ROUNDING and gap.min() > 0)),
        ),
        Finding(
            "ideal: the rows of Y are three orthogonal points",
            "proved",
            f"largest distance of a row from its point {_tiny(far[0])}, largest deviation from a "
            f"right angle {_tiny(angle[:, 0].max())} degrees",
            setting,
            held(bool(far[0] < 1e-6 and angle[:, 0].max() < 1e-4)),
        ),
        Finding(
            "perturbed: clusters leave their 90° orientation in a bounded way",
            "cited",
            f"deviation {angle[:, 1].mean():.1f}° at {noise[1]:g}, {angle[:, -1].mean():.1f}° at "
            f"{noise[-1]:g}; it grows with the noise",
            noisy,
            held(bool(np.all(np.diff(angle.mean(axis=0)) > 0))),
        ),
        Finding(
            "the algorithm still works a little away from the ideal case",
            "text",
            "accuracy "
            + ", ".join(
                f"{e:.3f} at {x:g}" for x, e in zip(noise, exact.mean(axis=0), strict=True)
            ),
            f"SpectralClustering(3), {noisy}",
            held(float(exact[:, little].mean()) >= 0.95),
        ),
        Finding(
            "the relaxed problem bounds the cut: k - sum of eigenvalues <= C",
            "proved",
            f"holds in {int(np.sum(bound <= cut + _ROUNDING))} of {cut.size}; ratio "
            f"{(bound / np.maximum(cut, 1e-300))[:, 1:].min():.3f} at least with noise",
            "cut of the true clusters",
            held(bool(np.all(bound <= cut + _ROUNDING))),
        ),
    ]
    picture = Picture(
        "sphere",
        "Rows of Y seen along the diagonal of the three axes, as noise grows; below, angles, "
        "distances, and the cut against its relaxed bound.",
        _figure(results),
        width=1080,
        height=820,
    )
    reading = (
        f"In the ideal case {'all' if _ideal_holds(findings) else 'not all'} holds to rounding"
        ": one eigenvalue of 1 for each cluster, a gap, and rows at three orthogonal points of the "
        "sphere. Noise in the zeros turns the points towards each other and scatters the rows: by "
        f"{angle[:, -1].mean():.0f}° at a noise of {noise[-1]:g}. At {_LITTLE}, which is "
        f"{_all(results, 'difference')[:, little].mean():.0%} of the affinities by Frobenius norm, "
        f"{exact[:, little].mean():.1%} of the points are right, at {noise[-1]:g} "
        f"{exact[:, -1].mean():.0%}. The relaxed value is "
        f"{(bound / np.maximum(cut, 1e-300))[:, -1].mean():.0%} of the cut of the clusters at "
        "the most noise. The gap claim needs connected blocks, which the clouds' Gaussian "
        "affinities are."
    )
    return Report(reading, findings, pictures=[picture])


def _tiny(number: float) -> str:
    return f"{number:.0e}" if number > 1e-15 else "1e-15 or less"


def _ideal_holds(findings: list[Finding]) -> bool:
    return all(f.verdict == "reproduced" for f in findings if f.claim.startswith("ideal"))


def _figure(results: Results) -> Any:
    from soffit.figures.style import dress

    noise = results.records[0].unit.settings["noise"]
    shown = [e for e in _SHOWN if e in noise]
    titles = ["ideal case" if e == 0 else f"noise {e:g}" for e in shown]
    titles += ["rows on the sphere", "cut and relaxed bound"]
    figure = grid(
        2,
        4,
        titles,
        specs=[[{}] * 4, [{"colspan": 2}, None, {"colspan": 2}, None]],
        row_heights=[0.44, 0.56],
        horizontal_spacing=0.05,
    )
    for column, e in enumerate(shown, start=1):
        _add_sphere(figure, (1, column), results.records[0], noise.index(e))
    _add_curves(figure, results)
    notes = [f"{_K} clusters of {_SIZE} points; curves are means of {len(results)} draws"]
    dress(figure, "Eigenvector rows leave their corners as noise grows", notes, height=820)
    figure.update_layout(
        legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": -0.1, "yanchor": "top"},
        margin_b=100,
    )
    return figure


def _add_sphere(figure: Any, place: tuple[int, int], record: Record, at: int) -> None:
    """An orthographic view along (1, 1, 1): the axes are 120 degrees apart."""
    import plotly.graph_objects as go

    from soffit.figures.style import GREY, colour

    row, column = place
    view = np.array([[-np.sqrt(0.5), np.sqrt(0.5), 0.0], [-1, -1, 2] / np.sqrt(6.0)])
    Y, labels = record.arrays["rows"][at] @ view.T, record.arrays["labels"]
    angle = np.linspace(0, 2 * np.pi, 121)
    circle = go.Scatter(
        x=np.cos(angle),
        y=np.sin(angle),
        mode="lines",
        line={"color": GREY, "width": 1},
        hoverinfo="skip",
        showlegend=False,
    )
    figure.add_trace(circle, row=row, col=column)
    for c in range(_K):
        tip = view[:, c]
        axis = go.Scatter(
            x=[0, tip[0]],
            y=[0, tip[1]],
            mode="lines",
            line={"color": "#c3c8d0", "width": 1},
            hoverinfo="skip",
            showlegend=False,
        )
        dots = go.Scatter(
            x=Y[labels == c, 0],
            y=Y[labels == c, 1],
            mode="markers",
            marker={"color": colour(c), "size": 6, "line": {"color": "#ffffff", "width": 0.5}},
            hovertemplate=f"cluster {c + 1}<extra></extra>",
            showlegend=False,
        )
        figure.add_trace(axis, row=row, col=column)
        figure.add_trace(dots, row=row, col=column)
    equal_scales(figure, place)


def _add_curves(figure: Any, results: Results) -> None:
    import plotly.graph_objects as go

    from soffit.figures.style import colour

    noise = results.records[0].unit.settings["noise"]
    curves = (
        (1, "angle", "largest deviation from 90°", 1 / 90, "of 90°"),
        (1, "scatter", "largest distance of a row from its cluster", 1.0, ""),
        (1, "accuracy", "accuracy", 1.0, ""),
        (3, "cut", "normalized cut of the clusters", 1.0, ""),
        (3, "bound", "relaxed bound, k less the eigenvalues", 1.0, ""),
    )
    for number, (column, value, words, times, unit) in enumerate(curves):
        figure.add_trace(
            go.Scatter(
                x=noise,
                y=times * _all(results, value).mean(axis=0),
                mode="lines+markers",
                name=f"{words}{' (share ' + unit + ')' if unit else ''}",
                line={"color": colour(number), "width": 2.5},
                hovertemplate=f"{words}<br>noise %{{x}}: %{{y:.3f}}<extra></extra>",
            ),
            row=2,
            col=column,
        )
    for column, title in ((1, "distance, share, accuracy"), (3, "value of the cut")):
        figure.update_xaxes(title_text="noise between the clusters", row=2, col=column)
        figure.update_yaxes(title_text=title, rangemode="tozero", row=2, col=column)


EXPERIMENT = Experiment(
    name="jordan-ideal",
    paper="Jordan 2004, section 2",
    title="The ideal case and its perturbation",
    plan=plan,
    measure=measure,
    report=report,
)
