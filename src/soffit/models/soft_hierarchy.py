"""SoftHierarchy: soft clusters of clusters, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from soffit._parameters import OneOf, OrNone, WholeNumber
from soffit._typing import FloatArray, Matrix
from soffit._wording import Message, Parameter
from soffit.affinity.given_objects import Affinities, Standardize
from soffit.affinity.walks import FactoredAffinity
from soffit.factorize import Factorization
from soffit.factorize.divergence.em import bipartite_rows, solve_em
from soffit.factorize.divergence.em_starts import solve_em_from_starts
from soffit.factorize.divergence.placement import ColumnRows
from soffit.fitting.data import of_distinct_objects
from soffit.fitting.fitted import Part
from soffit.fitting.recipe import (
    Count,
    Recipe,
    Smoothed,
    Solution,
    Stage,
    leave_rows,
    similarity_recipe,
)
from soffit.graph import Graph, reciprocal, without_diagonal
from soffit.memberships.tree import ClusterTree, Level
from soffit.models.relation_factorization import RelationModel, relation_problem
from soffit.normalize import unnormalized

# The number of clusters falls by about this factor per level.
_FALL = 3.0


@dataclass(frozen=True)
class DecreasingNumbers:
    """A sequence of integers of at least 1, each below the one before it."""

    def allows(self, value: Any) -> bool:
        """Whether the value may be used."""
        if (
            isinstance(value, str)
            or not isinstance(value, (Sequence, np.ndarray))
            or len(value) < 1
        ):
            return False
        whole = all(isinstance(m, Integral) and not isinstance(m, bool) for m in value)
        return whole and value[-1] >= 1 and all(a > b for a, b in pairwise(value))

    def __str__(self) -> str:
        return "a decreasing sequence of integers of at least 1, from the bottom to the top"


def check_levels(levels: Sequence[int], n_clusters: int | None, n_objects: int) -> list[int]:
    """The numbers as a list, checked against the number of clusters and of objects."""
    if levels[0] > n_objects:
        raise ValueError(
            Message(
                Parameter("levels"),
                f" starts with {levels[0]} clusters, more than the number of objects, "
                f"n_samples={n_objects}. Choose levels of at most {n_objects} clusters.",
            )
        )
    if n_clusters is not None and n_clusters != levels[-1]:
        raise ValueError(
            Message(
                Parameter("n_clusters", n_clusters),
                " is not the last of ",
                Parameter("levels", list(levels)),
                ". Leave one of them out.",
            )
        )
    return [int(m) for m in levels]


def choose_levels(A: Matrix, n_clusters: int | None) -> list[int]:
    """The given or selected number at the top, sqrt(n) at the bottom, geometric in between."""
    from soffit.selection.pruning import count_clusters

    top = count_clusters(A).n_clusters if n_clusters is None else int(n_clusters)
    bottom = max(round(A.shape[0] ** 0.5), top)
    n_falls = round(np.log(bottom / top) / np.log(_FALL))
    numbers = np.geomspace(bottom, top, n_falls + 1) if n_falls else np.array([top])
    return sorted({int(m) for m in np.round(numbers)}, reverse=True)


class SoftHierarchy(RelationModel):
    r"""A hierarchy of soft clusters, built from the bottom up.

    The graph W is factorized by

    .. math:: \min_{H, \Lambda} D(W \,\|\, H \Lambda H^\top), \quad H \ge 0,\; H^\top 1 = 1,
              \qquad B = H \Lambda,

    as in `RelationFactorization`, with many clusters. Their similarities
    :math:`B^\top D^{-1} B` (eq. 5) are again a graph, with degrees :math:`\Lambda`, which is
    factorized with fewer clusters, and so on. An object's memberships at level l follow the chain
    of all factorizations below (eq. 6),

    .. math:: D_1^{-1} \tilde B_l, \qquad \tilde B_l = B_1 D_2^{-1} B_2 \cdots D_l^{-1} B_l.

    Level l sees the graph through :math:`2^{l-1}` steps of a random walk.

    Parameters
    ----------
    n_clusters : int or None, default None
        Number of clusters at the top. None means the last of `levels` or, without levels, selects
        it as `RelationFactorization` does.
    levels : sequence of int or None, default None
        Numbers of clusters from the bottom to the top, decreasing, such as ``[100, 20, 10, 4]``.
        None means about sqrt(n) clusters at the bottom, and a third as many on each further level.
    affinity : str, callable or Affinity, default "nearest_neighbors"
        As for `RelationFactorization`.
    metric : str or callable, default "euclidean"
        Any metric of scikit-learn; "gower" for tables with text, yes/no or missing values;
        "precomputed" means that X holds distances.
    n_neighbors : int, default 10
        Neighbours per object in the graph.
    standardize : {"auto", True, False}, default "auto"
        Scale the columns of a table to unit standard deviation; "auto" does so if their spreads
        differ so much that one column would decide alone (`soffit.affinity.Standardizer`).
    refine : bool, default True
        Use each level's memberships as the start of a factorization of the graph itself. False is
        the published method. Refined levels fit the graph better, but the chain of eq. 6 then holds
        only approximately.
    n_init : int, default 12
        Number of diffused starts besides the spectral ones, from the second level on; the bottom
        level, with its many clusters, has a spectral start only.
    max_iter : int, default 500
        Maximum number of iterations per factorization.
    tol : float, default 1e-6
        Relative decrease of the objective below which a factorization stops.
    max_time : float or None, default None
        Time limit in seconds; the best solution so far is kept. None means no limit.
    warm_start : bool, default False
        Start the bottom level from the last fit, if it had as many objects and clusters there.
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
        Of the top level; rows sum to one. An isolated object gets the prior, the weights of the
        clusters.
    labels_ : ndarray of shape (n,)
        Most probable cluster at the top level.
    entropy_ : ndarray of shape (n,)
        Uncertainty of each object at the top level in nats.
    levels_ : list of Level
        From the bottom to the top: `memberships`, `weights`, `similarities` of the clusters, and
        `parents`, the probabilities of the clusters one level up.
    tree_ : ClusterTree
        All clusters as nodes with weight, size, most probable parent and its probability; has
        `children` and `to_networkx`.
    lambda_ : ndarray of shape (k,)
        Weights of the top level's clusters; also `scale_`.
    affinity_matrix_ : ndarray or csr_array of shape (m, m)
        The graph of the m distinct objects, with their weights; m = n if all objects differ.
    copies_ : ndarray of shape (n,)
        Only if some objects are equal: the row of `affinity_matrix_` and `factor_` of each object.
    factor_ : ndarray of shape (m, k)
        The top level's weights between objects and clusters, columns made to sum to one.
    objective_, objective_history_, n_iter_
        Of the last factorization of the graph itself: the top level if refined, else the bottom
        level.
    converged_, stop_reason_ : bool, str
        Whether every factorization converged, and why the fit ended: "converged", "max_iter",
        "max_time", "callback" or "interrupted".

    Notes
    -----
    Proposition 3.1 of the paper is off by one: level l corresponds to :math:`2^{l-1}` steps, as
    its introduction says, because the row sums of :math:`B^\top D^{-1} B` are :math:`\Lambda`, so
    that :math:`D_{l+1} = \Lambda_l`. It holds for exact factorizations. Random starts do not reach
    the published results, hence the spectral ones.

    Examples
    --------
    >>> from soffit import SoftHierarchy
    >>> from soffit.datasets import make_gaussians
    >>> X, labels, posterior = make_gaussians(300, n_clusters=3, separation=6.0, random_state=7)
    >>> model = SoftHierarchy(levels=[20, 3], random_state=7).fit(X)
    >>> model.memberships_.shape, model.at_level(1).shape
    ((300, 3), (300, 20))
    >>> model.tree_.roots.tolist()
    [20, 21, 22]

    References
    ----------
    K. Yu, S. Yu, V. Tresp (2005). Soft clustering on graphs. NIPS.
    """

    _rules = RelationModel._rules | {
        "levels": OrNone(DecreasingNumbers()),
        "refine": OneOf((True, False)),
        "n_init": WholeNumber(0),
    }

    _arrays = RelationModel._arrays | {
        "lambda_": "finite? k",
        "levels_": "parts? :Level n",
        "tree_": "part? :ClusterTree",
    }

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        levels: Sequence[int] | None = None,
        affinity: Any = "nearest_neighbors",
        metric: Any = "euclidean",
        n_neighbors: int = 10,
        standardize: Standardize = "auto",
        refine: bool = True,
        n_init: int = 12,
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
        self.levels = levels
        self.affinity = affinity
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.standardize = standardize
        self.refine = refine
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
        return similarity_recipe(
            self.n_clusters,
            partial(
                _factorize,
                refine=self.refine,
                n_init=self.n_init,
                max_iter=self.max_iter,
                tol=self.tol,
            ),
            partial(_smooth, refine=self.refine),
            count=partial(_count, n_clusters=self.n_clusters, levels=self.levels),
            weighted=True,
        )

    # --- results -------------------------------------------------------------------------------

    def at_level(self, level: int) -> FloatArray:
        """Memberships of the fitted objects at a level.

        Parameters
        ----------
        level : int
            1 is the bottom; negative numbers count from the top, -1.

        Returns
        -------
        ndarray of shape (n, m)
            Rows sum to one.
        """
        return self._level(level).memberships

    def induced_affinity(self, level: int) -> FactoredAffinity:
        r"""The affinity between objects that a level's clusters induce.

        .. math:: \tilde W_l = \tilde B_l \Lambda_l^{-1} \tilde B_l^\top

        It approximates :math:`2^{l-1}` steps of a random walk on the graph, and keeps its degrees.
        Objects are those of `affinity_matrix_`: equal ones are one.

        Parameters
        ----------
        level : int
            1 is the bottom; negative numbers count from the top, -1.

        Returns
        -------
        FactoredAffinity
            Supports ``@``, `rows`, `sum`, `diagonal` and `toarray` without storing n x n entries.
        """
        chosen = self._level(level)
        memberships = of_distinct_objects(vars(self), chosen.memberships)
        degrees = _degrees(without_diagonal(self.affinity_matrix_))
        B = _bipartite(memberships, degrees)
        return FactoredAffinity(B, np.diag(reciprocal(chosen.weights)).astype(B.dtype))

    def _level(self, level: int) -> Level:
        if not hasattr(self, "levels_"):
            check_is_fitted(self, "memberships_")
            raise ValueError(
                "This SoftHierarchy has no levels: its clusters were merged, split or added after "
                "the fit. Ask the model that was fitted."
            )
        count = len(self.levels_)
        if not (1 <= level <= count or -count <= level <= -1):
            raise ValueError(
                f"level must be from 1 (bottom) to {count} (top), or from -1 (top) to -{count}, "
                f"got {level!r}."
            )
        return self.levels_[level - 1 if level > 0 else level]


@dataclass(frozen=True, eq=False)
class Upward:
    """Memberships at the bottom level propagated to the top (eq. 6)."""

    chain: FloatArray
    _arrays: ClassVar[dict[str, str]] = {"chain": "finite j k"}

    def place(self, rows: FloatArray, table: Any, block: Matrix) -> FloatArray:
        """Memberships of new objects at the top."""
        return np.asarray(rows @ self.chain)


def _count(
    stage: Stage[Affinities], *, n_clusters: int | None, levels: Sequence[int] | None
) -> Count:
    A = without_diagonal(stage.relations.A)
    if levels is None:
        numbers = choose_levels(A, n_clusters)
    else:
        numbers = check_levels(levels, n_clusters, A.shape[0])
    return Count(numbers[-1], levels=tuple(numbers))


def _factorize(
    stage: Stage[Affinities], *, refine: bool, n_init: int, max_iter: int, tol: float
) -> Solution:
    A, numbers = without_diagonal(stage.relations.A), stage.count.levels
    search = _Search(stage, max_iter, tol)
    degrees = _degrees(A)
    search.show_level(1)
    flat = search.bottom(A, numbers[0])
    converged = flat.converged
    levels = [_level(_memberships(A, flat), degrees)]
    for number, m in enumerate(numbers[1:], start=2):
        search.show_level(number)
        below = levels[-1]
        found = search.factorize(below.similarities, m, n_draws=n_init)
        parents = bipartite_rows(found)
        memberships = np.asarray(below.memberships @ parents, dtype=A.dtype)
        converged = converged and found.converged
        if refine:
            flat = search.refine(A, memberships)
            memberships = _memberships(A, flat)
            parents = _passage(below.memberships, memberships, degrees)
            converged = converged and flat.converged
        levels[-1] = replace(below, parents=parents)
        levels.append(_level(memberships, degrees))
    stopped = "converged" if converged else stage.progress.stopped or "max_iter"
    flat = replace(flat, stopped=stopped)
    top = levels[-1]
    # The search ends at the level that was fitted to the graph itself; the model is the top level.
    attributes = {
        "levels_": levels,
        "tree_": ClusterTree.of(levels),
        "lambda_": top.weights,
        "scale_": top.weights,
        "n_clusters_": top.n_clusters,
        "factor_": _columns(_bipartite(top.memberships, degrees)),
    }
    problem = relation_problem(A, flat.factor.shape[1])
    return Solution(problem, unnormalized(A), flat, attributes, Part(diagonal="dropped"))


def _smooth(
    stage: Stage[Affinities], solution: Solution, rows: FloatArray, *, refine: bool
) -> Smoothed:
    # From the level that was fitted to the graph itself to the top.
    chain = None if refine else _chain(solution.attributes["levels_"])
    if chain is None:
        return leave_rows(stage, solution, rows)
    return Smoothed(np.asarray(rows @ chain), Upward(chain))


@dataclass(frozen=True, eq=False)
class _Search:
    """Factorizations of a fit, level by level."""

    stage: Stage[Affinities]
    max_iter: int
    tol: float

    def show_level(self, number: int) -> None:
        numbers = self.stage.count.levels
        self.stage.progress.phase(
            f"level {number} of {len(numbers)}: {numbers[number - 1]} clusters"
        )

    def bottom(self, A: Matrix, m: int) -> Factorization:
        """The first level, warm-started from the last fit if possible."""
        last = self.stage.warm.attributes["levels_"] if self.stage.warm is not None else None
        if last and self.stage.warm is not None:
            memberships = of_distinct_objects(self.stage.warm.attributes, last[0].memberships)
            if memberships.shape == (A.shape[0], m):
                return self.refine(A, memberships)
        return self.factorize(A, m, n_draws=0)

    def factorize(self, graph: Matrix, m: int, *, n_draws: int) -> Factorization:
        found = solve_em_from_starts(
            relation_problem(graph, m),
            self.stage.random_state,
            n_draws=n_draws,
            max_iter=self._most_iterations(),
            tol=self.tol,
            callback=self.stage.progress.iteration,
        )
        return self.stage.progress.note_stop(found)

    def refine(self, A: Matrix, memberships: FloatArray) -> Factorization:
        found = solve_em(
            relation_problem(A, memberships.shape[1]),
            memberships,
            max_iter=self._most_iterations(),
            tol=self.tol,
            callback=self.stage.progress.iteration,
        )
        return self.stage.progress.note_stop(found)

    def _most_iterations(self) -> int:
        """After a stop, later levels get one iteration; after Ctrl-C none."""
        stopped = self.stage.progress.stopped
        return self.max_iter if stopped is None else int(stopped != "interrupted")


def _degrees(A: Matrix) -> FloatArray:
    return Graph.of(A).degrees().reshape(-1, 1)


def _bipartite(memberships: FloatArray, degrees: FloatArray) -> FloatArray:
    """B, the weights between objects and the clusters of a level."""
    return np.asarray(memberships * degrees, dtype=memberships.dtype)


def _memberships(A: Matrix, found: Factorization) -> FloatArray:
    """Memberships of the objects in a factorization of the graph itself."""
    return ColumnRows.fitted(relation_problem(A, found.factor.shape[1]), found)


def _chain(levels: list[Level]) -> FloatArray | None:
    """Probabilities of the top level's clusters given those of the bottom level (eq. 6)."""
    chain = None
    for level in levels[:-1]:
        assert level.parents is not None
        chain = level.parents if chain is None else np.asarray(chain @ level.parents)
    return chain


