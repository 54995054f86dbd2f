"""The table of all objects: memberships and the user's own columns."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray, is_sparse
from soffit._wording import count_of, number, short_percent, shorten, visible
from soffit.report.html import (
    caption_of,
    data_block,
    json_block,
    packed_array,
    packed_text,
    text,
)
from soffit.results.pixel_grid import PixelGrid
from soffit.results.profiles import ColumnGroup, column_groups, separating_groups
from soffit.results.summary import CLEAR_FROM, UNCERTAIN_BELOW, Summary

# Memberships and entropies are shown with three decimals and kept with four.
_STEPS = 10_000
# The user's columns: at most so many, as long as all columns have so many characters of the page.
_MOST_COLUMNS = 60
_MOST_CHARACTERS = 2_500_000
# Decimals that are tried before values are rounded, and digits that are then kept.
_MOST_DECIMALS = 6
_KEPT = 2**16 - 2
# Weights of words need fewer.
_KEPT_OF_WORDS = 9999


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its heading, how the page reads it, and its packed values.

    `kind` is "number" (of the object), "name", "code" (of a name), "share", "fixed" (a decimal
    number as a whole one) or "picture". `typical` and `levels` are what is typical of each cluster,
    as text and in standard deviations, so that an object can be compared with it.
    """

    title: str
    hint: str
    kind: str
    payload: str = ""
    type: str = ""
    names: tuple[str, ...] = ()
    role: str = ""  # "cluster", "label", "own"; how the page uses it
    offset: int = 0
    decimals: int = 0
    missing: int = -1
    shape: tuple[int, ...] = ()
    typical: tuple[str, ...] = ()
    levels: tuple[float, ...] = ()
    shares: tuple[tuple[float, ...], ...] = ()  # of the values of a text column, per cluster
    center: float = 0.0
    spread: float = 0.0
    is_sparse: bool = False  # mostly zero: nothing but a plain 0 is shown there

    @property
    def is_numeric(self) -> bool:
        """Whether values are aligned as numbers."""
        return self.kind in ("number", "share", "fixed")


def object_columns(summary: Summary) -> list[Column]:
    """All columns in the order of the page."""
    clusters, shares = summary.top(3)
    noun = summary.noun
    first = [
        _id_column(summary),
        _code(
            noun.capitalize(),
            f"The most probable {noun}",
            clusters[:, 0],
            summary.names,
            "cluster",
        ),
        _share("Certainty", f"Membership in the most probable {noun}", shares[:, 0]),
    ]
    if summary.truth is not None:
        first.append(_label_column(summary.truth))
    last = [_share("Entropy", "Uncertainty in nats; 0 is certain", summary.entropy)]
    if summary.overlap is not None and summary.instability is not None:
        last += [
            _share("Overlap", "Part of the entropy: the clusters overlap here", summary.overlap),
            _share(
                "Instability",
                "Part of the entropy: the clusters themselves are unstable here",
                summary.instability,
            ),
        ]
    for rank, word in ((1, "Second"), (2, "Third")):
        if summary.n_clusters > rank:
            place = f"{word.lower()} most probable {noun}"
            last += [
                _code(word, f"The {place}", clusters[:, rank], summary.names, "cluster"),
                _share("Share", f"Membership in the {place}", shares[:, rank]),
            ]
    taken = sum(len(column.payload) for column in (*first, *last))
    return [*first, *own_columns(summary, _MOST_CHARACTERS - taken), *last]


def _id_column(summary: Summary) -> Column:
    if summary.ids is None:
        return Column("Object", "Number of the object, from 0", "number")
    return Column(
        summary.id_name,
        "Name of the object",
        "name",
        packed_text(json.dumps([visible(name) for name in summary.ids], separators=(",", ":"))),
    )


def _label_column(truth: NDArray[Any]) -> Column:
    names, codes = np.unique(truth, return_inverse=True)
    return _code("Label", "The label in the data", codes, tuple(map(str, names)), "label")


def _code(title: str, hint: str, codes: IntArray, names: tuple[str, ...], role: str = "") -> Column:
    small = _smallest(codes)
    return Column(title, hint, "code", packed_array(small), small.dtype.name, names, role)


def _share(title: str, hint: str, values: FloatArray) -> Column:
    small = _smallest(np.round(np.maximum(values, 0.0) * _STEPS))
    return Column(title, hint, "share", packed_array(small), small.dtype.name)


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Integers in the smallest type that holds them."""
    largest = int(values.max(initial=0))
    for dtype in (np.uint8, np.uint16):
        if largest <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values.astype(np.uint32)


# --- the user's columns ---------------------------------------------------------------------------


def own_columns(summary: Summary, room: int) -> list[Column]:
    """The user's columns, those that separate the clusters best first, as far as there is room."""
    if summary.pixels is not None:
        column = _picture_column(summary, summary.pixels)
        return [column] if len(column.payload) <= room else []
    found: list[Column] = []
    left = room
    both = [summary] if summary.attributes is None else [summary.attributes, summary]
    for described, group in ((item, group) for item in both for group in _in_order(item)):
        column = _own(described, group)
        left -= len(column.payload)
        if left < 0 or len(found) == _MOST_COLUMNS:
            break
        found.append(column)
    return found


