"""The arguments of `fit`, read and checked: pairs, weights, labels, and equal objects.

Each distinct object is fitted once, with the total weight of its copies.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from soffit._matrix_checks import checked_csr
from soffit._typing import FloatArray, IntArray, Matrix
from soffit._wording import Message, Parameter
from soffit.affinity import SideInformation
from soffit.affinity.distinct import DistinctColumns, first_rows, numbered
from soffit.affinity.given_objects import Objects
from soffit.exceptions import ContradictoryPairsWarning
from soffit.fitting.fitted import Fitted

if TYPE_CHECKING:
    from soffit.selection.density import Density


# Smaller weights vanish in sums of larger ones.
_LEAST_RATIO = 1e-15


@dataclass(frozen=True, eq=False)
class Constraints:
    """The arguments of `fit` besides the objects, as passed."""

    must_link: Any = None
    cannot_link: Any = None
    pair_weight: Any = None
    sample_weight: Any = None
    transitive: bool = False

    def side_information(self, n: int, names: NDArray[Any] | None) -> SideInformation | None:
        """The checked pairs; None if there are none."""
        if self.must_link is None and self.cannot_link is None:
            return None
        _refuse_row_numbers_of_other_rows()
        side = SideInformation.of(
            self.must_link, self.cannot_link, n, transitive=self.transitive, names=names
        )
        contradiction = None if self.transitive else side.contradiction(names)
        if contradiction is not None:
            # Pairs are evidence here: they are weighed against each other and the affinities.
            text = " At least one of these statements is wrong; the others are weighed against it."
            warnings.warn(ContradictoryPairsWarning(Message(contradiction, text)), stacklevel=6)
        return side if side.n_pairs else None

    def checked_sample_weight(self, n: int) -> FloatArray:
        """The weights of n objects; ones if not given."""
        if self.sample_weight is None:
            return np.ones(n)
        given = Parameter("sample_weight")
        try:
            weights = np.asarray(self.sample_weight, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(Message(given, " must hold numbers, one per object.")) from error
        if np.ma.is_masked(self.sample_weight):
            raise ValueError(
                Message(given, " has masked entries. Give each object a weight, or leave it out.")
            )
        if weights.ndim == 0:
            weights = np.full(n, float(weights))
        if weights.shape != (n,):
            raise ValueError(
                Message(
                    *(given, f" must have one weight per object: n_samples={n}, but its shape is "),
                    f"{weights.shape}.",
                )
            )
        # Written so that NaN fails too.
        wrong = ~((weights > 0) & (weights < np.inf))
        if wrong.any():
            found = f"{weights[wrong][0]:g} for object {int(wrong.argmax())}"
            raise ValueError(
                Message(
                    *(given, f" must be positive and finite, not zero; got {found}. Leave out "),
                    "objects that should not count, and place them with predict_proba.",
                )
            )
        if n and weights.min() < weights.max() * _LEAST_RATIO:
            raise ValueError(
                Message(
                    *(
                        given,
                        f" ranges from {weights.min():g} to {weights.max():g}, too far to be ",
                    ),
                    f"compared: the smallest must be at least {_LEAST_RATIO:g} of the largest. ",
                    "Leave out objects that should not count, and place them with predict_proba.",
                )
            )
        return weights

    def checked_pair_weight(self, n: int, dtype: np.dtype[np.floating]) -> Matrix | None:
        """The weights as array or CSR in the given precision; None if not given."""
        if self.pair_weight is None:
            return None
        if sp.issparse(self.pair_weight):
            weight: Any = checked_csr(self.pair_weight, what="pair_weight", dtype=dtype)
            values = weight.data
        else:
            weight = values = np.asarray(self.pair_weight, dtype=dtype)
        if weight.shape != (n, n):
            raise ValueError(
                f"pair_weight must have shape ({n}, {n}), one weight per pair, got {weight.shape}."
            )
        # Written so that NaN fails too.
        wrong = ~((values >= 0) & (values < np.inf))
        if wrong.any():
            raise ValueError(
                f"pair_weight must be finite and nonnegative, got {values[wrong][0]}. Use zero "
                "for unknown pairs."
            )
        gap = abs(weight - weight.T).max()
        if gap > 0:
            raise ValueError(
                "pair_weight must be symmetric: pairs have no direction. Pass "
                "(pair_weight + pair_weight.T) / 2."
            )
        return weight


UNLABELLED = -1


def _refuse_row_numbers_of_other_rows() -> None:
    """Refuse pairs inside scikit-learn's cross-validation.

    Cross-validation fits subsets of the rows but passes the pairs unchanged, so that their numbers
    would refer to other rows. Only the call stack shows this situation.
    """
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_code.co_name not in ("_fit_and_score", "_fit_and_predict"):
            continue
        if str(frame.f_globals.get("__name__", "")).startswith("sklearn.model_selection"):
            raise ValueError(
                "must_link and cannot_link hold row numbers, which scikit-learn's "
                "cross-validation does not map to the rows of a fold. Fit the folds in your own "
                "loop, and pass the pairs among their rows."
            )


@dataclass(frozen=True, eq=False)
class PartialLabels:
    """The classes, and for every object the number of its class or -1."""

    classes: NDArray[Any]  # (c,): the known classes in ascending order.
    codes: IntArray  # (n,): positions in `classes`; -1 for unlabelled objects.

    @classmethod
    def of(cls, y: Any, n: int, owner: str) -> PartialLabels:
        """Read the labels of n objects; `owner` starts the messages."""
        if y is None:
            raise ValueError(f"{owner} requires y to be passed, but the target y is None.")
        values = column_or_1d(np.asarray(y), warn=True)
        if len(values) != n:
            raise ValueError(
                f"y must have one label per object, -1 for unlabelled ones: n_samples={n}, but y "
                f"has {len(values)}."
            )
        labelled = np.flatnonzero(~_unknown(values))
        if len(labelled) == 0:
            raise ValueError(
                "y has no labelled object: all its values are -1, None or NaN. Label at least one "
                "object per class."
            )
        known = _plain(values[labelled])
        if known.dtype.kind == "f" and not np.isfinite(known).all():
            raise ValueError(
                "y contains infinity. Labels must be finite; -1 marks unlabelled objects."
            )
        check_classification_targets(known)
        codes = np.full(n, UNLABELLED)
        try:
            classes, codes[labelled] = np.unique(known, return_inverse=True)
        except TypeError as error:
            raise ValueError(
                "y mixes labels that cannot be ordered, such as numbers and text. Use one type."
            ) from error
        return cls(classes, codes)

    @property
    def labelled(self) -> IntArray:
        """Numbers of the labelled objects."""
        return np.flatnonzero(self.codes != UNLABELLED)


def _unknown(values: NDArray[Any]) -> NDArray[np.bool_]:
    if values.dtype.kind == "O":
        return np.array([_is_unknown(value) for value in values], dtype=bool)
    if values.dtype.kind in "US":
        # NumPy converts a list such as ["a", -1] to text.
        return values == np.asarray("-1", dtype=values.dtype)
    if values.dtype.kind == "f":
        return (values == UNLABELLED) | np.isnan(values)
    return np.asarray(values == UNLABELLED)


def _is_unknown(value: Any) -> bool:
    """None, NaN, pandas' NA, -1 as a number or as text."""
    if value is None or type(value).__name__ == "NAType":
        return True
    if isinstance(value, Real) and math.isnan(value):
        return True
    return value in (UNLABELLED, "-1")


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Object arrays of numbers as numeric arrays; text stays as it is."""
    if values.dtype.kind != "O":
        return values
    plain = np.array(values.tolist())
    return plain if plain.dtype.kind in "biuf" else values


@dataclass(frozen=True, eq=False)
class Data:
    """The arguments of `fit`, read and checked."""

    objects: Objects  # The objects, with the affinity to compute from them.
    # Pairs and pair weights, as passed.
    constraints: Constraints = field(default_factory=Constraints)
    labels: PartialLabels | None = None  # Labels of some of the objects.
    # `n_features_in_` and, if the columns have names, `feature_names_in_`.
    columns: Mapping[str, Any] = field(default_factory=dict)
    side: SideInformation | None = None  # The checked pairs.
    # (n,): weights of the objects, 1 on average; None if all are equal.
    weights: FloatArray | None = None
    # The number of each given object among these, if equal ones were joined.
    copies: IntArray | None = None
    # The density at the objects, if it is known better than from their affinity.
    density: Density | None = None

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the objects, if the input has any."""
        return self.objects.names


