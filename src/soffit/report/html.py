"""Small pieces of HTML. Everything that comes from a user passes through `text`."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from soffit.results.words import visible


def text(value: Any) -> str:
    """Any value as harmless text of an element or of a quoted attribute."""
    return html.escape(visible(str(value)), quote=True)


def name(value: Any) -> str:
    """A user's name for something, kept from changing the direction of the text around it."""
    return f"<bdi>{text(value)}</bdi>"


def paragraph(*sentences: str) -> str:
    """Sentences, already HTML, as one paragraph; nothing if there are none."""
    kept = [sentence for sentence in sentences if sentence]
    return f"<p>{' '.join(kept)}</p>" if kept else ""


def bullets(items: Iterable[str], *, kind: str = "") -> str:
    """A list of items, already HTML; nothing if there are none."""
    entries = "".join(f"<li>{item}</li>" for item in items)
    attribute = f' class="{kind}"' if kind else ""
    return f"<ul{attribute}>{entries}</ul>" if entries else ""


def table(
    caption: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numeric: Sequence[int] = (),
    is_long: bool = False,
) -> str:
    """A table of cells that are already HTML; the first cell of a row is its heading.

    A long one scrolls inside its frame, by the keyboard too.
    """
    frame = 'class="scroll tall" tabindex="0"' if is_long else 'class="scroll"'
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
        f"<div {frame}><table><caption>{caption}</caption>"
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def code(lines: str, *, label: str) -> str:
    """A block of code, which the keyboard can scroll where it is wider than the page."""
    attributes = f'tabindex="0" role="region" aria-label="{text(label)}"'
    return f"<pre {attributes}><code>{text(lines)}</code></pre>"
