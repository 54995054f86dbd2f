"""Which columns of a new file a model was fitted to."""

from __future__ import annotations

from pathlib import Path

_MAX_NAMED = 5


def columns_to_read(path: Path, names: list[str]) -> list[str] | None:
    """The columns of a file from which the model's columns are made; None if it names none.

    A model's column is one of the file, or stands for one value of a text column: `colour=red`.
    Other columns need not even be readable.
    """
    from soffit import io

    present = [column["name"] for column in io.describe(str(path)).as_dict().get("columns", [])]
    if not present:
        return None
    missing = [name for name in names if not any(_makes(column, name) for column in present)]
    if missing:
        listed = ", ".join(repr(name) for name in missing[:_MAX_NAMED])
        more = f" and {len(missing) - _MAX_NAMED} more" if len(missing) > _MAX_NAMED else ""
        raise ValueError(
            f"{path} lacks columns that the model was fitted to: {listed}{more}. Add them, or fit "
            "a model without them (soffit fit --drop)."
        )
    return [column for column in present if any(_makes(column, name) for name in names)]


def _makes(column: str, name: str) -> bool:
    return name == column or name.startswith(f"{column}=")
