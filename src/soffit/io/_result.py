"""What came of a clustering, object by object."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit.io.source import Source
from soffit.memberships import entropy


@dataclass(frozen=True, eq=False)
class Result:
    """Memberships of all objects and what follows from them.

    Attributes
    ----------
    memberships : ndarray of shape (n, k)
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
        How undecided each object is, in nats.
    overlap, instability : ndarray of shape (n,) or None
        The two parts of the entropy, where the model tells them apart.
    truth : ndarray of shape (n,) or None
        Known labels as text.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.io import Result
    >>> result = Result.from_memberships(np.array([[0.9, 0.1], [0.5, 0.5]]), ids=["ann", "bob"])
    >>> result.labels.tolist(), result.certainty.tolist(), result.n_clusters
    ([0, 0], [0.9, 0.5], 2)
    """

    memberships: FloatArray
    ids: NDArray[Any] | None
    id_name: str
    labels: IntArray
    certainty: FloatArray
    entropy: FloatArray
    overlap: FloatArray | None = None
    instability: FloatArray | None = None
    truth: NDArray[Any] | None = None

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
    ) -> Result:
        """A result from memberships alone, such as those of new objects.

        Parameters
        ----------
        memberships : array of shape (n, k)
            Rows sum to one.
        ids, overlap, instability, truth : array of shape (n,), optional
            As the attributes of the same names.
        id_name : str, default="id"
            What the identifiers are called.

        Returns
        -------
        Result
            With labels, certainty and entropy worked out.
        """
        rows = np.asarray(memberships)
        return cls(
            memberships=rows,
            ids=np.arange(len(rows)) if ids is None else np.asarray(ids),
            id_name=id_name,
            labels=rows.argmax(axis=1),
            certainty=rows.max(axis=1),
            entropy=entropy(rows),
            overlap=None if overlap is None else np.asarray(overlap),
            instability=None if instability is None else np.asarray(instability),
            truth=None if truth is None else np.asarray(truth),
        )

    @classmethod
    def of(cls, model: Any, source: Source | None = None) -> Result:
        """The result of a fitted model.

        Parameters
        ----------
        model : estimator
            Fitted.
        source : Source, optional
            What it was fitted on, for identifiers and known labels.

        Returns
        -------
        Result
            One entry an object, in the order of the fitted data.
        """
        names = getattr(model, "object_names_", None)
        ids = None if names is None else np.array([str(name) for name in names], dtype=np.str_)
        if source is not None and source.ids is not None:
            ids = source.ids
        memberships = getattr(model, "memberships_", None)
        return cls.from_memberships(
            # A classifier's classes are its clusters.
            model.label_distributions_ if memberships is None else memberships,
            ids=ids,
            id_name="id" if source is None else source.id_name,
            overlap=getattr(model, "overlap_", None),
            instability=getattr(model, "instability_", None),
            truth=None if source is None else source.truth,
        )
