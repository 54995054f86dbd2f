"""The table of all objects."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit.report.html import data_block, json_block, packed_array, packed_text, text
from soffit.results.summary import CLEAR_FROM, UNCERTAIN_BELOW, Summary
from soffit.results.words import count_of, shorten, visible

# Memberships and entropies are shown with three decimals and kept with four.
_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its heading, how the page reads it, and its packed values."""

    title: str
    hint: str
    kind: str  # "number" of object, "name", "code" of a name, "share"
    payload: str = ""
    type: str = ""
    names: tuple[str, ...] = ()

    @property
    def is_numeric(self) -> bool:
        """Whether values are aligned as numbers."""
        return self.kind in ("number", "share")


@dataclass(frozen=True, eq=False)
class _Ranked:
    """The most probable clusters of each object, best first."""

    clusters: IntArray
    shares: FloatArray


def object_columns(summary: Summary) -> list[Column]:
    """All columns in the order of the page."""
    ranked = _ranked(summary, 3)
    noun = summary.noun
    columns = [
        _id_column(summary),
        _code(noun.capitalize(), f"The most probable {noun}", ranked.clusters[:, 0], summary.names),
        _share("Certainty", f"Membership in the most probable {noun}", ranked.shares[:, 0]),
        _share("Entropy", "Uncertainty in nats; 0 is certain", summary.entropy),
    ]
    if summary.overlap is not None and summary.instability is not None:
        columns += [
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
            columns += [
                _code(word, f"The {place}", ranked.clusters[:, rank], summary.names),
                _share("Share", f"Membership in the {place}", ranked.shares[:, rank]),
            ]
    if summary.truth is not None:
        columns.append(_label_column(summary.truth))
    return columns


def _ranked(summary: Summary, most: int) -> _Ranked:
    order = np.argsort(-summary.memberships, axis=1, kind="stable")[:, :most]
    return _Ranked(order, np.take_along_axis(summary.memberships, order, axis=1))


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
    return _code("Label", "The label in the data", codes, tuple(map(str, names)))


def _code(title: str, hint: str, codes: IntArray, names: tuple[str, ...]) -> Column:
    small = _smallest(codes)
    return Column(title, hint, "code", packed_array(small), small.dtype.name, names)


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


def objects_section(summary: Summary, colours: list[str]) -> str:
    """The section without its heading."""
    columns = object_columns(summary)
    spec = {
        "n": summary.n_objects,
        "colours": colours,
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


def _spec(number: int, column: Column) -> dict[str, Any]:
    return {
        "kind": column.kind,
        "payload": _identifier(number),
        "type": column.type,
        "names": column.names,
        "coloured": column.kind == "code" and column.title != "Label",
        "searched": column.kind in ("number", "name") or column.title == "Label",
    }


def _controls(summary: Summary) -> str:
    what = "name or label" if summary.truth is not None else "name"
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
<label>Search by {what} <input type="search" name="search" autocomplete="off"></label>
<label>{summary.noun.capitalize()}
<select name="cluster"><option value="">all {summary.plural}</option>{clusters}</select></label>
<label>Certainty <select name="certainty"><option value="">any</option>
{levels}</select></label>
<label>Rows
<select name="rows"><option>25</option><option>100</option><option>500</option></select></label>
</form>"""


def _frame(summary: Summary, columns: list[Column]) -> str:
    first, *others = (_heading(column) for column in columns)
    heads = f'{first}<th scope="col">Memberships</th>{"".join(others)}'
    caption = (
        f"{count_of(summary.n_objects, 'object')}. Click a heading to sort by it; click again "
        "to reverse the order."
    )
    return f"""
<div class="scroll"><table class="objects"><caption>{caption}</caption>
<thead><tr>{heads}</tr></thead><tbody></tbody></table></div>"""


def _heading(column: Column) -> str:
    right = ' class="number"' if column.is_numeric else ""
    button = (
        f'<button type="button" title="{text(column.hint)}">{text(shorten(column.title))}</button>'
    )
    return f'<th scope="col" aria-sort="none"{right}>{button}</th>'


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
