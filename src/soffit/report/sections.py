"""The sections of the page, each as HTML."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from soffit.report.cluster_cards import MANY, Portrait, portraits
from soffit.report.html import bullets, code, data_block, packed_text, paragraph, table, text
from soffit.report.method import account, placeholders, python_lines, seed_sentence, versions
from soffit.report.page_figures import Picture
from soffit.results.cautions import cautions
from soffit.results.differences import MOST_COLUMNS
from soffit.results.parameters import settings
from soffit.results.sentences import missing_labels
from soffit.results.summary import SCORES, UNCERTAIN_BELOW, Summary
from soffit.results.words import capitalized, count_of, plural, short_percent, shorten, spelled

_HEIGHT_ALONE = 360
# Longer tables of clusters scroll inside their frame.
_LONG_TABLE = 20


def default_title(summary: Summary) -> str:
    """A title from the name of the file, if there is one."""
    path = getattr(summary.source, "path", None)
    count = count_of(summary.n_clusters, summary.noun)
    if path:
        return f"{PurePath(str(path)).name}: {count}"
    return f"Soft {'clustering' if summary.noun == 'cluster' else 'labels'}: {count}"


def _key_figures(summary: Summary) -> list[tuple[str, str, str]]:
    """Value, name and meaning of the numbers at the top of the page."""
    n, k = summary.n_objects, summary.n_clusters
    figures = [
        (f"{n:,}", plural("object", n), ""),
        (f"{k:,}", plural(summary.noun, k), _how_many(summary)),
    ]
    if k > 1:
        mean = f"{summary.certainty.mean():.2f}"
        below = f"largest membership below {UNCERTAIN_BELOW:g}"
        figures += [
            (mean, "mean certainty", f"membership in the most probable {summary.noun}"),
            (f"{summary.n_uncertain:,}", "uncertain", below),
        ]
    if summary.agreement is not None:
        figures.append((f"{summary.agreement:.2f}", "agreement", "of fits on subsamples"))
    if summary.scores is not None:
        figures.append((f"{summary.scores['accuracy']:.2f}", "accuracy", "against the labels"))
    return figures


def _how_many(summary: Summary) -> str:
    if summary.model is None or summary.noun == "class":
        return ""
    if summary.is_edited:
        return "edited after the fit"
    return "chosen from the data" if summary.is_chosen else "as specified"


def tiles(summary: Summary) -> str:
    """The few numbers at the top."""
    items = "".join(
        f"<div><dt>{text(label)}</dt><dd>{text(value)}</dd>"
        + (f'<dd class="hint">{text(hint)}</dd>' if hint else "")
        + "</div>"
        for value, label, hint in _key_figures(summary)
    )
    return f'<dl class="tiles">{items}</dl>'


def warnings_section(summary: Summary, pictures: list[Picture]) -> str:
    """Warnings about the result."""
    items = [
        f"<h3>{text(caution.heading)}</h3><p>{text(caution.seen)} {text(caution.remedy)}</p>"
        for caution in cautions(summary)
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
            if summary.model is not None
            else " in the memberships; it is not recorded how they were computed"
        )
        return f'<p class="fine">No problems were found{where}.</p>'
    return bullets(items, kind="remarks")


# --- clusters -------------------------------------------------------------------------------------


def clusters_section(summary: Summary, colours: list[str]) -> str:
    """The table of clusters, and a description of each."""
    found = portraits(summary)
    cards = [_card(summary, portrait, colours) for portrait in found]
    shown, folded = cards[:MANY], cards[MANY:]
    more = ""
    if len(folded) == 1:
        shown, folded = cards, []
    if folded:
        more = (
            f"<details><summary>Show the {len(folded)} smaller clusters</summary>"
            f'<div class="cards">{"".join(folded)}</div></details>'
        )
    introduction = f"<h3>Descriptions</h3>{_introduction(summary)}"
    described = f'<div class="cards">{"".join(shown)}</div>{more}'
    return _cluster_table(summary, colours) + introduction + described


def _introduction(summary: Summary) -> str:
    if summary.n_clusters == 1:
        return paragraph("There is only one cluster, so there are no differences to describe.")
    if summary.table is not None:
        return paragraph(
            "A column is listed if its mean in the cluster, weighted by memberships, differs from "
            "the mean over all objects by half a standard deviation or more; at most "
            f"{spelled(MOST_COLUMNS, 'column')} per cluster."
        )
    return paragraph("No table was given, so the clusters are described by their members only.")


def _cluster_table(summary: Summary, colours: list[str]) -> str:
    stability = summary.stability
    header = [
        summary.noun.capitalize(),
        "Objects",
        "Share",
        "Expected size",
        "Certainty",
        "Uncertain",
    ]
    meaning = (
        f"Objects are counted in their most probable {summary.noun}; the expected size is the sum "
        "of memberships. Certainty is the mean largest membership of the members. Uncertain "
        f"members have a largest membership below {UNCERTAIN_BELOW:g}."
    )
    if stability is not None:
        header.append("Stability")
        meaning += " Stability is the overlap with the same cluster in other fits; 1 is perfect."
    rows = []
    for row in summary.clusters:
        cells = [
            f"{_dot(colours, row.cluster)}{text(shorten(summary.names[row.cluster]))}",
            f"{row.size:,}",
            text(short_percent(row.size / summary.n_objects)),
            f"{row.expected_size:,.1f}",
            f"{row.certainty:.2f}" if row.size else "empty",
            f"{row.n_uncertain:,}",
        ]
        if stability is not None:
            cells.append(f"{float(stability[row.cluster]):.2f}")
        rows.append(cells)
    is_long = summary.n_clusters > _LONG_TABLE
    return table(meaning, header, rows, numeric=range(1, len(header)), is_long=is_long)


def _card(summary: Summary, portrait: Portrait, colours: list[str]) -> str:
    lists = [("Typical", portrait.typical), ("Least certain", portrait.uncertain)]
    described = "".join(f"<dt>{term}</dt><dd>{words}</dd>" for term, words in lists if words)
    button = (
        f'<button type="button" data-members="{portrait.cluster}">Show its members</button>'
        if summary.sizes[portrait.cluster]
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
    """Figures with their captions; narrow ones in pairs."""
    drawn = [picture for picture in pictures if not picture.failure]
    parts, n_narrow = [], 0
    for position, picture in enumerate(drawn, start=1):
        n_narrow = 0 if picture.is_wide else n_narrow + 1
        is_last = position == len(drawn) or drawn[position].is_wide
        is_alone = n_narrow % 2 == 1 and is_last
        # A single figure gets the full width, but less height.
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
        "The figure appears here if scripts are enabled.</div></figure>"
        + data_block(f"content-{picture.key}", packed_text(picture.content))
    )


def truth_section(summary: Summary, pictures: list[Picture]) -> str:
    """Scores and figures against the labels of the data; nothing without labels."""
    found = summary.scores
    if found is None:
        return ""
    rows = [
        (text(SCORES[key].name), f"{value:.3f}", text(SCORES[key].meaning))
        for key, value in found.items()
    ]
    caption = "Clusters were matched to labels for maximum agreement. " + text(
        missing_labels(summary)
    )
    return (
        '<section id="labels" aria-labelledby="labels-title">'
        '<h2 id="labels-title">Against the labels</h2>'
        + table(caption, ("Score", "Value", "Meaning"), rows, numeric=(1,))
        + figures_section(pictures)
        + "</section>"
    )


# --- how ------------------------------------------------------------------------------------------


def account_section(summary: Summary) -> str:
    """The method and its settings."""
    content = "".join(paragraph(part) for part in account(summary))
    if summary.model is None:
        return content
    found = settings(summary.model)
    changed = [setting for setting in found if setting.is_changed]
    content += "<h3>Settings</h3>"
    if changed:
        verb = "differs from its default" if len(changed) == 1 else "differ from their defaults"
        rows = [
            (_written(setting.name), _written(setting.value), _written(setting.default))
            for setting in changed
        ]
        caption = f"{count_of(len(changed), 'setting')} {verb}."
        content += table(caption, ("Setting", "Value", "Default"), rows)
    else:
        content += paragraph("All settings have their default values.")
    usual = [
        (_written(setting.name), _written(setting.value))
        for setting in found
        if not setting.is_changed
    ]
    if usual:
        label = f"Show {count_of(len(usual), 'setting')} left at the default"
        listing = table("Settings left at their defaults.", ("Setting", "Value"), usual)
        content += f"<details><summary>{label}</summary>{listing}</details>"
    return content


def _written(value: str) -> str:
    return f"<code>{text(value)}</code>"


def recipe_section(summary: Summary, command: str | None) -> str:
    """How to reproduce the result."""
    parts = []
    if command:
        parts += ["<h3>On the command line</h3>", code(command, label="Command line")]
    lines = python_lines(summary)
    if lines:
        parts += ["<h3>In Python</h3>", code(lines, label="Python code")]
        parts.append(paragraph(text(placeholders(summary))))
        # A source that was not read from a file has no options.
        if getattr(summary.source, "notes", ()) and summary.source.options is None:
            parts.append(
                paragraph(
                    "Omitted columns and imputed values are options of <code>read</code>: pass "
                    "those of the command line."
                )
            )
    if not parts:
        parts.append(paragraph("It is not recorded how the memberships were computed."))
    parts.append(paragraph(text(seed_sentence(summary))) if seed_sentence(summary) else "")
    used = ", ".join(f"{text(library)} {text(number)}" for library, number in versions())
    parts.append(paragraph(f"Versions: {used}."))
    return "".join(parts)