def read_columns(checked: Any, columns: NDArray[Any] | None) -> dict[str, Any]:
    """What scikit-learn's check has recorded about the columns, or their names as given."""
    names = ("n_features_in_", "feature_names_in_")
    found = {name: getattr(checked, name) for name in names if name in vars(checked)}
    if columns is not None and "feature_names_in_" not in found:
        found["feature_names_in_"] = np.asarray(columns, dtype=object)
    return found


# Attributes with a row per object; those of the factorization have one per distinct object.
_OF_OBJECTS = ("memberships_", "labels_", "entropy_", "overlap_", "instability_")


def distinct_data(data: Data, n_clusters: int | None) -> Data:
    """The data with each distinct object once, and the weights of the objects.

    Objects that must not be in one cluster stay apart even if they are equal, and so do some copies
    if there are fewer distinct objects than clusters.

    `data`: the arguments of `fit`.
    `n_clusters`: the number of clusters, if it is given.
    """
    objects, side = data.objects, data.side
    weights = data.constraints.checked_sample_weight(objects.n_objects)
    if _relative(weights) is not None:
        objects = replace(objects, weights=weights)
    copies = objects.copies()
    if copies is not None:
        copies = _kept_apart(copies, side, n_clusters or 1)
    if copies is None:
        return replace(data, objects=objects, side=side, weights=_relative(weights))
    if side is not None:
        side = side.among_distinct(copies)
    return replace(
        data,
        objects=objects.distinct(copies),
        side=side,
        weights=_relative(np.bincount(copies, weights).astype(np.float64)),
        copies=copies,
    )


