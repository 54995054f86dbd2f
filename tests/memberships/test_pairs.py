from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.affinity import SideInformation
from soffit.memberships import pair_log_likelihood, with_pairs


def naive(P, Q, must, cannot, weight):
    q = 0.01 / P.shape[1] + 0.99 * Q
    result = P.copy()
    for i in range(len(P)):
        row = P[i].copy()
        for pairs, factor in ((must, lambda j: q[j]), (cannot, lambda j: 1 - q[j])):
            for a, b in pairs:
                if i in (a, b):
                    row = row * factor(b if i == a else a) ** weight
        result[i] = row / row.sum()
    return result


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from([1.0, 0.35]))
def test_bayes_rule_pair_by_pair(seed, weight):
    rng = np.random.default_rng(seed)
    P, Q = rng.dirichlet(np.ones(3), size=7), rng.dirichlet(np.ones(3), size=7)
    pairs = np.unique(np.sort(rng.integers(7, size=(6, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    sign = rng.random(len(pairs)) < 0.5
    must, cannot = pairs[sign], pairs[~sign]
    side = SideInformation.of(must, cannot, 7)
    expected = naive(P, Q, must.tolist(), cannot.tolist(), weight)
    np.testing.assert_allclose(with_pairs(P, Q, side, weight=weight), expected, atol=1e-10)


def test_untouched_rows_and_inputs_stay_and_precision_is_kept():
    P = np.array([[0.25, 0.75], [0.5, 0.5], [0.9, 0.1]], dtype=np.float32)
    before = P.copy()
    result = with_pairs(P, P, SideInformation.of(None, [(0, 1)], 3))
    assert result.dtype == np.float32
    assert np.array_equal(result[2], P[2])
    assert np.array_equal(P, before)
    assert result[1, 0] > 0.7


def test_one_cluster_is_certain_whatever_pairs_say():
    P = np.ones((3, 1))
    assert np.array_equal(with_pairs(P, P, SideInformation.of(None, [(0, 1)], 3)), P)


def test_rows_that_were_certain_stay_finite():
    P = np.array([[1.0, 0.0], [0.0, 1.0]])
    result = with_pairs(P, P, SideInformation.of([(0, 1)], None, 2))
    assert np.isfinite(result).all()
    np.testing.assert_allclose(result.sum(axis=1), 1.0)
    assert result[0, 0] == pytest.approx(1.0, abs=1e-6)


def test_likelihood_of_pairs_pair_by_pair():
    P = np.random.default_rng(11).dirichlet(np.ones(3), size=8)
    must, cannot = [(0, 1), (2, 5)], [(1, 7), (3, 4), (0, 6)]
    found = pair_log_likelihood(P, SideInformation.of(must, cannot, 8))
    together = [P[a] @ P[b] for a, b in sorted(must)]
    apart = [1 - P[a] @ P[b] for a, b in sorted(cannot)]
    expected = np.log(0.01 + 0.99 * np.array(together + apart))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_no_pair_is_impossible():
    P = np.eye(2, dtype=np.float32)
    found = pair_log_likelihood(P, SideInformation.of([(0, 1)], None, 2))
    np.testing.assert_allclose(found, np.log(0.01), rtol=1e-6)
