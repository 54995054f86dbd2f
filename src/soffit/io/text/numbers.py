"""Numbers as people write them: decimal signs, thousands, units, currencies, percent, accounting.

A column is written in one way, its `Notation`. `survey` lists the ways in which the entries of a
column can be read; `settle` chooses one for each column by the evidence of the whole file, and asks
where there is none. A number is never read in a way that the file leaves open.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

# Entries that mean "no value", besides the empty one.
MISSING = ("NA", "N/A", "n/a", "#N/A", "NaN", "nan", "NAN", "null", "NULL", "None", "?", "-", ".")
_NO_VALUE = frozenset(("", *MISSING))
TRUTH_VALUES = {"true": 1.0, "false": 0.0, "yes": 1.0, "no": 0.0}
# Share of numbers in a numeric column; other entries of it are errors.
_MOSTLY = 0.8
# A number is as large as others if it is within this factor of their range.
_SIMILAR = 10.0

ColumnKind = Literal["number", "boolean", "text", "date", "other"]

# --- the grammar of one number --------------------------------------------------------------------

# Separators of thousands, each with the characters that are used for it.
THOUSANDS = {".": r"\.", ",": ",", " ": "[ \u00a0\u2007\u2009\u202f]", "'": "['\u2019]"}
_SIGN = "[-+\u2212]"
_MINUS = "-\u2212"
_CURRENCY = (
    r"(?:US|AU|CA|NZ|HK|A|C|R|S)?\$|[€£¥₹₩₽₺₫₪฿¢]|Fr\.|Rs\.?|kr\.?|zł|"
    r"USD|EUR|GBP|CHF|JPY|CNY|RMB|INR|AUD|CAD|NZD|SEK|NOK|DKK|PLN|CZK|HUF|BRL|MXN|ZAR|RUB|TRY|KRW"
)
_LETTER = r"(?:[^\W\d_]|[%‰°€$£¥₹¢])"
_UNIT = rf"{_LETTER}(?:[\w%‰°€$£¥₹¢/²³^·*.\-]|[ \u00a0\u202f]{_LETTER})*"
_EXPONENT = "(?:[eE][-+]?[0-9]+)?"
# Digits and separators in any order; `_core` says which orders are numbers.
_LOOSE = r"[.,]?[0-9](?:[0-9.,'\u2019 \u00a0\u2007\u2009\u202f]*[0-9])?[.,]?" + _EXPONENT
_INFINITE = "(?i:[-+]?inf(?:inity)?)"


def _entry(core: str) -> str:
    """The pattern of an entry: sign or parentheses, currency, number, unit.

    Currency and unit stand inside of parentheses or outside. Blanks belong to what they follow or
    precede, so that there is one way to read them and matching takes linear time.
    """
    before = "".join(rf"(?:({p})\s*)?" for p in (_CURRENCY, r"\(", _SIGN, _CURRENCY, _SIGN))
    unit = rf"(?:\s*({_UNIT}))?"
    return rf"\s*{before}({core}){unit}(?:\s*(\)){unit})?\s*({_SIGN})?"


def _core(decimal: str, thousands: str) -> str:
    """The pattern of the digits of a number."""
    whole = "[0-9]+"
    if thousands:
        between = THOUSANDS[thousands]
        whole = rf"(?:[1-9][0-9]{{0,2}}(?:{between}[0-9]{{3}})+|[0-9]+)"
        if thousands == ",":
            # As in India: 12,34,567.
            whole = rf"(?:[1-9][0-9]?(?:,[0-9]{{2}})+,[0-9]{{3}}|{whole})"
    if not decimal:
        return f"{whole}{_EXPONENT}"
    sign = re.escape(decimal)
    return rf"(?:{whole}(?:{sign}[0-9]*)?|{sign}[0-9]+){_EXPONENT}"


@cache
def _matcher(decimal: str, thousands: str) -> re.Pattern[str]:
    return re.compile(_core(decimal, thousands))


_LOOSE_ENTRY = re.compile(_entry(_LOOSE))
# No number has more characters.
_LONGEST = 400
# With decimals or with thousands.
_EITHER = re.compile("[0-9]+[.,][0-9]{3}")
_PLAIN = re.compile(rf"{_SIGN}?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+){_EXPONENT}|{_INFINITE}")
_FINITE = re.compile(rf"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+){_EXPONENT}")
_ANY_THOUSANDS = ("", *THOUSANDS)


@dataclass(frozen=True)
class _Parts:
    """One entry taken apart: `core` holds the digits and separators."""

    core: str
    prefix: str
    suffix: str
    in_parentheses: bool

    @classmethod
    def of(cls, entry: str) -> _Parts | None:
        """The parts of an entry that may be a number."""
        found = _LOOSE_ENTRY.fullmatch(entry) if len(entry) <= _LONGEST else None
        if found is None:
            return None
        first, opened, before, second, after, core, *rest = found.groups()
        inner, closed, outer, last = rest
        signs = [sign for sign in (before, after, last) if sign]
        if bool(opened) != bool(closed) or len(signs) > 1 or (opened and signs) or last == "+":
            return None
        if (first and second) or (inner and outer):
            return None
        suffix = (inner or outer or "").strip()
        return cls(core, first or second or "", suffix, bool(opened))


def is_plain(entry: str) -> bool:
    """Whether an entry is a number as programs write it."""
    return _PLAIN.fullmatch(entry) is not None


def is_number(entry: str) -> bool:
    """Whether an entry is one number in some notation, without a unit."""
    if is_plain(entry):
        return True
    parts = _Parts.of(entry)
    return parts is not None and not parts.prefix and not parts.suffix and _is_core(parts.core)


def is_quantity(entry: str) -> bool:
    """Whether an entry is one number in some notation, perhaps with a unit."""
    if is_plain(entry):
        return True
    parts = _Parts.of(entry)
    return parts is not None and _is_core(parts.core)


def same_unit(entry: str, others: Sequence[str]) -> bool:
    """Whether an entry has the unit that the first of the others has."""
    parts = _Parts.of(entry)
    other = next((found for found in map(_Parts.of, others) if found is not None), None)
    if parts is None or other is None:
        return False
    return (parts.prefix, parts.suffix) == (other.prefix, other.suffix) != ("", "")


def _is_core(core: str) -> bool:
    return any(
        _matcher(decimal, thousands).fullmatch(core)
        for decimal in ".,"
        for thousands in _ANY_THOUSANDS
        if thousands != decimal
    )


def looks_numeric(entry: str) -> bool:
    """Whether an entry begins like a number, and has few other characters after it."""
    return len(entry) <= _LONGEST and _LOOKS_NUMERIC.match(entry) is not None


_LOOKS_NUMERIC = re.compile(rf"[-+(\s]*(?:(?:{_CURRENCY})[-+(\s]*)?{_LOOSE}[^0-9:/]{{1,12}}$")


# --- units ----------------------------------------------------------------------------------------

_FACTORS = {
    **dict.fromkeys(("k", "K", "thousand", "Tsd", "Tsd."), 1e3),
    **dict.fromkeys(("M", "mn", "Mn", "mio", "Mio", "Mio.", "million"), 1e6),
    **dict.fromkeys(("B", "bn", "Bn", "bln", "billion", "Mrd", "Mrd."), 1e9),
    **dict.fromkeys(("tn", "trillion"), 1e12),
}
# Units of which several in one column mean that its numbers cannot be compared.
_KNOWN_UNITS = frozenset(
    {
        *("%", "‰", "ppm", "ppb", "ng", "µg", "μg", "ug", "mg", "g", "kg", "lb", "lbs", "oz"),
        *("nm", "µm", "μm", "um", "mm", "cm", "dm", "m", "km", "in", "ft", "yd", "mi", "mile"),
        *("ml", "mL", "cl", "dl", "l", "hl", "gal", "ha", "m²", "m2", "km²", "km2", "cm²", "cm2"),
        *("m³", "m3", "s", "sec", "ms", "min", "h", "hr", "hrs", "hour", "day", "week", "month"),
        *("yr", "year", "Hz", "kHz", "MHz", "GHz", "kB", "KB", "MB", "GB", "TB", "kW", "MW", "GW"),
        *("Wh", "kWh", "MWh", "kJ", "MJ", "cal", "kcal", "mV", "kV", "mA", "Pa", "kPa", "hPa"),
        *("bar", "mbar", "psi", "°C", "°F", "km/h", "m/s", "mph", "mol", "mmol"),
    }
)


def _unit_name(suffix: str) -> str:
    """Plurals are the same unit: years, year."""
    return suffix[:-1] if len(suffix) > 3 and suffix.isalpha() and suffix[-1] == "s" else suffix


def _multiple(suffix: str) -> tuple[float, str] | None:
    """The factor of a suffix such as M in "$3 M" or "3M", and the unit after it."""
    word = _first_word(suffix)
    rest = suffix[len(word) :]
    factor = _FACTORS.get(_unit_name(word))
    if factor is not None and (not rest or re.fullmatch(_CURRENCY, rest.strip())):
        return factor, rest.strip()
    if suffix[:1] in "kKMB" and re.fullmatch(_CURRENCY, suffix[1:]):
        return _FACTORS[suffix[0]], suffix[1:]
    return None


@dataclass(frozen=True)
class Unit:
    """What stands around the numbers of a column, and by what each form multiplies them."""

    name: str = ""
    prefixes: tuple[str, ...] = ()
    factors: Mapping[str, float] = field(default_factory=dict)

    @property
    def scales(self) -> dict[str, float]:
        """The forms that multiply their number."""
        return {suffix: factor for suffix, factor in self.factors.items() if factor != 1.0}


@dataclass(frozen=True)
class MixedUnits:
    """Units that cannot be compared, with one entry of each."""

    examples: Mapping[str, str]


def _find_unit(found: Sequence[tuple[str, _Parts]]) -> Unit | MixedUnits | None:
    """The unit of a column; None if the words after its numbers are not units."""
    prefixes = Counter(parts.prefix for _, parts in found)
    suffixes = Counter(parts.suffix for _, parts in found)
    if set(prefixes) == {""} == set(suffixes):
        return Unit()
    multiples = {suffix: _multiple(suffix) for suffix in suffixes}
    scaling = any(prefixes) or _are_multiples(found, multiples)
    factors: dict[str, float] = {}
    names: dict[str, str] = {}
    for entry, parts in found:
        factor, rest = 1.0, _unit_name(parts.suffix)
        multiple = multiples[parts.suffix]
        if multiple is not None and (scaling or len(_first_word(parts.suffix)) > 1):
            factor, rest = multiple
        if not _is_zero(parts.core) or parts.prefix or parts.suffix:
            name = " ".join(filter(None, (parts.prefix, rest)))
            names.setdefault(name, entry)
        factors[parts.suffix] = factor
    factors.setdefault("", 1.0)
    if len(names) <= 1:
        return Unit(next(iter(names), ""), tuple(p for p in prefixes if p), factors)
    bare = {name.partition(" ")[0] for name in names}
    currency = re.compile(_CURRENCY)
    known = all(not b or b in _KNOWN_UNITS or currency.fullmatch(b) for b in bare)
    return MixedUnits(names) if known else None


def _are_multiples(
    found: Sequence[tuple[str, _Parts]], multiples: Mapping[str, tuple[float, str] | None]
) -> bool:
    """Whether K, M and B multiply: 1.2M does, but 300 K may be kelvin and 7B a house."""
    if sum(multiple is not None for multiple in multiples.values()) > 1:
        return True
    return any(
        multiples[parts.suffix] is not None
        and set(parts.core) & {".", ","}
        and not entry.removesuffix(parts.suffix)[-1].isspace()
        for entry, parts in found
    )


def _first_word(suffix: str) -> str:
    return suffix.split(" ", 1)[0]


def _is_zero(core: str) -> bool:
    return not set(core) & set("123456789")


# --- one column -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Notation:
    """How the numbers of one column are written.

    Without a decimal sign only whole numbers are read: no entry has shown which sign it would be.
    """

    decimal: str = "."
    thousands: str = ""
    unit: Unit = field(default_factory=Unit)
    in_parentheses: bool = False
    example: str = ""

    def is_plain(self, has_points: bool = True) -> bool:
        """Whether programs read such numbers as they are; `has_points` if there may be points."""
        if self.thousands or self.is_dressed:
            return False
        return self.decimal == "." or not (has_points or self.example)

    @property
    def is_dressed(self) -> bool:
        """Whether there is more than a sign and a number."""
        return self.in_parentheses or bool(self.unit.prefixes or self.unit.factors)

    def parse(self, texts: Any) -> Any:
        """The numbers of a polars series of stripped text; null where there is none."""
        import polars as pl

        core = _core(self.decimal, self.thousands)
        if not self.is_dressed:
            valid = texts.str.contains(f"^{_SIGN}?{core}$").fill_null(False)
            values = self._cast(texts.str.replace("\u2212", "-", literal=True)).set(~valid, None)
        else:
            # polars names the groups by their numbers.
            parts = texts.str.extract_groups(f"^{_entry(core)}$").struct
            first, opened, before, second, after = (parts.field(str(n)) for n in range(1, 6))
            digits, inner, closed, outer, last = (parts.field(str(n)) for n in range(6, 11))
            twice = (first + second).is_not_null() | (inner + outer).is_not_null()
            prefix = first.fill_null("") + second.fill_null("")
            suffix = inner.fill_null("") + outer.fill_null("")
            signs = before.fill_null("") + after.fill_null("") + last.fill_null("")
            suffix = suffix.str.strip_chars()
            factors = self.unit.factors or {"": 1.0}
            known = suffix.replace_strict(
                list(factors), list(factors.values()), default=None, return_dtype=pl.Float64
            )
            values = self._cast(digits) * known
            wrong = (
                twice
                | (opened.is_null() != closed.is_null())
                | (signs.str.len_chars() > 1)
                | (opened.is_not_null() & (signs != ""))
                | (last == "+").fill_null(False)
                | ~prefix.is_in(["", *self.unit.prefixes])
            )
            if self.unit.name:
                # A number without the unit of its column may be in another one, unless it is 0.
                bare = (prefix == "") & (suffix == "") & (values != 0)
                wrong = wrong | bare.fill_null(False)
            values = values.set(wrong.fill_null(True), None)
            minus = opened.is_not_null() | signs.is_in(list(_MINUS))
            values = values.zip_with(~minus, -values)
        infinite = texts.str.contains(f"^(?:{_INFINITE})$").fill_null(False)
        return values.zip_with(~infinite, texts.cast(pl.Float64, strict=False))

    def _cast(self, digits: Any) -> Any:
        import polars as pl

        if self.thousands:
            digits = digits.str.replace_all(THOUSANDS[self.thousands], "")
        if self.decimal == ",":
            digits = digits.str.replace(",", ".", literal=True)
        return digits.cast(pl.Float64, strict=False)


@dataclass(frozen=True)
class Survey:
    """What the entries of one column allow.

    `thousands` has the thousands separator for each decimal sign with which the column can be read;
    it is empty for a column that does not hold numbers. `decides` tells whether these entries can
    be read with only one decimal sign. `problem` is set if they look like numbers, but none can be
    read: one of the entries, or the units that are mixed.
    """

    kind: ColumnKind
    thousands: Mapping[str, str] = field(default_factory=dict)
    decides: bool = False
    unit: Unit = field(default_factory=Unit)
    in_parentheses: bool = False
    example: str = ""
    problem: str | MixedUnits | None = None

    @property
    def is_neutral(self) -> bool:
        """Whether the entries are the same numbers with either decimal sign."""
        return len(self.thousands) == 2 and len(set(self.thousands.values())) == 1


@dataclass(frozen=True)
class Conventions:
    """What the user says about the numbers of a file; None if nothing."""

    decimal: str | None = None
    thousands: str | None = None
    missing: frozenset[str] = frozenset()

    def is_missing(self, entry: str) -> bool:
        """Whether an entry stands for no value."""
        return entry in _NO_VALUE or entry in self.missing


def survey(entries: Sequence[str], conventions: Conventions) -> Survey | None:
    """How the entries of a column can be read; None if all are missing."""
    stripped = (entry.strip() for entry in entries)
    present = [entry for entry in stripped if not conventions.is_missing(entry)]
    if not present:
        return None
    if all(map(_is_digits, present)):
        return Survey("number", _allowed({".": "", ",": ""}, conventions))
    if all(map(_FINITE.fullmatch, present)):
        return _survey_plain(present, conventions)
    found = [(entry, parts) for entry in present if (parts := _Parts.of(entry)) is not None]
    n_infinite = sum(re.fullmatch(_INFINITE, entry) is not None for entry in present)
    if _enough(len(found) + n_infinite, len(present)):
        return _survey_numbers(found, conventions, len(present) - n_infinite)
    truths = all(entry.lower() in TRUTH_VALUES for entry in present)
    return Survey("boolean" if truths else "text")


def _survey_plain(entries: Sequence[str], conventions: Conventions) -> Survey:
    """As `_survey_numbers` of numbers that programs write, which are most; only faster."""
    cores = [entry.lstrip("+-") for entry in entries]
    readings = {".": ""}
    if all(map(_matcher(",", ".").fullmatch, cores)):
        points = any("." in core for core in cores)
        readings = _by_whole_numbers(cores, readings | {",": "." if points else ""})
    readings = _allowed(readings, conventions)
    if conventions.thousands == "." or not readings:
        found = [(entry, parts) for entry in entries if (parts := _Parts.of(entry)) is not None]
        return _survey_numbers(found, conventions, len(entries))
    example = next((entry for entry in entries if "." in entry), entries[0])
    return Survey("number", readings, len(readings) == 1, example=example)


def _survey_numbers(
    found: Sequence[tuple[str, _Parts]], conventions: Conventions, total: int
) -> Survey:
    """How entries that look like numbers can be read."""
    unit = _find_unit(found)
    if unit is None or isinstance(unit, MixedUnits):
        return Survey("text", problem=unit)
    readings = _readings([parts.core for _, parts in found], conventions, total)
    if not readings:
        wrong = [entry for entry, parts in found if _looks_like_one_number(parts.core)]
        return Survey("text", problem=wrong[0] if wrong and _enough(len(wrong), total) else None)
    return Survey(
        "number",
        readings,
        len(readings) == 1,
        unit,
        any(parts.in_parentheses for _, parts in found),
        next((entry for entry, _ in found if not is_plain(entry)), found[0][0] if found else ""),
    )


def _is_digits(entry: str) -> bool:
    return entry.isascii() and entry.removeprefix("-").isdigit()


def _enough(n: int, total: int) -> bool:
    return n == total or (n >= 5 and n >= _MOSTLY * total)


def _looks_like_one_number(core: str) -> bool:
    """Not a date, a version or a telephone number."""
    return re.fullmatch(r"[0-9.,]+", core) is not None and max(core.count("."), core.count(",")) < 2


def _allowed(readings: dict[str, str], conventions: Conventions) -> dict[str, str]:
    decimals = ".,"
    if conventions.decimal is not None:
        decimals = conventions.decimal
    elif conventions.thousands in (".", ","):
        decimals = "," if conventions.thousands == "." else "."
    return {decimal: between for decimal, between in readings.items() if decimal in decimals}


def _readings(cores: Sequence[str], conventions: Conventions, total: int) -> dict[str, str]:
    """The thousands separator for each decimal sign with which the most entries can be read."""
    counts: dict[str, tuple[int, str]] = {}
    for decimal in _allowed({".": "", ",": ""}, conventions):
        possible = _ANY_THOUSANDS
        if conventions.thousands is not None:
            possible = ("", conventions.thousands)
        best = (0, "")
        for thousands in possible:
            if thousands != decimal:
                match = _matcher(decimal, thousands).fullmatch
                n_valid = sum(match(core) is not None for core in cores)
                best = max(best, (n_valid, thousands), key=lambda pair: pair[0])
        if _enough(best[0], total):
            counts[decimal] = best
    if not counts:
        return {}
    most = max(n_valid for n_valid, _ in counts.values())
    readings = {decimal: t for decimal, (n_valid, t) in counts.items() if n_valid == most}
    return _by_whole_numbers(cores, readings) if len(readings) == 2 else readings


def _by_whole_numbers(cores: Sequence[str], readings: dict[str, str]) -> dict[str, str]:
    """Only the reading with thousands, if the whole numbers of the column speak for it.

    With 900 and 1100 in the column, 1,001 is a thousand and one. Who writes 900 without decimals
    would write 1,23 for 1,230, unless 2000 shows that thousands are not separated either.
    """
    grouped = next((d for d, thousands in readings.items() if thousands in (".", ",")), None)
    if grouped is None:
        return readings
    mark = readings[grouped]
    whole = [float(core) for core in cores if core.isdigit()]
    marked = [core for core in cores if mark in core and grouped not in core]
    positive = [value for value in whole if value > 0] or [math.inf]
    low, high = min(positive) / _SIMILAR, max(positive) * _SIMILAR
    similar = bool(marked) and all(
        _EITHER.fullmatch(core)
        and float(core.replace(mark, ".")) < low <= float(core.replace(mark, "")) <= high
        for core in marked
    )
    trailing = bool(whole) and max(whole) < 1000 and any(core.endswith("0") for core in marked)
    return {grouped: mark} if similar or trailing else readings


# --- all columns ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Settled:
    """The notation of each column of numbers, and what remains open.

    `decimal` is the decimal sign of the file, None if no entry shows it. `open` are columns that
    could be read in two ways.
    """

    notations: dict[str, Notation]
    decimal: str | None
    open: list[str]


def settle(
    surveys: Mapping[str, Survey], conventions: Conventions, separator: str | None
) -> Settled:
    """Choose a notation for each column of numbers by the evidence of all of them.

    Columns that can be read in one way decide for the others. Where none does, a file separated by
    commas, by blanks or not at all has decimal points; for other files the user is asked.
    """
    numbers = {name: found for name, found in surveys.items() if found.kind == "number"}
    signs = {next(iter(found.thousands)) for found in numbers.values() if found.decides}
    if conventions.decimal is not None:
        signs = {conventions.decimal}
    elif not signs and conventions.thousands in (".", ","):
        signs = set(_allowed({".": "", ",": ""}, conventions))
    if not signs and separator in (",", " ", None):
        signs = {"."}
    decimal = next(iter(signs)) if len(signs) == 1 else None
    notations: dict[str, Notation] = {}
    undecided = []
    for name, found in numbers.items():
        sign = decimal
        if len(found.thousands) == 1:
            sign = next(iter(found.thousands))
        elif sign is None and found.is_neutral:
            sign = ""
        if sign is None:
            undecided.append(name)
            continue
        notations[name] = Notation(
            sign,
            conventions.thousands or found.thousands.get(sign or ".", ""),
            found.unit,
            found.in_parentheses,
            found.example,
        )
    return Settled(notations, decimal, undecided)
