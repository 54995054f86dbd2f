"""CompletelyPositive: the factorization of Zass & Shashua."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from soffit._parameters import Number, OneOf, WholeNumber, renamed_parameters
from soffit._typing import FloatArray, Matrix, is_sparse
from soffit.affinity.given_objects import Affinities, Standardize
from soffit.affinity.side_information import with_known_pairs, with_side
from soffit.factorize import (
    SOLVERS,
    Factorization,
    Problem,
    random_start,
)
from soffit.factorize.descent import lowest
from soffit.factorize.nonnegative.sweeps import fit_size
from soffit.factorize.starts import partition_start
from soffit.fitting.data import Constraints
from soffit.fitting.fitted import Part
from soffit.fitting.monitor import Progress
from soffit.fitting.recipe import Recipe, Solution, Stage, similarity_recipe
from soffit.fitting.restarts import InOrder
from soffit.graph import without_diagonal
from soffit.models.base import SimilarityClustering
from soffit.normalize import Normalized, normalize
from soffit.normalize.additive import additive_observed
from soffit.normalize.sinkhorn import sinkhorn_observed

if TYPE_CHECKING:
    from typing_extensions import Self


# A matrix with fewer affinities than this share of all pairs counts as a local graph.
_GRAPH = 0.1
# Starts are compared at this multiple of the tolerance; the lowest is then rarely overtaken.
_COARSE = 10.0
_OBSERVED = {"sinkhorn": sinkhorn_observed, "additive": additive_observed}


class CompletelyPositive(SimilarityClustering):
    r"""Soft clusters from a completely positive factorization of normalized affinities.

    .. math:: \min_{G \ge 0} \sum_{i \ne j} m_{ij} \Big(F_{ij} - \sum_r G_{ir} G_{jr}\Big)^2

    F is the affinity matrix normalized to equal row sums, m are pair weights (1 by default).
    Memberships are the rows of G divided by their sums. The diagonal is left out: the similarity
    of an object to itself says nothing about clusters.

    Parameters
    ----------
    n_clusters : int or None, default 8
        Number of clusters; None selects it with `soffit.selection.choose_k_of_graph` (see
        `k_choice_`).
    max_clusters : int or None, default None
        The largest number that is considered if `n_clusters` is None; by default the range grows
        while the evidence does.
    affinity : str, callable or Affinity, default "rbf"
        One of "rbf", "nearest_neighbors", "relative", "laplacian", "cosine", "precomputed".
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn; "gower" for tables with text, yes/no or missing values;
        "precomputed" means that X holds distances.
    n_neighbors : int, default 25
        Neighbours per object in a graph, or the neighbour that sets the bandwidth of a kernel.
    standardize : {"auto", True, False}, default "auto"
        Scale the columns of a table to unit standard deviation; "auto" does so if their spreads
        differ so much that one column would decide alone (`soffit.affinity.Standardizer`).
    normalization : {"sinkhorn", "additive", None}, default "sinkhorn"
        Sinkhorn scaling to row sums of 1, which keeps a graph sparse; the nearest matrix with equal
        row sums, for dense affinities; or none. Neither of the first two is better on all data.
    solver : {"coordinate", "multiplicative", "parallel"}, default "coordinate"
        Exact steps over single entries; the published updates (eq. 6 and 7); or simultaneous
        updates of all entries.
    constraint_weight : float, default 1.0
        Weight alpha of side information, above 0 and at most 1, relative to the largest affinity.
    transitive : bool, default True
        Add the pairs implied by the given ones. Indirect contradictions are then also detected.
    init : {"auto", "random", "spectral"}, default "auto"
        Random positive entries, or the best of several spectral partitions. "auto" is spectral for
        local graphs (less than a tenth of all pairs), where the objective hardly separates good
        clusters from bad ones, and for negative affinities; otherwise random.
    n_init : int, default 5
        Number of random starts; the one with the lowest objective is kept. A spectral start is
        deterministic and runs once.
    max_iter : int, default 1000
        Maximum number of sweeps per start.
    tol : float, default 1e-5
        Relative decrease of the objective below which a solver stops.
    max_time : float or None, default None
        Time limit in seconds; the best solution so far is kept. None means no limit.
    warm_start : bool, default False
        Start from the last fit, if it had as many objects and clusters.
    random_state : int, RandomState or None, default None
        Seed of the random starts.
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
        Rows of G divided by their sums. Isolated objects and objects with a zero row get the mean
        membership of the others.
    labels_ : ndarray of shape (n,)
        Most probable cluster.
    entropy_ : ndarray of shape (n,)
        Uncertainty of each object in nats.
    factor_ : ndarray of shape (n, k)
        G; zero rows for isolated objects.
    affinity_matrix_ : ndarray or csr_array of shape (n, n)
        The affinities, before side information and normalization.
    objective_, objective_history_, n_iter_
        Of the best start: final objective, its history from the start on, and number of
        iterations.
    converged_, stop_reason_ : bool, str
        Whether the fit converged, and why it ended: "converged", "max_iter", "max_time",
        "callback" or "interrupted".

    Notes
    -----
    The published equations hold with these corrections. Eq. 6 decreases the objective if entries
    are updated one after the other; simultaneous updates need the square root of the ratio. Eq. 7
    does so only if the diagonal has no weight. Neither can leave zero, so starts are positive.
    Negative entries break both: with side information use ``normalization="additive"``, with the
    smallest admissible beta, or ``solver="coordinate"``. The iteration of Proposition 1 does not
    converge for every nonnegative matrix; it needs total support. For Sinkhorn scaling, an object
    without self-affinity is therefore given its largest affinity to others. Without the diagonal
    one object can fill a column without limit; the coordinate solver bounds the entries.

    With ``normalization="sinkhorn"``, cannot-link pairs lower an affinity to zero at most.

    Examples
    --------
    >>> from soffit import CompletelyPositive
    >>> from soffit.datasets import make_donut
    >>> X, labels, posterior = make_donut(200, random_state=7)
    >>> model = CompletelyPositive(2, normalization="additive", random_state=7).fit(X)
    >>> from soffit.metrics import accuracy
    >>> accuracy(labels, model.labels_)
    1.0

    References
    ----------
    R. Zass, A. Shashua (2005). A unifying approach to hard and probabilistic clustering. ICCV.
    """

    _rules = SimilarityClustering._rules | {
        "normalization": OneOf(("sinkhorn", "additive", None)),
        "solver": OneOf(("coordinate", "multiplicative", "parallel")),
        "constraint_weight": Number(0.0, strict=True, maximum=1.0),
        "transitive": OneOf((True, False)),
        "init": OneOf(("auto", "random", "spectral")),
        "n_init": WholeNumber(1),
    }

    _renamed = SimilarityClustering._renamed | {
        "start": "init",
        "side_weight": "constraint_weight",
    }

    @renamed_parameters(start="init", side_weight="constraint_weight")
    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        max_clusters: int | None = None,
        affinity: Any = "rbf",
        metric: Any = "euclidean",
        n_neighbors: int = 25,
        standardize: Standardize = "auto",
        normalization: Literal["sinkhorn", "additive"] | None = "sinkhorn",
        solver: Literal["coordinate", "multiplicative", "parallel"] = "coordinate",
        constraint_weight: float = 1.0,
        transitive: bool = True,
        init: Literal["auto", "random", "spectral"] = "auto",
        n_init: int = 5,
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
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.normalization = normalization
        self.solver = solver
        self.constraint_weight = constraint_weight
        self.transitive = transitive
        self.init = init
        self.n_init = n_init
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
        pair_weight: Any = None,
    ) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : table, matrix or graph
            Features (NumPy, pandas, polars, SciPy sparse), similarities with
            ``affinity="precomputed"``, distances with ``metric="precomputed"``, a networkx or
            igraph graph, or an AnnData object.
        y : None
            Not used.
        must_link, cannot_link : array-like of shape (p, 2), or sequence of groups, optional
            Pairs or groups of objects known to be in the same cluster, or in different ones, by
            number or name, as for `SoftClustering`. Contradictory pairs raise an error, if
            `transitive` also those that contradict each other through other objects.
        pair_weight : array or sparse matrix of shape (n, n), optional
            Symmetric pair weights; zero marks a pair with unknown affinity, which differs from zero
            affinity. Row sums are then estimated from the observed pairs, and the cost grows with
            their number. Pairs of the side information count as observed.

        Returns
        -------
        self
            The fitted model.
        """
        given = Constraints(must_link, cannot_link, pair_weight, transitive=self.transitive)
        return self._fit(X, given)

    def _recipe(self) -> Recipe[Affinities]:
        factorize = partial(
            _factorize,
            normalization=self.normalization,
            constraint_weight=self.constraint_weight,
            solver=self.solver,
            starts=partial(
                _starts, start=self.init, n_init=self.n_init, normalization=self.normalization
            ),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        return similarity_recipe(self.n_clusters, factorize, max_clusters=self.max_clusters)


def _factorize(
    stage: Stage[Affinities],
    *,
    normalization: Literal["sinkhorn", "additive"] | None,
    constraint_weight: float,
    solver: str,
    starts: Callable[..., Iterator[FloatArray]],
    max_iter: int,
    tol: float,
) -> Solution:
    given = stage.relations
    part = Part(
        diagonal="raised" if normalization == "sinkhorn" else "kept",
        constraint_weight=constraint_weight if given.side is not None else None,
    )
    K = with_side(given.A, given.side, constraint_weight)
    weight = with_known_pairs(given.pair_weight, given.side)
    normalized = _normalized(part.of(given.A, given.side), weight, normalization)
    problem = Problem(
        normalized.matrix, stage.n_clusters, constraint="nonnegative", pair_weight=weight
    )
    ordered = InOrder.of(problem, given.A, solver)
    solve = partial(SOLVERS[solver], ordered.problem, callback=stage.progress.iteration)
    found = _lowest(solve, starts(stage, ordered, K), max_iter, tol, stage.progress)
    found = ordered.back(found)
    return Solution(problem, normalized, _without_isolated(found, K), part=part)


def _normalized(K: Matrix, weight: Matrix | None, how: Any) -> Normalized:
    if weight is None or how is None:
        return normalize(K, how)
    return _OBSERVED[how](K, weight)


def _lowest(
    solve: Callable[..., Factorization],
    starts: Iterator[FloatArray],
    max_iter: int,
    tol: float,
    progress: Progress,
) -> Factorization:
    """Run a coarse search from every start and continue from the lowest point."""
    best = lowest(solve(start, max_iter=max_iter, tol=_COARSE * tol) for start in starts)
    if best.cut_short or best.n_iter >= max_iter:
        return best
    progress.phase("best start")
    fine = solve(best.factor, max_iter=max_iter - best.n_iter, tol=tol)
    history = np.concatenate([best.history, fine.history[1:]])
    return replace(fine, history=history, n_iter=best.n_iter + fine.n_iter)


def _starts(
    stage: Stage[Affinities],
    ordered: InOrder,
    K: Matrix,
    *,
    start: Literal["auto", "random", "spectral"],
    n_init: int,
    normalization: str | None,
) -> Iterator[FloatArray]:
    problem, progress = ordered.problem, stage.progress
    n, k = problem.n_objects, problem.n_clusters
    warm = stage.warm_factor(n)
    if warm is not None:
        progress.phase("warm start")
        yield ordered.rows(warm)
        return
    spectral = start == "spectral"
    if start == "auto":
        # From random starts, negative cannot-links tend to empty whole clusters.
        repelled = normalization is None and K.min() < 0
        local = _share_of_edges(stage.relations.A) < _GRAPH
        spectral = problem.pair_weight is None and (repelled or local)
    if spectral:
        progress.phase("spectral start")
        yield fit_size(problem, ordered.rows(partition_start(K, k)))
        return
    for number in range(n_init):
        progress.phase(f"start {number + 1} of {n_init}")
        yield fit_size(problem, random_start(n, k, stage.random_state))


def _share_of_edges(K: Matrix) -> float:
    """Share of all pairs i != j with a nonzero affinity."""
    n = K.shape[0]
    count = K.count_nonzero() if is_sparse(K) else np.count_nonzero(K)
    return float(count - np.count_nonzero(K.diagonal())) / max(n * (n - 1), 1)


def _without_isolated(found: Factorization, K: Matrix) -> Factorization:
    """The factor with zero rows for isolated objects.

    The additive normalization would fit them to other objects with low degree.
    """
    degrees = np.asarray(abs(without_diagonal(K)).sum(axis=1)).ravel()
    if np.all(degrees > 0):
        return found
    return replace(found, factor=np.where(degrees[:, None] > 0, found.factor, 0))
