"""A mixture of Gaussians that starts at given clusters and stays near them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from soffit._threads import each, pieces
from soffit._typing import FloatArray, IntArray
from soffit.memberships.em_steps import (
    Fit,
    Pieces,
    Sums,
    begin_fit,
    moments_of,
    n_parameters,
    scatters,
)
from soffit.memberships.measures import power_to_agree, soften

# Densities are estimated directly up to this many columns.
_FEW_COLUMNS = 5
# A column that varies less than this share of the most varying one is constant up to rounding.
_CONSTANT = 1e-10
_MOST_COMPONENTS = 30
_SHRINKAGE = 0.05


@dataclass(frozen=True, eq=False)
class Projection:
    """An affine map from features, or from the logarithms of some, to a few directions.

    A column with a positive floor is replaced by its logarithm; smaller values count as the floor.
    """

    center: FloatArray
    directions: FloatArray
    floors: FloatArray | None = None
    _arrays: ClassVar[dict[str, str]] = {
        "center": "finite p",
        "directions": "finite p d",
        "floors": "nonnegative? p",
    }

    @classmethod
    def of(cls, X: FloatArray, labels: IntArray, n_clusters: int) -> Projection:
        """At most max(k - 1, 3) directions in which the means of the clusters differ."""
        return cls.principal(X).toward(X, labels, n_clusters)

    @classmethod
    def principal(cls, X: FloatArray) -> Projection:
        """The leading principal components; all columns unchanged if there are few."""
        center = X.mean(axis=0, dtype=np.float64)
        varying, size = _varying(X)
        if varying.sum() <= _FEW_COLUMNS:
            return cls(center, np.eye(X.shape[1])[:, varying] / size)
        return cls(center, _principal_directions(X - center))

    @classmethod
    def logarithmic(cls, X: FloatArray) -> Projection | None:
        """The principal components where skewed columns are replaced by their logarithms.

        None if no column has positive values whose logarithms are closer to normal.
        """
        least = X.min(axis=0)
        logs = np.log(np.where(least > 0, X, 1.0))
        with np.errstate(divide="ignore"):
            plain, logged = np.log(X.std(axis=0)), np.log(logs.std(axis=0)) + logs.mean(axis=0)
        floors = np.where((least > 0) & (logged < plain), least, 0.0)
        if not floors.any():
            return None
        return replace(cls.principal(_logged(X, floors)), floors=floors)

    def toward(self, X: FloatArray, labels: IntArray, n_clusters: int) -> Projection:
        """The discriminant directions of the labels among these; all if there are few."""
        if _varying(X)[0].sum() <= _FEW_COLUMNS:
            return self
        turned = _discriminant_directions(self.apply(X), labels, n_clusters)
        return Projection(self.center, self.directions @ turned)

    def apply(self, X: FloatArray) -> FloatArray:
        """Coordinates of the objects in the chosen directions."""
        X = X if self.floors is None else _logged(X, self.floors)
        return np.asarray((X - self.center) @ self.directions)

    def log_volume(self, X: FloatArray) -> FloatArray:
        """Logarithm of the volume that the map gives to a unit of volume at each object."""
        stretched = float(np.log(np.linalg.svd(self.directions, compute_uv=False)).sum())
        if self.floors is None:
            return np.full(len(X), stretched)
        logged = self.floors > 0
        return np.asarray(stretched - np.log(np.maximum(X, self.floors)[:, logged]).sum(axis=1))


def _logged(X: FloatArray, floors: FloatArray) -> FloatArray:
    """The table with logarithms where there is a floor."""
    return np.where(floors > 0, np.log(np.maximum(X, np.where(floors > 0, floors, 1.0))), X)


def _varying(X: FloatArray) -> tuple[NDArray[np.bool_], float]:
    """The columns that tell objects apart, at least one, and the largest standard deviation."""
    spread = X.std(axis=0, dtype=np.float64)
    largest = float(spread.max())
    if not largest > 0:
        return np.arange(X.shape[1]) == 0, 1.0
    return spread > _CONSTANT * largest, largest


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
_HALVINGS = 3
_FEWEST_TO_CUT = 4
# Degrees of freedom of the components, Gaussian or heavy-tailed, and the mean fourth power of
# their whitened residuals, with squares cut off at 9.
_TAILS = {np.inf: 2.89, 4.0: 7.33}
# Share of the penalty of the Bayesian information criterion. Shrunk covariances have fewer free
# parameters than are counted.
_PENALTY = 0.5
# A mixture has converged when a step lowers the criterion by less than this.
_NEGLIGIBLE_GAIN = 0.1
_MOST_OBJECTS = 4000
_FEW_OBJECTS = 20
# Directions are computed from at most so many objects, of wide tables from at most so many values.
_MOST_PROJECTED, _MOST_PROJECTED_VALUES = 2**17, 2**22
# Objects per thread and evaluation.
_ROWS = 2**11


@dataclass(frozen=True, eq=False)
class SeededMixture:
    """A fitted mixture; `memberships` evaluates it anywhere in the feature space.

    Examples
    --------
    >>> from soffit.datasets import make_gaussians
    >>> from soffit.memberships import fit_seeded_mixture
    >>> X, labels, _ = make_gaussians(200, n_clusters=2, random_state=7)
    >>> fit_seeded_mixture(X, labels, 2, random_state=0).means.shape[0] >= 2
    True
    """

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
    # Whether its components are the clusters, so that no other evidence counts.
    alone: bool = False
    _arrays: ClassVar[dict[str, str]] = {
        "projection": "part :Projection p d",
        "owner": "int g <k",
        "log_weights": "finite g",
        "means": "finite g d",
        "whitening": "cholesky g d d",
        "n_clusters": "size k",
        "trust": "finite",
        "tails": "positive?",
        "power": "positive",
        "alone": "bool?",
    }

    def memberships(self, X: FloatArray) -> FloatArray:
        """Softened posterior of each cluster, summed over the cluster's components."""
        mixture = self._components
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

    def widened(
        self, centers: FloatArray, counts: FloatArray, scatter: FloatArray
    ) -> SeededMixture:
        """The mixture of objects, if it was fitted to centres of groups of them.

        The covariance of a cluster is that of the centres plus the mean scatter inside groups.

        Parameters
        ----------
        centers : array of shape (m, p)
            Centres of the groups.
        counts : array of shape (m,)
            Objects per group.
        scatter : array of shape (m, p)
            Mean squared deviation of the objects of a group from its centre, column by column.
        """
        if self.projection.floors is not None:
            # Scatter of values says little about that of their logarithms.
            return self
        Z = np.asarray(self.projection.apply(centers), dtype=np.float64)
        shares = self._components.shares(Z) * counts[:, None]
        inside = (shares.T @ scatter) / (shares.sum(axis=0) + 1e-10)[:, None]
        factors = np.linalg.inv(self.whitening)
        turned = np.sqrt(inside)[:, :, None] * self.projection.directions
        covariances = factors @ factors.transpose(0, 2, 1) + turned.transpose(0, 2, 1) @ turned
        return replace(self, whitening=np.linalg.inv(np.linalg.cholesky(covariances)))

    def sums(self, X: FloatArray) -> Sums:
        """What a step of EM needs to know of some objects."""
        Z = np.asarray(self.projection.apply(X), dtype=np.float64)
        return Sums.over(Z, self._components)

    def stepped(self, sums: Sums) -> SeededMixture:
        """The mixture after a step of EM with the sums over all objects.

        It is no longer softened: that was for what it agreed with before.
        """
        before = self._components
        common = len(before.whitening) > 1 and bool((before.whitening == before.whitening[0]).all())
        found = sums.pieces(before.tails, common=common)
        return replace(
            self,
            log_weights=found.log_weights,
            means=found.means,
            whitening=found.whitening,
            power=1.0,
        )

    @property
    def _components(self) -> Pieces:
        tails = np.inf if self.tails is None else self.tails
        return Pieces(self.log_weights, self.means, self.whitening, tails)

    def _sums(self, shares: FloatArray) -> FloatArray:
        """Sums of component shares per cluster."""
        indicator = (self.owner[:, None] == np.arange(self.n_clusters)).astype(np.float64)
        summed = shares @ indicator
        return np.asarray(summed / summed.sum(axis=1, keepdims=True))


