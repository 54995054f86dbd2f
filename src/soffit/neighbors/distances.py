"""Distances between objects: all pairs of one set, or new objects against fitted ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from soffit._compile import interrupts_held
from soffit._matrix_checks import (
    checked_distance_block,
    checked_distances,
    mirror_upper,
)
from soffit._memory import DENSE_COPIES, check_allocation
from soffit._threads import each, row_blocks
from soffit._typing import FloatArray, Matrix, is_sparse
from soffit.graph import as_array
from soffit.neighbors.mixed.mixed_distance import MixedDistance

Metric: TypeAlias = str | Callable[..., float] | MixedDistance
Block: TypeAlias = Callable[[slice, slice], FloatArray]

# Metrics that scikit-learn passes to SciPy; its own ones come from `distance_metrics`.
# fmt: off
_SCIPY_METRICS = (
    "braycurtis", "canberra", "chebyshev", "correlation", "dice", "hamming", "jaccard",
    "mahalanobis", "minkowski", "rogerstanimoto", "russellrao", "seuclidean", "sokalsneath",
    "sqeuclidean", "yule",
)
# fmt: on
_SPARSE_METRICS = ("cityblock", "cosine", "euclidean", "l1", "l2", "manhattan", "sqeuclidean")
# Below this share of |x|^2 + |y|^2 the expanded square loses digits, so the difference is used.
_CANCELLATION = 1e-5
_DIRECT_ENTRIES = 2**20
# Above this share of near pairs it is faster to take the difference of all pairs.
_MANY = 0.05
_REMEDY = "Use affinity='nearest_neighbors', which keeps only near pairs."


def distances(
    X: Any, Y: Any = None, *, metric: Metric = "euclidean", n_jobs: int | None = None
) -> Matrix:
    """Distances between all objects of X, or from each object of X to each one of Y.

    Parameters
    ----------
    X : array or CSR matrix of features, or of distances if `metric="precomputed"`
        The objects in the rows.
    Y : like X, default None
        The fitted objects. For precomputed distances only its number of rows matters.
    metric : str or callable
        Any metric of scikit-learn, `"precomputed"`, or a function of two rows. The scales of
        "seuclidean" and "mahalanobis" come from Y, or from X when Y is None.
    n_jobs : int, default None
        Number of threads; does not change the result.

    Returns
    -------
    ndarray or csr_array
        Newly allocated. Without Y it is exactly symmetric with an exactly zero diagonal (an
        asymmetric function is evaluated for i < j only). It is sparse only for sparse precomputed
        distances: stored entries, zeros included, are the known distances.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.neighbors.distances import distances
    >>> distances(np.array([[0.0, 0.0], [3.0, 4.0]]))
    array([[0., 5.],
           [5., 0.]])
    """
    if isinstance(metric, str) and metric == "precomputed":
        return checked_distances(X) if Y is None else checked_distance_block(X, Y.shape[0])
    reference = X if Y is None else Y
    check_metric(metric, sparse=is_sparse(X) or is_sparse(reference))
    if X.shape[1] != reference.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, but the model was fitted with {reference.shape[1]}."
        )
    shape = (X.shape[0], reference.shape[0])
    dtype = np.dtype(np.float32 if X.dtype == np.float32 else np.float64)
    # Without Y this is the beginning of a dense fit.
    copies = DENSE_COPIES if Y is None else 1
    check_allocation(shape, dtype, what="the distance matrix", remedy=_REMEDY, copies=copies)
    out: FloatArray = np.empty(shape, dtype=dtype)
    block = _block(X, reference, metric)
    _fill(out, block, symmetric=Y is None, n_jobs=n_jobs)
    check_values(out, metric)
    return out


def objects_to_keep(X: Any, metric: Metric) -> Any:
    """What to keep as Y for `distances`: features, or only the number of objects."""
    precomputed = isinstance(metric, str) and metric == "precomputed"
    return np.empty((np.shape(X)[0], 0)) if precomputed else X


def unit_rows(X: Any) -> tuple[Any, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Rows divided by their Euclidean norm in float64, and which rows are zero."""
    values = X.astype(np.float64)
    # Dividing by the largest entry first keeps the squares within range.
    largest = _row_reduce(abs(values).max(axis=1))
    zero = largest == 0
    values = _scale_rows(values, 1 / np.where(zero, 1, largest))
    norms = np.sqrt(_squared_norms(values))
    return _scale_rows(values, 1 / np.where(zero, 1, norms)), zero


def _block(X: Any, Y: Any, metric: Metric) -> Block:
    """The function that computes blocks of the distances."""
    if isinstance(metric, MixedDistance):
        mixed = metric
        return lambda rows, columns: np.sqrt(mixed.squares(X[rows], Y[columns]))
    own = _OWN_METRICS.get(metric) if isinstance(metric, str) else None
    return own(X, Y) if own else _scikit_learn(X, Y, metric)


