"""The penalty method of SoF (Zhao et al. 2015, Algorithm 1), made safe.

Kept: the penalties of eq. 4, their growth by mu, and gradient steps that shrink by mu. Changed,
because the algorithm as printed diverges or stops early:

- the first step is 0.02 / ||A||_2, below 1 / (lambda K), and halved whenever eq. 4 would rise;
- a round ends by the size of the gradient, not of the step, which shrinks anyway;
- the hinge lifts a negative entry to zero but not beyond, so entries can rest there;
- the result is projected onto the simplex, which the penalties only approach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from soffit._threads import is_late
from soffit._typing import FloatArray, Matrix
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.problem import (
    Factorization,
    Problem,
    check_support,
    copy_start,
    exact_gram,
    loss,
    pair_gram,
)
from soffit.factorize.starts import project_rows
from soffit.graph import Graph

_POWER_STEPS = 50


def solve_penalty(
    problem: Problem,
    start: FloatArray,
    *,
    max_iter: int = 2000,
    tol: float = 1e-3,
    callback: Callback | None = None,
    lambda0: float = 10.0,
    mu: float = 2.0,
    eps2: float = 1e-4,
) -> Factorization:
    r"""Minimise the problem by a sequence of penalised problems without constraints.

    .. math:: \|A - W W^\top\|^2 - \lambda \sum_{ic} \min(0, W_{ic}) + \lambda \|W 1 - 1\|^2

    The penalised loss differs in every round, so its values do not measure progress. The history
    holds instead, for the start and after every round, the loss of the best factor with rows on the
    simplex found so far (the rounds' results, projected); that factor is returned.

    Parameters
    ----------
    problem : Problem
        What to fit: scale "none", diagonal included.
    start : array of shape (n, k)
        Rows on the simplex; not changed.
    max_iter : int
        Maximum number of gradient steps per round.
    tol : float
        A round ends when its gradient is shorter than `tol` times that of ``<A, W W'>`` at the
        start (eps1 of the paper, for the gradient). Converged if the last round ended this way.
    callback : callable, optional
        Called as ``callback(round, loss)`` after every round; if it returns True, the
        search stops.
    lambda0 : float
        Weight of both penalties in the first round; 1 to 10 works well.
    mu : float
        Factor by which the weights grow and the steps shrink per round, above 1.
    eps2 : float
        The search stops when the weights exceed ``1 / eps2``.

    Returns
    -------
    Factorization
        Factor, scale, loss, history (one entry per round) and the reason for stopping.

    References
    ----------
    Zhao, Poupart, Zhang and Lysy, SoF: Soft-cluster matrix factorization for probabilistic
    clustering, AAAI 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_penalty
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> start = np.random.default_rng(5).dirichlet(np.ones(2), size=6)
    >>> found = solve_penalty(Problem(A, 2, diagonal=True), start)
    >>> labels = found.factor.argmax(axis=1)
    >>> bool(labels[0] == labels[2] != labels[3] == labels[5])
    True
    """
    check_support("penalty", problem)
    _check_schedule(lambda0, mu, eps2)
    A = problem.matrix
    best = copy_start(problem, start)
    norm = problem.graph.squared_norm()
    ones = np.ones(problem.n_clusters)
    descent = Descent(_loss(A, best, norm), best, ones, norm=norm, callback=callback)
    target = tol * _length(4.0 * (A @ best))
    gamma = _first_step(A, lambda0, problem.n_clusters)
    # Late steps are below single precision, so W itself is kept in double.
    W: FloatArray = best.astype(np.float64)
    weight, converged = lambda0, False
    with descent:
        while weight <= 1.0 / eps2 and descent.stopped is None:
            penalised = _Penalised(A, norm, weight)
            W, gamma, converged = penalised.descend(W, gamma, target=target, max_iter=max_iter)
            feasible = project_rows(W.astype(best.dtype))
            value = _loss(A, feasible, norm)
            if value < descent.history[-1]:
                best = feasible
            descent.record(min(value, descent.history[-1]), best, ones)
            weight, gamma = weight * mu, gamma / mu
        descent.stop_if(converged and weight > 1.0 / eps2)
    return descent.result()


class _State(NamedTuple):
    """A point, the smooth part of its gradient, and its penalised loss."""

    W: FloatArray
    gradient: FloatArray
    value: float


class _Penalised:
    """The problem of eq. 4 for one weight of the penalties."""

    def __init__(self, A: Matrix, norm: float, weight: float) -> None:
        self.A = A
        self.norm = norm
        self.weight = weight

    def state(self, W: FloatArray) -> _State:
        """Loss and gradient (eq. 5 and 7) from one product with A."""
        product = self.A @ W.astype(self.A.dtype, copy=False)
        gram = W.T @ W
        excess = W.sum(axis=1, keepdims=True) - 1.0
        gradient = 4.0 * (W @ gram - product) + 2.0 * self.weight * excess
        misfit = self.norm - 2.0 * _inner(W, product) + _inner(gram, gram)
        hinge = -float(np.minimum(W, 0.0).sum(dtype=np.float64))
        return _State(W, gradient, misfit + self.weight * (hinge + _inner(excess, excess)))

    def slope(self, here: _State) -> float:
        """Length of the shortest subgradient: at zero the hinge allows all of [-weight, 0]."""
        left = here.gradient - self.weight
        at_zero = np.minimum(here.gradient, 0.0) + np.maximum(left, 0.0)
        shortest = np.where(here.W > 0, here.gradient, np.where(here.W < 0, left, at_zero))
        return _length(shortest)

    def step(self, here: _State, gamma: float) -> _State:
        """Gradient step; the hinge (eq. 6) then lifts negative entries, at most to zero."""
        V = here.W - gamma * here.gradient
        return self.state(np.maximum(V, np.minimum(V + gamma * self.weight, 0.0)))

    def descend(
        self, W: FloatArray, gamma: float, *, target: float, max_iter: int
    ) -> tuple[FloatArray, float, bool]:
        """Steps until the gradient is shorter than the target; returns point, step and success.

        A round that takes longer than a fit may take ends early.
        """
        here = self.state(W)
        slack = 16.0 * float(np.finfo(self.A.dtype).eps) * (self.norm + here.value)
        for _ in range(max_iter):
            if self.slope(here) <= target:
                return here.W, gamma, True
            if is_late():
                break
            there = self.step(here, gamma)
            if there.value <= here.value + slack:
                here = there
            else:
                gamma /= 2.0
        return here.W, gamma, self.slope(here) <= target


def _check_schedule(lambda0: float, mu: float, eps2: float) -> None:
    """Raise if the rounds would not start or not end."""
    if not lambda0 > 0:
        raise ValueError(f"lambda0 must be positive, got {lambda0!r}.")
    if not mu > 1:
        raise ValueError(f"mu must be above 1 for the penalties to grow, got {mu!r}.")
    if not 0 < eps2 <= 1 / lambda0:
        raise ValueError(f"eps2 must lie in (0, 1 / lambda0] to allow a round, got {eps2!r}.")


def _first_step(A: Matrix, weight: float, n_clusters: int) -> float:
    """0.02 / ||A||_2, and half of what the curvature of the row-sum penalty, 2 weight K, allows."""
    # Power iteration: A is nonnegative, so a constant vector overlaps with the leading direction.
    x = np.ones(A.shape[0], dtype=A.dtype)
    size = 0.0
    for _ in range(_POWER_STEPS):
        x = A @ (x / max(float(np.linalg.norm(x)), 1e-30))
        size = float(np.linalg.norm(x))
    return min(0.02 / max(size, 1e-30), 0.5 / (weight * float(n_clusters)))


def _loss(A: Matrix, W: FloatArray, norm: float) -> float:
    b = Graph.of(A).column_forms(W)
    return loss(norm, b, pair_gram(W, exact_gram(W), diagonal=True), np.ones(W.shape[1]))


def _inner(X: FloatArray, Y: FloatArray) -> float:
    return float(np.einsum("ij,ij->", X, Y, dtype=np.float64))


def _length(X: FloatArray) -> float:
    return float(np.sqrt(_inner(X, X)))
