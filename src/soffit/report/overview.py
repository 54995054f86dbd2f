"""What was found: lead, warnings, a card per cluster, and the objects between clusters."""

from __future__ import annotations

from inspect import signature
from pathlib import PurePath

import numpy as np

from soffit._typing import is_sparse
from soffit._wording import (
    Say,
    capitalized,
    count_of,
    listed,
    percent,
    plural,
    short_percent,
    shorten,
)
from soffit.report.html import bullets, dot, name, paragraph, picture, text
from soffit.results.cautions import Caution, cautions, checks
from soffit.results.differences import Difference
from soffit.results.members import (
    Between,
    Members,
    between,
    in_short,
    least_certain,
    overlap_with,
)
from soffit.results.sentences import differing, division, headline
from soffit.results.summary import CLEAR_FROM, UNCERTAIN_BELOW, Summary

# A difference from here on, in standard deviations, is called very high or very low.
_VERY = 1.5
# With more clusters than this, the largest are shown first.
_MANY = 12
# Words or genes named per cluster.
_MOST_WORDS = 5


def default_title(summary: Summary) -> str:
    """A title from the name of the file, if there is one."""
    path = getattr(summary.source, "path", None)
    count = count_of(summary.n_clusters, summary.noun)
    if path:
        return f"{PurePath(str(path)).name}: {count}"
    return f"Soft {'clustering' if summary.noun == 'cluster' else 'labels'}: {count}"


def lead(summary: Summary, say: Say) -> str:
    """The first sentences."""
    advice = division(summary)
    more = "" if advice is None else capitalized(say(advice))
    return text(" ".join(filter(None, (headline(summary), differing(summary), more))))


def facts(summary: Summary) -> str:
    """The few numbers below them."""
    items = "".join(
        f"<div><dt>{text(label)}</dt><dd>{text(value)}</dd>"
        + (f'<dd class="hint">{text(hint)}</dd>' if hint else "")
        + "</div>"
        for value, label, hint in _key_figures(summary)
    )
    return f'<dl class="tiles">{items}</dl>'


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
    if summary.is_chosen:
        return "chosen from the data"
    default = signature(type(summary.model)).parameters.get("n_clusters")
    is_default = default is not None and default.default == summary.n_clusters
    # Commands have no such default.
    return "the default" if is_default and summary.source is None else "as specified"


# --- warnings -------------------------------------------------------------------------------------


def warnings_list(summary: Summary, say: Say) -> str:
    """Warnings about the result; nothing if there are none."""
    found = cautions(summary)
    if not found:
        return ""
    items = bullets([_warning(caution, say) for caution in found], kind="remarks")
    return (
        '<section id="warnings" aria-labelledby="warnings-title">'
        f'<h2 id="warnings-title" class="sr">Warnings</h2>{items}</section>'
    )


def _warning(caution: Caution, say: Say) -> str:
    words = f"{text(say(caution.seen))} {text(say(caution.remedy))}"
    return f"<h3>{text(caution.heading)}</h3>{paragraph(words)}"


def checks_section(summary: Summary, say: Say) -> str:
    """What was checked, with what result, and what could not be checked."""
    found = checks(summary)
    skipped = [check for check in found if check.skipped]
    fine = [check.subject for check in found if not check.skipped and check.caution is None]
    bad = [check.subject for check in found if check.caution is not None]
    sentences = []
    if fine:
        sentences.append(f"Nothing unusual was found in {listed(fine)}.")
    if bad:
        sentences.append(f"See the warnings above on {listed(bad)}.")
    content = paragraph(*(text(sentence) for sentence in sentences))
    if skipped:
        items = [
            f"{text(capitalized(check.subject))}: {text(say(check.skipped))}" for check in skipped
        ]
        content += "<p>Not checked:</p>" + bullets(items, kind="plain")
    return content


# --- clusters -------------------------------------------------------------------------------------


def cluster_cards(summary: Summary) -> str:
    """A card per cluster: size, what sets it apart, members. Of many, the largest first."""
    order = np.arange(summary.n_clusters)
    if len(order) > _MANY:
        order = np.argsort(-summary.sizes, kind="stable")
    card = _Card(summary)
    cards = [card.html(int(cluster)) for cluster in order]
    shown, folded = cards[:_MANY], cards[_MANY:]
    more = ""
    if len(folded) == 1:
        shown, folded = cards, []
    if folded:
        more = (
            f"<details><summary>Show the {len(folded)} smaller {summary.plural}</summary>"
            f'<div class="cards">{"".join(folded)}</div></details>'
        )
    return f'<div class="cards">{"".join(shown)}</div>{more}'


