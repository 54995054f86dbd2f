"""Memberships of a model, a result or an array, and what follows from them object by object."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray, is_sparse
from soffit.memberships import entropy
from soffit.memberships.assignment import UNASSIGNED, assigned
from soffit.memberships.measures import check_memberships, dense_rows, largest

# Tolerance for row sums that other programs have rounded; too small for unnormalized factors.
ROUNDED = 0.02
# Sums within this of 1 are those of probabilities in single precision.
_EXACT = 1e-3
# Where a model, a result or a segmentation keeps its memberships.
_PLACES = ("memberships_", "label_distributions_", "memberships")


_OF_OBJECTS = (
    *("ids", "labels", "certainty", "entropy", "overlap", "instability", "truth", "novelty"),
)


class Named(Protocol):
    """What a result takes from the data: `soffit.io.Source` has it."""

    @property
    def ids(self) -> Any: ...  # noqa: D102
    @property
    def id_name(self) -> str: ...  # noqa: D102
    @property
    def truth(self) -> Any: ...  # noqa: D102


@dataclass(frozen=True, eq=False)
class Result:
    """Memberships of all objects and what follows from them.

    Attributes
    ----------
    memberships : ndarray or csr_array of shape (n, k)
        Rows sum to one.
    ids : ndarray of shape (n,) or None
        Identifiers as text, or the numbers 0 to n - 1; None stands for the latter.
    id_name : str
        What the identifiers are called.
    labels : ndarray of shape (n,)
        The cluster with the largest membership.
    certainty : ndarray of shape (n,)
        The largest membership.
    entropy : ndarray of shape (n,)
        Uncertainty of each object, in nats.
    overlap, instability : ndarray of shape (n,) or None
        The two parts of the entropy, if the model was fitted with resamples.
    truth : ndarray of shape (n,) or None
        Known labels as text.
    novelty : ndarray of shape (n,) or None
        How far outside everything seen new objects lie.
    names : tuple of str or None
        Names of the clusters, if they have any; the number of a cluster without one.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.io import Result
    >>> result = Result.from_memberships(np.array([[0.9, 0.1], [0.5, 0.5]]), ids=["ann", "bob"])
    >>> result.labels.tolist(), result.certainty.tolist(), result.n_clusters
    ([0, 0], [0.9, 0.5], 2)
    """

    memberships: Any
    ids: NDArray[Any] | None
    id_name: str
    labels: IntArray
    certainty: FloatArray
    entropy: FloatArray
    overlap: FloatArray | None = None
    instability: FloatArray | None = None
    truth: NDArray[Any] | None = None
    novelty: FloatArray | None = None
    names: tuple[str, ...] | None = None

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.memberships.shape[1])

    @classmethod
    def from_memberships(
        cls,
        memberships: Any,
        *,
        ids: Any = None,
        id_name: str = "id",
        overlap: Any = None,
        instability: Any = None,
        truth: Any = None,
        novelty: Any = None,
        names: Any = None,
    ) -> Result:
        """A result from memberships alone, such as those of new objects.

        Parameters
        ----------
        memberships : array or sparse array of shape (n, k)
            Rows sum to one.
        ids, overlap, instability, truth, novelty : array of shape (n,), optional
            As the attributes of the same names.
        id_name : str, default="id"
            What the identifiers are called.
        names : sequence of str, optional
            Names of the clusters.

        Returns
        -------
        Result
            With labels, certainty and entropy computed from the memberships.
        """
        rows = memberships if is_sparse(memberships) else np.asarray(memberships)
        labels, certainty = largest(rows)
        return cls(
            memberships=rows,
            ids=np.arange(rows.shape[0]) if ids is None else np.asarray(ids),
            id_name=id_name,
            labels=labels,
            certainty=certainty,
            entropy=entropy(rows),
            overlap=None if overlap is None else np.asarray(overlap),
            instability=None if instability is None else np.asarray(instability),
            truth=None if truth is None else np.asarray(truth),
            novelty=None if novelty is None else np.asarray(novelty),
            names=None if names is None else tuple(map(str, names)),
        )

    @classmethod
    def of(cls, model: Any, source: Named | None = None) -> Result:
        """The result of a fitted model.

        Parameters
        ----------
        model : estimator
            Fitted.
        source : Source, optional
            The data that it was fitted to, for identifiers and known labels.

        Returns
        -------
        Result
            One entry per object, in the order of the fitted data.
        """
        names = getattr(model, "object_names_", None)
        ids = None if names is None else np.array([str(name) for name in names], dtype=np.str_)
        if source is not None and source.ids is not None:
            ids = source.ids
        return cls.from_memberships(
            memberships_of(model),
            ids=ids,
            id_name="id" if source is None else source.id_name,
            overlap=from_resamples(model, "overlap"),
            instability=from_resamples(model, "instability"),
            truth=None if source is None else source.truth,
            names=cluster_names_of(model),
        )

    def part(self, rows: slice) -> Result:
        """Some consecutive objects.

        Parameters
        ----------
        rows : slice
            Their positions.
        """
        found: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows]
            for name in _OF_OBJECTS
        }
        return replace(self, memberships=dense_rows(self.memberships, rows), **found)

    def with_refusal(self, min_certainty: float | None, max_novelty: float | None = None) -> Result:
        """The same, with the label -1 for objects that are too uncertain or too novel.

        Parameters
        ----------
        min_certainty : float or None
            The lowest certainty, from 0 to 1; None assigns all objects.
        max_novelty : float or None
            The highest novelty, from 0 to 1; None assigns all objects.
        """
        labels = assigned(self.memberships, min_certainty=min_certainty)
        if max_novelty is not None and self.novelty is not None:
            labels = np.where(self.novelty > max_novelty, UNASSIGNED, labels)
        return replace(self, labels=labels)


# --- reading --------------------------------------------------------------------------------------


def is_estimator(given: Any) -> bool:
    """Whether this is a model, fitted or not, rather than a result or an array."""
    return hasattr(given, "get_params") and hasattr(given, "fit")


def memberships_of(given: Any) -> Any:
    """The memberships of a fitted model, a result, a segmentation or an array, as they are kept.

    A classifier's classes are its clusters. A segmentation has one row per pixel of its image. Of a
    model that was fitted to a collection of blocks, they are those of the sample.
    """
    if hasattr(given, "sample_indices_"):
        given = given._in_memory()
    for place in _PLACES:
        values = getattr(given, place, None)
        if values is not None:
            return (
                values
                if is_sparse(values) or np.ndim(values) < 3
                else np.reshape(values, (-1, values.shape[-1]))
            )
    if is_estimator(given):
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"This {type(given).__name__} is not fitted yet. Call fit first.")
    if (
        not is_sparse(given)
        and not hasattr(given, "__array__")
        and not isinstance(given, (list, tuple))
    ):
        raise TypeError(
            "model must be a fitted model, a result or an array of memberships, got "
            f"{type(given).__name__}. Pass the model, or what soffit.io.read_result returns."
        )
    return given


def cluster_names_of(given: Any) -> tuple[str, ...] | None:
    """Names of the clusters of a model or a result; None if they have none."""
    names = getattr(given, "cluster_names_", None)
    if names is None and not is_estimator(given):
        names = getattr(given, "names", None)
    return None if names is None else tuple(map(str, names))


def probabilities(memberships: Any) -> Any:
    """Memberships in double precision as every figure and score uses them.

    Rows must sum to 1, up to the rounding of a file; rounded rows are divided by their sums.
    """
    values = check_memberships(memberships).astype(np.float64, copy=False)
    sums = np.asarray(values.sum(axis=1))
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > ROUNDED:
        raise ValueError(
            f"each row of memberships must sum to 1, row {worst} sums to {sums[worst]:g}; "
            "divide each row by its sum."
        )
    if abs(sums[worst] - 1) <= _EXACT:
        return values
    if is_sparse(values):
        return sp.csr_array(sp.diags_array(1.0 / sums) @ values)
    return np.asarray(values / sums[:, np.newaxis])


def from_resamples(given: Any, what: str) -> Any:
    """A value from resamples: an attribute with an underscore of a model, without of a result.

    None unless the model's last fit had resamples.
    """
    if is_estimator(given) and not getattr(given, "n_resamples", True):
        return None
    value = getattr(given, f"{what}_", None)
    return getattr(given, what, None) if value is None else value
