"""The objective by iteration."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit._wording import count_of
from soffit.figures.style import ACCENT, GREY, PALETTE, new_figure
from soffit.results.fit_quality import EarlyStop

# Longer histories are thinned to this many points, evenly on the logarithm of the iteration.
_MOST_POINTS = 2000
_FEW_POINTS = 60
# A history that decreases by this factor is shown on a logarithmic axis.
_DECADES = 100.0


def objective(model: Any, *, title: str | None = None) -> Any:
    """Show the objective by iteration.

    The axis of the objective is logarithmic if it decreases by a factor of 100 or more.

    Parameters
    ----------
    model : fitted model
        A model with `objective_history_`.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        One line.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit import SoF
    >>> from soffit.figures import objective
    >>> A = np.kron(np.eye(2), np.ones((4, 4)))
    >>> model = SoF(2, affinity="precomputed", random_state=7).fit(A)
    >>> figure = objective(model)
    >>> bool((np.diff(figure.data[0].y) <= 0).all())
    True
    """
    import plotly.graph_objects as go

    history = getattr(model, "objective_history_", None)
    if history is None:
        raise ValueError(
            f"{type(model).__name__} has no objective_history_. Pass a fitted model that "
            "minimises an objective, such as SoftClustering."
        )
    values = np.asarray(history, dtype=np.float64)
    last = int(getattr(model, "n_iter_", len(values) - 1))
    iterations = np.arange(last - len(values) + 1, last + 1)
    kept = _kept(len(values))
    figure = new_figure(title or "Objective by iteration", _notes(model, last), height=420)
    figure.add_trace(
        go.Scatter(
            x=iterations[kept],
            y=values[kept],
            mode="lines+markers" if len(kept) <= _FEW_POINTS else "lines",
            line={"color": PALETTE[0], "width": 2},
            marker={"size": 5},
            hovertemplate="iteration %{x}<br>objective %{y:.6g}<extra></extra>",
            showlegend=False,
        )
    )
    _mark_end(
        figure, int(iterations[-1]), float(values[-1]), bool(getattr(model, "converged_", True))
    )
    figure.update_xaxes(title_text="iteration", rangemode="tozero", dtick=1 if last <= 12 else None)
    figure.update_yaxes(title_text="objective", type=_axis_type(values), exponentformat="power")
    return figure


def _axis_type(values: FloatArray) -> str:
    spans = values.min() > 0 and values.max() >= _DECADES * values.min()
    return "log" if spans else "linear"


def _kept(n: int) -> IntArray:
    if n <= _MOST_POINTS:
        return np.arange(n)
    return np.unique(np.geomspace(1, n, _MOST_POINTS).astype(np.int64) - 1)


def _notes(model: Any, last: int) -> list[str]:
    stop = EarlyStop.of(model)
    if stop is None:
        return [f"converged after {count_of(last, 'iteration')}"]
    return [stop.sentence("").strip().rstrip(".")]


def _mark_end(figure: Any, x: int, y: float, converged: bool) -> None:
    import plotly.graph_objects as go

    figure.add_trace(
        go.Scatter(
            x=[x],
            y=[y],
            mode="markers+text",
            marker={"size": 9, "color": PALETTE[0] if converged else ACCENT},
            text=[f"{y:.4g}"],
            textposition="top left",
            textfont={"color": GREY, "size": 12},
            hoverinfo="skip",
            showlegend=False,
            cliponaxis=False,
        )
    )
