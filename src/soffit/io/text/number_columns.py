"""Columns of text that hold numbers: which, in which notation, and what to ask the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from soffit._wording import Message, Parameter, count_of, first_few
from soffit.io.data_error import DataError, shown
from soffit.io.text.numbers import (
    MISSING,
    ColumnKind,
    Conventions,
    MixedUnits,
    Notation,
    Survey,
    is_plain,
    looks_numeric,
    settle,
    survey,
)

# Share of such entries in a column that looks like numbers.
_MOSTLY = 0.8
# A column of so few values, each of which occurs so often on average, holds groups.
_FEW_VALUES = 10
_REPEATED = 10
_SIGN_NAMES = {".": "points", ",": "commas", " ": "blanks", "'": "apostrophes"}


@dataclass(frozen=True)
class NumberColumns:
    """What the columns hold and how their numbers are written.

    `problems` are errors about columns that look like numbers but cannot be read; they matter only
    if the column is used. `decimal` is the decimal sign of the file, None if no entry shows it.
    """

    kinds: dict[str, ColumnKind]
    notations: dict[str, Notation] = field(default_factory=dict)
    problems: dict[str, DataError] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    decimal: str | None = None

    @classmethod
    def find(
        cls,
        path: Path,
        columns: Mapping[str, Sequence[str]],
        conventions: Conventions,
        separator: str | None,
    ) -> NumberColumns:
        """Look at some entries of each column; columns without any are numbers."""
        surveys = {name: survey(entries, conventions) for name, entries in columns.items()}
        present = {name: found for name, found in surveys.items() if found is not None}
        settled = settle(present, conventions, separator)
        kinds: dict[str, ColumnKind] = {
            name: "number" if found is None else found.kind for name, found in surveys.items()
        }
        problems = {name: _two_ways(path, name, present[name]) for name in settled.open}
        for name, found in present.items():
            if found.problem is not None:
                problems[name] = _unreadable(path, name, found.problem)
        for name, entry in _look_alike(present, columns).items():
            problems.setdefault(name, _like_numbers(path, name, entry))
        missing = {name: Notation(settled.decimal or "") for name, s in surveys.items() if not s}
        notations = settled.notations | missing
        notes = _notes(settled.notations, settled.decimal)
        return cls(kinds, notations, problems, notes, settled.decimal)


def _look_alike(
    surveys: Mapping[str, Survey], columns: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Text that looks like numbers, with an entry, if there is more of it than of numbers."""
    found = {}
    words = [name for name, seen in surveys.items() if seen.kind == "text"]
    for name in words:
        entries = [entry.strip() for entry in columns[name] if entry.strip()]
        n_values = len(set(entries))
        if n_values <= _FEW_VALUES and len(entries) >= _REPEATED * n_values:
            # Such as "1st class": names of a few groups, not damaged numbers.
            continue
        if sum(map(looks_numeric, entries)) >= _MOSTLY * len(entries):
            found[name] = entries[0]
    n_numbers = sum(seen.kind == "number" for seen in surveys.values())
    return found if len(found) > n_numbers else {}


def _like_numbers(path: Path, name: str, entry: str) -> DataError:
    return DataError(
        f"{path}: column {shown(name)} looks like numbers, such as {shown(entry)}, but they cannot "
        "be read, like most columns of the file.",
        Message(
            *("Remove what is not part of the numbers, pass ", Parameter("decimal"), " or "),
            *(Parameter("thousands"), ", or leave the column out with "),
            *(Parameter("drop", [name]), "."),
        ),
    )


def _two_ways(path: Path, name: str, found: Survey) -> DataError:
    mark = "," if "," in found.example else "."
    other = "." if mark == "," else ","
    return DataError(
        f"{path}: column {shown(name)} has numbers such as {shown(found.example)}, whose "
        f"{'comma' if mark == ',' else 'point'} may be a decimal sign or separate thousands; no "
        "other entry of the file tells which.",
        Message(
            *("Pass ", Parameter("decimal", mark), " or ", Parameter("thousands", mark)),
            f" (that is, decimal {'points' if other == '.' else 'commas'}).",
        ),
    )


