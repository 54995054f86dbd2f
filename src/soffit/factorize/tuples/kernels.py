"""Compiled loops of the factorization of sampled tuples. They check nothing and change `G`.

Notation: tuple t holds the objects tuples[t], has value v_t and weight m_t, and is fitted by
sum_r prod_a G[tuples[t, a], r]. The tuples of object i are members[indptr[i]:indptr[i + 1]].
"""

from __future__ import annotations

import numpy as np

from soffit._compile import njit

# Ratio steps per row and sweep; they are cheap compared with the row's linear terms.
_ROW_STEPS = 10
# Smaller entries become zero: their products would be slow subnormal numbers.
_TINY = 1e-60


@njit(cache=True, nogil=True)
def _others(i, t, tuples, G, product):
    """Products over the objects of tuple t other than i; returns how often i occurs."""
    k = G.shape[1]
    times = 0
    for r in range(k):
        product[r] = 1.0
    for a in range(tuples.shape[1]):
        j = tuples[t, a]
        if j == i:
            times += 1
        else:
            for r in range(k):
                product[r] *= G[j, r]
    return times


@njit(cache=True, nogil=True)
def _move_row(i, own, tuples, values, weights, G, Q, c, product):
    """Ratio steps on a row whose tuples hold the object once: min g'Qg - 2c'g over g >= 0.

    The step g <- g c / (Qg) minimises an upper bound that touches the objective at g, for all
    entries of the row at once (Lee and Seung's argument), so the loss cannot rise.
    """
    k = G.shape[1]
    Q[:] = 0.0
    c[:] = 0.0
    for e in range(own.shape[0]):
        t = own[e]
        _others(i, t, tuples, G, product)
        for r in range(k):
            weighted = weights[t] * product[r]
            c[r] += weighted * values[t]
            for s in range(r + 1):
                Q[r, s] += weighted * product[s]
    for r in range(k):
        for s in range(r):
            Q[s, r] = Q[r, s]
    for _ in range(_ROW_STEPS):
        for r in range(k):
            product[r] = G[i, r]
        for r in range(k):
            fitted = 0.0
            for s in range(k):
                fitted += Q[r, s] * product[s]
            # Without any fit in a column the entry can never matter: there is no evidence.
            G[i, r] = product[r] * c[r] / fitted if fitted > 0.0 else 0.0
    for r in range(k):
        if G[i, r] < _TINY:
            G[i, r] = 0.0


@njit(cache=True, nogil=True)
def _move_repeated_row(i, most, own, tuples, values, weights, G, above, below, product):
    """One step on a row whose object occurs up to `most` times in a tuple.

    A tuple with c occurrences is a polynomial of degree 2c in the row. With x the ratio of new to
    old entries, x^c >= 1 + c(x - 1) and x^2c <= 1 + (c / most)(x^(2 most) - 1) bound the loss by
    a sum over entries with its minimum at x = (above / below)^(1 / (2 most - 1)).
    """
    k = G.shape[1]
    above[:] = 0.0
    below[:] = 0.0
    for e in range(own.shape[0]):
        t = own[e]
        times = _others(i, t, tuples, G, product)
        fit = 0.0
        for r in range(k):
            product[r] *= G[i, r] ** times
            fit += product[r]
        for r in range(k):
            weighted = weights[t] * times * product[r]
            above[r] += weighted * values[t]
            below[r] += weighted * fit
    for r in range(k):
        ratio = above[r] / below[r] if below[r] > 0.0 else 0.0
        G[i, r] *= ratio ** (1.0 / (2 * most - 1))
        if G[i, r] < _TINY:
            G[i, r] = 0.0


@njit(cache=True, nogil=True)
def sweep(indptr, members, most, tuples, values, weights, G):
    """One Gauss-Seidel pass over the rows; `most` is the maximum multiplicity in a tuple."""
    n, k = G.shape
    Q = np.empty((k, k))
    c = np.empty(k)
    below = np.empty(k)
    product = np.empty(k)
    for i in range(n):
        own = members[indptr[i] : indptr[i + 1]]
        if own.shape[0] == 0:
            continue
        if most[i] == 1:
            _move_row(i, own, tuples, values, weights, G, Q, c, product)
        else:
            _move_repeated_row(i, most[i], own, tuples, values, weights, G, c, below, product)


@njit(cache=True, nogil=True)
def tuple_sums(tuples, values, weights, G):
    """Weighted sums over the tuples: squared residual, value times fit, and squared fit."""
    k = G.shape[1]
    loss, agreement, square = 0.0, 0.0, 0.0
    for t in range(tuples.shape[0]):
        fit = 0.0
        for r in range(k):
            product = 1.0
            for a in range(tuples.shape[1]):
                product *= G[tuples[t, a], r]
            fit += product
        loss += weights[t] * (values[t] - fit) ** 2
        agreement += weights[t] * values[t] * fit
        square += weights[t] * fit * fit
    return loss, agreement, square
