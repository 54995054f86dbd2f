"""Dense affinities from distances: relative distance, Gaussian, Laplacian and cosine."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from soffit._memory import DENSE_COPIES, check_allocation
from soffit._parameters import Number, OrNone, WholeNumber, check_parameter
from soffit._threads import each, row_blocks
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity.abstract import USUAL_NUMBER, Affinity
from soffit.affinity.distinct import copies_of_rows, first_rows
from soffit.affinity.isolation import N_NEIGHBORS, Neighborhood, strongest
from soffit.graph import Graph, as_array, make_symmetric, row_numbers, set_unit_diagonal
from soffit.neighbors.distances import Metric, distances, objects_to_keep, unit_rows
from soffit.neighbors.search import nearest_neighbors, neighbors_of

if TYPE_CHECKING:
    from typing_extensions import Self


class _OfDistances(Affinity):
    """Affinities from the distances of all pairs, scaled by those to a near neighbour."""

    metric: Metric
    neighbor: int
    n_jobs: int | None
    _of_rows: ClassVar[bool] = True

    def fit(self, X: Any) -> Self:
        """Compute the affinities of all pairs; keep the objects and the scale of distances."""
        check_parameter("neighbor", self.neighbor, WholeNumber(1))
        return self._fit(X, self.neighbor)

    def fit_for(self, X: Any, n_clusters: int | None) -> Self:
        """The same for a number of clusters, or None if it is not known."""
        check_parameter("neighbor", self.neighbor, WholeNumber(1))
        # Copies are no neighbours, and no further objects of a cluster.
        first, _ = _distinct(X)
        n_objects = X.shape[0] if first is None else len(first)
        return self._fit(X, suited_neighbor(self.neighbor, n_objects, n_clusters))

    @abstractmethod
    def _fit(self, X: Any, neighbor: int) -> Self: ...

    def neighborhood_among(self, X: Any, rank: int) -> tuple[IntArray, FloatArray]:
        """The nearest of the objects X for each of them, and the distances."""
        return nearest_neighbors(X, rank, metric=self.metric, n_jobs=self.n_jobs)

    def _nearest_fitted(self, X: Any, rank: int) -> Neighborhood:
        """The fitted objects next to new ones."""
        objects, metric = self.objects_, self.metric
        if metric == "precomputed":
            X = distances(X, objects, metric=metric)
        count = min(rank, objects.shape[0])
        found = neighbors_of(X, objects, count, metric=metric, n_jobs=self.n_jobs)
        return Neighborhood.of_lists(*found, rank=rank)


@dataclass(repr=False)
class RelativeDistance(_OfDistances):
    r"""Co-cluster probabilities from distances relative to each object's neighbourhood.

    .. math:: P_{ij} = \exp\Bigl(-c \, \frac{L_{ij}}{\sqrt{s_i s_j}}\Bigr)

    :math:`s_i` is the distance L from object i to its n-th neighbour, itself not counted.
    Multiplying all distances by a constant does not change P. Objects that are equal count as one
    neighbour, except in sparse distances. If :math:`s_i` is zero even so, it is the smallest
    positive distance of the object, or 1 if all objects are equal to it.

    A model tells how many clusters it looks for (`fit_for`). If an even cluster has no more objects
    than n, the neighbour halfway through it takes the place of the n-th.

    A new object's scale comes from its distances to the fitted objects. A fitted object at distance
    0 counts once as the new object itself, so that placing a fitted object again gives its own row.

    Parameters
    ----------
    metric : str or callable, default "euclidean"
        The absolute distance L; "precomputed" means that X holds distances. Sparse precomputed
        distances give a CSR matrix with the pattern of the known distances.
    c : float, default 1.0
        Scale of the exponent.
    neighbor : int, default 10
        The n of the n-th neighbour, at most n_objects - 1 (or the number of known distances).
    squared : bool, default False
        Use the squared distance as L: exp(-c d^2 / (s_i s_j)), with s in units of d.
    n_jobs : int, default None
        Number of threads for the distances.

    Attributes
    ----------
    matrix_ : ndarray or csr_array of shape (n, n)
        The probabilities P, with unit diagonal.
    scales_ : ndarray of shape (n,)
        The neighbour distances s, floored as above.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import RelativeDistance
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> near = RelativeDistance(neighbor=1).fit(X)
    >>> far = RelativeDistance(neighbor=1).fit(1000 * X)
    >>> bool(np.allclose(near.matrix_, far.matrix_))
    True

    References
    ----------
    H. Zhao, P. Poupart, Y. Zhang, M. Lysy (2015). SoF: Soft-cluster matrix factorization for
    probabilistic clustering. AAAI.
    """

    metric: Metric = "euclidean"
    c: float = 1.0
    neighbor: int = 10
    squared: bool = False
    n_jobs: int | None = None
    _arrays: ClassVar[dict[str, str]] = {
        "metric": "metric",
        "c": "positive",
        "neighbor": "count",
        "squared": "bool",
        "n_jobs": "int?",
        "objects_": "table?matrix_ n *",
        "scales_": "positive?matrix_ n",
        "matrix_": "affinities? n n",
        "_distinct": "int? * <n",
        "_few_rank": "count?",
    }

    def _fit(self, X: Any, neighbor: int) -> Self:
        check_parameter("c", self.c, Number(0.0, strict=True))
        D = distances(X, metric=self.metric, n_jobs=self.n_jobs)
        self.objects_ = objects_to_keep(X, self.metric)
        self._few_rank = neighbor
        self._distinct, copies = _distinct(X)
        scales = self._scales(D if self._distinct is None else D[self._distinct])
        self.scales_ = scales if copies is None else scales[copies]
        self.matrix_ = make_symmetric(self._probabilities(D, self.scales_))
        return self

    def cross(self, X: Any) -> Matrix:
        """Probabilities of new objects with the fitted ones."""
        D = distances(X, self.objects_, metric=self.metric, n_jobs=self.n_jobs)
        return self._probabilities(D, self._scales(D))

    def neighborhood(self, X: Any = None) -> Neighborhood:
        """Distances of objects to the n-th neighbour among the fitted ones, and the neighbours."""
        if X is not None:
            return self._nearest_fitted(X, self._rank)
        neighbors, _ = strongest(self.matrix_, among_themselves=True)
        return Neighborhood(self.scales_, neighbors)

    @property
    def _rank(self) -> int:
        # Files of earlier versions lack it.
        return int(vars(self).get("_few_rank") or self.neighbor)

    def _scales(self, D: Matrix) -> FloatArray:
        distinct = vars(self).get("_distinct")
        scales, smallest = neighbor_distances(D if distinct is None else D[:, distinct], self._rank)
        floor = np.where(smallest > 0, smallest, 1)
        return np.where(scales > 0, scales, floor)

    def _probabilities(self, D: Matrix, row_scales: FloatArray) -> Matrix:
        left, right = _inverse_root(row_scales), _inverse_root(self.scales_)
        return exponential_decay(D, left, right, c=self.c, squared=self.squared)


def suited_neighbor(neighbor: int, n_objects: int, n_clusters: int | None) -> int:
    """The neighbour that sets a scale: no farther than halfway through an even cluster.

    `neighbor`: the number asked for, which holds for clusters of more objects.
    `n_objects`: number of distinct objects.
    `n_clusters`: number of clusters; None if it is not known.
    """
    size = n_objects / (n_clusters or USUAL_NUMBER)
    return neighbor if size > neighbor else int(np.ceil(size / 2))


def _distinct(X: Any) -> tuple[IntArray | None, IntArray | None]:
    """The first of each set of equal objects, and the number of each object's set; or None."""
    copies = None if is_sparse(X) else copies_of_rows(X)
    return (None, None) if copies is None else (first_rows(copies), copies)


