"""Pairs and groups of objects as users give them: by number or by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._memory import check_allocation
from soffit._typing import IntArray
from soffit._wording import Message, Parameter

# Of a group of at most this many objects that belong together, all pairs are taken; of a larger
# one, each object is paired with this many after it in a ring, which connects the group as well.
_SMALL_GROUP = 50
_RING = 8
_NOTHING = np.empty((0, 2), dtype=np.int64)


def read_pairs(
    given: Any, name: str, n: int, names: NDArray[Any] | None = None, *, together: bool = True
) -> IntArray:
    """Distinct pairs of numbers, the smaller one first.

    Parameters
    ----------
    given : array-like of shape (p, 2), sequence of groups, or None
        Pairs, or groups of two or more objects. Integers are numbers of objects, everything else
        is the name of an object.
    name : str
        The parameter, for messages.
    n : int
        Number of objects.
    names : array of shape (n,), optional
        Names of the objects.
    together : bool
        Whether the objects of a group belong together; else all of them differ.
    """
    if given is None:
        return _NOTHING
    pairs = _as_numbers(given, name)
    if pairs is None:
        pairs = _from_groups(given, name, _Lookup(name, n, names), together)
    if not len(pairs):
        return _NOTHING
    outside = (pairs < 0) | (pairs >= n)
    if outside.any():
        raise _no_object(name, pairs[outside][0], n)
    alone = pairs[:, 0] == pairs[:, 1]
    if alone.any():
        raise ValueError(
            Message(
                Parameter(name),
                f" pairs object {pairs[alone][0, 0]} with itself. Remove such pairs.",
            )
        )
    return np.unique(np.sort(pairs.astype(np.int64), axis=1), axis=0)


def _no_object(name: str, number: Any, n: int) -> ValueError:
    return ValueError(
        Message(Parameter(name), f" names object {number}, but objects are numbered 0 to {n - 1}.")
    )


def _as_numbers(given: Any, name: str) -> IntArray | None:
    """Pairs of numbers, the usual and quick case; None for anything else."""
    is_array = isinstance(given, np.ndarray) or hasattr(given, "to_numpy")
    if not is_array and not isinstance(given, Sequence):
        return None
    try:
        pairs = np.asarray(given)
    except ValueError:
        # Groups of different sizes.
        return None
    if pairs.size == 0:
        return _NOTHING
    if pairs.dtype.kind not in "iufb" or (pairs.ndim == 2 and not is_array and pairs.shape[1] > 2):
        return None
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise ValueError(
            Message(
                Parameter(name), f" must be an array of pairs, shape (p, 2), got {pairs.shape}."
            )
        )
    if pairs.dtype.kind not in "iu":
        raise TypeError(
            Message(Parameter(name), f" must hold object numbers (integers), got {pairs.dtype}.")
        )
    return pairs


def _from_groups(given: Any, name: str, lookup: _Lookup, together: bool) -> IntArray:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise TypeError(
            Message(
                Parameter(name), f" must be a list of pairs or groups of objects, got {given!r}."
            )
        )
    rows = given.to_numpy().tolist() if hasattr(given, "to_numpy") else given
    found = []
    for group in rows:
        if isinstance(group, (str, bytes)) or not isinstance(group, Iterable):
            raise TypeError(
                Message(
                    Parameter(name),
                    f" must be a list of pairs or groups of objects, but {group!r} is none. Write "
                    "[('a', 'b')] for one pair.",
                )
            )
        # Sets have no order of their own.
        members = [lookup.number(entry) for entry in group]
        if isinstance(group, (set, frozenset)):
            members.sort()
        found.append(_pairs_of(np.array(members, dtype=np.int64), name, group, together))
    return np.concatenate([_NOTHING, *found])


def _pairs_of(members: IntArray, name: str, group: Any, together: bool) -> IntArray:
    size = len(members)
    if size < 2:
        raise ValueError(
            Message(
                Parameter(name),
                f" has a group of {size} object, {group!r}. A group needs two."
                if size
                else " has an empty group. Remove it.",
            )
        )
    if together and size > _SMALL_GROUP:
        rings = [
            np.column_stack([members, np.roll(members, -step)]) for step in range(1, _RING + 1)
        ]
        return np.concatenate(rings)
    check_allocation(
        (size * (size - 1) // 2, 2),
        np.dtype(np.int64),
        what=Message("the pairs of a group in ", Parameter(name)),
        remedy="Pass fewer objects that all differ: there are at most as many as clusters.",
    )
    first, second = np.triu_indices(size, 1)
    return np.column_stack([members[first], members[second]])


class _Lookup:
    """Numbers of objects by number or name."""

    def __init__(self, parameter: str, n: int, names: NDArray[Any] | None) -> None:
        self._parameter = parameter
        self._n = n
        self._names = None if names is None else names.tolist()
        self._by_name: dict[Any, int] = {}
        self._by_text: dict[str, int] = {}

    def number(self, entry: Any) -> int:
        """The number of an object."""
        if isinstance(entry, Integral) and not isinstance(entry, bool):
            if not 0 <= int(entry) < self._n:
                raise _no_object(self._parameter, entry, self._n)
            return int(entry)
        if isinstance(entry, (bool, float, np.bool_, np.floating)) or entry is None:
            raise TypeError(
                Message(
                    Parameter(self._parameter),
                    f" must hold object numbers (integers) or names, got {entry!r}.",
                )
            )
        if self._names is None:
            raise ValueError(
                Message(
                    Parameter(self._parameter),
                    f" names {entry!r}, but the objects have no names. Pass their numbers, from 0 "
                    f"to {self._n - 1}, or a data frame whose index holds the names.",
                )
            )
        return self._named(entry, self._names)

    def _named(self, entry: Any, names: list[Any]) -> int:
        self._by_name = self._by_name or _positions(names)
        number = self._by_name.get(entry)
        if number is None and isinstance(entry, str):
            # Names that are no text, such as numbers of nodes, may be given as text.
            self._by_text = self._by_text or _positions(map(str, names))
            number = self._by_text.get(entry)
        if number is None:
            raise ValueError(
                Message(
                    Parameter(self._parameter),
                    f" names {entry!r}, which is not the name of an object. Names are those of the "
                    f"rows or nodes, such as {names[0]!r}.",
                )
            )
        if number < 0:
            raise ValueError(
                Message(
                    Parameter(self._parameter),
                    f" names {entry!r}, but several objects have this name. Pass their numbers.",
                )
            )
        return number


def _positions(names: Iterable[Any]) -> dict[Any, int]:
    """The number of each name; -1 for one that occurs more than once."""
    found: dict[Any, int] = {}
    for number, name in enumerate(names):
        found[name] = -1 if name in found else number
    return found


def called(numbers: IntArray, names: NDArray[Any] | None) -> list[Any]:
    """What to call objects where names may be passed on: by name, or by number without names.

    Names that are integers become text, because an integer would be read as a number of an object.
    """
    if names is None:
        return [int(number) for number in numbers]
    return [
        str(name) if isinstance(name, Integral) and not isinstance(name, bool) else name
        for name in names[numbers].tolist()
    ]
