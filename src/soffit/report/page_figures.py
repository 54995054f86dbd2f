"""The figures of a report and their captions."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from soffit._typing import is_sparse
from soffit.results.differences import comparable
from soffit.results.summary import Summary

# The reconstruction has as many entries as there are pairs of objects.
_MOST_RECONSTRUCTED = 5000
# More points or pixels would make the file larger without being visible.
_MOST_POINTS = 10_000
_MOST_PIXELS = 150
# Height of figures side by side, and of the titles that the page replaces.
_HEIGHT = 450
_TITLE = 50
# More points than this are too slow as vectors.
_MOST_VECTORS = 5000
# More columns do not fit into half a page.
_MANY_COLUMNS = 15
# A confusion matrix with more classes than this is no longer readable.
_MOST_CLASSES = 60


@dataclass(frozen=True, eq=False)
class Picture:
    """One figure: a name for the page, a heading, how to read it, and Plotly's JSON."""

    key: str
    heading: str
    reading: str
    is_wide: bool
    height: int = 0  # in pixels; 0 means what the figure asks for, or that of its neighbour
    note: str = ""  # what the figure says about itself, as plain text
    content: str = ""
    needs_webgl: bool = False
    failure: str = ""
    is_about_truth: bool = False


@dataclass(frozen=True, eq=False)
class _Plan:
    picture: Picture
    draw: Callable[[], Any]


def pictures(summary: Summary, model: Any, points: Any = None) -> list[Picture]:
    """All figures that make sense for the summary; `model` and `points` are what the user gave.

    A figure that cannot be drawn holds the reason; the others are still shown.
    """
    return [_drawn(plan) for plan in _plans(summary, model, points)]


def _drawn(plan: _Plan) -> Picture:
    try:
        figure = plan.draw()
    except (ValueError, MemoryError, np.linalg.LinAlgError) as error:
        return replace(plan.picture, failure=str(error))
    layout = figure.layout
    asked = plan.picture.height or int(layout.height or _HEIGHT) - _TITLE
    height = asked if plan.picture.is_wide else _HEIGHT
    note = html.unescape(layout.title.subtitle.text or "").replace(" · ", "; ")
    # The page has the heading and the note as text, which can be read aloud and searched.
    figure.update_layout(title=None, width=None, height=None, autosize=True)
    figure.update_layout(margin_t=40 if layout.annotations else 28)
    content, needs_webgl = _content(figure)
    return replace(plan.picture, height=height, note=note, content=content, needs_webgl=needs_webgl)


def _content(figure: Any) -> tuple[str, bool]:
    """The figure as JSON, and whether it is drawn by WebGL.

    A few thousand points are drawn as vectors instead: they print well, and the page needs no
    permission to compile code.
    """
    content = str(figure.to_json())
    pointed = [trace for trace in figure.data if trace.type == "scattergl"]
    if not pointed or sum(len(trace.x) for trace in pointed) > _MOST_VECTORS:
        return content, bool(pointed)
    described = json.loads(content)
    for trace in described["data"]:
        trace["type"] = trace["type"].removesuffix("gl")
    return json.dumps(described, separators=(",", ":")), False


def _plans(summary: Summary, model: Any, points: Any) -> Iterator[_Plan]:
    yield from _maps(summary, model, points)
    yield from _memberships(summary, model)
    yield from _fit(summary, model)
    yield from _against_truth(summary)


def _maps(summary: Summary, model: Any, points: Any) -> Iterator[_Plan]:
    maps = _Maps(summary, model, points)
    placing = _placing(summary) if points is None else "Positions were given."
    yield _Plan(
        Picture(
            "scatter",
            "Map of the objects",
            f"Each point is an object, its colour the most probable cluster. {placing}",
            is_wide=True,
        ),
        maps.clusters,
    )
    if summary.n_clusters > 1:
        yield _Plan(
            Picture(
                "entropy", "Uncertainty of the objects", _entropy_reading(summary), is_wide=True
            ),
            maps.entropy,
        )


