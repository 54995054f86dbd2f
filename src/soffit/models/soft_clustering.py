"""SoftClustering: the flagship, which combines the best parts of the family."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from soffit._parameters import NoneOrMany, Number, OneOf, WholeNumber, renamed_parameters
from soffit._typing import FloatArray, IntArray, Matrix, is_sparse
from soffit.affinity import SideInformation
from soffit.affinity.given_objects import Affinities, Standardize
from soffit.affinity.mixed_table import MixedPreparation
from soffit.exceptions import UnstableResultWarning
from soffit.factorize import (
    Correction,
    Problem,
    graph_partition,
    labels_start,
    solve_locally,
    solve_rows,
)
from soffit.factorize.starts import MANY_CLUSTERS, sparse_labels_start
from soffit.fitting.data import Constraints, Data
from soffit.fitting.fitted import Corrected, Part
from soffit.fitting.monitor import Plan
from soffit.fitting.recipe import (
    Recipe,
    Smooth,
    Smoothed,
    Solution,
    Stage,
    similarity_recipe,
)
from soffit.fitting.resampling import SHARE_KEPT, over_subsamples, resample_phase
from soffit.graph import Graph, Locality, replace_rows
from soffit.memberships import (
    SeededMixture,
    Walk,
    fit_seeded_mixture,
    random_walk,
    walk_length,
)
from soffit.memberships.answers import follow_answers, predicts_better
from soffit.memberships.calibration import (
    Alternative,
    average_over,
    calibrated,
    linked,
    random_walks,
    weigh_partitions,
)
from soffit.models.base import SimilarityClustering
from soffit.normalize import degree
from soffit.partition.candidates import RankedPartition, linked_objects, size_aware_cut
from soffit.results.fit_quality import UNSTABLE_BELOW, unstable_message

if TYPE_CHECKING:
    from typing_extensions import Self

# On a dense matrix every step costs n^2 k, and few are needed: its spectral gap is wide.
_MOST_DENSE_STEPS = 64
# Rows of the factor are solved to this gap: the walk that smooths them hides smaller differences.
_ROW_GAP = 1e-6
# Up to so many objects, and entries of their table or matrix, one thread is used.
_FEW_OBJECTS, _FEW_ENTRIES = 2_000, 2**17
# Shares of the time at some hundred thousand objects; `benchmarks/scale.py` prints them.
_PLAN: Plan = (("affinities", 0.6), ("start", 0.15), ("row blocks", 0.1), ("memberships", 0.15))


class SoftClustering(SimilarityClustering):
    r"""Soft clusters of any objects: the default choice.

    A neighbour graph, normalized by degrees to N, is factorized with degree correction and one
    scale per cluster,

    .. math:: \min_{W, s} \sum_{i \ne j} \Big(N_{ij} - \sqrt{d_i d_j} \sum_c s_c W_{ic} W_{jc}
              \Big)^2, \quad W \ge 0,\; W 1 = 1,

    from the best of several spectral partitions, selected without labels. With one scale per
    cluster the loss of a hard partition is a normalized cut, so that large and small clusters are
    treated alike. Memberships are the rows of W after a random walk whose length follows the
    spectral gap; for features with Euclidean distances they are averaged with the posterior of a
    mixture that starts at the clusters and stays near them. Sparse tables that are like texts, or
    have more than 67 million cells, have no mixture; others give the same result as an array. With
    `n_resamples` memberships are also averaged over fits to subsamples, and softened to the
    agreement of these fits.

    Parameters
    ----------
    n_clusters : int or None, default 8
        Number of clusters; None selects it with `soffit.selection.choose_k_of_graph` (see
        `k_choice_`), among numbers that are not too small for the known pairs: if any two of c
        objects are known to be apart, there are at least c clusters.
    max_clusters : int or None, default None
        The largest number that is considered if `n_clusters` is None; by default the range grows
        while the evidence does.
    affinity : str, callable or Affinity, default "nearest_neighbors"
        One of "nearest_neighbors", "relative", "rbf", "laplacian", "cosine", "precomputed".
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn; "gower" for tables with text, yes/no or missing values;
        "precomputed" means that X holds distances.
    n_neighbors : int, default 15
        Neighbours per object in the graph.
    scale : {"cluster", "single"}, default "cluster"
        One scale per cluster, set by the start, or one for all, which favours clusters of equal
        size.
    standardize : {"auto", True, False}, default "auto"
        Scale the columns of a table to unit standard deviation; "auto" does so if their spreads
        differ so much that one column would decide alone (`soffit.affinity.Standardizer`).
    n_resamples : int, default 0
        0, or how many times (at least 2; 10 is plenty) the model is refitted to 63 % subsamples.
        Memberships are then averaged over these fits and softened to their agreement, which
        calibrates them better, at a proportionally higher cost.
    constraint_weight : float, default 1.0
        How far the pairs given to `fit` are trusted, in (0, 1]. At 1 about one in twenty is
        expected to be wrong until they show more or fewer errors; towards 0 they change nothing.
    transitive : bool, default False
        Add the pairs implied by the given ones.
    sample_size : int, default 1,000,000
        For Dask collections: how many rows are fitted. The others are placed as new objects are.
        A collection with no more rows is fitted as a whole.
    refine : {"leftovers", "micro", None}, default "leftovers"
        For Dask collections larger than the sample. "leftovers": search all rows for clusters that
        the sample is too small to show. They come in addition to `n_clusters`. "micro": fit the
        centres of small groups of all rows instead of a sample, which separates many or thin
        clusters better than a sample of as many rows.
    max_iter : int, default 100
        Maximum number of sweeps over the rows.
    tol : float, default 1e-4
        Relative decrease of the objective below which sweeps stop.
    max_time : float or None, default None
        Time limit in seconds; the best solution so far is kept. None means no limit.
    warm_start : bool, default False
        Start from the last fit, if it had as many objects and clusters.
    random_state : int, RandomState or None, default None
        Seed of the subsamples and of the objects sampled for the mixture; the start is
        deterministic.
    verbose : int, default 0
        1 shows phases and elapsed time, 2 also iterations.
    callback : callable or None, default None
        Called with a `FitEvent` after every iteration; if it returns True, the fit stops.
    n_jobs : int or None, default -1
        Number of threads, as in scikit-learn: -1 uses all cores (limited by OMP_NUM_THREADS), None
        means 1 unless set by `joblib.parallel_config`. It does not change results.

    Attributes
    ----------
    memberships_ : ndarray or csr_array of shape (n, k)
        Probability of each cluster; rows sum to one. With more than 150 clusters it is a SciPy
        ``csr_array``, because nearly all entries are close to zero: those below 1e-4 of the largest
        one of their row are left out. This, `labels_` and `entropy_` are Dask arrays if X is a Dask
        collection; other attributes are then those of the sample.
    labels_ : ndarray of shape (n,)
        Most probable cluster.
    entropy_ : ndarray of shape (n,)
        Uncertainty of each object in nats.
    n_clusters_, k_choice_ : int, KChoice
        The number of clusters, and how it was chosen if `n_clusters` is None.
    n_features_in_, feature_names_in_, object_names_ : int, ndarray, ndarray
        Of a table: the number of columns and their names; the names of the objects, if they have
        names.
    cluster_names_, curation_ : ndarray
        Only after `merge`, `split` or `rename`: the names of the clusters, and the edits.
    factor_ : ndarray or csr_array of shape (m, k)
        W as fitted, before smoothing; sparse if `memberships_` is, with at most 32 entries per row
        unless the similarities are a dense matrix.
    scale_ : ndarray of shape (k,)
        The scales s.
    n_steps_ : int
        Length of the random walk.
    overlap_, instability_ : ndarray of shape (n,)
        With `n_resamples`: the two parts of `entropy_`. Overlap of clusters at the object, and
        change of the partition itself between subsamples.
    cluster_stability_ : ndarray of shape (k,)
        With `n_resamples`: mean Jaccard overlap of each cluster with its counterparts in the
        subsamples.
    agreement_, expected_accuracy_ : float
        With `n_resamples`: share of objects on which two subsamples agree; and the accuracy implied
        by the memberships, their mean top value.
    affinity_matrix_ : ndarray or csr_array of shape (m, m)
        The graph of the m distinct objects, with their weights; m = n if all objects differ.
    copies_ : ndarray of shape (n,)
        Only if some objects are equal: the row of `affinity_matrix_` and `factor_` of each object.
    sample_indices_ : ndarray of shape (s,)
        Only for Dask collections: the numbers of the fitted rows, or with ``refine="micro"`` of
        those closest to the fitted centres.
    leftover_share_ : float
        Only for Dask collections: the share of rows outside what the sample shows; NaN if they were
        not searched for (``refine="micro"``), or not to the end.
    memory_per_worker_ : int
        Only for Dask collections: an estimate of the bytes that a worker needs at most.
    outvoted_ : SideInformation or None
        The given pairs that the result does not follow, because neighbours and other pairs
        contradict them; None if no pairs were given.
    neighbor_recall_ : float
        Share of the true neighbours in the graph: 1 up to 20,000 objects; above, the search is
        approximate and its recall is estimated on a sample.
    objective_, objective_history_, n_iter_
        Final objective, its history from the start on, and number of iterations.
    converged_, stop_reason_ : bool, str
        Whether the fit converged, and why it ended: "converged", "max_iter", "max_time",
        "callback" or "interrupted".

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
        "n_resamples": NoneOrMany(),
        "constraint_weight": Number(0.0, strict=True, maximum=1.0),
        "transitive": OneOf((True, False)),
        "sample_size": WholeNumber(1),
        "refine": OneOf(("leftovers", "micro", None)),
    }

    _arrays = SimilarityClustering._arrays | {
        "n_steps_": "natural",
        "overlap_": "float? n",
        "instability_": "float? n",
        "cluster_stability_": "float? k",
        "agreement_": "float?",
        "expected_accuracy_": "float?",
    }

    _renamed = SimilarityClustering._renamed | {
        "resamples": "n_resamples",
        "side_weight": "constraint_weight",
    }

    @renamed_parameters(resamples="n_resamples", side_weight="constraint_weight")
    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        max_clusters: int | None = None,
        affinity: Any = "nearest_neighbors",
        metric: Any = "euclidean",
        n_neighbors: int = 15,
        scale: Literal["cluster", "single"] = "cluster",
        standardize: Standardize = "auto",
        n_resamples: int = 0,
        constraint_weight: float = 1.0,
        transitive: bool = False,
        sample_size: int = 1_000_000,
        refine: Literal["leftovers", "micro"] | None = "leftovers",
        max_iter: int = 100,
        tol: float = 1e-4,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_clusters = max_clusters
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.standardize = standardize
        self.n_resamples = n_resamples
        self.constraint_weight = constraint_weight
        self.transitive = transitive
        self.sample_size = sample_size
        self.refine = refine
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : table, matrix or graph
            Features (NumPy, pandas, polars, SciPy sparse), similarities with
            ``affinity="precomputed"``, distances with ``metric="precomputed"``, a networkx or
            igraph graph, or an AnnData object. Or a Dask array or data frame, a zarr array, or
            AnnData that holds one of these.
        y : None
            Not used.
        must_link, cannot_link : array-like of shape (p, 2), or sequence of groups, optional
            Pairs of objects known to be in the same cluster, or in different ones. Integers are
            numbers of objects; anything else is the name of a row or node, as are integer names
            written as text. A group of more than two, such as ``{"a", "b", "c"}``, means that all
            of them belong together, or that all of them differ. Chains of must-links that join
            objects of a cannot-link raise a warning, or an error if `transitive`. A pair holds for
            all objects that are equal to its own.
        sample_weight : array of shape (n,), optional
            Positive weights of the objects: one of weight 3 counts like three equal ones. Only
            their ratios matter.

        Returns
        -------
        self
            The fitted model.
        """
        given = Constraints(
            must_link, cannot_link, sample_weight=sample_weight, transitive=self.transitive
        )
        self._fit(X, given)
        agreement = self._fitted.attributes.get("agreement_")
        if agreement is not None and agreement < UNSTABLE_BELOW:
            warnings.warn(
                unstable_message(type(self).__name__, agreement),
                UnstableResultWarning,
                stacklevel=2,
            )
        return self

    @property
    def outvoted_(self) -> SideInformation | None:
        """The given pairs that the result does not follow."""
        check_is_fitted(self, "memberships_")
        side: SideInformation | None = self.side_information_
        return None if side is None else side.only(~side.kept_by(np.asarray(self.labels_)))

    def _recipe(self) -> Recipe[Affinities]:
        return self._recipe_with(find_start)

    def _n_jobs_for(self, data: Data) -> int | None:
        # A graph of few objects: threads would take longer to take turns than to work.
        shape = getattr(data.objects.table, "shape", ())
        is_small = data.objects.n_objects <= _FEW_OBJECTS and np.prod(shape) <= _FEW_ENTRIES
        return 1 if is_small else self.n_jobs

    def _recipe_with(self, find_start: FindStart, *, obeys: bool = False) -> Recipe[Affinities]:
        """The recipe with a given rule for the partition at which the search starts.

        If it `obeys`, the partition itself follows the pairs whatever they say.
        """
        euclidean = isinstance(self.metric, str) and self.metric in ("euclidean", "l2")
        factorize = partial(
            _factorize,
            find_start=find_start,
            obeys=obeys,
            scale=self.scale,
            constraint_weight=self.constraint_weight,
            euclidean=euclidean,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        smooth = partial(_smooth, constraint_weight=self.constraint_weight, euclidean=euclidean)
        make = partial(
            similarity_recipe,
            *(self.n_clusters, factorize),
            max_clusters=self.max_clusters,
            weighted=True,
        )
        single = replace(make(smooth), plan=_PLAN)
        n = self.n_resamples
        if not n:
            return single
        smooth = partial(_smooth_over_subsamples, recipe=single, smooth=smooth, n=n)
        plan = [(resample_phase(number, n), SHARE_KEPT) for number in range(n)]
        return replace(make(smooth), plan=(*_PLAN, *plan))


# --- factorization --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Start:
    """A partition at which the search starts, with the walk length from its eigenvectors.

    Parameters
    ----------
    labels : array of shape (n,)
        Cluster of each object.
    n_steps : int
        Steps of the random walk that smooths memberships.
    locality : Locality, optional
        An order of the objects in which connected ones are close to each other.
    ranked : tuple of RankedPartition
        Candidates of comparable quality, the labels first; empty if they are not compared.
    order : Locality, optional
        The order of the objects in which seeds are drawn, if it is not the given one; see
        `linked_objects`.
    """

    labels: IntArray
    n_steps: int
    locality: Locality | None = None
    ranked: tuple[RankedPartition, ...] = ()
    order: Locality | None = None


FindStart = Callable[..., Start]


@dataclass(frozen=True, eq=False)
class _GraphSolution(Solution):
    """A solution with the graph on which the random walk runs.

    `alternatives` are the partition at which the search started and others that are nearly as good;
    empty if there was no choice.
    """

    graph: Any = None
    locality: Locality | None = None
    alternatives: tuple[Alternative, ...] = ()


def _factorize(
    stage: Stage[Affinities],
    *,
    find_start: FindStart,
    obeys: bool,
    scale: Literal["cluster", "single"],
    constraint_weight: float,
    euclidean: bool,
    max_iter: int,
    tol: float,
) -> _GraphSolution:
    given, k = stage.relations, stage.n_clusters
    # The part of the graph that carries information about clusters; the walk needs it again.
    part = Part(diagonal="dropped", strays_of=k, degrees=_background(given))
    A = part.of(given.A)
    degrees = Graph.of(A).degrees()
    normalized = degree(A)
    N = normalized.matrix
    side = given.side if obeys else None
    # Rows of a matrix of pairs follow the order of its columns.
    table = None if stage.data.objects.is_matrix or is_sparse(given.table) else given.table

    def begin(side: SideInformation | None) -> Start:
        """A partition of the graph; must-links, if any, add edges first."""
        if side is None:
            return find_start(A, N, k, None, weights=given.weights, table=table)
        joined = side.joined(A, constraint_weight)
        more = {"weights": given.weights, "table": table}
        return find_start(joined, degree(joined).matrix, k, side, **more)

    stage.progress.phase("start")
    start = begin(side)
    stage.progress.keep_result()
    alternatives: list[Alternative] = []
    if start.ranked and side is None:
        alternatives = stage.progress.attempt(lambda: _weigh(stage, start, A, euclidean)) or []
    warm = stage.warm_factor(A.shape[0])
    if warm is None or stage.warm is None:
        labels = alternatives[0].labels if alternatives else start.labels
        if given.side is not None and side is None:
            # The pairs may ask for another partition as a whole.
            turned = stage.progress.attempt(lambda: begin(given.side).labels)
            if turned is not None and predicts_better(turned, labels, A, given.side):
                labels, alternatives = turned, []
        rows, held = _rows_of(labels, k, A.dtype), None
        locality = start.locality or start.order
    else:
        rows = warm if k <= MANY_CLUSTERS else sp.csr_array(warm)
        held, locality = stage.warm.attributes["scale_"], None
    problem = Problem(
        N,
        k,
        scale="held" if scale == "cluster" else "single",
        degrees=degrees,
        side=None if side is None else _side_weights(side, N, constraint_weight),
    )
    stage.progress.phase("row blocks")
    found = stage.progress.insist(
        lambda: solve_locally(
            solve_rows,
            problem,
            rows,
            locality,
            max_iter=max_iter,
            tol=tol,
            callback=stage.progress.iteration,
            scale=held,
            gap=_ROW_GAP,
        )
    )
    return _GraphSolution(
        *(problem, normalized, found, {"n_steps_": start.n_steps}, part),
        graph=A,
        locality=locality,
        alternatives=tuple(alternatives),
    )


def _rows_of(labels: IntArray, k: int, dtype: Any) -> Any:
    """Rows close to the labels; in CSR form if there are very many clusters."""
    make = sparse_labels_start if k > MANY_CLUSTERS else labels_start
    return make(labels, k, dtype=dtype)


def _features(stage: Stage[Affinities], *, euclidean: bool) -> FloatArray | None:
    """Features in which densities can be estimated; None for other inputs and many clusters.

    With many, a mixture would have too few objects per cluster and cost more than the fit.
    """
    given = stage.relations
    is_mixed = isinstance(given.preparation, MixedPreparation)
    if stage.data.objects.is_matrix or is_mixed or not euclidean or is_sparse(given.table):
        return None
    # In one order in memory, so that sums are rounded alike whatever the input was.
    return np.ascontiguousarray(given.table) if 1 < stage.n_clusters <= MANY_CLUSTERS else None


def _weigh(stage: Stage[Affinities], start: Start, A: Matrix, euclidean: bool) -> list[Alternative]:
    """The partitions that the start found, weighed by their cuts and, for features, densities."""
    k, weights = stage.n_clusters, stage.relations.weights
    order = start.order or Locality(np.arange(A.shape[0]))
    table = _features(stage, euclidean=euclidean)
    found = weigh_partitions(
        [replace(one, labels=order.rows(one.labels)) for one in start.ranked],
        None if table is None else order.rows(table),
        k,
        random_state=stage.draw_seed(),
        weights=None if weights is None else order.rows(weights),
        cut=lambda labels: size_aware_cut(A, order.back(labels), k, sizes=weights),
    )
    return [replace(one, labels=order.back(one.labels)) for one in found]


def _background(given: Affinities) -> FloatArray | None:
    """Degrees, if most pairs are similar; else None.

    Where all objects resemble each other, as tests or questions do whose correlations are all
    positive, or objects so few that all are neighbours, only the similarity beyond that of their
    degrees distinguishes clusters.
    """
    if not Graph.of(given.A).is_full():
        return None
    return Graph.of(given.A).without_diagonal().degrees()


def find_start(
    A: Matrix,
    N: Matrix,
    k: int,
    side: SideInformation | None,
    *,
    weights: FloatArray | None = None,
    table: FloatArray | None = None,
) -> Start:
    """The best of several spectral partitions of the connected objects.

    Isolated objects are spread evenly over the clusters. Objects are taken in an order that depends
    on their affinities, and on the table where these are the same.
    """
    n = A.shape[0]
    labels = np.arange(n) % k
    linked = linked_objects(A, table)
    if len(linked) < max(k, 2):
        return Start(labels, n_steps=1)
    A, N = Graph.of(A).subgraph(linked).matrix, Graph.of(N).subgraph(linked).matrix
    side = None if side is None else side.among(linked)
    weights = None if weights is None else weights[linked]
    correct = None if side is None else Correction(A, side)
    found = graph_partition(A, N, k, correct=correct, weights=weights)
    labels[linked] = found.labels
    ranked = []
    for one in found.ranked:
        everywhere = labels.copy()
        everywhere[linked] = one.labels
        ranked.append(replace(one, labels=everywhere))
    locality = None
    if found.locality is not None:
        locality = Locality.beginning_with(linked[found.locality.order], n)
    steps = 1 if found.eigenvalue is None else walk_length(found.eigenvalue)
    steps = steps if is_sparse(A) else min(steps, _MOST_DENSE_STEPS)
    order = Locality.beginning_with(linked, n)
    return Start(labels, steps, locality, tuple(ranked), order)


def _side_weights(side: SideInformation, N: Matrix, constraint_weight: float) -> sp.csr_array:
    """S: with constraint_weight 1, a pair weighs as much as all affinities of an average object."""
    values = np.asarray(N.data if is_sparse(N) else N)
    energy = float(np.vdot(values, values)) / N.shape[0]
    return side.relation(N.dtype) * N.dtype.type(constraint_weight * energy)


# --- memberships ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WalkAndMixture:
    """Memberships from a random walk and, for features, a mixture of Gaussians.

    Parameters
    ----------
    walk : Walk
        The walk for new objects; it does not store the memberships of fitted ones.
    mixture : SeededMixture, optional
        Cluster densities.
    """

    walk: Walk
    mixture: SeededMixture | None
    _arrays: ClassVar[dict[str, str]] = {
        "": "same j k",
        "walk": "part arrive() n k",
        "mixture": "part? memberships() p k",
    }

    def place(self, rows: Any, table: Any, block: Matrix) -> Any:
        """Memberships of new objects."""
        return calibrated(self.walk.arrive(block, rows), block, self.mixture, table)


def _smooth(
    stage: Stage[Affinities],
    solution: Solution,
    rows: Any,
    *,
    constraint_weight: float,
    euclidean: bool,
) -> Smoothed:
    assert isinstance(solution, _GraphSolution)
    given, graph, n_steps = stage.relations, solution.graph, solution.attributes["n_steps_"]
    walk = random_walk(graph, rows, n_steps, locality=solution.locality)
    # Densities need Euclidean features; for other inputs the walk alone is used.
    table = _features(stage, euclidean=euclidean)
    # The mixture that was compared with those of other partitions is the one to use.
    mixture = solution.alternatives[0].mixture if solution.alternatives else None
    stopped = None
    if table is not None and mixture is None:
        seed, k = stage.draw_seed(), rows.shape[1]
        mixture = stage.progress.attempt(
            lambda: fit_seeded_mixture(
                given.table, rows.argmax(axis=1), k, random_state=seed, weights=given.weights
            )
        )
        stopped = stage.progress.stopped if mixture is None else None
    result = calibrated(walk.memberships, graph, mixture, table)
    # New objects need what the walk has reached, not the memberships of the fitted objects.
    seen = replace(walk, memberships=walk.memberships[:0].copy())
    smoothing: Any = WalkAndMixture(seen, mixture)
    improved = result
    if len(solution.alternatives) > 1 and stopped is None:
        average = stage.progress.attempt(lambda: _over_alternatives(result, solution, table))
        improved = result if average is None else average
        stopped = stage.progress.stopped if average is None else None
    if given.side is not None:
        improved = follow_answers(improved, graph, given.side, weight=constraint_weight)
    if improved is not result:
        smoothing = Corrected(smoothing, improved - result)
    return Smoothed(improved, smoothing, stopped=stopped)


def _over_alternatives(best: Any, solution: _GraphSolution, table: FloatArray | None) -> Any:
    """Memberships averaged over all partitions that are nearly as good as the best."""
    graph, n_steps = solution.graph, solution.attributes["n_steps_"]
    others = solution.alternatives[1:]
    starts = [_rows_of(other.labels, best.shape[1], best.dtype) for other in others]
    walked = random_walks(graph, starts, n_steps, locality=solution.locality)
    found = [
        calibrated(rows, graph, other.mixture, table)
        for rows, other in zip(walked, others, strict=True)
    ]
    average = average_over(best, found, [other.weight for other in others])
    # Candidates spread objects without links evenly, for want of a reason.
    if is_sparse(best):
        apart = ~linked(graph)[:, 0]
        return replace_rows(average, apart, best[apart])
    return np.where(linked(graph), average, best)


def _smooth_over_subsamples(
    stage: Stage[Affinities],
    solution: Solution,
    rows: Any,
    *,
    recipe: Recipe[Affinities],
    smooth: Smooth,
    n: int,
) -> Smoothed:
    assert isinstance(solution, _GraphSolution)
    labels = solution.alternatives[0].labels if solution.alternatives else None
    single = smooth(stage, solution, rows)
    return over_subsamples(recipe, stage, single, n, solution.graph, labels=labels)
