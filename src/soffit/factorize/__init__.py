"""From a symmetric matrix to a factor with rows on the simplex: problem, solvers, result."""

from __future__ import annotations

from soffit.factorize.divergence.em import solve_em
from soffit.factorize.nonnegative.sweeps import (
    solve_coordinate,
    solve_multiplicative,
    solve_parallel,
)
from soffit.factorize.problem import Factorization, Problem
from soffit.factorize.simplex.gradient import solve_gradient, solve_gradients
from soffit.factorize.simplex.growth import solve_growth
from soffit.factorize.simplex.penalty import solve_penalty
from soffit.factorize.simplex.rows import solve_locally, solve_rows
from soffit.factorize.solvers import SOLVERS
from soffit.factorize.starts import diffused_start, labels_start, random_start, spectral_start
from soffit.factorize.tuples.solve import solve_tuples
from soffit.partition.candidates import (
    GraphPartition,
    best_partition,
    graph_partition,
    n_fine_vectors,
)
from soffit.partition.cut import normalized_cut, relaxed_bound
from soffit.partition.eigenvectors import leading_eigenvectors
from soffit.partition.label_sweeps import Correction

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
