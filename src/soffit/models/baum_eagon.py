"""Baum-Eagon clustering (Rota Bulo & Pelillo 2010)."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

from soffit._parameters import OneOf, WholeNumber
from soffit.affinity.given_objects import Affinities, Standardize
from soffit.fitting.recipe import Recipe, similarity_recipe
from soffit.fitting.restarts import factorize_from_starts
from soffit.models.base import SimilarityClustering


class BaumEagon(SimilarityClustering):
    r"""Soft clusters from any nonnegative similarities, up to a common scale factor.

    .. math:: \min_{Y, \alpha} \|W - \alpha Y^\top Y\|_F^2, \quad
              y_i \text{ on the probability simplex}

    Parameters
    ----------
    n_clusters : int or None, default 8
        Number of clusters; None selects it with `soffit.selection.choose_k_of_graph` (see
        `k_choice_`).
    max_clusters : int or None, default None
        The largest number that is considered if `n_clusters` is None; by default the range grows
        while the evidence does.
    affinity : str, callable or Affinity, default "relative"
        The similarities W. One of "relative", "nearest_neighbors", "rbf", "laplacian", "cosine",
        "precomputed".
    metric : str or callable, default "euclidean"
        Distance behind the similarities; "precomputed" means that X holds distances.
    n_neighbors : int, default 10
        Neighbour that sets the scale of the similarities, or size of the neighbour graph.
    standardize : {"auto", True, False}, default "auto"
        Scale the columns of a table to unit standard deviation; "auto" does so if their spreads
        differ so much that one column would decide alone (`soffit.affinity.Standardizer`).
    solver : {"rows", "gradient", "growth"}, default "rows"
        Exact row blocks, without the diagonal; accelerated projected gradient; or the published
        growth transformation (eq. 7 in a numerically stable form, eq. 8 for alpha).
    n_init : int, default 1
        Number of random starts; the one with the lowest objective is kept.
    max_iter : int, default 20000
        Maximum number of iterations; the growth transformation needs thousands.
    tol : float, default 1e-5
        Relative decrease of the objective below which a solver stops. The growth transformation
        uses tol / 100, because its single steps are short.
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
        The columns of Y, as rows that sum to one.
    labels_ : ndarray of shape (n,)
        Most probable cluster.
    entropy_ : ndarray of shape (n,)
        Uncertainty of each object in nats.
    scale_ : ndarray of shape (k,)
        alpha, repeated k times.
    affinity_matrix_ : ndarray or csr_array of shape (n, n)
        W.
    objective_, objective_history_, n_iter_
        Final objective, its history from the start on, and number of iterations.
    converged_, stop_reason_ : bool, str
        Whether the fit converged, and why it ended: "converged", "max_iter", "max_time",
        "callback" or "interrupted".

    Examples
    --------
    >>> from soffit import BaumEagon
    >>> from soffit.datasets import make_block_stochastic
    >>> matrix, labels, _ = make_block_stochastic(100, random_state=7)
    >>> model = BaumEagon(n_clusters=5, affinity="precomputed", random_state=7).fit(matrix)
    >>> model.memberships_.shape
    (100, 5)

    References
    ----------
    S. Rota Bulo, M. Pelillo (2010). Probabilistic clustering using the Baum-Eagon inequality.
    ICPR.
    """

    _rules = SimilarityClustering._rules | {
        "solver": OneOf(("rows", "gradient", "growth")),
        "n_init": WholeNumber(1),
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        max_clusters: int | None = None,
        affinity: Any = "relative",
        metric: Any = "euclidean",
        n_neighbors: int = 10,
        standardize: Standardize = "auto",
        solver: Literal["rows", "gradient", "growth"] = "rows",
        n_init: int = 1,
        max_iter: int = 20000,
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
        self.solver = solver
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
            factorize_from_starts,
            solver=self.solver,
            scale="single",
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol / 100 if self.solver == "growth" else self.tol,
        )
        return similarity_recipe(self.n_clusters, factorize, max_clusters=self.max_clusters)
