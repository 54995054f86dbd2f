"""RandomWalkClassifier: classes of all objects from the labels of a few."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from soffit._parameters import (
    OneOf,
    WholeNumber,
    check_parameters,
    renamed_parameters,
)
from soffit._threads import one_blas_thread, thread_limit, without_warnings
from soffit._typing import FloatArray, Matrix, is_sparse
from soffit.affinity.given_objects import Affinities, Standardize
from soffit.exceptions import EmptyClusterWarning
from soffit.factorize.problem import Stop
from soffit.fitting.data import Constraints, Data, PartialLabels
from soffit.fitting.fitted import Fitted, SimilarityPlacer, Unchanged, rule_only
from soffit.fitting.recipe import Recipe, Stage, affinity_attributes, relate_pairs
from soffit.graph import reciprocal
from soffit.inputs import lazy_part
from soffit.memberships.measures import on_simplex
from soffit.models.base import SimilarityEstimator
from soffit.models.relation_factorization import RelationFactorization
from soffit.normalize import unnormalized

if TYPE_CHECKING:
    from typing_extensions import Self


# Called after every step of a walk; True ends it.
End = Callable[[], bool]
# A change of this size relative to the largest weight is rounding.
_STILL = 1e-15


def never() -> bool:
    """Let a walk take all its steps."""
    return False


@dataclass(frozen=True, eq=False)
class PointWalk:
    """The walk with transitions T = D^-1 A: products with A, never powers of n x n matrices."""

    A: Matrix
    degrees: FloatArray
    _arrays: ClassVar[dict[str, str]] = {"A": "affinities n n", "degrees": "nonnegative n"}

    @classmethod
    def on(cls, A: Matrix) -> PointWalk:
        """The walk on a graph of objects."""
        return cls(A, _sums(A, axis=1))

    def walk(self, Y: FloatArray, steps: int, end: End = never) -> FloatArray:
        """T^(t-1) (I + T) / 2 Y; `end` may cut the walk short."""
        # Long thin paths underflow in float32; a graph is small enough to convert.
        A: Any = self.A.astype(np.float64) if is_sparse(self.A) else self.A
        share = reciprocal(self.degrees)[:, None].astype(A.dtype)
        F = Y.astype(A.dtype)
        for _ in range(steps - 1):
            F, before = share * (A @ F), F
            if end() or _is_still(F, before):
                break
        return np.asarray((F + share * (A @ F)) / 2)


@dataclass(frozen=True, eq=False)
class ClusterWalk:
    r"""The same walk on :math:`B \Lambda^{-1} B^\top`, from cluster to cluster.

    :math:`T^t = D^{-1} B (\Lambda^{-1} C)^{t-1} \Lambda^{-1} B^\top` with
    :math:`C = B^\top D^{-1} B` (eq. 5): labels go to the clusters, walk among them, and return to
    the objects.
    """

    B: FloatArray
    degrees: FloatArray
    weights: FloatArray
    between: FloatArray
    _arrays: ClassVar[dict[str, str]] = {
        "B": "nonnegative n m",
        "degrees": "nonnegative n",
        "weights": "nonnegative m",
        "between": "nonnegative m m",
    }

    @classmethod
    def on(cls, B: FloatArray) -> ClusterWalk:
        """The walk on a bipartite graph of objects and clusters."""
        degrees, weights = _sums(B, axis=1), _sums(B, axis=0)
        similarities = (B * reciprocal(degrees)[:, None].astype(B.dtype)).T @ B
        return cls(B, degrees, weights, reciprocal(weights)[:, None] * similarities)

    def walk(self, Y: FloatArray, steps: int, end: End = never) -> FloatArray:
        """T^(t-1) (I + T) / 2 Y; `end` may cut the walk short."""
        Z = reciprocal(self.weights)[:, None] * (self.B.T @ Y.astype(self.B.dtype))
        for _ in range(steps - 2):
            Z, before = self.between @ Z, Z
            if end() or _is_still(Z, before):
                break
        if steps == 1:
            return (Y + self._carried_back(Z)) / 2
        return self._carried_back((Z + self.between @ Z) / 2)

    def _carried_back(self, Z: FloatArray) -> FloatArray:
        share = reciprocal(self.degrees)[:, None]
        return np.asarray(share * (self.B @ Z.astype(self.B.dtype)))


def _is_still(now: FloatArray, before: FloatArray) -> bool:
    """Whether a walk has arrived where it will stay."""
    return bool(np.abs(now - before).max(initial=0.0) <= _STILL * np.abs(now).max(initial=0.0))


def _sums(A: Matrix, axis: int) -> FloatArray:
    return np.asarray(A.sum(axis=axis, dtype=np.float64)).ravel()


# Entries of one dense block of affinities between new and fitted objects.
_BLOCK_ENTRIES = 2**23


class RandomWalkClassifier(ClassifierMixin, SimilarityEstimator):
    r"""Classes of all objects from the labels of a few, by a random walk on their graph.

    With the transitions :math:`T = D^{-1} W` of the graph,

    .. math:: p(c \mid i) \propto \Big(T^{t-1} \, \frac{I + T}{2} \, Y\Big)_{ic}, \qquad
              Y_{jc} = \frac{[y_j = c]}{\sum_{l : y_l = c} d_l},

    which is Bayes' rule for a walk that starts at the labelled objects of a class, in proportion
    to their degrees, and is at i after t steps, with equal class priors. Dividing by the degrees
    of the labelled objects corrects for classes with more, or better connected, labels; very long
    walks then forget all classes evenly. The last step is lazy (it stays with probability 1/2), so
    that walks on bipartite graphs do not end on one side only.

    Parameters
    ----------
    n_steps : int, default 16
        Length t of the walk. Short walks do not reach all objects, very long ones forget where they
        started. With one or two labels per class on large graphs, 32 to 64 steps are better.
    on : {"points", "clusters"}, default "points"
        Walk from object to object, or from cluster to cluster of a `RelationFactorization` W ~ B
        Lambda^-1 B': after one factorization, `relabel` is much faster.
    n_clusters : int, default 100
        Number of clusters for ``on="clusters"``, at most the number of objects.
    affinity : str, callable or Affinity, default "nearest_neighbors"
        The weights W. One of "nearest_neighbors", "relative", "rbf", "laplacian", "cosine",
        "precomputed". As in `RelationFactorization`, the neighbour graph keeps all listed
        neighbours and has locally scaled weights.
    metric : str or callable, default "euclidean"
        The distance behind W; "precomputed" means that X holds distances.
    n_neighbors : int, default 10
        Neighbours per object in the graph.
    standardize : {"auto", True, False}, default "auto"
        Scale the columns of a table to unit standard deviation; "auto" does so if their spreads
        differ so much that one column would decide alone (`soffit.affinity.Standardizer`).
    max_time : float or None, default None
        Time limit in seconds of the factorization for ``on="clusters"``.
    random_state : int, RandomState or None, default None
        Seed of the factorization; ``on="points"`` is deterministic.
    verbose : int, default 0
        1 shows phases and elapsed time, 2 also iterations of the factorization.
    callback : callable or None, default None
        Called with a `FitEvent` after every iteration of the factorization; if it returns True,
        the factorization stops.
    n_jobs : int or None, default -1
        Number of threads, as in scikit-learn: -1 uses all cores (limited by OMP_NUM_THREADS), None
        means 1 unless set by `joblib.parallel_config`. It does not change results.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
        The classes.
    label_distributions_ : ndarray of shape (n, c)
        Probability of each class; rows sum to one. A labelled object has its own class.
    transduction_ : ndarray of shape (n,)
        The most probable class of each fitted object.
    class_prior_ : ndarray of shape (c,)
        Mean distribution of the objects that the walk reaches; all others get this one.
    affinity_matrix_ : ndarray or csr_array of shape (n, n)
        W.
    object_names_ : ndarray of shape (n,) or None
        Names of the objects, if the input has any.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Unlabelled objects have y = -1; None, NaN and pandas' NA also count as unlabelled, and so does
    the text "-1", which NumPy makes of a list like ``["a", -1]``.

    The poster does not name its learner, and its claim that more steps are always better does not
    hold: after some hundred steps the walk forgets its start.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit import RandomWalkClassifier
    >>> from soffit.datasets import make_moons
    >>> X, labels, _ = make_moons(200, random_state=7)
    >>> y = np.full(200, -1)
    >>> for c in (0, 1):
    ...     known = np.flatnonzero(labels == c)[:3]
    ...     y[known] = c
    >>> model = RandomWalkClassifier().fit(X, y)
    >>> model.label_distributions_.shape, model.predict_proba(X[:5]).shape
    ((200, 2), (5, 2))

    References
    ----------
    K. Yu, S. Yu, V. Tresp (2005). Soft clustering on graphs. NIPS. Sections 3.2 and 4.3.
    """

    affinity_matrix_: Matrix
    label_distributions_: FloatArray
    classes_: NDArray[Any]
    # Transitions need all listed neighbours, as in the factorization of the same graph.
    _keep = "union"
    _weights = "local"
    _rules = SimilarityEstimator._rules | {
        "n_steps": WholeNumber(1),
        "on": OneOf(("points", "clusters")),
        "n_clusters": WholeNumber(1),
    }

    _arrays = SimilarityEstimator._arrays | {
        "affinity_matrix_": "affinities n n",
        "neighbor_recall_": "float?",
        "label_distributions_": "probabilities n c",
        "transduction_": "any n",
        "classes_": "any c",
        "class_prior_": "probabilities c",
        "_fitted": "part :Fitted n p? k=c",
    }

    _renamed = SimilarityEstimator._renamed | {
        "steps": "n_steps",
    }

    @renamed_parameters(steps="n_steps")
    def __init__(
        self,
        *,
        n_steps: int = 16,
        on: Literal["points", "clusters"] = "points",
        n_clusters: int = 100,
        affinity: Any = "nearest_neighbors",
        metric: Any = "euclidean",
        n_neighbors: int = 10,
        standardize: Standardize = "auto",
        max_time: float | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_steps = n_steps
        self.on = on
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Build the graph of all objects and propagate the labels on it.

        Parameters
        ----------
        X : table, matrix or graph
            All objects, labelled and unlabelled: features (NumPy, pandas, polars, SciPy sparse),
            similarities with ``affinity="precomputed"``, distances with
            ``metric="precomputed"``, a networkx or igraph graph, or an AnnData object.
        y : array of shape (n,)
            Classes; -1, None or NaN where unknown.

        Returns
        -------
        self
            The fitted classifier.
        """
        return self._fit(X, y=y)

    def relabel(self, y: Any) -> Self:
        """Classify the fitted objects again from other labels, on the same graph.

        The graph and the clusters are kept; only the walk is repeated, with the current value of
        `n_steps`.

        Parameters
        ----------
        y : array of shape (n,)
            Classes; -1, None or NaN where unknown. They may differ from those of `fit`.

        Returns
        -------
        self
            The classifier with the new labels.
        """
        check_is_fitted(self, "label_distributions_")
        check_parameters(type(self).__name__, self.get_params(deep=False), self._rules)
        labels = PartialLabels.of(y, self.affinity_matrix_.shape[0], type(self).__name__)
        placer = self._fitted.placer
        assert isinstance(placer, SimilarityPlacer)
        assert isinstance(placer.extension, ClassArrival)
        with one_blas_thread(), thread_limit(self.n_jobs):
            arrival, found = _classified(
                placer.extension.walk, labels, self.n_steps, self.affinity_matrix_.dtype
            )
        attributes = {**self._fitted.attributes, **found}
        placer = replace(placer, extension=arrival)
        self._publish(replace(self._fitted, attributes=attributes, placer=placer))
        return self

    def _read(self, X: Any, constraints: Constraints, y: Any) -> Data:
        data = super()._read(X, constraints, y)
        labels = PartialLabels.of(y, data.objects.n_objects, type(self).__name__)
        return replace(data, labels=labels)

    def _recipe(self) -> Recipe[Affinities]:
        clusters = RelationFactorization(
            self.n_clusters, affinity="precomputed", callback=self.callback, n_jobs=self.n_jobs
        )
        solve = partial(_solve, steps=self.n_steps, on=self.on, clusters=clusters)
        return Recipe(None, relate_pairs, lambda stage: stage.count, solve)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the classes for new objects.

        A new object takes one more step, to the fitted objects that it resembles. Its own label is
        not used, even if it was in the training data.

        Parameters
        ----------
        X : table, or block of shape (m, n)
            New objects with the features of the fitted ones; for precomputed similarities or
            distances (and for graphs), the block between the new and the fitted objects.

        Returns
        -------
        ndarray of shape (m, c)
            Rows sum to one.
        """
        check_is_fitted(self, "label_distributions_")
        return self._place(X, self.label_distributions_.dtype)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each new object.

        Parameters
        ----------
        X : table, or block of shape (m, n)
            As for `predict_proba`.

        Returns
        -------
        ndarray of shape (m,)
            Classes.
        """
        if lazy_part(X) is not None:
            check_is_fitted(self, "label_distributions_")
            found: NDArray[Any] = self._place_blocks(X, "labels")
            return found
        probabilities = self.predict_proba(X)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])


