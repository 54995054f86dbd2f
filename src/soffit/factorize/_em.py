"""Expectation-maximisation for relations: H Lambda H' with the least divergence from a graph.

With B = H Lambda one line does both published updates (Yu, Yu & Tresp, eq. 3 and 4):
B <- B * ((W / BH') H), Lambda its column sums. It needs the stored pairs only, nnz(W) m
multiplications, keeps the row sums of B at the degrees of W, and never raises the divergence.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from soffit._typing import FloatArray
from soffit.factorize._descent import Callback, Descent
from soffit.factorize._em_relations import Relations, read_relations
from soffit.factorize._problem import Factorization, Problem
from soffit.factorize._simplex import make_rows_sum_to_one
from soffit.factorize._support import check_support, copy_start

# Steps are lengthened to at most this power of their ratios, while the divergence falls.
_MOST_POWER = 5
# Shares of an object below this one are zero.
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
    With `problem.sparsity` or `problem.pruning` the loss has a penalty, clusters may vanish, and
    the history begins after the last share or cluster that did: see `solve_with_priors`.

    Parameters
    ----------
    problem : Problem
        With ``loss="kl"``, ``constraint="columns"``, ``scale="cluster"`` and ``diagonal=True``.
    start : array of shape (n, k)
        Probability of each cluster given the object; rows on the simplex. It is not changed.
    max_iter : int
        Largest number of iterations.
    tol : float
        Decrease relative to the divergence below which the search ends.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every iteration.

    Returns
    -------
    Factorization
        H as the factor (columns sum to one), the diagonal of Lambda as the scale. With a penalty
        it may have fewer columns than asked for.
    """
    check_support("em", problem)
    rows = make_rows_sum_to_one(copy_start(problem, start))
    relations = read_relations(problem.matrix)
    if relations.total <= 0:
        return _nothing_to_fit(rows)
    B = rows * relations.degrees[:, None].astype(rows.dtype)
    if problem.sparsity > 0 or problem.pruning > 0:
        from soffit.factorize._em_prior import solve_with_priors

        return solve_with_priors(
            problem, relations, B, max_iter=max_iter, tol=tol, callback=callback
        )
    state = evaluate(relations, B)
    descent = Descent(
        relations.unit * state.divergence, norm=relations.unit * relations.total, callback=callback
    )
    power, converged = 1, False
    while descent.n_iter < max_iter and not converged:
        moved = _moved(relations, state, power)
        if power > 1 and moved.divergence > state.divergence:
            # Too far: the plain step cannot fail.
            moved, power = _moved(relations, state, 1), 0
        power = min(power + 1, _MOST_POWER)
        state = moved
        descent.record(relations.unit * state.divergence)
        converged = descent.settled(tol)
    return descent.result(state.H, relations.unit * state.weights, converged=converged)


@dataclass(frozen=True, eq=False)
class State:
    """Bipartite weights B, H = B over its column sums, and the step that comes next."""

    B: FloatArray
    H: FloatArray
    weights: FloatArray
    ratios: FloatArray
    divergence: float


def evaluate(relations: Relations, B: FloatArray) -> State:
    """What an E step at B says."""
    weights = B.sum(axis=0, dtype=np.float64)
    inverse = np.divide(1.0, weights, out=np.zeros_like(weights), where=weights > 0)
    H = B * inverse.astype(B.dtype)
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
    B = found.factor * weights.astype(found.factor.dtype)
    _, likelihood = relations.step(B, found.factor)
    return float(relations.unit * (likelihood - relations.total * np.log(weights.sum())))


def bipartite_rows(found: Factorization) -> FloatArray:
    """Probability of each cluster given the object, b_ip / d_i; the prior for a zero row."""
    B = found.factor * found.scale.astype(found.factor.dtype)
    return rows_or(B, cluster_prior(found.scale))


def cluster_prior(weights: FloatArray) -> FloatArray:
    """Weights of clusters as probabilities; even ones if all are zero."""
    total = float(weights.sum())
    return weights / total if total > 0 else np.full(len(weights), 1.0 / len(weights))


def rows_or(B: FloatArray, prior: FloatArray) -> FloatArray:
    """Rows divided by their sums; the prior in place of zero rows."""
    sums = B.sum(axis=1, keepdims=True)
    rows = np.where(sums > 0, B / np.where(sums > 0, sums, 1), prior)
    return np.asarray(make_rows_sum_to_one(rows), dtype=B.dtype)


def _moved(relations: Relations, state: State, power: int) -> State:
    from soffit.factorize._em_kernels import move_rows

    B = np.empty_like(state.B)
    move_rows(state.B, state.ratios, power, _NEGLIGIBLE, B)
    return evaluate(relations, B)


def _nothing_to_fit(rows: FloatArray) -> Factorization:
    """A matrix without any weight: no cluster has any, and any H will do."""
    n, m = rows.shape
    return Factorization(
        factor=np.full((n, m), 1.0 / n, dtype=rows.dtype),
        scale=np.zeros(m),
        objective=0.0,
        history=np.zeros(2),
        n_iter=1,
        stopped="converged",
    )
