"""A lazy random walk on the affinity graph: memberships agree with their surroundings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray, Matrix

_SHARE_OF_GAP = 0.5
_MOST_STEPS = 512


def walk_length(eigenvalue: float) -> int:
    r"""Steps after which what lies below the given eigenvalue has faded, but clusters have not.

    :math:`t = 0.5 / (1 - \lambda_{k+1})` lazy steps: the spectral gap behind the k clusters sets
    the pace at which memberships even out inside one.
    """
    gap = max(1.0 - float(eigenvalue), 1e-9)
    return int(np.clip(_SHARE_OF_GAP / gap, 1, _MOST_STEPS))


@dataclass(frozen=True, eq=False)
class Walk:
    r"""Memberships after :math:`W_{s+1} = \tfrac12 (W_s + D^{-1} A W_s)`, s = 0 ... t - 1.

    Half of the walk stays where it is, so that two-sided (bipartite) graphs do not swing to and
    fro. A new object that looks at the fitted ones, but is not seen by them, arrives at
    :math:`2^{-t} w_0 + p \sum_s 2^{s-t} W_s` with p its affinities made to sum to one; the sum is
    kept, so that new objects cost one product.
    """

    memberships: FloatArray
    seen: FloatArray
    steps: int

    def arrive(self, block: Matrix, W_new: FloatArray) -> FloatArray:
        """The same walk for new objects with these affinities and rows at its beginning."""
        degrees = _degrees(block)
        share = np.divide(1.0, degrees, out=np.zeros_like(degrees), where=degrees > 0)
        moved = 0.5**self.steps * W_new + share[:, None] * (block @ self.seen)
        return np.asarray(np.where(degrees[:, None] > 0, moved, W_new), dtype=W_new.dtype)


def random_walk(A: Matrix, W: FloatArray, steps: int) -> Walk:
    """Let memberships walk on the graph for some lazy steps; isolated objects stay."""
    degrees = _degrees(A)
    half = np.divide(0.5, degrees, out=np.zeros_like(degrees), where=degrees > 0)
    half = half.astype(W.dtype)[:, None]
    stay = np.where(degrees > 0, 0.5, 1.0).astype(W.dtype)[:, None]
    seen = np.zeros_like(W)
    one_half = W.dtype.type(0.5)
    for _ in range(steps):
        seen = one_half * (seen + W)
        W = stay * W + half * (A @ W)
    return Walk(W, seen, steps)


def sharpen(W: FloatArray, power: float) -> FloatArray:
    """Rows to a power, made to sum to one again."""
    raised = (W / W.max(axis=1, keepdims=True)) ** W.dtype.type(power)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=W.dtype)


def _degrees(A: Matrix) -> FloatArray:
    return np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
