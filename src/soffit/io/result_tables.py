"""The columns of a result: beside those of the user's table, or on their own."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._wording import first_few
from soffit.inputs import read_attributes
from soffit.io.data_error import DataError, shown
from soffit.io.source import Source
from soffit.io.tables.table import looks_like_identifier
from soffit.io.text.delimited import DelimitedRows
from soffit.io.text.dialect import NO_SEPARATOR
from soffit.memberships.measures import column
from soffit.mixed_columns import is_missing
from soffit.results.per_object import ROUNDED, Result

_SCORES = (
    *("cluster", "cluster_name", "certainty", "entropy"),
    *("novelty", "overlap", "instability", "truth"),
)
# The name of objects that are numbered, counted from 1 in a file.
_ROW = "row"
_MEMBERSHIP = re.compile(r"p\d+")
_PREFIX = re.compile(r"^soffit\d*_")


def to_columns(result: Result) -> dict[str, NDArray[Any]]:
    """Identifier, cluster, scores and memberships, in the order in which they are written."""
    return _identified(result) | score_columns(result)


def _identified(result: Result) -> dict[str, NDArray[Any]]:
    """The identifiers; objects without any are numbered from 1, as rows of a file are."""
    n = len(result.labels)
    ids = np.arange(n) if result.ids is None else np.asarray(result.ids)
    if ids.dtype.kind in "iu" and np.array_equal(ids, np.arange(n)):
        return {_ROW: np.arange(1, n + 1)}
    return {_free_name(result): ids}


def score_columns(result: Result) -> dict[str, NDArray[Any]]:
    """Cluster, scores and memberships, in the order in which they are written."""
    columns: dict[str, NDArray[Any]] = {"cluster": result.labels}
    if result.names is not None:
        # The last name is that of objects which are assigned to no cluster, -1.
        columns["cluster_name"] = np.array([*result.names, ""], dtype=np.str_)[result.labels]
    columns["certainty"] = result.certainty
    columns["entropy"] = result.entropy
    for name in ("novelty", "overlap", "instability", "truth"):
        values = getattr(result, name)
        if values is not None:
            columns[name] = np.asarray(values)
    for number in range(result.n_clusters):
        columns[f"p{number}"] = column(result.memberships, number)
    return columns


def _free_name(result: Result) -> str:
    """The name of the identifiers, unless another column has it."""
    taken = result.id_name in _SCORES or _MEMBERSHIP.fullmatch(result.id_name)
    return "id" if taken or not result.id_name.strip() else result.id_name


def from_columns(
    path: Path, columns: Mapping[str, Sequence[Any]], text_columns: Sequence[str] = ()
) -> Result:
    """A result from the columns of a file; `path` is for messages.

    Among columns of the user, `text_columns` may identify the objects.
    """
    columns = _without_prefix(columns)
    names = sorted(filter(_MEMBERSHIP.fullmatch, columns), key=lambda name: int(name[1:]))
    if not names or names != [f"p{number}" for number in range(len(names))]:
        raise DataError(
            f"{path}: not a result of soffit: the memberships p0, p1, ... are missing or "
            f"incomplete. Its columns are {first_few(map(shown, columns), 12)}."
        )
    memberships = np.column_stack([_numbers(path, name, columns[name]) for name in names])
    _check_memberships(path, memberships)
    optional = {
        name: _numbers(path, name, columns[name])
        for name in ("overlap", "instability", "novelty")
        if name in columns
    }
    others = [name for name in columns if name not in _SCORES and name not in names]
    id_name = _identifying(columns, others, text_columns)
    truth = columns.get("truth")
    return Result.from_memberships(
        memberships,
        ids=None if id_name is None else _identifiers(columns[id_name], id_name),
        id_name="id" if id_name is None else id_name,
        truth=None if truth is None else _texts(truth),
        names=_cluster_names(columns, memberships),
        **optional,
    )


def _cluster_names(
    columns: Mapping[str, Sequence[Any]], memberships: NDArray[Any]
) -> list[str] | None:
    """Names of the clusters, as far as objects of the file have them."""
    if "cluster_name" not in columns:
        return None
    names = [str(number) for number in range(memberships.shape[1])]
    for number, name in zip(memberships.argmax(axis=1), columns["cluster_name"], strict=True):
        if name:
            names[number] = str(name)
    return names


def _numbers(path: Path, name: str, values: Sequence[Any]) -> NDArray[Any]:
    try:
        array = np.asarray(values)
        return array if array.dtype.kind == "f" else array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{path}: the column {shown(name)} must hold numbers ({error}).") from error


def _check_memberships(path: Path, memberships: NDArray[Any]) -> None:
    if not len(memberships):
        raise DataError(f"{path}: it has no rows.")
    sums = memberships.sum(axis=1)
    # Written so that NaN fails too.
    wrong = np.flatnonzero(
        ~((np.abs(sums - 1) <= ROUNDED) & (memberships >= 0).all(axis=1) & np.isfinite(sums))
    )
    if wrong.size:
        row = int(wrong[0])
        raise DataError(
            f"{path}: the memberships of row {row + 1:,} are not probabilities that sum to 1 "
            f"(their sum is {sums[row]:g}).",
            "Write the result again.",
        )


def own_name(name: str) -> str:
    """The name of a column without the prefix that it may have in a file."""
    return _PREFIX.sub("", name, count=1)


def memberships_in(columns: Iterable[str]) -> set[str]:
    """The names of memberships, p0, p1 and so on."""
    return {own_name(name) for name in columns if _MEMBERSHIP.fullmatch(own_name(name))}


def _without_prefix(columns: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The columns of the result by their own names, without the prefix of the file."""
    found = [match.group() for name in columns if (match := _PREFIX.match(name))]
    prefixes = [prefix for prefix in found if f"{prefix}p0" in columns]
    if not prefixes:
        return dict(columns)
    # A table that was written before and then clustered again has several.
    prefix = max(prefixes, key=lambda given: int(given[6:-1] or 1))
    ours = {name: values for name, values in columns.items() if name.startswith(prefix)}
    before = {
        name: values
        for name, values in columns.items()
        if name not in ours and name not in _SCORES and not _MEMBERSHIP.fullmatch(name)
    }
    return before | {name.removeprefix(prefix): values for name, values in ours.items()}


