"""The map of the objects: its layouts, links and names, packed for the page."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import IntArray, is_sparse
from soffit._wording import capitalized, shorten, visible
from soffit.figures.layouts import Layout, layouts
from soffit.figures.style import part_shown, thinned
from soffit.report.html import data_block, dot, json_block, packed_array, text
from soffit.results.members import in_short
from soffit.results.summary import Summary

# More points would make the file larger without being visible.
_MOST_POINTS = 20_000
# More links hide what they show.
_MOST_LINKS = 3000
# With more clusters than this the legend would be longer than the map.
_LEGEND = 40
_MOST_NAMES = 300
_STEPS = 2**16 - 1


def map_section(summary: Summary, points: Any = None) -> str:
    """The section without its heading."""
    found = layouts(summary, points)
    kept = thinned(summary.labels, _MOST_POINTS)
    spec = {
        "layouts": [_spec(number, layout, kept) for number, layout in enumerate(found)],
        "kept": len(kept) < summary.n_objects,
        "named": shows_names(summary),
        "degrees": _degrees(summary) if summary.has_given_links else [],
    }
    blocks = [
        data_block(f"map-points-{number}", packed_array(_whole(layout, kept)))
        for number, layout in enumerate(found)
    ]
    if spec["kept"]:
        blocks.append(data_block("map-kept", packed_array(kept.astype(np.uint32))))
    links = drawn_links(summary, kept)
    if len(links):
        blocks.append(data_block("map-links", packed_array(links)))
        spec["links"] = len(links)
    return (
        _controls(summary, found) + '<div class="map"><canvas tabindex="0" role="img" '
        f'aria-label="{_description(summary, found[0])}"></canvas>'
        '<div class="tip" hidden></div>'
        '<div class="zoom"><button type="button" data-zoom="in" aria-label="Zoom in">+</button>'
        '<button type="button" data-zoom="out" aria-label="Zoom out">&minus;</button>'
        '<button type="button" data-zoom="reset">Reset</button></div>'
        '<p class="state" role="status">The map appears here if scripts are enabled.</p></div>'
        + _legend(summary)
        + _notes(summary, len(kept), len(links))
        + json_block("map-spec", spec)
        + "".join(blocks)
    )


def _description(summary: Summary, layout: Layout) -> str:
    return text(
        f"Map of the objects, coloured by {summary.noun}. {layout.reading} The table of objects "
        "has the same content."
    )


def _spec(number: int, layout: Layout, kept: IntArray) -> dict[str, Any]:
    low, high = _limits(layout, kept)
    return {
        "name": layout.name,
        "reading": layout.reading,
        "payload": f"map-points-{number}",
        "low": low,
        "high": high,
        "axes": None if layout.axes is None else [visible(title) for title in layout.axes],
        "arrows": [[visible(arrow.name), arrow.x, arrow.y] for arrow in layout.arrows],
        "metric": layout.is_metric,
    }


def _limits(layout: Layout, kept: IntArray) -> tuple[list[float], list[float]]:
    """The corners of the map: all points and arrows lie inside."""
    tips = np.array([(arrow.x, arrow.y) for arrow in layout.arrows]).reshape(-1, 2)
    points = np.concatenate([layout.points[kept], 1.06 * tips])
    low, high = points.min(axis=0), points.max(axis=0)
    flat = high <= low
    return [float(v) for v in np.where(flat, low - 0.5, low)], [
        float(v) for v in np.where(flat, high + 0.5, high)
    ]


def _whole(layout: Layout, kept: IntArray) -> Any:
    """Positions as whole numbers between the limits, which are as fine as a screen."""
    low, high = (np.array(limit) for limit in _limits(layout, kept))
    points = layout.points[kept]
    return np.round((points - low) / (high - low) * _STEPS).astype(np.uint16)


def drawn_links(summary: Summary, kept: IntArray) -> NDArray[np.uint32]:
    """Pairs of linked objects, if the data are a graph; the strongest if there are many."""
    A = summary.affinities
    if A is None or not summary.has_given_links or summary.kind in ("distances", "similarities"):
        return np.zeros((0, 2), dtype=np.uint32)
    if len(kept) < summary.n_objects or not is_sparse(A):
        return np.zeros((0, 2), dtype=np.uint32)
    links = A.tocoo()
    once = np.flatnonzero(links.row < links.col)
    strong = once[np.argsort(-np.asarray(links.data)[once], kind="stable")[:_MOST_LINKS]]
    return np.column_stack([links.row[strong], links.col[strong]]).astype(np.uint32)


def shows_names(summary: Summary) -> bool:
    """Whether to write names: those of nodes, and others that are not just numbers of rows."""
    if summary.n_objects > _MOST_NAMES:
        return False
    named = summary.ids is not None and not all(map(str.isdecimal, summary.ids))
    return summary.has_given_links or named


def _degrees(summary: Summary) -> list[float]:
    """How much each object is linked, which decides whose name is written first."""
    A = summary.affinities
    if A is None or summary.n_objects > _MOST_NAMES:
        return []
    return [round(float(v), 4) for v in np.asarray(A.sum(axis=1)).ravel()]


def _controls(summary: Summary, found: list[Layout]) -> str:
    places = "".join(
        f'<option value="{number}">{text(layout.name)}</option>'
        for number, layout in enumerate(found)
    )
    hidden = " hidden" if len(found) == 1 else ""
    return (
        '<form class="controls" aria-label="Map">'
        f'<label{hidden}>Layout <select name="layout">{places}</select></label>'
        f'<label>Colour <select name="colour"><option value="">{summary.noun}</option></select>'
        '</label></form><p class="reading"></p>'
    )


def _legend(summary: Summary) -> str:
    if summary.n_clusters > _LEGEND:
        return ""
    buttons = "".join(
        f'<button type="button" data-cluster="{cluster}" aria-pressed="false">{dot(cluster)}'
        f"{text(shorten(summary.names[cluster], 30))}{_special(summary, cluster)}</button>"
        for cluster in range(summary.n_clusters)
    )
    return (
        f'<div class="legend" role="group" aria-label="Highlight a {summary.noun}">'
        f'<span>{summary.noun.capitalize()}</span>{buttons}</div><div class="ramp" hidden></div>'
    )


def _special(summary: Summary, cluster: int) -> str:
    words = in_short(summary, cluster)
    return f" <small>{text(words)}</small>" if words else ""


def _notes(summary: Summary, n_points: int, n_links: int) -> str:
    notes = ["faint points are uncertain"] if summary.n_clusters > 1 else []
    notes += part_shown(n_points, summary.n_objects)
    if n_links == _MOST_LINKS:
        notes.append(f"the {n_links:,} strongest links are drawn")
    notes.append("drag to move; zoom with the buttons or Ctrl and the wheel")
    return f'<p class="note">{text(capitalized("; ".join(notes)))}.</p>'
