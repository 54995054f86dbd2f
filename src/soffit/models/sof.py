"""SoF: soft-cluster matrix factorization (Zhao, Poupart, Zhang & Lysy 2015)."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from soffit._parameters import Number, OneOf, WholeNumber
from soffit.affinity import Settings
from soffit.affinity.given_objects import Affinities, Standardize
from soffit.fitting.recipe import Recipe, similarity_recipe
from soffit.fitting.restarts import factorize_from_starts
from soffit.models.base import SimilarityClustering


class SoF(SimilarityClustering):
    r"""Soft clusters whose co-membership matches exponential relative distances.

    .. math:: \min_W \|P - W W^\top\|_F^2, \quad W \ge 0,\; W 1 = 1, \qquad
              P_{ij} = \exp\Big(-c \frac{L_{ij}}{\sqrt{s_i s_j}}\Big)

    This is the published model. Its memberships are often too uniform, because P is far below 1
    even inside a cluster; ``scale="fit"`` fits :math:`P \approx \alpha W W^\top` instead, which
    keeps the labels, converges sooner and gives memberships closer to the truth.

    Parameters
    ----------
    n_clusters : int or None, default 8
        Number of clusters; None selects it with `soffit.selection.choose_k_of_graph` (see
        `k_choice_`).
    max_clusters : int or None, default None
        The largest number that is considered if `n_clusters` is None; by default the range grows
        while the evidence does.
    affinity : str, callable or Affinity, default "relative"
        P. One of "relative", "nearest_neighbors", "rbf", "laplacian", "cosine", "precomputed".
    metric : str or callable, default "euclidean"
        The distance L; "precomputed" means that X holds distances.
    c : float, default 1.0
        Scale of the exponent.
    relative_neighbor : int, default 10
        Rank of the neighbour whose distance is an object's unit of length s.
    scale : {None, "fit"}, default None
        Keep the published model, or fit one factor alpha.
    solver : {"rows", "gradient", "penalty"}, default "rows"
        Exact row blocks, without the diagonal (the model is derived for pairs i != j); accelerated
        projected gradient with the diagonal; or the published penalty method.
    n_init : int, default 1
        Number of random starts; the one with the lowest objective is kept.
    n_neighbors : int, default 15
        Neighbours for ``affinity="nearest_neighbors"``, or the neighbour that sets a bandwidth.
    standardize : {"auto", True, False}, default "auto"
        Scale the columns of a table to unit standard deviation; "auto" does so if their spreads
        differ so much that one column would decide alone (`soffit.affinity.Standardizer`).
    max_iter : int, default 2000
        Maximum number of sweeps or gradient steps (penalty method: steps per round).
    tol : float, default 1e-5
        Relative decrease of the objective below which a solver stops. The penalty method ends a
        round when the gradient norm falls below 100 tol.
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
        W; rows sum to one.
    labels_ : ndarray of shape (n,)
        Most probable cluster.
    entropy_ : ndarray of shape (n,)
        Uncertainty of each object in nats.
    scale_ : ndarray of shape (k,)
        alpha, repeated k times; ones for the published model.
    affinity_matrix_ : ndarray or csr_array of shape (n, n)
        P.
    objective_, objective_history_, n_iter_
        Final objective, its history from the start on, and number of iterations.
    converged_, stop_reason_ : bool, str
        Whether the fit converged, and why it ended: "converged", "max_iter", "max_time",
        "callback" or "interrupted".

    Examples
    --------
    >>> from soffit import SoF
    >>> from soffit.datasets import make_gaussians
    >>> X, labels, posterior = make_gaussians(150, separation=6.0, random_state=7)
    >>> model = SoF(n_clusters=3, scale="fit", random_state=7).fit(X)
    >>> model.memberships_.shape
    (150, 3)

    References
    ----------
    H. Zhao, P. Poupart, Y. Zhang, M. Lysy (2015). SoF: Soft-cluster matrix factorization for
    probabilistic clustering. AAAI.
    """

    _rules = SimilarityClustering._rules | {
        "c": Number(0.0, strict=True),
        "relative_neighbor": WholeNumber(1),
        "scale": OneOf((None, "fit")),
        "solver": OneOf(("rows", "gradient", "penalty")),
        "n_init": WholeNumber(1),
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        max_clusters: int | None = None,
        affinity: Any = "relative",
        metric: Any = "euclidean",
        c: float = 1.0,
        relative_neighbor: int = 10,
        scale: Literal["fit"] | None = None,
        solver: Literal["rows", "gradient", "penalty"] = "rows",
        n_init: int = 1,
        n_neighbors: int = 15,
        standardize: Standardize = "auto",
        max_iter: int = 2000,
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
        self.c = c
        self.relative_neighbor = relative_neighbor
        self.scale = scale
        self.solver = solver
        self.n_init = n_init
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.n_jobs = n_jobs

    def _settings(self) -> Settings:
        return Settings(
            metric=self.metric,
            n_neighbors=self.n_neighbors,
            c=self.c,
            relative_neighbor=self.relative_neighbor,
            standardize=self.standardize,
            n_jobs=self.n_jobs,
        )

    def _recipe(self) -> Recipe[Affinities]:
        if self.solver == "penalty" and self.scale == "fit":
            raise ValueError(
                "solver='penalty' is the published method for scale=None. Use solver='rows' or "
                "solver='gradient' with scale='fit'."
            )
        penalty = self.solver == "penalty"
        factorize = partial(
            factorize_from_starts,
            solver=self.solver,
            scale="none" if self.scale is None else "single",
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=100 * self.tol if penalty else self.tol,
        )
        return similarity_recipe(self.n_clusters, factorize, max_clusters=self.max_clusters)