def for_all_objects(fitted: Fitted, data: Data, whole: Data) -> Fitted:
    """The fitted value of distinct objects as one of all objects.

    `fitted`: that of the distinct objects.
    `data`, `whole`: the distinct objects, and all.
    """
    copies = data.copies
    if copies is None:
        return fitted
    attributes: dict[str, Any] = dict(fitted.attributes)
    for name in _OF_OBJECTS:
        if attributes.get(name) is not None:
            attributes[name] = attributes[name][copies]
    if "levels_" in attributes:
        attributes["levels_"] = [
            replace(level, memberships=level.memberships[copies]) for level in attributes["levels_"]
        ]
    attributes["copies_"] = copies
    attributes["object_names_"] = whole.names
    attributes["side_information_"] = whole.side
    preparation: Any = fitted.preparation
    if data.objects.is_matrix:
        preparation = DistinctColumns(first_rows(copies), len(copies))
    return replace(fitted, attributes=attributes, preparation=preparation)


def of_distinct_objects(attributes: Mapping[str, Any], values: Any) -> Any:
    """One row per distinct object of an array with a row per object."""
    copies = attributes.get("copies_")
    return values if copies is None else values[first_rows(copies)]


def _relative(weights: FloatArray) -> FloatArray | None:
    """Weights that are 1 on average; None if all are equal."""
    if len(weights) == 0 or np.all(weights == weights[0]):
        return None
    # By the largest first: the sum of very large weights would overflow.
    weights = weights / weights.max()
    return np.asarray(weights / weights.mean())


def _kept_apart(copies: IntArray, side: SideInformation | None, n_clusters: int) -> IntArray | None:
    """The same without the copies that must stay objects of their own."""
    alone = np.zeros(len(copies), dtype=bool)
    if side is not None and len(side.cannot):
        same = copies[side.cannot[:, 0]] == copies[side.cannot[:, 1]]
        alone[side.cannot[same].ravel()] = True
    missing = n_clusters - (int(copies.max()) + 1) - int(alone.sum())
    if missing > 0:
        again = np.ones(len(copies), dtype=bool)
        again[first_rows(copies)] = False
        alone[np.flatnonzero(again & ~alone)[:missing]] = True
    if not alone.any():
        return copies
    return numbered(np.where(alone, copies.max() + 1 + np.arange(len(copies)), copies))
