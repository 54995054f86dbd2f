"""Parameters: rules and the error messages for violations; former names of all kinds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from numbers import Integral, Real
from typing import Any, Protocol, TypeVar, cast

from soffit._wording import Message, Parameter

Wrapped = TypeVar("Wrapped", bound=Callable[..., Any])


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
    >>> from soffit._parameters import ParameterError
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


@dataclass(frozen=True)
class ShareBelowOne:
    """A number of at least 0 and below 1."""

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        return isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= float(value) < 1.0

    def __str__(self) -> str:
        return "a number of at least 0 and below 1"


def check_parameters(owner: str, values: dict[str, Any], rules: dict[str, Rule]) -> None:
    """Raise ParameterError for the first value that violates its rule; others have none."""
    for name, rule in rules.items():
        if name in values:
            check_parameter(name, values[name], rule, owner)


def check_parameter(name: str, value: Any, rule: Rule, owner: str = "") -> None:
    """Raise ParameterError if the value violates the rule."""
    if not rule.allows(value):
        raise ParameterError(name, value, str(rule), owner=owner)


# --- former names ---------------------------------------------------------------------------------


def moved_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__` for names that have moved.

    Parameters
    ----------
    package : str
        The package that had the names.
    homes : mapping
        From an old name to its new location, such as ``"soffit.save"``.
    """

    def resolve(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, new = homes[name].rpartition(".")
        warnings.warn(
            f"{package}.{name} is deprecated: use {homes[name]} instead.",
            FutureWarning,
            stacklevel=2,
        )
        return getattr(import_module(module), new)

    return resolve


from_affinity = moved_names("soffit.affinity", {"random_walk": "soffit.affinity.walk_affinity"})
from_io = moved_names(
    "soffit.io",
    {
        "ModelFileError": "soffit.persistence.ModelFileError",
        "load": "soffit.load",
        "save": "soffit.save",
    },
)


def renamed_parameters(**renamed: str) -> Callable[[Wrapped], Wrapped]:
    """Let a function or a constructor accept parameters under their former names.

    Parameters
    ----------
    **renamed
        From a former name to the present one.
    """

    def decorate(function: Wrapped) -> Wrapped:
        @wraps(function)
        def accepting(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **current_names(kwargs, renamed, depth=2))

        return cast(Wrapped, accepting)

    return decorate


def current_names(
    given: Mapping[str, Any], renamed: Mapping[str, str], *, depth: int
) -> dict[str, Any]:
    """Arguments under their present names; `depth` counts the calls down to the user's."""
    for old in renamed.keys() & given.keys():
        new = renamed[old]
        if new in given:
            raise TypeError(f"{old} is the former name of {new}: pass only {new}.")
        warn_of_former_name(old, new, depth=depth + 1)
    return {renamed.get(name, name): value for name, value in given.items()}


def warn_of_former_name(old: str, new: str, *, depth: int) -> None:
    """Say under which name a parameter or attribute is known now."""
    warnings.warn(
        f"{old} is deprecated: it is now called {new}.", FutureWarning, stacklevel=depth + 1
    )
