from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from tests.reference.problems import block_diagonal, random_rows
from tests.reference.relations import planted_graph, relation_problem

from soffit.factorize import solve_em
from soffit.factorize.divergence.placement import ColumnRows


def _fitted(dtype=np.float64, isolated=2):
    A, _ = planted_graph([30, 40], 5)
    A = block_diagonal([A, sp.csr_array((isolated, isolated))])
    problem = relation_problem(A.astype(dtype), 3)
    found = solve_em(problem, random_rows(70 + isolated, 3, 7), tol=1e-10, max_iter=5000)
    return problem, found, ColumnRows.of(problem, found)


def test_fitted_memberships_are_bipartite_weights_over_degrees():
    problem, found, _ = _fitted()
    fitted = ColumnRows.fitted(problem, found)
    degrees = problem.matrix.sum(axis=1)
    B = found.factor * found.scale
    np.testing.assert_allclose(fitted[:70], B[:70] / degrees[:70, None], atol=1e-12)
    prior = found.scale / found.scale.sum()
    np.testing.assert_allclose(fitted[70:], [prior, prior])


def test_fitted_objects_come_out_as_they_were_fitted():
    problem, found, rows = _fitted()
    again = rows.place(problem.matrix, problem.matrix.sum(axis=1))
    np.testing.assert_allclose(again, ColumnRows.fitted(problem, found), atol=2e-2)


@pytest.mark.parametrize("storage", [sp.csr_array, np.asarray])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_new_objects_from_either_storage(storage, dtype):
    _, found, rows = _fitted(dtype)
    block = np.random.default_rng(11).random((5, 72)).astype(dtype)
    block[2] = 0.0
    block[3] = 0.0
    block[3, 71] = 1.0  # tied to an isolated object only
    placed = rows.place(storage(block), block.sum(axis=1))
    assert placed.dtype == dtype
    np.testing.assert_allclose(placed.sum(axis=1), 1.0, atol=1e-6)
    prior = found.scale / found.scale.sum()
    np.testing.assert_allclose(placed[2:4], [prior, prior], atol=1e-6)
    # No other row of the simplex has a higher likelihood.
    H = found.factor.astype(float)
    value = (block[0] * np.log((placed[0] @ H.T)[None] + 1e-300)).sum()
    for other in random_rows(200, 3, 13):
        assert (block[0] * np.log(other @ H.T + 1e-300)).sum() <= value + 1e-4 * block[0].sum()


def test_a_graph_of_self_ties_only_says_nothing():
    problem = relation_problem(np.eye(4), 2)
    found = solve_em(problem, random_rows(4, 2, 17))
    rows = ColumnRows.of(problem, found)
    np.testing.assert_allclose(ColumnRows.fitted(problem, found), 0.5)
    np.testing.assert_allclose(rows.place(np.zeros((1, 4)), np.zeros(1)), 0.5)
