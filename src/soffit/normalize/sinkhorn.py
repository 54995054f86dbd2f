"""Doubly stochastic scaling of an affinity matrix (Sinkhorn), of all or of some pairs."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._typing import FloatArray, Matrix
from soffit.graph import Graph, row_numbers
from soffit.normalize.normalized import Normalized, check_nonnegative, observed_pairs

_REMEDY = (
    "Give every object a similarity to itself (a positive diagonal), or use normalization='degree'."
)


def check_total_support(A: Matrix, active: NDArray[np.bool_]) -> None:
    """Raise unless every positive entry among the active rows lies on a positive diagonal.

    A diagonal is the set of entries (i, p(i)) of a permutation p. A doubly stochastic scaling
    exists exactly when this holds (Sinkhorn and Knopp, 1967).
    """
    objects = np.flatnonzero(active)
    # The identity and the swap of i and j put every entry of such a matrix on a diagonal.
    if np.all(A.diagonal()[objects] > 0):
        return
    # Hall's theorem: with this many entries in every row, any one of them extends to a diagonal.
    counts = np.asarray((A > 0).sum(axis=1)).ravel()
    if counts[objects].min() >= (len(objects) + 1) / 2:
        return
    pattern = sp.csr_array(A)[objects][:, objects]
    pattern.eliminate_zeros()
    partners = _partners(pattern, objects)
    _check_entries(pattern, partners, objects)


def _partners(pattern: sp.csr_array, objects: NDArray[np.intp]) -> NDArray[Any]:
    """The column of each row in one positive diagonal; raises if there is none."""
    from scipy.sparse.csgraph import maximum_bipartite_matching

    # Older releases of SciPy take 32-bit numbers only and do not convert them.
    indices, indptr = pattern.indices.astype(np.int32), pattern.indptr.astype(np.int32)
    narrow = sp.csr_array((pattern.data, indices, indptr), shape=pattern.shape)
    partners = np.asarray(maximum_bipartite_matching(narrow, perm_type="column"))
    alone = np.flatnonzero(partners < 0)
    if alone.size:
        raise ValueError(
            "normalization='sinkhorn' is impossible for this affinity matrix: it has no support. "
            f"{alone.size} of {len(objects)} objects (the first is {objects[alone[0]]}) are left "
            "over when all objects are assigned to distinct similar ones, so no scaling makes "
            f"all row sums equal. {_REMEDY}"
        )
    return partners


def _check_entries(
    pattern: sp.csr_array, partners: NDArray[Any], objects: NDArray[np.intp]
) -> None:
    """Fine Dulmage-Mendelsohn decomposition: entries between its blocks lie on no diagonal."""
    from scipy.sparse.csgraph import connected_components

    owners = np.empty_like(partners)
    owners[partners] = np.arange(len(partners))
    heads = owners[pattern.indices]
    links = sp.csr_array((np.ones(len(heads)), heads, pattern.indptr), shape=pattern.shape)
    _, block = connected_components(links, directed=True, connection="strong")
    tails = row_numbers(pattern)
    stray = np.flatnonzero(block[tails] != block[heads])
    if stray.size:
        i, j = objects[tails[stray[0]]], objects[pattern.indices[stray[0]]]
        raise ValueError(
            "normalization='sinkhorn' is impossible for this affinity matrix: it lacks total "
            f"support. {stray.size} positive entries (the first is ({i}, {j})) would have to "
            f"become zero to make all row sums equal. {_REMEDY}"
        )


# Products in float32 cannot bring row sums closer to 1 than this.
_SINGLE_TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False, kw_only=True)
class SinkhornNormalized(Normalized):
    """Affinities scaled to row and column sums 1."""

    factors: FloatArray
    _arrays: ClassVar[dict[str, str]] = {
        "matrix": "matrix * *",
        "factors": "nonnegative n",
        "beta": "finite?",
    }

    def cross(self, block: Matrix) -> Matrix:
        """b_j x_j / sum of b_j x_j: the factor of a new object makes its row sum 1."""
        factors = self.factors.astype(np.float64)
        weighted = np.asarray(block @ self.factors, dtype=np.float64)
        scale = 1 / np.where(weighted >= np.finfo(np.float64).tiny, weighted, 1)
        return Graph.of(block).scaled(scale, factors).matrix


def sinkhorn(A: Matrix, *, tol: float = 1e-8, max_iter: int = 1000) -> SinkhornNormalized:
    r"""Scale to a doubly stochastic matrix, :math:`\mathrm{diag}(x) A \mathrm{diag}(x)`.

    The iteration :math:`x \leftarrow \sqrt{x / (A x)}` needs one product with A per step and copies
    A only once, at the end. A zero row has factor 1 and stays zero. The scaling exists if and only
    if every positive entry of A lies on a diagonal of positive entries (total support); a positive
    diagonal is sufficient. This is checked only if `tol` is not reached.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric nonnegative affinities.
    tol : float, default 1e-8
        Largest accepted difference of a row sum from 1; at least 1e-5 for float32.
    max_iter : int, default 1000
        Maximum number of steps; a ConvergenceWarning is issued if it is reached.

    Returns
    -------
    Normalized
        With `factors` = x.

    Raises
    ------
    ValueError
        If `tol` is not reached because A has no total support.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import sinkhorn
    >>> A = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 1.0], [0.0, 1.0, 3.0]])
    >>> sinkhorn(A).matrix.sum(axis=0).round(6)
    array([1., 1., 1.])

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    R. Sinkhorn, P. Knopp (1967). Concerning nonnegative matrices and doubly stochastic matrices.
    Pacific Journal of Mathematics 21.
    """
    check_nonnegative(A, how="sinkhorn")
    if not tol > 0 or not max_iter >= 1:
        raise ValueError(f"tol must be > 0 and max_iter >= 1, not {tol!r} and {max_iter!r}.")
    if A.dtype == np.float32:
        tol = max(tol, _SINGLE_TOLERANCE)
    graph = Graph.of(A)
    # Subnormal rows count as zero: what divides by their sums must be finite.
    active = graph.degrees() >= np.finfo(np.float64).tiny
    factors, error = _factors(A, active, tol, max_iter)
    if error > tol:
        # Checked only now, because a matching of a large graph takes longer than the scaling.
        check_total_support(A, active)
        _warn_not_converged(error, tol, max_iter)
    return SinkhornNormalized(
        matrix=graph.scaled(factors, factors).matrix,
        factors=factors.astype(A.dtype, copy=False),
    )


def _factors(
    A: Matrix, active: NDArray[np.bool_], tol: float, max_iter: int
) -> tuple[FloatArray, float]:
    """The factors x and the largest difference of a row sum from 1."""
    limit = float(np.sqrt(np.finfo(A.dtype).max))
    x = np.ones(A.shape[0])
    product = _product(A, x, active)
    error = _error(x, product, active)
    for _ in range(max_iter):
        if error <= tol:
            break
        following = np.where(active, np.sqrt(x / product), 1)
        # Without support the factors diverge by a constant ratio per step, out of range.
        if following.max() > limit or following.min() < 1 / limit:
            break
        x = following
        product = _product(A, x, active)
        error = _error(x, product, active)
    return x, error


def _product(A: Matrix, x: FloatArray, active: NDArray[np.bool_]) -> FloatArray:
    # The vector takes A's precision, because mixed precisions would copy A every time.
    return np.where(active, np.asarray(A @ x.astype(A.dtype), dtype=np.float64), 1)


def _error(x: FloatArray, product: FloatArray, active: NDArray[np.bool_]) -> float:
    return float(np.max(np.abs(x * product - 1), where=active, initial=0))


def _warn_not_converged(error: float, tol: float, max_iter: int) -> None:
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"normalization='sinkhorn' stopped after max_iter={max_iter} steps with row sums off by "
        f"{error:.2g} (tol={tol:.2g}). The scaling exists: raise max_iter, raise tol, or add to "
        "the diagonal to speed it up.",
        ConvergenceWarning,
        stacklevel=3,
    )


def sinkhorn_observed(A: Matrix, pair_weight: Matrix) -> SinkhornNormalized:
    r"""Scale to row sums of 1 estimated from the observed pairs.

    .. math:: F_{ij} = x_i A_{ij} x_j, \qquad
              x_i \Big(A_{ii} x_i + (n-1) \sum_{j \ne i} \frac{m_{ij} A_{ij} x_j}{\sqrt{d_i d_j}}
              \Big) = 1, \qquad d_i = \sum_{j \ne i} m_{ij}

    on the pairs i != j with a positive weight m: each observed pair also represents unknown ones.
    The root keeps the matrix symmetric. The cost grows with the number of observed pairs only.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric nonnegative affinities. A positive diagonal guarantees that a scaling exists.
    pair_weight : ndarray or csr_array of shape (n, n)
        Symmetric weights >= 0; zero means unknown.

    Returns
    -------
    Normalized
        With `factors` = x; `matrix` is CSR and stores exactly the observed pairs. New objects are
        normalized as if all their affinities were observed.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import sinkhorn_observed
    >>> known = 1 - np.eye(4)
    >>> sinkhorn_observed(np.ones((4, 4)), known).matrix.toarray()[0].round(2)
    array([0.  , 0.25, 0.25, 0.25])

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    """
    n = A.shape[0]
    pairs = observed_pairs(A, pair_weight)
    total = pairs.sums(pairs.weights, n)
    root = np.sqrt(np.where(total > 0, total, 1.0))
    spread = (n - 1) * pairs.weights / (root[pairs.rows] * root[pairs.columns])
    estimate = pairs.matrix(spread * pairs.values, A)
    diagonal = sp.diags_array(np.asarray(A.diagonal()), dtype=A.dtype)
    factors = sinkhorn(sp.csr_array(estimate + diagonal)).factors
    scaled = pairs.values * (factors[pairs.rows] * factors[pairs.columns])
    return SinkhornNormalized(matrix=pairs.matrix(scaled, A), factors=factors)
