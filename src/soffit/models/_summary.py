"""What a notebook shows of a model: its settings and, once fitted, its clusters at a glance."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from sklearn import get_config

from soffit._typing import FloatArray, IntArray

# An object whose most probable cluster has less than this is between clusters.
UNCERTAIN_BELOW = 0.6
_MOST_ROWS = 20
_LONGEST_VALUE = 48
_LONGEST_NAME = 40

# Why a fit ended, where more iterations would not have helped.
_REASONS = {
    "max_time": ", when the time was over",
    "callback": ", when the callback asked to stop",
    "interrupted": ", when it was interrupted",
}

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


class NotebookSummary:
    """Gives an estimator the summary in place of scikit-learn's diagram.

    ``sklearn.set_config(display="text")`` turns it off as it does the diagram; inside a pipeline
    the model is drawn as a part of the pipeline's diagram.
    """

    def _html_repr(self) -> str:
        return summary_html(self)

    # scikit-learn before 1.7 does not ask `_html_repr`.
    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            bundle["text/html"] = self._html_repr()
        return bundle


def summary_html(model: Any) -> str:
    """A model as a small piece of HTML that needs nothing else.

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
    >>> from soffit.models._summary import summary_html
    >>> "n_clusters=3" in summary_html(SoftClustering(3))
    True
    """
    found = _Clusters.of(model)
    name = f"<b>{escape(type(model).__name__)}</b>"
    if found is None:
        lines = [f'{name} <span class="quiet">not fitted</span>', _parameters(model)]
        return _page(lines)
    n, k = found.shares.shape
    head = f"{name} {n:,} {_plural('object', n)} in {k:,} {_plural(found.what, k)}"
    return _page([head, _parameters(model), *_findings(model, found)], _table(found))


@dataclass(frozen=True, eq=False)
class _Clusters:
    """Clusters, or the classes of a classifier, and the objects' shares in them."""

    what: str
    names: list[str]
    shares: FloatArray
    stability: FloatArray | None

    @classmethod
    def of(cls, model: Any) -> _Clusters | None:
        """What a fitted model found; None if it is not fitted."""
        fitted = vars(model)
        if "label_distributions_" in fitted:
            names = [_cut(str(name), _LONGEST_NAME) for name in fitted["classes_"]]
            return cls("class", names, fitted["label_distributions_"], None)
        if "memberships_" not in fitted:
            return None
        shares = fitted["memberships_"]
        stability = fitted.get("cluster_stability_") if getattr(model, "resamples", 0) else None
        return cls("cluster", [str(c) for c in range(shares.shape[1])], shares, stability)

    @property
    def top(self) -> FloatArray:
        """The largest share of each object."""
        return self.shares.max(axis=1)

    def mean_certainty(self) -> FloatArray:
        """Mean top share of the objects in each cluster; NaN for one that nobody is in."""
        k = self.shares.shape[1]
        labels: IntArray = self.shares.argmax(axis=1)
        counts = np.bincount(labels, minlength=k)
        sums = np.bincount(labels, weights=self.top, minlength=k)
        return np.divide(sums, counts, out=np.full(k, np.nan), where=counts > 0)


# --- parts of the page ----------------------------------------------------------------------------


def _page(lines: list[str], table: str = "") -> str:
    body = "".join(f"<div>{line}</div>" for line in lines if line)
    return f'{_STYLE}<div class="soffit-summary">{body}{table}</div>'


def _parameters(model: Any) -> str:
    """The parameters that differ from their defaults."""
    signature = inspect.signature(type(model)).parameters
    shown = [
        f"<code>{escape(name)}={escape(_shown(value))}</code>"
        for name, value in model.get_params(deep=False).items()
        if name not in signature or _shown(value) != _shown(signature[name].default)
    ]
    return " ".join(shown) or '<span class="quiet">all parameters at their defaults</span>'


def _findings(model: Any, found: _Clusters) -> list[str]:
    """Sentences about the fit as a whole."""
    uncertain = float(np.mean(found.top < UNCERTAIN_BELOW))
    sentences = [
        _progress(model),
        f"{uncertain:.1%} of the objects are uncertain (largest membership below "
        f"{UNCERTAIN_BELOW:g}).",
    ]
    if found.stability is not None:
        sentences.append(f"Resamples agree on {model.agreement_:.1%} of the objects.")
    choice = vars(model).get("k_choice_")
    if choice is not None and model.n_clusters is None:
        sentences.append(
            f"The number of clusters was chosen, with confidence {choice.confidence:.2f}."
        )
    return [" ".join(sentence for sentence in sentences if sentence)]


def _progress(model: Any) -> str:
    converged = vars(model).get("converged_")
    if converged is None:
        return ""
    n_iter = model.n_iter_
    after = f"{n_iter:,} {_plural('iteration', n_iter)}"
    if converged:
        return f"Converged after {after}."
    reason = _REASONS.get(vars(model).get("stopped_", ""), "")
    return f"<b>Not converged</b> after {after}{reason}."


def _table(found: _Clusters) -> str:
    sizes = found.shares.sum(axis=0, dtype=np.float64)
    certainty = found.mean_certainty()
    k = len(sizes)
    # All in their order, or the largest ones by size.
    rows = np.arange(k) if k <= _MOST_ROWS else np.argsort(-sizes, kind="stable")[:_MOST_ROWS]
    titles = [found.what, "size", "certainty"] + ([] if found.stability is None else ["stability"])
    head = "".join(f"<th>{title}</th>" for title in titles)
    body = "".join(_row(found, int(row), sizes, certainty) for row in rows)
    more = ""
    if k > _MOST_ROWS:
        left = k - _MOST_ROWS
        rest = sizes.sum() - sizes[rows].sum()
        more = (
            f'<div class="quiet">The {_MOST_ROWS} largest. {left:,} more '
            f"{_plural(found.what, left)} hold {rest:,.1f} objects.</div>"
        )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _row(found: _Clusters, row: int, sizes: FloatArray, certainty: FloatArray) -> str:
    largest = max(float(sizes.max()), np.finfo(np.float64).tiny)
    cells = [
        escape(found.names[row]),
        _bar(sizes[row] / largest, f"{sizes[row]:,.1f}", "bar"),
        _bar(certainty[row], f"{certainty[row]:.2f}", "bar sure"),
    ]
    if found.stability is not None:
        cells.append(_bar(found.stability[row], f"{found.stability[row]:.2f}", "bar lasting"))
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _bar(share: float, text: str, kind: str) -> str:
    if not np.isfinite(share):
        return '<span class="quiet">nobody</span>'
    width = 100 * min(max(float(share), 0.0), 1.0)
    return f'<span class="{kind}"><span style="width:{width:.0f}%"></span></span>{text}'


def _plural(word: str, count: int) -> str:
    if count == 1:
        return word
    return f"{word}es" if word.endswith("s") else f"{word}s"


def _shown(value: Any) -> str:
    return _cut(" ".join(repr(value).split()), _LONGEST_VALUE)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"
