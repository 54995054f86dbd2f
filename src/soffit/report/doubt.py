"""Objects between clusters: their values beside what is typical of either."""

from __future__ import annotations

import numpy as np

from soffit.report.drawing import picture
from soffit.report.html import name, paragraph, text
from soffit.report.overview import dot
from soffit.results.between import Between, between, least_certain
from soffit.results.pixel_grid import PixelGrid
from soffit.results.summary import CLEAR_FROM, Summary
from soffit.results.words import count_of, short_percent, shorten

_MOST = 6


def between_section(summary: Summary) -> str:
    """A card for each of the least certain objects; nothing if all are clear."""
    found = least_certain(summary, _MOST)
    if not found:
        return ""
    grid = PixelGrid.of(summary)
    cards = "".join(_card(summary, between(summary, position), grid) for position in found)
    n = int(np.count_nonzero(summary.certainty < CLEAR_FROM))
    more = f" The {len(found)} least certain ones are shown." if n > len(found) else ""
    verb = "does" if n == 1 else "do"
    words = f"{count_of(n, 'object')} {verb} not clearly belong to one {summary.noun}.{more}"
    return (
        '<section id="between" aria-labelledby="between-title">'
        f'<h2 id="between-title">Objects between {summary.plural}</h2>{paragraph(words)}'
        f'<div class="cards">{cards}</div></section>'
    )


def _card(summary: Summary, found: Between, grid: PixelGrid | None) -> str:
    shares = "".join(
        f'<span class="c{cluster}" style="width:{100 * share:.1f}%"></span>'
        for cluster, share in zip(found.clusters, found.shares, strict=True)
    )
    words = ", ".join(
        f"{short_percent(share)} {text(shorten(summary.name_of(cluster)))}"
        for cluster, share in zip(found.clusters, found.shares, strict=True)
    )
    heading = name(shorten(summary.id_of(found.position)))
    is_number = summary.ids is None or summary.ids[found.position].isdecimal()
    kind = "Object " if is_number else ""
    content = _pictures(summary, found, grid) if grid is not None else _values(summary, found)
    return (
        f'<article class="card between"><h3>{kind}{heading}</h3>'
        f'<div class="size">{shares}</div><p>{words}.</p>{content}</article>'
    )


def _values(summary: Summary, found: Between) -> str:
    sentence = paragraph(text(found.sentence(summary))) if found.links or found.columns else ""
    if not found.columns:
        return sentence
    heads = "".join(
        f'<th scope="col">{dot(cluster)}{text(shorten(summary.names[cluster], 16))}</th>'
        for cluster in found.clusters
    )
    rows = "".join(
        f'<tr><th scope="row">{name(shorten(item.column, 28))}</th><td>{text(item.own)}</td>'
        + "".join(
            f"<td{_mark(item.nearer == side)}>{text(shorten(typical, 24))}</td>"
            for side, typical in enumerate((item.first, item.second))
        )
        + "</tr>"
        for item in found.columns
    )
    return (
        f'{sentence}<table class="compare"><caption class="sr">Values of the object and means of '
        f"both {summary.plural}; the nearer one is marked</caption><thead><tr><td></td>"
        f'<th scope="col">it</th>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    )


def _mark(is_nearer: bool) -> str:
    return ' class="nearer"' if is_nearer else ""


def _pictures(summary: Summary, found: Between, grid: PixelGrid) -> str:
    means = summary.means
    if means is None:
        return ""
    own = grid.picture(np.asarray(summary.table)[found.position])
    parts = [f"<figure>{picture(own, 'The object')}<figcaption>it</figcaption></figure>"]
    for cluster in found.clusters:
        label = summary.name_of(cluster)
        mean = picture(grid.picture(means.inside[cluster]), f"Mean of {label}")
        parts.append(f"<figure>{mean}<figcaption>{text(shorten(label, 20))}</figcaption></figure>")
    return f'<div class="pictures">{"".join(parts)}</div>'
