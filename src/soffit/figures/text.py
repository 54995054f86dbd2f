"""Text in figures: text from the data is never interpreted as markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

from soffit._typing import IntArray
from soffit.results.summary import Summary
from soffit.results.words import shorten

# Names longer than this would cover the figure.
_LONGEST = 60


def escaped(value: Any, longest: int = _LONGEST * 2) -> str:
    """Any value as text without tags or formulas for the browser or Plotly."""
    return escape(shorten(str(value), longest)).replace("$", "&#36;")


def names(values: Iterable[Any]) -> list[str]:
    """All values as safe text of a length that fits a hover label."""
    return [escaped(value, _LONGEST) for value in values]


def object_names(summary: Summary, objects: IntArray) -> list[str]:
    """Identifiers or numbers of these objects."""
    return names(summary.id_of(number) for number in objects.tolist())


def cluster_names(summary: Summary) -> list[str]:
    """Names of all clusters, short enough for an axis."""
    return [escaped(name, _LONGEST // 2) for name in summary.names]


def part_shown(shown: int, total: int, what: str = "objects") -> list[str]:
    """A note with the number shown, if not all are."""
    return [] if shown >= total else [f"{shown:,} of {total:,} {what} shown"]
