"""Which names in docstrings are links, which are plain code, and which are mistakes.

In docstrings, `name` is a link to the page of that name if there is one. Without a page it must be
a word that is known: a parameter or an attribute of something public. Anything else is a warning,
and so an error of the build (``nitpicky`` in conf.py).
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from docutils import nodes
from numpydoc.docscrape import NumpyDocString
from site_parts import public_names
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

SECTIONS = ("Parameters", "Other Parameters", "Returns", "Yields", "Attributes")


@cache
def known_words() -> frozenset[str]:
    """Parameters, attributes and results of everything public, which have no page of their own."""
    return frozenset(word for value in _documented() for word in _words_of(value))


def _documented() -> Iterator[Any]:
    for values in public_names().values():
        for value in values.values():
            yield value
            if inspect.isclass(value):
                yield from (v for n, v in inspect.getmembers(value) if not n.startswith("_"))


def _words_of(value: Any) -> Iterator[str]:
    if inspect.isclass(value):
        yield from getattr(value, "__annotations__", ())
        yield from (name for name in vars(value) if not name.startswith("_"))
        if dataclasses.is_dataclass(value):
            yield from (field.name for field in dataclasses.fields(value))
    if not callable(value):
        return
    with suppress(ValueError):  # written in C
        yield from inspect.signature(value).parameters
    sections = NumpyDocString(inspect.getdoc(value) or "")
    for entry in (entry for section in SECTIONS for entry in sections[section]):
        yield from re.findall(r"\w+", entry.name)


def pages_of(env: BuildEnvironment) -> dict[str, set[str]]:
    """Full names by their last part, and by their last two: `fit`, `SoftClustering.fit`."""
    found = defaultdict(set)
    for full in env.domains.python_domain.objects:
        if full.startswith("soffit."):
            parts = full.split(".")
            for n in (1, 2):
                found[".".join(parts[-n:])].add(full)
    return found


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.TextElement
) -> nodes.Node | None:
    """A link to the only page of a name, the text of a known word, or nothing: a warning."""
    if node.get("refdomain") != "py":
        return None
    name = node["reftarget"]
    owner, _, last = name.rpartition(".")
    pages = pages_of(env)
    full = pages.get(name, set())
    # A parameter may have the name of a function elsewhere; `Class.method` is no parameter.
    if len(full) == 1 and (owner or last not in known_words()):
        domain = env.domains.python_domain
        place = (env, node["refdoc"], app.builder, "obj")
        return domain.resolve_xref(*place, *full, node, content)
    # A method of several models, such as `merge`, has several pages.
    known = full or (last in known_words() and (not owner or owner in pages))
    return content if known else None


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