def _identifying(
    columns: Mapping[str, Sequence[Any]], others: Sequence[str], text_columns: Sequence[str]
) -> str | None:
    """The column that identifies the objects: the only other one, or the first that can."""
    if len(others) < 2:
        return others[0] if others else None
    by_name = [name for name in others if looks_like_identifier(name)]
    for name in (*by_name, *(name for name in others if name in text_columns)):
        values = list(columns[name])
        if all(value not in (None, "") for value in values) and len(set(values)) == len(values):
            return name
    return None


def _identifiers(values: Sequence[Any], name: str) -> NDArray[Any]:
    """Text, or the numbers from 0 if the objects are only numbered."""
    texts = _texts(values)
    n = len(texts)
    first = 1 if name == _ROW else 0
    numbered = n and texts[0] == str(first) and texts[-1] == str(first + n - 1)
    if numbered and texts.tolist() == list(map(str, range(first, first + n))):
        return np.arange(n)
    return np.array([_unmarked(text) for text in texts.tolist()], dtype=np.str_)


def _texts(values: Sequence[Any]) -> NDArray[Any]:
    return np.array(["" if value is None else str(value) for value in values], dtype=np.str_)


# --- text -----------------------------------------------------------------------------------------

# What a spreadsheet program would run: a formula, or a call after another sign.
_FORMULA = r"^\s*(?:=|[-+@].*(?:[A-Za-z]\(|\||!)|[\t\r])"
_MARKED = re.compile(r"'(?=\s*[-+=@\t\r])")


def marked(frame: Any) -> Any:
    """The same frame with an apostrophe before text that a spreadsheet would run as a formula."""
    import polars as pl
    import polars.selectors as cs

    words = cs.string()
    risky = words.str.contains(_FORMULA)
    frame = frame.with_columns(pl.when(risky).then("'" + words).otherwise(words).name.keep())
    return frame.rename({n: f"'{n}" for n in frame.columns if re.match(_FORMULA, n)})


