"""How undecided each object is."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from soffit._typing import FloatArray
from soffit.memberships._partition import check_memberships


def entropy(memberships: ArrayLike) -> FloatArray:
    r"""Entropy of each object's memberships, in nats.

    .. math:: H_i = -\sum_c g_{ic} \log g_{ic}, \qquad 0 \log 0 = 0.

    The range is 0 (the object belongs to one cluster) to :math:`\log k` (it belongs equally to
    all k). Rows should sum to one; they are not rescaled.

    Parameters
    ----------
    memberships : array of shape (n, k)
        Finite and nonnegative.

    Returns
    -------
    array of shape (n,)
        float32 for float32 input, float64 otherwise.

    Examples
    --------
    >>> from soffit.memberships import entropy
    >>> entropy([[1.0, 0.0], [0.5, 0.5]]).round(4).tolist()
    [0.0, 0.6931]
    """
    values = check_memberships(memberships)
    # A membership that exceeds one by rounding would give an entropy a hair below zero.
    return np.asarray(np.maximum(entr(values).sum(axis=1), 0), dtype=values.dtype)
