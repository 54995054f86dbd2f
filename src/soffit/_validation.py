"""Rules for parameters, and the error messages for violations."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

from soffit._wording import Message, Parameter


class ParameterError(ValueError):
    """A parameter has a value that is not allowed.

    Parameters
    ----------
    name : str
        The parameter.
    value : object
        What was passed.
    requirement : str
        What is allowed, as the end of the sentence "must be ...".
    remedy : str, optional
        What to do about it, as a sentence.
    owner : str, optional
        The estimator or function that has the parameter.

    Examples
    --------
    >>> from soffit._validation import ParameterError
    >>> error = ParameterError("n_clusters", 0, "an integer of at least 1", owner="SoF")
    >>> print(error)
    SoF: n_clusters must be an integer of at least 1, got 0.
    >>> error.name, error.value
    ('n_clusters', 0)
    """

    def __init__(
        self, name: str, value: Any, requirement: str, remedy: str = "", owner: str = ""
    ) -> None:
        # Keep the arguments, so that the error can be pickled to another process.
        super().__init__(name, value, requirement, remedy, owner)
        self.name = name
        self.value = value
        self.requirement = requirement
        self.remedy = remedy
        self.owner = owner

    @property
    def message(self) -> Message:
        """The whole message, with the parameter marked."""
        return Message(
            f"{self.owner}: " if self.owner else "",
            Parameter(self.name),
            f" must be {self.requirement}, got {self.value!r}.",
            *((" ", self.remedy) if self.remedy else ()),
        )

    def __str__(self) -> str:
        return str(self.message)


class Rule(Protocol):
    """Checks a value, and describes what is allowed."""

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        ...

    def __str__(self) -> str:
        """What is allowed, as the end of the sentence 'must be ...'."""
        ...


@dataclass(frozen=True)
class WholeNumber:
    """An integer not below a minimum."""

    minimum: int

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        return whole and int(value) >= self.minimum

    def __str__(self) -> str:
        return f"an integer of at least {self.minimum}"


@dataclass(frozen=True)
class Number:
    """A finite number above (or at) a minimum and at most a maximum."""

    minimum: float
    strict: bool = False
    maximum: float = float("inf")

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        number = float(value)
        above = number > self.minimum if self.strict else number >= self.minimum
        return above and number <= self.maximum and number < float("inf")

    def __str__(self) -> str:
        limit = f" and at most {self.maximum:g}" if self.maximum < float("inf") else ""
        return f"a number {'above' if self.strict else 'of at least'} {self.minimum:g}{limit}"


@dataclass(frozen=True)
class NoneOrMany:
    """A number of repetitions: 0, or at least 2, because one has nothing to be compared with."""

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        return WholeNumber(0).allows(value) and value != 1

    def __str__(self) -> str:
        return "0 or an integer of at least 2"


@dataclass(frozen=True)
class OneOf:
    """One of a few named values."""

    choices: tuple[Any, ...]

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        return any(type(value) is type(choice) and value == choice for choice in self.choices)

    def __str__(self) -> str:
        return "one of " + ", ".join(repr(choice) for choice in self.choices)


@dataclass(frozen=True)
class OrNone:
    """None, or what another rule allows."""

    rule: Rule

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        return value is None or self.rule.allows(value)

    def __str__(self) -> str:
        return f"None or {self.rule}"


@dataclass(frozen=True)
class Function:
    """A callable."""

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        return callable(value)

    def __str__(self) -> str:
        return "a callable"


@dataclass(frozen=True)
class TextOrFunction:
    """A name or a callable; the names are checked where they are used."""

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        return isinstance(value, str) or callable(value)

    def __str__(self) -> str:
        return "a name or a callable"


def check_parameters(owner: str, values: dict[str, Any], rules: dict[str, Rule]) -> None:
    """Raise ParameterError for the first value that violates its rule."""
    for name, rule in rules.items():
        if not rule.allows(values[name]):
            raise ParameterError(name, values[name], str(rule), owner=owner)


@dataclass(frozen=True)
class ShareBelowOne:
    """A number of at least 0 and below 1."""

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        return isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= float(value) < 1.0

    def __str__(self) -> str:
        return "a number of at least 0 and below 1"
