"""Fetch the UCI sets from OpenML when the data folder does not have them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray, IntArray
from soffit.datasets import Dataset


def _unchanged(X: FloatArray) -> FloatArray:
    return X


def _to_unit_interval(X: FloatArray) -> FloatArray:
    """Grey values of USPS: OpenML has them in [-1, 1], the data folder in [0, 1] as float32."""
    return ((X + 1.0) / 2.0).astype(np.float32)


@dataclass(frozen=True)
class OpenMLSource:
    """Where a set is at OpenML, and what it must look like."""

    name: str
    version: int
    n_features: int
    n_classes: int
    convert: Callable[[FloatArray], FloatArray] = _unchanged


# Versions are fixed because several sets may share a name; `fetch` checks what arrives.
# satimage has the training and the test part there, the data folder only the training part.
OPENML_SOURCES = {
    "blood_transfusion": OpenMLSource("blood-transfusion-service-center", 1, 4, 2),
    "breast_tissue": OpenMLSource("breast-tissue", 1, 9, 6),
    "ecoli": OpenMLSource("ecoli", 1, 7, 8),
    "glass": OpenMLSource("glass", 1, 9, 6),
    "iris": OpenMLSource("iris", 1, 4, 3),
    "pendigits": OpenMLSource("pendigits", 1, 16, 10),
    "satimage": OpenMLSource("satimage", 1, 36, 6),
    "usps": OpenMLSource("USPS", 2, 256, 10, _to_unit_interval),
}


def fetch(name: str) -> Dataset:
    """Download one of `OPENML_SOURCES`; scikit-learn keeps a copy in its own cache."""
    from sklearn.datasets import fetch_openml

    source = OPENML_SOURCES[name]
    with warnings.catch_warnings():
        # Each further attempt is a warning. What counts is whether the last one succeeds, also
        # where warnings are errors.
        for message in ("A network error occurred", "Invalid cache", "Downloaded file could"):
            warnings.filterwarnings("ignore", message)
        # This parser needs no pandas.
        bunch = fetch_openml(
            name=source.name, version=source.version, as_frame=False, parser="liac-arff"
        )
    X = np.asarray(bunch.data, dtype=np.float64)
    labels, class_names = _encode(np.asarray(bunch.target).astype(str))
    if X.shape[1] != source.n_features or len(class_names) != source.n_classes:
        raise ValueError(
            f"OpenML's {source.name!r} version {source.version} has {X.shape[1]} features and "
            f"{len(class_names)} classes, expected {source.n_features} and {source.n_classes}"
        )
    return Dataset(
        name,
        (labels,),
        X=source.convert(X),
        class_names=class_names,
        source=f"openml:{source.name}:{source.version}",
    )


def _encode(target: np.ndarray) -> tuple[IntArray, tuple[str, ...]]:
    """Number the classes 0, 1, ..., in numerical order where their names are numbers."""
    names, codes = np.unique(target, return_inverse=True)
    try:
        order = np.argsort(names.astype(np.float64), kind="stable")
    except ValueError:
        order = np.arange(len(names))
    rank = np.argsort(order)
    return rank[codes], tuple(str(name) for name in names[order])
