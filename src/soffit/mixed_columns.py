"""Tables of numbers, truth values, text and gaps: numbers as they are, text as codes, gaps as NaN.

Data frames are recognised by their class names, so that no library is imported here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray
from soffit._wording import Message, Parameter, first_few

# Values of a text column that are described one by one.
_MOST_VALUES = 20


@dataclass(frozen=True)
class Column:
    """What a column holds."""

    name: str  # Its name, or its number as text.
    # The texts that the codes 0, 1, ... stand for; None for numbers.
    values: tuple[str, ...] | None = None
    ordered: bool = False  # Whether the texts are steps of a scale, in this order.
    _arrays: ClassVar[dict[str, str]] = {
        "name": "text",
        "values": "texts?",
        "ordered": "bool",
    }


@dataclass(frozen=True, eq=False)
class MixedTable:
    """A table whose columns of text are codes, with NaN where values are missing."""

    values: FloatArray  # (n, p): numbers and codes.
    columns: tuple[Column, ...]  # What each column holds.
    names: NDArray[Any] | None = None  # (n,): names of the objects, if the input has any.
    has_names: bool = False  # Whether the columns have names, rather than numbers.

    @classmethod
    def of(cls, X: Any) -> MixedTable:
        """Read a data frame, an array of any type, a list of rows, or the content of a file."""
        kinds = {(c.__module__.partition(".")[0], c.__name__) for c in type(X).__mro__}
        if ("soffit", "Source") in kinds:
            return _of_source(X)
        if ("polars", "LazyFrame") in kinds:
            return cls.of(X.collect())
        if ("polars", "DataFrame") in kinds:
            return cls._assembled([_polars_column(X[name]) for name in X.columns], X.columns)
        if ("pandas", "DataFrame") in kinds:
            columns = [_pandas_column(X.iloc[:, place]) for place in range(X.shape[1])]
            index = None if type(X.index).__name__ == "RangeIndex" else np.asarray(X.index)
            return cls._assembled(columns, X.columns, index)
        if sp.issparse(X):
            raise ValueError(
                Message(
                    *(Parameter("metric", "gower"), " does not accept sparse features. Pass "),
                    "X.toarray(), or another metric.",
                )
            )
        return cls._of_array(X)

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Any]]) -> MixedTable:
        """Read columns of anything: what is not a finite number is a text or missing."""

        def plain(value: Any) -> Any:
            if isinstance(value, str | bool | np.bool_) or is_missing(value):
                return value
            try:
                return float(value) if math.isfinite(value) else None
            except (TypeError, ValueError, OverflowError):
                return str(value)

        found = [_column([plain(value) for value in values]) for values in columns.values()]
        return cls._assembled(found, columns)

    @classmethod
    def _of_array(cls, X: Any) -> MixedTable:
        values = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
        if values.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {values.ndim}D array instead: X must be a table with "
                "rows and columns. Reshape your data with array.reshape(-1, 1) if it has a single "
                "feature."
            )
        numbers = [str(place) for place in range(values.shape[1])]
        if values.dtype.kind in "biuf":
            kept = values if values.dtype == np.float32 else values.astype(np.float64)
            table = cls(kept, tuple(map(Column, numbers)))
            _check_finite(table)
            return table
        columns = [_column(values[:, place].tolist()) for place in range(values.shape[1])]
        table = cls._assembled(columns, numbers, n_rows=len(values))
        return cls(table.values, table.columns)

    @classmethod
    def _assembled(
        cls,
        columns: Sequence[tuple[FloatArray, tuple[str, ...] | None, bool]],
        names: Iterable[Any],
        index: NDArray[Any] | None = None,
        n_rows: int = 0,
    ) -> MixedTable:
        values = np.empty((len(columns[0][0]) if columns else n_rows, len(columns)))
        for place, (numbers, _, _) in enumerate(columns):
            values[:, place] = numbers
        described = tuple(
            Column(str(name), texts, ordered)
            for name, (_, texts, ordered) in zip(names, columns, strict=True)
        )
        table = cls(values, described, index, has_names=True)
        _check_finite(table)
        return table

    def coded_as(self, columns: Sequence[Column]) -> FloatArray:
        """The values in the codes of other columns; texts that those do not have are -1."""
        return np.column_stack(
            [
                _recoded(self.values[:, place], own, other)
                for place, (own, other) in enumerate(zip(self.columns, columns, strict=True))
            ]
        ).astype(self.values.dtype)

    def expanded(self) -> tuple[FloatArray, list[str]]:
        """Numbers, and a column of 0 and 1 for each of the most frequent values of a text column.

        Scales of texts are numbers, too. Missing values are NaN.
        """
        parts, names = [], []
        for column, kind in zip(self.values.T, self.columns, strict=True):
            if kind.values is None or kind.ordered:
                parts.append(column)
                names.append(kind.name)
                continue
            known = ~np.isnan(column)
            counts = np.bincount(column[known].astype(np.intp), minlength=len(kind.values))
            for code in np.sort(np.argsort(-counts, kind="stable")[:_MOST_VALUES]):
                parts.append(np.where(known, column == code, np.nan))
                names.append(f"{kind.name}={kind.values[code]}")
        return np.column_stack(parts), names


def _of_source(source: Any) -> MixedTable:
    """The content of a file; see `soffit.io.Source`."""
    values = np.asarray(source.data)
    texts = getattr(source, "categories", {}) or {}
    names = source.columns or tuple(str(place) for place in range(values.shape[1]))
    columns = tuple(Column(name, texts.get(name)) for name in names)
    table = MixedTable(values, columns, source.ids, has_names=bool(source.columns))
    _check_finite(table)
    return table


def _pandas_column(column: Any) -> tuple[FloatArray, tuple[str, ...] | None, bool]:
    dtype = column.dtype
    if dtype.kind in "biuf":
        return column.to_numpy(dtype=np.float64, na_value=np.nan), None, False
    if dtype.kind in "mM" or "datetime" in str(dtype):
        raise ValueError(
            f"Column {column.name!r} holds dates or times ({dtype}). Convert them to numbers, "
            "such as a year or the days since a start, or leave it out."
        )
    is_ordered = bool(getattr(dtype, "ordered", False))
    scale = tuple(map(_text, dtype.categories)) if is_ordered else None
    return _column(column.astype(object).tolist(), scale)


def _polars_column(column: Any) -> tuple[FloatArray, tuple[str, ...] | None, bool]:
    dtype = column.dtype
    if dtype.is_temporal() or dtype.is_nested():
        raise ValueError(
            f"Column {column.name!r} holds {dtype}. Convert it to numbers or text, or leave it out."
        )
    if dtype.is_numeric():
        # The string names the type without importing polars.
        floats = column.to_frame().to_numpy().astype(np.float64)[:, 0]
        floats[column.is_null().to_numpy()] = np.nan
        return floats, None, False
    scale = tuple(dtype.categories) if type(dtype).__name__ == "Enum" else None
    return _column(column.to_list(), scale)


def _column(
    items: Sequence[Any], scale: tuple[str, ...] | None = None
) -> tuple[FloatArray, tuple[str, ...] | None, bool]:
    """Numbers or codes, the texts of the codes, and whether they are ordered."""
    missing = [is_missing(item) or (isinstance(item, str) and not item.strip()) for item in items]
    present = [item for item, gap in zip(items, missing, strict=True) if not gap]
    if any(isinstance(item, complex | np.complexfloating) for item in present):
        raise ValueError("X has complex numbers. Pass their real and imaginary parts as columns.")
    if scale is None and all(isinstance(item, Number | np.bool_) for item in present):
        numbers = np.full(len(items), np.nan)
        numbers[~np.array(missing, dtype=bool)] = [float(item) for item in present]
        return numbers, None, False
    texts = scale or tuple(sorted({_text(item) for item in present}))
    code = {text: float(number) for number, text in enumerate(texts)}
    codes = np.array(
        [
            np.nan if gap else code.get(_text(item), np.nan)
            for item, gap in zip(items, missing, strict=True)
        ]
    )
    return codes.astype(np.float64), texts, scale is not None


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, or pandas' NA or NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float | np.floating) and math.isnan(value)


def _text(value: Any) -> str:
    """A value as text: whole numbers without a decimal point, text without spaces around it."""
    if isinstance(value, float | np.floating) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def _recoded(values: FloatArray, own: Column, other: Column) -> FloatArray:
    if own.values == other.values:
        return values
    known = ~np.isnan(values)
    if other.values is None:
        if not known.any():
            return values
        raise ValueError(
            f"Column {own.name!r} held numbers when the model was fitted, but now holds text, such "
            f"as {(own.values or ('',))[int(values[known][0])]!r}."
        )
    code = {text: float(number) for number, text in enumerate(other.values)}
    # A step that the scale does not have is unknown; a category that was not seen is a new one.
    unseen = np.nan if other.ordered else -1.0
    result = np.full(len(values), np.nan)
    if own.values is None:
        result[known] = [code.get(_text(value), unseen) for value in values[known].tolist()]
        return result
    table = np.array([code.get(text, unseen) for text in own.values])
    result[known] = table[values[known].astype(np.intp)]
    return result


def _check_finite(table: MixedTable) -> None:
    if table.values.shape[1] == 0:
        return
    wrong = [
        repr(column.name)
        for place, column in enumerate(table.columns)
        if np.isinf(table.values[:, place]).any()
    ]
    if wrong:
        raise ValueError(
            f"Input X contains infinity in the columns {first_few(wrong)}. "
            "Replace infinite values by NaN if they are unknown."
        )
