"""Expectation-maximisation for relations: H Lambda H' with the least divergence from a graph.

With B = H Lambda one line does both published updates (Yu, Yu & Tresp, eq. 3 and 4):
B <- B * ((W / BH') H), Lambda its column sums. It needs only the stored pairs, nnz(W) m
multiplications, keeps the row sums of B at the degrees of W, and never raises the divergence.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike

from soffit._threads import row_blocks
from soffit._typing import FloatArray
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.divergence.relations import Edges, Relations, is_large, read_relations
from soffit.factorize.problem import Factorization, Problem, check_support, copy_start
from soffit.factorize.starts import make_rows_sum_to_one
from soffit.graph import reciprocal

# Steps are lengthened to at most this power of their ratios, while the divergence falls.
_MOST_POWER = 5
# Smaller shares of an object become zero.
_NEGLIGIBLE = 1e-18


def solve_em(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 500,
    tol: float = 1e-6,
    callback: Callback | None = None,
) -> Factorization:
    r"""Minimise the divergence of the matrix from :math:`H \Lambda H^\top`, from given memberships.

    The steps are those of Yu, Yu & Tresp (2005), as expectation-maximisation for the distribution
    :math:`p(i, j) \propto \sum_p \lambda_p h_{ip} h_{jp}` of pairs. A step may be lengthened,
    :math:`B \leftarrow B \cdot r^w` for its ratios r, and is kept only if the divergence falls.
    If the problem has a `sparsity` or `pruning`, the loss has a penalty, clusters may vanish, and
    the history starts after the last share or cluster that vanished.

    Parameters
    ----------
    problem : Problem
        With ``loss="kl"``, ``constraint="columns"``, ``scale="cluster"`` and ``diagonal=True``.
    start : array of shape (n, k)
        Probability of each cluster given the object; rows on the simplex. Not changed.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Decrease relative to the divergence below which the search stops.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every iteration; if it returns True, the
        search stops.

    Returns
    -------
    Factorization
        H as the factor (columns sum to one), the diagonal of Lambda as the scale. With a penalty it
        may have fewer columns than the start.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, random_start, solve_em
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> problem = Problem(
    ...     A, 2, loss="kl", constraint="columns", scale="cluster", diagonal=True
    ... )
    >>> solve_em(problem, random_start(6, 2, np.random.RandomState(0))).factor.sum(axis=0)
    array([1., 1.])
    """
    check_support("em", problem)
    rows = make_rows_sum_to_one(copy_start(problem, start))
    has_priors = problem.sparsity > 0 or problem.pruning > 0
    if is_large(problem.matrix) and not has_priors:
        from soffit.factorize.divergence.sparse_rows import solve_on_support, stored_rows

        return solve_on_support(
            problem, stored_rows(rows), max_iter=max_iter, tol=tol, callback=callback
        )
    relations = read_relations(problem.matrix)
    if relations.total <= 0:
        return nothing_to_fit(rows.shape, rows.dtype)
    B = rows * relations.degrees[:, None].astype(rows.dtype)
    if has_priors:
        return solve_with_priors(
            problem, relations, B, max_iter=max_iter, tol=tol, callback=callback
        )
    return descend(
        relations,
        evaluate(relations, B),
        lambda state, power: _moved(relations, state, power),
        max_iter=max_iter,
        tol=tol,
        callback=callback,
    )


class _Point(Protocol):
    """A point of the search, with its divergence and the factors to report."""

    @property
    def divergence(self) -> float: ...

    @property
    def H(self) -> Any: ...

    @property
    def weights(self) -> FloatArray: ...


AnyPoint = TypeVar("AnyPoint", bound=_Point)


class _Scaled(Protocol):
    """What a search needs to know of relations."""

    @property
    def unit(self) -> float: ...

    @property
    def total(self) -> float: ...


def descend(
    relations: _Scaled,
    state: AnyPoint,
    move: Callable[[AnyPoint, int], AnyPoint],
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None,
    widen: Callable[[AnyPoint, Descent], AnyPoint | None] | None = None,
) -> Factorization:
    """Steps ``move(state, power)``, with growing powers while the divergence falls.

    After each step ``widen`` may replace the current point by one whose divergence is not higher;
    the search then continues.
    """
    unit = relations.unit
    descent = Descent(
        unit * state.divergence,
        state.H,
        unit * state.weights,
        norm=unit * relations.total,
        callback=callback,
    )
    power = 1
    with descent:
        while descent.running(max_iter):
            moved = move(state, power)
            if power > 1 and moved.divergence > state.divergence:
                # The step was too long: the plain step cannot fail.
                moved, power = move(state, 1), 0
            power = min(power + 1, _MOST_POWER)
            state = moved
            descent.record(unit * state.divergence, state.H, unit * state.weights)
            wider = None if widen is None else widen(state, descent)
            if wider is None:
                descent.stop_if_converged(tol)
            else:
                state, power = wider, 1
    return descent.result()


@dataclass(frozen=True, eq=False)
class State:
    """Bipartite weights B, H = B over its column sums, and the next step."""

    B: FloatArray
    H: FloatArray
    weights: FloatArray
    ratios: FloatArray
    divergence: float


def evaluate(relations: Relations, B: FloatArray) -> State:
    """The E step at B."""
    weights = B.sum(axis=0, dtype=np.float64)
    H = B * reciprocal(weights).astype(B.dtype)
    ratios, likelihood = relations.step(B, H)
    divergence = relations.entropy - likelihood - relations.total + float(weights.sum())
    return State(B, H, weights, ratios, divergence)


def log_likelihood(problem: Problem, found: Factorization) -> float:
    r"""Log-likelihood of the weights as counts of pairs, :math:`\sum_{ij} w_{ij} \log p(i, j)`.

    :math:`p(i, j) = (H \Lambda H^\top)_{ij} / \sum_p \lambda_p` sums to one over all pairs (eq. 7).
    """
    relations = read_relations(problem.matrix)
    if relations.total <= 0:
        return 0.0
    weights = found.scale / relations.unit
    if isinstance(relations, Edges) and is_large(problem.matrix):
        from soffit.factorize.divergence.sparse_rows import support_likelihood

        likelihood = support_likelihood(relations, found.factor, weights)
    else:
        B = found.factor * weights.astype(found.factor.dtype)
        _, likelihood = relations.step(B, found.factor)
    return float(relations.unit * (likelihood - relations.total * np.log(weights.sum())))


def bipartite_rows(found: Factorization) -> FloatArray:
    """Probability of each cluster given the object, b_ip / d_i; the prior for a zero row."""
    return warm_rows(found.factor, found.scale)


def warm_rows(factor: FloatArray, scale: FloatArray) -> FloatArray:
    """The same from H and the diagonal of Lambda."""
    return rows_or_prior(factor * scale.astype(factor.dtype), cluster_prior(scale))


def cluster_prior(weights: FloatArray) -> FloatArray:
    """Weights of clusters as probabilities; uniform if all are zero."""
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(len(weights), 1.0 / len(weights))


def rows_or_prior(B: FloatArray, prior: FloatArray) -> FloatArray:
    """Rows divided by their sums; the prior replaces zero rows."""
    rows = np.empty_like(B)
    for block in row_blocks(B.shape):
        sums = B[block].sum(axis=1, keepdims=True)
        shares = np.where(sums > 0, B[block] / np.where(sums > 0, sums, 1), prior)
        rows[block] = make_rows_sum_to_one(shares)
    return rows


def _moved(relations: Relations, state: State, power: int) -> State:
    from soffit.factorize.divergence.kernels import move_rows

    B = np.empty_like(state.B)
    move_rows(state.B, state.ratios, power, _NEGLIGIBLE, B)
    return evaluate(relations, B)


def nothing_to_fit(shape: tuple[int, int], dtype: DTypeLike) -> Factorization:
    """The result for a matrix without weights: no cluster has any, and H is arbitrary."""
    n, m = shape
    return Factorization(
        factor=np.full((n, m), 1.0 / n, dtype=dtype),
        scale=np.zeros(m),
        objective=0.0,
        history=np.zeros(2),
        n_iter=1,
        stopped="converged",
    )


# Iterations between two vanishing clusters: the others first take over its objects.
_REST = 5
# A cluster that is about to vanish keeps this share of its weight while it waits.
_KEPT = 0.05
# After a cluster has vanished, this share of every object is spread over the others, so that every
# pair stays explained.
_SPREAD = 0.01


def solve_with_priors(
    problem: Problem,
    relations: Relations,
    B: FloatArray,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None,
) -> Factorization:
    r"""Minimise divergence plus priors, from bipartite weights B.

    The loss is the regularised one of Yu, Yu & Tresp, a maximum a posteriori estimate with
    Dirichlet priors,

    .. math:: D(W \| H \Lambda H^\top) + c \sum_p \log \frac{\lambda_p}{\sum_q \lambda_q}
              + 2 s \sum_{ip} d_i \log h_{ip}, \quad c = \text{pruning} \textstyle\sum_i d_i,
              \; s = \text{sparsity},

    whose M step subtracts c from the weight of every cluster and :math:`s d_i` from every share of
    an object, clips at zero and rescales. The loss as printed is unbounded below, since every
    vanishing term tends to minus infinity: vanished terms are therefore left out of the sum, and
    the history restarts there. From then on it never rises. Pairs that lost every common cluster to
    sparsity are treated as noise: they have no influence, and count as fitted at a tiny value.

    Clusters vanish one at a time, lightest first, and the last one never; an object whose shares
    are all too small keeps its largest.
    """
    loss_per_cluster = problem.pruning * relations.total
    loss_per_share = problem.sparsity * relations.degrees[:, None].astype(B.dtype)
    state, unit = evaluate(relations, B), relations.unit
    loss = _loss(state, relations, loss_per_cluster, loss_per_share)
    descent = Descent(
        unit * loss,
        state.H,
        unit * state.weights,
        norm=unit * relations.total,
        callback=callback,
    )
    rest = 0
    with descent:
        while descent.running(max_iter):
            counts = state.B * state.ratios
            step = None
            if rest <= 0:
                step = _drop_lightest(counts, relations.degrees, loss_per_cluster)
            rest = _REST if step is not None else rest - 1
            if step is None:
                step = _m_step(counts, loss_per_cluster, loss_per_share)
            state, before = evaluate(relations, step.B), loss
            loss = _loss(state, relations, loss_per_cluster, loss_per_share)
            scale = unit * state.weights
            descent.record(unit * loss, state.H, scale, restart_history=not step.exact)
            small = tol * max(state.divergence, 1e-12 * relations.total)
            descent.stop_if(step.exact and rest <= 0 and before - loss <= small)
    return descent.result()


@dataclass(frozen=True, eq=False)
class _Step:
    """New bipartite weights, and whether they minimise the bound with nothing vanishing."""

    B: FloatArray
    exact: bool


def _m_step(counts: FloatArray, loss_per_cluster: float, loss_per_share: FloatArray) -> _Step:
    shares, exact = _shrunk_shares(counts, loss_per_share)
    weights = counts.sum(axis=0, dtype=np.float64)
    bears = weights > loss_per_cluster
    # A single cluster regains in the rescaling what it loses.
    exact = exact and (len(weights) == 1 or bool(bears.all()))
    lighter = np.where(bears, weights - loss_per_cluster, _KEPT * weights)
    lighter *= weights.sum() / lighter.sum()
    sums = shares.sum(axis=0, dtype=np.float64)
    if not sums.all():
        # A column whose shares have all vanished is not a cluster any more.
        alive = sums > 0
        if not alive.any():
            # Without any link there is no evidence against a cluster.
            return _Step(counts, exact=True)
        shares, sums, lighter, exact = shares[:, alive], sums[alive], lighter[alive], False
        lighter *= weights.sum() / lighter.sum()
    return _Step(shares * (lighter / sums).astype(counts.dtype), exact)


def _shrunk_shares(counts: FloatArray, loss: FloatArray) -> tuple[FloatArray, bool]:
    """Shares minus their loss, clipped at zero; an object that would lose all keeps its largest."""
    if not loss.any():
        return counts, True
    shrunk = np.maximum(counts - loss, 0)
    lost = (shrunk.max(axis=1) <= 0) & (counts.max(axis=1) > 0)
    largest = counts[lost].argmax(axis=1)
    shrunk[lost, largest] = counts[lost, largest]
    return shrunk, bool(np.array_equal(shrunk > 0, counts > 0))


def _drop_lightest(
    counts: FloatArray, degrees: FloatArray, loss_per_cluster: float
) -> _Step | None:
    """Without the lightest cluster, if its weight is below the loss and it is not the last one."""
    weights = counts.sum(axis=0, dtype=np.float64)
    lightest = int(weights.argmin())
    if len(weights) == 1 or weights[lightest] > loss_per_cluster:
        return None
    prior = cluster_prior(np.delete(weights, lightest))
    rows = rows_or_prior(np.delete(counts, lightest, axis=1), prior)
    rows = (1 - _SPREAD) * rows + _SPREAD * prior
    return _Step(np.asarray(degrees[:, None] * rows, dtype=counts.dtype), exact=False)


def _loss(
    state: State, relations: Relations, loss_per_cluster: float, loss_per_share: FloatArray
) -> float:
    loss = state.divergence
    alive = state.weights > 0
    loss += loss_per_cluster * float(np.log(state.weights[alive] / relations.total).sum())
    if loss_per_share.any():
        logs = np.log(state.H, where=state.H > 0, out=np.zeros_like(state.H))
        loss += 2.0 * float((loss_per_share * logs).sum(dtype=np.float64))
    return loss
