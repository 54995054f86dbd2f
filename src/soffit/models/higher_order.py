"""HigherOrder: clusters from affinities of tuples (Zass & Shashua 2005, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import validate_data

from soffit._parameters import (
    Number,
    OrNone,
    TextOrFunction,
    WholeNumber,
    check_parameter,
    renamed_parameters,
)
from soffit._threads import row_blocks
from soffit._typing import FloatArray, is_sparse
from soffit.affinity.given_objects import Objects, Standardize
from soffit.affinity.tuples import TupleMeasure, TupleSample, sample_tuples, tuple_measure
from soffit.factorize import Factorization, random_start
from soffit.factorize.simplex.placement import with_prior
from soffit.factorize.starts import make_rows_sum_to_one
from soffit.factorize.tuples.placement import TupleRows
from soffit.factorize.tuples.solve import (
    KnownTuples,
    flatten_tuples,
    known_tuples,
    solve_tuples,
    tuple_start,
)
from soffit.fitting.data import Constraints, Data, read_columns
from soffit.fitting.fitted import Fitted, Smoothing, Unchanged, explained_squares
from soffit.fitting.monitor import Progress
from soffit.fitting.recipe import (
    Count,
    Recipe,
    Stage,
    check_n_clusters,
    membership_attributes,
    search_attributes,
)
from soffit.fitting.restarts import solve_in_threads
from soffit.inputs import read_input
from soffit.models.base import SimilarityClustering

if TYPE_CHECKING:
    from typing_extensions import Self


# Tuples are sampled for about this many clusters when n_clusters is None.
_USUAL_NUMBER = 4


class HigherOrder(SimilarityClustering):
    r"""Soft clusters of points that fit together as tuples, not as pairs.

    .. math:: \min_{G \ge 0} \sum_{t} m_t \Big(K_t - \sum_{r=1}^k
              G_{t_1 r} \cdots G_{t_p r}\Big)^2

    over sampled tuples t of p objects. Any two points lie on a line, so pairs cannot separate
    crossing lines; triples can. By conditional independence the probability that the objects of a
    tuple belong together is the sum on the right, with :math:`G_{ir}` the membership of object i.

    Parameters
    ----------
    n_clusters : int or None, default 8
        Number of clusters; None selects it from the tuples, flattened to pairs.
    max_clusters : int or None, default None
        The largest number that is considered if `n_clusters` is None; by default the range grows
        while the evidence does.
    order : int, default 3
        Number p of objects per tuple.
    tuple_affinity : {"line", "plane", "circle", "point"} or callable, default "line"
        K. A name stands for :math:`\exp(-\delta^2 / w^2)` with the root mean square distance
        :math:`\delta` of a tuple's points to their best line (order at least 3), plane or circle
        (order at least 4), or to their mean ("point", for round clusters). A callable maps the
        points of t tuples, an array of shape (t, order, d), to t nonnegative values that do not
        depend on the order of the points in a tuple.
    bandwidth : float or None, default None
        w. None means five times the typical deviation of objects that fit the best tuples.
    standardize : {"auto", True, False}, default "auto"
        Scale the columns of a table to unit standard deviation; "auto" does so if their spreads
        differ so much that one column would decide alone (`soffit.affinity.Standardizer`).
    n_tuples : int or None, default None
        Number of sampled tuples; None means 100 per object. All tuples are used if there are fewer.
    n_init : int, default 3
        Number of starts: the first from eigenvectors of the affinities summed to pairs, the others
        random; the one with the lowest objective is kept.
    max_iter : int, default 1000
        Maximum number of sweeps over the objects.
    tol : float, default 1e-5
        Relative decrease of the objective below which sweeps stop.
    max_time : float or None, default None
        Time limit in seconds; the best solution so far is kept. None means no limit.
    warm_start : bool, default False
        Start from the last fit, if it had as many objects and clusters.
    random_state : int, RandomState or None, default None
        Seed of the sample and of the random starts.
    verbose : int, default 0
        1 shows phases and elapsed time, 2 also iterations.
    callback : callable or None, default None
        Called with a `FitEvent` after every iteration; if it returns True, the fit stops.
    n_jobs : int or None, default -1
        Number of threads, as in scikit-learn: -1 uses all cores (limited by OMP_NUM_THREADS), None
        means 1 unless set by `joblib.parallel_config`. It does not change results.

    Attributes
    ----------
    memberships_ : ndarray of shape (n, k)
        The rows of G divided by their sums. An object in no tuple, or with a zero row, gets the
        mean membership of the others.
    labels_ : ndarray of shape (n,)
        Most probable cluster.
    entropy_ : ndarray of shape (n,)
        Uncertainty of each object in nats.
    factor_ : ndarray of shape (n, k)
        G.
    tuples_ : ndarray of shape (t, order)
        The fitted tuples.
    tuple_values_ : ndarray of shape (t,)
        Their affinities.
    bandwidth_ : float or None
        Width of the affinity; None with a callable and after `fit_tuples`.
    objective_, objective_history_, n_iter_
        Final objective, its history from the start on, and number of iterations.
    converged_, stop_reason_ : bool, str
        Whether the fit converged, and why it ended: "converged", "max_iter", "max_time",
        "callback" or "interrupted".

    Notes
    -----
    The paper leaves the update for tuples to later work. Here rows are updated in turn by its eq.
    6, applied to a whole row: without repeated objects the objective is quadratic in a row, and no
    step raises it. The cost grows with the sampled tuples, not with :math:`n^p`.

    Random tuples of k clusters fall into one cluster about once in :math:`k^{p-1}` times. For every
    object, the sample therefore extends those random tuples of p - 1 objects that separate other
    objects best: some fit them well, the others not at all. No labels are used.

    Examples
    --------
    >>> from soffit import HigherOrder
    >>> from soffit.datasets import make_lines
    >>> from soffit.metrics import accuracy
    >>> X, labels, posterior = make_lines(150, n_lines=3, random_state=7)
    >>> model = HigherOrder(n_clusters=3, random_state=7).fit(X)
    >>> accuracy(labels, model.labels_) > 0.9
    True

    References
    ----------
    R. Zass and A. Shashua (2005). A unifying approach to hard and probabilistic clustering.
    ICCV, section 4.
    """

    # Tuples replace pairs: there is no affinity matrix and no metric.
    _rules = SimilarityClustering._rules | {
        "order": WholeNumber(2),
        "tuple_affinity": TextOrFunction(),
        "bandwidth": OrNone(Number(0.0, strict=True)),
        "n_tuples": OrNone(WholeNumber(1)),
        "n_init": WholeNumber(1),
    }
    _arrays = SimilarityClustering._arrays | {
        "n_features_in_": "size? p",
        "scale_": "finite? k",
        "affinity_matrix_": "affinities? n n",
        "tuples_": "int t * <n",
        "tuple_values_": "float t",
        "bandwidth_": "float?",
        "_fitted": "part :Fitted p? k?",
    }
    bandwidth_: float | None

    _renamed = SimilarityClustering._renamed | {
        "width": "bandwidth",
        "width_": "bandwidth_",
    }

    @renamed_parameters(width="bandwidth")
    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        max_clusters: int | None = None,
        order: int = 3,
        tuple_affinity: str | Callable[[FloatArray], FloatArray] = "line",
        bandwidth: float | None = None,
        standardize: Standardize = "auto",
        n_tuples: int | None = None,
        n_init: int = 3,
        max_iter: int = 1000,
        tol: float = 1e-5,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.order = order
        self.tuple_affinity = tuple_affinity
        self.bandwidth = bandwidth
        self.standardize = standardize
        self.n_tuples = n_tuples
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster points by the affinities of sampled tuples.

        Parameters
        ----------
        X : table of shape (n, d)
            Points: NumPy, pandas, polars or AnnData.
        y : None
            Not used.

        Returns
        -------
        self
            The fitted model.
        """
        return self._fit(X)

    def fit_tuples(self, tuples: Any, values: Any, n_objects: int, *, weights: Any = None) -> Self:
        """Cluster objects by given affinities of some of their tuples.

        The parameters `order`, `tuple_affinity`, `bandwidth` and `n_tuples` are ignored.

        Parameters
        ----------
        tuples : int array of shape (t, order)
            Object numbers, from 0. A tuple stands for all permutations of its objects.
        values : array of shape (t,)
            Affinities, at least 0. Tuples that are not listed are unknown, not zero.
        n_objects : int
            Number of objects.
        weights : array of shape (t,), optional
            Weights of the tuples, at least 0.

        Returns
        -------
        self
            The fitted model. It has no points, so it cannot place new ones.

        Examples
        --------
        >>> from soffit import HigherOrder
        >>> tuples = [[0, 1, 2], [3, 4, 5], [0, 1, 3], [2, 3, 4], [1, 2, 5], [0, 4, 5]]
        >>> values = [1, 1, 0, 0, 0, 0]
        >>> model = HigherOrder(n_clusters=2, random_state=7).fit_tuples(tuples, values, 6)
        >>> bool(model.labels_[0] != model.labels_[5])
        True
        """
        return self._fit(_Given(tuples, values, n_objects, weights))

    def _recipe(self) -> Recipe[Tuples]:
        relate = partial(
            _relate,
            order=self.order,
            tuple_affinity=self.tuple_affinity,
            width=self.bandwidth,
            n_tuples=self.n_tuples,
            n_clusters=_USUAL_NUMBER if self.n_clusters is None else self.n_clusters,
        )
        solve = partial(_solve, n_init=self.n_init, max_iter=self.max_iter, tol=self.tol)
        count = partial(_count, max_clusters=self.max_clusters)
        return Recipe(self.n_clusters, relate, count, solve, effort=self.order**2)

    def _read(self, X: Any, constraints: Constraints, y: Any) -> Data:
        if isinstance(X, _Given):
            check_parameter("n_objects", X.n_objects, WholeNumber(1))
            n = int(X.n_objects)
            check_n_clusters(self.n_clusters, n)
            known = known_tuples(X.tuples, X.values, n, X.weights)
            return _TupleData(Objects(np.empty((n, 0)), False, None), known=known)
        given = read_input(X)
        if given.kind == "graph":
            raise TypeError(
                "HigherOrder measures tuples of points, but a graph has only pairs. Pass a table, "
                "or tuples with their values to fit_tuples."
            )
        if is_sparse(given.data):
            raise TypeError(
                "HigherOrder does not take sparse features: it measures tuples of points. Pass "
                "X.toarray(), or use another model."
            )
        # scikit-learn's check records the columns on the estimator: let it do so on a copy.
        scratch = copy(self)
        table = validate_data(scratch, given.data, dtype=[np.float64, np.float32])
        check_n_clusters(self.n_clusters, len(table))
        if len(table) < self.order:
            raise ValueError(
                f"order={self.order} needs at least {self.order} objects, got "
                f"n_samples={len(table)}. Use a lower order or more points."
            )
        objects = Objects(table, False, None, given.names, standardize=self.standardize)
        return Data(objects, constraints, columns=read_columns(scratch, given.columns))

    # --- results -------------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> FloatArray:
        """Memberships of new points.

        Each new point completes tuples of fitted points and solves the fitted problem for its own
        row.

        Parameters
        ----------
        X : table of shape (m, d)
            New points with the features of the fitted ones.

        Returns
        -------
        ndarray of shape (m, k)
            Rows sum to one.
        """
        return super().predict_proba(X)

    def _new_table(self, X: Any) -> Any:
        if self._fitted.placer is None:
            raise ValueError(
                "This model was fitted by fit_tuples and has no points to compare new ones "
                "with. Fit it to points, or include the new objects in the tuples."
            )
        return validate_data(self, read_input(X).data, reset=False, dtype=[np.float64, np.float32])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags


