"""Given affinities: a matrix of similarities, or a function of two tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from soffit._matrix_checks import checked_similarities, checked_similarity_block
from soffit._memory import DENSE_COPIES, check_allocation
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity.abstract import Affinity
from soffit.affinity.isolation import distances_of_similarities

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(repr=False)
class Precomputed(Affinity):
    """Similarities that the caller has already computed.

    The matrix must be square, finite, nonnegative and symmetric; asymmetry of rounding size is
    averaged away. A matrix that looks like distances is refused.

    Attributes
    ----------
    matrix_ : ndarray or csr_array of shape (n, n)
        The similarities; sparse input of any format becomes CSR without stored zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import Precomputed
    >>> affinity = Precomputed().fit([[1, 1, 0], [1, 1, 2], [0, 2, 1]])
    >>> affinity.matrix_
    array([[1., 1., 0.],
           [1., 1., 2.],
           [0., 2., 1.]])
    >>> affinity.cross([[0.5, 0.0, 3.0]]).shape
    (1, 3)
    """

    _arrays: ClassVar[dict[str, str]] = {"matrix_": "affinities? n n"}

    def fit(self, X: Any) -> Self:
        """Check the (n, n) similarities and keep a copy."""
        self.matrix_ = checked_similarities(X, what="the precomputed similarity matrix")
        if not is_sparse(self.matrix_):
            check_allocation(
                self.matrix_.shape,
                self.matrix_.dtype,
                what="a fit to precomputed similarities",
                remedy="Pass a sparse matrix of the largest similarities, or single precision.",
                copies=DENSE_COPIES - 1,
            )
        return self

    def cross(self, X: Any) -> Matrix:
        """Check the (m, n) similarities of new objects to the fitted ones."""
        what = "the block of precomputed similarities"
        return checked_similarity_block(X, self.matrix_.shape[0], what=what)

    def neighborhood_among(self, X: Any, rank: int) -> tuple[IntArray, FloatArray]:
        """The most similar ones; `X` holds the similarities among the objects."""
        what = "the block of precomputed similarities"
        rows = checked_similarity_block(X, X.shape[0], what=what)
        return distances_of_similarities(rows, rank)


@dataclass(repr=False)
class CallableAffinity(Affinity):
    """Similarities from ``function(X, Y)``, which returns one row per object of X.

    Fitting calls ``function(X, X)``, whose result must be symmetric; new objects are compared by
    ``function(X_new, X)``. The result may be an array or a SciPy sparse matrix and is checked like
    precomputed similarities. The affinity can be pickled if the function can.

    Parameters
    ----------
    function : callable
        Takes two sets of objects, (m, d) and (n, d), returns (m, n) nonnegative similarities.

    Attributes
    ----------
    matrix_ : ndarray or csr_array of shape (n, n)
        The similarities of the fitted objects.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import CallableAffinity
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> CallableAffinity(lambda X, Y: X @ Y.T).fit(X).matrix_
    array([[1., 1.],
           [1., 2.]])
    """

    function: Callable[[Any, Any], Any]
    _of_rows: ClassVar[bool] = True
    _arrays: ClassVar[dict[str, str]] = {
        "function": "function",
        "matrix_": "affinities? n n",
    }

    def fit(self, X: Any) -> Self:
        """Call ``function(X, X)``, check the result and keep X."""
        if not callable(self.function):
            raise TypeError(f"affinity must be a name or a callable, not {self.function!r}.")
        what = f"the result of the affinity function {self._name()}(X, X)"
        matrix = checked_similarities(self.function(X, X), what=what, copy=False)
        if matrix.shape[0] != X.shape[0]:
            raise ValueError(
                f"{what} must have one row per object: X has {X.shape[0]} objects, "
                f"the result has shape {matrix.shape}."
            )
        self.objects_ = X
        self.matrix_ = matrix
        return self

    def cross(self, X: Any) -> Matrix:
        """Call ``function(X_new, X)`` and check the result."""
        what = f"the result of the affinity function {self._name()}(X_new, X)"
        block = self.function(X, self.objects_)
        block = checked_similarity_block(block, self.matrix_.shape[0], what=what)
        if block.shape[0] != X.shape[0]:
            raise ValueError(
                f"{what} must have one row per new object: X_new has {X.shape[0]} objects, "
                f"the result has shape {block.shape}."
            )
        return block

    def _name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)
