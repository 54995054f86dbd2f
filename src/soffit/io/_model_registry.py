"""Every class that a model file may hold: the one place where a name becomes a class.

A file names classes by the keys of `REGISTRY` and can reach nothing else. Fields are found by
looking (`vars`), so that a new field needs no line here; a new class does, and one test says so.

What stands beside a class are its arrays' kinds and shapes, checked when a file is read. Compiled
loops trust shapes, so whatever they are given belongs in these lists:

- "float n k": floats of shape (n, k), the same n and k in all entries of the class;
- "int p 2 <n": whole numbers from 0 to n - 1; "-1<n" begins at -1; "*" is any length, a number
  that very length, "n+2" two more than n;
- "matrix n n": an array or a CSR matrix of floats; "any n": an array of whatever it may be;
- "float", "int", "bool": single values; "size k": a whole number that is the length k;
  "precision": one of the two types of floats;
- "float? n": may be absent or None. A dot leads into an object, or to the item of a tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
from soffit.affinity._index import NeighborIndex
from soffit.affinity._search import ApproximateSearch, ExactSearch, SparseSearch
from soffit.affinity._standardize import Standardizer
from soffit.affinity._tuple_deviations import DEVIATIONS
from soffit.affinity._tuples import TupleMeasure
from soffit.memberships import (
    ClusterTree,
    ColumnRows,
    FittedRows,
    Level,
    NonnegativeRows,
    SeededMixture,
    Walk,
)
from soffit.memberships._projection import Projection
from soffit.memberships._tuple_rows import TupleRows
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
from soffit.models._label_walk import ClusterWalk, PointWalk
from soffit.models._pixel_clustering import PixelClustering
from soffit.normalize import Normalized
from soffit.normalize._additive import AdditiveNormalized
from soffit.normalize._degree import DegreeNormalized
from soffit.normalize._sinkhorn import SinkhornNormalized
from soffit.selection import KChoice


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
