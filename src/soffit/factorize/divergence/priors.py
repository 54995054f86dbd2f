"""Expectation-maximisation with priors that make memberships sparse and clusters vanish."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.divergence.em import State, cluster_prior, evaluate, rows_or_prior
from soffit.factorize.divergence.relations import Relations
from soffit.factorize.problem import Factorization, Problem

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