def check_metric(metric: Metric, *, sparse: bool) -> None:
    """Refuse unknown metrics, and those that do not take sparse features."""
    if callable(metric) or isinstance(metric, MixedDistance):
        return
    if not isinstance(metric, str):
        raise TypeError(f"metric must be a name or a callable, not {metric!r}.")
    if metric == "gower":
        raise ValueError(
            "metric='gower' prepares a whole table, so it is a parameter of models and of their "
            "affinities: pass SoftClustering(metric='gower'), or an affinity with this metric to "
            "a model."
        )
    if metric not in _OWN_METRICS and metric not in (known := _known_metrics()):
        raise ValueError(
            f"metric={metric!r} is unknown. Use for example 'euclidean', 'manhattan', 'cosine', "
            "'correlation', 'gower' for mixed tables, 'precomputed' or a callable; "
            f"all names: {', '.join(sorted(known))}."
        )
    if sparse and metric not in _SPARSE_METRICS:
        raise ValueError(
            f"metric={metric!r} does not accept sparse features. Pass X.toarray(), or use one of "
            f"{', '.join(_SPARSE_METRICS)}."
        )


def _known_metrics() -> set[str]:
    with interrupts_held():
        from sklearn.metrics.pairwise import distance_metrics

    return {*distance_metrics(), *_SCIPY_METRICS}


def _fill(out: FloatArray, block: Block, *, symmetric: bool, n_jobs: int | None) -> None:
    def fill_rows(rows: slice) -> None:
        columns = slice(rows.start if symmetric else 0, out.shape[1])
        out[rows, columns] = block(rows, columns)

    each(fill_rows, row_blocks(out.shape), n_jobs)
    if symmetric:
        mirror_upper(out)
        np.fill_diagonal(out, 0)


def check_values(D: FloatArray, metric: Metric) -> None:
    """Refuse distances that are not finite or negative; negative by rounding becomes 0."""
    name = metric if isinstance(metric, str) else getattr(metric, "__name__", repr(metric))

    def check_rows(rows: slice) -> None:
        count = int(np.count_nonzero(~np.isfinite(D[rows])))
        if count:
            raise ValueError(
                f"metric={name!r} is not a number or infinite for some pairs ({count} in objects "
                f"{rows.start} to {rows.stop - 1}), for example because an object is constant or "
                "zero. Remove such objects or use metric='euclidean'."
            )
        smallest = float(D[rows].min())
        # Rounding may leave tiny negative values, for instance in 1 - correlation.
        if smallest < -1e-6 * max(1.0, float(D[rows].max())):
            raise ValueError(
                f"metric={name!r} gave a negative distance ({smallest:.3g}). Distances must be "
                ">= 0; if the function measures similarity, pass it as affinity=, not as metric=."
            )
        np.maximum(D[rows], 0, out=D[rows])

    each(check_rows, row_blocks(D.shape))


def _euclidean(X: Any, Y: Any) -> Block:
    squared = _squared_euclidean(X, Y)
    scale = _power_of_two(X, Y)
    return lambda rows, columns: np.sqrt(squared(rows, columns)) * scale


def _sqeuclidean(X: Any, Y: Any) -> Block:
    squared = _squared_euclidean(X, Y)
    scale = _power_of_two(X, Y)
    return lambda rows, columns: squared(rows, columns) * scale * scale


def _cosine(X: Any, Y: Any) -> Block:
    """1 - cos = |u - v|^2 / 2 for unit rows, exact for near-parallel ones; zero rows: 1."""
    U, zero_u = unit_rows(X)
    V, zero_v = (U, zero_u) if Y is X else unit_rows(Y)
    squared = _squared_euclidean(U, V)
    # Parallel rows whose values were rounded to X's precision count as equal.
    rounding = (8 * np.finfo(X.dtype if X.dtype.kind == "f" else np.float64).eps) ** 2

    def block(rows: slice, columns: slice) -> FloatArray:
        D = squared(rows, columns) / 2
        D[rounding >= D] = 0
        D[zero_u[rows]] = 1
        D[:, zero_v[columns]] = 1
        return D

    return block


def _correlation(X: Any, Y: Any) -> Block:
    block = _scikit_learn(X, Y, "correlation")

    def rounded(rows: slice, columns: slice) -> FloatArray:
        D = block(rows, columns)
        # 1 - correlation of equal rows is rounding error: equal rows must have distance zero.
        D[np.abs(D) <= 16 * np.finfo(np.float64).eps] = 0
        return D

    return rounded


_OWN_METRICS: dict[str, Callable[[Any, Any], Block]] = {
    "euclidean": _euclidean,
    "l2": _euclidean,
    "sqeuclidean": _sqeuclidean,
    "cosine": _cosine,
    "correlation": _correlation,
}


