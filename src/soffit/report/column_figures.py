"""What sets the clusters apart: a heat map of clusters and columns, and distributions."""

from __future__ import annotations

from collections.abc import Callable

from soffit._wording import count_of, number, short_percent, shorten
from soffit.report.html import (
    caption_of,
    dot,
    line,
    name,
    nice_ticks,
    paragraph,
    path,
    svg,
    text,
    tick_text,
    words,
)
from soffit.results.profiles import Distribution, Profile, ProfileRow, distributions
from soffit.results.summary import Summary

# The strongest colour of the heat map, in standard deviations.
_STRONGEST = 2.0
# Charts of more clusters have one line per cluster, without its shape.
_MOST_SHAPES = 10
_MOST_CLUSTERS = 24
# Measures of a chart, in pixels at its usual width.
_WIDTH, _ROW, _THIN_ROW, _FOOT = 270.0, 26.0, 14.0, 20.0
# Letters of a cluster's name beside its row.
_LONGEST = 9


def columns_section(summary: Summary) -> str:
    """The whole section; nothing without columns, or for pixels, which the cards show."""
    own, known = _own_columns(summary), _attributes(summary)
    if not own and not known:
        return ""
    heading = "The columns" if summary.n_clusters == 1 else f"What sets the {summary.plural} apart"
    return (
        '<section id="columns" aria-labelledby="columns-title">'
        f'<h2 id="columns-title">{heading}</h2>{own}{known}</section>'
    )


def _attributes(summary: Summary) -> str:
    """What is known besides, such as attributes of nodes; nothing of it found the clusters."""
    known = summary.attributes
    if known is None:
        return ""
    profile = Profile.of(known)
    both = small_multiples(known) if profile is None else heat_map(known, profile)
    both += "" if profile is None else small_multiples(known)
    said = "<p>Known of the objects, but not used to find the clusters.</p>"
    heading = "" if summary.table is None else "<h3>What else is known</h3>"
    return f'{heading}{said}<div class="profile">{both}</div>'


def _own_columns(summary: Summary) -> str:
    if summary.table is None:
        return ""
    if summary.n_clusters == 1:
        content = paragraph(
            "There is only one cluster, so there are no differences to describe. These are the "
            "values of all objects."
        )
        return content + ("" if summary.pixels is not None else small_multiples(summary))
    if summary.pixels is not None:
        return ""
    profile = Profile.of(summary)
    if profile is None:
        return paragraph("All columns are constant.")
    both = heat_map(summary, profile) + small_multiples(summary)
    return f'<div class="profile">{both}</div>'


# --- the heat map ---------------------------------------------------------------------------------


