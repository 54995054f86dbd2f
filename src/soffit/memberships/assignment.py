"""From memberships to clusters: labels with refusal, overlapping sets, attributes of nodes."""

from __future__ import annotations

from typing import Any

from soffit._typing import FloatArray, IntArray
from soffit._validation import Number, ParameterError

# The cluster of an object that is assigned to none.
UNASSIGNED = -1


def assigned(memberships: FloatArray, *, min_certainty: float | None = None) -> IntArray:
    """The most probable cluster of each object, or -1 if its membership is too small."""
    check_share("min_certainty", min_certainty)
    labels = memberships.argmax(axis=1)
    if min_certainty is not None:
        # In the precision of the memberships: 0.7 in single precision is not below 0.7.
        below = memberships.max(axis=1) < memberships.dtype.type(min_certainty)
        labels[below] = UNASSIGNED
    return labels


def check_share(name: str, value: Any) -> None:
    """Raise ParameterError unless the value is None or a number from 0 to 1."""
    rule = Number(0.0, maximum=1.0)
    if value is not None and not rule.allows(value):
        raise ParameterError(name, value, f"None or {rule}")
