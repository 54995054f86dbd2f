"""The relative distance of SoF, and the neighbour scales it shares with the kernels."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, row_blocks
from soffit._typing import FloatArray, Matrix, is_sparse
from soffit.affinity._base import Affinity
from soffit.affinity._distances import Metric, distances, objects_to_keep
from soffit.affinity._precomputed import mirror_upper

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass
class RelativeDistance(Affinity):
    r"""Co-cluster probabilities from distances relative to each object's neighbourhood.

    .. math:: P_{ij} = \exp\Bigl(-c \, \frac{L_{ij}}{\sqrt{s_i s_j}}\Bigr)

    :math:`s_i` is the distance L from object i to its n-th neighbour, itself not counted.
    Multiplying all distances by a constant leaves P as it is. Where repeated objects make
    :math:`s_i` zero, the smallest positive distance of the object takes its place, or 1 if all
    objects are equal to it.

    A new object's scale comes from its distances to the fitted objects. A fitted object at
    distance 0 counts once as the new object itself, so that submitting a fitted object again
    gives its own row.

    Parameters
    ----------
    metric : str or callable, default "euclidean"
        The absolute distance L; "precomputed" takes distances instead of features. Sparse
        precomputed distances give a CSR matrix on the pattern of the known distances.
    c : float, default 1.0
        Scale of the exponent.
    neighbor : int, default 10
        The n of the n-th neighbour, at most n_objects - 1 (or the number of known distances).
    squared : bool, default False
        Take L as the squared distance: exp(-c d^2 / (s_i s_j)), with s in units of d.
    n_jobs : int, default None
        Threads for the distances.

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

    def fit(self, X: Any) -> Self:
        """Compute the probabilities of all pairs and keep the objects and their scales."""
        check_positive(c=self.c)
        check_neighbor(self.neighbor)
        D = distances(X, metric=self.metric, n_jobs=self.n_jobs)
        self.objects_ = objects_to_keep(X, self.metric)
        self.scales_ = self._scales(D)
        self.matrix_ = self._probabilities(D, self.scales_)
        if not is_sparse(self.matrix_):
            mirror_upper(self.matrix_)
        return self

    def cross(self, X: Any) -> Matrix:
        """Probabilities of new objects with the fitted ones."""
        D = distances(X, self.objects_, metric=self.metric, n_jobs=self.n_jobs)
        return self._probabilities(D, self._scales(D))

    def _scales(self, D: Matrix) -> FloatArray:
        scales, smallest = neighbor_distances(D, self.neighbor)
        floor = np.where(smallest > 0, smallest, 1)
        return np.where(scales > 0, scales, floor)

    def _probabilities(self, D: Matrix, row_scales: FloatArray) -> Matrix:
        left, right = _inverse_root(row_scales), _inverse_root(self.scales_)
        return exponential_decay(D, left, right, c=self.c, squared=self.squared)


def neighbor_distances(D: Matrix, neighbor: int) -> tuple[FloatArray, FloatArray]:
    """Each row's distance to its n-th neighbour, and its smallest positive distance (or 0).

    A zero counts once as the object itself. A row with too few distances gives its largest one,
    a row of a sparse matrix without any gives 0.
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
    if is_sparse(D):
        rows = np.repeat(np.arange(D.shape[0]), np.diff(D.indptr))
        _decay_values(D.data, left[rows] * right[D.indices], c, squared)
        D.eliminate_zeros()
        D.sort_indices()
        return D

    def decay(rows: slice) -> None:
        _decay_values(D[rows], left[rows, None] * right, c, squared)

    each(decay, row_blocks(D.shape))
    return D


def check_neighbor(neighbor: Any) -> None:
    """Refuse anything but a positive whole number."""
    whole = isinstance(neighbor, Integral) and not isinstance(neighbor, bool)
    if not whole or neighbor < 1:
        raise ValueError(f"neighbor must be a whole number >= 1, not {neighbor!r}.")


def check_positive(**values: Any) -> None:
    """Refuse anything but positive finite numbers."""
    for name, value in values.items():
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise ValueError(f"{name} must be a positive finite number, not {value!r}.")


def _decay_values(values: FloatArray, factors: FloatArray, c: float, squared: bool) -> None:
    # Far pairs may leave the range of floats; their affinity is 0 all the same.
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
    rows = np.repeat(np.arange(D.shape[0]), counts)
    ordered = D.data[np.lexsort((D.data, rows))]
    zeros = np.bincount(rows[D.data == 0], minlength=D.shape[0])
    rank = np.minimum(np.where(zeros > 0, neighbor, neighbor - 1), counts - 1)
    scales, smallest = (np.zeros(D.shape[0], dtype=D.dtype) for _ in range(2))
    known, positive = counts > 0, counts > zeros
    scales[known] = ordered[(D.indptr[:-1] + rank)[known]]
    smallest[positive] = ordered[(D.indptr[:-1] + zeros)[positive]]
    return scales, smallest
