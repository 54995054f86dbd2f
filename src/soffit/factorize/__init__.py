"""From a symmetric matrix to a factor with rows on the simplex: problem, solvers, result."""

from __future__ import annotations

from soffit.factorize._coordinate import solve_coordinate
from soffit.factorize._corrected import Correction
from soffit.factorize._cut import normalized_cut, relaxed_bound
from soffit.factorize._em import solve_em
from soffit.factorize._gradient import solve_gradient, solve_gradients
from soffit.factorize._graph_partition import GraphPartition, graph_partition
from soffit.factorize._growth import solve_growth
from soffit.factorize._local import solve_locally
from soffit.factorize._multiplicative import solve_multiplicative
from soffit.factorize._parallel import solve_parallel
from soffit.factorize._partition import best_partition, n_fine_vectors
from soffit.factorize._penalty import solve_penalty
from soffit.factorize._problem import Factorization, Problem
from soffit.factorize._registry import SOLVERS
from soffit.factorize._rows import solve_rows
from soffit.factorize._spectral import leading_eigenvectors
from soffit.factorize._starts import diffused_start, labels_start, random_start, spectral_start
from soffit.factorize._tuples import solve_tuples

__all__ = [
    "SOLVERS",
    "Correction",
    "Factorization",
    "GraphPartition",
    "Problem",
    "best_partition",
    "diffused_start",
    "graph_partition",
    "labels_start",
    "leading_eigenvectors",
    "n_fine_vectors",
    "normalized_cut",
    "random_start",
    "relaxed_bound",
    "solve_coordinate",
    "solve_em",
    "solve_gradient",
    "solve_gradients",
    "solve_growth",
    "solve_locally",
    "solve_multiplicative",
    "solve_parallel",
    "solve_penalty",
    "solve_rows",
    "solve_tuples",
    "spectral_start",
]
