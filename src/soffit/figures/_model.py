"""What figures read from a fitted model, a stored result or bare memberships."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit.figures.text import escaped
from soffit.memberships import entropy
from soffit.metrics.truth import check_probabilities

# Where a model, a result or a segmentation keeps its memberships.
_PLACES = ("memberships_", "label_distributions_", "memberships")


@dataclass(frozen=True, eq=False)
class Shown:
    """Memberships and what is said about each object, from whatever a figure was given.

    `ids` are as given; None means that objects are numbered. `cluster_names` are safe text.
    """

    memberships: FloatArray
    labels: IntArray
    certainty: FloatArray
    entropy: FloatArray
    overlap: FloatArray | None
    instability: FloatArray | None
    ids: NDArray[Any] | None
    cluster_names: list[str]

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return int(self.memberships.shape[0])

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return int(self.memberships.shape[1])

    def name_of(self, obj: int) -> str:
        """The object's identifier or number as safe text."""
        return escaped(obj if self.ids is None else self.ids[obj], 60)


def read_shown(model: Any, ids: Any = None) -> Shown:
    """Read the memberships, and names of objects and clusters where there are any."""
    memberships = check_probabilities(_memberships_of(model), "memberships")
    n, k = memberships.shape
    return Shown(
        memberships=memberships,
        labels=memberships.argmax(axis=1),
        certainty=np.minimum(memberships.max(axis=1), 1.0),
        entropy=entropy(memberships),
        overlap=_one_an_object(_of(model, "overlap"), n, "overlap"),
        instability=_one_an_object(_of(model, "instability"), n, "instability"),
        ids=_one_an_object(_ids_of(model) if ids is None else ids, n, "ids"),
        cluster_names=_cluster_names(model, k),
    )


def _memberships_of(model: Any) -> Any:
    for name in _PLACES:
        values = getattr(model, name, None)
        if values is not None:
            # A segmentation has one row of memberships a pixel of its image.
            return (
                np.reshape(values, (-1, np.shape(values)[-1])) if np.ndim(values) == 3 else values
            )
    if hasattr(model, "fit"):
        raise ValueError(
            f"{type(model).__name__} has no memberships yet. Call fit before asking for a figure."
        )
    return model


def _of(model: Any, name: str) -> Any:
    """A fitted model's attribute with an underscore, or a result's without one."""
    value = getattr(model, f"{name}_", None)
    return getattr(model, name, None) if value is None else value


def _ids_of(model: Any) -> Any:
    found = getattr(model, "object_names_", None)
    return getattr(model, "ids", None) if found is None else found


def _one_an_object(values: Any, n: int, name: str) -> NDArray[Any] | None:
    if values is None:
        return None
    array = np.asarray(values)
    if array.shape != (n,):
        raise ValueError(
            f"{name} must hold one value for each of the {n} objects, got shape {array.shape}."
        )
    return array


def _cluster_names(model: Any, k: int) -> list[str]:
    classes: Sequence[Any] | None = getattr(model, "classes_", None)
    if classes is not None and len(classes) == k:
        return [escaped(name, 30) for name in classes]
    return [str(cluster) for cluster in range(k)]