def _in_order(summary: Summary) -> Iterator[ColumnGroup]:
    """All columns, those that separate the clusters best first; of a sparse table only these."""
    if summary.table is None:
        return
    best = separating_groups(summary, 12)
    yield from best
    if not is_sparse(summary.table):
        chosen = {group.name for group in best}
        yield from (group for group in column_groups(summary) if group.name not in chosen)


def _own(summary: Summary, group: ColumnGroup) -> Column:
    table, means = summary.measured_table()
    if group.values:
        return _text_column(summary, group)
    j = group.members[0]
    values = table[:, [j]].toarray().ravel() if is_sparse(table) else table[:, j]
    spread = float(means.spread[j])
    binary = bool(means.is_binary[j])
    inside = [float(value) for value in means.inside[:, j]]
    typical = [short_percent(v) if binary else number(v, spread=spread) for v in inside]
    is_word = is_sparse(table)
    fixed = _fixed(np.asarray(values), _KEPT_OF_WORDS if is_word else _KEPT)
    return Column(
        group.name,
        fixed.hint,
        "fixed",
        packed_array(fixed.codes),
        fixed.codes.dtype.name,
        role="own",
        offset=fixed.offset,
        decimals=fixed.decimals,
        missing=fixed.missing,
        typical=tuple(typical),
        levels=tuple(round(float(level), 3) for level in means.difference[:, j]),
        center=float(means.overall[j]),
        spread=spread,
        is_sparse=is_word,
    )


@dataclass(frozen=True, eq=False)
class _Fixed:
    """Decimal numbers as whole ones: value = (offset + code) / 10 ** decimals."""

    codes: NDArray[Any]
    offset: int
    decimals: int
    missing: int
    hint: str


def _fixed(values: NDArray[Any], kept: int = _KEPT) -> _Fixed:
    """Exactly where a few decimals are enough, else rounded to about five digits, or `kept`."""
    known = ~np.isnan(values)
    numbers = values[known].astype(np.float64)
    if not len(numbers):
        return _Fixed(np.zeros(len(values), dtype=np.uint8), 0, 0, 0, "A column of the data")
    single = values.dtype == np.float32
    decimals, hint = _decimals(numbers, single), "A column of the data"
    span = float(numbers.max() - numbers.min())
    if decimals is None or span * 10.0**decimals > 2**31 or np.abs(numbers).max() > 2**52:
        decimals = int(np.floor(np.log10(kept / span))) if span > 0 else 0
        hint = "A column of the data, rounded"
    scaled = np.round(numbers * 10.0**decimals)
    offset = int(scaled.min())
    codes = np.zeros(len(values))
    codes[known] = scaled - offset
    missing = -1 if known.all() else int(codes.max()) + 1
    codes[~known] = max(missing, 0)
    return _Fixed(_smallest(codes), offset, decimals, missing, hint)


def _decimals(numbers: FloatArray, is_single: bool) -> int | None:
    """The decimals with which all numbers are exact; None if that takes many."""
    for decimals in range(_MOST_DECIMALS + 1):
        rounded = np.round(numbers, decimals)
        if is_single:
            rounded = rounded.astype(np.float32).astype(np.float64)
        if np.array_equal(rounded, numbers):
            return decimals
    return None


def _text_column(summary: Summary, group: ColumnGroup) -> Column:
    _, means = summary.measured_table()
    names, codes = _texts(summary, group)
    members = list(group.members)
    inside = means.inside[:, members]
    best = inside.argmax(axis=1)
    typical = tuple(
        f"{group.values[place]} ({short_percent(float(row[place]))})"
        for place, row in zip(best, inside, strict=True)
    )
    share_of = dict(zip(group.values, inside.T, strict=True))
    shares = tuple(
        tuple(round(float(v), 4) for v in share_of.get(name, np.zeros(len(inside))))
        for name in names
    )
    gaps = np.abs(means.difference[:, members]).max(axis=0)
    small = _smallest(codes)
    return Column(
        group.name,
        "A column of the data",
        "code",
        packed_array(small),
        small.dtype.name,
        names,
        "own",
        typical=typical,
        levels=tuple(float(v) for v in means.difference[:, members[int(gaps.argmax())]].round(3)),
        shares=shares,
    )


def _texts(summary: Summary, group: ColumnGroup) -> tuple[tuple[str, ...], IntArray]:
    """The values of a text column and the code of each object; a gap is an empty text."""
    if summary.mixed is not None:
        for place, column in enumerate(summary.mixed.columns):
            if column.name == group.name and column.values is not None:
                values = summary.mixed.values[:, place]
                gaps = np.isnan(values)
                known = np.where(gaps, len(column.values), values).astype(np.int64)
                return (*column.values, *(("",) if gaps.any() else ())), known
    columns = np.asarray(summary.table)[:, list(group.members)]
    there = columns == 1
    codes: IntArray = np.where(there.any(axis=1), there.argmax(axis=1), len(group.values))
    rest = ("",) if (codes == len(group.values)).any() else ()
    return (*group.values, *rest), codes


