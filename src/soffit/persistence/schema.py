"""Which classes a model file may hold, and the check of what their objects hold.

A class says in `_arrays` what it expects of its attributes, one line each::

    _arrays: ClassVar[dict[str, str]] = {
        "rows": "finite n k",  # finite floating-point numbers, n x k
        "factor": "nonnegative n k",  # finite and at least 0; "positive": above 0
        "prior": "probabilities k",  # array or CSR, nonnegative, and the rows sum to 1
        "whitening": "cholesky d d",  # finite, with a positive diagonal
        "isolation": "float n",  # any floating-point numbers
        "labels": "int n <k",  # whole numbers from 0 to k - 1
        "members": "int n m -1<n",  # from -1 to n - 1
        "X": "matrix n p",  # array or CSR, finite; "affinities": at least 0, too
        "table": "arrays m",  # a dictionary of arrays of numbers
        "objects": "table n p",  # the same; NaN only if a mixed distance compares the rows
        "n_clusters": "size k",  # a whole number, which is k
        "trust": "finite",  # a single number; "count": a whole one of at least 1, "natural": 0
        "keep": "text union|mutual",  # one of these words
        "scores": "float? n",  # may be missing
        "scales_": "positive?matrix_ n",  # may be missing only if matrix_ is
        "points": "matrix?metric=precomputed n p",  # may be missing only if metric is this
        "tree.0": "float N+1",  # the first item of a tuple
        "index": "part query() n p?",  # an object with the method `query` and the same n (and p)
        "choice": "part :KChoice",  # an object of this class; several are separated by |
        "affinity": "part matrix_! n",  # that has a matrix_
        "extension": "part place() k=j",  # whose k is our j
        "levels": "parts n",  # a list of objects
        "copies": "index? n <m",  # whole numbers below m; without them n and m are one length
        "": "same j k",  # two names of one length
    }

What is not declared is neither saved nor restored. A name stands for one length in all lines of an
object and, as far as `part` says so, of its parts: all shapes in a model agree. A length named
without "?" in the line of a part must occur in that part. Compiled loops follow indices without
looking; here they are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from soffit._typing import Matrix, is_sparse
from soffit.affinity import (
    CallableAffinity,
    Cosine,
    Gaussian,
    Laplacian,
    NeighborGraph,
    Precomputed,
    RelativeDistance,
    SideInformation,
)
from soffit.affinity.distinct import DistinctColumns
from soffit.affinity.given_objects import Standardizer
from soffit.affinity.isolation import Surroundings
from soffit.affinity.mixed_table import MixedPreparation
from soffit.affinity.tuples import DEVIATIONS, TupleMeasure
from soffit.catalogue import MODELS as CATALOGUE
from soffit.factorize.tuples.placement import TupleRows
from soffit.fitting.curation import Merged, Split
from soffit.fitting.fitted import Corrected, Fitted, Part, SimilarityPlacer, Unchanged
from soffit.fitting.update import GrownPlacer
from soffit.memberships import (
    ClusterTree,
    ColumnRows,
    FittedRows,
    Level,
    NonnegativeRows,
    SeededMixture,
    Walk,
)
from soffit.memberships.mixture import Projection
from soffit.mixed_columns import Column
from soffit.neighbors.approximate import NeighborIndex
from soffit.neighbors.mixed.mixed_distance import MixedDistance, MixedSearch
from soffit.neighbors.search import ApproximateSearch, ExactSearch, SparseSearch
from soffit.normalize import Normalized
from soffit.normalize.additive import AdditiveNormalized
from soffit.normalize.normalized import DegreeNormalized
from soffit.normalize.sinkhorn import SinkhornNormalized
from soffit.selection import KChoice


class ModelFileError(ValueError):
    """A model file cannot be read or written; the message says why, and what to do.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import soffit
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.soffit")
    ...     _ = path.write_text("no model")
    ...     try:
    ...         soffit.load(path)
    ...     except soffit.persistence.ModelFileError:
    ...         print("refused")
    refused
    """


# --- the registry ---------------------------------------------------------------------------------

# Names in files are the keys. A class that is renamed keeps its key: write it as an entry here.
MODELS: dict[str, type] = {name: entry.load() for name, entry in CATALOGUE.items()}
PARTS: dict[str, type] = {
    cls.__name__: cls
    for cls in (
        # affinities; those that are parameters are not fitted
        CallableAffinity,
        Cosine,
        Gaussian,
        Laplacian,
        NeighborGraph,
        Precomputed,
        RelativeDistance,
        # neighbour search
        ApproximateSearch,
        ExactSearch,
        MixedDistance,
        MixedSearch,
        NeighborIndex,
        SparseSearch,
        # preparation, pairs, tuples
        Column,
        DistinctColumns,
        MixedPreparation,
        SideInformation,
        Standardizer,
        TupleMeasure,
        # normalizations
        AdditiveNormalized,
        DegreeNormalized,
        Normalized,
        SinkhornNormalized,
        # rows of new objects
        ColumnRows,
        FittedRows,
        NonnegativeRows,
        TupleRows,
        # memberships
        ClusterTree,
        Corrected,
        Level,
        Merged,
        Projection,
        SeededMixture,
        Split,
        Unchanged,
        Walk,
        # the fitted value
        GrownPlacer,
        KChoice,
        Part,
        SimilarityPlacer,
        Surroundings,
        # parts of single models
        *(part for entry in CATALOGUE.values() for part in entry.load_parts()),
    )
}
NAMES: dict[type, str] = {
    Fitted: "Fitted",
    **{cls: name for name, cls in (PARTS | MODELS).items()},
}

# Functions of the library that models keep.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"{name}_deviation": deviation.of for name, deviation in DEVIATIONS.items()
}

# Attributes of any object that are no data. A parameter left out is at its default after loading.
LEFT_OUT = frozenset(
    {
        "callback",  # a function that watches a fit
        "_metadata_request",  # scikit-learn's routing of arguments, set again where it is used
    }
)

# --- the check ------------------------------------------------------------------------------------

_KINDS = {"int": "i", "index": "i", "bool": "b"}
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
# Kinds of single values even where words follow.
_SINGLE = ("text",)
# Kinds of arrays of finite numbers, and their lower limits.
_FINITE = {
    "finite": -np.inf,
    "matrix": -np.inf,
    "table": -np.inf,
    "nonnegative": 0.0,
    "affinities": 0.0,
    "probabilities": 0.0,
    "positive": 0.0,
    "cholesky": -np.inf,
}
_WORDS = {
    "nonnegative": "nonnegative ",
    "affinities": "nonnegative ",
    "probabilities": "nonnegative ",
    "positive": "positive ",
}
_ROUNDING = 1e-3
# Integers below it fit into 64 bits with room for sums.
_MOST = 2**62
# Entries that are tested for being finite at a time.
_BLOCK = 2**20


@dataclass(frozen=True)
class _Line:
    """A line of `_arrays`, taken apart."""

    kind: str
    optional: bool
    # What must be missing, or have a value, for this to be missing.
    condition: str
    words: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _Line:
        first, *words = text.split()
        kind, mark, condition = first.partition("?")
        return cls(kind, bool(mark), condition, tuple(words))

    def may_be_missing(self, thing: Any) -> bool:
        """Whether the attribute is optional for this object."""
        name, mark, value = self.condition.partition("=")
        if not self.optional or not name:
            return self.optional
        found = vars(thing).get(name)
        return found == value if mark else found is None

    @property
    def lengths(self) -> tuple[str, ...]:
        return tuple(word for word in self.words if "<" not in word)

    @property
    def bound(self) -> tuple[int, str] | None:
        """The lowest number and the name of the length below which all are."""
        for word in self.words:
            lowest, found, below = word.partition("<")
            if found:
                return int(lowest or "0"), below
        return None

    @property
    def methods(self) -> list[str]:
        return [word[:-2] for word in self.words if word.endswith("()")]

    @property
    def shared(self) -> list[tuple[str, str, bool]]:
        """A part's name of a length, ours, and whether the part must have it."""
        found = []
        for word in self.words:
            if not word.endswith(("()", "!")) and not word.startswith(":"):
                theirs, _, ours = word.rstrip("?").partition("=")
                found.append((theirs, ours or theirs, not word.endswith("?")))
        return found


