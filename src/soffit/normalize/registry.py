"""The normalizations by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from soffit._typing import Matrix
from soffit.normalize.additive import additive
from soffit.normalize.normalized import Normalized, degree, unnormalized
from soffit.normalize.sinkhorn import sinkhorn

NORMALIZATIONS: dict[str | None, Callable[..., Normalized]] = {
    None: unnormalized,
    "none": unnormalized,
    "degree": degree,
    "sinkhorn": sinkhorn,
    "additive": additive,
}


def normalize(A: Matrix, how: str | None = None, **options: Any) -> Normalized:
    """Normalize a symmetric affinity matrix by the named rule.

    Parameters
    ----------
    A : ndarray or csr_array of shape (n, n)
        Symmetric affinities. An array gives an array, CSR gives CSR, except that "additive"
        always gives an array; float32 is kept.
    how : {None, "none", "degree", "sinkhorn", "additive"}
        The rule.
    **options
        `tol` and `max_iter` of `sinkhorn`, `beta` of `additive`.

    Returns
    -------
    Normalized
        The normalized matrix and the rule for new objects.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.normalize import normalize
    >>> normalize(np.full((2, 2), 3.0), "sinkhorn").matrix
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """
    if not (how is None or isinstance(how, str)) or how not in NORMALIZATIONS:
        choices = ", ".join(repr(name) for name in NORMALIZATIONS)
        raise ValueError(f"normalization={how!r} is unknown. Choose one of {choices}.")
    return NORMALIZATIONS[how](A, **options)
