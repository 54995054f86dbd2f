"""The version of the model file's format, and how older versions become the present one.

What a version promises: a file that some release of soffit wrote loads in every later one.

- A new parameter or a new dataclass field with a default needs nothing: files without it load
  with the default.
- A class renamed, moved inside the package, or new: change the registry in `schema`. The names in
  files are the registry's keys, not Python's, so a renamed class keeps its key.
- Anything else that a loaded model would miss (a fitted attribute or field that is new, renamed,
  removed, or has another meaning; another encoding of values) changes the format: add one to
  `FORMAT_VERSION`, and to `MIGRATIONS` a function from the old version's document and arrays to
  the next one's. Keep files of the old version in the tests: they must load for good.

A document is the parsed model.json, which refers to arrays and objects by number; an object
refers to earlier ones only. Nothing in it was checked yet, and everything will be: a migration
may fail in any way, but must not trust a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Document = dict[str, Any]
Arrays = list[np.ndarray[Any, Any]]
Migration = Callable[[Document, Arrays], tuple[Document, Arrays]]


def migrated(
    document: Document,
    arrays: Arrays,
    version: int,
    *,
    target: int,
    steps: Mapping[int, Migration],
) -> tuple[Document, Arrays]:
    """The document and its arrays in the target version's layout."""
    for number in range(version, target):
        document, arrays = steps[number](document, arrays)
    return document, arrays


# --- version 1: a model was its attributes --------------------------------------------------------


# What parameters and attributes of version 1 are called now.
_OF_PAIRS = {"side_weight": "constraint_weight"}
_PARAMETERS: dict[str, dict[str, str]] = {
    "SoftClustering": {"resamples": "n_resamples", **_OF_PAIRS},
    "PixelClustering": {"resamples": "n_resamples", **_OF_PAIRS},
    "CompletelyPositive": {"start": "init", **_OF_PAIRS},
    "HigherOrder": {"width": "bandwidth"},
    "RandomWalkClassifier": {"steps": "n_steps"},
}
_ATTRIBUTES = {"stopped_": "stop_reason_", "width_": "bandwidth_"}


def _to_version_2(document: Document, arrays: Arrays) -> tuple[Document, Arrays]:
    """Private attributes of a model become its fitted value.

    What no prediction needs is dropped: normalized matrices, and memberships of fitted objects
    beside those that the model publishes.
    """
    files = _Version1(document, arrays)
    state = document["state"]
    attributes = {
        _ATTRIBUTES.get(name, name): value for name, value in state.items() if _is_public(name)
    }
    as_it_is = files.add("Standardizer", center=None, spread=None)
    fitted = {
        "preparation": state.get("_standardizer") or as_it_is,
        "placer": files.placer(),
        "stopped": state.get("stopped_", "converged"),
        "n_iter": state.get("n_iter_", 0),
    }
    output = state.get("_sklearn_output_config", {"dict": {}})["dict"].get("transform")
    renamed = _PARAMETERS.get(document["class"], {})
    parameters = {renamed.get(name, name): value for name, value in document["parameters"].items()}
    kept = {"class": document["class"], "parameters": parameters}
    return (
        {**kept, "attributes": attributes, "fitted": fitted, "output": output}
        | {"objects": files.objects},
        files.arrays,
    )


