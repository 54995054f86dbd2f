"""SoftClustering: the flagship, made from the best parts of the family."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit._validation import NoneOrMany, Number, OneOf
from soffit.affinity import Affinity, SideInformation
from soffit.affinity.standardize import Standardizer
from soffit.exceptions import UnstableResultWarning
from soffit.factorize import (
    Correction,
    Problem,
    graph_partition,
    labels_start,
    solve_locally,
    solve_rows,
)
from soffit.fitting.data import Known
from soffit.fitting.resampling import fit_to_parts
from soffit.graph import Locality, without_diagonal, without_strays
from soffit.memberships import (
    SeededMixture,
    carried_over,
    combine,
    fit_seeded_mixture,
    random_walk,
    soften,
    walk_length,
    with_pairs,
)
from soffit.memberships.calibration import fit_told_mixture, linked, mixed, sharp
from soffit.models.base import SimilarityClustering, Solution, Task
from soffit.normalize import Normalized, normalize
from soffit.results.fit_quality import UNSTABLE_BELOW, unstable_message

if TYPE_CHECKING:
    from typing_extensions import Self


# Partitions are sometimes wrong where nothing in the graph says so; this power allows for it.
_MODESTY = 0.9
# On a dense matrix every step costs n^2 k, and few are needed: its spectral gap is wide.
_MOST_DENSE_STEPS = 64
# A mixture of more clusters would have too few objects for each, and cost more than the fit.
_MOST_MIXED = 150
_SEEDS = np.iinfo(np.int32).max


class SoftClustering(SimilarityClustering):
    r"""Soft clusters of any objects: the default choice.

    A neighbour graph, normalized by degrees to N, is factorized with degree correction and one
    scale a cluster,

    .. math:: \min_{W, s} \sum_{i \ne j} \Big(N_{ij} - \sqrt{d_i d_j} \sum_c s_c W_{ic} W_{jc}
              \Big)^2, \quad W \ge 0,\; W 1 = 1,

    from a partition chosen without labels among several spectral ones. One scale a cluster makes
    the loss of a hard partition a normalized cut, so that large and small clusters are served
    alike. Memberships are the rows of W after a random walk whose length follows the spectral
    gap; for features with Euclidean distances they are averaged with the posterior of a mixture
    that starts at the clusters and stays near them. With `resamples` they are averaged over fits
    to parts of the objects, too, and softened to the agreement of these fits.

    Parameters
    ----------
    n_clusters : int or None, default 8
        Number of clusters; None chooses it (`soffit.selection.choose_k_of_graph`, kept as
        `k_choice_`).
    affinity : str, callable or Affinity, default "nearest_neighbors"
        One of "nearest_neighbors", "relative", "rbf", "laplacian", "cosine", "precomputed".
    metric : str or callable, default "euclidean"
        Any metric that scikit-learn knows; "precomputed" takes distances instead of features.
    n_neighbors : int, default 15
        Neighbours of each object in the graph.
    scale : {"cluster", "single"}, default "cluster"
        One scale a cluster, set by the start, or one for all, which favours clusters of equal
        size.
    standardize : {"auto", True, False}, default "auto"
        Bring columns to unit standard deviation; "auto" does so when the largest is more than 20
        times the median, which only different units of measurement explain.
    resamples : int, default 0
        0, or the number of times (2 or more; 10 is plenty) that the model is fitted again to 63 %
        of the objects. Memberships are then averaged over these fits and softened to their
        agreement: better probabilities, at that many times the cost.
    side_weight : float, default 1.0
        How far the pairs given to `fit` are trusted, in (0, 1]. At 1 one pair weighs as much as
        all affinities of an average object.
    transitive : bool, default False
        Add the pairs that follow from the given ones.
    max_iter : int, default 100
        Most sweeps over the rows.
    tol : float, default 1e-4
        Relative decrease of the objective below which sweeps stop.
    max_time : float or None, default None
        Seconds after which the best so far is returned; None means no limit.
    warm_start : bool, default False
        Begin where the last fit ended, if it had as many objects and clusters.
    random_state : int, RandomState or None, default None
        Seed of the sample and of k-means inside the mixture; the start has fixed seeds.
    verbose : int, default 0
        1 shows phases and the time left, 2 also iterations.
    callback : callable or None, default None
        Called with a `FitEvent` after every iteration; if it returns True, the fit ends.
    n_jobs : int or None, default None
        Threads for the neighbour search; None uses all cores. Results do not depend on it.

    Attributes
    ----------
    memberships_ : ndarray of shape (n, k)
        Probability of each cluster; rows sum to one.
    labels_ : ndarray of shape (n,)
        Most probable cluster.
    entropy_ : ndarray of shape (n,)
        Uncertainty of each object in nats.
    factor_ : ndarray of shape (n, k)
        W as fitted, before smoothing.
    scale_ : ndarray of shape (k,)
        The scales s.
    n_steps_ : int
        Length of the random walk.
    overlap_, instability_ : ndarray of shape (n,)
        With resamples: the two parts of `entropy_`. Clusters touch at the object, or the partition
        itself changes there when objects are left out.
    cluster_stability_ : ndarray of shape (k,)
        With resamples: mean Jaccard overlap of each cluster with its counterpart.
    agreement_, expected_accuracy_ : float
        With resamples: share of objects on which two resamples agree; and the accuracy that the
        memberships promise, their mean top value.
    affinity_matrix_ : ndarray or csr_array of shape (n, n)
        The graph.
    neighbor_recall_ : float
        Share of the true neighbours in the graph: 1 up to 20,000 objects, measured on a sample
        above, where the search is approximate.
    objective_, objective_history_, n_iter_, converged_, stopped_
        How the fit went.

    Examples
    --------
    >>> from soffit import SoftClustering
    >>> from soffit.datasets import make_moons
    >>> X, labels, posterior = make_moons(300, random_state=7)
    >>> model = SoftClustering(n_clusters=2, random_state=7).fit(X)
    >>> model.memberships_.shape, model.predict_proba(X[:5]).shape
    ((300, 2), (5, 2))

    References
    ----------
    The loss joins H. Zhao et al. (2015), S. Rota Bulo & M. Pelillo (2010) and the diagonal-free
    fit of R. Zass & A. Shashua (2005); the walk follows K. Yu, S. Yu & V. Tresp (2005).
    """

    _rules = SimilarityClustering._rules | {
        "scale": OneOf(("cluster", "single")),
        "standardize": OneOf(("auto", True, False)),
        "resamples": NoneOrMany(),
        "side_weight": Number(0.0, strict=True, maximum=1.0),
        "transitive": OneOf((True, False)),
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        affinity: Any = "nearest_neighbors",
        metric: Any = "euclidean",
        n_neighbors: int = 15,
        scale: Literal["cluster", "single"] = "cluster",
        standardize: Literal["auto"] | bool = "auto",
        resamples: int = 0,
        side_weight: float = 1.0,
        transitive: bool = False,
        max_iter: int = 100,
        tol: float = 1e-4,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.standardize = standardize
        self.resamples = resamples
        self.side_weight = side_weight
        self.transitive = transitive
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any = None, *, must_link: Any = None, cannot_link: Any = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : table, matrix or graph
            Features (NumPy, pandas, polars, SciPy sparse), similarities with
            ``affinity="precomputed"``, distances with ``metric="precomputed"``, a networkx or
            igraph graph, or an AnnData object.
        y : None
            Not used.
        must_link, cannot_link : array-like of shape (p, 2), optional
            Pairs of objects, by number, known to be in one cluster, or in two.

        Returns
        -------
        self
            The fitted model.
        """
        self._fit(X, Known(must_link, cannot_link, transitive=self.transitive))
        if self.resamples and self.agreement_ < UNSTABLE_BELOW:
            warnings.warn(
                unstable_message(type(self).__name__, self.agreement_),
                UnstableResultWarning,
                stacklevel=2,
            )
        return self

    # --- features ------------------------------------------------------------------------------

    def _prepare(self, table: Any, builder: Affinity) -> Any:
        is_features = not self._takes_matrix(builder)
        self._standardizer = Standardizer.of(table, self.standardize if is_features else False)
        prepared = self._standardizer.apply(table)
        euclidean = isinstance(self.metric, str) and self.metric in ("euclidean", "l2")
        dense = not is_sparse(prepared)
        # Densities are about Euclidean space; other inputs are served by the walk alone.
        self._features = prepared if is_features and euclidean and dense else None
        return prepared

    def _prepare_new(self, table: Any) -> Any:
        return self._standardizer.apply(table)

    # --- factorization -------------------------------------------------------------------------

    def _solve(self, task: Task) -> Solution:
        # The part of the graph that says something about clusters; the walk needs it again.
        A = self._graph = without_strays(without_diagonal(task.A), self.n_clusters_)
        degrees = np.asarray(A.sum(axis=1), dtype=np.float64).ravel()
        normalized = normalize(A, "degree")
        self._locality: Locality | None = None
        warm = self._warm_factor(A.shape[0], self.n_clusters_)
        if warm is None:
            task.progress.phase("start")
            labels = self._start(A, normalized, degrees, task.side)
        self._side = task.side
        problem = Problem(
            normalized.matrix,
            self.n_clusters_,
            scale="held" if self.scale == "cluster" else "single",
            degrees=degrees,
            side=None if task.side is None else self._ties(task.side, normalized.matrix),
        )
        task.progress.phase("row blocks")
        found = solve_locally(
            solve_rows,
            problem,
            labels_start(labels, self.n_clusters_, dtype=A.dtype) if warm is None else warm,
            self._locality,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=task.progress.iteration,
            scale=None if warm is None else self.scale_,
        )
        return Solution(problem, normalized, found)

    def _start(
        self, A: Matrix, normalized: Normalized, degrees: FloatArray, side: SideInformation | None
    ) -> IntArray:
        """Labels of the graph, which must-links join further where there are any."""
        if side is None:
            return self._partition(A, normalized.matrix, degrees, None)
        joined = side.joined(A, self.side_weight)
        sums = np.asarray(joined.sum(axis=1), dtype=np.float64).ravel()
        return self._partition(joined, normalize(joined, "degree").matrix, sums, side)

    def _ties(self, side: SideInformation, N: Matrix) -> sp.csr_array:
        """S: with side_weight 1 a pair weighs as much as all affinities of an average object."""
        values = np.asarray(N.data if is_sparse(N) else N)
        energy = float(np.vdot(values, values)) / N.shape[0]
        return side.relation(N.dtype) * N.dtype.type(self.side_weight * energy)

    def _partition(
        self, A: Matrix, N: Matrix, degrees: FloatArray, side: SideInformation | None
    ) -> IntArray:
        """The start, found on the objects that have any tie; the others are dealt out evenly."""
        k = self.n_clusters_
        labels = np.arange(len(degrees)) % k
        tied = np.flatnonzero(degrees > 0)
        self.n_steps_ = 1
        if len(tied) < max(k, 2):
            return labels
        if len(tied) < len(degrees):
            A, N = A[tied][:, tied], N[tied][:, tied]
            side = None if side is None else side.among(tied)
        correct = None if side is None else Correction(A, side)
        found = graph_partition(A, N, k, correct=correct)
        labels[tied] = found.labels
        if found.locality is not None:
            untied = np.flatnonzero(degrees <= 0)
            self._locality = Locality(np.concatenate([tied[found.locality.order], untied]))
        steps = 1 if found.eigenvalue is None else walk_length(found.eigenvalue)
        self.n_steps_ = steps if is_sparse(A) else min(steps, _MOST_DENSE_STEPS)
        return labels

    # --- memberships ---------------------------------------------------------------------------

    def _report(self, rows: FloatArray, task: Task) -> FloatArray:
        single = self._single_report(rows, task.random_state)
        return self._over_resamples(single, task) if self.resamples else single

    def _single_report(self, rows: FloatArray, random_state: np.random.RandomState) -> FloatArray:
        graph = self._graph
        self._walk = random_walk(graph, rows, self.n_steps_, locality=self._locality)
        self._mixture: SeededMixture | None = None
        if self._features is not None and 1 < self.n_clusters_ <= _MOST_MIXED:
            seed = int(random_state.randint(_SEEDS))
            self._mixture = self._fit_mixture(self._features, rows, seed)
        del self._graph, self._locality
        result = self._calibrated(self._walk.memberships, graph, self._features)
        self._features = None
        if self._side is None:
            return result
        return with_pairs(result, rows, self._side, weight=self.side_weight)

    def _fit_mixture(self, X: FloatArray, rows: FloatArray, seed: int) -> SeededMixture:
        if self._side is None:
            return fit_seeded_mixture(X, rows.argmax(axis=1), rows.shape[1], random_state=seed)
        graph, steps, locality = self._graph, self.n_steps_, self._locality

        def walk(start: FloatArray) -> FloatArray:
            return sharp(random_walk(graph, start, steps, locality=locality).memberships, graph)

        return fit_told_mixture(
            X, rows, self._side, walk, weight=self.side_weight, random_state=seed
        )

    def _over_resamples(self, single: FloatArray, task: Task) -> FloatArray:
        """The same model on parts of the objects; its changes of mind soften the memberships."""
        settings: dict[str, Any] = {"resamples": 0, "n_clusters": self.n_clusters_, "verbose": 0}
        if task.is_matrix and self.metric != "precomputed":
            settings["affinity"] = "precomputed"
        parts = fit_to_parts(
            clone(self).set_params(**settings),
            task.table,
            task.side,
            task.random_state,
            n_parts=self.resamples,
            is_matrix=task.is_matrix,
            progress=lambda number: task.progress.phase(f"resample {number + 1}"),
        )
        if len(parts) < self.resamples:
            self._set_stopped(task.progress.stopped or "interrupted")
        ensemble = combine(single, parts)
        self.overlap_ = ensemble.overlap
        self.instability_ = ensemble.instability
        self.agreement_ = ensemble.agreement
        self.cluster_stability_ = ensemble.cluster_stability
        self.expected_accuracy_ = float(ensemble.memberships.max(axis=1).mean())
        self._correction = ensemble.memberships - single
        return ensemble.memberships

    def _report_new(self, rows: FloatArray, table: Any, block: Matrix) -> FloatArray:
        single = self._calibrated(self._walk.arrive(block, rows), block, table)
        return carried_over(single, block, self._correction) if self.resamples else single

    def _calibrated(
        self, walked: FloatArray, block: Matrix, features: FloatArray | None
    ) -> FloatArray:
        """Memberships from a walk and, for features, the mixture.

        A power undoes the evening out of the walk; a smaller one where the walk is alone. Objects
        that had nowhere to walk keep the prior, unless the mixture knows more.
        """
        sharpened = sharp(walked, block)
        if self._mixture is not None and features is not None:
            return mixed(sharpened, self._mixture, features)
        return np.where(linked(block), soften(sharpened, _MODESTY), walked)
