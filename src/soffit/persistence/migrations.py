"""The version of the model file's format, and how older versions become the present one.

What a version promises: a file that some release of soffit wrote loads in every later one.

- A new parameter or a new dataclass field with a default needs nothing: files without it load
  with the default.
- A class renamed, moved inside the package, or new: change `_model_registry`. The names in files
  are the registry's keys, not Python's, so a renamed class keeps its key.
- Anything else that a loaded model would miss (a fitted attribute or field that is new, renamed,
  removed, or has another meaning; another encoding of values) changes the format: add one to
  `FORMAT_VERSION`, and to `MIGRATIONS` a function from the old version's document to the next
  one's. Keep the old version's hand-made file in the tests: it must load for good.

A document is the parsed model.json. Arrays are numbered in it and cannot be changed by a
migration, but be left unused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Document = dict[str, Any]

FORMAT_VERSION = 1
# From version v to v + 1, by v.
MIGRATIONS: dict[int, Callable[[Document], Document]] = {}


def migrated(
    document: Document,
    version: int,
    *,
    target: int,
    steps: Mapping[int, Callable[[Document], Document]],
) -> Document:
    """The document in the target version's layout."""
    for number in range(version, target):
        document = steps[number](document)
    return document
