"""RelationFactorization: soft clustering on graphs of Yu, Yu & Tresp."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from soffit._memory import check_allocation
from soffit._parameters import OrNone, ShareBelowOne, WholeNumber
from soffit._typing import FloatArray, Matrix
from soffit._wording import Message, Parameter
from soffit.affinity.given_objects import Affinities, Standardize, Standardizer
from soffit.factorize import Factorization, Problem
from soffit.factorize.divergence.em import bipartite_rows, log_likelihood, solve_em, warm_rows
from soffit.factorize.divergence.em_starts import solve_em_from_starts, usual_number_of_draws
from soffit.fitting.data import Constraints
from soffit.fitting.fitted import Fitted, Part
from soffit.fitting.monitor import Progress, Tasks
from soffit.fitting.recipe import Count, Recipe, Solution, Stage, similarity_recipe
from soffit.graph import without_diagonal
from soffit.models.base import WeightedClustering
from soffit.normalize import unnormalized


class RelationModel(WeightedClustering):
    """A model that factorizes the weights of a graph as transition frequencies."""

    # Transitions need all listed neighbours: this loss does less well on mutual-neighbour graphs.
    _keep = "union"
    _weights = "local"


def relation_problem(
    A: Matrix, n_clusters: int, *, sparsity: float = 0.0, pruning: float = 0.0
) -> Problem:
    """The divergence of A from H Lambda H', with or without priors."""
    return Problem(
        A,
        n_clusters,
        scale="cluster",
        diagonal=True,
        loss="kl",
        constraint="columns",
        sparsity=sparsity,
        pruning=pruning,
    )


# Arrays of shape (n, k) that exist at once: H, B, memberships, one more.
_COPIES = 4


