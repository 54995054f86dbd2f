"""JSON files: tables in the forms that programs write them, and graphs of nodes and links."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from soffit.io.data_error import DataError, check_bytes, shown
from soffit.io.file_options import FileOptions
from soffit.io.tables.tabular import unique_names
from soffit.io.tables.typed import FrameRows, readable

# Python objects take many times the memory of their text.
_GROWTH = 40.0
# A table may have this many times as many entries as the file, beyond a few.
_EMPTIEST = 50
_FEW_ENTRIES = 2**20
_RECORDS = 'Write a list of objects, such as [{"x": 1.5, "y": 2}, {"x": 3, "y": 4}].'
_MAPS = {"Topology": "TopoJSON", "FeatureCollection": "GeoJSON", "Feature": "GeoJSON"}


def load_json(path: Path) -> Any:
    """The content of a JSON file."""
    check_bytes(path, _GROWTH * path.stat().st_size, "reading it", "Convert it to Parquet first.")
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0] or "nested too deeply"
        raise DataError(
            f"{path}: not valid JSON ({reason}).", "Correct it there, or export it again."
        ) from error


def is_node_link(content: Any) -> bool:
    """Whether the content is a graph: lists of nodes and of links."""
    if not isinstance(content, dict) or not isinstance(content.get("nodes"), list):
        return False
    return any(isinstance(content.get(key), list) for key in ("links", "edges"))


def json_rows(path: Path, content: Any, options: FileOptions) -> FrameRows:
    """Rows of the table that the content of a JSON file holds."""
    import polars as pl

    records = _records(path, content)
    if not records:
        raise DataError(f"{path}: it has no rows.", "Add one row per object.")
    # Keys of all records, in order of appearance.
    keys = list(dict.fromkeys(key for record in records for key in record))
    if len(records) * len(keys) > _FEW_ENTRIES + _EMPTIEST * sum(map(len, records)):
        raise DataError(
            f"{path}: its {len(records):,} rows have {len(keys):,} different keys, most of which "
            "occur in few rows.",
            "Write the same keys in every row.",
        )
    names, notes = unique_names([str(key).strip() for key in keys])
    with readable(path):
        columns = [
            _series(n, [r.get(k) for r in records]) for n, k in zip(names, keys, strict=True)
        ]
        frame = pl.DataFrame(columns)
    return FrameRows.of(path, frame.lazy(), options, notes)


def _series(name: str, values: Sequence[Any]) -> Any:
    """A column; values of several types become text."""
    import polars as pl

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float}:
        return pl.Series(name, [None if v is None else float(v) for v in values], dtype=pl.Float64)
    if kinds == {bool} or any(kind in (list, dict) for kind in kinds):
        return pl.Series(name, values, strict=False)
    texts = [None if value is None else str(value) for value in values]
    return pl.Series(name, texts, dtype=pl.String)


def _records(path: Path, content: Any) -> list[Mapping[Any, Any]]:
    """One mapping per row, from any form of a table."""
    if isinstance(content, list):
        return _from_list(path, content)
    if not isinstance(content, dict):
        raise DataError(f"{path}: it does not hold a table.", _RECORDS)
    if content.get("type") in _MAPS:
        raise DataError(
            f"{path}: it holds shapes of a map ({_MAPS[content['type']]}), not a table.", _RECORDS
        )
    data, columns = content.get("data"), content.get("columns")
    if isinstance(data, list) and isinstance(columns, list):
        return _from_list(path, [columns, *data])
    if isinstance(data, list) and "schema" in content:
        return _from_list(path, data)
    if content.get("format") == "soffit result" and isinstance(columns, dict):
        content = columns
    values = list(content.values())
    if values and all(isinstance(column, list) for column in values):
        return _from_columns(path, content)
    if values and all(isinstance(part, dict) for part in values):
        return _from_index(path, content)
    raise DataError(
        f"{path}: it is an object with {', '.join(map(shown, list(content)[:5]))}, not a table.",
        _RECORDS,
    )


def _from_list(path: Path, rows: list[Any]) -> list[Mapping[Any, Any]]:
    if all(isinstance(row, dict) for row in rows):
        return rows
    if rows and all(isinstance(row, list) for row in rows):
        names = [f"column {position}" for position in range(1, max(map(len, rows)) + 1)]
        if rows[0] and all(isinstance(name, str) for name in rows[0]):
            names, rows = rows[0], rows[1:]
        wrong = next((n for n, row in enumerate(rows) if len(row) != len(names)), None)
        if wrong is not None:
            raise DataError(
                f"{path}: row {wrong + 1:,} has {len(rows[wrong])} values, not {len(names)}.",
                _RECORDS,
            )
        return [dict(zip(unique_names(names)[0], row, strict=True)) for row in rows]
    if rows and not any(isinstance(row, (dict, list)) for row in rows):
        return [{"column 1": value} for value in rows]
    raise DataError(f"{path}: it is a list of different things, not a table.", _RECORDS)


def _from_columns(path: Path, columns: Mapping[str, list[Any]]) -> list[Mapping[Any, Any]]:
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        raise DataError(f"{path}: its columns differ in length.", _RECORDS)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _from_index(path: Path, parts: Mapping[str, Mapping[str, Any]]) -> list[Mapping[Any, Any]]:
    """Columns by row name, as pandas writes them, or rows by their names."""
    rows = list(next(iter(parts.values())))
    if all(row.isdecimal() for row in rows):
        names = list(dict.fromkeys(row for column in parts.values() for row in column))
        return [{name: column.get(row) for name, column in parts.items()} for row in names]
    if all(name.isdecimal() for name in parts):
        return list(parts.values())
    raise DataError(f"{path}: it is not clear which names are rows and which columns.", _RECORDS)
