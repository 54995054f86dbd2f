"""The families of factorizations: one registry that everything else agrees with."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.factorize import SOLVERS, Problem
from soffit.factorize.problem import FAMILIES as PAIRS
from soffit.factorize.problem import SUPPORT
from soffit.factorize.solvers import FAMILIES, extension


def test_the_registry_names_the_pairs_that_a_problem_may_have():
    assert tuple(FAMILIES) == PAIRS


def test_every_solver_has_one_family_which_is_the_one_it_supports():
    assert set(SOLVERS) == set(SUPPORT)
    for pair, family in FAMILIES.items():
        for name in family.solvers:
            assert SUPPORT[name].family == pair


@pytest.mark.parametrize("pair", PAIRS)
def test_every_family_places_new_objects(pair):
    A = np.kron(np.eye(2), np.ones((4, 4)))
    np.fill_diagonal(A, 0.0)
    loss, constraint = pair
    is_columns = constraint == "columns"
    problem = Problem(
        A,
        2,
        loss=loss,
        constraint=constraint,
        scale="cluster" if is_columns else "none",
        diagonal=is_columns,
    )
    name = next(iter(FAMILIES[pair].solvers))
    start = np.repeat([[0.9, 0.1], [0.1, 0.9]], 4, axis=0)
    placed = extension(problem, SOLVERS[name](problem, start)).place(A[[0, 7]], A[[0, 7]].sum(1))
    assert placed.argmax(axis=1).tolist() == [0, 1]
    np.testing.assert_allclose(placed.sum(axis=1), 1.0)