def check_declared(cls: type, names: Iterable[str]) -> None:
    """Refuse attributes that a class does not declare."""
    declared = {path.partition(".")[0] for path in getattr(cls, "_arrays", {})}
    for name in names:
        if name not in declared:
            raise ModelFileError(f"{NAMES[cls]} cannot have an attribute {name!r}.")


def check_shapes(thing: Any, known: Mapping[str, int] | None = None) -> dict[str, int | None]:
    """Raise ModelFileError for the first attribute that is not as its class declares it.

    `thing`: a model or a part of one, of a class of the registry.
    `known`: lengths that are known already, by the class's names.
    Returns the lengths that occur in the object and its parts; None where only the name does.
    """
    return _Check(NAMES[type(thing)], dict(known or {})).run(thing)


class _Check:
    """One object while it is checked, with the lengths learnt so far."""

    def __init__(self, owner: str, known: dict[str, int]) -> None:
        self._owner = owner
        self._known = known
        self._occurring: set[str] = set()
        self._gaps = False

    def run(self, thing: Any) -> dict[str, int | None]:
        self._gaps = isinstance(vars(thing).get("metric"), MixedDistance)
        bounded: list[tuple[str, Any, tuple[int, str]]] = []
        for path, text in getattr(type(thing), "_arrays", {}).items():
            line = _Line.of(text)
            if line.kind == "same":
                self._join(line.words)
                continue
            where, value = f"{path} of {self._owner}", _at(thing, path)
            if value is None:
                if not line.may_be_missing(thing):
                    raise ModelFileError(f"{self._owner} has no {path}.")
                if line.kind == "index":
                    self._join(tuple(word.lstrip("<") for word in line.words))
                continue
            self._check(where, value, line)
            if line.bound is not None:
                bounded.append((where, value, line.bound))
        # Bounds last: a length may be learnt from a later line.
        for where, value, bound in bounded:
            self._check_bound(where, value, *bound)
        return {name: self._known.get(name) for name in self._occurring}

    def _check(self, where: str, value: Any, line: _Line) -> None:
        if line.kind == "part":
            self._check_part(where, value, line)
        elif line.kind == "parts":
            if not isinstance(value, list | tuple):
                raise ModelFileError(f"{where} must be a list, but it is {_type(value)}.")
            for number, part in enumerate(value):
                self._check_part(f"{where}, number {number},", part, line)
        elif line.kind == "size":
            _check_scalar(where, value, "int")
            self._check_lengths(where, (int(value),), line.lengths)
        elif line.kind in _SINGLE or not line.lengths:
            _check_scalar(where, value, line.kind)
            _check_choice(where, value, line)
        elif line.kind == "arrays":
            self._check_table(where, value, line)
        else:
            _check_kind(where, value, line.kind, gaps=self._gaps and line.kind == "table")
            self._check_lengths(where, value.shape, line.lengths)
            if line.kind == "probabilities" and value.size:
                _check_sums(where, value)
            if line.kind == "cholesky" and (np.diagonal(value, axis1=-2, axis2=-1) <= 0).any():
                raise ModelFileError(f"{where} must have positive diagonals.")

    def _check_table(self, where: str, table: Any, line: _Line) -> None:
        if not isinstance(table, dict):
            raise ModelFileError(f"{where} must be a dictionary, but it is {_type(table)}.")
        for name, column in table.items():
            inside = f"{name[:40]!r} of {where}"
            _check_kind(inside, column, "numbers", gaps=False)
            self._check_lengths(inside, column.shape, line.lengths)

    def _check_part(self, where: str, part: Any, line: _Line) -> None:
        if type(part) not in NAMES:
            raise ModelFileError(f"{where} must be an object, but it is {_type(part)}.")
        name = NAMES[type(part)]
        for method in line.methods:
            if not callable(getattr(type(part), method, None)):
                raise ModelFileError(f"{where} is a {name}, which cannot do {method!r}.")
        for word in line.words:
            if word.startswith(":") and name not in word[1:].split("|"):
                allowed = word[1:].replace("|", " or a ")
                raise ModelFileError(f"{where} is a {name}, but it must be a {allowed}.")
            if word.endswith("!") and vars(part).get(word[:-1]) is None:
                raise ModelFileError(f"{where}, a {name}, has no {word[:-1]}.")
        inside = {
            theirs: self._known[ours] for theirs, ours, _ in line.shared if ours in self._known
        }
        found = check_shapes(part, inside)
        for theirs, ours, required in line.shared:
            if theirs not in found and required:
                raise ModelFileError(f"{where}, a {name}, does not hold its length {theirs}.")
            if theirs in found:
                self._occurring.add(ours)
            length = found.get(theirs)
            if length is not None:
                self._known[ours] = length

    def _join(self, names: tuple[str, ...]) -> None:
        lengths = {self._known[name] for name in names if name in self._known}
        if len(lengths) > 1:
            raise ModelFileError(f"{' and '.join(names)} of {self._owner} must be the same.")
        for length in lengths:
            self._known.update(dict.fromkeys(names, length))
        self._occurring.update(names)

    def _check_lengths(self, where: str, shape: tuple[int, ...], wanted: tuple[str, ...]) -> None:
        told = [self._length(length) for length in wanted]
        fits = len(shape) == len(wanted) and all(
            length is None or length == found for length, found in zip(told, shape, strict=True)
        )
        # A name used twice in one line stands for one length, too.
        for name, found in zip(wanted, shape, strict=False):
            if name.isidentifier():
                fits = fits and self._known.setdefault(name, found) == found
                self._occurring.add(name)
        if not fits:
            should = ", ".join(
                name if length is None else str(length)
                for name, length in zip(wanted, told, strict=True)
            )
            raise ModelFileError(f"{where} has shape {shape}, which should be ({should}).")

    def _check_bound(self, where: str, value: Any, lowest: int, name: str) -> None:
        below = self._length(name)
        if below is None:
            raise ModelFileError(f"{where} refers to something that is not there.")
        if value.size and (value.min() < lowest or value.max() >= below):
            raise ModelFileError(
                f"{where} must hold numbers from {lowest} to {below - 1}, but it holds "
                f"{value.min()} to {value.max()}."
            )

    def _length(self, text: str) -> int | None:
        """The number that a length stands for, "3", "n" or "n+2"; None if n is not known yet."""
        if text.isdigit():
            return int(text)
        name, _, more = text.partition("+")
        return self._known[name] + int(more or "0") if name in self._known else None


