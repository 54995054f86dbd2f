"""The table of all objects, column by column, packed for the page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit.report._payload import packed_array, packed_text
from soffit.report._subject import Subject

# Memberships and entropies are shown with three decimals and kept with four.
_STEPS = 10_000


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its heading, how the page reads it, and its packed values."""

    title: str
    hint: str
    kind: str  # "number" of object, "name", "code" of a name, "share"
    payload: str = ""
    type: str = ""
    names: tuple[str, ...] = ()

    @property
    def is_numeric(self) -> bool:
        """Whether values are aligned as numbers."""
        return self.kind in ("number", "share")


@dataclass(frozen=True, eq=False)
class _Ranked:
    """The likeliest clusters of each object, best first."""

    clusters: IntArray
    shares: FloatArray


def object_columns(subject: Subject) -> list[Column]:
    """All columns in the order of the page."""
    ranked = _ranked(subject, 3)
    noun = subject.noun
    columns = [
        _id_column(subject),
        _code(noun.capitalize(), f"The likeliest {noun}", ranked.clusters[:, 0], subject.names),
        _share("Certainty", f"Membership in the likeliest {noun}", ranked.shares[:, 0]),
        _share("Entropy", "Uncertainty in nats; 0 is certain", subject.entropy),
    ]
    if subject.overlap is not None and subject.instability is not None:
        columns += [
            _share("Overlap", "Part of the entropy: clusters touch here", subject.overlap),
            _share(
                "Instability",
                "Part of the entropy: the clusters themselves change here",
                subject.instability,
            ),
        ]
    for rank, word in ((1, "Second"), (2, "Third")):
        if subject.n_clusters > rank:
            place = f"{word.lower()} likeliest {noun}"
            columns += [
                _code(word, f"The {place}", ranked.clusters[:, rank], subject.names),
                _share("Share", f"Membership in the {place}", ranked.shares[:, rank]),
            ]
    if subject.truth is not None:
        columns.append(_label_column(subject.truth))
    return columns


def _ranked(subject: Subject, most: int) -> _Ranked:
    order = np.argsort(-subject.memberships, axis=1, kind="stable")[:, :most]
    return _Ranked(order, np.take_along_axis(subject.memberships, order, axis=1))


def _id_column(subject: Subject) -> Column:
    if subject.ids is None:
        return Column("Object", "Number of the object, from 0", "number")
    return Column(
        subject.id_name,
        "What the object is called",
        "name",
        packed_text(json.dumps(subject.ids, separators=(",", ":"))),
    )


def _label_column(truth: NDArray[Any]) -> Column:
    names, codes = np.unique(truth, return_inverse=True)
    return _code("Label", "The label in the data", codes, tuple(map(str, names)))


def _code(title: str, hint: str, codes: IntArray, names: tuple[str, ...]) -> Column:
    small = _smallest(codes)
    return Column(title, hint, "code", packed_array(small), small.dtype.name, names)


def _share(title: str, hint: str, values: FloatArray) -> Column:
    small = _smallest(np.round(np.maximum(values, 0.0) * _STEPS))
    return Column(title, hint, "share", packed_array(small), small.dtype.name)


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in the smallest type that holds them."""
    largest = int(values.max(initial=0))
    for dtype in (np.uint8, np.uint16):
        if largest <= np.iinfo(dtype).max:
            return values.astype(dtype)
    return values.astype(np.uint32)