@dataclass(frozen=True, eq=False)
class _Given:
    """The arguments of `fit_tuples`, as given."""

    tuples: Any
    values: Any
    n_objects: Any
    weights: Any


@dataclass(frozen=True, eq=False)
class _TupleData(Data):
    """Objects without points, with known affinities of some tuples."""

    known: KnownTuples | None = None


@dataclass(frozen=True, eq=False)
class Tuples:
    """Tuples of objects with their affinities."""

    known: KnownTuples  # The tuples.
    # How they were sampled and measured; None if they were given.
    sample: TupleSample | None = None
    measure: TupleMeasure | None = None


@dataclass(frozen=True, eq=False)
class TuplePlacer:
    """Places new points that complete tuples of fitted ones."""

    rows: TupleRows
    smoothing: Smoothing = field(default_factory=Unchanged)
    _arrays: ClassVar[dict[str, str]] = {
        "rows": "part place() values() p k=j",
        "smoothing": "part place() j k",
    }

    def place(self, table: Any) -> FloatArray:
        """Memberships of new points."""
        rows = self.rows.place(table)
        # Tuples are no affinities of pairs: a smoothing has only the rows.
        return self.smoothing.place(rows, table, np.empty((len(rows), 0)))

    def explained(self, table: Any) -> tuple[float, float]:
        """Squared affinities of tuples with new points: explained part and total."""
        profiles = np.asarray(self.rows.rows.factor, dtype=np.float64)
        gram = profiles.T @ profiles
        explained = total = 0.0
        for rows in row_blocks((len(table), len(profiles))):
            values = self.rows.values(table[rows])
            total += float(np.vdot(values, values))
            placed = self.rows.rows.place(values, values.sum(axis=1))
            explained += explained_squares(
                values @ profiles, np.asarray(placed, dtype=np.float64), gram
            )
        return explained, total