def _at(thing: Any, path: str) -> Any:
    """The attribute, or the item of a tuple that is one; None where there is none."""
    name, _, item = path.partition(".")
    value = vars(thing).get(name)
    if not item:
        return value
    inside = isinstance(value, tuple) and int(item) < len(value)
    return value[int(item)] if inside else None


def _check_scalar(where: str, value: Any, kind: str) -> None:
    is_flag = isinstance(value, bool | np.bool_)
    is_whole = isinstance(value, int | np.integer) and not is_flag
    is_number = isinstance(value, int | float | np.integer | np.floating) and not is_flag
    # Integers beyond 64 bits are no numbers for NumPy.
    is_number = is_number and not (is_whole and abs(int(value)) >= _MOST)
    is_finite = is_number and bool(abs(value) < np.inf)
    fits = {
        "bool": is_flag,
        "int": is_whole and is_number,
        "count": is_whole and 1 <= value < _MOST,
        "natural": is_whole and 0 <= value < _MOST,
        "float": is_number,
        "finite": is_finite,
        "nonnegative": is_finite and value >= 0,
        "positive": is_finite and value > 0,
        "text": isinstance(value, str),
        "texts": isinstance(value, tuple) and all(isinstance(item, str) for item in value),
        "metric": isinstance(value, str | MixedDistance),
        "precision": isinstance(value, np.dtype) and value in _FLOATS,
        "function": value in FUNCTIONS.values() if callable(value) else False,
    }
    if not fits[kind]:
        raise ModelFileError(
            f"{where} must be a single {kind}, but it is {value!r:.40} ({_type(value)})."
        )