@dataclass(frozen=True, eq=False)
class ClassArrival:
    """Class weights of the fitted objects after the walk, and the rule for new ones."""

    walk: PointWalk | ClusterWalk  # The walk, kept for `relabel`.
    walked: FloatArray  # (n, c): weights of the classes at the end of the walk.
    prior: FloatArray  # (c,): mean distribution of the objects that the walk reaches.
    _arrays: ClassVar[dict[str, str]] = {
        "walk": "part walk() n",
        "walked": "nonnegative n k",
        "prior": "probabilities k",
    }

    def profiles(self) -> FloatArray:
        """Weights of the classes at the fitted objects, one column per class."""
        return self.walked

    def place(self, block: Matrix, degrees: FloatArray) -> FloatArray:
        """Distributions of new objects, by one more step."""
        distributions = _distributions(np.asarray(block @ self.walked))
        distributions[~distributions.any(axis=1)] = self.prior
        return distributions


def _classified(
    walk: PointWalk | ClusterWalk,
    labels: PartialLabels,
    steps: int,
    dtype: np.dtype[Any],
    end: End = never,
) -> tuple[ClassArrival, dict[str, Any]]:
    """Propagate the labels; returns the rule for new objects and the public attributes."""
    n, n_classes = len(labels.codes), len(labels.classes)
    labelled, codes = labels.labelled, labels.codes[labels.labelled]
    totals = np.bincount(codes, walk.degrees[labelled], minlength=n_classes)
    Y = np.zeros((n, n_classes))
    Y[labelled, codes] = reciprocal(totals.astype(np.float64))[codes]
    walked = walk.walk(Y, steps, end)
    distributions = _distributions(walked)
    distributions[labelled] = np.eye(n_classes)[codes]
    reached = distributions.any(axis=1)
    prior = distributions[reached].mean(axis=0)
    distributions[~reached] = prior
    distributions = on_simplex(distributions.astype(dtype))
    return ClassArrival(walk, walked, prior), {
        "classes_": labels.classes,
        "class_prior_": prior.astype(dtype),
        "label_distributions_": distributions,
        "transduction_": labels.classes[distributions.argmax(axis=1)],
    }


