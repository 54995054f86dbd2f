from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.memberships.measures import largest, on_simplex, top_clusters

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_on_the_simplex_keep_their_bytes(dtype):
    rows = np.random.default_rng(9311).dirichlet(np.ones(5), size=40).astype(dtype)
    assert on_simplex(rows) is rows
    mixed = np.vstack([rows, np.full((1, 5), NAN, dtype=dtype)])
    assert on_simplex(mixed)[:-1].tobytes() == rows.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([-1e-5, 1.0], [0.0, 1.0]),
        ([2.0, 6.0], [0.25, 0.75]),
        ([NAN, 3.0], [0.0, 1.0]),
        ([NAN, NAN], [0.5, 0.5]),
        ([0.0, 0.0], [0.5, 0.5]),
        ([-1.0, 0.0], [0.5, 0.5]),
        ([INF, 1.0], [1.0, 0.0]),
        ([-INF, 1.0], [0.0, 1.0]),
        ([INF, INF], [0.5, 0.5]),
        ([1e-38, 3e-38], [0.25, 0.75]),
    ],
)
def test_any_row_comes_back_on_the_simplex(row, expected, dtype):
    given = np.array([[0.5, 0.5], row], dtype=dtype)
    before = given.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = on_simplex(given)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, [[0.5, 0.5], expected], atol=1e-6)
    np.testing.assert_array_equal(given, before)


def test_sparse_rows_lose_their_traces():
    rows = np.array([[0.5, 0.5, 1e-9], [0.0, 2.0, -1.0], [0.0, 0.0, 0.0], [np.nan, 1.0, 1e-5]])
    found = on_simplex(sp.csr_array(rows))
    assert found.has_canonical_format
    assert np.diff(found.indptr).tolist() == [2, 1, 3, 1]
    np.testing.assert_allclose(found.toarray()[:3], [[0.5, 0.5, 0], [0, 1, 0], [1 / 3] * 3])


def test_largest_and_top_of_sparse_rows():
    rows = np.array([[0.4, 0.4, 0.2], [0.0, 0.0, 1.0], [0.1, 0.45, 0.45]])
    labels, certainty = largest(sp.csr_array(rows))
    assert labels.tolist() == rows.argmax(axis=1).tolist() == [0, 2, 1]
    assert np.array_equal(certainty, rows.max(axis=1))
    for most in (1, 2):
        for one, other in zip(
            top_clusters(sp.csr_array(rows), most), top_clusters(rows, most), strict=True
        ):
            assert np.array_equal(one, other)
