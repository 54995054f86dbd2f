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
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity import SideInformation
from soffit.affinity.side_information import without_negative
from soffit.graph import Graph, Locality, reciprocal
from soffit.memberships.ensemble import soften
from soffit.memberships.measures import align
from soffit.memberships.mixture import SeededMixture, describe_partitions, fit_seeded_mixture
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


def walk_length(eigenvalue: float) -> int:
    r"""Number of steps after which modes below the given eigenvalue have decayed, but not clusters.

    :math:`t = 0.5 / (1 - \lambda_{k+1})` lazy steps: the spectral gap after the k clusters sets the
    rate at which memberships become uniform inside a cluster.
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
    """

    memberships: FloatArray
    seen: FloatArray
    steps: int
    _arrays: ClassVar[dict[str, str]] = {
        "memberships": "finite * k",
        "seen": "finite n k",
        "steps": "natural",
    }

    def arrive(self, block: Matrix, W_new: FloatArray) -> FloatArray:
        """The same walk for new objects with these affinities and initial rows."""
        graph = Graph.of(block)
        degrees = graph.degrees()
        moved = 0.5**self.steps * W_new + reciprocal(degrees)[:, None] * graph.product(self.seen)
        # A polynomial of a walk may fall below zero by rounding.
        moved = np.maximum(moved, 0.0)
        return np.asarray(np.where(degrees[:, None] > 0, moved, W_new), dtype=W_new.dtype)


def random_walk(A: Matrix, W: FloatArray, steps: int, *, locality: Locality | None = None) -> Walk:
    """Smooth memberships by lazy random-walk steps on the graph; isolated objects stay."""
    graph = Graph.of(A)
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


def random_walks(
    A: Matrix, starts: Sequence[FloatArray], steps: int, *, locality: Locality | None = None
) -> list[FloatArray]:
    """Memberships after the same walk from several starts; one pass over the graph is for all."""
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


def sharpen(W: FloatArray, power: float) -> FloatArray:
    """Rows raised to a power and normalized to sum to one."""
    raised = (W / W.max(axis=1, keepdims=True)) ** W.dtype.type(power)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True), dtype=W.dtype)


# Smoothing draws memberships together; this power counteracts it inside clusters.
_SHARPNESS = 1.5
# Partitions are sometimes wrong without any sign of it in the graph; this power allows for it.
_MODESTY = 0.9
# Weight of the mixture relative to the walk, if its residuals look as expected.
_SHARE = 0.8
# The same for a mixture without EM steps, which describes the corrected clusters as they are.
_SHARE_FIXED = 0.5
# The mixture without EM steps is used if it predicts the pairs better by more than this many
# standard errors.
_ERRORS = 1.0
# Fewer objects make no useful mixture, and no more are needed to find directions.
_FEWEST_LEFT, _MOST_LEFT = 20, 2**17


def linked(block: Matrix) -> NDArray[np.bool_]:
    """Which objects have affinities to walk along, as a column."""
    return Graph.of(block).degrees()[:, None] > 0


def sharpened(walked: FloatArray, block: Matrix) -> FloatArray:
    """Memberships after a walk along these affinities, with its smoothing counteracted."""
    return np.where(linked(block), sharpen(walked, _SHARPNESS), walked)


def blend(walked: FloatArray, mixture: SeededMixture, X: FloatArray) -> FloatArray:
    """The average of a walk and a mixture, the latter weighted by its trust."""
    share = _SHARE * mixture.trust
    return np.asarray((1 - share) * walked + share * mixture.memberships(X), dtype=walked.dtype)


