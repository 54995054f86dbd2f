"""Memberships of a few objects as bars."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np

from soffit._typing import IntArray
from soffit.figures.style import (
    cluster_names,
    colour,
    escaped,
    new_figure,
    object_names,
    part_shown,
    pattern,
    text_on,
)
from soffit.results.summary import Summary

# More bars than this are not readable.
_MOST = 100
# A part of a bar shows the name of its cluster if it is at least this wide.
_WIDE = 0.07


def membership_bars(
    model: Any, objects: Iterable[Any], *, ids: Any = None, title: str | None = None
) -> Any:
    """Show the memberships of selected objects, one bar per object.

    Parameters
    ----------
    model : fitted model, result or array of shape (n, k)
        Memberships of the objects.
    objects : sequence of int or str
        The objects, by number, or by name where they have names. The first 100 are shown.
    ids : array of shape (n,), optional
        Names of all objects. By default those of the model or the result.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per cluster.

    Examples
    --------
    >>> from soffit.figures import membership_bars
    >>> figure = membership_bars([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]], ["b", "c"], ids=list("abc"))
    >>> [trace.x.tolist() for trace in figure.data]
    [[0.6, 0.2], [0.4, 0.8]]
    """
    shown = Summary.of(model, ids=ids)
    selected = _numbers(shown, list(objects))
    chosen = selected[:_MOST]
    figure = new_figure(
        title or "Memberships of selected objects",
        part_shown(len(chosen), len(selected), "selected objects"),
        height=150 + 30 * max(len(chosen), 3),
        barmode="stack",
        bargap=0.25,
        legend_title_text="cluster",
        legend_traceorder="normal",
    )
    rows = shown.rows(chosen)
    for cluster in np.flatnonzero(rows.max(axis=0) > 0).tolist():
        figure.add_trace(_bars(shown, cluster, rows[:, cluster], chosen))
    # Positions, not names: two objects may have the same one.
    figure.update_yaxes(
        tickvals=list(range(len(chosen))),
        ticktext=object_names(shown, chosen),
        autorange="reversed",
        showgrid=False,
        tickcolor="#ffffff",
    )
    figure.update_xaxes(range=[0, 1], title_text="membership")
    return figure


def _bars(shown: Summary, cluster: int, shares: Any, chosen: IntArray) -> Any:
    import plotly.graph_objects as go

    name = cluster_names(shown)[cluster]
    return go.Bar(
        x=shares,
        y=np.arange(len(chosen)),
        orientation="h",
        name=name,
        marker={
            "color": colour(cluster),
            "pattern": {"shape": pattern(cluster), "fillmode": "overlay", "fgcolor": "#ffffff"},
            "line": {"color": "#ffffff", "width": 1},
        },
        text=[name if share >= _WIDE else "" for share in shares],
        textposition="inside",
        insidetextanchor="middle",
        textangle=0,
        textfont={"color": text_on(cluster), "size": 12},
        hovertext=[_hover(shown, obj, name) for obj in chosen.tolist()],
        hovertemplate="%{hovertext}<br>membership %{x:.3f}<extra></extra>",
    )


def _hover(shown: Summary, obj: int, name: str) -> str:
    certainty, entropy = shown.certainty[obj], shown.entropy[obj]
    head = f"<b>{escaped(shown.id_of(obj), 60)}</b><br>certainty {certainty:.2f}"
    return f"{head}, entropy {entropy:.2f} nats<br>{shown.noun} {name}"


def _numbers(shown: Summary, objects: list[Any]) -> IntArray:
    """Indices of the selected objects, given by number or by name."""
    if not objects:
        raise ValueError("objects is empty; name at least one object.")
    place: dict[str, int] = {}
    if shown.ids is not None and not all(isinstance(obj, Integral) for obj in objects):
        # If several objects have the same name, the first is used.
        for number, name in reversed(list(enumerate(shown.ids))):
            place[name] = number
    return np.array([_number(shown, obj, place) for obj in objects], dtype=np.int64)


def _number(shown: Summary, obj: Any, place: dict[str, int]) -> int:
    if isinstance(obj, Integral) and not isinstance(obj, bool):
        number = int(obj)
        if not 0 <= number < shown.n_objects:
            raise ValueError(f"objects must be from 0 to {shown.n_objects - 1}, got {obj!r}.")
        return number
    if str(obj) not in place:
        raise ValueError(
            f"objects holds {obj!r}, which is neither a number nor the name of an object. Pass "
            "object numbers from 0, or names that are in ids."
        )
    return place[str(obj)]
