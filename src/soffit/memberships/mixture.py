"""A mixture of Gaussians that starts at given clusters and stays near them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import eigh

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray
from soffit.memberships.em_steps import Fit, Pieces, begin_fit, moments_of, n_parameters
from soffit.memberships.ensemble import power_to_agree, soften

# Densities are estimated directly up to this many columns.
_FEW_COLUMNS = 5
_MOST_COMPONENTS = 30
_SHRINKAGE = 0.05


@dataclass(frozen=True, eq=False)
class Projection:
    """An affine map from features to a few directions."""

    center: FloatArray
    directions: FloatArray
    _arrays: ClassVar[dict[str, str]] = {"center": "finite p", "directions": "finite p d"}

    @classmethod
    def of(cls, X: FloatArray, labels: IntArray, n_clusters: int) -> Projection:
        """At most max(k - 1, 3) directions in which the means of the clusters differ."""
        return cls.principal(X).toward(X, labels, n_clusters)

    @classmethod
    def principal(cls, X: FloatArray) -> Projection:
        """The leading principal components; all columns unchanged if there are few."""
        center = X.mean(axis=0, dtype=np.float64)
        if X.shape[1] <= _FEW_COLUMNS:
            size = float((X - center).std(axis=0).max()) or 1.0
            return cls(center, np.eye(X.shape[1]) / size)
        return cls(center, _principal_directions(X - center))

    def toward(self, X: FloatArray, labels: IntArray, n_clusters: int) -> Projection:
        """The discriminant directions of the labels among these; all if there are few."""
        if X.shape[1] <= _FEW_COLUMNS:
            return self
        turned = _discriminant_directions(self.apply(X), labels, n_clusters)
        return Projection(self.center, self.directions @ turned)

    def apply(self, X: FloatArray) -> FloatArray:
        """Coordinates of the objects in the chosen directions."""
        return np.asarray((X - self.center) @ self.directions)


def _principal_directions(centred: FloatArray) -> FloatArray:
    n, d = centred.shape
    if d > 500:
        from sklearn.utils.extmath import randomized_svd

        count = min(_MOST_COMPONENTS, n, d)
        _, values, right = randomized_svd(centred, count, random_state=0)
        values, vectors = values**2, right.T
    else:
        values, vectors = np.linalg.eigh(centred.T @ centred)
        values, vectors = values[::-1], vectors[:, ::-1]
    kept = int(np.sum(values[:_MOST_COMPONENTS] > 1e-10 * max(values[0], 1e-300)))
    count = max(kept, 1)
    scale = float(np.sqrt(max(float(values[0]), 0.0) / n)) or 1.0
    return np.asarray(vectors[:, :count] / scale)


def _discriminant_directions(Z: FloatArray, labels: IntArray, n_clusters: int) -> FloatArray:
    """Between-cluster against within-cluster spread, completed by principal directions."""
    n, p = Z.shape
    indicator = (labels[:, None] == np.arange(n_clusters)).astype(Z.dtype)
    sizes = indicator.sum(axis=0)
    means = (indicator.T @ Z) / np.maximum(sizes, 1.0)[:, None]
    within = Z - means[labels]
    inside = within.T @ within / n
    between = (means * sizes[:, None]).T @ means / n
    trace = float(np.trace(inside))
    inside = (1 - _SHRINKAGE) * inside + (_SHRINKAGE * trace / p + 1e-12) * np.eye(p)
    _, vectors = eigh(between, inside)
    wanted = min(p, max(n_clusters - 1, 3))
    leading = vectors[:, ::-1][:, : min(n_clusters - 1, wanted)]
    if leading.shape[1] == wanted:
        return leading
    orthogonal, _ = np.linalg.qr(np.column_stack([leading, np.eye(p)]))
    return np.column_stack([leading, orthogonal[:, leading.shape[1] : wanted]])


# EM steps; a few of them show which kinds of mixture cannot become the best.
_FIRST_STEPS, _STEPS = 3, 10
# Several components per cluster converge late: they may gain this many times as much again.
_PATIENCE = 4.0
# Clusters are split into two, four and eight components, but none of fewer objects than this.
_HALVINGS = (1, 2, 3)
_FEWEST_TO_CUT = 4
# Degrees of freedom of the components, Gaussian or heavy-tailed, and the mean fourth power of
# their whitened residuals, with squares cut off at 9.
_TAILS = {np.inf: 2.89, 4.0: 7.33}
# Share of the penalty of the Bayesian information criterion. Shrunk covariances have fewer free
# parameters than are counted.
_PENALTY = 0.5
_MOST_OBJECTS = 4000
_FEW_OBJECTS = 20
# Directions are computed from at most this many objects.
_MOST_PROJECTED = 2**17
# Objects per thread and evaluation.
_ROWS = 2**11


@dataclass(frozen=True, eq=False)
class SeededMixture:
    """A fitted mixture; `memberships` evaluates it anywhere in the feature space."""

    projection: Projection
    owner: IntArray
    log_weights: FloatArray
    means: FloatArray
    # Inverse Cholesky factors, which whiten rows of (x - mean).
    whitening: FloatArray
    n_clusters: int
    # Weight of the mixture relative to other evidence, from 0 to 1.
    trust: float
    # Degrees of freedom of Student's t; None for Gaussians.
    tails: float | None = None
    # Softens the posterior to its agreement with the starting clusters.
    power: float = 1.0
    _arrays: ClassVar[dict[str, str]] = {
        "projection": "part apply() p d",
        "owner": "int g <k",
        "log_weights": "finite g",
        "means": "finite g d",
        "whitening": "cholesky g d d",
        "n_clusters": "size k",
        "trust": "finite",
        "tails": "positive?",
        "power": "positive",
    }

    def memberships(self, X: FloatArray) -> FloatArray:
        """Softened posterior of each cluster, summed over the cluster's components."""
        tails = np.inf if self.tails is None else self.tails
        mixture = Pieces(self.log_weights, self.means, self.whitening, tails)
        result = np.empty((len(X), self.n_clusters), dtype=X.dtype)

        def evaluate(rows: range) -> None:
            part = slice(rows.start, rows.stop)
            Z = np.asarray(self.projection.apply(X[part]), dtype=np.float64)
            result[part] = soften(self._sums(mixture.shares(Z)), self.power)

        each(evaluate, pieces(len(X), _ROWS))
        return result

    def agreeing(self, shares: FloatArray, labels: IntArray) -> SeededMixture:
        """The mixture softened to the agreement of its components' shares with the labels."""
        return replace(self, power=power_to_agree(self._sums(shares), labels))

    def _sums(self, shares: FloatArray) -> FloatArray:
        """Sums of component shares per cluster."""
        indicator = (self.owner[:, None] == np.arange(self.n_clusters)).astype(np.float64)
        summed = shares @ indicator
        return np.asarray(summed / summed.sum(axis=1, keepdims=True))


