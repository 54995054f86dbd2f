"""Columns of text and missing values as numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from soffit._threads import row_blocks
from soffit._typing import FloatArray
from soffit._wording import Message, Parameter, count_of, first_few
from soffit.io.data_error import DataError, check_bytes, shown
from soffit.io.tables.tabular import Category

Impute = Literal["none", "auto", "median", "mean", "drop"]
# With "auto" gaps stay if at most this share of the entries is missing.
_FEW_GAPS = 0.2


def empty_columns(X: FloatArray) -> NDArray[np.bool_]:
    """Which columns have no value at all."""
    empty = np.ones(X.shape[1], dtype=bool)
    for rows in row_blocks(X.shape):
        empty &= np.isnan(X[rows]).all(axis=0)
        if not empty.any():
            break
    return empty


def constant_columns(X: FloatArray) -> NDArray[np.bool_]:
    """Which columns have the same value in every row."""
    constant = np.ones(X.shape[1], dtype=bool)
    for rows in row_blocks(X.shape):
        constant &= (X[rows] == X[0]).all(axis=0)
        if not constant.any():
            break
    return constant


# Values that often stand for a missing one.
_SENTINELS = tuple(sign * (10**digits - 1) for digits in range(1, 7) for sign in (-1, 1))
# A sentinel occurs this often and lies outside by this share of the range of the other values.
_LEAST_SENTINELS = 2
_FAR = 0.3


def sentinel_notes(X: FloatArray, names: Sequence[str], codes: Collection[str] = ()) -> list[str]:
    """Notes on numbers such as 999 or -9 that seem to mark missing values."""
    notes: list[str] = []
    for position, name in enumerate(names):
        if name in codes:
            continue
        column = X[:, position]
        values, counts = np.unique(column[np.isfinite(column)], return_counts=True)
        for place, inner in ((len(values) - 1, values[:-1]), (0, values[1:])):
            if len(inner) < 3 or values[place] not in _SENTINELS:
                continue
            low, high = float(inner[0]), float(inner[-1])
            apart = values[place] - high if place else low - values[place]
            # 9 is too small to stand out.
            if abs(values[place]) < 99 and values[place] > 0:
                continue
            if counts[place] >= _LEAST_SENTINELS and apart > _FAR * (high - low):
                notes.append(_sentinel_note(name, values[place], int(counts[place]), low, high))
    return notes


def _sentinel_note(name: str, value: float, count: int, low: float, high: float) -> Message:
    return Message(
        f"{value:g} occurs {count:,} times in {shown(name)}, far from its other values ({low:g} "
        f"to {high:g}). If it stands for a missing value, pass ",
        *(Parameter("na", [f"{value:g}"]), "."),
    )


def fill_gaps(
    path: Path,
    X: FloatArray,
    names: Sequence[str],
    impute: Impute | None,
    codes: Collection[str] = (),
) -> tuple[FloatArray, NDArray[np.intp] | None, list[str]]:
    """A table without gaps, the rows kept if some were dropped, and notes.

    Encoded columns have the name of the column that they come from; `codes` names columns of codes,
    whose gaps are never filled. X is changed in place: it was made for this table.
    """
    missing, infinite = _counts(X)
    if not (missing.any() or infinite.any()):
        return X, None, []
    n_gaps = int(missing.sum() + infinite.sum())
    if impute is None or (impute == "auto" and n_gaps > _FEW_GAPS * X.size):
        raise _refusal(path, X.shape, names, missing, infinite)
    _blank_infinities(X)
    notes = []
    if infinite.any():
        notes.append(f"Infinite values count as missing in {_by_column(names, infinite)}.")
    gaps = missing + infinite
    if impute in ("none", "auto"):
        notes.append(f"Missing values stay missing in {_by_column(names, gaps)}.")
        return X, None, notes
    if impute == "drop":
        kept = np.concatenate(
            [np.flatnonzero(np.isfinite(X[r]).all(axis=1)) + r.start for r in row_blocks(X.shape)]
        )
        if not len(kept):
            raise DataError(
                f"{path}: every row has a missing value.",
                Message(
                    *("Fill in the missing values (", Parameter("impute", "median"), "), or "),
                    f"leave out the columns that have them: {_by_column(names, gaps)}.",
                ),
            )
        dropped = count_of(len(X) - len(kept), "row")
        notes.append(f"Dropped {dropped} with missing values in {_by_column(names, gaps)}.")
        return X[kept], kept, notes
    middle = np.nanmedian if impute == "median" else np.nanmean
    is_code = np.array([name in codes for name in names])
    for position in np.flatnonzero((gaps > 0) & ~is_code):
        column = X[:, position]
        column[np.isnan(column)] = middle(column)
    filled, kept = np.where(is_code, 0, gaps), np.where(is_code, gaps, 0)
    if filled.any():
        notes.append(f"Missing values were set to the {impute} in {_by_column(names, filled)}.")
    if kept.any():
        notes.append(f"Missing text stays missing in {_by_column(names, kept)}.")
    return X, None, notes


def _counts(X: FloatArray) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    missing = np.zeros(X.shape[1], dtype=np.intp)
    infinite = np.zeros(X.shape[1], dtype=np.intp)
    for rows in row_blocks(X.shape):
        # One pass in the usual case: a sum is finite only if all of its terms are.
        with np.errstate(invalid="ignore", over="ignore"):
            if np.isfinite(X[rows].sum()):
                continue
        missing += np.isnan(X[rows]).sum(axis=0)
        infinite += np.isinf(X[rows]).sum(axis=0)
    return missing, infinite


def _blank_infinities(X: FloatArray) -> None:
    for rows in row_blocks(X.shape):
        block = X[rows]
        block[np.isinf(block)] = np.nan


def _refusal(
    path: Path,
    shape: tuple[int, ...],
    names: Sequence[str],
    missing: NDArray[np.intp],
    infinite: NDArray[np.intp],
) -> DataError:
    parts = []
    if missing.any():
        parts.append(f"values are missing in {_by_column(names, missing)}")
    if infinite.any():
        parts.append(f"values are infinite in {_by_column(names, infinite)}")
    worst = names[int(np.argmax(missing + infinite))]
    share = float(missing.sum() + infinite.sum()) / (shape[0] * shape[1])
    return DataError(
        f"{path}: {' and '.join(parts)}, of {count_of(shape[0], 'row')} ({share:.0%} of the "
        "entries).",
        Message(
            *("Compare what is there with ", Parameter("impute", "none"), ", fill them in with "),
            *(Parameter("impute", "median"), " (or mean), drop these rows with "),
            *(Parameter("impute", "drop"), ", or leave out the column with "),
            *(Parameter("drop", [worst]), "."),
        ),
    )


def _by_column(names: Sequence[str], counts: NDArray[np.intp]) -> str:
    by_name = {names[position]: counts[position] for position in np.flatnonzero(counts).tolist()}
    return first_few(f"{shown(name)} ({count:,})" for name, count in by_name.items())


TextRule = Literal["auto", "category", "onehot", "words", "drop"]
# Columns with more distinct values than this hold names or sentences, not categories.
_FEW = 20
_MOST = 1000
_MOST_CATEGORIES = 100_000
# Values of so many words, usually, are documents.
_WORDS_OF_A_DOCUMENT = 6
# Names of objects are shorter.
_LONGEST_NAME = 100
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .*)?")
_THOUSANDS = re.compile(r"[-+]?\d{1,3}([.,' ]\d{3})+([.,]\d+)?")


def most_values(text: TextRule) -> int:
    """The number of distinct values up to which a column is encoded."""
    return {"onehot": _MOST, "category": _MOST_CATEGORIES}.get(text, _FEW)


@dataclass(frozen=True)
class Split:
    """Columns of text by their use: categories, perhaps names, documents; and notes on others."""

    chosen: dict[str, Category]
    many: list[str]
    documents: list[str]
    notes: list[str]


def split_categories(
    path: Path,
    categories: Mapping[str, Category],
    n_rows: int,
    text: TextRule,
    *,
    wanted: Collection[str] = (),
) -> Split:
    """Columns to encode, those with too many distinct values, and documents.

    `wanted` categories are kept with any values.
    """
    split = Split({}, [], [], [])
    for name, category in categories.items():
        values = list(category.values)
        if text == "category" and name in wanted and category.parts is not None:
            split.chosen[name] = category
            continue
        if text == "onehot" and category.parts is None:
            raise DataError(
                f"{path}: column {shown(name)} has more than {_MOST:,} distinct values, too many "
                "for one column per value.",
                Message("Leave it out with ", Parameter("drop", [name]), "."),
            )
        if text != "onehot" and _are_dates(values):
            split.notes.append(f"Left out {shown(name)}: it holds dates. Convert them to numbers.")
        elif text != "onehot" and values and all(map(_THOUSANDS.fullmatch, values[:_FEW])):
            split.notes.append(
                f"Left out {shown(name)}: its numbers seem to have thousands separators "
                f"({shown(values[0])}). Remove the separators to use them."
            )
        elif not values:
            split.notes.append(f"Left out {shown(name)}: it has no values.")
        elif text == "onehot" or (
            category.parts is not None and len(values) <= max(2, n_rows // 2) < n_rows
        ):
            split.chosen[name] = category
        elif are_documents(values):
            split.documents.append(name)
        else:
            split.many.append(name)
    return split


def left_out_notes(split: Split, many: Sequence[str], *, named: bool) -> list[str]:
    """Notes on text that is not used; `named` if the objects have identifiers."""
    notes = [
        Message(
            f"Left out {shown(name)}: it holds documents. To cluster them by their words, pass ",
            *(Parameter("text", "words"), "."),
        )
        for name in split.documents
    ]
    if many:
        which = "it identifies" if len(many) == 1 else "one of them identifies"
        note = Message(
            f"Left out {first_few(map(shown, many))}: text with too many distinct values."
        )
        if not named:
            note = Message(note, f" If {which} the objects, pass ", Parameter("id", many[0]), ".")
        notes.append(note)
    return [*split.notes, *notes]


def _are_dates(values: Sequence[str]) -> bool:
    return bool(values) and all(map(_DATE.fullmatch, values[:_FEW]))


def are_documents(values: Sequence[str]) -> bool:
    """Whether at least half of the first values are sentences or more."""
    counts = sorted(len(value.split()) for value in values[:_FEW])
    return counts[len(counts) // 2] >= _WORDS_OF_A_DOCUMENT


def are_names(values: Sequence[str]) -> bool:
    """Whether entries can name objects: none empty, none long, no dates, no documents."""
    fit = all(value and len(value) <= _LONGEST_NAME for value in values)
    return fit and not _are_dates(values) and not are_documents(values)


def sources(names: Sequence[str], chosen: Mapping[str, Category]) -> list[str]:
    """The column of the file that each column of the table comes from."""
    encoded = {f"{name}={value}": name for name, item in chosen.items() for value in item.values}
    return [encoded.get(name, name) for name in names]


def encode_note(chosen: Mapping[str, Category], text: TextRule) -> list[str]:
    """A note on the columns that were encoded."""
    if not chosen or text == "category":
        return []
    some = first_few(
        f"{shown(name)} ({count_of(len(item.values), 'value')})" for name, item in chosen.items()
    )
    return [f"Text was one-hot encoded, one column per value: {some}."]


def assemble(
    path: Path,
    order: Sequence[str],
    numbers: FloatArray,
    number_names: Sequence[str],
    chosen: Mapping[str, Category],
    *,
    fill: bool,
    codes: bool = False,
) -> tuple[FloatArray, list[str]]:
    """Numbers and encoded text side by side, in the order of the file.

    With `codes` a column of text is one column: the number of the value in alphabetical order.
    """
    if not chosen:
        return numbers, list(number_names)
    widths = [1 if codes else len(item.values) for item in chosen.values()]
    n_columns = len(number_names) + sum(widths)
    needed = float(len(numbers)) * n_columns * numbers.dtype.itemsize
    remedy = Message("Pass ", Parameter("text", "drop"), ".")
    check_bytes(path, needed, "its table with one-hot encoded text", remedy)
    table = np.empty((len(numbers), n_columns), dtype=numbers.dtype)
    place = {name: position for position, name in enumerate(number_names)}
    names: list[str] = []
    for name in order:
        if name in place:
            table[:, len(names)] = numbers[:, place[name]]
            names.append(name)
        elif name in chosen and codes:
            table[:, len(names)] = _ordered_codes(chosen[name])
            names.append(name)
        elif name in chosen:
            for value, column in _one_hot(chosen[name], fill=fill):
                table[:, len(names)] = column
                names.append(f"{name}={value}")
    return table, names


def _ordered_codes(category: Category) -> NDArray[np.float64]:
    """The number of each value in alphabetical order; missing values are NaN."""
    codes = category.codes
    assert codes is not None
    place = np.full(len(category.values) + 1, np.nan)
    for number, value in enumerate(sorted(category.values)):
        place[category.values[value]] = number
    # The code of a missing value, -1, is the last place.
    return np.asarray(place[codes])


def category_values(chosen: Mapping[str, Category]) -> dict[str, tuple[str, ...]]:
    """The values that codes stand for."""
    return {name: tuple(sorted(item.values)) for name, item in chosen.items()}


def _one_hot(category: Category, *, fill: bool) -> Iterable[tuple[str, NDArray[np.float64]]]:
    """One column per value, in alphabetical order; a missing value is missing in all of them.

    `fill` replaces it by the frequencies of the values. The most common value would move the
    object far from others like it, and could create a cluster of its own.
    """
    codes = category.codes
    if codes is None:
        return
    for value in sorted(category.values):
        column = (codes == category.values[value]).astype(np.float64)
        column[codes < 0] = column[codes >= 0].mean() if fill else np.nan
        yield value, column


def gaps_note(chosen: Mapping[str, Category], impute: str | None) -> list[str]:
    """A note on missing text; `_one_hot` fills it in."""
    filled = [
        f"{shown(name)} ({int((item.codes < 0).sum()):,})"
        for name, item in chosen.items()
        if item.codes is not None and (item.codes < 0).any()
    ]
    if not filled or not is_filled(impute):
        return []
    return [f"Missing text was replaced by the frequencies of the values in {first_few(filled)}."]


def is_filled(impute: str | None) -> bool:
    """Whether missing values are filled in, rather than refused or dropped."""
    return impute in ("median", "mean")
