"""Spectral clustering (Ng, Jordan & Weiss; normalized cuts), with memberships."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from soffit._parameters import OneOf, WholeNumber
from soffit._typing import FloatArray, IntArray, Matrix
from soffit.affinity.given_objects import Affinities, Standardize
from soffit.factorize import (
    Problem,
    labels_start,
    leading_eigenvectors,
    solve_locally,
    solve_rows,
)
from soffit.fitting.fitted import Part
from soffit.fitting.recipe import Recipe, Smoothed, Solution, Stage, leave_rows, similarity_recipe
from soffit.graph import Graph, without_diagonal
from soffit.models.base import WeightedClustering
from soffit.normalize import degree
from soffit.partition.candidates import order_of_graph, ranked_objects
from soffit.partition.cut import bound_from, leading_values, normalized_cut
from soffit.partition.rounding import (
    cluster_qr,
    distribute_components,
    fill_empty_clusters,
    kmeans,
    unit_rows,
)

# Lead given to a label over equally probable clusters; visible in single precision.
_AHEAD = 1e-5


class SpectralClustering(WeightedClustering):
    r"""Clusters from eigenvectors: the relaxed normalized cut, rounded.

    The k leading eigenvectors V of the normalized affinities solve

    .. math:: \max_V \operatorname{tr} V^\top D^{-1/2} A D^{-1/2} V, \quad V^\top V = I,

    whose value bounds every normalized cut: :math:`k - \sum_c \lambda_c \le \sum_r
    \mathrm{cut}(r) / \mathrm{vol}(r)`. Clusters are found among the rows of V made unit length
    ("njw"), or of :math:`D^{-1/2} V`, the eigenvectors of the random walk ("ncut"). Memberships
    are the rows that fit the normalized affinities best with these clusters' scales held,

    .. math:: \min_W \sum_{i \ne j} \Big(N_{ij} - \sqrt{d_i d_j} \sum_c s_c W_{ic} W_{jc}\Big)^2,
              \quad W \ge 0,\; W 1 = 1,

    starting from the labels. They express how certain a label is and never change it: where the
    best row favours another cluster, the nearest row that keeps the label is reported.

    Parameters
    ----------
    n_clusters : int or None, default 8
        Number of clusters; None selects it with `soffit.selection.choose_k_of_graph` (see
        `k_choice_`).
    max_clusters : int or None, default None
        The largest number that is considered if `n_clusters` is None; by default the range grows
        while the evidence does.
    affinity : str, callable or Affinity, default "nearest_neighbors"
        One of "nearest_neighbors", "relative", "rbf", "laplacian", "cosine", "precomputed".
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn; "gower" for tables with text, yes/no or missing values;
        "precomputed" means that X holds distances.
    n_neighbors : int, default 15
        Neighbours per object in the graph, or the neighbour that sets a kernel's bandwidth.
    standardize : {"auto", True, False}, default "auto"
        Scale the columns of a table to unit standard deviation; "auto" does so if their spreads
        differ so much that one column would decide alone (`soffit.affinity.Standardizer`).
    variant : {"njw", "ncut"}, default "njw"
        Rows of unit length, or the eigenvectors of the random walk.
    rounding : {"kmeans", "cluster_qr"}, default "kmeans"
        How eigenvectors become labels: k-means on the rows (weighted by degrees for "ncut", which
        makes its loss the normalized cut seen through k eigenvectors), or pivoted QR, which is
        deterministic and uses the rows before they are scaled to unit length.
    n_init : int, default 10
        Number of k-means starts; the one with the lowest inertia is kept.
    max_iter : int, default 100
        Maximum number of sweeps over the rows for the memberships.
    tol : float, default 1e-4
        Relative decrease of the objective below which sweeps stop.
    max_time : float or None, default None
        Time limit in seconds; the best solution so far is kept. None means no limit.
    random_state : int, RandomState or None, default None
        Seed of k-means.
    verbose : int, default 0
        1 shows phases and elapsed time, 2 also iterations.
    callback : callable or None, default None
        Called with a `FitEvent` after every iteration; if it returns True, the fit stops.
    n_jobs : int or None, default -1
        Number of threads, as in scikit-learn: -1 uses all cores (limited by OMP_NUM_THREADS), None
        means 1 unless set by `joblib.parallel_config`. It does not change results.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        The rounded eigenvectors: one cluster per object.
    memberships_ : ndarray of shape (n, k)
        Probability of each cluster; rows sum to one. `labels_` are the most probable clusters.
    entropy_ : ndarray of shape (n,)
        Uncertainty of each object in nats.
    eigenvalues_ : ndarray of shape (k,)
        The largest eigenvalues of the normalized affinities, in descending order.
    embedding_ : ndarray of shape (m, k)
        The rows that are rounded; zero for isolated objects.
    relaxed_bound_ : float
        k minus the sum of the eigenvalues: no partition into k clusters has a smaller cut.
    cut_ : float
        Normalized cut of `labels_`.
    factor_, scale_ : ndarray of shape (m, k), ndarray of shape (k,)
        W as fitted, and s.
    affinity_matrix_ : ndarray or csr_array of shape (m, m)
        A of the m distinct objects, with their weights; m = n if all objects differ.
    copies_ : ndarray of shape (n,)
        Only if some objects are equal: the row of `affinity_matrix_` and `factor_` of each object.
    objective_, objective_history_, n_iter_
        Of the memberships: final objective, its history from the start on, and number of
        iterations.
    converged_, stop_reason_ : bool, str
        Whether the fit converged, and why it ended: "converged", "max_iter", "max_time",
        "callback" or "interrupted".

    Notes
    -----
    The diagonal of A is left out, as in the original method of Ng, Jordan & Weiss; the lecture
    keeps :math:`A_{ii} = 1`, which changes little. Cases that the lecture does not define: isolated
    objects get the mean membership and are not part of the eigenproblem; a graph with at least k
    components is cut between components, evenly by volume, at cut zero; no cluster is left empty.

    Examples
    --------
    >>> from soffit import SpectralClustering
    >>> from soffit.datasets import make_moons
    >>> X, labels, posterior = make_moons(200, random_state=7)
    >>> model = SpectralClustering(n_clusters=2, random_state=7).fit(X)
    >>> model.memberships_.shape
    (200, 2)
    >>> model.relaxed_bound_ <= model.cut_
    True

    References
    ----------
    M. I. Jordan (2004). Spectral clustering. Lecture notes, scribe D. Sontag.
    A. Y. Ng, M. I. Jordan, Y. Weiss (2001). On spectral clustering: analysis and an algorithm.
    NIPS.
    J. Shi, J. Malik (2000). Normalized cuts and image segmentation. IEEE Transactions on Pattern
    Analysis and Machine Intelligence 22(8).
    """

    # There is no `warm_start`: the factor of an earlier fit is of no use to an eigensolver.
    _rules = WeightedClustering._rules | {
        "variant": OneOf(("njw", "ncut")),
        "rounding": OneOf(("kmeans", "cluster_qr")),
        "n_init": WholeNumber(1),
    }

    _arrays = WeightedClustering._arrays | {
        "embedding_": "finite? m k",
        "eigenvalues_": "finite? k",
        "cut_": "float?",
        "relaxed_bound_": "float?",
    }

    def __init__(
        self,
        n_clusters: int | None = 8,
        *,
        max_clusters: int | None = None,
        affinity: Any = "nearest_neighbors",
        metric: Any = "euclidean",
        n_neighbors: int = 15,
        standardize: Standardize = "auto",
        variant: Literal["njw", "ncut"] = "njw",
        rounding: Literal["kmeans", "cluster_qr"] = "kmeans",
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-4,
        max_time: float | None = None,
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
        self.variant = variant
        self.rounding = rounding
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.max_time = max_time
        self.random_state = random_state
        self.verbose = verbose
        self.callback = callback
        self.n_jobs = n_jobs

    def _recipe(self) -> Recipe[Affinities]:
        factorize = partial(
            _factorize,
            embed=partial(_embed, variant=self.variant),
            round_rows=partial(
                _round, variant=self.variant, rounding=self.rounding, n_init=self.n_init
            ),
            max_iter=self.max_iter,
            tol=self.tol,
        )
        return similarity_recipe(
            *(self.n_clusters, factorize, _smooth),
            max_clusters=self.max_clusters,
            weighted=True,
        )


@dataclass(frozen=True, eq=False)
class _Rounded:
    """A partition by eigenvectors, and the bound that they give for all partitions."""

    labels: IntArray
    embedding: FloatArray
    eigenvalues: FloatArray
    bound: float


@dataclass(frozen=True, eq=False)
class _RoundedSolution(Solution):
    """A solution whose labels are kept wherever objects have edges."""

    labels: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    linked: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=bool))


def _factorize(
    stage: Stage[Affinities],
    *,
    embed: Callable[..., FloatArray],
    round_rows: Callable[..., IntArray],
    max_iter: int,
    tol: float,
) -> _RoundedSolution:
    A, k = without_diagonal(stage.relations.A), stage.n_clusters
    degrees = Graph.of(A).degrees()
    normalized = degree(A)
    stage.progress.phase("eigenvectors")
    seed = stage.draw_seed()
    round_rows = partial(round_rows, seed=seed)
    rounded = _partition(
        *(A, normalized.matrix, degrees, k, stage.relations.weights),
        embed=embed,
        round_rows=round_rows,
    )
    stage.progress.keep_result()
    cut = normalized_cut(A, rounded.labels)
    stage.progress.phase("row blocks")
    problem = Problem(normalized.matrix, k, scale="held", degrees=degrees)
    found = stage.progress.insist(
        lambda: solve_locally(
            solve_rows,
            problem,
            labels_start(rounded.labels, k),
            order_of_graph(A),
            max_iter=max_iter,
            tol=tol,
            callback=stage.progress.iteration,
        )
    )
    attributes = {
        "embedding_": rounded.embedding,
        "eigenvalues_": rounded.eigenvalues,
        "cut_": cut,
        # Ritz values are exact only up to rounding; the bound holds for the exact eigenvalues.
        "relaxed_bound_": min(rounded.bound, cut),
    }
    part = Part(diagonal="dropped")
    return _RoundedSolution(
        problem, normalized, found, attributes, part, rounded.labels, degrees > 0
    )


def _partition(
    A: Matrix,
    N: Matrix,
    degrees: FloatArray,
    k: int,
    weights: FloatArray | None,
    *,
    embed: Callable[..., FloatArray],
    round_rows: Callable[..., IntArray],
) -> _Rounded:
    """Labels of all objects; isolated ones are spread evenly over the clusters."""
    n = len(degrees)
    linked = ranked_objects(A)
    alone = np.flatnonzero(degrees <= 0)
    labels = np.empty(n, dtype=np.int64)
    # Distinct clusters for the connected objects first, in case there are very few.
    labels[np.concatenate([linked, alone])] = np.arange(n) % k
    embedding = np.zeros((n, k), dtype=N.dtype)
    values: FloatArray = np.empty(0)
    if len(linked):
        A, N = Graph.of(A).subgraph(linked).matrix, Graph.of(N).subgraph(linked).matrix
        component = Graph.of(A).components()
        # The same path for both storages: components of a dense matrix are detected, too.
        split = component.max() > 0
        values, V = leading_eigenvectors(sp.csr_array(N) if split else N, k)
        Y = embed(V, degrees[linked])
        embedding[linked, : Y.shape[1]] = Y
        if component.max() + 1 >= k:
            labels[linked] = distribute_components(component, degrees[linked], k)
        elif len(linked) > k:
            own = None if weights is None else weights[linked]
            labels[linked] = round_rows(V, Y, degrees[linked], own)
    return _Rounded(
        labels,
        embedding,
        leading_values(values, len(alone), k),
        bound_from(values, len(alone), k),
    )


def _embed(V: FloatArray, degrees: FloatArray, *, variant: str) -> FloatArray:
    if variant == "njw":
        return unit_rows(V)
    # The mean degree keeps values near those of V; k-means and QR are invariant to it.
    return np.asarray(V / np.sqrt(degrees / degrees.mean())[:, None], dtype=V.dtype)


def _round(
    V: FloatArray,
    Y: FloatArray,
    degrees: FloatArray,
    weights: FloatArray | None,
    *,
    variant: str,
    rounding: str,
    n_init: int,
    seed: int,
) -> IntArray:
    if rounding == "cluster_qr":
        labels = cluster_qr(V if variant == "njw" else Y)
    else:
        weights = weights if variant == "njw" else degrees
        labels = kmeans(Y, Y.shape[1], random_state=seed, n_init=n_init, weights=weights)
    return fill_empty_clusters(labels, Y)


def _smooth(stage: Stage[Affinities], solution: Solution, rows: FloatArray) -> Smoothed:
    """Memberships that express the certainty of a label and never change it."""
    assert isinstance(solution, _RoundedSolution)
    labels = solution.labels
    changed = solution.linked & (rows.argmax(axis=1) != labels)
    if changed.any():
        rows = rows.copy()
        rows[changed] = with_label_ahead(rows[changed], labels[changed])
    return leave_rows(stage, solution, rows)


def with_label_ahead(rows: FloatArray, labels: IntArray) -> FloatArray:
    """The nearest rows on the simplex whose maximum is the label, with a small lead over ties.

    Entries above a common level are cut to it; the excess goes to the label, which reaches the
    level.
    """
    place = np.arange(len(rows))
    W = np.array(rows, dtype=np.float64)
    own = W[place, labels].copy()
    W[place, labels] = np.inf
    ordered = -np.sort(-W, axis=1)
    ordered[:, 0] = own
    # Means of the label's share and the j largest others; the level is the largest of them.
    level = np.max(np.cumsum(ordered, axis=1) / np.arange(1, W.shape[1] + 1), axis=1)
    W = np.minimum(W, level[:, None]) * (1.0 - _AHEAD)
    W[place, labels] += _AHEAD
    return np.asarray(W, dtype=rows.dtype)
