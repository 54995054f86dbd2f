"""Row blocks: each row of the factor is solved exactly while all others are fixed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.problem import (
    Factorization,
    Problem,
    best_scale,
    check_support,
    copy_start,
    exact_gram,
    loss,
    pair_gram,
    scale_limit,
)
from soffit.factorize.simplex.few_entries import solve_sparse_rows
from soffit.graph import Graph, Locality, row_numbers


class KnownPairs(NamedTuple):
    """CSR arrays of the pairs i != j with positive weight: A's values and the weights."""

    indptr: IntArray
    indices: IntArray
    values: FloatArray
    weights: FloatArray


def solve_weighted_rows(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 200,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Factorization:
    """Minimise the weighted problem by row blocks; the part of `solve_rows` with pair weights.

    The loss never rises. A row without any known pair keeps its start. Converged when a sweep
    lowers the loss by at most `tol` times its own value.

    `problem`: what to fit, with pair weights; its diagonal is left out, degrees are not supported.
    `start` (n, k): rows on the simplex; not changed.
    `max_iter`: maximum number of sweeps.
    `tol`: relative decrease below which the search stops.
    `callback`: called as ``callback(iteration, loss)`` after every sweep; if it returns True, the
        search stops.
    Returns factor, scale, loss, history and the reason for stopping.
    """
    check_support("rows", problem)
    from soffit.factorize.simplex.kernels import pair_statistics, sweep_weighted

    W = copy_start(problem, start)
    pairs = known_pairs(problem)
    norm = float(np.einsum("p,p,p->", pairs.weights, pairs.values, pairs.values, dtype=np.float64))
    limit = scale_limit(problem)
    b, H = pair_statistics(*pairs, W)
    s = best_scale(problem, b, H, limit=limit)
    descent = Descent(loss(norm, b, H, s), W, s, norm=norm, callback=callback)
    with descent:
        while descent.running(max_iter):
            sweep_weighted(*pairs, W, s)
            b, H = pair_statistics(*pairs, W)
            s = best_scale(problem, b, H, limit=limit, previous=s)
            descent.record(loss(norm, b, H, s), W, s)
            descent.stop_if_converged(tol)
    if descent.interrupted:
        b, H = pair_statistics(*pairs, W)
        descent.record_interrupted(loss(norm, b, H, s), W, s)
    return descent.result()


def known_pairs(problem: Problem) -> KnownPairs:
    """The known pairs, with A's values; the weights are made symmetric."""
    if problem.pair_weight is None:
        raise ValueError("The problem has no pair_weight; use solve_rows.")
    weight = sp.coo_array(problem.pair_weight, dtype=problem.matrix.dtype)
    if not (weight.data.min(initial=0.0) >= 0.0 and np.isfinite(weight.data).all()):
        raise ValueError("pair_weight must be nonnegative and finite; use zero for unknown pairs.")
    rows, columns = weight.coords
    counts = (rows != columns) & (weight.data > 0)
    places = (rows[counts], columns[counts])
    # The average of m_ij and m_ji gives the same loss, because A is symmetric.
    half = sp.csr_array((0.5 * weight.data[counts], places), shape=weight.shape)
    pairs = sp.csr_array(half + half.T)
    pairs.sort_indices()
    values = problem.graph.at(row_numbers(pairs), pairs.indices)
    return KnownPairs(pairs.indptr, pairs.indices, values, pairs.data)


# Rows whose products are computed at once, and the pieces in which threads compute them.
_BLOCK = 128
_PIECE = 64
_SMALL = 2**18


# Rows per range of a large sparse matrix, and ranges updated concurrently. If all were, each would
# react to states that the others are about to change, and the loss might rise.
_RANGE = 2**14
_AT_ONCE = 16
_MOST_HALVINGS = 2
# With more clusters, a row's problem is solved on the clusters that its neighbours use.
_FEW_CLUSTERS = 32
# The optimality gap of dense rows with more clusters.
_GAP_OF_MANY = 1e-4


class _Sweep(Protocol):
    """Updates all rows once, changing W, U and gram; returns u_c'A u_c without the diagonal."""

    def __call__(
        self, W: FloatArray, U: FloatArray, s: FloatArray, gram: FloatArray
    ) -> FloatArray: ...

    def halve(self, W: FloatArray, U: FloatArray) -> bool:
        """Undo half of the last update, if it may have raised the loss."""
        ...

    def undo(self, W: FloatArray, U: FloatArray) -> bool:
        """Undo the last sweep, if there is a safer way of sweeping that cannot raise the loss."""
        ...


def solve_rows(
    problem: Problem,
    start: Matrix,
    *,
    max_iter: int = 200,
    tol: float = 1e-5,
    callback: Callback | None = None,
    scale: FloatArray | None = None,
    gap: float = 0.0,
) -> Factorization:
    """Minimise the problem by row blocks from a start with rows on the simplex.

    Converged when a sweep lowers the loss by less than `tol` times its own value.

    Parameters
    ----------
    problem : Problem
        What to fit; its diagonal is left out.
    start : array or CSR of shape (n, k)
        Rows on the simplex; not changed. With a start in CSR form the factor is, too; if the matrix
        is as well, no row has more than 32 entries.
    max_iter : int
        Maximum number of sweeps.
    tol : float
        Relative decrease below which the search stops.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every sweep; if it returns True, the search
        stops.
    scale : array of shape (k,), optional
        Initial scales, such as those of an earlier run; by default the best for the start.
    gap : float
        Optimality gap at which a row is solved, as a share of its gradient; by default nearly that
        of rounding.

    Returns
    -------
    Factorization
        Factor, scale, loss, history and the reason for stopping.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, random_start, solve_rows
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> found = solve_rows(Problem(A, 2), random_start(6, 2, np.random.RandomState(0)))
    >>> found.factor.argmax(axis=1)
    array([1, 1, 1, 0, 0, 0])
    """
    check_support("rows", problem)
    if is_sparse(start):
        solve = solve_sparse_rows
        if not problem.is_sparse or problem.pair_weight is not None:
            solve, start = solve_rows, start.toarray()
        found = solve(
            problem, start, max_iter=max_iter, tol=tol, callback=callback, scale=scale, gap=gap
        )
        return replace(found, factor=sp.csr_array(found.factor))
    if problem.pair_weight is not None:
        return solve_weighted_rows(problem, start, max_iter=max_iter, tol=tol, callback=callback)
    few = problem.n_clusters <= _FEW_CLUSTERS
    if problem.graph.is_sparse and problem.matrix.dtype != np.float64 and few:
        # In double precision, too: the loop over the rows is compiled once. With many clusters, the
        # memory for their rows matters more.
        exact = problem.as_type(np.float64)
        found = solve_rows(
            exact, start, max_iter=max_iter, tol=tol, callback=callback, scale=scale, gap=gap
        )
        return replace(found, factor=found.factor.astype(problem.matrix.dtype))
    theta = problem.row_factors()
    W = copy_start(problem, start)
    del start  # As large as W, and often not referenced elsewhere.
    U = theta[:, None] * W
    gram = exact_gram(U)
    norm = problem.graph.squared_norm(diagonal=False)
    limit = scale_limit(problem)
    b = problem.graph.column_forms(U, diagonal=False)
    H = pair_gram(U, gram, diagonal=False)
    s = best_scale(problem, b, H, limit=limit, previous=scale)
    side = _Side(problem)
    descent = Descent(loss(norm, b, H, s) + side.loss(W), W, s, norm=norm, callback=callback)
    make = _SparseSweep if problem.graph.is_sparse else _DenseSweep
    sweep: _Sweep = make(problem, theta, side, gap)

    def weigh(b: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        gram = exact_gram(U)  # Recomputed, so that rounding errors do not accumulate.
        H = pair_gram(U, gram, diagonal=False)
        new_s = best_scale(problem, b, H, limit=limit, previous=s)
        return gram, new_s, loss(norm, b, H, new_s) + side.loss(W)

    with descent:
        while descent.running(max_iter):
            gram, new_s, value = weigh(sweep(W, U, s, gram))
            for _ in range(_MOST_HALVINGS):
                if value <= descent.history[-1] or not sweep.halve(W, U):
                    break
                gram, new_s, value = weigh(problem.graph.column_forms(U, diagonal=False))
            if value > descent.history[-1] and sweep.undo(W, U):
                gram = exact_gram(U)
                continue
            s = new_s
            descent.record(value, W, s)
            descent.stop_if_converged(tol)
    if descent.interrupted:
        # Rows are updated one by one: an interrupted sweep is a shorter one.
        U = theta[:, None] * W
        b = problem.graph.column_forms(U, diagonal=False)
        H = pair_gram(U, exact_gram(U), diagonal=False)
        descent.record_interrupted(loss(norm, b, H, s) + side.loss(W), W, s)
    return descent.result()


class _Side:
    """Side information in the form used by the sweeps, and its part of the loss."""

    def __init__(self, problem: Problem) -> None:
        S = problem.side
        n = problem.n_objects
        self._matrix = sp.csr_array((n, n), dtype=problem.matrix.dtype) if S is None else S
        self._most = float(np.maximum(self._matrix.data, 0.0).sum(dtype=np.float64))
        self.is_given = self._matrix.nnz > 0
        self.arrays = Graph(self._matrix).edges()

    def loss(self, W: FloatArray) -> float:
        """Loss of pairs that are apart (must-link) or together (cannot-link)."""
        if self._matrix.nnz == 0:
            return 0.0
        together = np.einsum("ic,ic->", W, self._matrix @ W, dtype=np.float64)
        return self._most - float(together)


class _SparseSweep:
    """Groups of ranges of rows: ranges concurrently, rows sequentially inside each.

    Rows of other ranges of the group are read in their state before the group, so that the number
    of threads does not matter. In principle this can raise the loss: then half of the update is
    undone, and half of that. If this does not help, the sweep is undone, and from then on the
    ranges are swept one after the other, which cannot raise the loss. A matrix of one range always
    is.
    """

    def __init__(self, problem: Problem, theta: FloatArray, side: _Side, gap: float) -> None:
        self._graph, self._theta, self._side, self._gap = problem.graph, theta, side, gap
        self._edges = problem.graph.edges()
        n = problem.n_objects
        # Pairs of the side information may span two ranges: they are read in their current state.
        self._ranges = pieces(n, n if side.is_given else _RANGE)
        self._at_once = len(self._ranges) > 1
        self._before = np.empty((0, 0))
        self._few = problem.n_clusters <= _FEW_CLUSTERS

    def __call__(self, W: FloatArray, U: FloatArray, s: FloatArray, gram: FloatArray) -> FloatArray:
        if self._at_once:
            # Reuse the memory in every sweep: new pages take as long as the copy itself.
            if self._before.shape != U.shape:
                self._before = np.empty_like(U)
            np.copyto(self._before, U)
            for first in range(0, len(self._ranges), _AT_ONCE):
                self._move_group(self._ranges[first : first + _AT_ONCE], W, U, s, gram)
        else:
            for rows in self._ranges:
                total = self._move(rows, W, U, s, gram, group=(U, 0))
        # The sweep over a single range has visited every pair; with several ranges, or rows
        # restricted to some clusters, the sum needs one more product.
        met_all = len(self._ranges) == 1 and self._few
        return total if met_all else self._graph.column_forms(U, diagonal=False)

    def _move_group(
        self, ranges: list[range], W: FloatArray, U: FloatArray, s: FloatArray, gram: FloatArray
    ) -> None:
        first, last = ranges[0].start, ranges[-1].stop
        before = self._before[first:last]

        def move(rows: range) -> FloatArray:
            own_gram = gram.copy()
            self._move(rows, W, U, s, own_gram, group=(before, first))
            return own_gram

        before_all = gram.copy()
        for own_gram in each(move, ranges):
            gram += own_gram - before_all

    def _move(
        self,
        rows: range,
        W: FloatArray,
        U: FloatArray,
        s: FloatArray,
        gram: FloatArray,
        *,
        group: tuple[FloatArray, int],
    ) -> FloatArray:
        from soffit.factorize.simplex import kernels as _kernels

        k = W.shape[1]
        moved = (
            *self._edges, *self._side.arrays,
            W, U, *group, self._theta, s, gram, rows.start, rows.stop,
        )  # fmt: skip
        total, gap = np.zeros(k), max(_kernels.GAP, self._gap)
        if self._few:
            _kernels.sweep_sparse(*moved, gap, np.empty((k + _kernels.N_VECTORS, k)), total)
        else:
            room = np.empty((k, k)), np.empty((5, k)), np.empty(k, dtype=np.int64)
            _kernels.sweep_supported(*moved, gap, *room)
        return total

    def halve(self, W: FloatArray, U: FloatArray) -> bool:
        if self._at_once:
            U += self._before
            U *= 0.5
            self._restore(W, U)
        return self._at_once

    def undo(self, W: FloatArray, U: FloatArray) -> bool:
        if not self._at_once:
            return False
        U[:] = self._before
        self._restore(W, U)
        self._at_once = False
        return True

    def _restore(self, W: FloatArray, U: FloatArray) -> None:
        """W from U; isolated rows have never changed."""
        theta = self._theta[:, None]
        np.divide(U, theta, out=W, where=theta > 0)


class _DenseSweep:
    """Products by BLAS for a block of rows, corrected for rows of the block already updated."""

    def __init__(self, problem: Problem, theta: FloatArray, side: _Side, gap: float) -> None:
        self._A = np.ascontiguousarray(problem.matrix)
        self._theta, self._side, self._gap = theta, side, gap
        shape = (_BLOCK, problem.n_clusters)
        self._products = np.empty(shape, self._A.dtype), np.empty(shape, self._A.dtype)

    def __call__(self, W: FloatArray, U: FloatArray, s: FloatArray, gram: FloatArray) -> FloatArray:
        from soffit.factorize.simplex.kernels import GAP, N_VECTORS, sweep_block

        k = W.shape[1]
        total, work = np.zeros(k), np.empty((k + N_VECTORS, k))
        # Rows in single precision are not solved beyond it. With many clusters the last digits take
        # most of the time, and the next sweep changes them anyway.
        least = GAP if k <= _FEW_CLUSTERS else _GAP_OF_MANY
        gap = max(least, self._gap, float(np.finfo(W.dtype).eps))
        for first in range(0, len(W), _BLOCK):
            rows = self._A[first : first + _BLOCK]
            _products(rows, U, first, *self._products)
            old = U[first : first + _BLOCK].copy()
            sweep_block(
                first, rows, *self._products, *self._side.arrays,
                W, U, old, self._theta, s, gram, gap, work, total,
            )  # fmt: skip
        return total

    def halve(self, W: FloatArray, U: FloatArray) -> bool:
        return False

    def undo(self, W: FloatArray, U: FloatArray) -> bool:
        return False


def _products(
    rows: FloatArray, U: FloatArray, first: int, earlier: FloatArray, later: FloatArray
) -> None:
    """Products of a block of rows with the objects before it, and with itself and those after."""

    def multiply(piece: int) -> None:
        part = slice(piece, min(piece + _PIECE, len(rows)))
        np.matmul(rows[part, :first], U[:first], out=earlier[part])
        np.matmul(rows[part, first:], U[first:], out=later[part])

    # Small products finish before a second thread has started.
    each(multiply, range(0, len(rows), _PIECE), 1 if rows.size < _SMALL else None)


def solve_locally(
    solver: Callable[..., Factorization],
    problem: Problem,
    start: Matrix,
    locality: Locality | None,
    **options: Any,
) -> Factorization:
    """Run the solver on reordered objects and restore their order; None keeps the order.

    Parameters
    ----------
    solver : callable
        Such as `solve_rows`.
    problem : Problem
        What to fit.
    start : array or CSR of shape (n, k)
        In the order of the problem.
    locality : Locality or None
        An order of the objects in which neighbours are near.
    **options
        Of the solver.

    Returns
    -------
    Factorization
        In the order of the problem.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, random_start, solve_locally, solve_rows
    >>> problem = Problem(np.kron(np.eye(2), np.ones((3, 3))), 2)
    >>> start = random_start(6, 2, np.random.RandomState(0))
    >>> solve_locally(solve_rows, problem, start, None).factor.shape
    (6, 2)
    """
    if locality is None:
        return solver(problem, start, **options)
    found = solver(problem.reordered(locality), locality.rows(start), **options)
    return replace(found, factor=locality.back(found.factor))