def neighbor_distances(D: Matrix, neighbor: int) -> tuple[FloatArray, FloatArray]:
    """Each row's distance to its n-th neighbour, and its smallest positive distance (or 0).

    A zero counts once as the object itself. A row with too few distances yields its largest one, an
    empty row of a sparse matrix 0.
    """
    if is_sparse(D):
        return _known_neighbor_distances(D, neighbor)
    m, n = D.shape
    rank = min(neighbor, n - 1)
    scales, smallest = np.empty(m, dtype=D.dtype), np.empty(m, dtype=D.dtype)

    def find(rows: slice) -> None:
        block = D[rows]
        itself = block.min(axis=1) == 0
        without = max(rank - 1, 0)
        ordered = np.partition(block, sorted({without, rank}), axis=1)
        scales[rows] = np.where(itself, ordered[:, rank], ordered[:, without])
        positive = np.min(block, axis=1, where=block > 0, initial=np.inf)
        smallest[rows] = np.where(np.isfinite(positive), positive, 0)

    each(find, row_blocks(D.shape))
    return scales, smallest


def exponential_decay(
    D: Matrix, left: FloatArray, right: FloatArray, *, c: float, squared: bool
) -> Matrix:
    """exp(-c d_ij), or exp(-c d_ij^2), of d_ij = left_i D_ij right_j; overwrites D."""
    graph = Graph.of(D)
    graph.over_pairs(lambda values, factors: _decay(values, factors, c, squared), left, right)
    return graph.without_zeros().matrix


def _decay(values: FloatArray, factors: FloatArray, c: float, squared: bool) -> None:
    # Far pairs may overflow; their affinity is 0 in any case.
    with np.errstate(over="ignore", under="ignore"):
        values *= factors
        if squared:
            values *= values
        values *= -float(c)
        np.exp(values, out=values)


