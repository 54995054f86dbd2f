"""Soft segments of an image."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit.figures.style import (
    DOUBT,
    colour_bar,
    colours,
    dress,
    link_axes,
    relative_certainty,
    scale,
    write_name,
)


def data_address(pixels: NDArray[np.uint8]) -> str:
    """An (h, w, 3) image as an address that holds its PNG."""
    import plotly.express as px

    # plotly's own encoder: the bytes are the same with and without Pillow.
    shown = px.imshow(pixels, binary_string=True, binary_backend="pypng")
    return str(shown.data[0].source)


def as_colours(image: Any) -> FloatArray:
    """Any image as colours between 0 and 1, (h, w, 3)."""
    values = np.asarray(image)
    if values.ndim not in (2, 3) or values.size == 0:
        raise ValueError(f"image must have shape (h, w) or (h, w, c), got {values.shape}.")
    whole = values.dtype == np.uint8
    values = np.nan_to_num(values.astype(np.float64))
    values = values[:, :, None] if values.ndim == 2 else values
    # Three channels, with or without opacity, are colours; anything else is shown as brightness.
    values = values[:, :, :3] if values.shape[2] in (3, 4) else values.mean(axis=2, keepdims=True)
    if whole:
        values = values / 255.0
    elif values.min() < 0 or values.max() > 1:
        values = (values - values.min()) / max(float(np.ptp(values)), 1e-12)
    return np.asarray(np.broadcast_to(values, (*values.shape[:2], 3)))


def shrink(values: FloatArray, step: int) -> FloatArray:
    """Means over squares of `step` by `step` pixels; those at the border may be smaller."""
    if step == 1:
        return values
    rows = np.arange(0, values.shape[0], step)
    columns = np.arange(0, values.shape[1], step)
    sums = np.add.reduceat(np.add.reduceat(values, rows, axis=0), columns, axis=1)
    height = np.diff(np.append(rows, values.shape[0]))
    width = np.diff(np.append(columns, values.shape[1]))
    counts = np.outer(height, width)
    return np.asarray(sums / counts.reshape(counts.shape + (1,) * (values.ndim - 2)))


# Longest side of the images in the figure, and of the interactive panel. Smaller images are
# enlarged, so that borders are thin lines.
_MOST_PIXELS = 640
_MOST_CELLS = 240
_MOST_NUMBERS = 30
# Opacity of the segments over the image.
_OVERLAY = 0.62
_BORDER = (1.0, 0.95, 0.2)


def segments(image: Any, segmentation: Any, *, title: str | None = None) -> Any:
    """Show the segments of an image.

    The first panel is the image with the borders between segments; the second overlays the
    colours of the segments, fainter where a pixel is uncertain; the third shows the certainty.

    Parameters
    ----------
    image : array of shape (h, w) or (h, w, c)
        The image that was segmented.
    segmentation : Segmentation or array of shape (h, w, k)
        What `soffit.segment` returns, or memberships of the pixels.
    title : str, optional
        Another title.

    Returns
    -------
    plotly.graph_objects.Figure
        Two images and a heat map, at most 640 pixels wide and high, with a note if the image is
        larger.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.figures import segments
    >>> image = np.zeros((8, 10))
    >>> image[:, 5:] = 1.0
    >>> figure = segments(image, np.stack([1 - 0.9 * image, 0.9 * image], axis=2))
    >>> [trace.type for trace in figure.data]
    ['image', 'image', 'heatmap']
    """
    colours = as_colours(image)
    memberships = _memberships_of(segmentation, colours.shape)
    height, width, k = memberships.shape
    step = -(-max(height, width) // _MOST_PIXELS)
    small, shares = shrink(colours, step), shrink(memberships, step)
    labels = shares.argmax(axis=2)
    figure = _figure()
    times = max(_MOST_PIXELS // max(labels.shape), 1)
    large = small.repeat(times, axis=0).repeat(times, axis=1)
    fine = labels.repeat(times, axis=0).repeat(times, axis=1)
    figure.add_trace(_image(_with_borders(large, fine), step / times), row=1, col=1)
    figure.add_trace(_image(_overlaid(small, shares), step), row=1, col=2)
    figure.add_trace(_certainty(memberships), row=1, col=3)
    if 1 < k <= _MOST_NUMBERS:
        _write_numbers(figure, labels, step)
    notes = [f"{k} segments, {height} by {width} pixels"]
    if step > 1:
        notes.append(f"shown at {labels.shape[0]} by {labels.shape[1]}")
    panel_height = 400 * min(max(height / width, 0.4), 2.0)
    dress(
        figure, title or "Segments", notes, height=int(130 + panel_height), margin_l=16, margin_b=16
    )
    _tidy(figure)
    return figure


def _memberships_of(segmentation: Any, shape: tuple[int, ...]) -> FloatArray:
    values = np.asarray(getattr(segmentation, "memberships", segmentation), dtype=np.float64)
    if values.ndim != 3 or values.shape[:2] != shape[:2]:
        raise ValueError(
            f"segmentation must have memberships of shape (h, w, k) for an image of "
            f"{shape[0]} x {shape[1]} pixels, got {values.shape}."
        )
    return values


def _with_borders(image: FloatArray, labels: IntArray) -> NDArray[np.uint8]:
    """The image with borders between segments, dark next to light to be visible on any colour."""
    border = np.zeros(labels.shape, dtype=bool)
    border[:, 1:] |= labels[:, 1:] != labels[:, :-1]
    border[1:] |= labels[1:] != labels[:-1]
    pixels = image.copy()
    beside = np.zeros_like(border)
    beside[:-1, :-1] = border[1:, 1:]
    pixels[beside] = 0.0
    pixels[border] = _BORDER
    return _bytes(pixels)


def _write_numbers(figure: Any, labels: IntArray, step: int) -> None:
    """Write the number of each segment at the pixel farthest from its borders."""
    from scipy.ndimage import distance_transform_edt

    for segment in np.unique(labels).tolist():
        inside = np.pad(labels == segment, 1)
        depth = distance_transform_edt(inside)[1:-1, 1:-1]
        row, column = np.unravel_index(int(depth.argmax()), depth.shape)
        x, y = float(column * step), float(row * step)
        write_name(figure, segment, str(segment), x, y, row=1, col=2)


def _overlaid(small: FloatArray, shares: FloatArray) -> NDArray[np.uint8]:
    k = shares.shape[2]
    labels, certainty = shares.argmax(axis=2), shares.max(axis=2)
    weight = (_OVERLAY * relative_certainty(certainty, k))[:, :, None]
    grey = np.repeat(small.mean(axis=2, keepdims=True), 3, axis=2)
    return _bytes((1 - weight) * grey + weight * colours(k)[labels])


def _bytes(pixels: FloatArray) -> NDArray[np.uint8]:
    return np.asarray(np.round(np.clip(pixels, 0.0, 1.0) * 255), dtype=np.uint8)


def _image(pixels: NDArray[np.uint8], step: float) -> Any:
    import plotly.graph_objects as go

    middle = (step - 1) / 2
    return go.Image(
        source=data_address(pixels), x0=middle, y0=middle, dx=step, dy=step, hoverinfo="skip"
    )


def _certainty(memberships: FloatArray) -> Any:
    import plotly.graph_objects as go

    height, width, _ = memberships.shape
    step = -(-max(height, width) // _MOST_CELLS)
    shares = shrink(memberships, step)
    return go.Heatmap(
        z=shares.max(axis=2).astype(np.float32),
        customdata=shares.argmax(axis=2).astype(np.int16),
        x0=(step - 1) / 2,
        y0=(step - 1) / 2,
        dx=step,
        dy=step,
        zmin=1.0 / memberships.shape[2] if memberships.shape[2] > 1 else 0.0,
        zmax=1.0,
        colorscale=scale(DOUBT),
        reversescale=True,
        colorbar=colour_bar("certainty"),
        hovertemplate=(
            "row %{y:.0f}, column %{x:.0f}<br>segment %{customdata}<br>certainty %{z:.2f}"
            "<extra></extra>"
        ),
    )


def _figure() -> Any:
    from plotly.subplots import make_subplots

    titles = ["borders", "segments, faint where uncertain", "certainty"]
    figure = make_subplots(1, 3, horizontal_spacing=0.025, subplot_titles=titles)
    figure.update_annotations(font_size=13)
    return figure


def _tidy(figure: Any) -> None:
    bare = {"showticklabels": False, "ticks": "", "showgrid": False, "showline": False}
    figure.update_xaxes(**bare, constrain="domain")
    figure.update_yaxes(**bare, autorange="reversed", constrain="domain", constraintoward="top")
    # The other panels follow the first.
    figure.update_yaxes(scaleanchor="x", col=1)
    link_axes(figure, 3)
