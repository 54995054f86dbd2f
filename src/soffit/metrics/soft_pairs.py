"""Agreement of two soft clusterings over pairs of objects, corrected for chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from soffit._memory import check_allocation
from soffit._parameters import WholeNumber, check_parameter
from soffit._typing import FloatArray, IntArray
from soffit.graph import as_array
from soffit.memberships.matching import check_same_length, encode_labels
from soffit.metrics.hard import adjusted_rand
from soffit.metrics.soft import check_probabilities

# Relative size below which a denominator is only rounding error.
_ROUNDING = 1e-12
# Root mean square below which differences between objects are only rounding error.
_ROUNDING_OF_MEMBERSHIPS = 1e-15


@dataclass(frozen=True)
class _Centred:
    """Memberships split into their column means and the residual."""

    means: FloatArray
    rest: FloatArray

    @property
    def total(self) -> float:
        """Sum of all entries of A = U U^T, divided by n^2."""
        return float(self.means @ self.means)

    @property
    def spread(self) -> float:
        """Trace of A minus the sum of its entries divided by n."""
        return float(np.vdot(self.rest, self.rest))

    @property
    def constant(self) -> bool:
        """Whether all objects have the same memberships."""
        return bool(self.spread <= self.rest.shape[0] * _ROUNDING_OF_MEMBERSHIPS**2)


def frobenius_ari(first: ArrayLike, second: ArrayLike) -> float:
    r"""Frobenius adjusted Rand index of two soft clusterings.

    Let :math:`A = U U^\top`, :math:`B = V V^\top` (n x n), s the sum of all entries, t the trace
    and f the squared Frobenius norm of each. Andrews, Browne and Hvingelby scale each matrix to
    :math:`N(A) = (s_A / f_A) A`, define the Rand index

    .. math:: R = \frac{\langle N(A), N(B)\rangle
              + \langle J - N(A), J - N(B)\rangle - n}{n(n-1)}

    with J all ones, and correct it for chance as :math:`(R - E)/(1 - E)`, E being the mean of R
    over all permutations of the objects of one clustering. This is the same as

    .. math:: \frac{\langle A, B\rangle - e}
              {\tfrac12 (f_A s_B / s_A + f_B s_A / s_B) - e}, \qquad
              e = \frac{s_A s_B}{n^2}
              + \frac{(t_A - s_A/n)(t_B - s_B/n)}{n - 1},

    which is computed from k x k products of the column-centred memberships. No n x n matrix is
    formed; the cost is O(n k^2).

    The value is at most 1, reached only if A and B are proportional, which for hard clusterings
    means equal; 0 is the mean under permutation; negative values are possible. For two hard
    clusterings it equals `adjusted_rand`. If all objects have the same memberships in both, or all
    are singletons in both, A and B are proportional and the value is 1.

    Parameters
    ----------
    first, second : array of shape (n, k) or (n,)
        Memberships whose rows sum to one, or labels. The numbers of clusters may differ.

    Returns
    -------
    float

    References
    ----------
    Andrews, Browne and Hvingelby (2022). On assessments of agreement between fuzzy partitions.
    Journal of Classification 39, 326-342.

    Examples
    --------
    >>> from soffit.metrics import frobenius_ari
    >>> memberships = [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.3, 0.7]]
    >>> round(frobenius_ari(["a", "a", "b", "b"], memberships), 4)
    0.6033
    >>> frobenius_ari([0, 0, 1, 1], [0, 1, 0, 1])
    -0.5
    """
    if np.ndim(first) == 1 and np.ndim(second) == 1:
        return adjusted_rand(first, second)
    U, V = _memberships(first, "first"), _memberships(second, "second")
    check_same_length(U.shape[0], V.shape[0], "first", "second")
    if U.shape[0] == 1:
        return 1.0
    return _adjusted_frobenius(_centre(U), _centre(V), U.shape[0])


def _adjusted_frobenius(U: _Centred, V: _Centred, n_objects: int) -> float:
    """The closed form; s_A s_B / n^2 is left out of all terms, where it would cancel."""
    if U.constant or V.constant:
        return float(U.constant and V.constant)
    U_total, V_total = U.total, V.total
    by_chance = U.spread * V.spread / (n_objects - 1)
    largest = 0.5 * (
        _excess(U, U, n_objects) * V_total / U_total + _excess(V, V, n_objects) * U_total / V_total
    )
    if largest - by_chance <= _ROUNDING * largest:  # Every object alone in both.
        return 1.0
    return (_excess(U, V, n_objects) - by_chance) / (largest - by_chance)


def _excess(U: _Centred, V: _Centred, n_objects: int) -> float:
    """<U U^T, V V^T> minus s_A s_B / n^2, by splitting U = 1 m^T + rest."""
    product = U.rest.T @ V.rest
    return float(2 * n_objects * (U.means @ product @ V.means) + np.vdot(product, product))


def _centre(memberships: FloatArray) -> _Centred:
    # Subtract one object first: differences are exactly zero where the memberships are constant.
    rest = memberships - memberships[0]
    shift = rest.mean(axis=0)
    rest -= shift
    return _Centred(means=memberships[0] + shift, rest=rest)


def _memberships(clustering: Any, name: str) -> FloatArray:
    if np.ndim(clustering) != 1:
        return as_array(check_probabilities(clustering, name))
    codes, n_clusters = encode_labels(clustering, name)
    check_allocation(
        (codes.size, n_clusters),
        np.float64,
        what="frobenius_ari",
        remedy="Use fewer distinct labels, or adjusted_rand on two label vectors.",
        copies=2,
    )
    return np.eye(n_clusters)[codes]


def expected_ari(
    memberships: ArrayLike,
    other: ArrayLike,
    *,
    n_draws: int = 100,
    random_state: int | np.random.RandomState | None = None,
) -> float:
    """Mean adjusted Rand index of labels drawn from the memberships.

    Each draw assigns every object a random cluster, with its memberships as probabilities and
    independently of the others. Range -1/2 to 1. It is 1 only for equal hard clusterings: two
    equal but soft ones score less, because their draws differ.

    Parameters
    ----------
    memberships : array of shape (n, k)
        Rows sum to one.
    other : array of shape (n,) or (n, k_other)
        True labels, or memberships from which labels are drawn as well.
    n_draws : int, default 100
        Number of draws.
    random_state : int, RandomState or None
        Seed of the draws.

    Returns
    -------
    float

    Examples
    --------
    >>> from soffit.metrics import expected_ari
    >>> expected_ari([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], ["a", "a", "b"], random_state=7)
    1.0
    """
    check_parameter("n_draws", n_draws, WholeNumber(1))
    random = check_random_state(random_state)
    values = as_array(check_probabilities(memberships, "memberships"))
    if np.ndim(other) == 1:
        fixed, _ = encode_labels(other, "other")
        check_same_length(values.shape[0], fixed.size, "memberships", "other")
        scores = [adjusted_rand(fixed, _draw(values, random)) for _ in range(n_draws)]
    else:
        others = as_array(check_probabilities(other, "other"))
        check_same_length(values.shape[0], others.shape[0], "memberships", "other")
        scores = [
            adjusted_rand(_draw(others, random), _draw(values, random)) for _ in range(n_draws)
        ]
    return float(np.mean(scores))


def _draw(memberships: FloatArray, random: np.random.RandomState) -> IntArray:
    """One label per row, by inverting the row's cumulative sum."""
    cumulative = memberships.cumsum(axis=1)
    # Scaled by the row's own total, which may differ from one by rounding.
    threshold = random.uniform(size=(memberships.shape[0], 1)) * cumulative[:, -1:]
    return np.asarray((cumulative[:, :-1] <= threshold).sum(axis=1), dtype=np.int64)
