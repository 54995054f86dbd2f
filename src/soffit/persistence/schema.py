"""Which classes and arrays a model file may hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from soffit._typing import is_sparse
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
from soffit.affinity.standardize import Standardizer
from soffit.affinity.tuples import DEVIATIONS, TupleMeasure
from soffit.factorize.tuples.placement import TupleRows
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
from soffit.models import (
    BaumEagon,
    CompletelyPositive,
    HigherOrder,
    RandomWalkClassifier,
    RelationFactorization,
    SoF,
    SoftClustering,
    SoftHierarchy,
    SpectralClustering,
)
from soffit.models.random_walk_classifier import ClusterWalk, PointWalk
from soffit.models.segmentation import PixelClustering
from soffit.neighbors.approximate import NeighborIndex
from soffit.neighbors.search import ApproximateSearch, ExactSearch, SparseSearch
from soffit.normalize import Normalized
from soffit.normalize.additive import AdditiveNormalized
from soffit.normalize.degree import DegreeNormalized
from soffit.normalize.sinkhorn import SinkhornNormalized
from soffit.persistence.state import ModelFileError
from soffit.selection import KChoice

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


@dataclass(frozen=True)
class Entry:
    """A class and what is known about its arrays."""

    cls: type
    shapes: Mapping[str, str] = field(default_factory=dict)


# Attributes of any object that are no data. A parameter left out is at its default after loading.
LEFT_OUT = frozenset(
    {
        "callback",  # a function that watches a fit
        "_metadata_request",  # scikit-learn's routing of arguments, set again where it is used
    }
)

# Functions of the library that models keep.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"{name}_deviation": deviation.of for name, deviation in DEVIATIONS.items()
}

_KERNEL = {"matrix_": "matrix? n n", "objects_": "matrix? n *", "bandwidth_": "float?"}
_SCALED = {"matrix": "matrix n n", "factors": "float n"}

PARTS: dict[str, Entry] = {
    # --- affinities; those that are parameters are not fitted ----------------------------------
    "NeighborGraph": Entry(
        NeighborGraph,
        {
            "_members": "int? n *",
            "_radius": "float? n",
            "_local_scale": "float? n",
            "_search.X": "matrix? n p",
            "_search.index.order": "int? n",
            "matrix_": "matrix? n n",
            "recall_": "float?",
        },
    ),
    "ExactSearch": Entry(ExactSearch, {"X": "matrix? n p", "recall": "float"}),
    "SparseSearch": Entry(
        SparseSearch,
        {"X": "matrix n p", "recall": "float", "_found.0": "int n m -1<n", "_found.1": "float n m"},
    ),
    "ApproximateSearch": Entry(
        ApproximateSearch, {"index.recall": "float", "recall": "float", "dtype": "precision"}
    ),
    "NeighborIndex": Entry(
        NeighborIndex,
        {
            "points": "float n d",
            "order": "int n <n",
            # Planes of N nodes lead to N + 1 leaves, and those are ranges of points.
            "tree.0": "float N d",
            "tree.1": "float N",
            "tree.2": "int N+2 <n+1",
            "members": "int n m -1<n",
            "squares": "float n m",
            "shift": "float d",
            "size": "float",
            "recall": "float",
        },
    ),
    "RelativeDistance": Entry(
        RelativeDistance,
        {"objects_": "matrix? n *", "scales_": "float? n", "matrix_": "matrix? n n"},
    ),
    "Gaussian": Entry(Gaussian, _KERNEL),
    "Laplacian": Entry(Laplacian, _KERNEL),
    "Cosine": Entry(Cosine, {"units_": "matrix? n p", "matrix_": "matrix? n n"}),
    "Precomputed": Entry(Precomputed, {"matrix_": "matrix? n n"}),
    "CallableAffinity": Entry(CallableAffinity),
    "SideInformation": Entry(
        SideInformation, {"n_objects": "size n", "must": "int p 2 <n", "cannot": "int q 2 <n"}
    ),
    "Standardizer": Entry(Standardizer, {"center": "float? p", "spread": "float? p"}),
    "TupleMeasure": Entry(TupleMeasure, {"order": "int", "is_deviation": "bool"}),
    # --- normalizations ------------------------------------------------------------------------
    "Normalized": Entry(Normalized, {"matrix": "matrix n n", "factors": "float? n"}),
    "DegreeNormalized": Entry(DegreeNormalized, _SCALED),
    "SinkhornNormalized": Entry(SinkhornNormalized, _SCALED),
    "AdditiveNormalized": Entry(
        AdditiveNormalized,
        {"matrix": "matrix n n", "means": "float n", "grand_mean": "float", "beta": "float"},
    ),
    # --- memberships ---------------------------------------------------------------------------
    "FittedRows": Entry(
        FittedRows,
        {
            "rows": "float n k",
            "scale": "float k",
            "mean_degree": "float?",
            "memberships": "float n k",
        },
    ),
    "ColumnRows": Entry(
        ColumnRows, {"factor": "float n k", "prior": "float k", "memberships": "float n k"}
    ),
    "NonnegativeRows": Entry(NonnegativeRows, {"factor": "float b k", "memberships": "float n k"}),
    "TupleRows": Entry(
        TupleRows,
        {
            "points": "float p d",
            "bases": "int b * <p",
            "width": "float?",
            "least": "float",
            "rows.factor": "float b k",
        },
    ),
    "Walk": Entry(Walk, {"memberships": "float n k", "seen": "float n k", "steps": "int"}),
    "Projection": Entry(Projection, {"center": "float p", "directions": "float p d"}),
    "SeededMixture": Entry(
        SeededMixture,
        {
            "projection.directions": "float p d",
            "n_clusters": "size k",
            "owner": "int g <k",
            "log_weights": "float g",
            "means": "float g d",
            "whitening": "float g d d",
            "trust": "float",
            "tails": "float?",
            "power": "float?",
        },
    ),
    "Level": Entry(
        Level,
        {
            "memberships": "float n m",
            "weights": "float m",
            "similarities": "float m m",
            "parents": "float? m *",
        },
    ),
    "ClusterTree": Entry(
        ClusterTree,
        {
            "level": "int N",
            "cluster": "int N",
            "weight": "float N",
            "size": "float N",
            "parent": "int N",
            "probability": "float N",
        },
    ),
    "PointWalk": Entry(PointWalk, {"A": "matrix n n", "degrees": "float n"}),
    "ClusterWalk": Entry(
        ClusterWalk,
        {"B": "float n m", "degrees": "float n", "weights": "float m", "between": "float m m"},
    ),
    "KChoice": Entry(
        KChoice, {"n_clusters": "int", "confidence": "float", "runner_up": "int?", "ks": "int *"}
    ),
}

_RESULTS = {
    "memberships_": "float n k",
    "n_clusters_": "size k",
    "n_features_in_": "size? p",
    "labels_": "int n <k",
    "entropy_": "float n",
    "factor_": "float n k",
    "object_names_": "any? n",
    "objective_": "float",
    "objective_history_": "float *",
    "n_iter_": "int",
    "converged_": "bool",
}
_BY_PAIRS = {
    "n_features_in_": "size p",
    "affinity_matrix_": "matrix n n",
    "scale_": "float k",
    "side_information_.n_objects": "size? n",
    "_affinity.matrix_": "matrix n n",
    "_affinity._search.X": "matrix? n p",
    "_affinity._search.index.shift": "float? p",
    "_normalized.matrix": "matrix n n",
}
_CLUSTERING = _RESULTS | _BY_PAIRS | {"_extension.memberships": "float n k"}
_SOFT_CLUSTERING = _CLUSTERING | {
    "n_steps_": "int",
    "overlap_": "float? n",
    "instability_": "float? n",
    "cluster_stability_": "float? k",
    "agreement_": "float?",
    "expected_accuracy_": "float?",
    "_walk.memberships": "float n k",
    "_correction": "float? n k",
    "_standardizer.center": "float? p",
    "_mixture.n_clusters": "size? k",
    "_mixture.projection.center": "float? p",
}

MODELS: dict[str, Entry] = {
    "BaumEagon": Entry(BaumEagon, _CLUSTERING),
    "CompletelyPositive": Entry(CompletelyPositive, _CLUSTERING),
    "SoF": Entry(SoF, _CLUSTERING),
    "SoftClustering": Entry(SoftClustering, _SOFT_CLUSTERING),
    # The model of a segmented image.
    "PixelClustering": Entry(PixelClustering, _SOFT_CLUSTERING),
    "RelationFactorization": Entry(
        RelationFactorization,
        _CLUSTERING
        | {
            "lambda_": "float k",
            "bipartite_": "float n k",
            "log_likelihood_": "float",
            "threshold_path_": "float? * 2",
        },
    ),
    "SoftHierarchy": Entry(
        SoftHierarchy,
        _RESULTS
        | _BY_PAIRS
        | {
            "_extension.memberships": "float n j",
            "_upward": "float? j k",
            "_degrees": "float n 1",
            "lambda_": "float k",
        },
    ),
    "SpectralClustering": Entry(
        SpectralClustering,
        _CLUSTERING
        | {
            "embedding_": "float n k",
            "eigenvalues_": "float k",
            "cut_": "float",
            "relaxed_bound_": "float",
            "_tied": "bool n",
            "_rounded": "int n <k",
        },
    ),
    "HigherOrder": Entry(
        HigherOrder,
        _RESULTS
        | {
            "tuples_": "int t * <n",
            "tuple_values_": "float t",
            "width_": "float?",
            "_places.points": "float? * p",
            "_places.rows.memberships": "float? n k",
        },
    ),
    "RandomWalkClassifier": Entry(
        RandomWalkClassifier,
        {
            "affinity_matrix_": "matrix n n",
            "n_features_in_": "size p",
            "object_names_": "any? n",
            "label_distributions_": "float n c",
            "transduction_": "any n",
            "classes_": "any c",
            "class_prior_": "float c",
            "_affinity.matrix_": "matrix n n",
            "_affinity._search.X": "matrix? n p",
            "_affinity._search.index.shift": "float? p",
            "_walk.degrees": "float n",
            "_walked": "float n c",
        },
    ),
}

REGISTRY: dict[str, Entry] = PARTS | MODELS
NAMES: dict[type, str] = {entry.cls: name for name, entry in REGISTRY.items()}