def _is_public(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


class _Version1:
    """A document of version 1 while its objects are rewritten and new ones are added."""

    def __init__(self, document: Document, arrays: Arrays) -> None:
        self._class = document["class"]
        self._parameters = document["parameters"]
        self._state = document["state"]
        self._given = arrays
        self.arrays = list(arrays)
        self.objects = [self._rewritten(encoded) for encoded in document["objects"]]

    def add(self, name: str, **state: Any) -> dict[str, int]:
        """A new object; the reference to it."""
        self.objects.append({"class": name, "state": state})
        return {"object": len(self.objects) - 1}

    def placer(self) -> dict[str, int] | None:
        """What places new objects."""
        state = self._state
        if self._class == "HigherOrder":
            places = state["_places"]
            return None if places is None else self.add("TuplePlacer", rows=places)
        if self._class == "RandomWalkClassifier":
            matrix = self._new_array(np.empty((0, 0)))
            normalization = self.add("Normalized", matrix=matrix)
            walked = {"walk": state["_walk"], "walked": state["_walked"]}
            extension = self.add("ClassArrival", **walked, prior=state["class_prior_"])
        else:
            normalization, extension = state["_normalized"], state["_extension"]
        return self.add(
            "SimilarityPlacer",
            affinity=state["_affinity"],
            normalization=normalization,
            extension=extension,
            smoothing=self._smoothing(),
            part=self._part(),
        )

    def _smoothing(self) -> dict[str, int]:
        state = self._state
        if self._class in ("SoftClustering", "PixelClustering"):
            smoothing = self.add(
                "WalkAndMixture", walk=state["_walk"], mixture=state.get("_mixture")
            )
            # A correction may be left from an earlier fit; the parameter decided.
            if self._parameters.get("resamples") and "_correction" in state:
                return self.add("Corrected", smoothing=smoothing, correction=state["_correction"])
            return smoothing
        if state.get("_upward") is not None:
            return self.add("Upward", chain=state["_upward"])
        return self.add("Unchanged")

    def _part(self) -> dict[str, int]:
        """The part of the affinities that was normalized."""
        name, parameters = self._class, self._parameters
        if name in ("SoftClustering", "PixelClustering"):
            return self.add("Part", diagonal="dropped", strays_of=self._state["n_clusters_"])
        if name in ("SpectralClustering", "RelationFactorization", "SoftHierarchy"):
            return self.add("Part", diagonal="dropped")
        if name == "CompletelyPositive":
            raised = parameters.get("normalization", "sinkhorn") == "sinkhorn"
            told = self._state.get("side_information_") is not None
            return self.add(
                "Part",
                diagonal="raised" if raised else "kept",
                constraint_weight=parameters.get("side_weight", 1.0) if told else None,
            )
        return self.add("Part", diagonal="kept")

    def _rewritten(self, encoded: Any) -> Any:
        """An object without what is no longer kept."""
        name = encoded.get("class")
        if name not in _REWRITTEN:
            return encoded
        return {"class": name, "state": _REWRITTEN[name](self, dict(encoded["state"]))}

    def without_matrix(self, state: Document) -> Document:
        """A normalization as a rule only."""
        return state | {"matrix": self._new_array(np.empty((0, 0)))}

    def without_memberships(self, state: Document) -> Document:
        """Rows without the memberships of fitted objects."""
        del state["memberships"]
        return state

    def with_prior(self, state: Document) -> Document:
        """Rows with the mean of the memberships, in their own precision."""
        memberships = self._array(state.pop("memberships"))
        return state | {"prior": self._new_array(memberships.mean(axis=0))}

    def with_exact_prior(self, state: Document) -> Document:
        """Rows with the mean of the memberships, in double precision."""
        memberships = self._array(state.pop("memberships"))
        return state | {"prior": self._new_array(memberships.mean(axis=0, dtype=np.float64))}

    def walk_of_new_objects(self, state: Document) -> Document:
        """A walk without the memberships of fitted objects."""
        memberships = self._array(state["memberships"])
        return state | {"memberships": self._new_array(memberships[:0].copy())}

    def _array(self, reference: Any) -> np.ndarray[Any, Any]:
        # Numbers below zero would be taken from the end; the file means none of these.
        return self._given[range(len(self._given))[reference["array"]]]

    def _new_array(self, array: np.ndarray[Any, Any]) -> dict[str, int]:
        self.arrays.append(array)
        return {"array": len(self.arrays) - 1}


_REWRITTEN: dict[str, Callable[[_Version1, Document], Document]] = {
    "Normalized": _Version1.without_matrix,
    "DegreeNormalized": _Version1.without_matrix,
    "SinkhornNormalized": _Version1.without_matrix,
    "AdditiveNormalized": _Version1.without_matrix,
    "ColumnRows": _Version1.without_memberships,
    "FittedRows": _Version1.with_prior,
    "NonnegativeRows": _Version1.with_exact_prior,
    "Walk": _Version1.walk_of_new_objects,
}

FORMAT_VERSION = 2
# From version v to v + 1, by v.
MIGRATIONS: dict[int, Migration] = {1: _to_version_2}
