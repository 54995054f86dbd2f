"""Words in figures: nothing that comes from a user's file is ever read as markup."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any

# Names longer than this would cover the figure.
_LONGEST = 60


def escaped(value: Any, longest: int = _LONGEST * 2) -> str:
    """Any value as text in which neither a browser nor Plotly finds tags or formulas."""
    text = " ".join(str(value).split())
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    return escape(text).replace("$", "&#36;")


def names(values: Iterable[Any]) -> list[str]:
    """All values as safe text of a length that fits a hover label."""
    return [escaped(value, _LONGEST) for value in values]


def part_shown(shown: int, total: int, what: str = "objects") -> list[str]:
    """A note that says how many are shown, if not all are."""
    return [] if shown >= total else [f"{shown:,} of {total:,} {what} shown"]