def _unreadable(path: Path, name: str, problem: str | MixedUnits) -> DataError:
    leave_out = Message(" or leave the column out with ", Parameter("drop", [name]), ".")
    if isinstance(problem, MixedUnits):
        some = first_few(shown(entry) for entry in problem.examples.values())
        return DataError(
            f"{path}: column {shown(name)} mixes units: {some}.",
            Message("Convert all of them to one unit,", leave_out),
        )
    return DataError(
        f"{path}: column {shown(name)} looks like numbers, but they cannot be read: its entries, "
        f"such as {shown(problem)}, do not have the same decimal sign.",
        Message(
            *("Use one sign throughout, pass ", Parameter("decimal"), " if the others are wrong,"),
            leave_out,
        ),
    )


def _notes(notations: Mapping[str, Notation], decimal: str | None) -> list[str]:
    notes = []
    commas = [name for name, notation in notations.items() if notation.decimal == ","]
    if decimal == "," and any(notations[name].example for name in commas):
        notes.append("Numbers are written with a decimal comma.")
    elif decimal != "," and commas:
        notes.append(
            f"Numbers are written with a decimal comma in {first_few(map(shown, commas))}."
        )
    marks = {notation.thousands for notation in notations.values() if notation.thousands}
    for mark in sorted(marks):
        names = [name for name, notation in notations.items() if notation.thousands == mark]
        example = notations[names[0]].example
        notes.append(
            f"Thousands are separated by {_SIGN_NAMES[mark]} in {first_few(map(shown, names))}, "
            f"as in {shown(example)}."
        )
    dressed = {name: _unit_words(notation) for name, notation in notations.items()}
    some = [f"{shown(name)} ({words})" for name, words in dressed.items() if words]
    if some:
        notes.append(f"Read as numbers: {first_few(some)}.")
    return notes


def _unit_words(notation: Notation) -> str:
    """What was taken off the numbers of a column."""
    words = []
    if notation.unit.name:
        words.append(f"in {notation.unit.name}")
    words += [f"{suffix} is {factor:,.0f}" for suffix, factor in notation.unit.scales.items()]
    if notation.in_parentheses:
        words.append("parentheses mean negative")
    return ", ".join(words)


# --- reading --------------------------------------------------------------------------------------


def parse_numbers(
    texts: Any, notation: Notation, missing: Sequence[str] = ()
) -> tuple[Any, int | None, int]:
    """Numbers of a polars series of text, the first entry that is not one, and how many are not."""
    stripped = texts.str.strip_chars()
    values = notation.parse(stripped)
    left = (values.is_null() & stripped.is_not_null()).fill_null(False)
    if not left.any():
        return values, None, 0
    wrong = (left & ~stripped.is_in(["", *MISSING, *missing]).fill_null(False)).arg_true()
    return values, (int(wrong[0]) if len(wrong) else None), len(wrong)


def not_a_number(
    path: Path, name: str, entry: str, *, place: str, count: int, notation: Notation
) -> DataError:
    """The error for an entry of a numeric column that cannot be read."""
    remedy: list[str | Parameter] = []
    other = survey([entry], Conventions())
    if other is not None and other.kind == "number" and notation.unit.name != other.unit.name:
        remedy = [f"Convert it to {notation.unit.name or 'the unit of the others'}. "]
    elif other is not None and other.kind == "number":
        mark = next((t for t in other.thousands.values() if t), "")
        if mark and notation.decimal and mark != notation.decimal:
            remedy = ["Pass ", Parameter("thousands", mark), " if it separates thousands. "]
        else:
            remedy = ["Pass ", Parameter("decimal"), " or ", Parameter("thousands"), ". "]
    elif not is_plain(entry):
        remedy = ["Pass ", Parameter("na", [entry]), " if it stands for no value. "]
    return DataError(
        f"{path}: column {shown(name)} holds numbers, but {place} has {shown(entry)} "
        f"({count_of(count, 'such entry')} nearby).",
        Message(
            *remedy,
            "Correct the entry, leave it empty if the value is unknown, or pass ",
            *(Parameter("drop", [name]), "."),
        ),
    )


def without_markers(frame: Any, missing: Sequence[str]) -> Any:
    """A polars frame in which the entries that mean "no value" are null."""
    import polars as pl
    import polars.selectors as cs

    if not missing:
        return frame
    numbers = [float(marker) for marker in missing if is_plain(marker)]
    words = cs.string()
    changed = [
        pl.when(words.str.strip_chars().is_in(list(missing)))
        .then(None)
        .otherwise(words)
        .name.keep()
    ]
    if numbers:
        floats = cs.float()
        changed.append(pl.when(floats.is_in(numbers)).then(None).otherwise(floats).name.keep())
    return frame.with_columns(changed)
