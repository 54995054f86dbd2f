from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from soffit.normalize import additive, additive_observed


def symmetric(n, seed, density=1.0, low=0.0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(low, 1.0, (n, n)) * (rng.random((n, n)) < density))
    return upper + np.triu(upper, 1).T


def naive(A, weight):
    """The definition, pair by pair; NaN at unknown pairs."""
    n = len(A)
    weight = weight * (1 - np.eye(n))
    mu = np.array(
        [np.average(A[i], weights=weight[i]) if weight[i].any() else np.nan for i in range(n)]
    )
    mean = np.nanmean(mu)
    mu[np.isnan(mu)] = mean
    F = np.where(weight > 0, A - mu[:, None] - mu + mean, np.nan)
    return F - min(np.nanmin(F), 0.0)


@given(
    seed=st.integers(0, 2**31),
    n=st.integers(3, 12),
    density=st.sampled_from([0.3, 0.7, 1.0]),
    low=st.sampled_from([-1.0, 0.0]),
)
def test_is_the_definition_on_the_observed_pairs(seed, n, density, low):
    A, weight = symmetric(n, seed, low=low), symmetric(n, seed + 1, density)
    known = (weight > 0) & ~np.eye(n, dtype=bool)
    if not known.any():
        return
    F = additive_observed(A, weight).matrix
    assert np.array_equal(F.toarray(), F.toarray().T)
    assert F.nnz == known.sum()
    expected = naive(A, weight)
    if np.ptp(expected[known]) > 1e-9:
        np.testing.assert_allclose(F.toarray()[known], expected[known], atol=1e-12)


def test_smallest_observed_entry_is_zero_and_stored():
    A, weight = symmetric(30, 5), symmetric(30, 7, 0.3)
    result = additive_observed(A, weight)
    assert result.matrix.data.min() == 0.0
    assert result.beta > 0


def test_all_pairs_observed_is_nearly_the_full_normalization():
    A = symmetric(200, 11)
    np.fill_diagonal(A, A.mean())
    full, observed = additive(A), additive_observed(A, np.ones((200, 200)))
    off = ~np.eye(200, dtype=bool)
    np.testing.assert_allclose(observed.matrix.toarray()[off], full.matrix[off], atol=0.02)
    assert observed.beta == pytest.approx(full.beta, rel=0.02)


def test_row_sums_are_estimated_from_a_sample():
    A = symmetric(400, 13)
    sample = (symmetric(400, 17, 0.25) > 0).astype(float)
    observed = additive_observed(A, sample).matrix
    estimate = 400 * np.asarray(observed.sum(axis=1)) / sample.sum(axis=1)
    assert np.std(estimate) < 0.02 * np.mean(estimate)


def test_values_of_unknown_pairs_do_not_matter():
    A, weight = symmetric(20, 19), symmetric(20, 23, 0.4)
    np.fill_diagonal(weight, 0.0)
    changed = np.where(weight > 0, A, 1e6)
    first, second = additive_observed(A, weight), additive_observed(changed, weight)
    np.testing.assert_array_equal(first.matrix.toarray(), second.matrix.toarray())


def test_storages_agree():
    A, weight = symmetric(20, 29, 0.5), symmetric(20, 31, 0.4)
    expected = additive_observed(A, weight)
    for B in (A, sp.csr_array(A)):
        for stored_weight in (weight, sp.csr_array(weight), sp.coo_array(weight)):
            result = additive_observed(B, stored_weight)
            np.testing.assert_array_equal(result.matrix.toarray(), expected.matrix.toarray())
            assert result.beta == expected.beta


def test_permuting_the_objects_permutes_the_result():
    A, weight = symmetric(20, 37), symmetric(20, 41, 0.4)
    order = np.random.default_rng(43).permutation(20)
    straight = additive_observed(A, weight).matrix.toarray()
    turned = additive_observed(A[np.ix_(order, order)], weight[np.ix_(order, order)]).matrix
    np.testing.assert_allclose(turned.toarray(), straight[np.ix_(order, order)], atol=1e-12)


def test_single_precision_is_kept():
    A, weight = symmetric(20, 47), symmetric(20, 53, 0.4)
    narrow = additive_observed(A.astype(np.float32), weight.astype(np.float32))
    assert narrow.matrix.dtype == np.float32
    wide = additive_observed(A, weight).matrix
    np.testing.assert_allclose(narrow.matrix.toarray(), wide.toarray(), atol=1e-5)


def test_equal_affinities_become_zero():
    result = additive_observed(np.full((7, 7), 0.1), np.ones((7, 7)))
    assert result.beta == 0
    assert not result.matrix.toarray().any()


def test_nothing_observed():
    result = additive_observed(symmetric(5, 59), sp.csr_array((5, 5)))
    assert result.matrix.nnz == 0
    assert result.beta == 0


def test_new_objects_are_normalized_like_fitted_ones():
    A = symmetric(60, 61)
    sample = (symmetric(60, 67, 0.5) > 0).astype(float)
    result = additive_observed(A, sample)
    block = result.cross(A[:5])
    known = result.matrix.toarray()[:5] > 0
    assert block.min() >= 0.0
    assert np.corrcoef(block[known], result.matrix.toarray()[:5][known])[0, 1] > 0.99


def test_inputs_are_left_alone():
    A, weight = sp.csr_array(symmetric(9, 71, 0.5)), sp.csr_array(symmetric(9, 73, 0.5))
    before = A.toarray(), weight.toarray()
    additive_observed(A, weight)
    np.testing.assert_array_equal(A.toarray(), before[0])
    np.testing.assert_array_equal(weight.toarray(), before[1])
