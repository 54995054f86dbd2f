"""A model as a small piece of HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from soffit._wording import count_of, shorten
from soffit.results.fit_quality import agreement_sentence, settings
from soffit.results.sentences import choice_made, edited, uncertainty
from soffit.results.summary import Summary

_MOST_ROWS = 20
_LONGEST_VALUE = 48
_LONGEST_NAME = 40
_LONGEST_EDIT = 400

# Greys are shades of the page's own text, so that light and dark pages both work.
_STYLE = """<style>
.soffit-summary{display:inline-block;max-width:46em;padding:.6em .9em;font-size:13px;
line-height:1.5;border:1px solid rgba(128,128,128,.35);border-radius:6px;
color:inherit;background:transparent}
.soffit-summary code{font-size:12px;padding:0 .35em;border-radius:4px;color:inherit;
background:rgba(128,128,128,.15)}
.soffit-summary table{border-collapse:collapse;margin:.5em 0 0;border:0;color:inherit;
font-size:inherit}
.soffit-summary th,.soffit-summary td{padding:.1em .9em .1em 0;text-align:left;border:0;
background:transparent;color:inherit;font-variant-numeric:tabular-nums}
.soffit-summary th{font-weight:600;border-bottom:1px solid rgba(128,128,128,.35)}
.soffit-summary .bar{display:inline-block;width:7em;height:.7em;margin-right:.5em;
border-radius:2px;background:rgba(128,128,128,.18)}
.soffit-summary .bar span{display:block;height:100%;border-radius:2px;background:#2f83c5}
.soffit-summary .bar.sure span{background:#1f9e77}
.soffit-summary .bar.lasting span{background:#c77d0a}
.soffit-summary .quiet{opacity:.7}
</style>"""


def summary_html(model: Any) -> str:
    """A model as HTML that needs nothing else.

    Parameters
    ----------
    model : estimator
        Any model of soffit, fitted or not.

    Returns
    -------
    str
        HTML below 20 kB. All names and values in it are escaped.

    Examples
    --------
    >>> from soffit import SoftClustering
    >>> from soffit.results.notebook import summary_html
    >>> "n_clusters=3" in summary_html(SoftClustering(3))
    True
    """
    name = f"<b>{escape(type(model).__name__)}</b>"
    fitted = vars(model)
    if "memberships_" not in fitted and "label_distributions_" not in fitted:
        return _page([f'{name} <span class="quiet">not fitted</span>', _parameters(model)])
    summary = Summary.of(model)
    objects = count_of(summary.n_objects, "object")
    head = f"{name} {objects} in {count_of(summary.n_clusters, summary.noun)}"
    return _page([head, _parameters(model), _findings(summary)], _table(summary))


# --- parts of the page ----------------------------------------------------------------------------


def _page(lines: list[str], table: str = "") -> str:
    body = "".join(f"<div>{line}</div>" for line in lines if line)
    return f'{_STYLE}<div class="soffit-summary">{body}{table}</div>'


def _parameters(model: Any) -> str:
    """The parameters that differ from their defaults."""
    shown = [
        f"<code>{escape(setting.name)}={escape(shorten(setting.value, _LONGEST_VALUE))}</code>"
        for setting in settings(model)
        if setting.is_changed
    ]
    return " ".join(shown) or '<span class="quiet">all parameters at their defaults</span>'


def _findings(summary: Summary) -> str:
    """Sentences about the fit as a whole."""
    sentences = [_progress(summary), uncertainty(summary)]
    if summary.agreement is not None:
        sentences.append(agreement_sentence(summary.agreement))
    sentences += [choice_made(summary), escape(shorten(edited(summary), _LONGEST_EDIT))]
    return " ".join(sentence for sentence in sentences if sentence)


def _progress(summary: Summary) -> str:
    if not hasattr(summary.model, "converged_"):
        return ""
    stop = summary.stop
    if stop is None:
        return f"Converged after {count_of(int(summary.model.n_iter_), 'iteration')}."
    after = count_of(stop.n_iter, "iteration")
    return f"<b>Not converged</b> after {after}: {escape(stop.cause(parameters=True))}."


def _table(summary: Summary) -> str:
    sizes, k = summary.sizes, summary.n_clusters
    # All in their order, or the largest ones by size.
    rows = np.arange(k) if k <= _MOST_ROWS else np.argsort(-sizes, kind="stable")[:_MOST_ROWS]
    titles = [summary.noun, "size", "certainty"]
    titles += [] if summary.stability is None else ["stability"]
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join(_row(summary, int(row)) for row in rows)
    more = ""
    if k > _MOST_ROWS:
        left = count_of(k - _MOST_ROWS, f"more {summary.noun}")
        rest = count_of(int(sizes.sum() - sizes[rows].sum()), "object")
        more = f'<div class="quiet">The {_MOST_ROWS} largest. {left} hold {rest}.</div>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _row(summary: Summary, row: int) -> str:
    size, largest = int(summary.sizes[row]), max(int(summary.sizes.max()), 1)
    certainty = float(summary.mean_certainty[row])
    cells = [
        escape(shorten(summary.names[row], _LONGEST_NAME)),
        _bar(size / largest, f"{size:,}", "bar"),
        _bar(certainty, f"{certainty:.2f}", "bar sure"),
    ]
    if summary.stability is not None:
        stability = float(summary.stability[row])
        cells.append(_bar(stability, f"{stability:.2f}", "bar lasting"))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _bar(share: float, text: str, kind: str) -> str:
    if not np.isfinite(share):
        return '<span class="quiet">empty</span>'
    width = 100 * min(max(float(share), 0.0), 1.0)
    return f'<span class="{kind}"><span style="width:{width:.0f}%"></span></span>{text}'