class RelationFactorization(RelationModel):
    r"""Soft clusters from a factorization of graph weights as transitions of a random walk.

    .. math:: \min_{H, \Lambda} \sum_{ij} w_{ij} \log\frac{w_{ij}}{(H \Lambda H^\top)_{ij}} - w_{ij}
              + (H \Lambda H^\top)_{ij}, \quad H \ge 0,\; H^\top 1 = 1,\; \Lambda \text{ diagonal.}

    The weights are read as frequencies of transitions through hidden clusters, :math:`p(i, j)
    \propto \sum_p \lambda_p h_{ip} h_{jp}`, and memberships are the probabilities :math:`p(p | i) =
    b_{ip} / d_i` with :math:`B = H \Lambda`. The solver is expectation-maximisation over the edges,
    from spectral and diffused starts; the solution with the highest likelihood is kept. A new
    object maximises the likelihood of its own edges.

    Parameters
    ----------
    n_clusters : int or None, default 8
        Number of clusters; None selects it (see Notes).
    affinity : str, callable or Affinity, default "nearest_neighbors"
        One of "nearest_neighbors", "relative", "rbf", "laplacian", "cosine", "precomputed". Here
        the neighbour graph keeps all listed neighbours and has locally scaled weights, which suits
        this loss better than mutual neighbours. The paper's own graph is
        ``NeighborGraph(n_neighbors=10, keep="union", weights="binary")``.
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn; "gower" for tables with text, yes/no or missing values;
        "precomputed" means that X holds distances.
    n_neighbors : int, default 10
        Neighbours per object in the graph.
    standardize : {"auto", True, False}, default "auto"
        Scale the columns of a table to unit standard deviation; "auto" does so if their spreads
        differ so much that one column would decide alone (`soffit.affinity.Standardizer`).
    sparsity : float, default 0.0
        Prior on memberships: each step subtracts this fraction of the object's degree from every
        share, and small shares vanish (:math:`1 - \alpha_i = 2 d_i` times it).
    pruning : float or None, default None
        Prior on cluster weights: each step subtracts this fraction of the total weight from every
        cluster, and light clusters vanish, one at a time (:math:`1 - \beta` = it times the total
        weight). None means no prior for a given number of clusters.
    n_init : int or None, default None
        Number of diffused starts besides the spectral ones. None means 12, down to 2 on larger
        graphs. Sparse graphs of more than 40,000 objects use none.
    max_iter : int, default 500
        Maximum number of iterations per start.
    tol : float, default 1e-6
        Relative decrease of the objective below which the solver stops.
    max_time : float or None, default None
        Time limit in seconds; the best solution so far is kept. None means no limit.
    warm_start : bool, default False
        Start from the last fit, if it had as many objects and clusters.
    random_state : int, RandomState or None, default None
        Seed of the diffused starts; spectral starts have fixed seeds.
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
        p(cluster | object); rows sum to one. An isolated object gets the prior, the weights of the
        clusters.
    labels_ : ndarray of shape (n,)
        Most probable cluster.
    entropy_ : ndarray of shape (n,)
        Uncertainty of each object in nats.
    factor_ : ndarray of shape (m, k)
        H; columns sum to one.
    lambda_ : ndarray of shape (k,)
        Weights of the clusters; they sum to the weight of the graph. Also `scale_`.
    bipartite_ : ndarray of shape (m, k)
        B, the weights between objects and clusters; row sums are the degrees (if sparsity=0).
    log_likelihood_ : float
        :math:`\sum_{ij} w_{ij} \log p(i, j)` with p summing to one over all pairs: eq. 7, with the
        weights as counts. Proportional to the weights.
    threshold_path_ : ndarray of shape (t, 2)
        With ``n_clusters=None`` and ``pruning=None``: thresholds as fractions of the total weight,
        and the number of clusters that survive each.
    affinity_matrix_ : ndarray or csr_array of shape (m, m)
        The graph of the m distinct objects, with their weights; m = n if all objects differ.
    copies_ : ndarray of shape (n,)
        Only if some objects are equal: the row of `affinity_matrix_` and `factor_` of each object.
    memory_per_worker_ : int
        Only for graphs in blocks: an estimate of the bytes that a worker needs at most.
    objective_, objective_history_, n_iter_
        Final objective, its history from the start on, and number of iterations.
    converged_, stop_reason_ : bool, str
        Whether the fit converged, and why it ended: "converged", "max_iter", "max_time",
        "callback" or "interrupted".

    Notes
    -----
    Self-similarities are left out: the published graphs have none. The published "normalize" steps
    of eq. 3 and 4 are not needed: both follow from one update of B. One iteration costs O(k nnz),
    not O(k^2 nnz) as printed.

    A sparse graph of more than 40,000 objects is coarsened first. The most informative of a few
    partitions of the coarse graph, refined on the graph itself, is the only start. Each row is
    updated for its own cluster and those of its neighbours that would improve it, so that the time
    grows with the edges and not with the number of clusters. Priors need all clusters.

    A graph whose edges do not fit into memory is given as a Dask data frame with the columns
    "source" and "target", numbers of objects from 0 on, and "weight". The edges stay with the
    workers, and `memberships_`, `labels_`, `entropy_`, `factor_` and `bipartite_` are Dask arrays.
    The number of clusters must be given, without priors, and new objects cannot be placed.

    The published regularised loss is unbounded below, and its prior of 0.7 on cluster weights
    depends on the scale of the weights. Priors are therefore fractions here, clusters vanish one at
    a time and never all, and `objective_history_` starts after the last cluster or share that
    vanished; from there on it never rises.

    ``n_clusters=None`` with a given `pruning` starts with more clusters than the spectrum supports
    and keeps those that survive. With ``pruning=None`` a path over growing thresholds is run, and
    the number that persists longest over thresholds and over time scales of the random walk is
    fitted: at most 24, of at least five objects each. It recovers planted blocks and separated
    clusters. On data with nested clusters it may select the coarser or the finer number, and it
    can return one cluster when a graph looks random.

    Examples
    --------
    >>> from soffit import RelationFactorization
    >>> from soffit.datasets import make_moons
    >>> X, labels, posterior = make_moons(300, random_state=7)
    >>> model = RelationFactorization(n_clusters=2, random_state=7).fit(X)
    >>> model.memberships_.shape, model.lambda_.shape
    ((300, 2), (2,))

    References
    ----------
    K. Yu, S. Yu, V. Tresp (2005). Soft clustering on graphs. NIPS.
    """

    _rules = RelationModel._rules | {
        "sparsity": ShareBelowOne(),
        "pruning": OrNone(ShareBelowOne()),
        "n_init": OrNone(WholeNumber(0)),
    }

    _arrays = RelationModel._arrays | {
        "lambda_": "finite? k",
        "bipartite_": "finite? m k",
        "log_likelihood_": "float?",
        "threshold_path_": "float? * 2",
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        affinity: Any = "nearest_neighbors",
        metric: Any = "euclidean",
        n_neighbors: int = 10,
        standardize: Standardize = "auto",
        sparsity: float = 0.0,
        pruning: float | None = None,
        n_init: int | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
        max_time: float | None = None,
        warm_start: bool = False,
        random_state: Any = None,
        verbose: int | bool = 0,
        callback: Any = None,
        n_jobs: int | None = -1,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.sparsity = sparsity
        self.pruning = pruning
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.n_jobs = n_jobs

    def _recipe(self) -> Recipe[Affinities]:
        factorize = partial(
            _factorize,
            sparsity=self.sparsity,
            pruning=self.pruning or 0.0,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
        )
        count = partial(_count, pruning=self.pruning)
        return similarity_recipe(self.n_clusters, factorize, count=count, weighted=True)

    def _run_on_blocks(self, X: Any, constraints: Constraints, tasks: Tasks | None) -> Fitted:
        """Factorize a graph whose edges are in blocks; see `soffit.distributed.edge_blocks`."""
        from soffit.distributed.edge_blocks import fit_edges
        from soffit.distributed.row_blocks import check_no_pairs

        check_no_pairs(constraints)
        for name in ("sparsity", "pruning"):
            if getattr(self, name):
                raise ValueError(
                    Message(
                        Parameter(name),
                        " is not supported for graphs in blocks. Leave it out, or fit the graph "
                        "in memory.",
                    )
                )
        with self._working(tasks) as progress:
            found = fit_edges(
                X, self.n_clusters, max_iter=self.max_iter, tol=self.tol, progress=progress
            )
        fitted = Fitted({}, Standardizer(), None, found.found.stopped, found.found.n_iter)
        self._publish(fitted, found.attributes)
        return fitted


def _factorize(
    stage: Stage[Affinities],
    *,
    sparsity: float,
    pruning: float,
    n_init: int | None,
    max_iter: int,
    tol: float,
) -> Solution:
    A, k = without_diagonal(stage.relations.A), stage.n_clusters
    check_allocation(
        (A.shape[0], k),
        A.dtype,
        what="RelationFactorization",
        remedy=Message(
            "Pass a smaller ", Parameter("n_clusters"), ", or similarities in single precision."
        ),
        copies=_COPIES,
    )
    problem = relation_problem(A, k, sparsity=sparsity, pruning=pruning)
    continue_from = partial(_continued, problem, stage.progress, max_iter=max_iter, tol=tol)
    warm = stage.warm_factor(problem.n_objects)
    if warm is not None and stage.warm is not None:
        stage.progress.phase("warm start")
        found = continue_from(warm_rows(warm, stage.warm.attributes["scale_"]))
    else:
        found = _from_starts(problem, stage, n_init, max_iter, tol)
        if problem.sparsity > 0 or problem.pruning > 0:
            stage.progress.phase("priors")
            found = continue_from(bipartite_rows(found))
    attributes = {
        "lambda_": found.scale,
        "bipartite_": found.factor * found.scale.astype(found.factor.dtype),
        "log_likelihood_": log_likelihood(relation_problem(A, found.factor.shape[1]), found),
    }
    return Solution(problem, unnormalized(A), found, attributes, Part(diagonal="dropped"))


def _from_starts(
    problem: Problem, stage: Stage[Affinities], n_init: int | None, max_iter: int, tol: float
) -> Factorization:
    n_draws = n_init
    if n_draws is None:
        n_draws = usual_number_of_draws(problem.matrix, problem.n_clusters)
    stage.progress.phase("eigenvectors")
    found = solve_em_from_starts(
        problem,
        stage.random_state,
        n_draws=n_draws,
        max_iter=max_iter,
        tol=tol,
        callback=stage.progress.iteration,
        phase=stage.progress.phase,
    )
    return stage.progress.note_stop(found)


def _continued(
    problem: Problem, progress: Progress, rows: FloatArray, *, max_iter: int, tol: float
) -> Factorization:
    """Continue from given memberships; few iterations if an earlier search was stopped."""
    cut = progress.stopped
    found = solve_em(
        problem,
        rows,
        max_iter=max_iter if cut is None else int(cut != "interrupted"),
        tol=tol,
        callback=progress.iteration,
    )
    return found if cut is None else replace(found, stopped=cut)


def _count(stage: Stage[Affinities], *, pruning: float | None) -> Count:
    if stage.n_clusters:
        return stage.count
    stage.progress.phase("number of clusters")
    from soffit.selection.pruning import count_clusters, starting_number

    A = without_diagonal(stage.relations.A)
    if pruning is not None:
        return Count(starting_number(A))
    count = count_clusters(A)
    path = np.column_stack([count.thresholds, count.alive])
    return Count(count.n_clusters, {"threshold_path_": path})
