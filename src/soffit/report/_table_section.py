"""The table of objects: its controls, its headings and its packed columns."""

from __future__ import annotations

from typing import Any

from soffit.report._html import text
from soffit.report._objects import Column, object_columns
from soffit.report._payload import data_block, json_block
from soffit.report._subject import Subject
from soffit.report._words import count_of, shorten


def objects_section(subject: Subject, colours: list[str]) -> str:
    """The whole section but its heading."""
    columns = object_columns(subject)
    spec = {
        "n": subject.n_objects,
        "colours": colours,
        "columns": [_spec(number, column) for number, column in enumerate(columns)],
    }
    blocks = "".join(
        data_block(_identifier(number), column.payload)
        for number, column in enumerate(columns)
        if column.payload
    )
    return (
        _controls(subject)
        + _frame(subject, columns)
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


def _controls(subject: Subject) -> str:
    what = "name or label" if subject.truth is not None else "name"
    clusters = "".join(
        f'<option value="{number}">{text(shorten(subject.cluster(number)))}</option>'
        for number in range(subject.n_clusters)
    )
    return f"""
<form class="controls" role="search" aria-label="Objects">
<label>Search by {what} <input type="search" name="search" autocomplete="off"></label>
<label>{subject.noun.capitalize()}
<select name="cluster"><option value="">all {subject.plural}</option>{clusters}</select></label>
<label>Certainty <select name="certainty"><option value="">any</option>
<option value="0.9">below 0.9</option><option value="0.8">below 0.8</option>
<option value="0.6">below 0.6</option></select></label>
<label>Rows
<select name="rows"><option>25</option><option>100</option><option>500</option></select></label>
</form>"""


def _frame(subject: Subject, columns: list[Column]) -> str:
    first, *others = (_heading(column) for column in columns)
    heads = f'{first}<th scope="col">Memberships</th>{"".join(others)}'
    caption = (
        f"{count_of(subject.n_objects, 'object')}. Choose a heading to sort by it, and once more "
        "to turn the order round."
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
        + '<p role="status">The table appears here when scripts are allowed.</p></nav>'
    )
