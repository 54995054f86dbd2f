"""Text for users: messages with marked parameters, and numbers, counts, lists and names in words.

The command line shows the parameters of a message as its options.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10
from typing import Any

# A singleton that survives pickling.
_NOT_GIVEN: Any = ...
# How a message is worded: `str` for Python, `in_words_of_the_command` for the command line.
Say = Callable[[str], str]


@dataclass(frozen=True)
class Parameter:
    """A parameter in a message, optionally with the value to pass.

    Its text is Python code.

    Examples
    --------
    >>> from soffit._wording import Parameter
    >>> str(Parameter("kind")), str(Parameter("kind", "graph")), str(Parameter("drop", ["a"]))
    ('kind', 'kind="graph"', 'drop=["a"]')
    """

    name: str
    value: Any = _NOT_GIVEN

    @property
    def has_value(self) -> bool:
        """Whether the message also names a value."""
        return self.value is not _NOT_GIVEN

    def __str__(self) -> str:
        return f"{self.name}={_literal(self.value)}" if self.has_value else self.name


class Message(str):
    """Text for Python users in which the parameters are marked.

    File names, columns and values are ordinary text, which rewording never changes.

    Parameters
    ----------
    *parts : str, Message or Parameter
        The text, piece by piece.

    Examples
    --------
    >>> from soffit._wording import Message, Parameter
    >>> message = Message("kind.csv is a square table. Pass ", Parameter("kind", "graph"), ".")
    >>> print(message)
    kind.csv is a square table. Pass kind="graph".
    >>> message.reworded(lambda parameter: f"--{parameter.name} {parameter.value}")
    'kind.csv is a square table. Pass --kind graph.'
    """

    parts: tuple[str | Parameter, ...]

    def __new__(cls, *parts: str | Parameter) -> Message:
        """Join the parts."""
        message = super().__new__(cls, "".join(map(str, parts)))
        flat: list[str | Parameter] = []
        for part in parts:
            flat += getattr(part, "parts", (part,))
        message.parts = tuple(flat)
        return message

    @classmethod
    def joined(cls, separator: str, messages: Iterable[str | Parameter]) -> Message:
        """Like `str.join`, but keeps parameters marked."""
        parts: list[str | Parameter] = []
        for message in messages:
            parts += [separator, message] if parts else [message]
        return cls(*parts)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters named in the message, in order."""
        return tuple(part for part in self.parts if isinstance(part, Parameter))

    def replaced(self, old: str, new: str) -> Message:
        """The message with other text in place of some of it; parameters stay as they are."""
        return Message(*(p.replace(old, new) if isinstance(p, str) else p for p in self.parts))

    def reworded(self, words: Callable[[Parameter], str]) -> str:
        """The text with other words in place of the parameters."""
        return "".join(words(part) if isinstance(part, Parameter) else part for part in self.parts)


def _literal(value: Any) -> str:
    """A value as Python code."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str) and value.isprintable() and not set(value) & {'"', "\\"}:
        return f'"{value}"'
    return repr(value)


# --- the command line -----------------------------------------------------------------------------

# Options of the command for the parameters that messages of the library name.
_OPTIONS = {
    "n_clusters": "-k",
    "max_clusters": "--max-clusters",
    "n_neighbors": "--neighbors",
    "n_resamples": "--resamples",
    "standardize": "--standardize",
    "random_state": "--seed",
    "n_jobs": "--jobs",
    "max_time": "--max-time",
    "levels": "--levels",
    "must_link": "--must-link",
    "cannot_link": "--cannot-link",
    "scribbles": "--scribbles",
    "kind": "--kind",
    "columns": "--columns",
    "drop": "--drop",
    "id": "--id",
    "label": "--label",
    "sample_weight": "--weight",
    "impute": "--impute",
    "text": "--text",
    "min_certainty": "--min-certainty",
    "max_novelty": "--max-novelty",
    "sep": "--sep",
    "decimal": "--decimal",
    "thousands": "--thousands",
    "na": "--na",
    "sheet": "--sheet",
    "skip_rows": "--skip-rows",
    "encoding": "--encoding",
    "session": "--session",
}
# Values that are hard to type or to see.
_NAMED = {"\t": "tab", " ": "blank"}


def in_words_of_the_command(said: str | BaseException) -> str:
    """A message, or that of an exception or a warning, with options in place of parameters.

    Only parameters that a `Message` marks are replaced: names of files and columns stay as they
    are, whatever they are called.
    """
    message = message_of(said) if isinstance(said, BaseException) else said
    return message.reworded(_as_option) if isinstance(message, Message) else str(message)


def message_of(error: BaseException | str) -> str:
    """The message of an exception or a warning, with its parameters marked if they were."""
    if isinstance(error, str):
        return error
    message = getattr(error, "message", error.args[0] if error.args else "")
    return message if isinstance(message, Message) else str(error)


def as_options(given: dict[str, Any]) -> list[str]:
    """Parameters and their values as one would type them, each argument on its own."""
    import shlex

    found: list[str] = []
    for name, value in given.items():
        words = shlex.split(_as_argument(value))
        found += [_OPTIONS[name], words[0] if words else ""]
    return found


def _as_option(parameter: Parameter) -> str:
    """The option for a parameter, with its value as one would type it."""
    option = _OPTIONS.get(parameter.name)
    if option is None:
        return str(parameter)
    return f"{option} {_as_argument(parameter.value)}" if parameter.has_value else option


def _as_argument(value: Any) -> str:
    import csv
    import io
    import shlex

    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, (list, tuple)):
        return _NAMED.get(value, shlex.quote(str(value)))
    row = io.StringIO()
    csv.writer(row, lineterminator="").writerow(value)
    return shlex.quote(row.getvalue())


# --- numbers, counts, lists and names -------------------------------------------------------------

_LONGEST_NAME = 60
# Thousands are set apart from here on, where rounding cannot reach it from below.
_SET_APART = 9_999.5
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


def first_few(items: Iterable[object], most: int = 5) -> str:
    """The first few items of a list, and how many more there are: ``a, b and 7 more``."""
    words = [str(item) for item in items]
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {rest:,} more" if rest > 0 else "")


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
    """A number with the digits that matter: about two of the spread, or else three of its own.

    Thousands are set apart from 10,000 on: four digits are often a year.
    """
    value = float(value)
    if not isfinite(value):
        return str(value)
    size = abs(value) if spread is None or spread <= 0 else spread
    if size == 0:
        return "0"
    decimals = (2 if spread is None else 1) - floor(log10(size))
    if abs(value) >= 1e9 or decimals > 8:
        return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
    text = f"{value:{',' if abs(value) >= _SET_APART else ''}.{max(decimals, 0)}f}"
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
