"""The two ways of writing down a clustering: a vector of labels or a matrix of memberships."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray, IntArray

# How a kind of NumPy type marks a missing value; the other kinds cannot.
_MISSING_TEST = {"f": np.isnan, "c": np.isnan, "m": np.isnat, "M": np.isnat}


def check_memberships(memberships: Any, name: str = "memberships") -> FloatArray:
    """Return a finite, nonnegative (n, k) array; float32 stays, all else becomes float64."""
    if sp.issparse(memberships):
        raise TypeError(f"{name} is sparse; pass a dense array, for example {name}.toarray().")
    values = np.asarray(memberships)
    if values.dtype != np.float32:
        if values.dtype.kind == "c":
            raise TypeError(f"{name} has complex values; pass real ones.")
        try:
            values = values.astype(np.float64, copy=False)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name} must hold numbers, got dtype {values.dtype}.") from error
    if values.ndim != 2:
        raise ValueError(
            f"{name} must have shape (n_objects, n_clusters), got {values.ndim} dimension(s) "
            f"with shape {values.shape}."
        )
    if values.size == 0:
        raise ValueError(f"{name} is empty, its shape is {values.shape}; pass at least one entry.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity; remove or repair those rows.")
    if values.min() < 0:
        raise ValueError(
            f"{name} must not be negative, its smallest value is {values.min():g}; "
            "clip it at zero and divide each row by its sum."
        )
    return values


def encode_labels(labels: Any, name: str = "labels") -> tuple[IntArray, int]:
    """Return codes 0..k-1 in the sorted order of the distinct labels, and k."""
    values = _label_array(labels)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must be a vector of labels, got shape {values.shape}; "
            "use ravel() on a single column."
        )
    if values.size == 0:
        raise ValueError(f"{name} is empty; pass at least one label.")
    if values.dtype == object:
        return _encode_objects(values, name)
    missing = _MISSING_TEST.get(values.dtype.kind)
    if missing is not None and missing(values).any():
        raise ValueError(f"{name} contains NaN; remove those objects or give them a label.")
    classes, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64, copy=False), int(classes.size)


def indicator(codes: IntArray, n_clusters: int) -> sp.csr_array:
    """Memberships of a hard clustering, one 1 per row."""
    n_objects = codes.size
    ones = np.ones(n_objects)
    return sp.csr_array((ones, codes, np.arange(n_objects + 1)), shape=(n_objects, n_clusters))


def check_same_length(first: int, second: int, first_name: str, second_name: str) -> None:
    """Raise ValueError unless both describe the same number of objects."""
    if first != second:
        raise ValueError(
            f"{first_name} describes {first} objects but {second_name} describes {second}; "
            "both must describe the same objects in the same order."
        )


def _label_array(labels: Any) -> np.ndarray[Any, np.dtype[Any]]:
    if sp.issparse(labels):
        raise TypeError("labels are sparse; pass a dense vector.")
    if isinstance(labels, (list, tuple)):
        kinds = {type(label) for label in labels}
        # NumPy would turn ["a", nan] into two strings and hide the missing value.
        if str in kinds and len(kinds) > 1:
            values = np.empty(len(labels), dtype=object)
            values[:] = labels
            return values
    return np.asarray(labels)


def _encode_objects(values: np.ndarray[Any, np.dtype[Any]], name: str) -> tuple[IntArray, int]:
    distinct = set(values.tolist())
    if any(_is_missing(label) for label in distinct):
        raise ValueError(
            f"{name} contains a missing value; remove those objects or give them a label."
        )
    try:
        ordered = sorted(distinct)
    except TypeError:  # Labels of several types have no natural order; any fixed one serves.
        ordered = sorted(distinct, key=lambda label: (type(label).__name__, repr(label)))
    position = {label: code for code, label in enumerate(ordered)}
    codes = np.fromiter((position[label] for label in values), dtype=np.int64, count=values.size)
    return codes, len(ordered)


def _is_missing(label: Any) -> bool:
    if label is None:
        return True
    try:
        return bool(operator.ne(label, label))  # True for NaN of any type.
    except TypeError:  # pandas.NA refuses to be a truth value.
        return True
