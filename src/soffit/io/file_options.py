"""What the user says about how a file is written, where detection is not enough."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from soffit._parameters import ParameterError, WholeNumber
from soffit.io.text.numbers import THOUSANDS, Conventions

_NAMED_SEPARATORS = {
    **{"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "bar": "|", "pipe": "|"},
    **{"blank": " ", "space": " ", "\\s+": " ", "whitespace": " "},
}
_NAMED_SIGNS = {"point": ".", "dot": ".", "comma": ",", "space": " ", "blank": " "}
_SAME_SIGN = {"\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2019": "'"}


@dataclass(frozen=True)
class FileOptions:
    """Separator, decimal sign and the like; None for what is detected."""

    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    na: tuple[str, ...] | None = None
    sheet: str | int | None = None
    skip_rows: int = 0
    encoding: str | None = None

    @classmethod
    def checked(
        cls,
        *,
        sep: str | None = None,
        decimal: str | None = None,
        thousands: str | None = None,
        na: Any = None,
        sheet: str | int | None = None,
        skip_rows: int = 0,
        encoding: str | None = None,
    ) -> FileOptions:
        """Options from arguments of `read`; impossible ones are refused."""
        if not WholeNumber(0).allows(skip_rows):
            raise ParameterError("skip_rows", skip_rows, str(WholeNumber(0)))
        wrong_sheet = isinstance(sheet, bool) or not isinstance(sheet, (str, int, type(None)))
        if wrong_sheet or (isinstance(sheet, int) and sheet < 1):
            raise ParameterError(
                "sheet", sheet, "the name of a sheet, or its number counted from 1"
            )
        decimal = _one_of("decimal", decimal, (".", ","))
        thousands = _one_of("thousands", thousands, tuple(THOUSANDS))
        if decimal is not None and decimal == thousands:
            raise ParameterError("thousands", thousands, "another sign than the decimal sign")
        return cls(
            _separator(sep),
            decimal,
            thousands,
            _markers(na),
            sheet,
            int(skip_rows),
            _known_encoding(encoding),
        )

    @property
    def conventions(self) -> Conventions:
        """What is known about the numbers of the file."""
        return Conventions(self.decimal, self.thousands, frozenset(self.na or ()))

    def changed(self) -> dict[str, Any]:
        """The arguments of `read` that are not at their defaults."""
        given = vars(self) | {"na": None if self.na is None else list(self.na)}
        return {name: value for name, value in given.items() if value not in (None, 0)}


def _one_of(name: str, given: str | None, possible: Sequence[str]) -> str | None:
    if given is None:
        return None
    sign = _SAME_SIGN.get(given, _NAMED_SIGNS.get(str(given).lower(), given))
    if sign not in possible:
        listed = ", ".join(map(repr, possible))
        raise ParameterError(name, given, f"one of {listed}")
    return sign


def _separator(given: str | None) -> str | None:
    if given is None:
        return None
    sign = _NAMED_SEPARATORS.get(str(given).lower(), given)
    is_one = isinstance(sign, str) and len(sign) == 1 and sign.isascii()
    if not is_one or sign.isalnum() or sign in "\n\r\"'.+-\0":
        raise ParameterError(
            "sep", given, "one character that separates entries, such as ';' or 'tab'"
        )
    return sign


def _markers(given: Any) -> tuple[str, ...] | None:
    if given is None:
        return None
    entries = [given] if isinstance(given, (str, int, float)) else list(given)
    return tuple(str(entry).strip() for entry in entries)


def _known_encoding(given: str | None) -> str | None:
    if given is None:
        return None
    try:
        if not codecs.lookup(given)._is_text_encoding:
            raise LookupError(given)
        return codecs.lookup(given).name
    except (LookupError, TypeError, ValueError):
        raise ParameterError(
            "encoding", given, "a name that Python knows, such as 'latin-1'"
        ) from None
