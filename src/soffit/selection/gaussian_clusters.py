r"""Gaussian clusters: how probable the objects are as k of them, whatever their parameters.

The density of a table has modes only where clusters are well apart; in few objects, or in many
dimensions, it hardly shows them. A parametric model is then the stronger evidence. Each partition
is taken as k Gaussian clusters, whose means and covariances are integrated out: with a conjugate
prior the marginal likelihood of a cluster has a closed form, which needs no minimal number of
objects. Cutting one Gaussian cluster in two makes the objects less probable, by about 0.19 nats
each.

A skewed or heavy-tailed variable is not Gaussian, and is described better by several clusters, too.
Each variable is therefore first transformed to be as close to normal as one cluster can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import gammaln

from soffit._compile import interrupts_held
from soffit._typing import FloatArray, IntArray, is_sparse
from soffit.affinity import NeighborGraph
from soffit.neighbors.mixed.mixed_distance import MixedDistance

# A sample represents many objects.
_MOST_POINTS = 4000
# Distances between more objects are not turned into coordinates.
_MOST_SCALED = 1500
# Wider tables are first projected on so many principal components.
_WIDE = 30
# The principal components kept: those with at least this share of the mean variance (Jolliffe's
# rule), at most this many, and one per so many points.
_LEAST_VARIANCE = 0.7
_MOST_COMPONENTS = 8
_POINTS_PER_COMPONENT = 8
# Exponents of the transformation; 1 leaves a variable as it is.
_EXPONENTS = (-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5)
# Prior of a cluster's mean, in objects; and of its covariance, as shares of that of all objects,
# the most probable of which is taken.
_PRIOR_OBJECTS = 0.05
_PRIOR_SHARES = (1.0, 0.25, 0.06, 0.015)
_PRIOR_SHAPE = 2.0
# Variances of clusters are at least about this share of the total: ties are no narrow clusters.
_NARROWEST = 1e-6
# Clusters that need not follow a partition of the graph: at most so many of them, of a sample of
# the points, improved by so many steps. So many of the widest are split to get one more.
_MOST_FREE = 8
_MOST_FREE_POINTS = 400
_STEPS = 8
_SPLITS = 2
# The share of the total covariance that keeps those of clusters away from zero meanwhile.
_STEADYING = 0.06
# More than so many nats in favour of several clusters do not change the choice.
_PLENTY = 40.0
# Fewer objects are no cluster of their own there.
_FEWEST = 2
# The number of this kind of covariance.
_ONE_VARIANCE = 2


@dataclass(frozen=True, eq=False)
class Points:
    """Coordinates of some of the objects."""

    rows: FloatArray  # (m, p): the coordinates.
    node: IntArray  # (m,): the object, or the node of a graph, that each belongs to.

    @classmethod
    def of(cls, graph: NeighborGraph, table: Any = None) -> Points | None:
        """From what a graph was built of; None if that has no coordinates.

        `graph`: fitted.
        `table`: the distances, if they are the input of the graph.
        """
        n = graph.matrix_.shape[0]
        chosen = np.arange(n)
        if n > _MOST_POINTS:
            chosen = np.sort(np.random.default_rng(0).permutation(n)[:_MOST_POINTS])
        rows = _coordinates(graph, chosen, table)
        if rows is None or not np.isfinite(rows).all():
            return None
        return cls(rows, chosen)

    @classmethod
    def of_similarities(cls, A: FloatArray) -> Points | None:
        r"""Coordinates with squared distances :math:`2 (1 - a_{ij} / \sqrt{m_i m_j})`.

        The largest similarity of object i to another one, m, is what it could at most have in
        common with an object: for correlations, an estimate of the communality of a variable. The
        diagonal does not matter.
        """
        A = np.array(A, dtype=np.float64)
        np.fill_diagonal(A, 0.0)
        unit = np.sqrt(A.max(axis=1))
        if len(A) > _MOST_SCALED or not (unit > 0).all():
            return None
        squares = 2 * np.maximum(1 - A / unit[:, None] / unit, 0.0)
        np.fill_diagonal(squares, 0.0)
        rows = _scaled(np.sqrt(squares))
        return None if rows is None else cls(rows, np.arange(len(A)))

    def of_nodes(self, objects: IntArray, node: IntArray | None) -> Points | None:
        """Those of some objects, or of the nodes that represent them; None if there are none."""
        place = np.full(int(max(self.node.max(), objects.max())) + 1, -1)
        place[objects] = np.arange(len(objects)) if node is None else node
        kept = np.flatnonzero(place[self.node] >= 0)
        return Points(self.rows[kept], place[self.node[kept]]) if len(kept) else None


def _coordinates(graph: NeighborGraph, chosen: IntArray, table: Any) -> FloatArray | None:
    metric = graph.metric
    if isinstance(metric, str) and metric == "precomputed":
        if table is None or is_sparse(table) or len(table) > _MOST_SCALED:
            return None
        return _scaled(np.asarray(table, dtype=np.float64))
    if not isinstance(metric, str | MixedDistance):
        return None
    rows = graph.fitted_rows(chosen)
    if isinstance(metric, MixedDistance):
        rows = metric.embedded(rows)
    elif metric == "cosine":
        rows = _of_unit_length(rows)
    if is_sparse(rows) or rows.shape[1] > _WIDE:
        return _leading_components(rows)
    return np.asarray(rows, dtype=np.float64)


def _of_unit_length(rows: Any) -> Any:
    with interrupts_held():
        from sklearn.preprocessing import normalize

    return normalize(rows)


def _scaled(distances: FloatArray) -> FloatArray | None:
    """Classical scaling: coordinates with these distances, as far as there are any."""
    squares = -(distances**2) / 2
    squares = squares - squares.mean(axis=0)
    squares = squares - squares.mean(axis=1, keepdims=True)
    if not np.isfinite(squares).all():
        return None
    values, vectors = np.linalg.eigh((squares + squares.T) / 2)
    kept = np.argsort(-values)[: min(_WIDE, len(values))]
    kept = kept[values[kept] > 1e-9 * max(float(values.max()), 0.0)]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept])) if len(kept) else None


def _leading_components(rows: Any) -> FloatArray | None:
    """The first principal components of a wide or sparse table."""
    from scipy.sparse.linalg import LinearOperator, svds

    n, d = rows.shape
    number = min(_WIDE, n - 1, d - 1)
    if number < 1:
        return None
    mean = np.asarray(rows.mean(axis=0), dtype=np.float64).ravel()
    centred = LinearOperator(
        (n, d),
        matvec=lambda v: rows @ v.ravel() - float(mean @ v.ravel()),
        rmatvec=lambda u: rows.T @ u.ravel() - mean * float(u.sum()),
        dtype=np.float64,
    )
    start = np.random.default_rng(0).normal(size=min(n, d))
    left, values, _ = svds(centred, k=number, v0=start)
    order = np.argsort(-values)
    return np.asarray(left[:, order] * values[order])


def prepared(points: Points) -> FloatArray:
    """The principal components that matter, of variables as close to normal as one cluster is."""
    return _components(_straightened(points.rows))


def log_evidence(Z: FloatArray, labels: Callable[[int], IntArray], most: int) -> FloatArray:
    """Logarithm of the marginal likelihood of 1, 2, ..., `most` clusters, relative to one.

    `Z` (n, d): prepared coordinates.
    `labels`: the partition of these objects into a number of clusters.
    `most`: the largest number.
    """
    products = Z[:, :, None] * Z[:, None, :]
    found = np.array([_of_partition(Z, products, labels(k))[0] for k in range(1, most + 1)])
    return np.asarray(found - found[0])


def log_evidence_of_several(Z: FloatArray, labels: Callable[[int], IntArray], most: int) -> float:
    """Logarithm of the marginal likelihood of the best few clusters, relative to one, per object.

    The partition of a graph may miss the most probable clusters of few objects: each neighbourhood
    holds objects of several ones. It is improved by moving objects to the cluster in which they are
    most probable; the clusters of the best partition so far are also split to get one more.

    Arguments are those of `log_evidence`.
    """
    chosen = np.arange(len(Z))
    if len(Z) > _MOST_FREE_POINTS:
        chosen = np.sort(np.random.default_rng(0).permutation(len(Z))[:_MOST_FREE_POINTS])
        Z = Z[chosen]
    products = Z[:, :, None] * Z[:, None, :]
    single: IntArray = np.zeros(len(Z), dtype=np.int64)
    one = _of_partition(Z, products, single)[0]
    found, best = single, -np.inf
    for k in range(2, min(most, _MOST_FREE) + 1):
        starts = [np.unique(labels(k)[chosen], return_inverse=True)[1], *_split(Z, found)]
        tried = [_improved(Z, products, start) for start in starts]
        value, found = max(tried, key=lambda one: one[0])
        best = max(best, value)
        if best - one > _PLENTY:
            break
    return (best - one) / len(Z) if np.isfinite(best) else 0.0


def _split(Z: FloatArray, labels: IntArray) -> Iterator[IntArray]:
    """One cluster more: the widest ones, cut along their longest axis at the mean and at a gap."""
    k = int(labels.max()) + 1
    members = [np.flatnonzero(labels == one) for one in range(k)]
    away = [Z[rows] - Z[rows].mean(axis=0) for rows in members]
    widths = [float(np.sum(rows**2)) for rows in away]
    for widest in np.argsort(widths)[::-1][:_SPLITS]:
        if len(members[widest]) < 2 * _FEWEST:
            continue
        _, axes = np.linalg.eigh(away[widest].T @ away[widest])
        along = away[widest] @ axes[:, -1]
        ranked = np.sort(along)
        gaps = np.diff(ranked)[_FEWEST - 1 : len(ranked) - _FEWEST]
        at = _FEWEST - 1 + int(gaps.argmax())
        for cut in (0.0, (ranked[at] + ranked[at + 1]) / 2):
            split = labels.copy()
            split[members[widest][along > cut]] = k
            yield split


def _improved(Z: FloatArray, products: FloatArray, labels: IntArray) -> tuple[float, IntArray]:
    """The evidence of clusters and their labels, after some steps of classification EM."""
    value, kind = _of_partition(Z, products, labels)
    k, d = int(labels.max()) + 1, Z.shape[1]
    steady = _STEADYING * products.mean(axis=0) + _NARROWEST * np.eye(d)
    moved = labels
    for _ in range(_STEPS):
        sizes, means, scatter = _moments(Z, products, moved)
        covariance = (steady + scatter) / (sizes + _PRIOR_SHAPE)[:, None, None]
        if kind:
            covariance = covariance * np.eye(d)
        if kind == _ONE_VARIANCE:
            spread = np.trace(covariance, axis1=1, axis2=2) / d
            covariance = spread[:, None, None] * np.eye(d)
        root = np.linalg.cholesky(covariance)
        unit = np.linalg.solve(root, (Z - means[:, None]).transpose(0, 2, 1))
        scale = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        fit = np.log(sizes) - scale - np.sum(unit**2, axis=1).T / 2
        again = fit.argmax(axis=1)
        if np.bincount(again, minlength=k).min() < _FEWEST:
            return value, labels
        if np.array_equal(again, moved):
            break
        moved = again
    reached = _of_partition(Z, products, moved)[0]
    return (reached, moved) if reached > value else (value, labels)


def _straightened(rows: FloatArray) -> FloatArray:
    """Each variable as close to normal as a power makes it (Yeo & Johnson), of the same spread."""
    spread = rows.std(axis=0)
    usable = spread > 0
    z = (rows[:, usable] - np.median(rows[:, usable], axis=0)) / spread[usable]
    n = len(z)
    slope = np.sum(np.sign(z) * np.log1p(np.abs(z)), axis=0)
    best = np.full(z.shape[1], -np.inf)
    found = z.copy()
    for exponent in _EXPONENTS:
        tried = _power(z, exponent)
        variance = tried.var(axis=0)
        fit = -n / 2 * np.log(np.maximum(variance, 1e-300)) + (exponent - 1) * slope
        better = (fit > best) & (variance > 0)
        best[better] = fit[better]
        found[:, better] = tried[:, better] / np.sqrt(variance[better])
    return np.asarray(found * spread[usable])


def _power(z: FloatArray, exponent: float) -> FloatArray:
    """The transformation of Yeo & Johnson (2000)."""
    size = np.log1p(np.abs(z))
    up, down = exponent, 2.0 - exponent
    above = np.expm1(up * size) / up if up else size
    below = np.expm1(down * size) / down if down else size
    return np.where(z >= 0, above, -below)


def _components(rows: FloatArray) -> FloatArray:
    """The principal components that matter, in units of their mean standard deviation."""
    centred = rows - rows.mean(axis=0)
    n, d = centred.shape
    if d == 0:
        return np.zeros((n, 1))
    values, vectors = np.linalg.eigh(centred.T @ centred / n)
    values, vectors = values[::-1], vectors[:, ::-1]
    clear = int(np.sum(values >= _LEAST_VARIANCE * values.mean()))
    number = max(min(clear, _MOST_COMPONENTS, n // _POINTS_PER_COMPONENT), min(2, d))
    number = max(min(number, int(np.sum(values > 1e-8 * values[0]))), 1)
    unit = np.sqrt(max(float(values[:number].mean()), 1e-300))
    return np.asarray(centred @ vectors[:, :number] / unit)


def _of_partition(Z: FloatArray, products: FloatArray, labels: IntArray) -> tuple[float, int]:
    """The best of three kinds of covariances: any, diagonal, and equal in all directions.

    Returns the logarithm of the marginal likelihood, and which kind it is.
    """
    n, d = Z.shape
    labels = np.unique(labels, return_inverse=True)[1]
    sizes, means, scatter = _moments(Z, products, labels)
    k = len(sizes)
    total = products.mean(axis=0)
    # Which cluster an object is in: every distribution of shares is equally probable.
    allocation = gammaln(k) - gammaln(n + k) + float(np.sum(gammaln(sizes + 1)))
    best, best_kind = -np.inf, 0
    for share in _PRIOR_SHARES:
        prior = share * total + _NARROWEST * np.eye(d)
        for number, kind in enumerate((_any_covariance, _diagonal_covariance, _one_variance)):
            value = allocation + kind(sizes, means, scatter, prior)
            if value > best:
                best, best_kind = value, number
    return best, best_kind


def _moments(
    Z: FloatArray, products: FloatArray, labels: IntArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sizes, means and scatter of clusters, none of which is empty."""
    sizes = np.bincount(labels).astype(np.float64)
    order = np.argsort(labels, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes[:-1])]).astype(np.int64)
    means = np.add.reduceat(Z[order], starts, axis=0) / sizes[:, None]
    scatter = np.add.reduceat(products[order], starts, axis=0)
    return sizes, means, scatter - sizes[:, None, None] * means[:, :, None] * means[:, None, :]


