"""The affinity matrix and its reconstruction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._parameters import OrNone, WholeNumber, check_parameter
from soffit._threads import row_blocks
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.factorize.divergence.placement import ColumnRows
from soffit.factorize.simplex.placement import FittedRows
from soffit.figures.style import DIFFERENCE, SHARE, colour_bar, dress, link_axes, scale
from soffit.fitting.data import of_distinct_objects
from soffit.fitting.fitted import SimilarityPlacer
from soffit.memberships.measures import group_sums
from soffit.results.summary import Summary

# Solvers that fit the diagonal as well; all others for squared errors omit it.
_WITH_DIAGONAL = ("gradient", "growth", "penalty")
_SEED = 20050721


@dataclass(frozen=True, eq=False)
class Factored:
    """A matrix and its factorization: rows diag(scale) rows'.

    Pairs (i, i) count if `diagonal`.
    """

    matrix: Matrix
    rows: FloatArray
    scale: FloatArray
    diagonal: bool
    name: str
    formula: str


@dataclass(frozen=True, eq=False)
class Pixels:
    """Means of both over blocks of pairs, NaN where a block has no pair that counts.

    `place` is the block of each object, in ascending order of the objects' own numbers.
    """

    observed: FloatArray
    fitted: FloatArray
    place: IntArray


def factored_of(model: Any) -> Factored:
    """What the model's loss compares."""
    fitted: Any = getattr(model, "_fitted", None)
    placer = None if fitted is None else fitted.placer
    if not isinstance(placer, SimilarityPlacer) or "factor_" not in fitted.attributes:
        raise ValueError(
            f"{type(model).__name__} holds no factorization of pairwise affinities. Pass a fitted "
            "model, such as SoftClustering; results and memberships alone do not contain what was "
            "factorized."
        )
    extension, normalized = placer.extension, placer.normalization
    matrix = placer.factorized(model.side_information_)
    if isinstance(extension, FittedRows):
        diagonal = getattr(model, "solver", "rows") in _WITH_DIAGONAL
        corrected = extension.mean_degree is not None
        formula = "√(dᵢdⱼ) GSGᵀ" if corrected else "GSGᵀ"
        name = "affinities" if normalized.factors is None else "normalized affinities"
        return Factored(matrix, extension.rows, extension.scale, diagonal, name, formula)
    if isinstance(extension, ColumnRows):
        # A hierarchy reports its top level, which need not be what was fitted last.
        return Factored(matrix, model.factor_, model.scale_, True, "affinities", "HΛHᵀ")
    plain = getattr(model, "normalization", None) is None
    name = "affinities" if plain else "normalized affinities"
    ones = np.ones(model.factor_.shape[1])
    return Factored(matrix, model.factor_, ones, False, name, "GGᵀ")


def blocks(labels: IntArray, certainty: FloatArray, most: int) -> IntArray:
    """Block of each object: objects sorted by cluster are cut into even parts.

    Single objects are sorted by certainty within a cluster; objects of larger blocks are shuffled.
    Objects of equal certainty are often neighbours, and blocks of them would show their links as a
    bright diagonal that is not due to clusters.
    """
    n = len(labels)
    inside = -certainty if n <= most else np.random.default_rng(_SEED).permutation(n)
    order = np.lexsort((inside, labels))
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n) * min(most, n) // n
    return place


def average(fit: Factored, place: IntArray) -> Pixels:
    """Means over the pairs of every two blocks."""
    p = int(place.max()) + 1
    sizes = np.bincount(place).astype(np.float64)
    pairs = np.outer(sizes, sizes)
    observed = _block_sums(fit.matrix, place, p)
    rows = fit.rows.astype(np.float64, copy=False)
    scale = np.asarray(fit.scale, dtype=np.float64)
    sums = group_sums(rows, place, p)
    fitted = (sums * scale) @ sums.T
    if not fit.diagonal:
        own = np.arange(p)
        pairs[own, own] -= sizes
        itself = np.asarray(fit.matrix.diagonal(), dtype=np.float64)
        observed[own, own] -= np.bincount(place, itself, p)
        squares = rows.power(2) if is_sparse(rows) else rows**2
        fitted[own, own] -= np.bincount(place, squares @ scale, p)
    known = pairs > 0
    blank = np.full((p, p), np.nan)
    return Pixels(
        observed=np.divide(observed, pairs, out=blank.copy(), where=known),
        fitted=np.divide(fitted, pairs, out=blank, where=known),
        place=place,
    )


