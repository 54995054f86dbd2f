"""From the rows of a factor to probabilities: random walk, mixture, pairs, other partitions.

A lazy random walk on the affinity graph makes memberships agree with their surroundings; a mixture
adds the densities of the clusters, and known pairs count as evidence. A partition may be stable and
still be wrong: fits to subsamples then agree on the same error. But several rules have partitioned
the same graph. Where candidates of nearly equal rank contradict each other, the data do not decide
between them, and neither should the memberships.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, log, sqrt
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.polynomial.chebyshev import chebpts1, chebvander
from numpy.typing import NDArray

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity import SideInformation
from soffit.affinity.side_information import without_negative
from soffit.graph import Graph, Locality, reciprocal, replace_rows, stacked
from soffit.memberships.free_mixture import LEAST_TRUST, free_mixture
from soffit.memberships.matching import align
from soffit.memberships.measures import (
    FLOOR,
    dense_rows,
    in_blocks,
    powered,
    soften,
    without_traces,
)
from soffit.memberships.mixture import SeededMixture, describe_partitions
from soffit.partition.candidates import RankedPartition

_SHARE_OF_GAP = 0.5
_MOST_STEPS = 512
# On larger graphs the steps are replaced by a polynomial of lower degree. The bound on its error
# is loose: the actual error is about 1e-6.
_MANY_OBJECTS = 2000
_ERROR = 1e-2
# Objects per thread at a time; on small graphs, the number of parts.
_ROWS, _PARTS = 2**12, 4
# Columns that walk at once: they need five times their memory in double precision.
_COLUMNS = 64
# Room for entries of rows in CSR form that walk at once.
_ENTRIES = 2**22


def walk_length(eigenvalue: float) -> int:
    r"""Number of steps after which modes below the given eigenvalue have decayed, but not clusters.

    :math:`t = 0.5 / (1 - \lambda_{k+1})` lazy steps: the spectral gap after the k clusters sets the
    rate at which memberships become uniform inside a cluster.

    Parameters
    ----------
    eigenvalue : float
        The one after those of the clusters, of the affinities normalized by degrees.

    Returns
    -------
    int
        Number of steps.

    Examples
    --------
    >>> from soffit.memberships import walk_length
    >>> walk_length(0.9)
    5
    """
    gap = max(1.0 - float(eigenvalue), 1e-9)
    return int(np.clip(_SHARE_OF_GAP / gap, 1, _MOST_STEPS))


@dataclass(frozen=True, eq=False)
class Walk:
    r"""Memberships after :math:`W_{s+1} = \tfrac12 (W_s + D^{-1} A W_s)`, s = 0 ... t - 1.

    The steps are lazy (they stay with probability 1/2), so that memberships on bipartite graphs do
    not oscillate. A new object that is linked to the fitted ones, but not they to it, arrives at
    :math:`2^{-t} w_0 + p \sum_s 2^{s-t} W_s` with p its affinities normalized to sum to one; the
    sum is kept, so that new objects cost one product.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.memberships import random_walk
    >>> path = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> walk = random_walk(path, np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]), 1)
    >>> walk.arrive(path[:1], np.array([[1.0, 0.0]]))
    array([[0.75, 0.25]])
    """

    memberships: Any
    seen: Any
    steps: int
    _arrays: ClassVar[dict[str, str]] = {
        "memberships": "matrix * k",
        "seen": "matrix n k",
        "steps": "natural",
    }

    def arrive(self, block: Matrix, W_new: Any) -> Any:
        """The same walk for new objects with these affinities and initial rows."""
        graph = Graph.of(block)
        degrees = graph.degrees()
        if is_sparse(self.seen):
            stay = np.where(degrees > 0, 0.5**self.steps, 1.0)
            graph = Graph(sp.csr_array(block))
            return _step(graph, reciprocal(degrees), self.seen, stay, W_new)
        moved = 0.5**self.steps * W_new + reciprocal(degrees)[:, None] * graph.product(self.seen)
        # A polynomial of a walk may fall below zero by rounding.
        moved = np.maximum(moved, 0.0)
        return np.asarray(np.where(degrees[:, None] > 0, moved, W_new), dtype=W_new.dtype)


def random_walk(A: Matrix, W: Any, steps: int, *, locality: Locality | None = None) -> Walk:
    """Smooth memberships by lazy random-walk steps on the graph; isolated objects stay.

    Memberships in CSR form stay in it: every step drops entries close to zero.

    Parameters
    ----------
    A : array or CSR of shape (n, n)
        Affinities, symmetric.
    W : array or CSR of shape (n, k)
        Memberships; not changed.
    steps : int
        Number of lazy steps: half of each object stays where it is.
    locality : Locality, optional
        An order of the objects in which neighbours are near, which makes steps faster.

    Returns
    -------
    Walk
        The smoothed memberships, and what places new objects likewise.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.memberships import random_walk
    >>> path = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    >>> W = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]])
    >>> random_walk(path, W, 1).memberships
    array([[0.75, 0.25],
           [0.5 , 0.5 ],
           [0.25, 0.75]])
    """
    graph = Graph.of(A)
    if is_sparse(W):
        return _sparse_walk(graph, W, steps)
    if graph.is_sparse and graph.n > _MANY_OBJECTS:
        return polynomial_walk(graph, W, steps, locality or Locality(np.arange(graph.n)))
    degrees = graph.degrees()
    half = reciprocal(degrees, 0.5).astype(W.dtype)[:, None]
    stay = np.where(degrees > 0, 0.5, 1.0).astype(W.dtype)[:, None]
    seen = np.zeros_like(W)
    one_half = W.dtype.type(0.5)
    for _ in range(steps):
        seen = one_half * (seen + W)
        W = stay * W + half * graph.product(W)
    return Walk(W, seen, steps)


def _sparse_walk(graph: Graph, W: sp.csr_array, steps: int) -> Walk:
    if not graph.is_sparse:
        found = random_walk(graph.matrix, W.toarray(), steps)
        sums = 1.0 - 0.5**steps
        return Walk(without_traces(found.memberships), without_traces(found.seen, sums), steps)
    degrees = graph.degrees()
    half, stay = reciprocal(degrees, 0.5), np.where(degrees > 0, 0.5, 1.0)
    seen, one_half = sp.csr_array(W.shape, dtype=W.dtype), W.dtype.type(0.5)
    for _ in range(steps):
        seen = sp.csr_array(one_half * (seen + W))
        W = _step(graph, half, W, stay, W)
    return Walk(W, without_traces(seen, 1.0 - 0.5**steps), steps)


def _step(
    graph: Graph, weight: FloatArray, rows: sp.csr_array, stay: FloatArray, own: sp.csr_array
) -> sp.csr_array:
    """Own rows times `stay` plus the weighted rows of neighbours, without traces, summing to 1."""
    from soffit.memberships.kernels import step_entries

    edges, (n, k) = graph.edges(), own.shape
    others, ours = Graph(rows).edges(), Graph(own).edges()

    def step(part: range) -> sp.csr_array:
        columns, shares = np.empty(len(part) * k, np.int32), np.empty(len(part) * k)
        used = np.empty(len(part), np.int64)
        n_entries = step_entries(
            *edges, weight, *others, stay, *ours, part.start, part.stop, FLOOR,
            np.zeros(k), np.empty(k, np.int64), columns, shares, used,
        )  # fmt: skip
        indptr = np.concatenate([[0], np.cumsum(used)])
        entries = shares[:n_entries].astype(own.dtype), columns[:n_entries].copy(), indptr
        found = sp.csr_array(entries, shape=(len(part), k))
        found.sort_indices()
        return found

    return stacked(each(step, pieces(n, max(_ENTRIES // k, 1))))


def random_walks(
    A: Matrix, starts: Sequence[Any], steps: int, *, locality: Locality | None = None
) -> list[Any]:
    """Memberships after the same walk from several starts; one pass over the graph is for all."""
    if is_sparse(starts[0]):
        return [random_walk(A, start, steps).memberships for start in starts]
    together = random_walk(A, np.hstack(starts), steps, locality=locality).memberships
    ends = np.cumsum([start.shape[1] for start in starts])
    parts = np.split(together, ends[:-1], axis=1)
    return [np.asarray(part / part.sum(axis=1, keepdims=True)) for part in parts]


def polynomial_walk(
    graph: Graph, W: FloatArray, steps: int, locality: Locality, *, block: int = _ROWS
) -> Walk:
    r"""The same walk by Chebyshev polynomials of :math:`P = D^{-1} A`.

    :math:`((1 + x) / 2)^t` is a polynomial of degree t, but one of degree of the order of
    :math:`\sqrt t` approximates it on [-1, 1] almost exactly.
    """
    inverse = reciprocal(locality.rows(graph.degrees()))
    edges = graph.permuted(locality.order).edges()
    arrived, seen = np.empty_like(W), np.empty_like(W)
    total = np.zeros(len(W))
    for part in pieces(W.shape[1], _COLUMNS):
        columns = slice(part.start, part.stop)
        found = _chebyshev(edges, inverse, locality.rows(W[:, columns]), steps, block)
        total += found[0].sum(axis=1)
        arrived[:, columns], seen[:, columns] = (locality.back(rows) for rows in found)
    arrived /= locality.back(total)[:, None]
    return Walk(arrived, seen, steps)


def _chebyshev(
    edges: tuple[Any, ...], inverse: FloatArray, W: FloatArray, steps: int, block: int
) -> tuple[FloatArray, FloatArray]:
    """Where the walk arrives, and what new objects see of it, in double precision."""
    from soffit.memberships.kernels import chebyshev_rows

    arrive, see = _coefficients(steps)
    # In double precision, as the weights: the loop is compiled once.
    start = np.asarray(W, dtype=np.float64)
    walked, seen = arrive[0] * start, see[0] * start
    # T_{-1} = T_1 makes the first step half of the others.
    before, now = np.zeros_like(start), start
    for degree in range(1, len(arrive)):
        half = 0.5 if degree == 1 else 1.0
        a, b = float(half * arrive[degree]), float(half * see[degree])

        def advance(
            rows: range, before: Any = before, now: Any = now, a: Any = a, b: Any = b
        ) -> None:
            chebyshev_rows(
                *edges, inverse, before, now, walked, seen, a, b,
                rows.start, rows.stop, np.empty(now.shape[1]),
            )  # fmt: skip

        each(advance, pieces(len(start), min(block, ceil(len(start) / _PARTS))))
        if degree == 1:
            before *= 0.5
        before, now = now, before
    return np.maximum(walked, 0.0, out=walked), np.maximum(seen, 0.0, out=seen)


def _coefficients(steps: int) -> tuple[FloatArray, FloatArray]:
    """Chebyshev coefficients of the walk, and of the part that new objects use."""
    degree = min(steps, ceil(sqrt(2.0 * steps * log(2.0 / _ERROR))))
    x = chebpts1(degree + 1)
    powers = ((1.0 + x) / 2.0) ** np.arange(steps + 1)[:, None]
    weights = 2.0 ** (np.arange(steps) - steps)
    # Interpolation at the Chebyshev points, whose polynomials are orthogonal there.
    basis = chebvander(x, degree).T * (2.0 / (degree + 1))
    basis[0] *= 0.5
    return np.asarray(basis @ powers[steps]), np.asarray(basis @ (weights @ powers[:steps]))


def sharpen(W: Any, power: float) -> Any:
    """Rows raised to a power and normalized to sum to one.

    Parameters
    ----------
    W : array or CSR of shape (n, k)
        Memberships.
    power : float
        Above 1 they become more certain, below 1 less.

    Returns
    -------
    array or CSR of shape (n, k)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.memberships import sharpen
    >>> sharpen(np.array([[0.75, 0.25]]), 2.0)
    array([[0.9, 0.1]])
    """
    if is_sparse(W):
        return powered(W, power)
    raised = (W / W.max(axis=1, keepdims=True)) ** W.dtype.type(power)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=W.dtype)


# Smoothing draws memberships together; this power counteracts it inside clusters.
_SHARPNESS = 1.5
# Partitions are sometimes wrong without any sign of it in the graph; this power allows for it.
_MODESTY = 0.9
# Weight of the mixture relative to the walk, if its residuals look as expected.
_SHARE = 0.8


def linked(block: Matrix) -> NDArray[np.bool_]:
    """Which objects have affinities to walk along, as a column."""
    return Graph.of(block).degrees()[:, None] > 0


def _where_linked(block: Matrix, rows: Any, otherwise: Any) -> Any:
    """Rows of objects with affinities, and other ones with the same entries of those without."""
    there = linked(block)
    if not is_sparse(rows):
        return np.where(there, rows, otherwise)
    is_there = np.repeat(there[:, 0], np.diff(rows.indptr))
    data = np.where(is_there, rows.data, otherwise.data)
    return sp.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def sharpened(walked: Any, block: Matrix) -> Any:
    """Memberships after a walk along these affinities, with its smoothing counteracted."""
    return _where_linked(block, sharpen(walked, _SHARPNESS), walked)


def blend(walked: FloatArray, mixture: SeededMixture, X: FloatArray) -> FloatArray:
    """The average of a walk and a mixture, the latter weighted by its trust."""
    share = 1.0 if mixture.alone else _SHARE * mixture.trust
    return np.asarray((1 - share) * walked + share * mixture.memberships(X), dtype=walked.dtype)


def calibrated(
    walked: Any, block: Matrix, mixture: SeededMixture | None, X: FloatArray | None
) -> Any:
    """Memberships from a walk and, for features, a mixture.

    Raising the result of the walk to a power counteracts its smoothing; the power is smaller if
    there is no mixture. Objects without affinities keep the prior, unless the mixture places them.

    Parameters
    ----------
    walked : array or CSR of shape (m, k)
        Memberships after the walk.
    block : array or CSR of shape (m, n)
        The affinities that it used.
    mixture : SeededMixture, optional
        Cluster densities.
    X : array of shape (m, d), optional
        Features of the objects.
    """
    rows = sharpened(walked, block)
    if mixture is not None and X is not None:
        return blend(rows, mixture, X)
    return _where_linked(block, soften(rows, _MODESTY), walked)


# A candidate whose rank is worse by x has exp(-5 x) times the weight of the best.
_DECISIVENESS = 5.0
# Candidates considered, by their cut, and the smallest weight relative to the best that counts.
_MOST = 5
_LEAST_WEIGHT = 0.02
# A cleaner cut by this (in logarithms) contradicts a mixture, however well it describes objects.
_LARGER_CUT = 3.0
# Share of the weight at which others would move an object.
_LEAST_LEAD = 0.99


@dataclass(frozen=True, eq=False)
class Alternative:
    """A candidate partition, its weight relative to the best, and a mixture that starts at it."""

    labels: IntArray
    weight: float
    mixture: SeededMixture | None


def weigh_partitions(
    ranked: Sequence[RankedPartition],
    X: FloatArray | None,
    n_clusters: int,
    *,
    cut: Callable[[IntArray], float],
    random_state: int,
    weights: FloatArray | None = None,
) -> list[Alternative]:
    """Candidates with their weights, the best first; candidates of negligible weight are left out.

    The rank of a partition is the logarithm of its size-aware cut minus, for features, the mean log
    density of a mixture that starts at it, penalized for its parameters: a good partition cuts few
    links, and its clusters describe the objects. If a mixture with one component per cluster
    describes them better than all of these, and does not cut very much more, it is the only one.
    If the residuals of the best mixture look as expected, its likelihood counts in full: other
    candidates are left out unless they describe the objects nearly as well.

    Parameters
    ----------
    ranked : sequence of RankedPartition
        Candidates by their cuts, the best first.
    X : array of shape (n, d) or None
        Features, if densities can be estimated from them.
    n_clusters : int
        Number of clusters.
    cut : callable
        The size-aware cut of a partition.
    random_state : int
        Seed of the sample from which mixtures are estimated.
    weights : array of shape (n,), optional
        Weights of the objects, 1 on average.
    """
    considered = ranked[:_MOST]
    cuts = np.array([one.score for one in considered])
    if X is None:
        return [Alternative(considered[i].labels, weight, None) for i, weight in _weights(cuts)]
    partitions = [one.labels for one in considered]
    found = describe_partitions(
        X, partitions, n_clusters, random_state=random_state, weights=weights
    )
    free = free_mixture(found, n_clusters, random_state=random_state)
    if free is not None:
        labels = free.memberships(X).argmax(axis=1)
        if cut(labels) <= cuts.min() + _LARGER_CUT:
            return [Alternative(labels, 1.0, free)]
    densities = np.array([one.log_density for one in found.partitions])
    ranks = cuts - densities
    best = int(ranks.argmin())
    if found.partitions[best].mixture.trust >= LEAST_TRUST:
        ranks += len(X) / _DECISIVENESS * np.maximum(densities[best] - densities, 0.0)

    def judged(number: int, weight: float) -> Alternative:
        """A candidate with its mixture, which does not count if it contradicts the cut."""
        labels, mixture = considered[number].labels, found.partitions[number].mixture
        moved = mixture.memberships(X).argmax(axis=1)
        if cut(moved) > cut(labels) + _LARGER_CUT:
            mixture = replace(mixture, trust=0.0)
        return Alternative(labels, weight, mixture)

    return [judged(*one) for one in _weights(ranks)]


def _weights(ranks: FloatArray) -> list[tuple[int, float]]:
    """Candidates by number and their weights, without negligible ones, the best first."""
    shares = np.exp(-_DECISIVENESS * (ranks - ranks.min()))
    order = np.argsort(ranks, kind="stable")
    return [(int(i), float(shares[i])) for i in order if shares[i] > _LEAST_WEIGHT]


def average_over(
    best: FloatArray, others: Sequence[FloatArray], weights: Sequence[float]
) -> FloatArray:
    """The weighted average of memberships, with the clusters of the others matched to the best's.

    The others resemble each other more often than not and are no independent votes: together they
    count at most as much as the best. They make an object less certain, but do not move it: where
    they would outvote the best, they count just less than it takes.

    Parameters
    ----------
    best : array of shape (n, k)
        Memberships that follow the best partition; their weight is 1.
    others : sequence of arrays of shape (n, k)
        Memberships that follow other partitions.
    weights : sequence of float
        Their weights.
    """
    aligned = [align(best, other) for other in others]
    if is_sparse(best):
        return in_blocks(lambda *rows: _averaged(rows[0], rows[1:], weights), best, *aligned)
    return _averaged(best, aligned, weights)


def _averaged(
    best: FloatArray, others: Sequence[FloatArray], weights: Sequence[float]
) -> FloatArray:
    added = np.zeros(best.shape)
    for other, weight in zip(others, weights, strict=True):
        added += weight * other
    added /= max(sum(weights), 1.0)
    top = best.argmax(axis=1)[:, None]
    lead = np.take_along_axis(best, top, axis=1) - best
    loss = added - np.take_along_axis(added, top, axis=1)
    possible = np.divide(lead, loss, out=np.full(best.shape, np.inf), where=loss > 0)
    total = best + np.minimum(_LEAST_LEAD * possible.min(axis=1, keepdims=True), 1.0) * added
    return np.asarray(total / total.sum(axis=1, keepdims=True), dtype=best.dtype)


# Upper limit on the certainty of any statement.
_LEAST = 0.01


def with_pairs(
    memberships: Any, beliefs: Any, side: SideInformation, *, weight: float = 1.0
) -> Any:
    r"""Use pairs as evidence about the objects they touch.

    .. math:: p'_{ic} \propto p_{ic} \prod_{j \text{ with } i} q_{jc}^{\omega}
              \prod_{j \text{ apart from } i} (1 - q_{jc})^{\omega}

    Bayes' rule with the beliefs q about the partners, clipped one percent away from certainty.
    Objects without pairs keep their memberships.

    Parameters
    ----------
    memberships : array of shape (n, k)
        The probabilities p before the evidence.
    beliefs : array of shape (n, k)
        The probabilities q of the partners.
    side : SideInformation
        The pairs.
    weight : float, default 1.0
        The exponent omega in (0, 1]: how much the pairs are trusted.

    Returns
    -------
    ndarray of shape (n, k)
        Rows sum to one.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import SideInformation
    >>> from soffit.memberships import with_pairs
    >>> before = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    >>> with_pairs(before, before, SideInformation.of([(0, 1)], None, 3)).round(2)
    array([[0.9, 0.1],
           [0.9, 0.1],
           [0.2, 0.8]])
    """
    k = memberships.shape[1]
    if k == 1:
        return memberships
    if is_sparse(memberships):
        touched = side.touched()
        rows = dense_rows(memberships, touched), dense_rows(beliefs, touched)
        changed = without_traces(with_pairs(*rows, side.among(touched), weight=weight))
        which = np.isin(np.arange(memberships.shape[0]), touched)
        return replace_rows(memberships, which, changed)
    q = _LEAST / k + (1.0 - _LEAST) * beliefs.astype(np.float64)
    relation = side.relation()
    together, apart = without_negative(relation), without_negative(sp.csr_array(-relation))
    evidence = weight * (together @ np.log(q) + apart @ np.log1p(-q))
    touched = np.diff(relation.indptr) > 0
    log_posterior = np.log(np.maximum(memberships[touched], 1e-12)) + evidence[touched]
    posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    result = memberships.copy()
    result[touched] = posterior / posterior.sum(axis=1, keepdims=True)
    return result


def pair_log_likelihood(memberships: FloatArray, side: SideInformation) -> FloatArray:
    r"""Log-likelihood of pairs given memberships.

    .. math:: \log \Pr(i \text{ with } j) = \log \sum_c p_{ic} p_{jc}

    for must-link pairs, and the log of one minus this sum for cannot-link pairs. Probabilities are
    clipped one percent away from certainty, so that no single pair dominates.

    Parameters
    ----------
    memberships : array of shape (n, k)
        The probabilities p.
    side : SideInformation
        The pairs.

    Returns
    -------
    ndarray of shape (n_pairs,)
        One value per pair, must-links first.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.affinity import SideInformation
    >>> from soffit.memberships import pair_log_likelihood
    >>> P = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])
    >>> np.exp(pair_log_likelihood(P, SideInformation.of([(0, 1)], [(1, 2)], 3))).round(3)
    array([0.505, 0.743])
    """
    pairs = np.concatenate([side.must, side.cannot])
    P = memberships.astype(np.float64)
    chance = np.clip(np.einsum("pc,pc->p", P[pairs[:, 0]], P[pairs[:, 1]]), 0.0, 1.0)
    chance[len(side.must) :] = 1.0 - chance[len(side.must) :]
    return np.asarray(np.log(_LEAST + (1.0 - _LEAST) * chance))
