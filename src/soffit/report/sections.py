"""The sections of the page, each as HTML."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from soffit.report._overview import key_figures, scores, unknown_labels
from soffit.report._settings import settings
from soffit.report._subject import BETWEEN, Subject
from soffit.report._words import capitalized, count_of, short_percent, shorten
from soffit.report.cautions import remarks
from soffit.report.cluster_cards import MANY, Portrait, portraits
from soffit.report.embed import data_block, packed_text
from soffit.report.html import bullets, code, paragraph, table, text
from soffit.report.method import account
from soffit.report.page_figures import Picture
from soffit.report.recipe_code import placeholders, python_lines, seed_sentence, versions

_HEIGHT_ALONE = 360
# Longer tables of clusters scroll inside their frame.
_LONG_TABLE = 20


def tiles(subject: Subject) -> str:
    """The few numbers at the top."""
    items = "".join(
        f"<div><dt>{text(label)}</dt><dd>{text(value)}</dd>"
        + (f'<dd class="hint">{text(hint)}</dd>' if hint else "")
        + "</div>"
        for value, label, hint in key_figures(subject)
    )
    return f'<dl class="tiles">{items}</dl>'


def warnings_section(subject: Subject, pictures: list[Picture]) -> str:
    """What to know before trusting the result."""
    items = [
        f"<h3>{text(remark.heading)}</h3><p>{text(remark.seen)} {text(remark.remedy)}</p>"
        for remark in remarks(subject)
    ]
    items += [
        f"<h3>A figure is missing</h3><p>“{text(picture.heading)}” could not be drawn: "
        f"{text(picture.failure)}</p>"
        for picture in pictures
        if picture.failure
    ]
    if not items:
        where = (
            ""
            if subject.model is not None
            else " in the memberships; how they were made is not known here"
        )
        return f'<p class="fine">Nothing unusual was found{where}.</p>'
    return bullets(items, kind="remarks")


# --- clusters -------------------------------------------------------------------------------------


def clusters_section(subject: Subject, colours: list[str]) -> str:
    """The table of clusters, and each cluster in words."""
    found = portraits(subject)
    cards = [_card(subject, portrait, colours) for portrait in found]
    shown, folded = cards[:MANY], cards[MANY:]
    more = ""
    if len(folded) == 1:
        shown, folded = cards, []
    if folded:
        more = (
            f"<details><summary>Show the {len(folded)} smaller clusters</summary>"
            f'<div class="cards">{"".join(folded)}</div></details>'
        )
    words = (
        f'<h3>In words</h3>{_introduction(subject)}<div class="cards">{"".join(shown)}</div>{more}'
    )
    return _cluster_table(subject, colours) + words


def _introduction(subject: Subject) -> str:
    if subject.n_clusters == 1:
        return paragraph("There is only one cluster, so that nothing sets it apart from others.")
    if subject.table is not None:
        return paragraph(
            "Columns are named where the cluster's mean differs from that of all other objects by "
            "half a standard deviation or more, at most three for each cluster."
        )
    return paragraph(
        "The report knows of no columns that could describe the clusters; their members have to."
    )


def _cluster_table(subject: Subject, colours: list[str]) -> str:
    stability = getattr(subject.model, "cluster_stability_", None)
    header = [
        subject.noun.capitalize(),
        "Objects",
        "Share",
        "Expected size",
        "Certainty",
        "Between",
    ]
    meaning = (
        "Objects are counted in their likeliest cluster; the expected size is the sum of "
        "memberships. Certainty is the members' mean membership; those between clusters have none "
        f"of {BETWEEN} or more."
    )
    if stability is not None:
        header.append("Stability")
        meaning += " Stability is the overlap with the same cluster in other fits; 1 is perfect."
    rows = []
    certainty, labels = subject.certainty, subject.labels
    for cluster in range(subject.n_clusters):
        own = certainty[labels == cluster]
        cells = [
            f"{_dot(colours, cluster)}{text(shorten(subject.names[cluster]))}",
            f"{len(own):,}",
            short_percent(len(own) / subject.n_objects),
            f"{subject.memberships[:, cluster].sum():,.1f}",
            f"{own.mean():.2f}" if len(own) else "none",
            f"{int((own < BETWEEN).sum()):,}",
        ]
        if stability is not None:
            cells.append(f"{float(np.asarray(stability)[cluster]):.2f}")
        rows.append(cells)
    is_long = subject.n_clusters > _LONG_TABLE
    return table(meaning, header, rows, numeric=range(1, len(header)), is_long=is_long)


def _card(subject: Subject, portrait: Portrait, colours: list[str]) -> str:
    lists = [("Typical", portrait.typical), ("Least certain", portrait.uncertain)]
    described = "".join(f"<dt>{term}</dt><dd>{told}</dd>" for term, told in lists if told)
    button = (
        f'<button type="button" data-members="{portrait.cluster}">Show its members</button>'
        if subject.sizes[portrait.cluster]
        else ""
    )
    return (
        f'<article class="card"><h4>{_dot(colours, portrait.cluster)}{portrait.title} '
        f"<small>{portrait.size}</small></h4>"
        + paragraph(*portrait.sentences)
        + (f"<dl>{described}</dl>" if described else "")
        + f"{button}</article>"
    )


def _dot(colours: list[str], cluster: int) -> str:
    return f'<span class="dot c{cluster % len(colours)}"></span>'


# --- figures --------------------------------------------------------------------------------------


def figures_section(pictures: list[Picture]) -> str:
    """Figures with their headings and how to read them; narrow ones in pairs."""
    drawn = [picture for picture in pictures if not picture.failure]
    parts, n_narrow = [], 0
    for position, picture in enumerate(drawn, start=1):
        n_narrow = 0 if picture.is_wide else n_narrow + 1
        is_last = position == len(drawn) or drawn[position].is_wide
        is_alone = n_narrow % 2 == 1 and is_last
        # A figure without a neighbour gets all the width, but less height.
        spread = replace(picture, is_wide=True, height=_HEIGHT_ALONE) if is_alone else picture
        parts.append(_figure(spread))
    return f'<div class="figures">{"".join(parts)}</div>' if parts else ""


def _figure(picture: Picture) -> str:
    note = f'<span class="note">{text(capitalized(picture.note))}.</span>'
    width = "wide" if picture.is_wide else "narrow"
    return (
        f'<figure class="{width}" id="figure-{picture.key}"><figcaption>'
        f"<h3>{text(picture.heading)}</h3>"
        f"<p>{text(picture.reading.strip())} {note if picture.note else ''}</p></figcaption>"
        f'<div class="plot" style="height:{picture.height}px" role="img" '
        f'aria-label="{text(picture.heading)}" data-content="content-{picture.key}">'
        "The figure appears here when scripts are allowed.</div></figure>"
        + data_block(f"content-{picture.key}", packed_text(picture.content))
    )


def truth_section(subject: Subject, pictures: list[Picture]) -> str:
    """Scores and figures against the labels of the data; nothing without labels."""
    found = scores(subject)
    if not found:
        return ""
    rows = [(text(term), value, text(meaning)) for term, value, meaning in found]
    caption = "Clusters were matched to labels so that they agree best. " + text(
        unknown_labels(subject)
    )
    return (
        '<section id="labels" aria-labelledby="labels-title">'
        '<h2 id="labels-title">Against the labels</h2>'
        + table(caption, ("Score", "Value", "Meaning"), rows, numeric=(1,))
        + figures_section(pictures)
        + "</section>"
    )


# --- how ------------------------------------------------------------------------------------------


def account_section(subject: Subject) -> str:
    """What was done, and with which settings."""
    told = "".join(paragraph(part) for part in account(subject))
    if subject.model is None:
        return told
    found = settings(subject.model)
    changed = [setting for setting in found if setting.is_changed]
    told += "<h3>Settings</h3>"
    if changed:
        verb = "differs from its default" if len(changed) == 1 else "differ from their defaults"
        rows = [
            (_written(setting.name), _written(setting.value), _written(setting.default))
            for setting in changed
        ]
        caption = f"{count_of(len(changed), 'setting')} {verb}."
        told += table(caption, ("Setting", "Value", "Default"), rows)
    else:
        told += paragraph("All settings have their default values.")
    usual = [
        (_written(setting.name), _written(setting.value))
        for setting in found
        if not setting.is_changed
    ]
    if usual:
        summary = f"Show {count_of(len(usual), 'setting')} left at the default"
        listing = table("Settings left at their defaults.", ("Setting", "Value"), usual)
        told += f"<details><summary>{summary}</summary>{listing}</details>"
    return told


def _written(value: str) -> str:
    return f"<code>{text(value)}</code>"


def recipe_section(subject: Subject, command: str | None) -> str:
    """How to get the same result again."""
    parts = []
    if command:
        parts += ["<h3>On the command line</h3>", code(command, label="Command line")]
    lines = python_lines(subject)
    if lines:
        parts += ["<h3>In Python</h3>", code(lines, label="Python code")]
        parts.append(paragraph(text(placeholders(subject))))
        # A source that was not read from a file does not know how it was made.
        if getattr(subject.source, "notes", ()) and subject.source.options is None:
            parts.append(
                paragraph(
                    "Columns left out, values filled in and the like are options of "
                    "<code>read</code>: pass those of the command line."
                )
            )
    if not parts:
        parts.append(paragraph("How the memberships were made is not known to this report."))
    parts.append(paragraph(text(seed_sentence(subject))) if seed_sentence(subject) else "")
    used = ", ".join(f"{text(library)} {text(number)}" for library, number in versions())
    parts.append(paragraph(f"Versions: {used}."))
    return "".join(parts)