def _level(memberships: FloatArray, degrees: FloatArray) -> Level:
    """Weights and similarities (eq. 5) of clusters with these memberships."""
    B = degrees * memberships
    passing = np.asarray(B.T @ memberships)
    # The mean of both orders is exactly symmetric.
    similarities = np.asarray((passing + passing.T) / 2, dtype=memberships.dtype)
    return Level(memberships, np.asarray(B.sum(axis=0)), similarities)


def _columns(B: FloatArray) -> FloatArray:
    """Columns divided by their sums; zero columns stay zero."""
    sums = B.sum(axis=0)
    return np.asarray(B / np.where(sums > 0, sums, 1), dtype=B.dtype)


def _passage(lower: FloatArray, upper: FloatArray, degrees: FloatArray) -> FloatArray:
    """Probability of each upper cluster given a lower one, over the objects of the lower one."""
    joint = (degrees * lower).T @ upper
    sums = joint.sum(axis=1, keepdims=True)
    prior = joint.sum(axis=0) / max(float(joint.sum()), np.finfo(np.float64).tiny)
    even = prior if prior.any() else np.full(len(prior), 1.0 / len(prior))
    passage = np.where(sums > 0, joint / np.where(sums > 0, sums, 1.0), even)
    return np.asarray(passage, dtype=upper.dtype)
