"""A fitted model as JSON values and numbered arrays.

JSON's own null, true, numbers, text and lists stand for themselves. Everything else is an object
with one key, its kind: {"array": 3}, {"object": 0}, {"tuple": [...]}, {"dict": {...}},
{"float": "nan"}, and so on. Objects and arrays that a model holds in several places are written
once and shared again after loading.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit.persistence.schema import FUNCTIONS, LEFT_OUT, NAMES, check_declared
from soffit.persistence.state import ModelFileError

# NumPy's kinds of values that are plain bytes: truth, numbers, text, dates.
ARRAY_KINDS = "biufUSMm"
SCALAR_KINDS = "biufU"
PRECISIONS = ("float32", "float64")

_FUNCTION_NAMES = {function: name for name, function in FUNCTIONS.items()}
_REMEDIES = {
    "metric": "Use a metric by its name, or pass distances with metric='precomputed'.",
    "affinity": "Use an affinity by its name, or pass similarities with affinity='precomputed'.",
    "tuple_affinity": "Use one of the names, or fit_tuples with values computed before.",
    "object_names_": "Give the objects names that are text or numbers.",
    "random_state": "Use a whole number or a numpy.random.RandomState.",
}


class Encoder:
    """Turns values into JSON, and collects what JSON cannot hold.

    Attributes
    ----------
    arrays : list of ndarray
        The arrays, by number.
    objects : list
        Encoded objects, by number; each refers to earlier ones only.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.objects: list[Any] = []
        # What is known keeps its value alive, so that no other object can get the same id.
        self._known: dict[int, tuple[Any, dict[str, int]]] = {}
        self._open: set[int] = set()
        self._kinds: dict[type, Callable[[Any, str], Any]] = {
            float: lambda value, _: value if math.isfinite(value) else {"float": repr(value)},
            list: self._items,
            tuple: lambda value, where: {"tuple": self._items(value, where)},
            range: lambda value, _: {"range": [value.start, value.stop, value.step]},
            dict: lambda value, where: {"dict": self._dict_items(value, where)},
            np.ndarray: self._array,
            FunctionType: _function,
        }

    def encode_fields(self, values: dict[str, Any], where: str = "") -> dict[str, Any]:
        """The encoded values of named fields, those that are no data left out."""
        prefix = f"{where}." if where else ""
        return {
            name: self.encode(value, f"{prefix}{name}")
            for name, value in values.items()
            if name not in LEFT_OUT
        }

    def encode(self, value: Any, where: str) -> Any:
        """The value as JSON; `where` names it in messages."""
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind in self._kinds:
            return self._kinds[kind](value, where)
        if isinstance(value, np.generic):
            return self._scalar(value, where)
        if isinstance(value, np.dtype) and value.name in PRECISIONS:
            return {"dtype": value.name}
        return self._shared(value, where)

    def _items(self, values: Iterable[Any], where: str) -> list[Any]:
        return [self.encode(item, f"{where}[{place}]") for place, item in enumerate(values)]

    def _dict_items(self, value: dict[Any, Any], where: str) -> dict[str, Any]:
        for key in value:
            if type(key) is not str:
                raise _refused(f"the key {key!r} of {where}", where)
        return {key: self.encode(item, f"{where}[{key!r}]") for key, item in value.items()}

    def _scalar(self, value: np.generic, where: str) -> Any:
        if value.dtype.kind not in SCALAR_KINDS or value.dtype.itemsize > _widest(value.dtype):
            raise _refused(_called(value, where), where)
        name = "str" if value.dtype.kind == "U" else value.dtype.name
        return {"scalar": [name, self.encode(value.item(), where)]}

    def _array(self, value: np.ndarray[Any, Any], where: str) -> Any:
        if value.dtype.kind == "O":
            # Names of objects and columns; text and numbers, as a rule.
            items = self._items(value.ravel(), where)
            return {"objects": {"shape": list(value.shape), "items": items}}
        if value.dtype.kind not in ARRAY_KINDS:
            raise _refused(f"{where}, an array of {value.dtype},", where)
        if id(value) not in self._known:
            self._known[id(value)] = (value, {"array": len(self.arrays)})
            self.arrays.append(value)
        return self._known[id(value)][1]

    def _shared(self, value: Any, where: str) -> dict[str, int]:
        if id(value) in self._known:
            return self._known[id(value)][1]
        if id(value) in self._open:
            raise ModelFileError(f"{where} cannot be saved: it contains itself.")
        self._open.add(id(value))
        encoded = self._object(value, where)
        self._open.discard(id(value))
        self._known[id(value)] = (value, {"object": len(self.objects)})
        self.objects.append(encoded)
        return self._known[id(value)][1]

    def _object(self, value: Any, where: str) -> dict[str, Any]:
        kind = type(value)
        if kind is sp.csr_array and value.ndim == 2:
            parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
            encoded = {name: self._array(part, f"{where}.{name}") for name, part in parts.items()}
            return {"csr": {"shape": list(value.shape), **encoded}}
        if kind is np.random.RandomState:
            state: Any = value.get_state(legacy=False)
            if state["bit_generator"] == "MT19937":
                return {"random_state": self._dict_items(state, where)}
        if kind not in NAMES:
            raise _refused(_called(value, where), where)
        fields = vars(value)
        check_declared(kind, [name for name in fields if name not in LEFT_OUT])
        return {"class": NAMES[kind], "state": self.encode_fields(fields, where)}


def _function(value: FunctionType, where: str) -> dict[str, str]:
    if value not in _FUNCTION_NAMES:
        raise _refused(_called(value, where), where)
    return {"function": _FUNCTION_NAMES[value]}


def _widest(dtype: np.dtype[Any]) -> int:
    """Bytes of the widest value that every machine knows; text has no limit."""
    return dtype.itemsize if dtype.kind == "U" else 8


def _called(value: Any, where: str) -> str:
    if callable(value):
        name = getattr(value, "__name__", type(value).__name__)
        return f"{where}, the function {name},"
    return f"{where}, of type {type(value).__module__}.{type(value).__qualname__},"


def _refused(what: str, where: str) -> ModelFileError:
    names = (name.partition("[")[0] for name in reversed(where.split(".")))
    remedy = next((_REMEDIES[name] for name in names if name in _REMEDIES), "")
    if not remedy:
        remedy = "Remove it, or use pickle where you trust the file."
    return ModelFileError(
        f"{what} cannot be saved: a model file holds numbers and text only, so that opening one "
        f"never runs code. {remedy}"
    )
