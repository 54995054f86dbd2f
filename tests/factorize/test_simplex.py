from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from soffit.factorize.starts import make_rows_sum_to_one, project_rows

rows = arrays(
    np.float64,
    st.tuples(st.integers(1, 6), st.integers(1, 5)),
    elements=st.floats(-50, 50, allow_nan=False),
)


def projection_by_bisection(v):
    low, high = v.min() - 1.0, v.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(v - middle, 0).sum() > 1 else (low, middle)
    return np.maximum(v - high, 0.0)


@given(V=rows)
def test_projection_agrees_with_bisection(V):
    projected = project_rows(V)
    np.testing.assert_allclose(projected, [projection_by_bisection(v) for v in V], atol=1e-12)
    assert projected.min() >= 0.0
    np.testing.assert_allclose(projected.sum(axis=1), 1.0, atol=1e-15)


def test_points_of_the_simplex_stay():
    W = np.random.default_rng(331).dirichlet(np.ones(4), size=20)
    np.testing.assert_allclose(project_rows(W), W, atol=1e-15)
    np.testing.assert_array_equal(project_rows(np.eye(3)), np.eye(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_precision_is_kept_and_input_not_changed(dtype):
    V = np.random.default_rng(77).normal(size=(9, 4)).astype(dtype)
    kept = V.copy()
    assert project_rows(V).dtype == dtype
    assert make_rows_sum_to_one(np.abs(V)).dtype == dtype
    np.testing.assert_array_equal(V, kept)


def test_one_cluster_takes_all():
    assert project_rows(np.array([[-3.0], [0.2], [9.0]])).tolist() == [[1.0]] * 3


def test_zero_rows_become_uniform():
    W = make_rows_sum_to_one(np.array([[0.0, 0.0], [1.0, 3.0]]))
    assert W.tolist() == [[0.5, 0.5], [0.25, 0.75]]
