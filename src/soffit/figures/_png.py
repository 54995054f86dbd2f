"""Images as PNG inside a figure, without any image library."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray


def data_address(pixels: NDArray[np.uint8]) -> str:
    """An (h, w, 3) image as an address that holds its PNG."""
    return "data:image/png;base64," + b64encode(png(pixels)).decode("ascii")


def png(pixels: NDArray[np.uint8]) -> bytes:
    """An (h, w, 3) image as a PNG file."""
    height, width, _ = pixels.shape
    # Every line begins with the number of its filter; 0 is none.
    lines = np.zeros((height, 1 + 3 * width), dtype=np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 9))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", checksum)


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
