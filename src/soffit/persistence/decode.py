"""The way back: JSON values and arrays become a model, with classes of the registry only."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._validation import check_parameters
from soffit.affinity.abstract import Affinity
from soffit.fitting.fitted import Fitted
from soffit.persistence.encode import PRECISIONS, SCALAR_KINDS
from soffit.persistence.schema import FUNCTIONS, MODELS, PARTS, check_declared, check_shapes
from soffit.persistence.state import ModelFileError, is_data_name, with_state

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
            "function": _function,
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


def _function(name: str) -> Callable[..., Any]:
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
