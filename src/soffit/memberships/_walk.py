"""A lazy random walk on the affinity graph: memberships agree with their surroundings."""

from __future__ import annotations

import numpy as np

from soffit._typing import FloatArray, Matrix

# Half the walk stays where it is, so that two-sided (bipartite) graphs do not swing to and fro.
_SHARE_OF_GAP = 0.5
_MOST_STEPS = 1024


def walk_length(eigenvalue: float) -> int:
    r"""Steps after which what lies below the given eigenvalue has faded, but clusters have not.

    :math:`t = 0.5 / (1 - \lambda_{k+1})` lazy steps: the spectral gap behind the k clusters sets
    the pace at which memberships even out inside one.
    """
    gap = max(1.0 - float(eigenvalue), 1e-9)
    return int(np.clip(_SHARE_OF_GAP / gap, 1, _MOST_STEPS))


def random_walk(A: Matrix, W: FloatArray, steps: int) -> FloatArray:
    """Memberships after `steps` steps of W <- (W + D^-1 A W) / 2; isolated objects stay."""
    share = _half_steps(A)
    for _ in range(steps):
        W = _step(A, share, W, W)
    return W


def random_walk_from(
    block: Matrix, W_new: FloatArray, A: Matrix, W: FloatArray, steps: int
) -> FloatArray:
    """The same walk for new objects, which look at the fitted ones but are not seen by them."""
    share, share_new = _half_steps(A), _half_steps(block)
    for _ in range(steps):
        W_new = _step(block, share_new, W_new, W)
        W = _step(A, share, W, W)
    return W_new


def sharpen(W: FloatArray, power: float) -> FloatArray:
    """Rows to a power, made to sum to one again."""
    raised = (W / W.max(axis=1, keepdims=True)) ** W.dtype.type(power)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=W.dtype)


def _half_steps(A: Matrix) -> FloatArray:
    degrees = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
    half = np.divide(0.5, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    return half.astype(A.dtype)[:, None]


def _step(A: Matrix, half: FloatArray, own: FloatArray, others: FloatArray) -> FloatArray:
    moved = own.dtype.type(0.5) * own + half * (A @ others)
    return np.asarray(np.where(half > 0, moved, own), dtype=own.dtype)