def _unmarked(text: str) -> str:
    return text[1:] if _MARKED.match(text) else text


@dataclass(frozen=True)
class TextForm:
    """How a result is written as text: as the data came in, where that is known."""

    separator: str = ","
    decimal_comma: bool = False
    mark: bytes = b""

    @classmethod
    def of(cls, path: Path, source: Source | None) -> TextForm:
        """The separator and decimal sign of the data; tabs in a .tsv file."""
        rows = None if source is None else source.origin
        comma, separator, mark = False, ",", b""
        if isinstance(rows, DelimitedRows):
            comma = rows.found.decimal == ","
            separator = rows.dialect.separator
            mark = rows.text.mark if rows.text.mark == codecs.BOM_UTF8 else b""
        if path.suffix.lower() == ".tsv":
            return cls("\t", comma, mark)
        if separator in (NO_SEPARATOR, "\t", " ") or (separator == "," and comma):
            separator = ";" if comma else ","
        return cls(separator, comma, mark)


# --- the user's table -----------------------------------------------------------------------------


def has_table(source: Source | None) -> bool:
    """Whether the rows of the file are the objects."""
    return source is not None and source.kind == "table" and hasattr(source.origin, "raw_blocks")


def table_blocks(result: Result, source: Source, *, as_text: bool) -> Iterator[Any]:
    """Polars frames of consecutive rows: the columns of the file, then those of the result."""
    import polars as pl

    rows = source.origin
    # The known labels are a column of the user's table.
    result = replace(result, truth=None)
    n, kept = len(result.labels), source.kept
    row = done = 0
    words = [name for name in rows.names if rows.kinds[name] != "number" or name in rows.problems]
    blocks = rows.raw_blocks() if as_text else rows.blocks(rows.names, words)
    for block in blocks:
        stop = row + block.height
        ours = block
        if kept is not None:
            ours = block[(kept[(kept >= row) & (kept < stop)] - row).tolist()]
        if done + ours.height > n:
            break
        part = score_columns(result.part(slice(done, done + ours.height)))
        yield pl.concat([ours, frame_of(_prefixed(part, rows.names))], how="horizontal")
        row, done = stop, done + ours.height
    if done != n or row == 0:
        raise DataError(
            f"{source.path}: it has changed since it was read.", "Run the command again."
        )


def attribute_frame(result: Result, source: Source) -> Any:
    """Identifiers, the attributes of cells or nodes that are numbers or text, and the result."""
    import polars as pl

    given = read_attributes(source.origin)
    n = len(result.labels)
    columns = {name: values for name, values in given.items() if len(values) == n}
    named = frame_of(_identified(result))
    extra = [_plain_series(name, v) for name, v in columns.items() if name not in named.columns]
    taken = [*named.columns, *columns]
    own = score_columns(replace(result, truth=None) if columns else result)
    return pl.concat(
        [named, pl.DataFrame(extra), frame_of(_prefixed(own, taken))], how="horizontal"
    )


def _plain_series(name: str, values: Sequence[Any]) -> Any:
    """Numbers if all values are, else text."""
    import polars as pl

    present = [value for value in values if not is_missing(value)]
    given = [None if is_missing(value) else value for value in values]
    if all(isinstance(value, (int, float, np.number)) for value in present):
        return pl.Series(name, [None if v is None else float(v) for v in given], dtype=pl.Float64)
    return pl.Series(name, [None if v is None else str(v) for v in given], dtype=pl.String)


def _prefixed(columns: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    """Names that the user's table does not have."""
    present = set(taken)
    prefix, number = "", 1
    while any(f"{prefix}{name}" in present for name in columns):
        prefix = "soffit_" if number == 1 else f"soffit{number}_"
        number += 1
    return {f"{prefix}{name}": values for name, values in columns.items()}


def frame_of(columns: Mapping[str, NDArray[Any]]) -> Any:
    """A polars frame."""
    import polars as pl

    return pl.DataFrame(
        {
            name: pl.Series(name, values.tolist(), dtype=pl.String)
            if values.dtype.kind in "UO"
            else pl.Series(name, np.ascontiguousarray(values))
            for name, values in columns.items()
        }
    )