class _Space(NamedTuple):
    """Directions, the objects in them, and the criterion of the other directions by tails."""

    projection: Projection
    Z: FloatArray
    moments: FloatArray
    rest: dict[float, float]
    # Weights of the objects; None means 1.
    weights: FloatArray | None = None

    def fit(self, members: FloatArray, tails: float, *, common: bool = False) -> Fit:
        """The components of given members."""
        return begin_fit(self.moments, members, tails, self.weights, common=common)


class _Candidate(NamedTuple):
    """A kind of mixture: the cluster of each component, and the fit so far."""

    space: _Space
    owner: IntArray
    fit: Fit
    # Decrease of the criterion in the steps so far.
    gain: float = 0.0

    @property
    def criterion(self) -> float:
        """Minus twice the log likelihood plus a penalty; smaller is better."""
        n, d = self.space.Z.shape
        count = n_parameters(len(self.owner), d, common=self.fit.common)
        rest = self.space.rest[self.fit.pieces.tails]
        return float(_PENALTY * count * np.log(n) - 2.0 * self.fit.log_likelihood + rest)

    def advanced(self, n_steps: int) -> _Candidate:
        """The candidate after more EM steps."""
        later = self._replace(fit=self.fit.advanced(n_steps))
        return later._replace(gain=self.gain + self.criterion - later.criterion)


class _Kind(NamedTuple):
    """What a mixture is made of; partitions of the same objects are compared with one kind."""

    tails: float
    common: bool
    # Whether all leading directions are used instead of the few in which means differ.
    whole: bool = False
    halvings: int = 0


@dataclass(frozen=True, eq=False)
class DescribedPartition:
    """A mixture that starts at a partition, and its penalized mean log density per object."""

    mixture: SeededMixture
    log_density: float