def _solve(
    stage: Stage[Affinities],
    *,
    steps: int,
    on: Literal["points", "clusters"],
    clusters: RelationFactorization,
) -> Fitted:
    given, labels = stage.relations, stage.data.labels
    assert labels is not None
    walk: PointWalk | ClusterWalk = PointWalk.on(given.A)
    stopped: Stop = "converged"
    n_iter = 0
    if on == "clusters":
        stage.progress.phase("clusters")
        model = _clustered(clusters, stage)
        walk = ClusterWalk.on(model.bipartite_)
        n_iter = model.n_iter_
        # The last digits of the likelihood do not improve the classes.
        stopped = "converged" if model.stop_reason_ == "max_iter" else model.stop_reason_
    stage.progress.phase("walk")
    progress, begun = stage.progress, stage.progress.stopped
    arrival, found = progress.insist(
        lambda: _classified(walk, labels, steps, given.A.dtype, lambda: progress.is_hurried)
    )
    if begun is None and progress.stopped in ("max_time", "interrupted"):
        stopped = progress.stopped
    attributes = {
        **stage.data.columns,
        "object_names_": stage.data.names,
        **affinity_attributes(given),
        **found,
    }
    normalization = rule_only(unnormalized(given.A))
    placer = SimilarityPlacer(given.affinity, normalization, arrival, Unchanged())
    return Fitted(attributes, given.preparation, placer, stopped, n_iter)


def _clustered(clusters: RelationFactorization, stage: Stage[Affinities]) -> RelationFactorization:
    """The factorization of the graph, within the time left."""
    A = stage.relations.A
    clusters.set_params(
        n_clusters=min(clusters.n_clusters, A.shape[0]),
        max_time=stage.progress.time_left,
        random_state=stage.random_state,
    )
    with without_warnings(ConvergenceWarning), without_warnings(EmptyClusterWarning):
        return clusters.fit(A)


def _distributions(walked: FloatArray) -> FloatArray:
    """Rows normalized to sum to one; zero rows stay."""
    rows = walked.astype(np.float64)
    # Divide by the largest entry first: long thin paths leave values too tiny for sums.
    largest = rows.max(axis=1, keepdims=True)
    rows = np.divide(rows, largest, out=rows, where=largest > 0)
    return np.asarray(rows * reciprocal(rows.sum(axis=1))[:, None])
