"""Row blocks for very many clusters: each row is stored as its few entries.

The problem of a row has the clusters that the row or its neighbours use, at most `_MOST` of them.
The row's own ones are always among them, so that no step raises the loss.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.problem import Factorization, Problem, best_scale, loss, scale_limit
from soffit.graph import Graph, stacked

# Clusters in the problem of a row, and therefore entries of a row.
_MOST = 32
# Rows per range, and ranges that are updated concurrently; see `soffit.factorize.simplex.rows`.
_RANGE = 2**14
_AT_ONCE = 16
# Parts in which sums over all rows are computed.
_PARTS = 8
# New objects per thread at a time.
_ROWS = 2**13


class Entries(NamedTuple):
    """Rows as their entries, of which the first `used` count."""

    columns: IntArray
    shares: FloatArray
    used: IntArray

    @classmethod
    def room(cls, n: int, n_clusters: int) -> Entries:
        """Rows without entries."""
        shape = n, min(_MOST, n_clusters)
        return cls(np.zeros(shape, np.int32), np.zeros(shape), np.zeros(n, np.int32))

    @classmethod
    def of(cls, rows: sp.csr_array) -> Entries:
        """The largest entries of each row, divided by their sum."""
        result = cls.room(*rows.shape)
        most = result.columns.shape[1]
        counts = np.diff(rows.indptr)
        number = np.repeat(np.arange(len(counts)), counts)
        order = np.lexsort((rows.indices, -rows.data, number))
        position = np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], counts)
        kept = position < most
        places = number[kept], position[kept]
        result.columns[places] = rows.indices[order][kept]
        result.shares[places] = rows.data[order][kept]
        result.used[:] = np.minimum(counts, most)
        result.shares[:] /= np.maximum(result.shares.sum(axis=1, keepdims=True), 1e-300)
        return result

    def csr(self, n_clusters: int, dtype: np.dtype[Any]) -> sp.csr_array:
        """The rows in CSR form, columns in order."""
        counts = self.used
        filled = np.arange(self.columns.shape[1]) < counts[:, None]
        indptr = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        parts = self.shares[filled].astype(dtype, copy=False), self.columns[filled], indptr
        rows = sp.csr_array(parts, shape=(len(counts), n_clusters))
        rows.sort_indices()
        return rows

    def copy(self) -> Entries:
        """A copy, for a step that may be undone."""
        return self.part(slice(None))

    def part(self, rows: slice) -> Entries:
        """A copy of some rows."""
        columns, shares, used = self
        return Entries(columns[rows].copy(), shares[rows].copy(), used[rows].copy())


def solve_sparse_rows(
    problem: Problem,
    start: sp.csr_array,
    *,
    max_iter: int = 200,
    tol: float = 1e-5,
    callback: Callback | None = None,
    scale: FloatArray | None = None,
    gap: float = 0.0,
) -> Factorization:
    """Minimise the problem of a sparse matrix by row blocks; `solve_rows` with a sparse start.

    Parameters
    ----------
    problem : Problem
        What to fit, with a matrix in CSR form; its diagonal is left out.
    start : csr_array of shape (n, k)
        Rows on the simplex; not changed.
    max_iter, tol, callback, scale, gap
        As for `solve_rows`.

    Returns
    -------
    Factorization
        With a factor in CSR form.
    """
    k, dtype = problem.n_clusters, problem.matrix.dtype
    sweep = _Sweep(problem, gap)
    W = Entries.of(start)
    norm, limit = problem.graph.squared_norm(diagonal=False), scale_limit(problem)

    def weigh(s: FloatArray | None) -> tuple[FloatArray, FloatArray, float]:
        gram = sweep.products(W, squared=False)
        b, H = sweep.forms(W), gram**2 - sweep.products(W, squared=True)
        s = best_scale(problem, b, H, limit=limit, previous=s)
        return gram, s, loss(norm, b, H, s) + sweep.side_loss(W)

    gram, s, value = weigh(scale)
    descent = Descent(value, W.shares, s, norm=norm, callback=callback)
    with descent:
        while descent.running(max_iter):
            before = W.copy() if sweep.at_once else None
            sweep(W, s, gram)
            gram, new_s, value = weigh(s)
            if value > descent.history[-1] and before is not None:
                # Rows that are updated concurrently may raise the loss; one after the other cannot.
                for part, old in zip(W, before, strict=True):
                    part[:] = old
                sweep.at_once = False
                gram = weigh(s)[0]
                continue
            s = new_s
            descent.record(value, W.shares, s)
            descent.stop_if_converged(tol)
    if descent.interrupted:
        _, _, value = weigh(s)
        descent.record_interrupted(value, W.shares, s)
    return replace(descent.result(), factor=W.csr(k, dtype))


class _Sweep:
    """One update of all rows, and sums over them."""

    def __init__(self, problem: Problem, gap: float) -> None:
        from soffit.factorize.simplex import kernels

        self._kernels = kernels
        self._gap = max(gap, kernels.GAP)
        n, self._k = problem.n_objects, problem.n_clusters
        self._edges = problem.graph.edges()
        self._theta = problem.row_factors().astype(np.float64)
        side = sp.csr_array((n, n)) if problem.side is None else problem.side
        self._side = side.astype(np.float64)
        self._ties = Graph(self._side).edges()
        # Pairs of the side information may span two ranges: they are read in their current state.
        self._ranges = pieces(n, n if side.nnz else _RANGE)
        self._parts = pieces(n, -(-n // _PARTS))
        self.at_once = len(self._ranges) > 1

    def __call__(self, W: Entries, s: FloatArray, gram: FloatArray) -> None:
        """Update all rows; ranges read one another as they were before their group."""
        step = _AT_ONCE if self.at_once else 1
        for number in range(0, len(self._ranges), step):
            self._move_group(self._ranges[number : number + step], W, s, gram)

    def _move_group(self, ranges: list[range], W: Entries, s: FloatArray, gram: FloatArray) -> None:
        first, last = ranges[0].start, ranges[-1].stop
        # A single range reads its own rows only.
        end = last if len(ranges) > 1 else first
        before = W.part(slice(first, end))
        start = gram.copy()

        def move(rows: range) -> FloatArray:
            own = start.copy()
            self._kernels.sweep_entries(
                *self._edges, *self._ties, *W, *before, first, self._theta, s, own,
                rows.start, rows.stop, self._gap, *working_arrays(self._k),
            )  # fmt: skip
            own -= start
            return own

        for change in each(move, ranges):
            gram += change

    def products(self, W: Entries, *, squared: bool) -> FloatArray:
        """The sum over the rows u of the products of their entries, or of the squares of these."""

        def add(part: range) -> FloatArray:
            total = np.zeros((self._k, self._k))
            self._kernels.products_of_entries(
                *W, self._theta, part.start, part.stop, squared, total
            )
            return total

        return np.asarray(sum(each(add, self._parts)))

    def forms(self, W: Entries) -> FloatArray:
        """The forms u'A u of the columns, without the diagonal."""

        def add(part: range) -> FloatArray:
            total = np.zeros(self._k)
            self._kernels.forms_of_entries(
                *self._edges, *W, self._theta, part.start, part.stop, np.zeros(self._k), total
            )
            return total

        return np.asarray(sum(each(add, self._parts)))

    def side_loss(self, W: Entries) -> float:
        """Loss of pairs that are apart (must-link) or together (cannot-link)."""
        if not self._side.nnz:
            return 0.0
        rows = W.csr(self._k, np.dtype(np.float64))
        together = float(rows.multiply(self._side @ rows).sum())
        return float(np.maximum(self._side.data, 0.0).sum()) - together


