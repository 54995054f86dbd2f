"""The families of factorizations: solvers by name, and how a new object is placed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from soffit._typing import FloatArray, Matrix
from soffit.factorize.divergence.em import solve_em
from soffit.factorize.divergence.placement import ColumnRows
from soffit.factorize.nonnegative.placement import NonnegativeRows
from soffit.factorize.nonnegative.sweeps import (
    solve_coordinate,
    solve_multiplicative,
    solve_parallel,
)
from soffit.factorize.problem import Factorization, Problem
from soffit.factorize.simplex.gradient import solve_gradient
from soffit.factorize.simplex.growth import solve_growth
from soffit.factorize.simplex.penalty import solve_penalty
from soffit.factorize.simplex.placement import FittedRows
from soffit.factorize.simplex.rows import solve_rows

Solver = Callable[..., Factorization]


@dataclass(frozen=True)
class Family:
    """The solvers and the placement rule of one loss with one constraint."""

    solvers: Mapping[str, Solver]
    rows: type[FittedRows] | type[NonnegativeRows] | type[ColumnRows]


FAMILIES: dict[tuple[str, str], Family] = {
    ("l2", "simplex"): Family(
        {
            "rows": solve_rows,
            "gradient": solve_gradient,
            "penalty": solve_penalty,
            "growth": solve_growth,
        },
        FittedRows,
    ),
    ("l2", "nonnegative"): Family(
        {
            "multiplicative": solve_multiplicative,
            "parallel": solve_parallel,
            "coordinate": solve_coordinate,
        },
        NonnegativeRows,
    ),
    ("kl", "columns"): Family({"em": solve_em}, ColumnRows),
}
SOLVERS: dict[str, Solver] = {
    name: solver for family in FAMILIES.values() for name, solver in family.solvers.items()
}


class Extension(Protocol):
    """Gives new objects their rows; it keeps the factor, not the memberships of fitted objects.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_rows
    >>> blocks = np.kron(np.eye(2), np.ones((3, 3)))
    >>> problem = Problem(blocks, 2)
    >>> found = solve_rows(problem, np.kron(np.eye(2), np.ones((3, 1))))
    >>> from soffit.memberships import extension
    >>> extension(problem, found).profiles().shape
    (6, 2)
    """

    def profiles(self) -> Matrix:
        """How similar the fitted objects are to each cluster, one column per cluster."""
        ...

    def place(self, block: Matrix, degrees: FloatArray) -> Matrix:
        """Rows on the simplex from normalized affinities and raw degrees of new objects."""
        ...


def extension(problem: Problem, found: Factorization) -> Extension:
    """The extension of the problem's family.

    Parameters
    ----------
    problem : Problem
        What was fitted.
    found : Factorization
        Its solution.

    Returns
    -------
    Extension
        Places new objects by their affinities to the fitted ones.

    Examples
    --------
    >>> import numpy as np
    >>> from soffit.factorize import Problem, solve_rows
    >>> from soffit.memberships import extension
    >>> A = np.kron(np.eye(2), np.ones((3, 3)))
    >>> problem = Problem(A, 2)
    >>> found = solve_rows(problem, np.kron(np.eye(2), np.ones((3, 1))))
    >>> extension(problem, found).place(A[:1], A[:1].sum(axis=1)).round(2)
    array([[1., 0.]])
    """
    return FAMILIES[problem.family].rows.of(problem, found)
