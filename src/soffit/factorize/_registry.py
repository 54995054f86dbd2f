"""The solvers by name."""

from __future__ import annotations

from collections.abc import Callable

from soffit.factorize._coordinate import solve_coordinate
from soffit.factorize._em import solve_em
from soffit.factorize._gradient import solve_gradient
from soffit.factorize._growth import solve_growth
from soffit.factorize._multiplicative import solve_multiplicative
from soffit.factorize._parallel import solve_parallel
from soffit.factorize._penalty import solve_penalty
from soffit.factorize._problem import Factorization
from soffit.factorize._rows import solve_rows

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
