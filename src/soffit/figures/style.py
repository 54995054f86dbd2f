"""The common parts of all figures: colours, symbols, fonts, margins and text."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from html import escape
from typing import Any

import numpy as np

from soffit._parameters import WholeNumber, check_parameter
from soffit._typing import FloatArray, IntArray
from soffit._wording import shorten
from soffit.results.summary import Summary

# Names longer than this would cover the figure.
_LONGEST = 60


def escaped(value: Any, longest: int = _LONGEST * 2) -> str:
    """Any value as text without tags or formulas for the browser or Plotly."""
    return escape(shorten(str(value), longest)).replace("$", "&#36;")


def names(values: Iterable[Any]) -> list[str]:
    """All values as safe text of a length that fits a hover label."""
    return [escaped(value, _LONGEST) for value in values]


def object_names(summary: Summary, objects: IntArray) -> list[str]:
    """Identifiers or numbers of these objects."""
    return names(summary.id_of(number) for number in objects.tolist())


def cluster_names(summary: Summary) -> list[str]:
    """Names of all clusters, short enough for an axis."""
    return [escaped(name, _LONGEST // 2) for name in summary.names]


def part_shown(shown: int, total: int, what: str = "objects") -> list[str]:
    """A note with the number shown, if not all are."""
    return [] if shown >= total else [f"{shown:,} of {total:,} {what} shown"]


# Ten colours that colour-blind readers can distinguish (M. Petroff, 2021, arXiv:2107.02270).
PALETTE = (
    "#3f90da",
    "#ffa90e",
    "#bd1f01",
    "#94a4a2",
    "#832db6",
    "#a96b59",
    "#e76300",
    "#b9ac70",
    "#717581",
    "#92dadd",
)
# The second ten clusters have these colours darker, the third ten lighter. Each turn has its own
# symbol; from the fourth turn on colours repeat, and bars have patterns.
_SHADES = ((0.0, 0.0), (0.0, 0.42), (0.5, 0.0))
SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "star", "hexagon", "cross")
PATTERNS = ("", "/", "x", ".", "\\", "-", "|", "+")
INK = "#222222"
GREY = "#6b7280"
FAINT = "#e5e7eb"
ACCENT = "#bd1f01"
# From certain to uncertain: lightness decreases steadily, so that it is readable without hue.
DOUBT = ((0.0, "#dfe5ec"), (0.35, "#8fbbe3"), (0.65, "#6a51a3"), (1.0, "#2d0b4e"))
# The same on a dark background, from faint to bright.
DOUBT_ON_DARK = ((0.0, "#4a5866"), (0.35, "#5b86c9"), (0.65, "#b48be6"), (1.0, "#ffe3f4"))
SHARE = ((0.0, "#f7f9fb"), (0.5, "#7fb2e2"), (1.0, "#0b3c6f"))
DIFFERENCE = (
    (0.0, "#8c3b00"),
    (0.25, "#f0a35e"),
    (0.5, "#f8f8f8"),
    (0.75, "#6fa8dc"),
    (1.0, "#0b3c6f"),
)
# A contrast of 3 to the dark background of pages, which has a luminance of 0.015.
_LEAST_ON_DARK = 3 * (0.015 + 0.05) - 0.05
_FONT = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"


def colour(cluster: int) -> str:
    """Colour of a cluster; the first thirty are distinct."""
    turn, place = divmod(cluster, len(PALETTE))
    white, black = _SHADES[turn % len(_SHADES)]
    parts = [(part + white * (255 - part)) * (1 - black) for part in _parts(PALETTE[place])]
    return "#{:02x}{:02x}{:02x}".format(*(round(part) for part in parts))


def colours(n_clusters: int) -> FloatArray:
    """Colours of the first clusters, (k, 3), as shares from 0 to 1."""
    return np.array([_parts(colour(cluster)) for cluster in range(n_clusters)]) / 255


def symbol(cluster: int) -> str:
    """Symbol of a cluster's points: another one for each turn through the colours."""
    return SYMBOLS[cluster // len(PALETTE) % len(SYMBOLS)]


def pattern(cluster: int) -> str:
    """Pattern of a cluster's bars: another one for each turn through all shades of the colours."""
    return PATTERNS[cluster // (len(PALETTE) * len(_SHADES)) % len(PATTERNS)]


def text_on(cluster: int) -> str:
    """Colour of text that is readable on a cluster's colour."""
    return readable_on(colour(cluster))


def readable_on(hexadecimal: str) -> str:
    """Black or white, whichever is readable on a colour."""
    red, green, blue = _parts(hexadecimal)
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 150 else "#ffffff"


def on_dark(hexadecimal: str) -> str:
    """The colour, lighter if it could not be told from a dark background."""
    shade, share = hexadecimal, 1.0
    while _luminance(shade) < _LEAST_ON_DARK:
        share -= 0.05
        mixed = (round(255 + share * (part - 255)) for part in _parts(hexadecimal))
        shade = "#{:02x}{:02x}{:02x}".format(*mixed)
    return shade


def _luminance(hexadecimal: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = (part / 255 for part in _parts(hexadecimal))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def faded(cluster: int, share: float) -> str:
    """Colour of a cluster mixed with white: 1 is the colour itself, 0 is white."""
    return blend(colour(cluster), share)


def blend(hexadecimal: str, share: float) -> str:
    """A colour mixed with white."""
    strength = min(max(share, 0.0), 1.0)
    mixed = (round(255 + strength * (part - 255)) for part in _parts(hexadecimal))
    return "rgb({},{},{})".format(*mixed)


def see_through(hexadecimal: str, opacity: float) -> str:
    """A transparent colour."""
    red, green, blue = _parts(hexadecimal)
    return f"rgba({red},{green},{blue},{opacity:.2f})"


def _parts(hexadecimal: str) -> tuple[int, int, int]:
    red, green, blue = (int(hexadecimal[i : i + 2], 16) for i in (1, 3, 5))
    return red, green, blue


def scale(stops: tuple[tuple[float, str], ...]) -> list[list[Any]]:
    """A colour scale as Plotly takes it."""
    return [list(stop) for stop in stops]


@cache
def template() -> Any:
    """The template of all figures."""
    import plotly.graph_objects as go

    axis = {
        "gridcolor": "#edeff2",
        "linecolor": "#c3c8d0",
        "showline": True,
        "zeroline": False,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": "#c3c8d0",
        "title": {"font": {"size": 13, "color": INK}, "standoff": 10},
        "tickfont": {"size": 12, "color": GREY},
        "automargin": True,
    }
    layout = go.Layout(
        font={"family": _FONT, "size": 13, "color": INK},
        title={
            "x": 0.0,
            "xref": "paper",
            "xanchor": "left",
            "yref": "container",
            "yanchor": "top",
            "font": {"size": 18, "color": INK, "weight": 600},
            "subtitle": {"font": {"size": 13, "color": GREY, "weight": 400}},
        },
        paper_bgcolor="#ffffff",
        plot_bgcolor="#ffffff",
        colorway=list(PALETTE),
        margin={"l": 64, "r": 24, "t": 84, "b": 56},
        xaxis=axis,
        yaxis=axis,
        hovermode="closest",
        hoverlabel={
            "bgcolor": "#ffffff",
            "bordercolor": "#c3c8d0",
            "font": {"family": _FONT, "size": 12, "color": INK},
            "align": "left",
        },
        legend={
            "x": 1.02,
            "xanchor": "left",
            "y": 1.0,
            "yanchor": "top",
            "bgcolor": "rgba(255,255,255,0)",
            "itemsizing": "constant",
            "font": {"size": 12},
            "title": {"font": {"size": 12, "color": GREY}},
        },
        coloraxis={"colorbar": colour_bar()},
        modebar={"bgcolor": "rgba(255,255,255,0)", "color": "#b8bec8", "activecolor": GREY},
    )
    return go.layout.Template(layout=layout)


def colour_bar(title: str = "") -> dict[str, Any]:
    """A narrow colour bar with a title above it."""
    return {
        "title": {"text": title, "font": {"size": 12, "color": GREY}},
        "thickness": 12,
        "outlinewidth": 0,
        "tickfont": {"size": 11, "color": GREY},
        "len": 0.9,
    }


def new_figure(title: str, notes: list[str], *, height: int = 520, **layout: Any) -> Any:
    """An empty figure with the title, the notes below it, and the common style.

    The title is plain text: markup in it is escaped.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    dress(figure, title, notes, height=height, **layout)
    return figure


def dress(figure: Any, title: str, notes: list[str], *, height: int = 520, **layout: Any) -> None:
    """Apply the common style to a figure."""
    heading: dict[str, Any] = {"text": escaped(title), "y": 1.0 - 18.0 / height}
    if notes:
        heading["subtitle"] = {"text": " · ".join(notes)}
    # Titles of panels need a line of their own.
    room = 52 + 26 * bool(notes) + 24 * bool(figure.layout.annotations)
    layout = {"margin_t": room, **layout}
    figure.update_layout(template=template(), title=heading, height=height, **layout)


# Above this number the points are drawn by WebGL.
_MANY = 1000


def trace_class(n_points: int) -> Any:
    """Plotly's class of point traces that suits the number of points."""
    import plotly.graph_objects as go

    return go.Scattergl if n_points > _MANY else go.Scatter


def marker_size(n_points: int) -> float:
    """Diameter of a point in pixels: fewer points are larger."""
    return 9.0 if n_points <= 300 else 7.0 if n_points <= 2000 else 5.0 if n_points <= 8000 else 3.5


def set_axes(figure: Any, axes: tuple[str, str] | None, **where: Any) -> None:
    """Titles of the axes; axes without a meaning have neither ticks nor titles."""
    if axes is None:
        hidden = {"showticklabels": False, "ticks": "", "title": None, "showgrid": False}
        # Both axes have the same scale.
        figure.layout.yaxis.scaleanchor = "x"
        figure.update_xaxes(**hidden, **where)
        figure.update_yaxes(**hidden, **where)
        return
    figure.update_xaxes(title_text=escaped(axes[0]), **where)
    figure.update_yaxes(title_text=escaped(axes[1]), **where)


def link_axes(figure: Any, n_panels: int) -> None:
    """Link the axes of several panels in a row, so that zooming affects all of them."""
    for col in range(2, n_panels + 1):
        figure.update_xaxes(matches="x", col=col)
        figure.update_yaxes(matches="y", col=col)


def relative_certainty(certainty: FloatArray, n_clusters: int) -> FloatArray:
    """0 where all clusters are alike, 1 where there is one only."""
    least = 1.0 / n_clusters
    share = (certainty - least) / (1.0 - least) if n_clusters > 1 else np.ones_like(certainty)
    return np.clip(share, 0.0, 1.0)


def write_name(figure: Any, cluster: int, name: str, x: float, y: float, **more: Any) -> None:
    """Write the name of a cluster on its colour at a place."""
    figure.add_annotation(
        x=x,
        y=y,
        text=f"<b>{name}</b>",
        showarrow=False,
        bgcolor=colour(cluster),
        bordercolor="#ffffff",
        borderwidth=1.5,
        borderpad=2,
        font={"color": text_on(cluster), "size": 12},
        **more,
    )


# One fixed seed for all figures, so that they show the same objects.
_SEED = 20210721


def thinned(labels: IntArray, most: int) -> IntArray:
    """At most `most` objects, ascending, stratified by cluster to within one object.

    Objects are shuffled in a fixed way and sorted by cluster; evenly spaced ones are taken. A
    cluster too small for that keeps one object, as far as there is room.
    """
    check_parameter("max_points", most, WholeNumber(1))
    n = len(labels)
    if n <= most:
        return np.arange(n)
    order = np.random.default_rng(_SEED).permutation(n)
    order = order[np.argsort(labels[order], kind="stable")]
    _, first = np.unique(labels[order], return_index=True)
    clusters = order[first][:most]
    spaced = order[((np.arange(most) + 0.5) * (n / most)).astype(np.int64)]
    missing = clusters[~np.isin(labels[clusters], labels[spaced])]
    if len(missing):
        # They replace evenly spaced others.
        kept = np.linspace(0, most - 1, most - len(missing)).astype(np.int64)
        spaced = np.concatenate([spaced[kept], missing])
    return np.unique(spaced)
