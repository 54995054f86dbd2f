"""The record of a descent that every solver keeps, and its rule for stopping."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from soffit._typing import FloatArray
from soffit.factorize._problem import Factorization

Callback = Callable[[int, float], None]
# A loss below this share of the matrix's squared norm is as good as zero.
_NEGLIGIBLE = 1e-12


class Descent:
    """Losses of one run, from the start on.

    Parameters
    ----------
    first : float
        Loss at the start.
    norm : float
        Squared norm of the matrix.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every iteration.
    """

    def __init__(self, first: float, *, norm: float, callback: Callback | None = None) -> None:
        self.history = [first]
        self._norm = norm
        self._callback = callback

    @property
    def n_iter(self) -> int:
        """Iterations recorded."""
        return len(self.history) - 1

    def record(self, loss: float) -> None:
        """Note the loss after one more iteration."""
        self.history.append(loss)
        if self._callback is not None:
            self._callback(self.n_iter, loss)

    def settled(self, tol: float, *, over: int = 1) -> bool:
        """Whether the last `over` iterations gained at most `tol` times the loss, each."""
        if self.n_iter < over:
            return False
        gain = self.history[-1 - over] - self.history[-1]
        return gain <= over * tol * max(self.history[-1], _NEGLIGIBLE * self._norm)

    def result(self, W: FloatArray, s: FloatArray, *, converged: bool) -> Factorization:
        """The factorization that goes with the last recorded loss."""
        return Factorization(
            factor=W,
            scale=s,
            objective=self.history[-1],
            history=np.array(self.history),
            n_iter=self.n_iter,
            stopped="converged" if converged else "max_iter",
        )