def _relate(
    data: Data,
    random_state: np.random.RandomState,
    progress: Progress,
    *,
    order: int,
    tuple_affinity: Any,
    width: float | None,
    n_tuples: int | None,
    n_clusters: int,
) -> Tuples:
    if isinstance(data, _TupleData) and data.known is not None:
        return Tuples(data.known)
    table = data.objects.preparation.apply(data.objects.table)
    measure = tuple_measure(tuple_affinity, order, n_features=table.shape[1], width=width)
    progress.phase("tuples")
    sample = sample_tuples(measure, table, n_clusters, random_state, n_tuples=n_tuples, width=width)
    known = KnownTuples(sample.tuples, sample.values, np.ones(len(sample.tuples)))
    return Tuples(known, sample, measure)


def _count(stage: Stage[Tuples], *, max_clusters: int | None) -> Count:
    if stage.n_clusters:
        return stage.count
    known = stage.relations.known
    n = stage.data.objects.n_objects
    A = flatten_tuples(known.tuples, known.weights * known.values, n)
    from soffit.selection import choose_k_of_graph

    choice = choose_k_of_graph(A, max_clusters=max_clusters)
    return Count(choice.n_clusters, {"k_choice_": choice})


def _solve(stage: Stage[Tuples], *, n_init: int, max_iter: int, tol: float) -> Fitted:
    known, sample = stage.relations.known, stage.relations.sample
    preparation = stage.data.objects.preparation
    table, measure = preparation.apply(stage.data.objects.table), stage.relations.measure
    found = _lowest(stage, n_init, max_iter, tol)
    stage.progress.phase("memberships")
    rows = make_rows_sum_to_one(found.factor)
    memberships = with_prior(rows, found.factor.sum(axis=1)).astype(table.dtype, copy=False)
    factor = found.factor.astype(table.dtype, copy=False)
    attributes = {
        **stage.data.columns,
        **stage.count.attributes,
        **search_attributes(replace(found, factor=factor)),
        "object_names_": stage.data.names,
        "tuples_": known.tuples,
        "tuple_values_": known.values,
        "bandwidth_": None if sample is None else sample.width,
        **membership_attributes(memberships),
    }
    placer = None
    if sample is not None and measure is not None:
        placer = TuplePlacer(TupleRows.of(sample, measure, table, factor, memberships))
    return Fitted(attributes, preparation, placer, found.stopped, found.n_iter)


def _lowest(stage: Stage[Tuples], n_init: int, max_iter: int, tol: float) -> Factorization:
    """The lowest objective over all starts; ties go to the first."""
    known, n, k = stage.relations.known, stage.data.objects.n_objects, stage.n_clusters
    data = (known.tuples, known.values, n)
    warm = stage.warm_factor(n)
    if warm is not None:
        stage.progress.phase("warm start")
        starts = [warm]
    else:
        stage.progress.phase(f"factorization from {n_init} starts")
        seeds = stage.random_state
        starts = [tuple_start(*data, k, weights=known.weights, random_state=seeds)]
        starts += [random_start(n, k, seeds) for _ in range(n_init - 1)]
    solve = partial(solve_tuples, *data, weights=known.weights, max_iter=max_iter, tol=tol)
    return solve_in_threads(solve, starts, stage.progress)
