"""The affinities beside what the clusters make of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from soffit._typing import FloatArray, is_sparse
from soffit.figures._model import read_shown
from soffit.figures._pixels import Pixels, average, average_tuples, blocks, fitted_of
from soffit.figures._points import link_axes
from soffit.figures._style import DIFFERENCE, SHARE, colour_bar, dress, scale

_MOST_PIXELS = 300
# A block of a sparse matrix should hold about this many entries, or it is mostly blank.
_ENTRIES = 3.0
_LEAST_PIXELS = 40


def reconstruction(model: Any, *, max_pixels: int | None = None, title: str | None = None) -> Any:
    r"""Show the affinities that were fitted, beside their reconstruction :math:`G S G^\top`.

    Objects are sorted by cluster, then by certainty. Larger matrices are averaged over blocks of
    objects, taken at random inside a cluster.
    Affinities and reconstruction have one colour scale; the third panel is their difference.
    What is shown is what the model's loss compares: affinities after normalization, with the
    degree correction, without the diagonal where that is left out (blank). A `HigherOrder` model
    shows means over the tuples that hold both objects.

    Parameters
    ----------
    model : fitted model
        Any model of this package that factorizes affinities.
    max_pixels : int, optional
        Most rows of the picture: 300 by default, and fewer for a sparse matrix, so that a block
        holds a few links.
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
    if max_pixels is not None and (isinstance(max_pixels, bool) or max_pixels < 1):
        raise ValueError(f"max_pixels must be at least 1, got {max_pixels!r}; try 300.")
    shown = read_shown(model)
    if hasattr(model, "tuples_"):
        pixels, words = _of_tuples(model, shown, max_pixels)
    else:
        fit = fitted_of(model)
        most = _usual_pixels(fit.matrix) if max_pixels is None else max_pixels
        pixels = average(fit, blocks(shown.labels, shown.certainty, most))
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
    """The largest value, apart from a few outliers that would leave all else blank."""
    known = values[np.isfinite(values)]
    return float(np.quantile(known, 0.998)) if known.size else 0.0
