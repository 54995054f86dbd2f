"""What every affinity offers: a symmetric matrix for the fitted objects, a block for new ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from soffit._typing import Matrix

if TYPE_CHECKING:
    from typing_extensions import Self


class Affinity(ABC):
    """Objects in, nonnegative symmetric affinity matrix out.

    After `fit`, `matrix_` holds the (n, n) affinities as an array or in CSR form; `cross` returns
    the (m, n) affinities of new objects to the fitted ones, made by the same rule and scales.
    """

    matrix_: Matrix

    @abstractmethod
    def fit(self, X: Any) -> Self:
        """Compute `matrix_` and keep what `cross` needs."""

    @abstractmethod
    def cross(self, X: Any) -> Matrix:
        """Affinities of new objects (rows) to the fitted objects (columns)."""
