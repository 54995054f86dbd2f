"""The maps of the objects that a summary allows, with what their axes mean."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree

from soffit._typing import FloatArray, Matrix, is_sparse
from soffit._wording import listed, percent, shorten
from soffit.figures.embedding import (
    SMALL_GRAPH,
    graph_links,
    graph_map,
    membership_map,
    principal_axes,
    principal_components,
    stress_map,
    sunflower,
    walk_vectors,
)
from soffit.results.differences import comparable
from soffit.results.profiles import column_groups
from soffit.results.summary import Summary

# A layout of the graph of more objects takes too long for a choice that few make.
_LARGEST_GRAPH = 20_000
_LARGEST_CHOICE = 5_000
# Principal components with less of the variance than this hide most of the structure.
_TELLING_SHARE = 0.4
# Columns that an axis is named by, and arrows on a map.
_NAMED = 3
# Letters of these names; more do not fit along the shorter side of a map.
_AXIS_ROOM = 44
_ARROWS = 6
# A column is part of an axis if its loading is at least this share of the largest.
_PART = 0.5
# Shorter arrows than this share of the longest are left out.
_SHORTEST = 0.3
# Objects that share so few places with others are spread around them.
_FEW_PLACES = 0.2
# The maps that annotated data may come with.
_STORED = {"X_umap": "UMAP", "X_tsne": "t-SNE", "X_draw_graph_fa": "ForceAtlas2"}


@dataclass(frozen=True)
class Arrow:
    """A column as an arrow from the origin, in units of the map."""

    name: str
    x: float
    y: float


@dataclass(frozen=True, eq=False)
class Layout:
    """One map of the objects."""

    name: str  # What a reader chooses it by.
    points: FloatArray  # (n, 2): positions.
    reading: str  # What it means to be close, in a sentence.
    axes: tuple[str, str] | None = None  # Titles of the axes; None if these have no meaning.
    arrows: tuple[Arrow, ...] = ()  # The columns that the axes are made of.
    is_metric: bool = True  # Whether both axes share one scale.
    note: str = ""  # What the positions are, in a few words; nothing if the axes say so.


def layouts(summary: Summary, points: Any = None) -> list[Layout]:
    """All maps, the most telling first.

    `summary`: what to map.
    `points` (n, 2): positions that the user has given, which come first.
    """
    found = list(_given(summary, points))
    found += _stored(summary)
    by_columns = [] if _is_annotated(summary) else list(_by_columns(summary))
    by_graph = list(_by_graph(summary, is_needed=not (found or by_columns)))
    if by_columns and by_graph and not by_columns[0].is_telling:
        found += [by_graph[0], by_columns[0].layout, *by_graph[1:]]
    else:
        found += [*(item.layout for item in by_columns), *by_graph]
    return found or [_by_memberships(summary)]


def first_layout(summary: Summary) -> Layout:
    """The one map of a figure: by columns, else by the graph, else by memberships."""
    for item in _by_columns(summary):
        return item.layout
    return next(_by_graph(summary, is_needed=True), None) or _by_memberships(summary)


def telling_layout(summary: Summary) -> Layout:
    """The first of `layouts`, without computing the others."""
    for stored in _stored(summary):
        return stored
    columns = None if _is_annotated(summary) else next(_by_columns(summary), None)
    if columns is None or not columns.is_telling:
        for drawn in _by_graph(summary, is_needed=columns is None):
            return drawn
    return _by_memberships(summary) if columns is None else columns.layout


def embedding(model: Any, X: Any = None) -> FloatArray:
    """Place the objects on a map of two dimensions.

    A table of two columns is used as it is. A table with more columns is projected onto its first
    two principal components, after the standardization of the model; if most objects share their
    place with others, they are spread around it. Without a table, the positions are a layout of the
    graph of the model, in which linked objects are close to each other. Without a graph, as for
    stored results, or with more than 20,000 objects, they follow from memberships: clusters lie on
    a circle, and objects between the clusters they belong to.

    Parameters
    ----------
    model : fitted model, result or array of shape (n, k)
        Memberships of the objects.
    X : table of shape (n, p), optional
        Features of the objects. Not needed for graphs and precomputed matrices.

    Returns
    -------
    ndarray of shape (n, 2)
        Float64. The same for every call.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.figures import embedding
    >>> memberships = np.array([[0.9, 0.1], [0.5, 0.5], [0.1, 0.9]])
    >>> table = np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [3.0, 6.0, 9.0]])
    >>> embedding(memberships, table).round(2).tolist()
    [[-3.74, 0.0], [0.0, 0.0], [3.74, 0.0]]
    """
    return first_layout(Summary.of(model, X)).points


def _by_memberships(summary: Summary) -> Layout:
    reading = "Objects with similar memberships are close to each other."
    points = membership_map(summary.memberships)
    return Layout("Memberships", points, reading, note="positions from memberships")


def _given(summary: Summary, points: Any) -> Iterator[Layout]:
    if points is None:
        return
    given = np.asarray(points, dtype=np.float64)
    if given.shape != (summary.n_objects, 2):
        raise ValueError(
            f"points must have shape ({summary.n_objects}, 2), one row per object, got "
            f"{given.shape}."
        )
    if not np.isfinite(given).all():
        raise ValueError("points has missing or infinite values. Fill them in.")
    yield Layout("Given positions", given, "Positions were given.")


def _is_annotated(summary: Summary) -> bool:
    return hasattr(summary.origin, "obsm")


def _stored(summary: Summary) -> Iterator[Layout]:
    """Maps that annotated cells come with."""
    if not _is_annotated(summary):
        return
    stored = summary.origin.obsm
    for key, name in _STORED.items():
        if key not in stored:
            continue
        points = np.asarray(stored[key], dtype=np.float64)[:, :2]
        if points.shape == (summary.n_objects, 2) and np.isfinite(points).all():
            yield Layout(name, points, f"Positions are the {name} that is stored in the data.")


# --- columns --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _ByColumns:
    layout: Layout
    is_telling: bool


def _by_columns(summary: Summary) -> Iterator[_ByColumns]:
    table = summary.table
    if table is None:
        return
    width = table.shape[1]
    names = summary.columns
    if width <= 2:
        dense = np.asarray(table.toarray() if is_sparse(table) else table, dtype=np.float64)
        dense = np.where(np.isnan(dense), np.nanmean(dense, axis=0), dense)
    if width == 2:
        reading = "Each object is drawn at its two values."
        yield _ByColumns(Layout("Columns", dense, reading, (names[0], names[1]), (), False), True)
        return
    if width == 1:
        # Points on a line are spread evenly across it; the second axis has no meaning.
        spread = (np.arange(len(dense)) * 0.6180339887498949) % 1.0
        reading = "Each object is drawn at its value; the second axis only spreads the points."
        both = np.column_stack([dense[:, 0], spread])
        yield _ByColumns(Layout("Column", both, reading, (names[0], ""), (), False), True)
        return
    yield _principal(summary, table)


def _principal(summary: Summary, table: Matrix) -> _ByColumns:
    found = principal_axes(_as_clustered(summary, table))
    arrows = _arrows(summary, found.loadings, found.points)
    points, spread = _spread_copies(found.points)
    titles = [_title(summary, axis, found) for axis in (0, 1)]
    share = percent(float(found.shares.sum()))
    reading = (
        f"The first two principal components of the columns hold {share} of the variance. "
        "Arrows show in which direction a column grows."
        f"{spread}"
    )
    axes = (titles[0], titles[1])
    note = f"principal components of {table.shape[1]:,} columns"
    layout = Layout("Columns (principal components)", points, reading, axes, arrows, note=note)
    return _ByColumns(layout, bool(found.shares.sum() >= _TELLING_SHARE))


def _spread_copies(points: FloatArray) -> tuple[FloatArray, str]:
    """Objects at one place side by side, if most share a place, and a sentence that says so."""
    places, which, counts = np.unique(
        np.round(points, 9), axis=0, return_inverse=True, return_counts=True
    )
    if len(places) < 2 or len(places) > _FEW_PLACES * len(points):
        return points, ""
    which = which.ravel()
    nearest, _ = cKDTree(places).query(places, k=2)
    step = 0.45 * float(np.median(nearest[:, 1])) / np.sqrt(counts.max())
    order = np.argsort(which, kind="stable")
    rank, directions = sunflower(order, counts)
    away = step * np.sqrt(rank)[:, np.newaxis] * directions
    return points + away, " Equal objects are spread around their place."


def _as_clustered(summary: Summary, table: Matrix) -> Matrix:
    """The table in the units in which it was clustered."""
    if is_sparse(table):
        return table
    if summary.mixed is not None or np.isnan(table).any():
        return comparable(np.asarray(table))
    preparation = getattr(getattr(summary.model, "_fitted", None), "preparation", None)
    center = getattr(preparation, "center", None)
    if preparation is not None and center is not None and len(center) == table.shape[1]:
        return np.asarray(preparation.apply(table))
    return table


def _title(summary: Summary, axis: int, found: Any) -> str:
    loadings = found.loadings[axis]
    size = np.abs(loadings)
    if not size.max(initial=0.0) > 0:
        return ""
    ranked = np.argsort(-size, kind="stable")
    order = [int(j) for j in ranked[~np.isin(ranked, _opposites(summary))][:_NAMED]]
    parts = [
        f"{'' if loadings[j] > 0 else chr(0x2212)}{shorten(summary.columns[j], 24)}"
        for j in order
        if size[j] >= _PART * size.max()
    ]
    while len(parts) > 1 and len(listed(parts)) > _AXIS_ROOM:
        parts.pop()
    return f"PC {axis + 1}, {percent(float(found.shares[axis]))} of the variance: {listed(parts)}"


def _opposites(summary: Summary) -> list[int]:
    """The second value of text columns with two: it says the same as the first."""
    return [g.members[1] for g in column_groups(summary) if g.values and len(g.members) == 2]


def _arrows(summary: Summary, loadings: FloatArray, points: FloatArray) -> tuple[Arrow, ...]:
    """The columns with the longest arrows, scaled to the spread of the points."""
    length = np.hypot(*loadings)
    if not length.max(initial=0.0) > 0:
        return ()
    order = np.argsort(-length, kind="stable")
    order = order[~np.isin(order, _opposites(summary))][:_ARROWS]
    kept = [int(j) for j in order if length[j] >= _SHORTEST * length.max()]
    reach = 0.8 * float(np.quantile(np.hypot(*points.T), 0.9)) / float(length.max())
    return tuple(
        Arrow(shorten(summary.columns[j], 28), *(float(value) * reach for value in loadings[:, j]))
        for j in kept
    )


# --- graphs ---------------------------------------------------------------------------------------


def _by_graph(summary: Summary, *, is_needed: bool) -> Iterator[Layout]:
    A = summary.affinities
    most = _LARGEST_GRAPH if is_needed else _LARGEST_CHOICE
    if A is None or not 3 <= summary.n_objects <= most:
        return
    links = graph_links(A)
    if not links.nnz:
        return
    what = "Linked objects" if summary.has_given_links else "Similar objects"
    reading = f"{what} are close to each other; the axes have no meaning."
    points = graph_map(A, summary.memberships)
    if summary.has_given_links and summary.n_objects <= SMALL_GRAPH:
        points = stress_map(A, points)
    note = "positions from a graph layout"
    yield Layout("Graph", principal_components(points), reading, note=note)
    if summary.n_clusters > 1 and not is_needed:
        yield _spectral(summary, links)


def _spectral(summary: Summary, links: sp.csr_array) -> Layout:
    """Eigenvectors of the normalized graph, in the two directions in which they vary most."""
    walk = walk_vectors(links, max(summary.n_clusters, 3))
    scale = np.abs(walk).max(axis=0)
    points = principal_components(walk / np.where(scale > 0, scale, 1.0))
    reading = (
        "Eigenvectors of the graph of similarities, which the clusters are found from; clusters "
        "that are hardly linked are far apart."
    )
    return Layout("Spectral embedding", points, reading)