def _inverse_root(scales: FloatArray) -> FloatArray:
    """1 / sqrt(s) in float64, finite even in products with each other."""
    wide = scales.astype(np.float64)
    return np.asarray(1 / np.sqrt(np.maximum(wide, np.finfo(np.float64).tiny)))


def _known_neighbor_distances(D: sp.csr_array, neighbor: int) -> tuple[FloatArray, FloatArray]:
    counts = np.diff(D.indptr)
    rows = row_numbers(D)
    ordered = D.data[np.lexsort((D.data, rows))]
    zeros = np.bincount(rows[D.data == 0], minlength=D.shape[0])
    rank = np.minimum(np.where(zeros > 0, neighbor, neighbor - 1), counts - 1)
    scales, smallest = (np.zeros(D.shape[0], dtype=D.dtype) for _ in range(2))
    known, positive = counts > 0, counts > zeros
    scales[known] = ordered[(D.indptr[:-1] + rank)[known]]
    smallest[positive] = ordered[(D.indptr[:-1] + zeros)[positive]]
    return scales, smallest


# Above this share of stored entries CSR is slower than an array and hardly smaller.
_SPARSE_DENSITY = 0.25


@dataclass(repr=False)
class _Kernel(_OfDistances):
    """exp(-c (d / h)^p) with h given or computed from the neighbour distances.

    Equal objects count as one neighbour.
    """

    metric: Metric = "euclidean"
    bandwidth: float | None = None
    neighbor: int = 10
    n_jobs: int | None = None
    _arrays: ClassVar[dict[str, str]] = {
        "metric": "metric",
        "bandwidth": "positive?",
        "neighbor": "count",
        "n_jobs": "int?",
        "objects_": "table?matrix_ n *",
        "bandwidth_": "positive?matrix_",
        "matrix_": "affinities? n n",
    }
    _c: ClassVar[float]
    _squared: ClassVar[bool]

    def _fit(self, X: Any, neighbor: int) -> Self:
        check_parameter("bandwidth", self.bandwidth, OrNone(Number(0.0, strict=True)))
        D = distances(X, metric=self.metric, n_jobs=self.n_jobs)
        self.objects_ = objects_to_keep(X, self.metric)
        if self.bandwidth is None:
            first, copies = _distinct(X)
            among = D if first is None else D[np.ix_(first, first)]
            self.bandwidth_ = typical_distance(among, neighbor, copies)
        else:
            self.bandwidth_ = float(self.bandwidth)
        self.matrix_ = make_symmetric(self._decay(D))
        return self

    def cross(self, X: Any) -> Matrix:
        """Affinities of new objects to the fitted ones, with the fitted bandwidth."""
        return self._decay(distances(X, self.objects_, metric=self.metric, n_jobs=self.n_jobs))

    def neighborhood(self, X: Any = None) -> Neighborhood:
        """Distances of objects to their 7th neighbour among the fitted ones, and the neighbours."""
        if X is not None:
            return self._nearest_fitted(X, N_NEIGHBORS)
        neighbors, values = strongest(self.matrix_, among_themselves=True)
        # The kernel turned around; rounding may leave a similarity of copies above 1.
        exponent = -np.log(np.clip(values, np.finfo(np.float64).tiny, 1.0)) / self._c
        distance = self.bandwidth_ * (np.sqrt(exponent) if self._squared else exponent)
        return Neighborhood.of_lists(neighbors, np.where(neighbors >= 0, distance, np.inf))

    def _decay(self, D: Matrix) -> Matrix:
        left, right = np.full(D.shape[0], 1 / self.bandwidth_), np.ones(D.shape[1])
        return exponential_decay(D, left, right, c=self._c, squared=self._squared)


class Gaussian(_Kernel):
    r"""Gaussian kernel :math:`\exp(-d_{ij}^2 / (2 h^2))`.

    Parameters
    ----------
    metric : str or callable, default "euclidean"
        The distance d; "precomputed" means that X holds distances. Sparse precomputed distances
        give a CSR matrix with the pattern of the known distances.
    bandwidth : float, default None
        The width h. None means the median over the objects of the distance to the `neighbor`-th
        neighbour (of the positive ones; 1 if all distances are 0). Equal objects count as one
        neighbour. In a model that looks for clusters of no more than `neighbor` objects, it is the
        neighbour halfway through an even cluster.
    neighbor : int, default 10
        The neighbour whose distance sets the bandwidth, itself not counted.
    n_jobs : int, default None
        Number of threads for the distances.

    Attributes
    ----------
    matrix_ : ndarray or csr_array of shape (n, n)
        The affinities, with unit diagonal.
    bandwidth_ : float
        The width h in use, also for new objects.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import Gaussian
    >>> X = np.array([[0.0], [1.0], [2.0]])
    >>> Gaussian(bandwidth=1.0).fit(X).matrix_.round(2)
    array([[1.  , 0.61, 0.14],
           [0.61, 1.  , 0.61],
           [0.14, 0.61, 1.  ]])
    >>> Gaussian(neighbor=1).fit(X).bandwidth_
    1.0
    """

    _c = 0.5
    _squared = True


