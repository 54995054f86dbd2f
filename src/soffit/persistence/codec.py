"""A fitted model as JSON values and numbered arrays.

JSON's own null, true, numbers, text and lists stand for themselves. Everything else is an object
with one key, its kind: {"array": 3}, {"object": 0}, {"tuple": [...]}, {"dict": {...}},
{"float": "nan"}, and so on. Objects and arrays that a model holds in several places are written
once and shared again after loading. The way back knows the classes of the registry only.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from soffit._parameters import check_parameters
from soffit.affinity.abstract import Affinity
from soffit.fitting.fitted import Fitted
from soffit.persistence.schema import (
    FUNCTIONS,
    LEFT_OUT,
    MODELS,
    NAMES,
    PARTS,
    ModelFileError,
    check_declared,
    check_shapes,
)

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

    `arrays`: the arrays, by number.
    `objects`: encoded objects, by number; each refers to earlier ones only.
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


_ABSENT = object()


def is_data_name(cls: type, name: str) -> bool:
    """Whether an object of the class may have this attribute without hiding a part of the class."""
    if not name.isidentifier() or (name.startswith("__") and name.endswith("__")):
        return False
    if dataclasses.is_dataclass(cls) and name in {f.name for f in dataclasses.fields(cls)}:
        return True
    return inspect.getattr_static(cls, name, _ABSENT) is _ABSENT


def with_state(cls: type, state: dict[str, Any]) -> Any:
    """An object of the class with these attributes; nothing of the class is run.

    Fields and parameters that the file does not know yet have their defaults.
    """
    thing: Any = object.__new__(cls)
    vars(thing).update(_defaults(cls, state) | state)
    return thing


def _defaults(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    if not dataclasses.is_dataclass(cls):
        return _parameter_defaults(cls, state)
    found: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if field.name in state:
            continue
        if field.default is not dataclasses.MISSING:
            found[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = field.default_factory()
        else:
            raise ModelFileError(f"{cls.__name__} lacks its field {field.name}.")
    return found


def _parameter_defaults(cls: type, state: dict[str, Any]) -> dict[str, Any]:
    """Those of a scikit-learn estimator, whose parameters are attributes of the same names."""
    if not issubclass(cls, BaseEstimator):
        return {}
    parameters = inspect.signature(cls).parameters.values()
    missing = [given for given in parameters if given.name not in state]
    for given in missing:
        if given.default is given.empty:
            raise ModelFileError(f"{cls.__name__} lacks its parameter {given.name}.")
    return {given.name: given.default for given in missing}


# What `set_output` can ask for.
OUTPUTS = ("default", "pandas", "polars")
# Checks of parameters go through all numbers of a range.
_LONGEST_RANGE = 2**20
_RANDOM_STATE = {"bit_generator", "state", "has_gauss", "gauss"}


def decode_model(document: dict[str, Any], arrays: list[np.ndarray[Any, Any]]) -> Any:
    """The model that a document of the present version describes."""
    name = document["class"]
    if name not in MODELS:
        raise ModelFileError(f"it holds a {name!r}, which is no model of this version of soffit.")
    cls: Any = MODELS[name]
    decoder = _Decoder(arrays)
    for encoded in document["objects"]:
        decoder.add_object(encoded)
    model = cls(**_parameters(cls, decoder.decode_fields(document["parameters"])))
    check_parameters(name, model.get_params(deep=False), model._rules)
    attributes = decoder.decode_fields(document["attributes"])
    check_attributes(model, attributes)
    model._publish(Fitted(attributes, **decoder.decode_fields(document["fitted"])))
    _set_output(model, document.get("output"))
    check_shapes(model)
    return model


def check_attributes(model: Any, attributes: dict[str, Any]) -> None:
    """Refuse what a model does not publish: parameters, methods, private attributes."""
    check_declared(type(model), attributes)
    for name in attributes:
        if name.startswith("_") or not name.endswith("_") or not is_data_name(type(model), name):
            raise ModelFileError(f"{type(model).__name__} cannot have an attribute {name!r}.")


def _set_output(model: Any, output: Any) -> None:
    """What the user has chosen by `set_output`."""
    if output is None:
        return
    if output not in OUTPUTS or not hasattr(model, "set_output"):
        raise ModelFileError(f"the output {output!r} is none of {', '.join(OUTPUTS)}.")
    model.set_output(transform=output)


def _parameters(cls: Any, given: dict[str, Any]) -> dict[str, Any]:
    known = inspect.signature(cls).parameters
    unknown = [name for name in given if name not in known]
    if unknown:
        raise ModelFileError(
            f"{cls.__name__} has no parameter {unknown[0]!r} in this version of soffit."
        )
    for name, value in given.items():
        # Only affinities are objects that a user passes; all others belong to a fit.
        fitted_part = type(value) in PARTS.values() and not isinstance(value, Affinity)
        if sp.issparse(value) or fitted_part:
            raise ModelFileError(f"the parameter {name} cannot be a {type(value).__name__}.")
    return given


class _Decoder:
    """Turns JSON into values; objects are added in order and refer to earlier ones only."""

    def __init__(self, arrays: list[np.ndarray[Any, Any]]) -> None:
        self._arrays = arrays
        self._objects: list[Any] = []
        self._kinds: dict[str, Callable[[Any], Any]] = {
            "array": lambda number: _item(self._arrays, number, "array"),
            "object": lambda number: _item(self._objects, number, "object"),
            "tuple": lambda items: tuple(self.decode(item) for item in items),
            "dict": self.decode_fields,
            "float": _special_float,
            "dtype": _precision,
            "range": _range,
            "scalar": lambda parts: _scalar(parts[0], self.decode(parts[1])),
            "objects": self._object_array,
            "function": _function_named,
        }

    def add_object(self, encoded: Any) -> None:
        """Decode one object that later ones may refer to."""
        if "class" in encoded:
            self._objects.append(self._instance(encoded["class"], encoded["state"]))
        elif "csr" in encoded:
            self._objects.append(self._csr(**encoded["csr"]))
        elif "random_state" in encoded:
            self._objects.append(self._random_state(self.decode_fields(encoded["random_state"])))
        else:
            raise ModelFileError(f"it holds an object of unknown kind {_shown(encoded)}.")

    def decode_fields(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Named values."""
        return {name: self.decode(value) for name, value in fields.items()}

    def decode(self, value: Any) -> Any:
        """Any value."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) != 1 or next(iter(value)) not in self._kinds:
            raise ModelFileError(f"it holds a value of unknown kind {_shown(value)}.")
        ((kind, content),) = value.items()
        return self._kinds[kind](content)

    def _instance(self, name: str, state: dict[str, Any]) -> Any:
        cls = PARTS.get(name)
        if cls is None:
            raise ModelFileError(
                f"it holds an object of class {name!r}, which this version of soffit does not read."
            )
        decoded = self.decode_fields(state)
        check_declared(cls, decoded)
        thing = with_state(cls, decoded)
        check_shapes(thing)
        return thing

    def _csr(self, *, shape: Any, data: Any, indices: Any, indptr: Any) -> sp.csr_array:
        rows, columns = _checked_shape(shape)
        parts = [self.decode(part) for part in (data, indices, indptr)]
        _check_csr(rows, columns, *parts)
        matrix = sp.csr_array((rows, columns), dtype=parts[0].dtype)
        # Assigned, not passed: the constructor would choose the type of the indices anew.
        matrix.data, matrix.indices, matrix.indptr = parts
        return matrix

    def _object_array(self, content: dict[str, Any]) -> np.ndarray[Any, Any]:
        shape = _checked_shape(content["shape"])
        items = content["items"]
        if math.prod(shape) != len(items):
            raise ModelFileError(f"an array of {len(items)} objects cannot have shape {shape}.")
        array = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            array[place] = self.decode(item)
        return array.reshape(shape)

    def _random_state(self, state: dict[str, Any]) -> np.random.RandomState:
        inner = state.get("state", {})
        position = inner.get("pos")
        # NumPy reads at this position without looking.
        in_range = type(position) is int and 0 <= position <= 624
        if set(state) != _RANDOM_STATE or state["bit_generator"] != "MT19937" or not in_range:
            raise ModelFileError("the state of its random numbers is not one of NumPy's.")
        generator = np.random.RandomState(0)
        generator.set_state(state)
        return generator


def _item(items: list[Any], number: Any, what: str) -> Any:
    if type(number) is not int or not 0 <= number < len(items):
        raise ModelFileError(f"it refers to {what} {number!r}, but holds {len(items)} before it.")
    return items[number]


def _special_float(name: str) -> float:
    if name not in ("nan", "inf", "-inf"):
        raise ModelFileError(f"{name!r} is no number.")
    return float(name)


def _precision(name: str) -> np.dtype[Any]:
    if name not in PRECISIONS:
        raise ModelFileError(f"{name!r} is no type of its numbers.")
    return np.dtype(name)


def _range(ends: list[int]) -> range:
    numbers = range(*ends)
    if len(numbers) > _LONGEST_RANGE:
        raise ModelFileError(f"{numbers} is longer than any parameter of soffit.")
    return numbers


def _scalar(name: str, value: Any) -> Any:
    dtype = np.dtype(name) if name.isalnum() else np.dtype(object)
    if dtype.kind not in SCALAR_KINDS:
        raise ModelFileError(f"it holds a value of unknown type {name!r}.")
    return dtype.type(value)


def _function_named(name: str) -> Callable[..., Any]:
    if name not in FUNCTIONS:
        raise ModelFileError(f"it uses the function {name!r}, which is none of soffit's.")
    return FUNCTIONS[name]


def _checked_shape(shape: Any) -> tuple[int, ...]:
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ModelFileError(f"{shape!r} is no shape.")
    return tuple(shape)


def _check_csr(rows: int, columns: int, data: Any, indices: Any, indptr: Any) -> None:
    """Compiled products follow the indices without looking."""
    fits = (
        all(isinstance(part, np.ndarray) and part.ndim == 1 for part in (data, indices, indptr))
        and indices.dtype.kind == indptr.dtype.kind == "i"
        and len(indptr) == rows + 1
        and len(indices) == len(data) == indptr[-1]
        and indptr[0] == 0
        and bool(np.all(indptr[1:] >= indptr[:-1]))
        and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < columns))
    )
    if not fits:
        raise ModelFileError(
            f"the parts of a sparse {rows} x {columns} matrix do not fit together."
        )


def _shown(value: Any) -> str:
    return ", ".join(repr(key)[:40] for key in list(value)[:3]) if value else "(none)"
