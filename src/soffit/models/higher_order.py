"""HigherOrder: clusters from affinities of tuples (Zass & Shashua 2005, section 4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from soffit._typing import FloatArray
from soffit._validation import Number, OrNone, TextOrFunction, WholeNumber
from soffit.affinity.tuples import sample_tuples, tuple_measure
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
from soffit.fitting.data import Known
from soffit.fitting.monitor import Progress
from soffit.fitting.restarts import solve_side_by_side
from soffit.inputs import read_input
from soffit.memberships import entropy
from soffit.models.base import SimilarityClustering
from soffit.selection import choose_k_of_graph

if TYPE_CHECKING:
    from typing_extensions import Self


# Tuples are sampled for about this many clusters where their number is to be found.
_USUAL_NUMBER = 4


class HigherOrder(SimilarityClustering):
    r"""Soft clusters of points that fit together as tuples, not as pairs.

    .. math:: \min_{G \ge 0} \sum_{t} m_t \Big(K_t - \sum_{r=1}^k
              G_{t_1 r} \cdots G_{t_p r}\Big)^2

    over sampled tuples t of p objects. Any two points lie on a line, so pairs cannot tell crossing
    lines apart; three can. By conditional independence the probability that the objects of a
    tuple belong together is the sum on the right, with :math:`G_{ir}` the membership of object i.

    Parameters
    ----------
    n_clusters : int or None, default 8
        Number of clusters; None chooses it from the tuples, flattened to pairs.
    order : int, default 3
        Objects in a tuple, p.
    tuple_affinity : {"line", "plane", "circle", "point"} or callable, default "line"
        K. A name stands for :math:`\exp(-\delta^2 / w^2)` with the root mean square distance
        :math:`\delta` of a tuple's points to their best line (order at least 3), plane or circle
        (order at least 4), or to their mean ("point", for round clusters). A callable takes the
        points of t tuples, an array of shape (t, order, d), and returns t values of at least 0
        that do not depend on the order of the points in a tuple.
    width : float or None, default None
        w. None takes five times the deviation that is typical of the objects that fit the best
        tuples.
    n_tuples : int or None, default None
        Sampled tuples; None means 100 for each object. All are taken if there are fewer.
    n_init : int, default 3
        Starts: the first from eigenvectors of the affinities summed to pairs, the others random;
        the one with the lowest objective is kept.
    max_iter : int, default 1000
        Most sweeps over the objects.
    tol : float, default 1e-5
        Relative decrease of the objective below which a sweep is the last.
    max_time : float or None, default None
        Seconds after which the best so far is returned; None means no limit.
    warm_start : bool, default False
        Begin where the last fit ended, if it had as many objects and clusters.
    random_state : int, RandomState or None, default None
        Seed of the sample and of the starts.
    verbose : int, default 0
        1 shows phases and the time left, 2 also iterations.
    callback : callable or None, default None
        Called with a `FitEvent` after every iteration; if it returns True, the fit ends.
    n_jobs : int or None, default None
        Threads; None uses all cores. Results do not depend on it.

    Attributes
    ----------
    memberships_ : ndarray of shape (n, k)
        The rows of G divided by their sums. An object in no tuple, or with a zero row, has the
        mean membership of the others.
    labels_ : ndarray of shape (n,)
        Most probable cluster.
    entropy_ : ndarray of shape (n,)
        Uncertainty of each object in nats.
    factor_ : ndarray of shape (n, k)
        G.
    tuples_ : ndarray of shape (t, order)
        The tuples that were fitted.
    tuple_values_ : ndarray of shape (t,)
        Their affinities.
    width_ : float or None
        Width of the affinity; None with a callable and after `fit_tuples`.
    objective_, objective_history_, n_iter_, converged_, stopped_
        How the fit went.

    Notes
    -----
    The paper leaves the update for tuples to later work. Here rows are moved in turn by its
    eq. 6, read as ratio steps on a row: without repeated objects the objective is quadratic in
    a row, and no step raises it. The cost grows with the sampled tuples, not with :math:`n^p`.

    Random tuples of k clusters fall into one cluster about once in :math:`k^{p-1}` times. The
    sample therefore extends, for every object, those random tuples of p - 1 that tell other
    objects apart best: some fit them well, the others not at all. No labels are used.

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

    # Tuples take the place of pairs: there is no matrix of affinities and no metric.
    _rules = {
        name: rule
        for name, rule in SimilarityClustering._rules.items()
        if name not in ("metric", "n_neighbors")
    } | {
        "order": WholeNumber(2),
        "tuple_affinity": TextOrFunction(),
        "width": OrNone(Number(0.0, strict=True)),
        "n_tuples": OrNone(WholeNumber(1)),
        "n_init": WholeNumber(1),
    }
    affinity = None
    metric = None
    _places: TupleRows | None
    width_: float | None

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        order: int = 3,
        tuple_affinity: str | Callable[[FloatArray], FloatArray] = "line",
        width: float | None = None,
        n_tuples: int | None = None,
        n_init: int = 3,
        max_iter: int = 1000,
        tol: float = 1e-5,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.order = order
        self.tuple_affinity = tuple_affinity
        self.width = width
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

        The parameters `order`, `tuple_affinity`, `width` and `n_tuples` do not matter here.

        Parameters
        ----------
        tuples : int array of shape (t, order)
            Object numbers, from 0. A tuple stands for all orders of its objects.
        values : array of shape (t,)
            Affinities, at least 0. Tuples that are not listed are unknown, not zero.
        n_objects : int
            Number of objects.
        weights : array of shape (t,), optional
            Weights of the tuples, at least 0.

        Returns
        -------
        self
            The fitted model. It has no points, so that it cannot place new ones.

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

    def _run(self, X: Any, known: Known, progress: Progress) -> None:
        random_state = check_random_state(self.random_state)
        if isinstance(X, _Given):
            self._run_tuples(X, random_state, progress)
        else:
            self._run_points(X, random_state, progress)
        progress.finish(f"{self.n_iter_} iterations, objective {self.objective_:.6g}")

    def _run_tuples(
        self, given: _Given, random_state: np.random.RandomState, progress: Progress
    ) -> None:
        n = self._checked_count(given.n_objects)
        known = known_tuples(given.tuples, given.values, n, given.weights)
        # An earlier fit to points must not answer for these objects.
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self._places = None
        self.width_ = None
        self.object_names_ = None
        self._set_results(known, n, np.dtype(np.float64), random_state, progress)

    def _run_points(self, X: Any, random_state: np.random.RandomState, progress: Progress) -> None:
        given = read_input(X)
        if given.kind == "graph":
            raise TypeError(
                "HigherOrder measures tuples of points; a graph knows pairs only. Pass a table, or "
                "tuples with their values to fit_tuples."
            )
        table = validate_data(self, given.data, dtype=[np.float64, np.float32])
        n, d = table.shape
        self._checked_count(n)
        if n < self.order:
            raise ValueError(
                f"order={self.order} needs at least {self.order} objects, got n_samples={n}. "
                "Use a lower order or more points."
            )
        measure = tuple_measure(
            self.tuple_affinity, self.order, n_features=d, width=self.width, n_jobs=self.n_jobs
        )
        progress.phase("tuples")
        sample = sample_tuples(
            measure,
            table,
            _USUAL_NUMBER if self.n_clusters is None else self.n_clusters,
            random_state,
            n_tuples=self.n_tuples,
            width=self.width,
        )
        self.width_ = sample.width
        self.object_names_ = given.names
        known = KnownTuples(sample.tuples, sample.values, np.ones(len(sample.tuples)))
        self._set_results(known, n, table.dtype, random_state, progress)
        self._places = TupleRows.of(sample, measure, table, self.factor_, self.memberships_)

    def _checked_count(self, n_objects: Any) -> int:
        if isinstance(n_objects, bool) or not isinstance(n_objects, Integral) or n_objects < 1:
            raise ValueError(f"n_objects must be an integer of at least 1, got {n_objects!r}.")
        if self.n_clusters is not None and n_objects < self.n_clusters:
            raise ValueError(
                f"n_clusters={self.n_clusters} is larger than the number of objects, "
                f"n_samples={n_objects}. Choose n_clusters of at most {n_objects}."
            )
        return int(n_objects)

    def _set_results(
        self,
        known: KnownTuples,
        n: int,
        dtype: np.dtype[Any],
        random_state: np.random.RandomState,
        progress: Progress,
    ) -> None:
        self.n_clusters_ = self._count_tuples(known, n)
        found = self._best_fit(known, n, random_state, progress)
        progress.phase("memberships")
        rows = make_rows_sum_to_one(found.factor)
        self.tuples_ = known.tuples
        self.tuple_values_ = known.values
        self.factor_ = found.factor.astype(dtype, copy=False)
        self.objective_ = found.objective
        self.objective_history_ = found.history
        self.n_iter_ = found.n_iter
        self._set_stopped(found.stopped)
        self.memberships_ = with_prior(rows, found.factor.sum(axis=1)).astype(dtype, copy=False)
        self.labels_ = self.memberships_.argmax(axis=1)
        self.entropy_ = entropy(self.memberships_)

    def _count_tuples(self, known: KnownTuples, n: int) -> int:
        if self.n_clusters is not None:
            return int(self.n_clusters)
        pairs = flatten_tuples(known.tuples, known.weights * known.values, n)
        self.k_choice_ = choose_k_of_graph(pairs)
        return self.k_choice_.n_clusters

    def _best_fit(
        self,
        known: KnownTuples,
        n: int,
        random_state: np.random.RandomState,
        progress: Progress,
    ) -> Factorization:
        """The lowest objective over all starts; the first one wins ties."""
        data, k = (known.tuples, known.values, n), self.n_clusters_
        warm = self._warm_factor(n, k)
        if warm is not None:
            progress.phase("going on")
            starts = [warm]
        else:
            progress.phase(f"factorization from {self.n_init} starts")
            starts = [tuple_start(*data, k, weights=known.weights, random_state=random_state)]
            starts += [random_start(n, k, random_state) for _ in range(self.n_init - 1)]
        solve = partial(
            solve_tuples, *data, weights=known.weights, max_iter=self.max_iter, tol=self.tol
        )
        return solve_side_by_side(solve, starts, self.n_jobs, progress)

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
        check_is_fitted(self, "memberships_")
        if self._places is None:
            raise ValueError(
                "This model was fitted by fit_tuples and has no points that new ones could be "
                "compared with. Fit it to points, or include the new objects in the tuples."
            )
        table = validate_data(self, read_input(X).data, reset=False, dtype=[np.float64, np.float32])
        with threadpool_limits(limits=1):
            return self._places.place(table)

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
