"""The solvers by name."""

from __future__ import annotations

from collections.abc import Callable

from soffit.factorize.divergence.em import solve_em
from soffit.factorize.nonnegative.parallel import solve_parallel
from soffit.factorize.nonnegative.sweeps import solve_coordinate, solve_multiplicative
from soffit.factorize.problem import Factorization
from soffit.factorize.simplex.gradient import solve_gradient
from soffit.factorize.simplex.growth import solve_growth
from soffit.factorize.simplex.penalty import solve_penalty
from soffit.factorize.simplex.rows import solve_rows

SOLVERS: dict[str, Callable[..., Factorization]] = {
    "rows": solve_rows,
    "gradient": solve_gradient,
    "penalty": solve_penalty,
    "growth": solve_growth,
    "multiplicative": solve_multiplicative,
    "parallel": solve_parallel,
    "coordinate": solve_coordinate,
    "em": solve_em,
}
