"""Factorization of an array of tuple affinities, known on sampled tuples only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from soffit._threads import check_time
from soffit._typing import FloatArray, IntArray
from soffit.factorize.descent import Callback, Descent
from soffit.factorize.problem import Factorization
from soffit.factorize.starts import random_start, spectral_start
from soffit.normalize import degree

# A loss below this share of the values' squared norm counts as an exact fit.
_EXACT = 1e-8


def solve_tuples(
    tuples: IntArray,
    values: FloatArray,
    n_objects: int,
    start: FloatArray,
    *,
    weights: FloatArray | None = None,
    max_iter: int = 200,
    tol: float = 1e-5,
    callback: Callback | None = None,
) -> Factorization:
    r"""Fit a supersymmetric array by a sum of powers on sampled tuples.

    .. math:: \min_{G \ge 0} \sum_t m_t \Big(v_t - \sum_r \prod_{a=1}^{p} G_{t_a r}\Big)^2

    With all other rows fixed, the loss is quadratic in the row of an object that no tuple holds
    twice. Rows are updated in turn by the ratio steps of Zass and Shashua (eq. 6), which lower the
    loss for all entries of a row at once; where a tuple holds an object c times, by the root of
    degree 2c - 1 of the ratio, which cannot raise it either. The cost of a sweep is proportional to
    the number of sampled tuples. Converged when a sweep lowers the loss by less than `tol` times
    its value, or when the fit is exact to four digits.

    Parameters
    ----------
    tuples : int array of shape (t, order)
        Objects of each tuple.
    values : array of shape (t,)
        Their affinities, at least 0.
    n_objects : int
        Number of objects. Those in no tuple get a row of zeros.
    start : array of shape (n_objects, k)
        Nonnegative; not changed. It is rescaled to fit the values best.
    weights : array of shape (t,), optional
        Weights of the tuples, at least 0; 1 by default.
    max_iter : int
        Maximum number of sweeps.
    tol : float
        Relative decrease below which the search stops.
    callback : callable, optional
        Called as ``callback(iteration, loss)`` after every sweep; if it returns True, the
        search stops.

    Returns
    -------
    Factorization
        Factor, loss, history and the reason for stopping; the scale is 1.

    References
    ----------
    R. Zass and A. Shashua (2005). A unifying approach to hard and probabilistic clustering.
    ICCV, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import random_start, solve_tuples
    >>> triples = np.array([[0, 1, 2], [3, 4, 5], [0, 1, 3], [2, 4, 5]])
    >>> start = random_start(6, 2, np.random.RandomState(0))
    >>> solve_tuples(triples, np.array([1.0, 1.0, 0.0, 0.0]), 6, start).factor.shape
    (6, 2)
    """
    from soffit.factorize.tuples.kernels import sweep, tuple_sums

    known = known_tuples(tuples, values, n_objects, weights)
    G = _copy_start(start, n_objects)
    data = (known.tuples, known.values, known.weights)
    _, agreement, square = tuple_sums(*data, G)
    if agreement > 0 and square > 0:
        G *= (agreement / square) ** (1.0 / known.order)
    membership = _member_lists(known.tuples, n_objects)
    G[np.diff(membership[0]) == 0] = 0.0
    norm = float(np.sum(known.weights * known.values**2))
    ones = np.ones(G.shape[1])
    descent = Descent(tuple_sums(*data, G)[0], G, ones, norm=norm, callback=callback)
    with descent:
        while descent.running(max_iter):
            sweep(*membership, *data, G)
            descent.record(tuple_sums(*data, G)[0], G, ones)
            descent.stop_if(descent.has_converged(tol) or descent.history[-1] <= _EXACT * norm)
    if descent.interrupted:
        descent.record_interrupted(tuple_sums(*data, G)[0], G, ones)
    return descent.result()


def _copy_start(start: FloatArray, n_objects: int) -> FloatArray:
    G = np.array(start, dtype=np.float64, order="C")
    if G.ndim != 2 or len(G) != n_objects:
        raise ValueError(f"start must have {n_objects} rows, one per object, got shape {G.shape}.")
    if not (np.isfinite(G).all() and (G >= 0).all()):
        raise ValueError("start must be nonnegative and finite.")
    return G


def _member_lists(tuples: IntArray, n_objects: int) -> tuple[IntArray, IntArray, IntArray]:
    """Tuples of every object in CSR form, and its maximum multiplicity in one of them."""
    n_tuples = len(tuples)
    keys = tuples * n_tuples + np.arange(n_tuples)[:, None]
    pairs, times = np.unique(keys.ravel(), return_counts=True)
    objects, members = np.divmod(pairs, n_tuples)
    indptr = np.searchsorted(objects, np.arange(n_objects + 1))
    most = np.ones(n_objects, dtype=np.int64)
    np.maximum.at(most, objects[times > 1], times[times > 1])
    return indptr, members, most


# --- starts ---------------------------------------------------------------------------------------


def tuple_start(
    tuples: IntArray,
    values: FloatArray,
    n_objects: int,
    n_clusters: int,
    *,
    weights: FloatArray | None = None,
    random_state: np.random.RandomState,
) -> FloatArray:
    """Rows from the array flattened to pairs: its leading eigenvectors, or random if isolated."""
    known = known_tuples(tuples, values, n_objects, weights)
    A = flatten_tuples(known.tuples, known.weights * known.values, n_objects)
    if A.nnz == 0:
        return random_start(n_objects, n_clusters, random_state)
    seed = int(random_state.randint(2**31 - 1))
    return spectral_start(degree(A).matrix, n_clusters, random_state=seed)


def flatten_tuples(tuples: IntArray, values: FloatArray, n_objects: int) -> sp.csr_array:
    """Pairwise affinities: sums over the tuples that hold both objects at different positions."""
    # All pairs of a tuple: this takes long for high orders.
    check_time()
    order = tuples.shape[1]
    first, second = np.triu_indices(order, 1)
    positive = values > 0
    rows, columns = tuples[positive][:, first].ravel(), tuples[positive][:, second].ravel()
    data = np.repeat(values[positive], len(first))
    apart = rows != columns
    shape = (n_objects, n_objects)
    half = sp.coo_array((data[apart], (rows[apart], columns[apart])), shape=shape).tocsr()
    return sp.csr_array(half + half.T)


# --- input --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class KnownTuples:
    """Tuples with a positive weight, checked."""

    tuples: IntArray
    values: FloatArray
    weights: FloatArray

    @property
    def order(self) -> int:
        """Objects per tuple."""
        return int(self.tuples.shape[1])


def known_tuples(tuples: Any, values: Any, n_objects: int, weights: Any = None) -> KnownTuples:
    """Tuples, values and weights as checked arrays."""
    members = np.asarray(tuples)
    if members.ndim != 2 or members.shape[0] == 0 or members.shape[1] < 2:
        raise ValueError(
            f"tuples must hold at least one tuple of at least two objects, got shape "
            f"{members.shape}. Pass an integer array of shape (n_tuples, order)."
        )
    if not np.issubdtype(members.dtype, np.integer):
        raise TypeError(f"tuples must hold integers, got {members.dtype}. Pass object numbers.")
    low, high = int(members.min()), int(members.max())
    if low < 0 or high >= n_objects:
        raise ValueError(
            f"tuples must hold object numbers from 0 to n_objects - 1 = {n_objects - 1}, got "
            f"{low if low < 0 else high}. Number the objects from 0, or raise n_objects."
        )
    members = np.ascontiguousarray(members, dtype=np.int64)
    numbers = _one_per_tuple("values", values, len(members))
    if weights is None:
        return KnownTuples(members, numbers, np.ones(len(members)))
    masses = _one_per_tuple("weights", weights, len(members))
    used = masses > 0
    if not used.any():
        raise ValueError("weights are all 0: nothing is known. Give some tuples a weight above 0.")
    return KnownTuples(members[used], numbers[used], masses[used])


def _one_per_tuple(name: str, given: Any, n_tuples: int) -> FloatArray:
    numbers = np.array(given, dtype=np.float64)
    if numbers.shape != (n_tuples,):
        raise ValueError(
            f"{name} must hold one number per tuple, shape ({n_tuples},), got {numbers.shape}."
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite, but has NaN or infinity. Leave those tuples out.")
    if (numbers < 0).any():
        raise ValueError(
            f"{name} must be at least 0, got {numbers.min():.6g}. Clip or shift negative {name}."
        )
    return numbers