class Space(NamedTuple):
    """Directions, the objects in them, and the criterion of the other directions by tails."""

    projection: Projection
    Z: FloatArray
    moments: FloatArray
    rest: dict[float, float]
    # Weights of the objects; None means 1.
    weights: FloatArray | None = None

    @classmethod
    def of(
        cls,
        projection: Projection,
        X: FloatArray,
        rest: dict[float, float],
        weights: FloatArray | None,
    ) -> Space:
        """The objects in the directions of a projection."""
        Z = np.asarray(projection.apply(X), dtype=np.float64)
        return cls(projection, Z, moments_of(Z), rest, weights)

    def fit(self, members: FloatArray, tails: float, *, common: bool = False) -> Fit:
        """The components of given members."""
        return begin_fit(self.moments, members, tails, self.weights, common=common)


class Candidate(NamedTuple):
    """A kind of mixture: the cluster of each component, and the fit so far."""

    space: Space
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

    def mixture(self, n_clusters: int) -> SeededMixture:
        """The mixture that evaluates the components anywhere."""
        found = self.fit.pieces
        return SeededMixture(
            self.space.projection,
            self.owner,
            found.log_weights,
            found.means,
            found.whitening,
            n_clusters,
            trust_in(self.space.Z, self.fit),
            None if np.isinf(found.tails) else found.tails,
        )

    def advanced(self, n_steps: int) -> Candidate:
        """The candidate after more EM steps, or as many as it takes to converge."""
        candidate = self
        for _ in range(n_steps):
            later = candidate._replace(fit=candidate.fit.advanced())
            step = candidate.criterion - later.criterion
            candidate = later._replace(gain=candidate.gain + step)
            if step < _NEGLIGIBLE_GAIN:
                break
        return candidate


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
    steps (`n_steps` 0) the components describe the clusters as they are. Objects may have weights,
    1 on average; directions are the same for all weights.

    Parameters
    ----------
    X : array of shape (n, d)
        Features.
    labels : int array of shape (n,)
        The clusters at which the mixture starts.
    n_clusters : int
        Number of clusters.
    random_state : int
        Seeds the sample.
    weights : array of shape (n,), optional
        Weights of the objects, 1 on average.
    n_steps : int
        Number of EM steps.
    max_objects : int
        Size of the sample.

    Returns
    -------
    SeededMixture
        Its `memberships` are those of any objects.

    Examples
    --------
    >>> from soffit.datasets import make_gaussians
    >>> from soffit.memberships import fit_seeded_mixture
    >>> X, labels, _ = make_gaussians(200, n_clusters=2, random_state=7)
    >>> fit_seeded_mixture(X, labels, 2, random_state=0).memberships(X).shape
    (200, 2)
    """
    found = describe_partitions(
        *(X, [labels], n_clusters),
        random_state=random_state,
        weights=weights,
        n_steps=n_steps,
        max_objects=max_objects,
    )
    return found.partitions[0].mixture


@dataclass(frozen=True, eq=False)
class DescribedPartition:
    """A partition and a mixture that starts at it."""

    candidate: Candidate
    labels: IntArray
    n_clusters: int

    @property
    def log_density(self) -> float:
        """Penalized mean log density per object."""
        return -0.5 * self.candidate.criterion / len(self.labels)

    @cached_property
    def mixture(self) -> SeededMixture:
        """The mixture; softening it to its agreement with the partition takes some time."""
        found = self.candidate.mixture(self.n_clusters)
        return found.agreeing(self.candidate.fit.shares, self.labels)


@dataclass(frozen=True, eq=False)
class Description:
    """Mixtures that start at partitions, the objects they describe, and all leading directions."""

    partitions: list[DescribedPartition]
    X: FloatArray
    whole: Space


def describe_partitions(
    X: FloatArray,
    partitions: Sequence[IntArray],
    n_clusters: int,
    *,
    random_state: int,
    weights: FloatArray | None = None,
    n_steps: int = _STEPS,
    max_objects: int = _MOST_OBJECTS,
) -> Description:
    """Fit a mixture to every partition, all of the kind that suits the first one best."""
    wide = max(_MOST_PROJECTED_VALUES // X.shape[1], _MOST_OBJECTS)
    every = -(-len(X) // min(_MOST_PROJECTED, wide))
    whole = Projection.principal(X[::every])
    few = [whole.toward(X[::every], labels[::every], n_clusters) for labels in partitions]
    rng = np.random.default_rng(random_state)
    if len(X) > max_objects:
        chosen = _sample(partitions, max_objects, rng)
        X, partitions = X[chosen], [labels[chosen] for labels in partitions]
        weights = None if weights is None else weights[chosen] / weights[chosen].mean()
    spaces = _spaces(few[0], whole, X, weights)
    best = _best_kind(spaces, partitions[0], n_steps)
    is_whole = best.space is not spaces[0]
    tails = best.fit.pieces.tails
    joint = _criterion_of_one(spaces[1], tails) if len(spaces) > 1 and not is_whole else None

    def describe(number: int) -> DescribedPartition:
        labels = partitions[number]
        space = best.space
        if not is_whole:
            space = Space.of(few[number], X, dict.fromkeys(_TAILS, 0.0), weights)
            if joint is not None:
                space = space._replace(rest={tails: joint - _criterion_of_one(space, tails)})
        described = _like(best, space, labels).advanced(n_steps)
        return DescribedPartition(described, labels, n_clusters)

    others = each(describe, range(1, len(partitions)))
    first = DescribedPartition(best, partitions[0], n_clusters)
    return Description([first, *others], X, spaces[-1])


def _like(best: Candidate, space: Space, labels: IntArray) -> Candidate:
    """A mixture of the same kind as the best one, at other labels."""
    owner: IntArray
    piece: IntArray
    owner, piece = np.unique(labels, return_inverse=True)
    for _ in range(_HALVINGS):
        if len(owner) >= len(best.owner):
            break
        owner, piece = _halved(space, owner, piece)
    members = indicator(piece, len(owner))
    return Candidate(
        space, owner, space.fit(members, best.fit.pieces.tails, common=best.fit.common)
    )


def _best_kind(spaces: list[Space], labels: IntArray, n_steps: int) -> Candidate:
    """The mixture of the kind with the best criterion after all steps."""
    owner: IntArray
    piece: IntArray
    owner, piece = np.unique(labels, return_inverse=True)
    members = indicator(piece, len(owner))
    kinds = [
        (space, tails, common) for space in spaces for tails in _TAILS for common in (False, True)
    ]

    def begin_kind(kind: tuple[Space, float, bool]) -> Candidate:
        space, tails, common = kind
        return Candidate(space, owner, space.fit(members, tails, common=common))

    candidates = _compete(begin_kind, kinds, None, n_steps, patience=1.0)
    best = min(candidates, key=_criterion)
    tails = best.fit.pieces.tails

    def begin_cut(cut: tuple[IntArray, IntArray]) -> Candidate:
        owner, piece = cut
        return Candidate(spaces[0], owner, spaces[0].fit(indicator(piece, len(owner)), tails))

    candidates = [best]
    cut: tuple[IntArray, IntArray] = (owner, piece)
    for _ in range(_HALVINGS):
        cut = _halved(spaces[0], *cut)
        smaller = _compete(begin_cut, [cut], best, n_steps, patience=_PATIENCE)
        candidates += smaller
        # Where halves are far from the best, smaller parts are farther.
        if not smaller:
            break
    return min(candidates, key=_criterion)


def _spaces(
    few: Projection, whole: Projection, X: FloatArray, weights: FloatArray | None
) -> list[Space]:
    """The few directions and, if there are more, all of them.

    The directions left out are modelled alike for all clusters, by a single Gaussian conditional on
    the few directions, whose density is the joint over the marginal one. This makes the criteria of
    both comparable.
    """
    none = dict.fromkeys(_TAILS, 0.0)
    part = Space.of(few, X, none, weights)
    if few.directions.shape == whole.directions.shape:
        return [part]
    everything = Space.of(whole, X, none, weights)

    def left_out(tails: float) -> float:
        return _criterion_of_one(everything, tails) - _criterion_of_one(part, tails)

    rest = dict(zip(_TAILS, each(left_out, _TAILS), strict=True))
    return [part._replace(rest=rest), everything]


def _criterion_of_one(space: Space, tails: float) -> float:
    """Criterion of a single component for all objects; a Gaussian has a closed form."""
    fit = space.fit(np.ones((len(space.Z), 1)), tails, common=True)
    one = Candidate(space, np.zeros(1, dtype=np.int64), fit)
    return one.advanced(0 if np.isinf(tails) else _STEPS).criterion


Kind = TypeVar("Kind")


def _compete(
    begin: Callable[[Kind], Candidate],
    kinds: list[Kind],
    best: Candidate | None,
    n_steps: int,
    *,
    patience: float,
) -> list[Candidate]:
    """Candidates after all EM steps, without those that cannot become better than the best.

    Later steps gain less: a candidate is dropped after a few steps if it would have to gain more
    than `patience` times what it has gained so far, and after the first one if it would be dropped
    then even if all steps gained as much.
    """
    few = min(_FIRST_STEPS, n_steps)
    one = min(1, n_steps)
    begun = each(lambda kind: begin(kind).advanced(one), kinds)
    begun = promising(begun, best, few - one + few * patience)
    begun = each(lambda candidate: candidate.advanced(few - one), begun)
    begun = promising(begun, best, patience)
    return each(lambda candidate: candidate.advanced(n_steps - few), begun)


def promising(begun: list[Candidate], best: Candidate | None, patience: float) -> list[Candidate]:
    """Candidates that are better than the best after gaining `patience` times as much again."""
    least = min(begun, key=_criterion).criterion if best is None else best.criterion
    return [one for one in begun if one.criterion - patience * abs(one.gain) <= least]


def _criterion(candidate: Candidate) -> float:
    return candidate.criterion


def _sample(partitions: Sequence[IntArray], size: int, rng: np.random.Generator) -> IntArray:
    """A random sample of object numbers, with a few of every cluster it would miss."""
    chosen = rng.choice(len(partitions[0]), size, replace=False)
    for labels in partitions:
        missed = np.setdiff1d(labels, labels[chosen])
        few = [rng.permutation(np.flatnonzero(labels == c))[:_FEW_OBJECTS] for c in missed]
        chosen = np.concatenate([chosen, *few])
    return np.unique(chosen)


def indicator(piece: IntArray, n_pieces: int) -> FloatArray:
    """One column per piece, with ones for its members."""
    members = np.zeros((len(piece), n_pieces))
    members[np.arange(len(piece)), piece] = 1.0
    return members


def _halved(space: Space, owner: IntArray, piece: IntArray) -> tuple[IntArray, IntArray]:
    """Every component split at its mean, across its longest direction.

    Components are given by their clusters and the component of each object, and so are the halves.
    """
    mass, means, scatter = scatters(space.moments, indicator(piece, len(owner)))
    longest = np.linalg.eigh(scatter)[1][:, :, -1]
    beyond = np.einsum("ij,ij->i", space.Z - means[piece], longest[piece]) > 0.0
    n_beyond = np.bincount(piece[beyond], minlength=len(owner))
    cut = (mass >= _FEWEST_TO_CUT) & (n_beyond > 0) & (n_beyond < np.rint(mass))
    number = len(owner) - 1 + np.cumsum(cut)
    return np.append(owner, owner[cut]), np.where(beyond & cut[piece], number[piece], piece)


def trust_in(Z: FloatArray, fit: Fit) -> float:
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