class _Card:
    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._members = Members(summary)
        # Numbers of rows mean nothing to a reader.
        self._has_names = summary.has_given_links or (
            summary.ids is not None and not all(map(str.isdecimal, summary.ids))
        )

    def html(self, cluster: int) -> str:
        summary = self._summary
        size = int(summary.sizes[cluster])
        share = size / summary.n_objects
        special = in_short(summary, cluster)
        title = capitalized(text(shorten(summary.name_of(cluster)))) + (
            f" \N{MIDDLE DOT} {name(special)}" if special else ""
        )
        button = (
            f'<button type="button" data-members="{cluster}">Show its members</button>'
            if size
            else ""
        )
        return (
            f'<article class="card"><h3>{dot(cluster)}{title} '
            f"<small>{count_of(size, 'object')}, {text(percent(share))}"
            "</small></h3>"
            f'<div class="size"><span class="c{cluster}" style="width:{100 * share:.1f}%">'
            "</span></div>"
            + self._picture(cluster)
            + self._signs(cluster)
            + self._attributes(cluster)
            + paragraph(self._typical(cluster))
            + paragraph(self._leaning(cluster))
            + f"{button}</article>"
        )

    def _picture(self, cluster: int) -> str:
        grid = self._summary.pixels
        if grid is None:
            return ""
        label = f"Mean picture of {self._summary.name_of(cluster)}"
        table, means = self._summary.measured_table()
        typical = "".join(
            picture(grid.picture(table[i]), f"A typical member, {shorten(self._summary.id_of(i))}")
            for i in self._members.typical(cluster)
        )
        mean = picture(grid.picture(means.inside[cluster]), label)
        return f'<div class="pictures">{mean}<span>{typical}</span></div>'

    def _signs(self, cluster: int) -> str:
        """What sets the cluster apart, as short phrases; nothing for single pixels."""
        summary = self._summary
        if summary.means is None or summary.n_clusters == 1 or summary.pixels is not None:
            return ""
        are_words = is_sparse(summary.table)
        found = summary.apart(cluster, _MOST_WORDS) if are_words else summary.apart(cluster)
        if not found:
            return "<p>No single column sets it apart.</p>"
        if are_words:
            return paragraph(f"Frequent: {listed([_word(item) for item in found])}.")
        return bullets([_sign(difference) for difference in found], kind="signs")

    def _attributes(self, cluster: int) -> str:
        """What else is known of its members, such as attributes of nodes, and is special."""
        known = self._summary.attributes
        found = () if known is None else known.apart(cluster)
        return bullets([_sign(difference) for difference in found], kind="signs")

    def _leaning(self, cluster: int) -> str:
        summary = self._summary
        if summary.n_clusters == 1 or not summary.sizes[cluster]:
            return ""
        found = overlap_with(summary, cluster)
        if found is None:
            return "It is well separated from all others."
        other, share = found
        return (
            f"It overlaps most with {text(shorten(summary.name_of(other)))}: "
            f"{text(short_percent(share))} of its membership is there."
        )

    def _typical(self, cluster: int) -> str:
        if not self._has_names:
            return ""
        word, found = self._members.shown(cluster)
        named = listed([name(shorten(self._summary.id_of(i), 40)) for i in found])
        return f"{capitalized(word)}: {named}." if named else ""


def _word(found: Difference) -> str:
    """``hockey (31 %, overall 9 %)``."""
    here, everywhere = map(text, found.values())
    return f"<em>{name(shorten(found.column, 30))}</em> ({here}, overall {everywhere})"


def _sign(found: Difference) -> str:
    """``petal length is high (mean 5.6, overall 3.8)``."""
    label = f"<em>{name(shorten(found.column))}</em>"
    here, everywhere = map(text, found.values())
    side = "up" if found.difference > 0 else "down"
    if found.is_share:
        word = "common" if found.difference > 0 else "rare"
        words = f"{label} is {word} ({here}, overall {everywhere})"
    else:
        word = "high" if found.difference > 0 else "low"
        degree = "very " if abs(found.difference) >= _VERY else ""
        words = f"{label} is {degree}{word} (mean {here}, overall {everywhere})"
    return f'<span class="{side}" aria-hidden="true"></span>{words}'


_MOST = 6


def between_section(summary: Summary) -> str:
    """A card for each of the least certain objects; nothing if all are clear."""
    found = least_certain(summary, _MOST)
    if not found:
        return ""
    cards = "".join(_card(summary, between(summary, position)) for position in found)
    n = int(np.count_nonzero(summary.certainty < CLEAR_FROM))
    # Not simply the least certain ones: pairs of clusters take turns.
    more = f" {len(found)} of them are shown." if n > len(found) else ""
    verb = "does" if n == 1 else "do"
    words = f"{count_of(n, 'object')} {verb} not clearly belong to one {summary.noun}.{more}"
    return (
        '<section id="between" aria-labelledby="between-title">'
        f'<h2 id="between-title">Objects between {summary.plural}</h2>{paragraph(words)}'
        f'<div class="cards">{cards}</div></section>'
    )


def _card(summary: Summary, found: Between) -> str:
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
    content = _values(summary, found) if summary.pixels is None else _pictures(summary, found)
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


def _pictures(summary: Summary, found: Between) -> str:
    grid, (table, means) = summary.pixels, summary.measured_table()
    assert grid is not None
    own = grid.picture(table[found.position])
    parts = [f"<figure>{picture(own, 'The object')}<figcaption>it</figcaption></figure>"]
    for cluster in found.clusters:
        label = summary.name_of(cluster)
        mean = picture(grid.picture(means.inside[cluster]), f"Mean of {label}")
        parts.append(f"<figure>{mean}<figcaption>{text(shorten(label, 20))}</figcaption></figure>")
    return f'<div class="pictures">{"".join(parts)}</div>'
