"""What a case may end in, and what is a violation."""

from __future__ import annotations

import linecache
import traceback
from pathlib import Path
from typing import Any

import numpy as np

import soffit
from soffit.io import DataError
from soffit.persistence import ModelFileError

_PACKAGE = str(Path(soffit.__file__).parent)
# Errors that tell a user what is wrong. Anything else is a bug of ours.
_REFUSALS = (ValueError, TypeError, MemoryError)
_OURS = (DataError, ModelFileError)
# Where an error may be raised on purpose.
_CHECKED_BY = (_PACKAGE, "sklearn")


class ViolationError(AssertionError):
    """Something that must never happen."""


def require(holds: Any, what: str) -> None:
    """Raise ViolationError unless it holds."""
    if not holds:
        raise ViolationError(what)


def refused(error: BaseException) -> str:
    """The outcome "refused" for an error with a message; ViolationError for any other error."""
    if isinstance(error, _OURS):
        require(len(str(error)) > 10, f"an empty message: {error!r}")
        return "refused"
    if not isinstance(error, _REFUSALS) or isinstance(error, np.linalg.LinAlgError):
        raise ViolationError(f"{type(error).__name__}: {error} at {_place(error)}") from error
    frame = traceback.extract_tb(error.__traceback__)[-1]
    raised = any(
        linecache.getline(frame.filename, (frame.lineno or 0) - back).lstrip().startswith("raise ")
        for back in range(6)
    )
    if not raised or not any(part in frame.filename for part in _CHECKED_BY):
        raise ViolationError(
            f"not our message: {type(error).__name__}: {str(error)[:200]} at {_place(error)}"
        ) from error
    return "refused"


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames))


def check_rows(rows: Any, what: str, tolerance: float = 1e-5) -> None:
    """Every row is finite, nonnegative and sums to one."""
    rows = np.asarray(rows)
    require(rows.ndim == 2, f"{what} has {rows.ndim} dimensions")
    require(np.isfinite(rows).all(), f"{what} holds NaN or infinity")
    require((rows >= 0).all(), f"{what} holds a negative number")
    sums = rows.sum(axis=1, dtype=np.float64)
    require((np.abs(sums - 1) <= tolerance).all(), f"rows of {what} sum to {sums.min()}")


def same_bytes(one: Any, other: Any) -> bool:
    """Whether two arrays are equal to the last bit."""
    one, other = np.asarray(one), np.asarray(other)
    return one.shape == other.shape and one.tobytes() == other.tobytes()
