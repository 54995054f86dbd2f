"""A lazy random walk on the affinity graph: memberships agree with their surroundings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.polynomial.chebyshev import chebpts1, chebvander

from soffit._threads import each, pieces
from soffit._typing import FloatArray, Matrix
from soffit.graph import Graph, Locality, reciprocal

_SHARE_OF_GAP = 0.5
_MOST_STEPS = 512
# On larger graphs the steps are replaced by a polynomial of lower degree. The bound on its error
# is loose: the actual error is about 1e-6.
_MANY_OBJECTS = 2000
_ERROR = 1e-2
# Objects per thread at a time; on small graphs, the number of parts.
_ROWS, _PARTS = 2**12, 4
# Columns that walk at once: they need five times their memory in double precision.
_COLUMNS = 64


def walk_length(eigenvalue: float) -> int:
    r"""Number of steps after which modes below the given eigenvalue have decayed, but not clusters.

    :math:`t = 0.5 / (1 - \lambda_{k+1})` lazy steps: the spectral gap after the k clusters sets the
    rate at which memberships become uniform inside a cluster.
    """
    gap = max(1.0 - float(eigenvalue), 1e-9)
    return int(np.clip(_SHARE_OF_GAP / gap, 1, _MOST_STEPS))


@dataclass(frozen=True, eq=False)
class Walk:
    r"""Memberships after :math:`W_{s+1} = \tfrac12 (W_s + D^{-1} A W_s)`, s = 0 ... t - 1.

    The steps are lazy (they stay with probability 1/2), so that memberships on bipartite graphs do
    not oscillate. A new object that is linked to the fitted ones, but not they to it, arrives at
    :math:`2^{-t} w_0 + p \sum_s 2^{s-t} W_s` with p its affinities normalized to sum to one; the
    sum is kept, so that new objects cost one product.
    """

    memberships: FloatArray
    seen: FloatArray
    steps: int
    _arrays: ClassVar[dict[str, str]] = {
        "memberships": "finite * k",
        "seen": "finite n k",
        "steps": "natural",
    }

    def arrive(self, block: Matrix, W_new: FloatArray) -> FloatArray:
        """The same walk for new objects with these affinities and initial rows."""
        graph = Graph.of(block)
        degrees = graph.degrees()
        moved = 0.5**self.steps * W_new + reciprocal(degrees)[:, None] * graph.product(self.seen)
        # A polynomial of a walk may fall below zero by rounding.
        moved = np.maximum(moved, 0.0)
        return np.asarray(np.where(degrees[:, None] > 0, moved, W_new), dtype=W_new.dtype)


def random_walk(A: Matrix, W: FloatArray, steps: int, *, locality: Locality | None = None) -> Walk:
    """Smooth memberships by lazy random-walk steps on the graph; isolated objects stay."""
    graph = Graph.of(A)
    if graph.is_sparse and graph.n > _MANY_OBJECTS:
        return polynomial_walk(graph, W, steps, locality or Locality(np.arange(graph.n)))
    degrees = graph.degrees()
    half = reciprocal(degrees, 0.5).astype(W.dtype)[:, None]
    stay = np.where(degrees > 0, 0.5, 1.0).astype(W.dtype)[:, None]
    seen = np.zeros_like(W)
    one_half = W.dtype.type(0.5)
    for _ in range(steps):
        seen = one_half * (seen + W)
        W = stay * W + half * graph.product(W)
    return Walk(W, seen, steps)


def random_walks(
    A: Matrix, starts: Sequence[FloatArray], steps: int, *, locality: Locality | None = None
) -> list[FloatArray]:
    """Memberships after the same walk from several starts; one pass over the graph is for all."""
    together = random_walk(A, np.hstack(starts), steps, locality=locality).memberships
    ends = np.cumsum([start.shape[1] for start in starts])
    parts = np.split(together, ends[:-1], axis=1)
    return [np.asarray(part / part.sum(axis=1, keepdims=True)) for part in parts]


def polynomial_walk(
    graph: Graph, W: FloatArray, steps: int, locality: Locality, *, block: int = _ROWS
) -> Walk:
    r"""The same walk by Chebyshev polynomials of :math:`P = D^{-1} A`.

    :math:`((1 + x) / 2)^t` is a polynomial of degree t, but one of degree of the order of
    :math:`\sqrt t` approximates it on [-1, 1] almost exactly.
    """
    inverse = reciprocal(locality.rows(graph.degrees()))
    edges = graph.permuted(locality.order).edges()
    arrived, seen = np.empty_like(W), np.empty_like(W)
    total = np.zeros(len(W))
    for part in pieces(W.shape[1], _COLUMNS):
        columns = slice(part.start, part.stop)
        found = _chebyshev(edges, inverse, locality.rows(W[:, columns]), steps, block)
        total += found[0].sum(axis=1)
        arrived[:, columns], seen[:, columns] = (locality.back(rows) for rows in found)
    arrived /= locality.back(total)[:, None]
    return Walk(arrived, seen, steps)


def _chebyshev(
    edges: tuple[Any, ...], inverse: FloatArray, W: FloatArray, steps: int, block: int
) -> tuple[FloatArray, FloatArray]:
    """Where the walk arrives, and what new objects see of it, in double precision."""
    from soffit.memberships.kernels import chebyshev_rows

    arrive, see = _coefficients(steps)
    # In double precision, as the weights: the loop is compiled once.
    start = np.asarray(W, dtype=np.float64)
    walked, seen = arrive[0] * start, see[0] * start
    # T_{-1} = T_1 makes the first step half of the others.
    before, now = np.zeros_like(start), start
    for degree in range(1, len(arrive)):
        half = 0.5 if degree == 1 else 1.0
        a, b = float(half * arrive[degree]), float(half * see[degree])

        def advance(
            rows: range, before: Any = before, now: Any = now, a: Any = a, b: Any = b
        ) -> None:
            chebyshev_rows(
                *edges, inverse, before, now, walked, seen, a, b,
                rows.start, rows.stop, np.empty(now.shape[1]),
            )  # fmt: skip

        each(advance, pieces(len(start), min(block, ceil(len(start) / _PARTS))))
        if degree == 1:
            before *= 0.5
        before, now = now, before
    return np.maximum(walked, 0.0, out=walked), np.maximum(seen, 0.0, out=seen)


def _coefficients(steps: int) -> tuple[FloatArray, FloatArray]:
    """Chebyshev coefficients of the walk, and of the part that new objects use."""
    degree = min(steps, ceil(sqrt(2.0 * steps * log(2.0 / _ERROR))))
    x = chebpts1(degree + 1)
    powers = ((1.0 + x) / 2.0) ** np.arange(steps + 1)[:, None]
    weights = 2.0 ** (np.arange(steps) - steps)
    # Interpolation at the Chebyshev points, whose polynomials are orthogonal there.
    basis = chebvander(x, degree).T * (2.0 / (degree + 1))
    basis[0] *= 0.5
    return np.asarray(basis @ powers[steps]), np.asarray(basis @ (weights @ powers[:steps]))


def sharpen(W: FloatArray, power: float) -> FloatArray:
    """Rows raised to a power and normalized to sum to one."""
    raised = (W / W.max(axis=1, keepdims=True)) ** W.dtype.type(power)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=W.dtype)