def _squared_euclidean(X: Any, Y: Any) -> Block:
    """|x|^2 + |y|^2 - 2 xy in units of `_power_of_two`; near pairs from their difference."""
    scale = _power_of_two(X, Y)
    # Centring makes the norms, and with them the cancellation, as small as possible.
    centre = None if is_sparse(Y) else (np.asarray(Y, dtype=np.float64) / scale).mean(axis=0)
    A = _centred(X, scale, centre)
    B = A if Y is X else _centred(Y, scale, centre)
    norms_a, norms_b = _squared_norms(A), _squared_norms(B)

    def block(rows: slice, columns: slice) -> FloatArray:
        D = as_array(A[rows] @ B[columns].T)
        total = norms_a[rows, None] + norms_b[columns]
        D *= -2
        D += total
        total *= _CANCELLATION
        i, j = np.nonzero(total >= D)
        if len(i) > D.size * _MANY and not is_sparse(X):
            return _all_squared_differences(X[rows], Y[columns], scale)
        D[i, j] = _squared_differences(X[rows], Y[columns], i, j, scale)
        return D

    return block


def _squared_differences(X: Any, Y: Any, i: Any, j: Any, scale: float) -> FloatArray:
    """Squared distances of the pairs (i, j); exactly 0 for equal rows."""
    squares: FloatArray = np.empty(len(i), dtype=np.float64)
    step = max(1, _DIRECT_ENTRIES // max(X.shape[1], 1))
    for start in range(0, len(i), step):
        pairs = slice(start, start + step)
        x, y = X[i[pairs]].astype(np.float64), Y[j[pairs]].astype(np.float64)
        # Dividing first keeps the difference of very large values finite.
        squares[pairs] = _squared_norms(x / scale - y / scale)
    return squares


def _all_squared_differences(X: FloatArray, Y: FloatArray, scale: float) -> FloatArray:
    from scipy.spatial.distance import cdist

    x, y = X.astype(np.float64) / scale, Y.astype(np.float64) / scale
    return np.asarray(cdist(x, y, "sqeuclidean"))


def _power_of_two(X: Any, Y: Any) -> float:
    """A factor that keeps squares within range; 1 for data of ordinary size."""
    largest = max(float(abs(X).max()), float(abs(Y).max())) if X.shape[1] else 0.0
    if largest == 0 or 1e-100 < largest < 1e100:
        return 1.0
    return float(2.0 ** np.clip(np.floor(np.log2(largest)), -1000, 1000))


def _centred(X: Any, scale: float, centre: FloatArray | None) -> Any:
    scaled = X.astype(np.float64) / scale
    return scaled if centre is None else scaled - centre


def _squared_norms(X: Any) -> FloatArray:
    if is_sparse(X):
        return _row_reduce(X.multiply(X).sum(axis=1))
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _row_reduce(column: Any) -> FloatArray:
    """One value per row, from an array or from what sparse reductions return."""
    return as_array(column).astype(np.float64).ravel()


def _scale_rows(X: Any, factors: FloatArray) -> Any:
    if not is_sparse(X):
        return X * factors[:, None]
    scaled = sp.csr_array(X)
    scaled.data = scaled.data * np.repeat(factors, np.diff(scaled.indptr))
    return scaled


def _scikit_learn(X: Any, Y: Any, metric: Metric) -> Block:
    with interrupts_held():
        from sklearn.metrics.pairwise import PAIRWISE_BOOLEAN_FUNCTIONS, pairwise_distances

    if isinstance(metric, str) and metric in PAIRWISE_BOOLEAN_FUNCTIONS:
        X, Y = _as_boolean(X, metric), _as_boolean(Y, metric)
    parameters = metric_parameters(Y, metric)

    def block(rows: slice, columns: slice) -> FloatArray:
        return np.asarray(pairwise_distances(X[rows], Y[columns], metric=metric, **parameters))

    return block


def _as_boolean(X: Any, metric: str) -> Any:
    if X.dtype != bool and np.any((X != 0) & (X != 1)):
        raise ValueError(
            f"metric={metric!r} compares presence and absence, so all values must be 0 or 1. "
            "Pass X > 0, or use another metric."
        )
    return X.astype(bool)


def metric_parameters(Y: Any, metric: Metric) -> dict[str, Any]:
    """Scales that SciPy would take from both sets together; ours come from the fitted one."""
    if metric == "seuclidean":
        variance = np.var(Y, axis=0, ddof=1, dtype=np.float64) if len(Y) > 1 else np.ones(1)
        return {"V": np.broadcast_to(np.where(variance > 0, variance, 1.0), Y.shape[1]).copy()}
    if metric == "mahalanobis":
        if len(Y) < 2:
            return {"VI": np.eye(Y.shape[1])}
        covariance = np.atleast_2d(np.cov(Y, rowvar=False, dtype=np.float64))
        return {"VI": np.linalg.pinv(covariance, hermitian=True)}
    return {}