def calibrated(
    walked: FloatArray, block: Matrix, mixture: SeededMixture | None, X: FloatArray | None
) -> FloatArray:
    """Memberships from a walk and, for features, a mixture.

    Raising the result of the walk to a power counteracts its smoothing; the power is smaller if
    there is no mixture. Objects without affinities keep the prior, unless the mixture places them.

    Parameters
    ----------
    walked : array of shape (m, k)
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
    return np.where(linked(block), soften(rows, _MODESTY), walked)


def choose_mixture(
    X: FloatArray,
    rows: FloatArray,
    side: SideInformation,
    walk: Callable[[FloatArray], FloatArray],
    *,
    weight: float,
    random_state: int,
    object_weights: FloatArray | None = None,
) -> SeededMixture:
    """Fit a mixture with EM steps, or one without if held-out pairs clearly favour it.

    Densities ignore pairs: EM steps may improve the clusters, or undo the corrections by the pairs.
    Both mixtures are fitted to the objects that no pair touches, and averaged with a walk that
    starts without the touched ones. The mixture that predicts the held-out pairs better is used;
    within one standard error it is the one with EM steps.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    rows : array of shape (n, k)
        The factor, fitted with the pairs.
    side : SideInformation
        The pairs.
    walk : callable
        From rows to the memberships after the walk.
    weight : float
        How much pairs are trusted: each counts as this many.
    random_state : int
        Seed of the mixtures.
    object_weights : array of shape (n,), optional
        Weights of the objects.
    """
    labels, k = rows.argmax(axis=1), rows.shape[1]
    touched = np.unique(np.concatenate([side.must.ravel(), side.cannot.ravel()]))
    left = np.setdiff1d(np.arange(len(X)), touched)

    def fit(objects: IntArray | slice, *, fixed: bool) -> SeededMixture:
        options: dict[str, Any] = {"n_steps": 0} if fixed else {}
        found = fit_seeded_mixture(
            X[objects],
            labels[objects],
            k,
            random_state=random_state,
            weights=None if object_weights is None else object_weights[objects],
            **options,
        )
        return replace(found, trust=found.trust * _SHARE_FIXED / _SHARE) if fixed else found

    everything = slice(None)
    if len(left) < _FEWEST_LEFT or side.n_pairs < 2:
        return fit(everything, fixed=False)
    held_out = rows.copy()
    held_out[touched] = rows[left].mean(axis=0)
    walked = walk(held_out)[touched]
    left = left[:: -(-len(left) // _MOST_LEFT)]
    with_steps, without = (
        pair_log_likelihood(blend(walked, fit(left, fixed=fixed), X[touched]), side.among(touched))
        for fixed in (False, True)
    )
    return fit(everything, fixed=_is_clear(without - with_steps, weight))


def _is_clear(gains: FloatArray, weight: float) -> bool:
    error = float(gains.std(ddof=1)) / np.sqrt(weight * len(gains))
    return float(gains.mean()) > _ERRORS * error


# A candidate whose rank is worse by x has exp(-5 x) times the weight of the best.
_DECISIVENESS = 5.0
# Candidates considered, by their cut, and the smallest weight relative to the best that counts.
_MOST = 5
_LEAST_WEIGHT = 0.02
# Shares of the others' weights that are tried, until no cluster of the best is lost.
_SHARES_OF_OTHERS = (1.0, 0.5, 0.25, 0.125)


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
    random_state: int,
    weights: FloatArray | None = None,
) -> list[Alternative]:
    """Candidates with their weights, the best first; candidates of negligible weight are left out.

    The rank of a partition is the logarithm of its size-aware cut minus, for features, the mean log
    density of a mixture that starts at it, penalized for its parameters: a good partition cuts few
    links, and its clusters describe the objects.

    Parameters
    ----------
    ranked : sequence of RankedPartition
        Candidates by their cuts, the best first.
    X : array of shape (n, d) or None
        Features, if densities can be estimated from them.
    n_clusters : int
        Number of clusters.
    random_state : int
        Seed of the sample from which mixtures are estimated.
    weights : array of shape (n,), optional
        Weights of the objects, 1 on average.
    """
    considered = ranked[:_MOST]
    ranks = np.array([one.score for one in considered])
    mixtures: list[SeededMixture | None] = [None] * len(considered)
    if X is not None:
        partitions = [one.labels for one in considered]
        described = describe_partitions(
            X, partitions, n_clusters, random_state=random_state, weights=weights
        )
        ranks -= [one.log_density for one in described]
        mixtures = [one.mixture for one in described]
    shares = np.exp(-_DECISIVENESS * (ranks - ranks.min()))
    order = [
        number for number in np.argsort(ranks, kind="stable") if shares[number] > _LEAST_WEIGHT
    ]
    return [
        Alternative(considered[number].labels, float(shares[number]), mixtures[number])
        for number in order
    ]


def average_over(
    best: FloatArray, others: Sequence[FloatArray], weights: Sequence[float]
) -> FloatArray:
    """The weighted average of memberships, with the clusters of the others matched to the best's.

    Partitions that contradict each other in every cluster can leave one of them without any object.
    The others then count half as much, and so on, until every cluster of the best is kept.

    Parameters
    ----------
    best : array of shape (n, k)
        Memberships that follow the best partition; their weight is 1.
    others : sequence of arrays of shape (n, k)
        Memberships that follow other partitions.
    weights : sequence of float
        Their weights.
    """
    added = np.zeros(best.shape)
    for other, weight in zip(others, weights, strict=True):
        added += weight * align(best, other)
    kept = np.unique(best.argmax(axis=1))
    for share in _SHARES_OF_OTHERS:
        total = best + share * added
        if np.isin(kept, total.argmax(axis=1)).all():
            return np.asarray(total / total.sum(axis=1, keepdims=True), dtype=best.dtype)
    return best


# Upper limit on the certainty of any statement.
_LEAST = 0.01


def with_pairs(
    memberships: FloatArray, beliefs: FloatArray, side: SideInformation, *, weight: float = 1.0
) -> FloatArray:
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
