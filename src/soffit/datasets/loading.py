"""Labelled data sets of scikit-learn, and the type that every loader returns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state

from soffit._typing import IntArray, Matrix
from soffit.datasets.sample import Seed, check_count

_SHIPPED = ("breast_cancer", "digits", "iris", "wine")
_ELSEWHERE = (
    "Benchmark sets are read by benchmarks.datasets in the repository of soffit, which is not part "
    "of the installed package."
)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A labelled data set: points or a graph, and one or more label vectors.

    Parameters
    ----------
    name : str
        Name of the data set.
    labels : tuple of ndarray of shape (n,), int
        One or more label vectors.
    X : ndarray or csr_array of shape (n, d), or None
        The points; None for a graph.
    graph : csr_array of shape (n, n), or None
        Symmetric weighted adjacency; None for points.
    class_names : tuple of str
        Names of the classes 0, 1, ... if the source has them, else empty.
    noise_label : int or None
        The label of noise; such objects are excluded from evaluation. None if every object has a
        cluster.
    communities : tuple of ndarray of int, or None
        Members of each community if communities overlap; the only label vector is then the first
        community of each object.
    source : str
        Its origin: a library, a file, or the name and version at OpenML.

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
        """Number of classes of each label vector, without noise."""
        return tuple(
            int(np.count_nonzero(np.unique(vector) != self.noise_label)) for vector in self.labels
        )

    def sample(self, n_samples: int | None, random_state: Seed = None) -> Dataset:
        """Keep this many random objects, in their original order; None keeps all.

        Examples
        --------
        >>> import numpy as np
        >>> from soffit.datasets import Dataset
        >>> dataset = Dataset("toy", (np.array([0, 1, 1]),), X=np.eye(3))
        >>> dataset.sample(2, random_state=7).n_samples
        2
        """
        if n_samples is None:
            return self
        n_samples = check_count(n_samples, "n_samples")
        if n_samples > self.n_samples:
            raise ValueError(
                f"n_samples={n_samples} is larger than the {self.n_samples} objects of "
                f"{self.name!r}. Pass a smaller number, or None for all."
            )
        rng = check_random_state(random_state)
        return self.subset(np.sort(rng.choice(self.n_samples, n_samples, replace=False)))

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


def list_datasets(home: object = None) -> tuple[str, ...]:
    """Return the names of the data sets of scikit-learn that :func:`load` reads.

    Parameters
    ----------
    home : None
        No longer supported: folders of benchmark sets are listed by ``benchmarks.datasets`` in the
        repository.

    Returns
    -------
    tuple of str
        Names for :func:`load`.

    Examples
    --------
    >>> from soffit.datasets import list_datasets
    >>> list_datasets()
    ('breast_cancer', 'digits', 'iris', 'wine')
    """
    _refuse_home(home)
    return _SHIPPED


def load(
    name: str, *, n_samples: int | None = None, random_state: Seed = None, home: object = None
) -> Dataset:
    """Load a labelled data set of scikit-learn; nothing is downloaded.

    Parameters
    ----------
    name : {"breast_cancer", "digits", "iris", "wine"}
        The data set.
    n_samples : int, optional
        Keep this many random objects, in their original order.
    random_state : int, RandomState or None
        Seed of the subsample.
    home : None
        No longer supported: folders of benchmark sets are read by ``benchmarks.datasets`` in the
        repository.

    Returns
    -------
    Dataset
        Points `X` and `labels`.

    Examples
    --------
    >>> from soffit.datasets import load
    >>> iris = load("iris")
    >>> iris.X.shape, iris.class_names
    ((150, 4), ('setosa', 'versicolor', 'virginica'))
    >>> load("digits", n_samples=500, random_state=7).n_samples
    500
    """
    _refuse_home(home)
    if not isinstance(name, str):
        raise TypeError(f"name must be a string, got {name!r}. See list_datasets().")
    if name not in _SHIPPED:
        raise ValueError(f"name must be one of {', '.join(_SHIPPED)}, got {name!r}. {_ELSEWHERE}")
    return _read(name).sample(n_samples, random_state)


def data_home() -> NoReturn:
    """Moved to ``benchmarks.datasets`` in the repository; raises an error that says so."""
    raise RuntimeError(f"soffit.datasets.data_home has moved. {_ELSEWHERE}")


def development_sets() -> NoReturn:
    """Moved to ``benchmarks.datasets`` in the repository; raises an error that says so."""
    raise RuntimeError(f"soffit.datasets.development_sets has moved. {_ELSEWHERE}")


def _refuse_home(home: object) -> None:
    if home is not None:
        raise ValueError(f"home={home!r} is no longer supported. {_ELSEWHERE}")


def _read(name: str) -> Dataset:
    from sklearn import datasets

    bunch: Any = getattr(datasets, f"load_{name}")()
    return Dataset(
        name,
        (np.asarray(bunch.target, dtype=np.int64),),
        X=np.asarray(bunch.data, dtype=np.float64),
        class_names=tuple(str(label) for label in bunch.target_names),
        source=f"scikit-learn: load_{name}",
    )