def average_tuples(
    tuples: IntArray, values: FloatArray, fitted: FloatArray, place: IntArray
) -> Pixels:
    """Means over the tuples that hold an object of either block, in different places."""
    p = int(place.max()) + 1
    inside = place[tuples]
    first, second = np.nonzero(~np.eye(tuples.shape[1], dtype=bool))
    cells = (inside[:, first] * p + inside[:, second]).ravel()
    times = len(first)

    def total(weights: FloatArray) -> FloatArray:
        sums = np.bincount(cells, np.repeat(weights, times), p * p)
        return np.asarray(sums.reshape(p, p), dtype=np.float64)

    count = total(np.ones(len(tuples)))
    blank = np.full((p, p), np.nan)
    return Pixels(
        observed=np.divide(total(values), count, out=blank.copy(), where=count > 0),
        fitted=np.divide(total(fitted), count, out=blank, where=count > 0),
        place=place,
    )


def _block_sums(A: Matrix, place: IntArray, p: int) -> FloatArray:
    """Sums of the entries in every two blocks, a few rows of the matrix at a time."""
    total = np.zeros(p * p)
    if is_sparse(A):
        for rows in row_blocks((A.shape[0], 64)):
            piece = A[rows]
            own = np.repeat(place[rows], np.diff(piece.indptr))
            total += np.bincount(own * p + place[piece.indices], piece.data, p * p)
        return total.reshape(p, p)
    order = np.argsort(place, kind="stable")
    first = np.searchsorted(place[order], np.arange(p))
    table = total.reshape(p, p)
    for rows in row_blocks(A.shape):
        piece = np.asarray(A[rows], dtype=np.float64)[:, order]
        np.add.at(table, place[rows], np.add.reduceat(piece, first, axis=1))
    return table


_MOST_PIXELS = 300
# A block of a sparse matrix should hold about this many entries, so that most are not blank.
_ENTRIES = 3.0
_LEAST_PIXELS = 40


def reconstruction(model: Any, *, max_pixels: int | None = None, title: str | None = None) -> Any:
    r"""Show the fitted affinities and their reconstruction :math:`G S G^\top`.

    Objects are sorted by cluster, then by certainty. Larger matrices are averaged over random
    blocks of objects of a cluster.
    Affinities and reconstruction have one colour scale; the third panel is their difference.
    The panels show the two sides of the loss: affinities after normalization, with the degree
    correction, and blank on the diagonal if the loss omits it. A `HigherOrder` model
    shows means over the tuples that hold both objects.

    Parameters
    ----------
    model : fitted model
        Any model of this package that factorizes affinities.
    max_pixels : int, optional
        Maximum number of rows in the figure: 300 by default, and fewer for a sparse matrix, so that
        a block holds a few links.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        Three heat maps: affinities, reconstruction, difference.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit import SoF
    >>> from soffit.figures import reconstruction
    >>> A = np.kron(np.eye(2), np.ones((4, 4)))
    >>> model = SoF(2, affinity="precomputed", random_state=7).fit(A)
    >>> figure = reconstruction(model)
    >>> bool(np.nanmax(abs(figure.data[2].z)) < 0.01)
    True
    """
    check_parameter("max_pixels", max_pixels, OrNone(WholeNumber(1)))
    shown = Summary.of(model)
    if hasattr(model, "tuples_"):
        pixels, words = _of_tuples(model, shown, max_pixels)
    else:
        fit = factored_of(model)
        most = _usual_pixels(fit.matrix) if max_pixels is None else max_pixels
        labels, certainty = (
            of_distinct_objects(vars(model), values) for values in (shown.labels, shown.certainty)
        )
        pixels = average(fit, blocks(labels, certainty, most))
        words = (fit.name, f"reconstruction {fit.formula}")
    figure = _panels(pixels, words)
    dress(
        figure,
        title or "Affinities and their reconstruction",
        _notes(pixels),
        height=470,
        margin_b=24,
    )
    _layout(figure, pixels)
    return figure


