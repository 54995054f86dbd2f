"""Solve a large sparse problem in an order in which tied objects lie near one another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import scipy.sparse as sp

from soffit._products import Locality
from soffit._typing import FloatArray
from soffit.factorize._problem import Factorization, Problem


def solve_locally(
    solver: Callable[..., Factorization],
    problem: Problem,
    start: FloatArray,
    locality: Locality | None,
    **options: Any,
) -> Factorization:
    """What the solver finds; the objects' own order comes back. None leaves everything as it is."""
    if locality is None:
        return solver(problem, start, **options)
    assert isinstance(problem.matrix, sp.csr_array)
    local = replace(
        problem,
        matrix=locality.matrix(problem.matrix),
        degrees=None if problem.degrees is None else locality.rows(problem.degrees),
        side=None if problem.side is None else locality.matrix(problem.side),
    )
    start = locality.rows(start)
    found = solver(local, start, **options)
    return replace(found, factor=locality.back(found.factor))
