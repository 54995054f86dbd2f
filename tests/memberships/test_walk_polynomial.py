from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.graph import Graph, Locality
from soffit.memberships import Walk, random_walk
from soffit.memberships.calibration import polynomial_walk


@pytest.mark.parametrize("steps", [1, 2, 9, 60, 512])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_polynomial_walk_arrives_where_the_steps_do(steps, dtype):
    rng = np.random.default_rng(3907)
    A = sp.random_array((200, 200), density=0.03, random_state=rng).toarray()
    A[5], A[:, 5] = 0.0, 0.0
    A = sp.csr_array(A + A.T).astype(dtype)
    W = rng.dirichlet(np.ones(4), size=200).astype(dtype)
    expected = random_walk(A, W, steps)
    for order in (np.arange(200), rng.permutation(200)):
        walk = polynomial_walk(Graph.of(A), W, steps, Locality(order), block=33)
        assert walk.memberships.dtype == dtype
        np.testing.assert_allclose(walk.memberships, expected.memberships, atol=2e-5)
        np.testing.assert_allclose(walk.seen, expected.seen, atol=2e-5)
        np.testing.assert_allclose(walk.memberships.sum(axis=1), 1.0, atol=1e-5)
        assert walk.memberships.min() >= 0.0
        assert walk.seen.min() >= 0.0


def test_new_objects_stay_nonnegative_even_where_rounding_left_a_negative_number():
    seen = np.array([[0.5, -7e-22], [0.5, 0.0]])
    placed = Walk(np.empty((0, 2)), seen, 9).arrive(np.array([[1.0, 0.0]]), np.array([[1.0, 0.0]]))
    assert placed.min() >= 0.0


def test_columns_walk_alike_in_any_number_at_once(limits):
    rng = np.random.default_rng(11)
    A = sp.random_array((90, 90), density=0.1, random_state=rng)
    graph, W = Graph.of(sp.csr_array(A + A.T)), rng.dirichlet(np.ones(7), size=90)
    locality = Locality(rng.permutation(90))
    expected = polynomial_walk(graph, W, 12, locality)
    limits(walk_columns=3)
    found = polynomial_walk(graph, W, 12, locality)
    np.testing.assert_allclose(found.memberships, expected.memberships, rtol=0, atol=1e-15)
    assert np.array_equal(found.seen, expected.seen)
