"""Small drawings inside the page: PNG pictures and SVG charts. They need no script."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit.report.html import text


def png(pixels: NDArray[Any]) -> str:
    """An array of bytes, (h, w) grey or (h, w, 3) coloured, as the address of a picture."""
    values = np.ascontiguousarray(pixels, dtype=np.uint8)
    height, width = values.shape[:2]
    rows = values.reshape(height, -1)
    # Every line begins with the number of its filter, none.
    lines = np.column_stack([np.zeros((height, 1), dtype=np.uint8), rows]).tobytes()
    kind = 0 if values.ndim == 2 else 2
    header = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        _chunk(name, content)
        for name, content in (
            (b"IHDR", header),
            (b"IDAT", zlib.compress(lines, 9)),
            (b"IEND", b""),
        )
    )
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")


def _chunk(name: bytes, content: bytes) -> bytes:
    checked = name + content
    return struct.pack(">I", len(content)) + checked + struct.pack(">I", zlib.crc32(checked))


def picture(values: NDArray[Any], label: str) -> str:
    """Values from 0 to 1 as a picture, dark where they are high."""
    grey = np.round(255 * (1 - np.clip(values, 0, 1)))
    return f'<img class="pixels" src="{png(grey)}" alt="{text(label)}">'


def svg(width: float, height: float, content: Sequence[str], label: str) -> str:
    """A chart that scales with its frame."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{text(label)}" '
        f'preserveAspectRatio="xMidYMid meet">{"".join(content)}</svg>'
    )


def words(x: float, y: float, content: str, kind: str = "", anchor: str = "start") -> str:
    """Text inside a chart."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{_class(kind)}>{text(content)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "") -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"{_class(kind)}/>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def path(points: Sequence[tuple[float, float]], *, closed: bool = False) -> str:
    """The description of a line through points."""
    joined = "L".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f"M{joined}{'Z' if closed else ''}"


def nice_ticks(low: float, high: float, most: int = 4) -> list[float]:
    """A few round numbers between two others."""
    span = high - low
    if not span > 0:
        return [low]
    step = 10.0 ** np.floor(np.log10(span / most))
    for factor in (1, 2, 2.5, 5, 10):
        if span / (step * factor) <= most:
            step *= factor
            break
    first = np.ceil(low / step - 1e-9) * step
    return [float(tick) for tick in np.arange(first, high + step * 1e-6, step)]


def tick_text(value: float) -> str:
    """A tick with as many digits as it needs."""
    return f"{value + 0.0:,.10g}".replace("-", "\N{MINUS SIGN}")