def fit_seeded_mixture(
    X: FloatArray,
    labels: IntArray,
    n_clusters: int,
    *,
    random_state: int,
    weights: FloatArray | None = None,
    n_steps: int = _STEPS,
    max_objects: int = _MOST_OBJECTS,
) -> SeededMixture:
    """Fit a mixture that starts at `labels`, on a sample of `max_objects` if there are more.

    Mixtures with one component per cluster are compared: Gaussian and heavy-tailed, with separate
    and common covariances, in the few directions in which the cluster means differ and in all
    leading principal ones, where shapes may differ as well. Several components per cluster are
    tried with the best tails in the few directions. An information criterion decides. Without EM
    steps (`n_steps=0`) the components describe the clusters as they are. Objects may have weights,
    1 on average; directions are the same for all weights.
    """
    described = describe_partitions(
        *(X, [labels], n_clusters),
        random_state=random_state,
        weights=weights,
        n_steps=n_steps,
        max_objects=max_objects,
    )
    return described[0].mixture


def describe_partitions(
    X: FloatArray,
    partitions: Sequence[IntArray],
    n_clusters: int,
    *,
    random_state: int,
    weights: FloatArray | None = None,
    n_steps: int = _STEPS,
    max_objects: int = _MOST_OBJECTS,
) -> list[DescribedPartition]:
    """Fit a mixture to every partition, all of the kind that suits the first one best."""
    every = -(-len(X) // _MOST_PROJECTED)
    whole = Projection.principal(X[::every])
    few = [whole.toward(X[::every], labels[::every], n_clusters) for labels in partitions]
    rng = np.random.default_rng(random_state)
    if len(X) > max_objects:
        chosen = _sample(partitions, max_objects, rng)
        X, partitions = X[chosen], [labels[chosen] for labels in partitions]
        weights = None if weights is None else weights[chosen] / weights[chosen].mean()
    everything = _space(whole, X, weights)
    first = partitions[0]
    alone: dict[float, float] = {}
    if few[0].directions.shape != whole.directions.shape:
        found = each(partial(_criterion_of_one, everything), _TAILS)
        alone = dict(zip(_TAILS, found, strict=True))
    best, kind = _best_kind(_spaces(few[0], everything, X, alone), first, n_steps)
    described = [_described(best, first, n_clusters)]
    if len(partitions) == 1:
        return described

    def describe(number: int) -> DescribedPartition:
        labels = partitions[number]
        space = everything
        if not kind.whole:
            known = {tails: value for tails, value in alone.items() if tails == kind.tails}
            space = _spaces(few[number], everything, X, known)[0]
        return _described(_begin(space, labels, kind).advanced(n_steps), labels, n_clusters)

    return [*described, *each(describe, range(1, len(partitions)))]


def _best_kind(spaces: list[_Space], labels: IntArray, n_steps: int) -> tuple[_Candidate, _Kind]:
    """The mixture of the kind with the best criterion after all steps."""
    first_steps = min(_FIRST_STEPS, n_steps)

    def begin(kind: _Kind) -> tuple[_Candidate, _Kind]:
        space = spaces[-1] if kind.whole else spaces[0]
        return _begin(space, labels, kind).advanced(first_steps), kind

    def finish(one: tuple[_Candidate, _Kind]) -> tuple[_Candidate, _Kind]:
        return one[0].advanced(n_steps - first_steps), one[1]

    kinds = [
        _Kind(tails, common, whole)
        for whole in (False, True)[: len(spaces)]
        for tails in _TAILS
        for common in (False, True)
    ]
    begun = each(begin, kinds)
    leader = min(begun, key=_criterion)[0]
    best = min(each(finish, _promising(begun, leader, patience=1.0)), key=_criterion)
    # The longest task first, so that no thread waits for it at the end.
    cuts = [_Kind(best[1].tails, False, halvings=h) for h in sorted(_HALVINGS, reverse=True)]
    begun = each(begin, cuts)
    return min(
        [best, *each(finish, _promising(begun, best[0], patience=_PATIENCE))], key=_criterion
    )


def _begin(space: _Space, labels: IntArray, kind: _Kind) -> _Candidate:
    owner, members = _seed(space.Z, labels, kind.halvings)
    return _Candidate(space, owner, space.fit(members, kind.tails, common=kind.common))


def _described(best: _Candidate, labels: IntArray, n_clusters: int) -> DescribedPartition:
    found = best.fit.pieces
    mixture = SeededMixture(
        best.space.projection,
        best.owner,
        found.log_weights,
        found.means,
        found.whitening,
        n_clusters,
        _trust(best.space.Z, best.fit),
        None if np.isinf(found.tails) else found.tails,
    )
    mixture = mixture.agreeing(best.fit.shares, labels)
    return DescribedPartition(mixture, -0.5 * best.criterion / len(labels))


def _spaces(
    few: Projection, everything: _Space, X: FloatArray, alone: dict[float, float]
) -> list[_Space]:
    """The few directions and, if there are more, all of them.

    The directions left out are modelled alike for all clusters, by a single Gaussian conditional on
    the few directions, whose density is the joint over the marginal one. This makes the criteria of
    both comparable. `alone` is the criterion of a single component in all directions, by tails.
    """
    part = _space(few, X, everything.weights)
    if few.directions.shape == everything.projection.directions.shape:
        return [part]

    def left_out(tails: float) -> float:
        return alone[tails] - _criterion_of_one(part, tails)

    rest = dict(zip(alone, each(left_out, alone), strict=True))
    return [part._replace(rest=rest), everything]


def _space(projection: Projection, X: FloatArray, weights: FloatArray | None) -> _Space:
    Z = np.asarray(projection.apply(X), dtype=np.float64)
    return _Space(projection, Z, moments_of(Z), dict.fromkeys(_TAILS, 0.0), weights)


def _criterion_of_one(space: _Space, tails: float) -> float:
    """Criterion of a single component for all objects; a Gaussian has a closed form."""
    fit = space.fit(np.ones((len(space.Z), 1)), tails, common=True)
    one = _Candidate(space, np.zeros(1, dtype=np.int64), fit)
    return one.advanced(0 if np.isinf(tails) else _STEPS).criterion


def _promising(
    begun: list[tuple[_Candidate, _Kind]], best: _Candidate, *, patience: float
) -> list[tuple[_Candidate, _Kind]]:
    """All candidates that may still become better than the best so far.

    Later steps gain less: a candidate that would have to gain more than `patience` times what it
    has gained so far is dropped.
    """

    def hopes(one: _Candidate) -> bool:
        return one.criterion - patience * abs(one.gain) <= best.criterion

    return [(one, kind) for one, kind in begun if hopes(one)]


def _criterion(candidate: tuple[_Candidate, _Kind]) -> float:
    return candidate[0].criterion


def _sample(partitions: Sequence[IntArray], size: int, rng: np.random.Generator) -> IntArray:
    """A random sample of object numbers, with a few of every cluster it would miss."""
    chosen = rng.choice(len(partitions[0]), size, replace=False)
    for labels in partitions:
        missed = np.setdiff1d(labels, labels[chosen])
        few = [rng.permutation(np.flatnonzero(labels == c))[:_FEW_OBJECTS] for c in missed]
        chosen = np.concatenate([chosen, *few])
    return np.unique(chosen)


def _seed(Z: FloatArray, labels: IntArray, halvings: int) -> tuple[IntArray, FloatArray]:
    """Split every cluster in two several times; returns each component's cluster and members."""
    owner: IntArray
    piece: IntArray
    owner, piece = np.unique(labels, return_inverse=True)
    for _ in range(halvings):
        owner, piece = _halved(Z, owner, piece)
    members = np.zeros((len(Z), len(owner)))
    members[np.arange(len(Z)), piece] = 1.0
    return owner, members


def _halved(Z: FloatArray, owner: IntArray, piece: IntArray) -> tuple[IntArray, IntArray]:
    """Every component split at its mean, across its longest direction."""
    order = np.argsort(piece, kind="stable")
    owners, piece = list(owner), piece.copy()
    for members in np.split(order, np.cumsum(np.bincount(piece))[:-1]):
        if len(members) < _FEWEST_TO_CUT:
            continue
        centred = Z[members] - Z[members].mean(axis=0)
        longest = np.linalg.eigh(centred.T @ centred)[1][:, -1]
        beyond = members[centred @ longest > 0.0]
        if 0 < len(beyond) < len(members):
            owners.append(owner[piece[members[0]]])
            piece[beyond] = len(owners) - 1
    return np.array(owners), piece


def _trust(Z: FloatArray, fit: Fit) -> float:
    """1 where the whitened residuals look as expected, smaller the more they deviate.

    The whitened residuals of a Gaussian component have fourth moments of 3 (2.89 with squares cut
    off at 9, which limits the effect of outliers). Lines, split rings and uniform regions deviate
    by 1 to 2, and their mixture should not decide where clusters end.
    """
    own, found = fit.shares.argmax(axis=1), fit.pieces
    noise = np.empty_like(Z)
    for piece, mean in enumerate(found.means):
        members = own == piece
        noise[members] = (Z[members] - mean) @ found.whitening[piece].T
    fourth = np.minimum(noise**2, 9.0) ** 2
    if fit.weights is not None:
        fourth *= fit.weights[:, None]
    moment = np.mean(fourth, axis=0) / _TAILS[found.tails]
    return float(1.0 / max(2.89 * np.mean(np.abs(moment - 1.0)), 1.0))
