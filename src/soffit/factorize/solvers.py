"""The families of factorizations: solvers by name, and how a new object is placed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from soffit.factorize.divergence.em import solve_em
from soffit.factorize.divergence.placement import ColumnRows
from soffit.factorize.nonnegative.parallel import solve_parallel
from soffit.factorize.nonnegative.placement import NonnegativeRows
from soffit.factorize.nonnegative.sweeps import solve_coordinate, solve_multiplicative
from soffit.factorize.problem import Factorization
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
