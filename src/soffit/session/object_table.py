"""The user's own table beside the objects: for display, sorting, colours and comparison."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit._wording import first_few, number, visible
from soffit.inputs import read_attributes
from soffit.mixed_columns import MixedTable

ColumnKind = Literal["number", "category", "text", "picture"]
PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
# A column with more distinct values is text, not a category.
_MOST_CATEGORIES = 60
# A longer text is shown in part where many are shown.
_LONG = 30
# Values that decide what kind of column it is.
_LOOKED_AT = 200
# Linked nodes that are named.
_NAMED = 15
# Texts that are written when they are asked for are searched for no more objects than this.
_MOST_SEARCHED = 20_000


@dataclass(frozen=True, eq=False)
class Column:
    """One column as the user has it."""

    name: str  # Its name.
    kind: ColumnKind  # What it holds.
    texts: Any  # Its values as the file has them, empty where missing.
    # (n,): numbers, or codes of `categories`; NaN where missing. All NaN for text and pictures.
    values: FloatArray
    categories: tuple[str, ...] = ()  # The distinct values of a category, the most frequent first.
    is_used: bool = True  # Whether the objects were clustered by it.

    def shown(self, row: int) -> str:
        """The value of an object as text."""
        return visible(str(self.texts[row]))

    @cached_property
    def spread(self) -> float:
        """Standard deviation of the numbers, 0 if there is none."""
        known = self.values[np.isfinite(self.values)]
        return float(known.std()) if len(known) else 0.0

    def difference(self, a: int, b: int) -> float:
        """How much two objects differ: in standard deviations, or 0 and 1; NaN if not known."""
        if self.kind in ("number", "category"):
            one, other = float(self.values[a]), float(self.values[b])
            if not (np.isfinite(one) and np.isfinite(other)):
                return float("nan")
            if self.kind == "category":
                return float(one != other)
            return abs(one - other) / self.spread if self.spread > 0 else 0.0
        return float("nan") if not self.texts[a] or not self.texts[b] else 0.0


class ObjectTable:
    """The objects by name, with the columns that the user has for them.

    `ids`: names of the objects.
    `id_name`: what the names are called.
    `folder`: the folder that paths of pictures start from.
    """

    def __init__(
        self,
        ids: Sequence[str],
        columns: Sequence[Column] = (),
        *,
        id_name: str = "id",
        folder: Path | None = None,
    ) -> None:
        self.ids = list(map(str, ids))
        self.columns = list(columns)
        self.id_name = id_name
        self.folder = folder

    @classmethod
    def of(cls, source: Any) -> ObjectTable:
        """The table of a `soffit.io.Source`."""
        ids = source.ids
        if ids is None:
            ids = [str(row) for row in range(1, source.n_objects + 1)]
        folder = Path(source.path).resolve().parent if source.path else None
        columns = _columns(source)
        return cls(
            ids,
            [column for column in columns if column.name != source.id_name],
            id_name=source.id_name,
            folder=folder,
        )

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return len(self.ids)

    def picture(self, row: int, column: int) -> Path | None:
        """The file of a picture, if the column holds pictures and it is in the data's folder."""
        found = self.columns[column]
        if found.kind != "picture" or self.folder is None or not found.texts[row]:
            return None
        # A file of a stranger must not lead to files elsewhere, not even through links.
        path = (self.folder / str(found.texts[row])).resolve()
        is_inside = path.is_relative_to(self.folder.resolve())
        return path if is_inside and path.suffix.lower() in PICTURES and path.is_file() else None

    def compared(self, a: int, b: int) -> list[tuple[Column, float]]:
        """All columns with the difference of two objects, the largest first.

        Pictures and long texts, which a person looks at first, come before the others; columns
        that the objects were not clustered by come last.
        """
        found = [(column, column.difference(a, b)) for column in self.columns]

        def rank(entry: tuple[Column, float]) -> tuple[int, float]:
            column, difference = entry
            if column.kind == "picture":
                return 0, 0.0
            is_long = (
                column.kind == "text" and max(len(column.shown(a)), len(column.shown(b))) > _LONG
            )
            if is_long:
                return 1, 0.0
            place = 2 if column.is_used else 4
            return (place + 1, 0.0) if np.isnan(difference) else (place, -difference)

        return sorted(found, key=rank)

    def order(self, by: str, memo: dict[str, NDArray[Any]], descending: bool = False) -> IntArray:
        """Rows sorted by a column or by one of the arrays of `memo`; missing values last."""
        n = self.n_objects
        if by in memo:
            values: Any = np.asarray(memo[by], dtype=np.float64)
        else:
            column = next((column for column in self.columns if column.name == by), None)
            if column is None:
                ranks = np.array(sorted(range(n), key=lambda row: _natural(self.ids[row])))
                return ranks[::-1] if descending else ranks
            if column.kind == "number":
                values = column.values
            else:
                import polars as pl

                texts = pl.Series(column.texts, dtype=pl.String)
                values = texts.rank("dense").cast(pl.Float64).to_numpy().copy()
                values[(texts == "").to_numpy()] = np.nan
        return np.lexsort((np.arange(n), -values if descending else values))

    def containing(self, text: str) -> NDArray[np.bool_]:
        """Objects whose name or one of whose values contains a text, in any case."""
        import polars as pl

        wanted = text.lower()
        found = np.zeros(self.n_objects, dtype=bool)
        for values in (self.ids, *(column.texts for column in self.columns)):
            if isinstance(values, (_Numbers, _Linked)) and len(values) > _MOST_SEARCHED:
                continue
            texts = values if isinstance(values, pl.Series) else pl.Series(list(values))
            hit = texts.str.to_lowercase().str.contains(wanted, literal=True)
            found |= hit.fill_null(False).to_numpy()
        return found


