"""Whether the arrays of an object have the kinds and shapes that the registry lists."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._typing import is_sparse
from soffit.io._model_error import ModelFileError

_KINDS = {"float": "f", "int": "iu", "bool": "b"}
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


@dataclass(frozen=True)
class _Wanted:
    """A line of the registry, taken apart."""

    kind: str
    optional: bool
    lengths: tuple[str, ...]
    lowest: int
    below: str | None

    @classmethod
    def of(cls, line: str) -> _Wanted:
        kind, *words = line.split()
        lengths = tuple(word for word in words if "<" not in word)
        lowest, _, below = next((word for word in words if "<" in word), "").partition("<")
        return cls(kind.rstrip("?"), kind.endswith("?"), lengths, int(lowest or "0"), below or None)


def check_shapes(owner: str, thing: Any, lines: Mapping[str, str]) -> None:
    """Raise ModelFileError for the first attribute that is not as its line says."""
    known: dict[str, int] = {}
    bounded: list[tuple[str, Any, _Wanted]] = []
    for path, line in lines.items():
        wanted = _Wanted.of(line)
        value = _at(thing, path)
        if value is None:
            if wanted.optional:
                continue
            raise ModelFileError(f"{owner} has no {path}.")
        _check_one(f"{path} of {owner}", value, wanted, known)
        if wanted.below is not None:
            bounded.append((f"{path} of {owner}", value, wanted))
    # Bounds last: a length may be learnt from a later line.
    for where, value, wanted in bounded:
        below = _length(str(wanted.below), known)
        if below is None:
            raise ModelFileError(f"{where} refers to something that is not there.")
        if value.size and (value.min() < wanted.lowest or value.max() >= below):
            raise ModelFileError(
                f"{where} must hold numbers from {wanted.lowest} to {below - 1}, but it holds "
                f"{value.min()} to {value.max()}."
            )


def _at(thing: Any, path: str) -> Any:
    """The attribute at the end of the path; None where the path breaks off."""
    for name in path.split("."):
        if name.isdigit():
            inside = isinstance(thing, tuple) and int(name) < len(thing)
            thing = thing[int(name)] if inside else None
        else:
            thing = vars(thing).get(name) if hasattr(thing, "__dict__") else None
    return thing


def _length(text: str, known: Mapping[str, int]) -> int | None:
    """The number that a length stands for, "3", "n" or "n+2"; None if n is not known yet."""
    if text.isdigit():
        return int(text)
    name, _, more = text.partition("+")
    return known[name] + int(more or "0") if name in known else None


def _check_one(where: str, value: Any, wanted: _Wanted, known: dict[str, int]) -> None:
    if wanted.kind == "size":
        _check_scalar(where, value, "int")
        _check_lengths(where, (int(value),), wanted.lengths, known)
    elif not wanted.lengths:
        _check_scalar(where, value, wanted.kind)
    else:
        _check_kind(where, value, wanted.kind)
        _check_lengths(where, value.shape, wanted.lengths, known)


def _check_scalar(where: str, value: Any, kind: str) -> None:
    is_flag = isinstance(value, bool | np.bool_)
    fits = {
        "bool": is_flag,
        "int": isinstance(value, int | np.integer) and not is_flag,
        "float": isinstance(value, int | float | np.number) and not is_flag,
        "precision": isinstance(value, np.dtype) and value in _FLOATS,
    }
    if not fits[kind]:
        raise ModelFileError(f"{where} must be a single {kind}, but it is {type(value).__name__}.")


def _check_kind(where: str, value: Any, kind: str) -> None:
    if kind == "matrix":
        fits = (
            value.dtype in _FLOATS if isinstance(value, np.ndarray) or is_sparse(value) else False
        )
    elif not isinstance(value, np.ndarray):
        fits = False
    elif kind == "float":
        fits = value.dtype in _FLOATS
    else:
        fits = kind == "any" or value.dtype.kind in _KINDS[kind]
    if not fits:
        raise ModelFileError(
            f"{where} must be {'an array' if kind == 'any' else f'a {kind} array'}, but it is "
            f"{getattr(value, 'dtype', type(value).__name__)}."
        )


def _check_lengths(
    where: str, shape: tuple[int, ...], wanted: tuple[str, ...], known: dict[str, int]
) -> None:
    told = [_length(length, known) for length in wanted]
    fits = len(shape) == len(wanted) and all(
        length is None or length == found for length, found in zip(told, shape, strict=True)
    )
    # A name used twice in one line stands for one length, too.
    for name, found in zip(wanted, shape, strict=False):
        if name.isidentifier():
            fits = fits and known.setdefault(name, found) == found
    if not fits:
        should = ", ".join(
            name if length is None else str(length)
            for name, length in zip(wanted, told, strict=True)
        )
        raise ModelFileError(f"{where} has shape {shape}, which should be ({should}).")