def heat_map(summary: Summary, profile: Profile) -> str:
    """A table of means, coloured by their difference from the overall mean."""
    heads = "".join(
        f'<th scope="col">{dot(cluster)}{text(shorten(summary.names[cluster], 24))}'
        f"<small>{summary.sizes[cluster]:,}</small></th>"
        for cluster in profile.clusters
    )
    rows = "".join(_row(summary, profile, row) for row in profile.rows)
    return (
        '<div class="scroll" tabindex="0"><table class="heat">'
        f"{caption_of(_caption(summary, profile))}"
        f'<thead><tr><th scope="col">Column</th>{heads}<th scope="col" class="all">All</th></tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _caption(summary: Summary, profile: Profile) -> str:
    what = (
        "Share of the objects with a value other than zero"
        if profile.are_shares
        else "Means; shares of the values of text columns"
        if any(row.value for row in profile.rows)
        else "Means"
    )
    parts = [
        f"{what}, weighted by memberships. The colour is the difference from all objects in "
        "standard deviations: "
        '<span class="key"><i class="heatcell" style="--d:-100"></i>&minus;2 '
        '<i class="heatcell" style="--d:-50"></i>&minus;1 <i class="heatcell" style="--d:0"></i>0 '
        '<i class="heatcell" style="--d:50"></i>+1 <i class="heatcell" style="--d:100"></i>+2'
        "</span>."
    ]
    if profile.n_shown < profile.n_columns:
        parts.append(
            f"The {profile.n_shown} of {count_of(profile.n_columns, 'column')} that separate best."
        )
    if len(profile.clusters) < summary.n_clusters:
        parts.append(f"The {len(profile.clusters)} largest {summary.plural}.")
    return " ".join(parts)


def _row(summary: Summary, profile: Profile, row: ProfileRow) -> str:
    cells = "".join(
        f'<td class="heatcell" style="--d:{_strength(level)}" title="{_hover(*values)}">'
        f"{text(mean)}</td>"
        for level, mean, values in (
            (level, mean, (summary, row, cluster, level, mean))
            for level, mean, cluster in zip(row.levels, row.means, profile.clusters, strict=True)
        )
    )
    value = f' <span class="value">= {name(shorten(row.value, 30))}</span>' if row.value else ""
    return (
        f'<tr><th scope="row">{name(shorten(row.column, 36))}{value}</th>{cells}'
        f'<td class="all">{text(row.overall)}</td></tr>'
    )


def _strength(level: float) -> int:
    return round(100 * max(-1.0, min(1.0, level / _STRONGEST)))


def _hover(summary: Summary, row: ProfileRow, cluster: int, level: float, mean: str) -> str:
    sign = "+" if level >= 0 else "\N{MINUS SIGN}"
    return text(
        f"{shorten(row.name)} in {shorten(summary.name_of(cluster))}: {mean}, overall "
        f"{row.overall} ({sign}{abs(level):.1f} standard deviations)"
    )


# --- distributions --------------------------------------------------------------------------------


def small_multiples(summary: Summary) -> str:
    """One small chart per column that separates the clusters best."""
    if summary.n_clusters > _MOST_CLUSTERS:
        return ""
    found = [item for item in distributions(summary) if item.kind != "presence"]
    if not found:
        return ""
    charts = "".join(_chart(summary, item) for item in found)
    shapes = summary.n_clusters <= _MOST_SHAPES
    what = (
        "Each shape is the distribution of a column inside one cluster; the mark is the median. "
        "The percentage is how much of its variance lies between clusters."
        if shapes
        else "Each line spans the middle half of a cluster; the mark is the median. "
        "The percentage is how much of its variance lies between clusters."
    )
    if summary.n_clusters == 1:
        return f'<div class="multiples">{charts}</div>'
    return (
        f"<div><h3>The columns that separate them best</h3><p>{what}</p>"
        f'<div class="multiples">{charts}</div></div>'
    )


def _chart(summary: Summary, item: Distribution) -> str:
    drawn = _shares(summary, item) if item.kind == "categories" else _numbers(summary, item)
    share = text(f"{short_percent(item.separation)} between {summary.plural}")
    small = f"<small>{share}</small>" if summary.n_clusters > 1 else ""
    return (
        f"<figure><figcaption><h4>{name(shorten(item.name, 40))}</h4>{small}</figcaption>"
        f"{drawn}</figure>"
    )


def _room(summary: Summary) -> float:
    """The width that the names of the clusters take."""
    return 14 + 7.0 * max(len(shorten(label, _LONGEST)) for label in summary.names)


def _label(summary: Summary, cluster: int, y: float) -> str:
    return words(_room(summary) - 7, y, shorten(summary.names[cluster], _LONGEST), "name", "end")


def _numbers(summary: Summary, item: Distribution) -> str:
    k = summary.n_clusters
    shapes = k <= _MOST_SHAPES
    row = _ROW if shapes else _THIN_ROW
    height = k * row + _FOOT + 6
    low, high = float(item.edges[0]), float(item.edges[-1])
    room = _room(summary)
    across = (_WIDTH - room - 6) / (high - low)

    def place(value: float) -> float:
        return room + (min(max(value, low), high) - low) * across

    content = _axis(low, high, place, height, room)
    top = max(float(item.heights.max()), 1e-9)
    for cluster in range(k):
        base = (cluster + 1) * row + 4
        content.append(_label(summary, cluster, base - (4 if shapes else 3)))
        if not summary.expected_sizes[cluster] > 0:
            continue
        first, middle, last = item.quartile_texts(cluster)
        hover = f"{summary.name_of(cluster)}: median {middle}, middle half {first} to {last}"
        title = f"<title>{text(hover)}</title>"
        if shapes:
            points = _outline(item, cluster, place, base, (row + 4) / top)
            content.append(
                f'<path d="{path(points, closed=True)}" class="shape k{cluster}">{title}</path>'
            )
        else:
            x1, x2 = (place(float(q)) for q in item.quartiles[cluster][[0, 2]])
            content.append(
                f'<line x1="{x1:.1f}" y1="{base - 6:.1f}" x2="{max(x2, x1 + 1):.1f}" '
                f'y2="{base - 6:.1f}" class="span k{cluster}">{title}</line>'
            )
        x = place(float(item.quartiles[cluster][1]))
        content.append(
            line(x, base - (11 if shapes else 10), x, base - (0 if shapes else 2), "mid")
        )
    label = f"Distribution of {item.name} in each {summary.noun}"
    return svg(_WIDTH, height, content, shorten(label, 120))


def _outline(
    item: Distribution, cluster: int, at: Callable[[float], float], base: float, scale: float
) -> list[tuple[float, float]]:
    edges, heights = item.edges, item.heights[cluster]
    if item.is_discrete:
        points = [(at(float(edges[0])), base)]
        for left, right, h in zip(edges[:-1], edges[1:], heights, strict=True):
            gap = 0.08 * (right - left)
            y = base - float(h) * scale
            points += [
                (at(float(left + gap)), base),
                (at(float(left + gap)), y),
                (at(float(right - gap)), y),
                (at(float(right - gap)), base),
            ]
        return points
    middles = (edges[:-1] + edges[1:]) / 2
    return [
        (at(float(edges[0])), base),
        *((at(float(x)), base - float(h) * scale) for x, h in zip(middles, heights, strict=True)),
        (at(float(edges[-1])), base),
    ]


def _axis(
    low: float, high: float, at: Callable[[float], float], height: float, room: float
) -> list[str]:
    y = height - _FOOT
    content = [line(room, y, _WIDTH - 6, y, "axis")]
    ticks = nice_ticks(low, high)
    for tick in ticks:
        x = at(tick)
        content.append(line(x, 2, x, y, "grid"))
        anchor = "end" if x > _WIDTH - 24 else "middle"
        shown = tick_text(tick) if len(ticks) > 1 else number(tick)
        content.append(words(x, height - 6, shown, "tick", anchor))
    return content


def _shares(summary: Summary, item: Distribution) -> str:
    """A bar of shares per cluster, and the names of the values above."""
    k, b = item.heights.shape
    row = _ROW * 0.72 if k <= _MOST_SHAPES else _THIN_ROW
    room = _room(summary)
    content, top = _value_names(item, room)
    for cluster in range(k):
        base = top + cluster * row
        content.append(_label(summary, cluster, base + row * 0.62))
        left = room
        for number_of in range(b):
            share = float(item.heights[cluster, number_of])
            width = share * (_WIDTH - room - 6)
            hover = f"{summary.name_of(cluster)}: {item.labels[number_of]} {short_percent(share)}"
            content.append(
                f'<rect x="{left:.1f}" y="{base + 3:.1f}" width="{max(width - 0.7, 0):.1f}" '
                f'height="{row - 6:.1f}" class="s{number_of % 8}">'
                f"<title>{text(hover)}</title></rect>"
            )
            if width > 34:
                content.append(
                    words(
                        left + width / 2,
                        base + row * 0.64,
                        short_percent(share),
                        f"on{number_of % 8}",
                        "middle",
                    )
                )
            left += width
    label = f"Shares of the values of {item.name} in each {summary.noun}"
    return svg(_WIDTH, top + k * row + 4, content, shorten(label, 120))


def _value_names(item: Distribution, room: float) -> tuple[list[str], float]:
    """The names of the values with their colours, in lines, and the height of these."""
    content = []
    x, y = room, 11.0
    for place, label in enumerate(item.labels):
        short = shorten(label, 18)
        width = 6.2 * len(short) + 24
        if place and x + width > _WIDTH + 8:
            x, y = room, y + 16
        content.append(
            f'<rect x="{x:.1f}" y="{y - 8:.1f}" width="9" height="9" class="s{place % 8}"/>'
        )
        content.append(words(x + 13, y, short, "tick"))
        x += width
    return content, y + 7
