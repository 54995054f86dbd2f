"""A symmetric affinity matrix kept as a product through clusters, never as n x n entries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, overload

import numpy as np

from soffit._memory import check_allocation
from soffit._typing import FloatArray


@dataclass(frozen=True, eq=False)
class FactoredAffinity:
    r"""The matrix :math:`B M B^\top` with few columns in B.

    Every operation costs as many operations as B has entries, times the columns asked for.

    Attributes
    ----------
    left : ndarray of shape (n, m)
        B, the weights between objects and clusters.
    core : ndarray of shape (m, m)
        M, symmetric, between the clusters.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import FactoredAffinity
    >>> W = FactoredAffinity(np.array([[1.0, 0.0], [1.0, 2.0]]), np.eye(2))
    >>> W.toarray()
    array([[1., 1.],
           [1., 5.]])
    >>> W @ np.array([1.0, 1.0])
    array([2., 6.])
    """

    left: FloatArray
    core: FloatArray

    # NumPy must leave `array @ factored` to this class instead of making an array of objects.
    __array_ufunc__ = None

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n)."""
        return self.left.shape[0], self.left.shape[0]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision of the factors."""
        return self.left.dtype

    def __matmul__(self, other: Any) -> FloatArray:
        return np.asarray(self.left @ (self.core @ (self.left.T @ other)))

    def __rmatmul__(self, other: Any) -> FloatArray:
        return np.asarray(((other @ self.left) @ self.core) @ self.left.T)

    def rows(self, index: Any) -> FloatArray:
        """The rows of the given objects as an array.

        Parameters
        ----------
        index : int, slice or array
            Numbers of objects or a mask, as NumPy takes them.

        Returns
        -------
        ndarray of shape (r, n), or (n,) for a single number
            The affinities of these objects to all.
        """
        return np.asarray((self.left[index] @ self.core) @ self.left.T)

    def toarray(self) -> FloatArray:
        """All n x n entries, refused if they do not fit into memory.

        Returns
        -------
        ndarray of shape (n, n)
            The matrix.
        """
        remedy = "Take some rows only, with .rows(index), or multiply with @."
        check_allocation(self.shape, self.dtype, what="toarray()", remedy=remedy)
        return self.rows(slice(None))

    def diagonal(self) -> FloatArray:
        """The affinity of every object to itself.

        Returns
        -------
        ndarray of shape (n,)
            The diagonal.
        """
        return np.asarray(np.einsum("ip,ip->i", self.left @ self.core, self.left))

    @overload
    def sum(self, axis: None = None) -> float: ...

    @overload
    def sum(self, axis: Literal[-2, -1, 0, 1]) -> FloatArray: ...

    def sum(self, axis: int | None = None) -> float | FloatArray:
        """Sums of the rows, which are those of the columns, or of all entries.

        Parameters
        ----------
        axis : {None, 0, 1}, default None
            None adds everything.

        Returns
        -------
        ndarray of shape (n,), or float
            The sums.
        """
        if axis not in (None, 0, 1, -1, -2):
            raise ValueError(f"axis must be None, 0 or 1, got {axis!r}.")
        weights = self.core @ self.left.sum(axis=0)
        if axis is None:
            return float(self.left.sum(axis=0) @ weights)
        return np.asarray(self.left @ weights)
