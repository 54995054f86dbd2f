"""The parts of a model: affinities, number of clusters, problem, memberships."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from soffit._typing import FloatArray, IntArray
from soffit.affinity import SideInformation
from soffit.affinity.given_objects import Objects
from soffit.factorize import Factorization, Problem
from soffit.factorize.problem import Stop
from soffit.fitting.data import Constraints, PartialLabels
from soffit.fitting.fitted import Fitted, Part, Smoothing
from soffit.fitting.monitor import Plan, Progress
from soffit.normalize import Normalized

if TYPE_CHECKING:
    from soffit.selection.density import Density

Relations = TypeVar("Relations")


@dataclass(frozen=True, eq=False)
class Data:
    """The arguments of `fit`, read and checked.

    Parameters
    ----------
    objects : Objects
        The objects, with the affinity to compute from them.
    constraints : Constraints
        Pairs and pair weights, as passed.
    labels : PartialLabels, optional
        Labels of some of the objects.
    columns : mapping
        `n_features_in_` and, if the columns have names, `feature_names_in_`.
    side : SideInformation, optional
        The checked pairs.
    weights : array of shape (n,), optional
        Weights of the objects, 1 on average; None if all are equal.
    copies : int array, optional
        The number of each given object among these, if equal ones were joined.
    density : Density, optional
        The density at the objects, if it is known better than from their affinity.
    """

    objects: Objects
    constraints: Constraints = field(default_factory=Constraints)
    labels: PartialLabels | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    side: SideInformation | None = None
    weights: FloatArray | None = None
    copies: IntArray | None = None
    density: Density | None = None

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the objects, if the input has any."""
        return self.objects.names


@dataclass(frozen=True)
class Count:
    """The number of clusters, and how it was found.

    Parameters
    ----------
    n_clusters : int
        The number.
    attributes : mapping
        Public attributes that document the selection, such as `k_choice_`.
    levels : tuple of int
        For a hierarchy, the numbers of clusters of all levels from the bottom to the top.
    """

    n_clusters: int
    attributes: Mapping[str, Any] = field(default_factory=dict)
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

    def warm_factor(self, n: int) -> FloatArray | None:
        """The last fit's factor, if `warm_start` is set and the shape matches."""
        return None if self.warm is None else self.warm.warm_factor(n, self.n_clusters)


@dataclass(frozen=True, eq=False)
class Recipe(Generic[Relations]):
    """A model without data: a chain of plain functions.

    Parameters
    ----------
    n_clusters : int or None
        The number of clusters, if it is given.
    relate : callable
        From data to affinities of pairs or tuples.
    count : callable
        From a stage to the number of clusters.
    solve : callable
        From a stage with a number of clusters to the fitted value.
    weighted : bool
        Whether objects may have weights. Equal objects are then fitted as one.
    effort : int
        How many times as long the first steps take for an object as in models of pairs.
    plan : tuple of (str, float)
        The phases and their typical shares of the time, from which the time left is estimated.
    """

    n_clusters: int | None
    relate: Callable[[Data, np.random.RandomState, Progress], Relations]
    count: Callable[[Stage[Relations]], Count]
    solve: Callable[[Stage[Relations]], Fitted]
    weighted: bool = False
    effort: int = 1
    plan: Plan = (("affinities", 0.3), ("factorization", 0.6), ("memberships", 0.1))


@dataclass(frozen=True, eq=False)
class Solution:
    """The result of a factorization step.

    Parameters
    ----------
    problem : Problem
        The problem that was solved.
    normalized : Normalized
        Its matrix, and the rule for rows of new objects.
    found : Factorization
        What the solver found.
    attributes : mapping
        Public attributes of this model; they override common ones of the same name.
    part : Part
        The part of the affinities that was normalized.
    """

    problem: Problem
    normalized: Normalized
    found: Factorization
    attributes: Mapping[str, Any] = field(default_factory=dict)
    part: Part = field(default_factory=Part)


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Memberships of the fitted objects, and the rule for new ones.

    Parameters
    ----------
    memberships : array of shape (n, k)
        Rows on the simplex.
    smoothing : Smoothing
        The same for new objects.
    attributes : mapping
        Public attributes of this step.
    stopped : str, optional
        Why the fit ended, if this step was stopped early.
    """

    memberships: FloatArray
    smoothing: Smoothing
    attributes: Mapping[str, Any] = field(default_factory=dict)
    stopped: Stop | None = None
