"""What a loader returns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp

from soffit._typing import IntArray, Matrix


@dataclass(frozen=True, eq=False)
class Dataset:
    """A benchmark set: points or a graph, and one or more labelings.

    Parameters
    ----------
    name : str
        Name of the set.
    labels : tuple of ndarray of shape (n,), int
        One or more label vectors.
    X : ndarray or csr_array of shape (n, d), or None
        The points; None for a graph.
    graph : csr_array of shape (n, n), or None
        Symmetric weighted adjacency; None for points.
    class_names : tuple of str
        Names of the classes 0, 1, ... where the source gives them, else empty.
    noise_label : int or None
        The label that means "in no cluster"; such objects are left out when scoring. None where
        every object has a cluster.
    communities : tuple of ndarray of int, or None
        Members of each community where communities overlap; the only label vector is then the
        first community of each object.
    source : str
        The file, or the name and version at OpenML.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.datasets import Dataset
    >>> dataset = Dataset("toy", (np.array([0, 1, 2]),), X=np.eye(3), noise_label=0)
    >>> dataset.n_samples, dataset.n_classes
    (3, (2,))
    """

    name: str
    labels: tuple[IntArray, ...]
    X: Matrix | None = None
    graph: sp.csr_array | None = None
    class_names: tuple[str, ...] = ()
    noise_label: int | None = None
    communities: tuple[IntArray, ...] | None = None
    source: str = ""

    @property
    def n_samples(self) -> int:
        """Number of objects."""
        return len(self.labels[0])

    @property
    def n_classes(self) -> tuple[int, ...]:
        """Number of classes of each label vector, noise not counted."""
        return tuple(
            int(np.count_nonzero(np.unique(vector) != self.noise_label)) for vector in self.labels
        )

    def subset(self, rows: IntArray) -> Dataset:
        """Keep these distinct objects, in this order; a graph keeps the links between them.

        Examples
        --------
        >>> import numpy as np
        >>> from soffit.datasets import Dataset
        >>> dataset = Dataset("toy", (np.array([0, 1, 1]),), X=np.eye(3))
        >>> dataset.subset(np.array([0, 2])).X.tolist()
        [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
        """
        new_number = np.full(self.n_samples, -1)
        new_number[rows] = np.arange(len(rows))
        communities = self.communities
        if communities is not None:
            renumbered = (new_number[members] for members in communities)
            communities = tuple(members[members >= 0] for members in renumbered)
        return replace(
            self,
            labels=tuple(vector[rows] for vector in self.labels),
            X=None if self.X is None else self.X[rows],
            graph=None if self.graph is None else self.graph[rows][:, rows],
            communities=communities,
        )
