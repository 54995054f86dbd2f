"""The solvers by name."""

from __future__ import annotations

from collections.abc import Callable

from soffit.factorize._gradient import solve_gradient
from soffit.factorize._growth import solve_growth
from soffit.factorize._penalty import solve_penalty
from soffit.factorize._problem import Factorization
from soffit.factorize._rows import solve_rows

SOLVERS: dict[str, Callable[..., Factorization]] = {
    "rows": solve_rows,
    "gradient": solve_gradient,
    "penalty": solve_penalty,
    "growth": solve_growth,
}
