"""Affinities as they are."""

from __future__ import annotations

from soffit._typing import Matrix
from soffit.normalize._result import Normalized


def unnormalized(A: Matrix) -> Normalized:
    """Return the affinities as they are, without a copy.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric affinities.

    Returns
    -------
    Normalized
        Its `matrix` is A itself.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import unnormalized
    >>> A = np.eye(2)
    >>> unnormalized(A).matrix is A
    True
    """
    return Normalized(matrix=A)
