"""The one fit: a recipe, the values that its steps exchange, and the run to a fitted value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import scipy.sparse as sp

from soffit._typing import FloatArray
from soffit._wording import Message, Parameter
from soffit.affinity import Affinity, NeighborGraph
from soffit.affinity.given_objects import Affinities
from soffit.factorize import Factorization, Problem
from soffit.factorize.problem import Stop
from soffit.factorize.solvers import FAMILIES
from soffit.fitting.data import Data, distinct_data, for_all_objects
from soffit.fitting.fitted import Fitted, Part, SimilarityPlacer, Smoothing, Unchanged, rule_only
from soffit.fitting.monitor import Plan, Progress
from soffit.memberships import entropy
from soffit.memberships.measures import largest, on_simplex
from soffit.normalize import Normalized

Relations = TypeVar("Relations")
# The first steps of a fit take longer with more clusters than these.
_FEW_CLUSTERS = 20


@dataclass(frozen=True)
class Count:
    """The number of clusters, and how it was found."""

    n_clusters: int  # The number.
    # Public attributes that document the selection, such as `k_choice_`.
    attributes: Mapping[str, Any] = field(default_factory=dict)
    # For a hierarchy, the numbers of clusters of all levels from the bottom to the top.
    levels: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Stage(Generic[Relations]):
    """State of a fit between two steps: the input of the next one."""

    data: Data
    relations: Relations
    count: Count
    random_state: np.random.RandomState
    progress: Progress
    warm: Fitted | None = None

    @property
    def n_clusters(self) -> int:
        """The number of clusters, given or chosen."""
        return self.count.n_clusters

    def draw_seed(self) -> int:
        """A seed for a step that draws on its own."""
        return int(self.random_state.randint(np.iinfo(np.int32).max))

    def warm_factor(self, n: int) -> FloatArray | None:
        """The last fit's factor, if `warm_start` is set and the shape matches."""
        return None if self.warm is None else self.warm.warm_factor(n, self.n_clusters)


@dataclass(frozen=True, eq=False)
class Recipe(Generic[Relations]):
    """A model without data: a chain of plain functions."""

    n_clusters: int | None  # The number of clusters, if it is given.
    # From data to affinities of pairs or tuples.
    relate: Callable[[Data, np.random.RandomState, Progress], Relations]
    count: Callable[[Stage[Relations]], Count]  # From a stage to the number of clusters.
    # From a stage with a number of clusters to the fitted value.
    solve: Callable[[Stage[Relations]], Fitted]
    # Whether objects may have weights. Equal objects are then fitted as one.
    weighted: bool = False
    # How many times as long the first steps take for an object as in models of pairs.
    effort: int = 1
    # The phases and their typical shares of the time, from which the time left is estimated.
    plan: Plan = (("affinities", 0.3), ("factorization", 0.6), ("memberships", 0.1))


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a factorization step."""

    problem: Problem  # The problem that was solved.
    normalized: Normalized  # Its matrix, and the rule for rows of new objects.
    found: Factorization  # What the solver found.
    # Public attributes of this model; they override common ones of the same name.
    attributes: Mapping[str, Any] = field(default_factory=dict)
    part: Part = field(default_factory=Part)  # The part of the affinities that was normalized.


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Memberships of the fitted objects, and the rule for new ones."""

    memberships: Any  # array or CSR (n, k): rows on the simplex.
    smoothing: Smoothing  # The same for new objects.
    attributes: Mapping[str, Any] = field(default_factory=dict)  # Public attributes of this step.
    stopped: Stop | None = None  # Why the fit ended, if this step was stopped early.


Factorize = Callable[[Stage[Affinities]], Solution]
Smooth = Callable[[Stage[Affinities], Solution, Any], Smoothed]


