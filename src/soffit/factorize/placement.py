"""Memberships of fitted and of new objects, by the kind of factorization."""

from __future__ import annotations

from typing import Protocol

from soffit._typing import FloatArray, Matrix
from soffit.factorize.problem import Factorization, Problem
from soffit.factorize.solvers import FAMILIES


class Extension(Protocol):
    """Gives new objects their rows; it keeps the factor, not the memberships of fitted objects."""

    def profiles(self) -> FloatArray:
        """How similar the fitted objects are to each cluster, one column per cluster."""
        ...

    def place(self, block: Matrix, degrees: FloatArray) -> FloatArray:
        """Rows on the simplex from normalized affinities and raw degrees of new objects."""
        ...


def extension(problem: Problem, found: Factorization) -> Extension:
    """The extension of the problem's family."""
    return FAMILIES[problem.family].rows.of(problem, found)


def fitted_rows(problem: Problem, found: Factorization) -> FloatArray:
    """The factor's rows on the simplex; isolated objects get the mean of the others."""
    return FAMILIES[problem.family].rows.fitted(problem, found)
