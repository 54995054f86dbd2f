"""Small pieces of HTML, drawings, and data inside a page.

What comes from a user passes through `text`. PNG pictures and SVG charts need no script.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
import struct
import zlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._wording import visible

_PERCENT = re.compile(r"(\d) %")
_TAG = re.compile(r"(<[^>]*>)")
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*(?![\w-])")
# Where a long name may be broken: after a sign that joins words, and in a run of many letters.
_JOINS = r"_/.:|="
_BREAK = re.compile(
    rf"(?<=[{_JOINS}-])(?=[^\s{_JOINS}-])|(?<=[^\s{_JOINS}-]{{14}})(?=[^\s{_JOINS}-]{{4}})"
)


def packed(data: bytes) -> str:
    """Bytes, compressed, as base64; the same bytes give the same text."""
    return base64.b64encode(gzip.compress(data, compresslevel=9, mtime=0)).decode("ascii")


def packed_text(content: str) -> str:
    """Text, compressed, as base64."""
    return packed(content.encode("utf-8"))


def packed_array(values: NDArray[Any]) -> str:
    """Numbers in little-endian order, as typed arrays of browsers expect on common machines."""
    return packed(np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<")).tobytes())


def data_block(identifier: str, content: str) -> str:
    """An element that a page's scripts read and that no browser runs."""
    return f'<script type="text/plain" id="{identifier}">{content}</script>'


def json_block(identifier: str, value: Any) -> str:
    """Plain JSON inside a page; nothing in it can end the element or open a comment."""
    content = json.dumps(value, separators=(",", ":")).replace("&", r"\u0026")
    content = content.replace("<", r"\u003c").replace(">", r"\u003e")
    return f'<script type="application/json" id="{identifier}">{content}</script>'


def script_hash(script: str) -> str:
    """The source expression with which a content security policy allows one script."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def text(value: Any) -> str:
    """Any value as harmless text of an element or of a quoted attribute."""
    # A number stays with its percent sign.
    return _PERCENT.sub("\\1\N{NO-BREAK SPACE}%", html.escape(visible(str(value)), quote=True))


def name(value: Any) -> str:
    """A user's name for something, kept from changing the direction of the text around it."""
    return f"<bdi>{'<wbr>'.join(map(text, _BREAK.split(str(value))))}</bdi>"


def paragraph(*sentences: str) -> str:
    """Sentences, already HTML, as one paragraph; nothing if there are none."""
    kept = [sentence for sentence in sentences if sentence]
    return f"<p>{_whole_options(' '.join(kept))}</p>" if kept else ""


def _whole_options(content: str) -> str:
    """HTML whose options are not broken at the end of a line, which browsers do after a hyphen."""
    parts = _TAG.split(content)
    parts[::2] = [_OPTION.sub(r'<span class="option">\g<0></span>', part) for part in parts[::2]]
    return "".join(parts)


def bullets(items: Iterable[str], *, kind: str = "") -> str:
    """A list of items, already HTML; nothing if there are none."""
    entries = "".join(f"<li>{item}</li>" for item in items)
    attribute = f' class="{kind}"' if kind else ""
    return f"<ul{attribute}>{entries}</ul>" if entries else ""


def caption_of(content: str) -> str:
    """A caption, already HTML, that stays in view while its table scrolls sideways."""
    return f"<caption><span>{content}</span></caption>"


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Sequence[int] = (),
    is_long: bool = False,
) -> str:
    """A table of cells that are already HTML; the first cell of a row is its heading.

    It scrolls inside its frame, by the keyboard too: a wide one sideways, a long one down.
    """
    frame = f'class="scroll{" tall" if is_long else ""}" tabindex="0"'
    right = set(numeric)

    def attribute(position: int) -> str:
        return ' class="number"' if position in right else ""

    head = "".join(
        f'<th scope="col"{attribute(position)}>{cell}</th>' for position, cell in enumerate(header)
    )
    body = "".join(
        "<tr>"
        + f'<th scope="row">{cells[0]}</th>'
        + "".join(f"<td{attribute(i)}>{cell}</td>" for i, cell in enumerate(cells[1:], start=1))
        + "</tr>"
        for cells in rows
    )
    return (
        f"<div {frame}><table>{caption_of(caption)}"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def code(lines: str, *, label: str) -> str:
    """A block of code, which the keyboard can scroll where it is wider than the page."""
    attributes = f'tabindex="0" role="region" aria-label="{text(label)}"'
    return f"<pre {attributes}><code>{text(lines)}</code></pre>"


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
    style = ",.10g" if abs(value) >= 10_000 else ".10g"
    return f"{value + 0.0:{style}}".replace("-", "\N{MINUS SIGN}")


def dot(cluster: int) -> str:
    """The colour of a cluster."""
    return f'<span class="dot c{cluster}"></span>'