class Laplacian(_Kernel):
    r"""Laplacian kernel :math:`\exp(-d_{ij} / h)`.

    Parameters
    ----------
    metric, bandwidth, neighbor, n_jobs
        As in `Gaussian`.

    Attributes
    ----------
    matrix_ : ndarray or csr_array of shape (n, n)
        The affinities, with unit diagonal.
    bandwidth_ : float
        The width h in use, also for new objects.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import Laplacian
    >>> Laplacian(bandwidth=2.0).fit(np.array([[0.0], [2.0]])).matrix_.round(2)
    array([[1.  , 0.37],
           [0.37, 1.  ]])
    """

    _c = 1.0
    _squared = False


@dataclass(repr=False)
class Cosine(Affinity):
    r"""Cosine of the angle between objects, :math:`\max(0, \cos(x_i, x_j))`.

    A zero row has similarity 1 to itself and 0 to all others; as a new object it has similarity 0
    to all. Sparse features give a CSR matrix if fewer than a quarter of the pairs are similar, else
    an array.

    Attributes
    ----------
    matrix_ : ndarray or csr_array of shape (n, n)
        The similarities, with unit diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import Cosine
    >>> Cosine().fit(np.array([[3.0, 0.0], [1.0, 0.0], [0.0, 0.0]])).matrix_
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """

    _of_rows: ClassVar[bool] = True
    _arrays: ClassVar[dict[str, str]] = {
        "units_": "matrix?matrix_ n p",
        "matrix_": "affinities? n n",
    }

    def fit(self, X: Any) -> Self:
        """Compute the similarities of all pairs and keep the unit rows."""
        self.units_ = _units(X)
        similarity = _positive_products(self.units_, self.units_)
        self.matrix_ = set_unit_diagonal(make_symmetric(similarity))
        return self

    def cross(self, X: Any) -> Matrix:
        """Similarities of new objects to the fitted ones."""
        if X.shape[1] != self.units_.shape[1]:
            fitted = self.units_.shape[1]
            raise ValueError(
                f"X has {X.shape[1]} features, but the model was fitted with {fitted}."
            )
        return _positive_products(_units(X), self.units_)

    def fitted_rows(self, numbers: IntArray) -> Any:
        """Some of the fitted objects: their directions."""
        return self.units_[numbers]


def typical_distance(D: Matrix, neighbor: int, copies: IntArray | None = None) -> float:
    """Median distance to the n-th neighbour, without duplicates; 1 if all are equal.

    `copies` are the numbers of all objects among those of D, if these are distinct ones.
    """
    scales, smallest = neighbor_distances(D, neighbor)
    if copies is not None:
        scales, smallest = scales[copies], smallest[copies]
    for candidates in (scales, smallest):
        positive = candidates[candidates > 0]
        if positive.size:
            return float(np.median(positive))
    return 1.0


def _units(X: Any) -> Any:
    units, _ = unit_rows(X)
    units = units.astype(np.float32 if X.dtype == np.float32 else np.float64)
    if is_sparse(units):
        # With sorted indices both sums of a pair run in the same order: exactly symmetric.
        units = sp.csr_array(units)
        units.sum_duplicates()
    return units


def _positive_products(U: Any, V: Any) -> Matrix:
    """Inner products between 0 and 1, as an array or in CSR form."""
    if not is_sparse(U) and not is_sparse(V):
        return _dense_products(U, V)
    blocks, stored, limit = [], 0, _SPARSE_DENSITY * U.shape[0] * V.shape[0]
    for rows in row_blocks((U.shape[0], V.shape[0])):
        block = sp.csr_array(U[rows] @ V.T)
        np.clip(block.data, 0, 1, out=block.data)
        block.eliminate_zeros()
        stored += block.nnz
        if stored > limit:
            return _dense_products(U, V)
        blocks.append(block)
    products = sp.csr_array(sp.vstack(blocks, format="csr"))
    products.sort_indices()
    return products


def _dense_products(U: Any, V: Any) -> FloatArray:
    shape = (U.shape[0], V.shape[0])
    remedy = "Use affinity='nearest_neighbors' with metric='cosine'."
    copies = DENSE_COPIES if U is V else 1
    check_allocation(shape, U.dtype, what="the cosine similarity", remedy=remedy, copies=copies)
    out: FloatArray = np.empty(shape, dtype=U.dtype)
    for rows in row_blocks(shape):
        out[rows] = as_array(U[rows] @ V.T)
        np.clip(out[rows], 0, 1, out=out[rows])
    return out