def _picture_column(summary: Summary, grid: PixelGrid) -> Column:
    table = np.asarray(summary.table)
    pixels = np.clip((table - grid.low) / (grid.high - grid.low), 0, 1)[:, grid.columns.ravel()]
    dark = np.round(255 * pixels).astype(np.uint8)
    return Column(
        "Picture",
        "The pixels of the object",
        "picture",
        packed_array(dark),
        "uint8",
        role="picture",
        shape=grid.columns.shape,
    )


# --- the section ----------------------------------------------------------------------------------


def objects_section(summary: Summary, shades: list[str]) -> str:
    """The section without its heading; `shades` are colours of the values of text columns."""
    columns = object_columns(summary)
    spec = {
        "n": summary.n_objects,
        "shades": shades,
        "noun": summary.noun,
        "columns": [_spec(number, column) for number, column in enumerate(columns)],
    }
    blocks = "".join(
        data_block(_identifier(number), column.payload)
        for number, column in enumerate(columns)
        if column.payload
    )
    return (
        _controls(summary)
        + _frame(summary, columns)
        + _pages()
        + json_block("objects-spec", spec)
        + blocks
    )


def _identifier(number: int) -> str:
    return f"objects-column-{number}"


def _spec(position: int, column: Column) -> dict[str, Any]:
    found: dict[str, Any] = {
        "title": visible(column.title),
        "kind": column.kind,
        "payload": _identifier(position),
        "type": column.type,
        "names": column.names,
        "role": column.role,
    }
    if column.kind == "fixed":
        found |= {
            "offset": column.offset,
            "decimals": column.decimals,
            "missing": column.missing,
            "center": column.center,
            "spread": column.spread,
            "sparse": column.is_sparse,
        }
    if column.role == "own":
        found |= {"typical": column.typical, "levels": column.levels, "shares": column.shares}
    if column.shape:
        found["shape"] = column.shape
    return found


def _controls(summary: Summary) -> str:
    clusters = "".join(
        f'<option value="{number}">{text(shorten(summary.name_of(number)))}</option>'
        for number in range(summary.n_clusters)
    )
    levels = "".join(
        f'<option value="{level:g}">below {level:g}</option>'
        for level in (0.9, CLEAR_FROM, UNCERTAIN_BELOW)
    )
    return f"""
<form class="controls" role="search" aria-label="Objects">
<label>Search in names and texts <input type="search" name="search" autocomplete="off"></label>
<label>{summary.noun.capitalize()}
<select name="cluster"><option value="">all {summary.plural}</option>{clusters}</select></label>
<label>Certainty <select name="certainty"><option value="">any</option>
{levels}</select></label>
<label>Rows
<select name="rows"><option>25</option><option>100</option><option>500</option></select></label>
<button type="button" name="download">Download these rows (CSV)</button>
</form>"""


def _frame(summary: Summary, columns: list[Column]) -> str:
    first, *others = (_heading(place, column) for place, column in enumerate(columns))
    heads = f'{first}<th scope="col">Memberships</th>{"".join(others)}'
    n_own = sum(column.role == "own" for column in columns)
    n_columns = sum(len(column_groups(s)) for s in (summary, summary.attributes) if s is not None)
    left_out = (
        f" {n_own} of {n_columns} columns of the data are shown." if 0 < n_own < n_columns else ""
    )
    why = (
        " Open a row to compare it with its two most probable clusters."
        if n_own and summary.n_clusters > 1
        else ""
    )
    caption = (
        f"{count_of(summary.n_objects, 'object')}. Click a heading to sort by it; click again "
        f"to reverse the order.{why}{left_out}"
    )
    return f"""
<div class="scroll" tabindex="0" role="region" aria-label="Table of objects">
<table class="objects">{caption_of(caption)}
<thead><tr>{heads}</tr></thead><tbody></tbody></table></div>"""


def _heading(place: int, column: Column) -> str:
    right = ' class="number"' if column.is_numeric else ""
    title = text(shorten(column.title, 40))
    if column.kind == "picture":
        return f'<th scope="col">{title}</th>'
    button = f'<button type="button" title="{text(column.hint)}">{title}</button>'
    return f'<th scope="col" aria-sort="none" data-column="{place}"{right}>{button}</th>'


def _pages() -> str:
    def button(go: str, label: str) -> str:
        return f'<button type="button" data-go="{go}">{label}</button>'

    return (
        '<nav class="paging" aria-label="Pages of the table">'
        + button("first", "First")
        + button("previous", "Previous")
        + '<label>Page <input type="number" name="page" min="1" value="1"></label>'
        + '<span class="pages"></span>'
        + button("next", "Next")
        + button("last", "Last")
        + '<p role="status">The table appears here if scripts are enabled.</p></nav>'
    )