class _Maps:
    """The two maps of the objects, which share their positions."""

    def __init__(self, summary: Summary, model: Any, points: Any = None) -> None:
        self._summary = summary
        self._model = model
        self._points = points
        self._ids = summary.ids

    @cached_property
    def _placed(self) -> Any:
        from soffit.figures.embedding import Placement, place

        if self._points is not None:
            points = np.asarray(self._points, dtype=np.float64)
            if points.shape != (self._summary.n_objects, 2):
                raise ValueError(
                    f"points must have shape ({self._summary.n_objects}, 2), one row per object, "
                    f"got {points.shape}."
                )
            return Placement(points, None, "")
        table = self._summary.table
        if self._summary.mixed is not None and table is not None and not is_sparse(table):
            return place(self._summary.memberships, comparable(table))
        return place(self._model, table)

    @property
    def _axes(self) -> tuple[str, str] | None:
        table, columns = self._summary.table, self._summary.columns
        if self._points is None and table is not None and table.shape[1] == 2:
            return columns[0], columns[1]
        axes: tuple[str, str] | None = self._placed.axes
        return axes

    def clusters(self) -> Any:
        """Coloured by cluster."""
        from soffit.figures import scatter

        return self._drawn(scatter, _MOST_POINTS)

    def entropy(self) -> Any:
        """Coloured by uncertainty, in one panel or three."""
        from soffit.figures import entropy_map

        has_parts = self._summary.overlap is not None
        return self._drawn(entropy_map, _MOST_POINTS // 2 if has_parts else _MOST_POINTS)

    def _drawn(self, draw: Callable[..., Any], most: int) -> Any:
        from soffit.figures.style import set_axes

        points = self._placed.points
        figure = draw(self._model, points, ids=self._ids, max_points=most, axes=self._axes)
        if self._axes is None:
            # Axes without a meaning have no tick labels.
            set_axes(figure, None)
        return figure


def _placing(summary: Summary) -> str:
    if summary.table is not None and summary.table.shape[1] > 2:
        return "Positions are the first two principal components of the columns."
    if summary.table is None and summary.affinities is not None:
        return "Linked objects are close to each other; the axes have no meaning."
    if summary.table is None:
        return "Objects with similar memberships are close to each other."
    return ""


def _entropy_reading(summary: Summary) -> str:
    whole = "Darker points are less certain; the scale is entropy in nats."
    if summary.overlap is None or summary.instability is None:
        return whole
    return (
        f"{whole} It has two parts: clusters overlap at an object (overlap), or the clusters "
        "themselves change there between subsamples (instability)."
    )


def _memberships(summary: Summary, model: Any) -> Iterator[_Plan]:
    from soffit.figures import cluster_sizes, hierarchy, membership_heatmap

    yield _Plan(
        Picture(
            "sizes",
            "Sizes of the clusters",
            "Bars count the objects by most probable cluster and certainty; the mark is the "
            "expected size, the sum of memberships.",
            is_wide=summary.n_clusters > _MANY_COLUMNS,
        ),
        lambda: cluster_sizes(model),
    )
    if summary.n_clusters > 1:
        yield _Plan(
            Picture(
                "heatmap",
                "All memberships",
                "One row per object, sorted by cluster. A row with one dark cell is certain; "
                "several shaded cells show between which clusters an object lies.",
                is_wide=summary.n_clusters > _MANY_COLUMNS,
            ),
            lambda: membership_heatmap(model),
        )
    if getattr(summary.model, "levels_", None):
        yield _Plan(
            Picture(
                "hierarchy",
                "Hierarchy",
                "Each cluster is shown below its most probable parent.",
                is_wide=True,
            ),
            lambda: hierarchy(model),
        )


def _fit(summary: Summary, model: Any) -> Iterator[_Plan]:
    from soffit.figures import k_selection, objective, reconstruction

    choice = summary.choice
    if choice is not None and len(choice.ks) > 1:
        yield _Plan(
            Picture(
                "selection",
                "Choice of the number of clusters",
                "The evidence for each candidate number of clusters.",
                is_wide=True,
            ),
            lambda: k_selection(choice),
        )
    if _is_reconstructible(summary):
        yield _Plan(
            Picture(
                "reconstruction",
                "Similarities and their reconstruction",
                "Left: the similarities. Middle: their reconstruction by the factorization. Right: "
                "the difference. Blocks along the diagonal are the clusters.",
                is_wide=True,
                height=390,
            ),
            lambda: reconstruction(model, max_pixels=_pixels(summary)),
        )
    history = getattr(summary.model, "objective_history_", None)
    if history is not None and len(history) > 1:
        yield _Plan(
            Picture(
                "objective",
                "Objective by iteration",
                "The objective decreases with every iteration and is flat at convergence.",
                is_wide=False,
            ),
            lambda: objective(model),
        )


def _pixels(summary: Summary) -> int | None:
    """Fewer pixels for large data; the figure itself chooses for small ones."""
    return _MOST_PIXELS if summary.n_objects > _MOST_POINTS else None


def _is_reconstructible(summary: Summary) -> bool:
    A = summary.affinities
    if A is None or not hasattr(summary.model, "factor_"):
        return False
    return is_sparse(A) or summary.n_objects <= _MOST_RECONSTRUCTED


def _against_truth(summary: Summary) -> Iterator[_Plan]:
    from soffit.figures import calibration, confusion

    truth = summary.truth
    if truth is None:
        return
    known = truth != ""
    labels, memberships = summary.labels[known], summary.memberships[known]
    called: Any = np.array(summary.names)[labels] if summary.is_named else labels
    given = truth[known]
    if len(np.unique(given)) > _MOST_CLASSES:
        return
    yield _Plan(
        Picture(
            "confusion",
            "Clusters against the labels",
            "Each row is a label of the data, each column a cluster.",
            is_wide=len(np.unique(given)) > _MANY_COLUMNS or summary.n_clusters > _MANY_COLUMNS,
            is_about_truth=True,
        ),
        lambda: confusion(given, called),
    )
    yield _Plan(
        Picture(
            "calibration",
            "Calibration of the memberships",
            "Of the objects with a membership of 0.8, eight in ten should have the label that "
            "matches their cluster. Calibrated memberships lie on the diagonal.",
            is_wide=False,
            is_about_truth=True,
        ),
        lambda: calibration(given, memberships),
    )
