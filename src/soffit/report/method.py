"""The method in sentences, and how to reproduce the result."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any

import numpy as np

from soffit._typing import is_sparse
from soffit._version import __version__
from soffit._wording import Say, count_of, listed, number, shorten, spelled
from soffit.catalogue import MODELS
from soffit.report.html import code, name, paragraph, text
from soffit.results.fit_quality import agreement_sentence, settings, written
from soffit.results.profiles import column_groups
from soffit.results.sentences import choice_evidence, choice_made, edited, standardization
from soffit.results.summary import Summary

_NAMED_COLUMNS = 8

_AFFINITIES = {
    "nearest_neighbors": "Each object was linked to its {neighbors} by {distance}.",
    "relative": "Similarities are computed from {distance}, relative to each object's "
    "neighbourhood.",
    "rbf": "Similarities are Gaussian functions of {distance}.",
    "laplacian": "Similarities decrease exponentially with {distance}.",
    "cosine": "Similarities are cosines of the angles between rows.",
    "precomputed": "Similarities were given.",
}


# Metrics whose names are proper nouns.
_PEOPLE = ("euclidean", "manhattan", "hamming", "jaccard", "minkowski", "canberra", "mahalanobis")


def account_section(summary: Summary, say: Say) -> str:
    """What was clustered, by which method, and how the fit went."""
    return "".join(map(paragraph, _account(summary, say)))


def _account(summary: Summary, say: Say) -> list[str]:
    """Paragraphs, already HTML."""
    first = [*_input(summary), *_notes(summary)]
    if summary.model is None:
        sentences = [
            "The memberships were read from a result file, which does not say how they were "
            "computed."
        ]
        return [" ".join(first), *sentences] if first else sentences
    second = [
        text(say(standardization(summary) or "")),
        _similarities(summary),
        _method(summary),
        _pairs(summary),
    ]
    third = [choice_made(summary), choice_evidence(summary), _fit(summary), _resamples(summary)]
    parts = (first, second, third, [text(edited(summary))])
    return [" ".join(filter(None, part)) for part in parts if any(part)]


# --- input ----------------------------------------------------------------------------------------


def _input(summary: Summary) -> list[str]:
    path = getattr(summary.source, "path", None)
    origin = f" in <code>{text(path)}</code>" if path else ""
    objects = count_of(summary.n_objects, "object")
    kind = summary.kind
    if kind == "table" and summary.columns:
        named = [f"<em>{name(shorten(group.name))}</em>" for group in column_groups(summary)]
        columns = listed(named, most=_NAMED_COLUMNS, noun="columns")
        return [f"The table{origin} has {objects} and {count_of(len(named), 'column')}: {columns}."]
    if kind == "graph":
        links = _links(summary)
        return [f"The graph{origin} has {objects}{links}."]
    if kind in ("distances", "similarities"):
        return [f"The input{origin} holds the {kind} of {objects}."]
    return []


def _links(summary: Summary) -> str:
    A = summary.affinities
    if A is None or not is_sparse(A):
        return ""
    loops = int((np.asarray(A.diagonal()) != 0).sum())
    return f" and {count_of((A.nnz - loops) // 2 + loops, 'link')}"


def _notes(summary: Summary) -> list[str]:
    return [text(note) for note in getattr(summary.source, "notes", ()) or ()]


# --- model ----------------------------------------------------------------------------------------


def _similarities(summary: Summary) -> str:
    model = summary.model
    metric = getattr(model, "metric", None)
    if summary.kind == "graph" or metric is None:
        return ""
    affinity = getattr(model, "affinity", None)
    sentence = _AFFINITIES.get(affinity) if isinstance(affinity, str) else None
    if sentence is None:
        return f"Similarities are computed by <code>{text(_called(affinity))}</code>."
    count = int(getattr(model, "n_neighbors", 0))
    neighbors = f"{count:,} nearest neighbours" if count != 1 else "nearest neighbour"
    return sentence.format(neighbors=neighbors, distance=_distance(metric))


def _distance(metric: Any) -> str:
    named = _called(metric)
    if named == "precomputed":
        return "the given distances"
    return f"{text(named.title() if named in _PEOPLE else named)} distance"


def _called(value: Any) -> str:
    """A short name for the value of a parameter."""
    if isinstance(value, str):
        return value
    return str(getattr(value, "__name__", None) or type(value).__name__)


def _method(summary: Summary) -> str:
    model_name = type(summary.model).__name__
    entry = MODELS.get(model_name)
    sentence = "" if entry is None else entry.words
    return f"The model is <code>{text(model_name)}</code>. {sentence}".strip()


def _pairs(summary: Summary) -> str:
    side = getattr(summary.model, "side_information_", None)
    if side is None:
        return ""
    together, apart = len(side.must), len(side.cannot)
    sentences = [
        f"{spelled(count, 'pair')} of objects {'was' if count == 1 else 'were'} known to belong "
        f"{where}"
        for count, where in ((together, "together"), (apart, "apart"))
        if count
    ]
    return (listed(sentences).capitalize() + ".") if sentences else ""


def _fit(summary: Summary) -> str:
    model = summary.model
    if not hasattr(model, "n_iter_") or not hasattr(model, "converged_"):
        return ""
    objective = getattr(model, "objective_", None)
    value = "" if objective is None else f" The objective is {number(float(objective))}."
    if summary.stop is not None:
        return f"{text(summary.stop.sentence())}{value}"
    return f"The fit converged after {count_of(int(model.n_iter_), 'iteration')}.{value}"


def _resamples(summary: Summary) -> str:
    if summary.agreement is None:
        return ""
    times = int(summary.model.n_resamples)
    return (
        f"The fit was repeated {times} times on subsamples of 63 % of the objects. "
        f"{agreement_sentence(summary.agreement)} Memberships were averaged over the fits and "
        "softened to this agreement."
    )


# Settings that change the output or the speed of a fit, but not its result.
_WITHOUT_EFFECT = ("verbose", "callback", "n_jobs")
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "polars", "plotly")


def python_lines(summary: Summary) -> str:
    """The fit in Python."""
    model = summary.model
    if model is None:
        return ""
    class_name = type(model).__name__
    changed = [
        f"{setting.name}={setting.value}"
        for setting in settings(model)
        if setting.is_changed and setting.name not in _WITHOUT_EFFECT
    ]
    lines = [f"from soffit import {class_name}"]
    data = "X"
    if summary.source is not None:
        lines = ["from soffit.io import read", *lines, "", f"source = {_reading(summary.source)}"]
        data = "source" if summary.source.is_mixed else "source.data"
    else:
        lines.append("")
    known = _known(summary)
    lines.append(f"model = {class_name}({', '.join(changed)})")
    lines.append(f"model.fit({', '.join([data, *known])})")
    lines += [f"model = model.{step}" for step in summary.curation]
    return "\n".join(lines)


def _reading(source: Any) -> str:
    """The call that reads the source, with the options stored in it."""
    options = [f"kind={source.kind!r}"] if source.kind != "table" else []
    if source.options is not None:
        options = [f"{key}={value!r}" for key, value in source.options.items()]
    elif source.ids is not None and source.id_name != "id":
        options.append(f"id={source.id_name!r}")
    return f"read({', '.join([repr(str(source.path)), *options])})"


def placeholders(summary: Summary) -> str:
    """The meaning of names that the Python lines do not define."""
    known = _known(summary)
    meanings = []
    if summary.source is None:
        meanings.append("X stands for the data that were clustered")
    if "y" in known:
        meanings.append("y for the labels that were known")
    elif known:
        names = " and ".join(item.split("=")[0] for item in known)
        meanings.append(f"{names} for the pairs that were given")
    if any(step.startswith("update(") for step in summary.curation):
        meanings.append("X_new for the objects that were added")
    if not meanings:
        return ""
    first = (
        meanings[0] if summary.source is None else meanings[0].replace(" for ", " stands for ", 1)
    )
    return ", ".join([first, *meanings[1:]]) + "."


def _known(summary: Summary) -> list[str]:
    """Arguments of `fit` besides the data."""
    if hasattr(summary.model, "label_distributions_"):
        return ["y"]
    side = getattr(summary.model, "side_information_", None)
    if side is None:
        return []
    given = {"must_link": side.must, "cannot_link": side.cannot}
    return [f"{name}={name}" for name, pairs in given.items() if len(pairs)]


def seed_sentence(summary: Summary) -> str:
    """A sentence about the seed."""
    model = summary.model
    if model is None or not hasattr(model, "random_state"):
        return ""
    seed = model.random_state
    if seed is None:
        return (
            "No seed was set, so another run may differ slightly. Set random_state to a number for "
            "reproducible memberships."
        )
    if isinstance(seed, int | np.integer):
        return f"The seed is {int(seed)}: the same data and versions give the same memberships."
    return (
        f"The seed is a {written(seed)}, whose state is not stored here. Set random_state to a "
        "number for reproducible memberships."
    )


def versions() -> list[tuple[str, str]]:
    """Name and version of the libraries."""
    found = [("soffit", __version__), ("Python", python_version())]
    for library in _LIBRARIES:
        try:
            found.append((library, version(library)))
        except PackageNotFoundError:
            continue
    return found


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