def _usual_pixels(A: Any) -> int:
    if not is_sparse(A):
        return _MOST_PIXELS
    return int(min(_MOST_PIXELS, max(_LEAST_PIXELS, np.sqrt(A.nnz / _ENTRIES))))


def _of_tuples(model: Any, shown: Any, max_pixels: int | None) -> tuple[Pixels, tuple[str, str]]:
    G = np.asarray(model.factor_, dtype=np.float64)
    fitted = G[model.tuples_].prod(axis=1).sum(axis=1)
    held = model.tuples_.size * (model.tuples_.shape[1] - 1)
    most = int(min(_MOST_PIXELS, max(_LEAST_PIXELS, np.sqrt(held / _ENTRIES))))
    place = blocks(shown.labels, shown.certainty, most if max_pixels is None else max_pixels)
    pixels = average_tuples(model.tuples_, model.tuple_values_, fitted, place)
    return pixels, ("affinities of tuples", "reconstruction")


def _notes(pixels: Pixels) -> list[str]:
    n, p = len(pixels.place), len(pixels.observed)
    if p < n:
        return ["objects sorted by cluster", f"{n:,} objects averaged to {p} by {p} blocks"]
    return ["objects sorted by cluster, then by certainty"]


def _panels(pixels: Pixels, words: tuple[str, str]) -> Any:
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    titles = [*words, "difference"]
    figure = make_subplots(1, 3, horizontal_spacing=0.04, subplot_titles=titles)
    figure.update_annotations(font_size=13)
    panels = (
        (pixels.observed, "coloraxis", "affinity"),
        (pixels.fitted, "coloraxis", "reconstruction"),
        (pixels.observed - pixels.fitted, "coloraxis2", "difference"),
    )
    for number, (z, axis, name) in enumerate(panels, start=1):
        trace = go.Heatmap(
            z=z.astype(np.float32) if z.size > 10_000 else z,
            coloraxis=axis,
            hoverongaps=False,
            hovertemplate=f"rows %{{y}} and %{{x}}<br>{name} %{{z:.3g}}<extra></extra>",
        )
        figure.add_trace(trace, row=1, col=number)
    return figure


def _layout(figure: Any, pixels: Pixels) -> None:
    low, high = _limits(pixels)
    gap = max(_most(np.abs(pixels.observed - pixels.fitted)), 1e-12)
    figure.update_layout(
        coloraxis={
            "colorscale": scale(SHARE),
            "cmin": low,
            "cmax": high,
            "colorbar": {
                **colour_bar("affinity"),
                "x": 1.01,
                "y": 0.98,
                "yanchor": "top",
                "len": 0.47,
            },
        },
        coloraxis2={
            "colorscale": scale(DIFFERENCE),
            "cmin": -gap,
            "cmax": gap,
            "colorbar": {
                **colour_bar("difference"),
                "x": 1.01,
                "y": 0.0,
                "yanchor": "bottom",
                "len": 0.47,
            },
        },
    )
    hidden = {"showticklabels": False, "ticks": "", "showgrid": False, "constrain": "domain"}
    figure.update_xaxes(**hidden)
    figure.update_yaxes(**hidden, autorange="reversed", constraintoward="top")
    # The other panels follow the first.
    figure.update_yaxes(scaleanchor="x", col=1)
    link_axes(figure, 3)


def _limits(pixels: Pixels) -> tuple[float, float]:
    high = max(_most(pixels.observed), _most(pixels.fitted), 1e-12)
    low = min(float(np.nanmin(pixels.observed, initial=0.0)), 0.0)
    return low, high


def _most(values: FloatArray) -> float:
    """The largest value, without a few outliers that would dominate the colour scale."""
    known = values[np.isfinite(values)]
    return float(np.quantile(known, 0.998)) if known.size else 0.0
