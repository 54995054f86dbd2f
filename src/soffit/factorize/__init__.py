"""From a symmetric matrix to a factor with rows on the simplex: problem, solvers, result."""

from __future__ import annotations

from soffit.factorize._corrected import Correction
from soffit.factorize._gradient import solve_gradient
from soffit.factorize._growth import solve_growth
from soffit.factorize._partition import best_partition, n_fine_vectors
from soffit.factorize._penalty import solve_penalty
from soffit.factorize._problem import Factorization, Problem
from soffit.factorize._registry import SOLVERS
from soffit.factorize._rows import solve_rows
from soffit.factorize._spectral import leading_eigenvectors
from soffit.factorize._starts import diffused_start, labels_start, random_start, spectral_start

__all__ = [
    "SOLVERS",
    "Correction",
    "Factorization",
    "Problem",
    "best_partition",
    "diffused_start",
    "labels_start",
    "leading_eigenvectors",
    "n_fine_vectors",
    "random_start",
    "solve_gradient",
    "solve_growth",
    "solve_penalty",
    "solve_rows",
    "spectral_start",
]
