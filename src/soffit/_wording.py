"""Messages with marked parameters, which the command line shows as options."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

# A singleton that survives pickling.
_NOT_GIVEN: Any = ...


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


def first_few(items: Iterable[object], most: int = 5) -> str:
    """The first few items of a list, and how many more there are: ``a, b and 7 more``."""
    words = [str(item) for item in items]
    rest = len(words) - most
    return ", ".join(words[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def _literal(value: Any) -> str:
    """A value as Python code."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str) and value.isprintable() and not set(value) & {'"', "\\"}:
        return f'"{value}"'
    return repr(value)
