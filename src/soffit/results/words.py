"""Numbers, counts, lists and names as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import floor, isfinite, log10

_LONGEST_NAME = 60
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_SMALL_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


def plural(noun: str, count: int = 2) -> str:
    """``cluster`` or ``clusters``, ``class`` or ``classes``, ``entry`` or ``entries``."""
    if count == 1:
        return noun
    if noun.endswith("try"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith("s") else f"{noun}s"


def count_of(count: int, noun: str) -> str:
    """``1 object``, ``2 objects``, ``12,000 objects``."""
    return f"{count:,} {plural(noun, count)}"


def spelled(count: int, noun: str) -> str:
    """As `count_of`, with small numbers in words: ``one column``, ``no objects``."""
    if 0 <= count < len(_SMALL_NUMBERS):
        return f"{_SMALL_NUMBERS[count]} {plural(noun, count)}"
    return count_of(count, noun)


def listed(items: Sequence[str], *, most: int | None = None, noun: str = "") -> str:
    """``a``, ``a and b``, ``a, b and c``; beyond `most` items ``a, b and 7 more columns``.

    Items with commas of their own are kept apart: ``Smith, A.; Jones, B.; and Brown, C.``
    """
    if len(items) < 2:
        return "".join(items)
    shown, last = list(items[:-1]), items[-1]
    if most is not None and len(items) > most + 1:
        shown, last = list(items[:most]), f"{len(items) - most:,} more {noun}".rstrip()
    if any(", " in _IN_BRACKETS.sub("", item) for item in items):
        return "; ".join(shown) + f"; and {last}"
    return ", ".join(shown) + f" and {last}"


def percent(share: float) -> str:
    """A share as an integer percentage, never rounded to 0 % or 100 %."""
    if 0 < share < 0.005:
        return "less than 1 %"
    if 0.995 <= share < 1:
        return "more than 99 %"
    return f"{share:.0%}".replace("%", " %")


def short_percent(share: float) -> str:
    """The same for tables and brackets, where there is no room for words."""
    return percent(share).replace("less than ", "<").replace("more than ", ">")


def number(value: float, *, spread: float | None = None) -> str:
    """A number with the digits that matter: about two of the spread, or else three of its own."""
    value = float(value)
    if not isfinite(value):
        return str(value)
    size = abs(value) if spread is None or spread <= 0 else spread
    if size == 0:
        return "0"
    decimals = (2 if spread is None else 1) - floor(log10(size))
    if abs(value) >= 1e9 or decimals > 8:
        return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
    text = f"{value:,.{max(decimals, 0)}f}"
    if float(text.replace(",", "")) == 0:
        return text.lstrip("-")
    return text.replace("-", "\N{MINUS SIGN}")


def visible(text: str) -> str:
    """Text in which nothing controls the display: no escape or direction characters."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in "\n\t" else "\N{REPLACEMENT CHARACTER}" for c in text
    )


def shorten(name: str, longest: int = _LONGEST_NAME) -> str:
    """A name on one line, cut to a length that fits into a sentence, a table or a label."""
    name = " ".join(visible(name).split())
    return name if len(name) <= longest else name[: longest - 1] + "…"


def capitalized(sentence: str) -> str:
    """The sentence with a capital first letter; the rest as it is."""
    return sentence[:1].upper() + sentence[1:]