def _check_choice(where: str, value: Any, line: _Line) -> None:
    choices = line.words[0].split("|") if line.kind == "text" and line.words else []
    if choices and value not in choices:
        raise ModelFileError(f"{where} must be one of {', '.join(choices)}, not {value!r:.40}.")


def _check_kind(where: str, value: Any, kind: str, *, gaps: bool) -> None:
    if kind in ("matrix", "table", "affinities", "probabilities"):
        fits = (isinstance(value, np.ndarray) or is_sparse(value)) and value.dtype in _FLOATS
    elif not isinstance(value, np.ndarray):
        fits = False
    elif kind in ("float", *_FINITE):
        fits = value.dtype in _FLOATS
    elif kind == "numbers":
        fits = value.dtype.kind in "biuf"
    else:
        fits = kind == "any" or value.dtype.kind in _KINDS[kind]
    if not fits:
        word = "nonnegative" if kind == "affinities" else kind
        wanted = "an array" if kind == "any" else f"a {word} array"
        found = getattr(value, "dtype", _type(value))
        raise ModelFileError(f"{where} must be {wanted}, but it is {found}.")
    if gaps:
        fits = not np.isinf(value.data if is_sparse(value) else value).any()
    elif kind in _FINITE:
        fits = _is_above(value, _FINITE[kind], strictly=kind == "positive")
    if not fits:
        raise ModelFileError(f"{where} must hold finite {_WORDS.get(kind, '')}numbers only.")


def _check_sums(where: str, value: Any) -> None:
    sums = np.asarray(value.sum(axis=value.ndim - 1, dtype=np.float64))
    if np.abs(sums - 1).max() > _ROUNDING:
        raise ModelFileError(f"the rows of {where} must sum to 1.")


def _is_above(value: Matrix, least: float, *, strictly: bool) -> bool:
    """Whether all numbers are finite and at least, or above, the limit."""
    flat = value.data if is_sparse(value) else value.reshape(-1, order="A")
    for first in range(0, len(flat), _BLOCK):
        block = flat[first : first + _BLOCK]
        if (
            not np.isfinite(block).all()
            or not (block > least if strictly else block >= least).all()
        ):
            return False
    return True


def _type(value: Any) -> str:
    return type(value).__name__