def _any_covariance(
    sizes: FloatArray, means: FloatArray, scatter: FloatArray, prior: FloatArray
) -> float:
    """Normal-inverse-Wishart prior."""
    d = len(prior)
    shrunk = _PRIOR_OBJECTS * sizes / (_PRIOR_OBJECTS + sizes)
    posterior = prior + scatter + shrunk[:, None, None] * means[:, :, None] * means[:, None, :]
    least = d + _PRIOR_SHAPE
    degrees = least + sizes
    steps = np.arange(d) / 2
    gammas = gammaln(degrees[:, None] / 2 - steps) - gammaln(least / 2 - steps)
    found = (
        -sizes * d / 2 * np.log(np.pi)
        + gammas.sum(axis=1)
        + least / 2 * np.linalg.slogdet(prior)[1]
        - degrees / 2 * np.linalg.slogdet(posterior)[1]
        + d / 2 * np.log(_PRIOR_OBJECTS / (_PRIOR_OBJECTS + sizes))
    )
    return float(found.sum())


def _diagonal_covariance(
    sizes: FloatArray, means: FloatArray, scatter: FloatArray, prior: FloatArray
) -> float:
    """One normal-inverse-gamma prior per component."""
    squares = np.diagonal(scatter, axis1=1, axis2=2)
    return _inverse_gamma(sizes[:, None], means**2, squares, np.diagonal(prior), 1)


def _one_variance(
    sizes: FloatArray, means: FloatArray, scatter: FloatArray, prior: FloatArray
) -> float:
    """One normal-inverse-gamma prior for all components."""
    squares = np.trace(scatter, axis1=1, axis2=2)
    d = len(prior)
    return _inverse_gamma(sizes, np.sum(means**2, axis=1), squares, np.trace(prior) / d, d)


def _inverse_gamma(
    sizes: FloatArray, off_centre: FloatArray, squares: FloatArray, scale: Any, d: int
) -> float:
    shrunk = _PRIOR_OBJECTS * sizes / (_PRIOR_OBJECTS + sizes)
    shape = _PRIOR_SHAPE + sizes * d / 2
    found = (
        -sizes * d / 2 * np.log(2 * np.pi)
        + gammaln(shape)
        - gammaln(_PRIOR_SHAPE)
        + _PRIOR_SHAPE * np.log(scale)
        - shape * np.log(scale + (squares + shrunk * off_centre) / 2)
        + d / 2 * np.log(_PRIOR_OBJECTS / (_PRIOR_OBJECTS + sizes))
    )
    return float(found.sum())
