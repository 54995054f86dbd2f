"""Slow, plain NumPy twins of the factorization kernels and losses: definitions, term by term."""

from __future__ import annotations

from itertools import combinations

import numpy as np


def dense(A):
    return A if isinstance(A, np.ndarray) else A.toarray()


def pair_weights(problem):
    """The weight of every pair, the rule for the diagonal included."""
    n = problem.n_objects
    weight = problem.pair_weight
    weights = np.ones((n, n)) if weight is None else dense(weight).astype(float).copy()
    if not problem.diagonal:
        np.fill_diagonal(weights, 0.0)
    return weights


def problem_loss(problem, W, s):
    """Over all pairs: weight times squared misfit, and what side information asks."""
    U = problem.row_factors().astype(float)[:, None] * np.asarray(W, dtype=float)
    misfit = dense(problem.matrix).astype(float) - (U * s) @ U.T
    loss = float(np.sum(pair_weights(problem) * misfit**2))
    if problem.side is None:
        return loss
    S, W = dense(problem.side), np.asarray(W, dtype=float)
    return loss + float(np.sum(np.maximum(S, 0.0) - S * (W @ W.T)))


def simplex_minimum(Q, c):
    """Minimise w'Qw - 2c'w over the simplex by trying every support."""
    k = len(c)
    best, best_value = None, np.inf
    for size in range(1, k + 1):
        for support in map(list, combinations(range(k), size)):
            w = _minimum_on_support(Q, c, support)
            if w is not None and w @ Q @ w - 2 * c @ w < best_value:
                best, best_value = w, w @ Q @ w - 2 * c @ w
    return best, best_value


def _minimum_on_support(Q, c, support):
    """The stationary point of the sum-to-one problem on a support, if it is nonnegative."""
    size = len(support)
    system = np.zeros((size + 1, size + 1))
    system[:size, :size] = Q[np.ix_(support, support)]
    system[:size, size] = system[size, :size] = 1.0
    solution = np.linalg.lstsq(system, np.append(c[support], 1.0), rcond=None)[0][:size]
    if solution.min() < -1e-12 or abs(solution.sum() - 1.0) > 1e-9:
        return None
    w = np.zeros(len(c))
    w[support] = np.maximum(solution, 0.0)
    return w


def row_terms(problem, W, s, i):
    """Q and c of the problem of row i, all other rows fixed, summed pair by pair."""
    A, weights, theta = dense(problem.matrix), pair_weights(problem), problem.row_factors()
    k = W.shape[1]
    Q, c = np.zeros((k, k)), np.zeros(k)
    for j in range(len(W)):
        if j != i:
            direction = theta[i] * theta[j] * s * W[j]
            Q += weights[i, j] * np.outer(direction, direction)
            c += weights[i, j] * A[i, j] * direction
    return Q, c


def gauss_seidel_sweep(problem, W, s):
    """One pass over the rows, each solved exactly against the rows as they are by then."""
    W = np.array(W, dtype=float)
    for i in range(len(W)):
        Q, c = row_terms(problem, W, s, i)
        if np.any(Q):
            W[i] = simplex_minimum(Q, c)[0]
    return W


def scale_statistics(problem, W):
    """The b and H of the loss as a quadratic in the scales, pair by pair."""
    U = problem.row_factors().astype(float)[:, None] * np.asarray(W, dtype=float)
    A, weights = dense(problem.matrix), pair_weights(problem)
    products = U[:, None, :] * U[None, :, :]
    b = np.einsum("ij,ij,ijc->c", weights, A, products)
    H = np.einsum("ij,ijc,ijd->cd", weights, products, products)
    return b, H
