"""How to reproduce the result: command, Python, seed and versions."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any

import numpy as np

from soffit._version import __version__
from soffit.results.parameters import settings, written
from soffit.results.summary import Summary

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
