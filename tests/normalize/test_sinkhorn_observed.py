from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from soffit.normalize import sinkhorn, sinkhorn_observed


def symmetric(n, seed, density=1.0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((n, n)) * (rng.random((n, n)) < density))
    return upper + np.triu(upper, 1).T + np.eye(n)


def test_all_pairs_observed_is_the_full_scaling():
    A = symmetric(40, 5)
    full, observed = sinkhorn(A), sinkhorn_observed(A, np.ones((40, 40)))
    np.testing.assert_allclose(observed.factors, full.factors, rtol=1e-7)
    off = ~np.eye(40, dtype=bool)
    np.testing.assert_allclose(observed.matrix.toarray()[off], full.matrix[off], rtol=1e-7)


def test_factors_are_estimated_from_a_sample():
    size = np.random.default_rng(7).uniform(0.5, 2.0, 400)
    A = symmetric(400, 11) * np.outer(size, size)
    sample = (symmetric(400, 13, 0.25) > 0).astype(float)
    full, observed = sinkhorn(A), sinkhorn_observed(A, sample)
    assert np.median(np.abs(observed.factors / full.factors - 1)) < 0.1
    assert np.corrcoef(observed.factors, full.factors)[0, 1] > 0.98


def test_result_is_symmetric_on_the_observed_pairs_only():
    A, weight = symmetric(30, 17), symmetric(30, 19, 0.3)
    F = sinkhorn_observed(A, weight).matrix
    assert isinstance(F, sp.csr_array)
    np.testing.assert_array_equal(F.toarray(), F.toarray().T)
    np.testing.assert_array_equal(F.toarray() > 0, (weight > 0) & ~np.eye(30, dtype=bool))


def test_values_of_unknown_pairs_and_storage_do_not_matter():
    A, weight = symmetric(20, 23), symmetric(20, 29, 0.4)
    known = (weight > 0) | np.eye(20, dtype=bool)
    expected = sinkhorn_observed(A, weight).matrix.toarray()
    changed = sinkhorn_observed(np.where(known, A, 1e3), weight).matrix.toarray()
    np.testing.assert_array_equal(changed, expected)
    stored = sinkhorn_observed(sp.csr_array(A), sp.csr_array(weight)).matrix.toarray()
    np.testing.assert_array_equal(stored, expected)


def test_single_precision_is_kept():
    A, weight = symmetric(20, 31), symmetric(20, 37, 0.5)
    narrow = sinkhorn_observed(A.astype(np.float32), weight.astype(np.float32))
    assert narrow.matrix.dtype == narrow.factors.dtype == np.float32
    wide = sinkhorn_observed(A, weight).matrix
    np.testing.assert_allclose(narrow.matrix.toarray(), wide.toarray(), atol=1e-4)


def test_objects_without_observed_pairs_are_harmless():
    A, weight = symmetric(8, 41), np.ones((8, 8))
    weight[3] = weight[:, 3] = 0.0
    result = sinkhorn_observed(A, weight)
    assert np.isfinite(result.matrix.data).all()
    assert not result.matrix.toarray()[3].any()