def working_arrays(n_clusters: int) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    """Q, the vectors, and the chosen clusters with their places, for one thread."""
    most = min(_MOST, n_clusters)
    chosen, place = np.empty(n_clusters, np.int64), np.full(n_clusters, -1, np.int64)
    return np.empty((most, most)), np.empty((5, n_clusters)), chosen, place


def place_sparse_rows(
    block: Matrix, rows: sp.csr_array, scale: FloatArray, theta: FloatArray
) -> sp.csr_array:
    """Rows of new objects, each on the clusters that its neighbours use; empty without affinities.

    Parameters
    ----------
    block : array or CSR of shape (m, n)
        Normalized affinities of the new objects to the fitted ones.
    rows : csr_array of shape (n, k)
        Rows of the factor, times theta of the fitted objects.
    scale : array of shape (k,)
        The scales.
    theta : array of shape (m,)
        Factors of the new objects.
    """
    from soffit.factorize.simplex.kernels import GAP, place_entries

    m, k = block.shape[0], rows.shape[1]
    edges = Graph.of(sp.csr_array(block)).edges()
    starts, columns, values = Graph.of(rows).edges()
    fitted = starts, columns[None, :], values[None, :]
    gram = np.asarray((rows.T @ rows).toarray(), dtype=np.float64)

    def solve(part: range) -> sp.csr_array:
        found = Entries.room(len(part), k)
        place_entries(
            *edges, *fitted, theta, scale, gram, part.start, part.stop, GAP,
            *found, *working_arrays(k),
        )  # fmt: skip
        return found.csr(k, rows.dtype)

    return stacked(each(solve, pieces(m, _ROWS)))