def _natural(name: str) -> tuple[int, float, str]:
    """Numbers in their order, before other names."""
    return (0, float(name), "") if name.isdecimal() else (1, 0.0, name)


# --- where the columns come from ------------------------------------------------------------------


def _columns(source: Any) -> list[Column]:
    used = {name.partition("=")[0] for name in source.columns} | set(source.columns)
    if hasattr(source.origin, "raw_blocks"):
        return _of_file(source, used)
    if hasattr(source.origin, "obs"):
        return attribute_columns(source.origin)
    if source.kind == "table":
        return _of_numbers(source)
    if sp.issparse(source.data) and source.kind == "graph":
        links = sp.csr_array(source.data)
        degree = np.diff(links.indptr).astype(np.float64)
        ids = [str(name) for name in source.ids] if source.ids is not None else None
        unknown = np.full(links.shape[0], np.nan)
        return [
            *attribute_columns(source.origin),
            Column("linked to", "text", _Linked(links, ids), unknown),
            number_column("links", degree),
        ]
    return []


def attribute_columns(origin: Any) -> list[Column]:
    """What is known of nodes or cells besides what they were clustered by."""
    known = {name: values for name, values in read_attributes(origin).items() if values}
    table = MixedTable.of_columns(known)
    found = []
    for column, values in zip(table.columns, table.values.T, strict=True):
        if column.values is None:
            found.append(replace(number_column(column.name, values), is_used=False))
        else:
            texts = [column.values[int(v)] if np.isfinite(v) else "" for v in values]
            found.append(text_column(column.name, texts, False))
    return found


def _of_file(source: Any, used: set[str]) -> list[Column]:
    import polars as pl

    rows = source.origin
    frame = pl.concat(list(rows.raw_blocks()), how="vertical_relaxed")
    if source.kept is not None:
        frame = frame[np.asarray(source.kept)]
    kinds = rows.kinds
    found: list[Column] = []
    for name in frame.columns:
        series = frame[name]
        texts = series.cast(pl.String, strict=False).fill_null("")
        kind = kinds.get(name, "text")
        if kind == "number" and name not in rows.problems:
            values = rows.as_numbers(name, series) if series.dtype == pl.String else series
            numbers = values.cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
            found.append(Column(name, "number", texts, numbers, is_used=name in used))
        else:
            found.append(text_column(name, texts, name in used))
    return found


def _of_numbers(source: Any) -> list[Column]:
    """The columns of a table that was not read from a tabular file."""
    found = []
    for position, name in enumerate(source.columns):
        column = source.data[:, [position]]
        values = np.asarray(column.toarray() if sp.issparse(column) else column, dtype=np.float64)
        texts = source.categories.get(name)
        if texts is None:
            found.append(number_column(name, values.ravel()))
        else:
            codes = np.nan_to_num(values.ravel(), nan=-1.0).astype(np.int64)
            found.append(text_column(name, [texts[c] if c >= 0 else "" for c in codes]))
    return found


class _Numbers(Sequence[str]):
    """Numbers as text, written when they are asked for."""

    def __init__(self, values: FloatArray) -> None:
        self._values = values
        known = values[np.isfinite(values)]
        self._spread = (float(known.std()) if len(known) else 0.0) or None
        self._are_whole = bool((known == np.round(known)).all())

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        value = float(self._values[row])
        if np.isnan(value):
            return ""
        if self._are_whole and abs(value) < 1e15:
            return str(int(value))
        return number(value, spread=self._spread).replace("\N{MINUS SIGN}", "-")


class _Linked(Sequence[str]):
    """The nodes that each node is linked to, strongest links first, when they are asked for."""

    def __init__(self, links: sp.csr_array, ids: list[str] | None) -> None:
        self._links, self._ids = links, ids

    def __len__(self) -> int:
        return int(self._links.shape[0])

    def __getitem__(self, row: Any) -> Any:
        if isinstance(row, slice):
            return [self[number] for number in range(*row.indices(len(self)))]
        part = slice(self._links.indptr[row], self._links.indptr[row + 1])
        others, weights = self._links.indices[part], self._links.data[part]
        others = others[np.argsort(-weights, kind="stable")]
        shown = (self._ids[other] if self._ids else other + 1 for other in others)
        return first_few(shown, _NAMED)


def number_column(name: str, values: FloatArray) -> Column:
    """A column of numbers."""
    return Column(name, "number", _Numbers(values), values)


def text_column(name: str, texts: Any, is_used: bool = True) -> Column:
    """A column of categories, pictures or other text."""
    import polars as pl

    n, missing = len(texts), np.full(len(texts), np.nan)
    series = texts if isinstance(texts, pl.Series) else pl.Series(texts, dtype=pl.String)
    some = [text for text in series.head(_LOOKED_AT).to_list() if text]
    if some and all(Path(text).suffix.lower() in PICTURES for text in some):
        return Column(name, "picture", series, missing, is_used=is_used)
    if series.n_unique() > min(_MOST_CATEGORIES, max(2, n // 2)):
        return Column(name, "text", series, missing, is_used=is_used)
    counts = series.value_counts(name="times").sort("times", series.name, descending=[True, False])
    names = [str(value) for value in counts[series.name].to_list() if value]
    codes = series.replace_strict(names, list(range(len(names))), default=None)
    values = codes.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return Column(name, "category", series, values, tuple(names), is_used)