def run(
    recipe: Recipe[Relations],
    data: Data,
    random_state: np.random.RandomState,
    progress: Progress,
    *,
    warm: Fitted | None = None,
) -> Fitted:
    """Run a recipe.

    `recipe`: the model.
    `random_state`: source of randomness.
    `progress`: shows phases and iterations, and says when to stop.
    `warm`: an earlier fit to start from.
    """
    n = data.objects.n_objects
    check_n_clusters(recipe.n_clusters, n)
    if data.side is None:
        data = replace(data, side=data.constraints.side_information(n, data.names))
    whole = data
    progress.expect(recipe.plan)
    with progress.limited(recipe.effort * n * max((recipe.n_clusters or 0) // _FEW_CLUSTERS, 1)):
        if recipe.weighted:
            data = distinct_data(data, recipe.n_clusters)
        relations = recipe.relate(data, random_state, progress)
        stage = Stage(data, relations, Count(recipe.n_clusters or 0), random_state, progress, warm)
        fitted = recipe.solve(replace(stage, count=recipe.count(stage)))
    objective = fitted.attributes.get("objective_")
    reached = "" if objective is None else f", objective {objective:.6g}"
    progress.finish(f"{fitted.n_iter} iterations{reached}")
    return for_all_objects(fitted, data, whole)


def check_n_clusters(n_clusters: int | None, n_objects: int) -> None:
    """Refuse more clusters than objects."""
    if n_clusters is not None and n_objects < n_clusters:
        raise ValueError(
            Message(
                Parameter("n_clusters", n_clusters),
                f" is larger than the number of objects, n_samples={n_objects}. Choose ",
                Parameter("n_clusters"),
                f" of at most {n_objects}.",
            )
        )


# --- models of pairs ------------------------------------------------------------------------------


def similarity_recipe(
    n_clusters: int | None,
    factorize: Factorize,
    smooth: Smooth | None = None,
    *,
    count: Callable[[Stage[Affinities]], Count] | None = None,
    weighted: bool = False,
    max_clusters: int | None = None,
) -> Recipe[Affinities]:
    """A recipe that factorizes a matrix of affinities.

    `n_clusters`: the number of clusters; None selects it.
    `factorize`: from affinities and a number of clusters to a solution.
    `smooth`: from the factor's rows to memberships; by default the rows are the memberships.
    `count`: another rule for the number of clusters.
    `weighted`: whether objects may have weights.
    `max_clusters`: the largest number that is considered if none is given.
    """
    return Recipe(
        n_clusters,
        relate=partial(relate_pairs, n_clusters=n_clusters),
        count=count or partial(given_or_chosen, max_clusters=max_clusters),
        solve=partial(_solve, factorize=factorize, smooth=smooth or leave_rows),
        weighted=weighted,
    )


def relate_pairs(
    data: Data,
    random_state: np.random.RandomState,
    progress: Progress,
    *,
    n_clusters: int | None = None,
) -> Affinities:
    """The affinities of all objects, with constraints on pairs."""
    progress.phase("affinities")
    found = data.objects.affinities(n_clusters, data.weights)
    weight = data.constraints.checked_pair_weight(data.objects.n_objects, found.A.dtype)
    return replace(found, side=data.side, pair_weight=weight)


def given_or_chosen(stage: Stage[Affinities], *, max_clusters: int | None = None) -> Count:
    """The given number of clusters, or one selected from the graph that known pairs allow."""
    if stage.n_clusters:
        return stage.count
    stage.progress.phase("number of clusters")
    affinity = _affinity_of_choice(stage)
    # Imported where a number is chosen: most fits are given one.
    from soffit.selection import choose_k_of_graph
    from soffit.selection.density import Density

    density = stage.data.density or Density.of(affinity, stage.relations.table)
    choose = partial(choose_k_of_graph, affinity.matrix_, density=density)
    choice = choose(max_clusters=max_clusters)
    side = stage.relations.side
    least = 1 if side is None else min(side.n_clusters(), max_clusters or side.n_objects)
    if least > 1:
        # More than the largest number considered, if the pairs need them.
        considered = choice if least <= choice.ks[-1] else choose(range(1, least + 1))
        choice = considered.at_least(least)
    return Count(choice.n_clusters, {"k_choice_": choice})


def _affinity_of_choice(stage: Stage[Affinities]) -> Affinity:
    """The model's affinity; or a neighbour graph, where a kernel of distances hides the density."""
    affinity = stage.relations.affinity
    metric = getattr(affinity, "metric", None)
    if metric is None or isinstance(affinity, NeighborGraph) or sp.issparse(affinity.matrix_):
        return affinity
    return NeighborGraph(metric=metric).fit(stage.relations.table)


def leave_rows(stage: Stage[Affinities], solution: Solution, rows: FloatArray) -> Smoothed:
    """The rows of the factor are the memberships."""
    return Smoothed(rows, Unchanged())


def _solve(stage: Stage[Affinities], *, factorize: Factorize, smooth: Smooth) -> Fitted:
    stage.progress.phase("factorization")
    solution = factorize(stage)
    found = stage.progress.note_stop(solution.found)

    def finish() -> tuple[Any, Smoothed]:
        stage.progress.phase("memberships")
        rows = FAMILIES[solution.problem.family].rows
        placed = rows.of(solution.problem, found)
        return placed, smooth(stage, solution, rows.fitted(solution.problem, found))

    placed, smoothed = stage.progress.insist(finish)
    if smoothed.stopped is not None:
        found = replace(found, stopped=smoothed.stopped)
    given = stage.relations
    attributes = {
        **stage.data.columns,
        **stage.count.attributes,
        **search_attributes(found),
        "object_names_": stage.data.names,
        **affinity_attributes(given),
        "scale_": found.scale,
        "side_information_": given.side,
        **solution.attributes,
        **smoothed.attributes,
        **membership_attributes(smoothed.memberships),
    }
    placer = SimilarityPlacer(
        given.affinity,
        rule_only(solution.normalized),
        placed,
        smoothed.smoothing,
        solution.part,
        masses=given.masses,
    )
    return Fitted(attributes, given.preparation, placer, found.stopped, found.n_iter)


# --- attributes -----------------------------------------------------------------------------------


def affinity_attributes(given: Affinities) -> dict[str, Any]:
    """Public attributes that describe the affinities."""
    attributes: dict[str, Any] = {"affinity_matrix_": given.A}
    recall = getattr(given.affinity, "recall_", None)
    if recall is not None:
        attributes["neighbor_recall_"] = float(recall)
    return attributes


def search_attributes(found: Factorization) -> dict[str, Any]:
    """Public attributes that every factorization has."""
    return {
        "n_clusters_": found.factor.shape[1],
        "factor_": found.factor,
        "objective_": found.objective,
        "objective_history_": found.history,
        "n_iter_": found.n_iter,
        "stop_reason_": found.stopped,
        "converged_": found.stopped == "converged",
    }


def membership_attributes(memberships: Any) -> Mapping[str, Any]:
    """Public attributes that follow from the memberships."""
    memberships = on_simplex(memberships)
    return {
        "memberships_": memberships,
        "labels_": largest(memberships)[0],
        "entropy_": entropy(memberships),
    }
