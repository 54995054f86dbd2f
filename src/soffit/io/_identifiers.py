"""Names of the objects: which column holds them, and that no two are the same."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from soffit.io._errors import DataError, counted, listed, shown
from soffit.io._rows import Rows
from soffit.io._source import text_array

_LIKE_AN_IDENTIFIER = re.compile(
    r"|unnamed: 0|(.*[ _.\-])?(ids?|names?|index|key|identifier|uuid)|row.?names?", re.IGNORECASE
)
# As in customerId; the capital tells it from words like acid.
_CAMEL_CASE = re.compile(r".*[a-z]I[dD]")
_WHOLE_NUMBER = re.compile(r"[-+]?\d+")


def looks_like_identifier(name: str) -> bool:
    """Whether a column of this name is likely to identify the objects."""
    bare = name.strip()
    return bool(_LIKE_AN_IDENTIFIER.fullmatch(bare) or _CAMEL_CASE.fullmatch(bare))


def candidate(rows: Rows, taken: Sequence[str]) -> str | None:
    """The first column, if its name and kind are an identifier's and it has no other role."""
    first = rows.names[0]
    fits = rows.kinds[first] in ("text", "number") and rows.has_header
    return first if fits and first not in taken and looks_like_identifier(first) else None


def is_identifier(kind: str, values: Sequence[str | None]) -> bool:
    """Whether the values tell the objects apart; fractions never do."""
    if any(not value for value in values) or len(set(values)) < len(values):
        return False
    return kind == "text" or all(_WHOLE_NUMBER.fullmatch(value or "") for value in values)


def checked_ids(path: Path, name: str, values: Sequence[str | None], rows: Rows) -> NDArray[Any]:
    """Identifiers that the user has asked for; gaps and repetitions are refused."""
    gaps = [position for position, value in enumerate(values) if not value]
    if gaps:
        places = listed(rows.place(position) for position in gaps)
        raise DataError(
            f"{path}: the id column {shown(name)} has "
            f"{counted(len(gaps), 'empty entry', 'empty entries')} ({places}). Give "
            "every object an identifier, or leave out --id."
        )
    return check_unique(path, name, [str(value) for value in values])


def check_unique(path: Path, name: str, values: Sequence[str]) -> NDArray[Any]:
    """Refuse identifiers that come up more than once."""
    if len(set(values)) < len(values):
        repeated = [(value, count) for value, count in Counter(values).items() if count > 1]
        some = listed(f"{shown(value)} ({count} times)" for value, count in repeated)
        raise DataError(
            f"{path}: {shown(name)} has {counted(len(repeated), 'identifier')} that "
            f"{'comes' if len(repeated) == 1 else 'come'} up more than once: {some}. Every object "
            "needs an identifier of its own: correct the file, or choose another column with --id."
        )
    return text_array(values)
