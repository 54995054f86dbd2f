"""Symmetric Sinkhorn scaling to a doubly stochastic matrix."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, Matrix
from soffit.normalize._result import Normalized, check_nonnegative, row_sums, scaled
from soffit.normalize._support import check_total_support

# Products in float32 cannot tell row sums closer to 1 than this.
_SINGLE_TOLERANCE = 1e-5


@dataclass(frozen=True, eq=False, kw_only=True)
class SinkhornNormalized(Normalized):
    """Affinities scaled to row and column sums 1."""

    factors: FloatArray

    def cross(self, block: Matrix) -> Matrix:
        """b_j x_j / sum of b_j x_j: the factor of a new object makes its row sum 1."""
        factors = self.factors.astype(np.float64)
        weighted = np.asarray(block @ self.factors, dtype=np.float64)
        return scaled(block, 1 / np.where(weighted > 0, weighted, 1), factors)


def sinkhorn(A: Matrix, *, tol: float = 1e-8, max_iter: int = 1000) -> SinkhornNormalized:
    r"""Scale to a doubly stochastic matrix, :math:`\mathrm{diag}(x) A \mathrm{diag}(x)`.

    The iteration :math:`x \leftarrow \sqrt{x / (A x)}` needs one product with A per step and
    copies A only once, at the end. A zero row has factor 1 and stays zero. The scaling exists if
    and only if every positive entry of A lies on a diagonal of positive entries (total support);
    a positive diagonal is enough. This is checked when `tol` is not reached.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric nonnegative affinities.
    tol : float, default 1e-8
        Largest accepted difference of a row sum from 1; at least 1e-5 for float32.
    max_iter : int, default 1000
        Largest number of steps; a ConvergenceWarning tells when it was reached.

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
    active = row_sums(A) > 0
    factors, error = _factors(A, active, tol, max_iter)
    if error > tol:
        # Asked only now, because a matching of a large graph takes longer than the scaling.
        check_total_support(A, active)
        _warn_not_converged(error, tol, max_iter)
    return SinkhornNormalized(
        matrix=scaled(A, factors, factors), factors=factors.astype(A.dtype, copy=False)
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
        # Without support the factors drift apart by a constant ratio per step, out of range.
        if following.max() > limit or following.min() < 1 / limit:
            break
        x = following
        product = _product(A, x, active)
        error = _error(x, product, active)
    return x, error


def _product(A: Matrix, x: FloatArray, active: NDArray[np.bool_]) -> FloatArray:
    # The vector takes A's precision, because mixing precisions would copy A every time.
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
