from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.memberships import carried_over, combine, entropy, pair_agreement, soften
from soffit.memberships.measures import power_to_agree


def random_members(seed, n=20, k=3, r=4, concentration=0.4):
    rng = np.random.default_rng(seed)
    base = rng.dirichlet(np.full(k, concentration), size=n)
    members = [
        0.7 * base + 0.3 * rng.dirichlet(np.full(k, concentration), size=n) for _ in range(r)
    ]
    return base, members


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(1, 5), st.sampled_from([0.3, 1.0, 5.0]))
def test_parts_add_up_and_rows_sum_to_one(seed, k, concentration):
    base, members = random_members(seed, k=k, concentration=concentration)
    result = combine(base, members)
    np.testing.assert_allclose(result.memberships.sum(axis=1), 1.0)
    assert result.memberships.min() >= 0
    assert result.overlap.min() >= 0
    assert result.instability.min() >= -1e-12
    np.testing.assert_allclose(result.overlap + result.instability, entropy(result.memberships))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31))
def test_mean_top_membership_never_exceeds_the_agreement(seed):
    base, members = random_members(seed, n=60, concentration=0.1)
    result = combine(base, members)
    top = result.memberships.max(axis=1).mean()
    assert top <= max(result.agreement, 1 / 3) + 2e-3
    assert (result.power < 1) == (top == pytest.approx(result.agreement, abs=2e-3))


def test_average_by_hand():
    base = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.2, 0.8]])
    first = np.array([[0.7, 0.3], [0.6, 0.4], [0.3, 0.7], [0.4, 0.6]])
    # The second one has its clusters the other way round.
    second = np.array([[0.4, 0.6], [0.2, 0.8], [0.7, 0.3], [0.7, 0.3]])
    result = combine(base, [first, second], share=0.4)
    expected = 0.4 * base + 0.3 * first + 0.3 * second[:, ::-1]
    assert result.power == 1.0
    assert result.agreement == 1.0
    np.testing.assert_allclose(result.memberships, expected)
    np.testing.assert_allclose(
        result.overlap,
        0.4 * entropy(base) + 0.3 * entropy(first) + 0.3 * entropy(second),
    )


def test_instability_is_where_resamples_differ_and_overlap_where_clusters_touch():
    base = np.array([[1.0, 0.0]] * 5 + [[0.0, 1.0]] * 5 + [[0.5, 0.5]])
    flipped = base.copy()
    flipped[4] = [0.0, 1.0]
    result = combine(base, [base, flipped, base, flipped])
    assert result.instability.argmax() == 4
    assert result.overlap.argmax() == 10
    # Cluster 0 lost one of its objects in half of the resamples (ties go to the first cluster).
    np.testing.assert_allclose(result.cluster_stability, [(1 + 5 / 6) / 2, (1 + 5 / 6) / 2])


def test_agreement_by_hand():
    labels = np.array([[0, 0, 1, 1], [0, 1, 1, 1], [0, 0, 0, 0]])
    assert pair_agreement(labels) == pytest.approx((3 / 4 + 2 / 4 + 1 / 4) / 3)


def test_precision_is_kept_and_inputs_are_left_alone():
    base, members = random_members(907)
    base, members = base.astype(np.float32), [m.astype(np.float32) for m in members]
    before = base.copy(), [m.copy() for m in members]
    result = combine(base, members)
    assert result.memberships.dtype == result.overlap.dtype == np.float32
    assert np.array_equal(base, before[0])
    assert all(np.array_equal(a, b) for a, b in zip(members, before[1], strict=True))


@pytest.mark.parametrize("count", [0, 1])
def test_one_resample_is_too_few(count):
    base, members = random_members(3)
    with pytest.raises(ValueError, match="at least two memberships, got"):
        combine(base, members[:count])


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_corrections_are_carried_over(storage):
    block = np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    correction = np.array([[-0.4, 0.4], [0.0, 0.0], [0.9, -0.9]])
    memberships = np.array([[0.8, 0.2], [0.6, 0.4], [0.3, 0.7]])
    result = carried_over(memberships, storage(block), correction)
    np.testing.assert_allclose(result[0], [0.7, 0.3])
    np.testing.assert_allclose(result[1], [0.6, 0.4])
    # Nothing falls below zero.
    np.testing.assert_allclose(result[2], [1.0, 0.0])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31))
def test_power_leaves_no_more_sureness_than_agreement(seed):
    rng = np.random.default_rng(seed)
    memberships = rng.dirichlet([0.2, 0.2, 0.2], size=50)
    labels = np.where(rng.random(50) < 0.3, 0, memberships.argmax(axis=1))
    power = power_to_agree(memberships, labels)
    softened = soften(memberships, power)
    agreement = np.mean(memberships.argmax(axis=1) == labels)
    assert 0 < power <= 1
    assert np.array_equal(softened.argmax(axis=1), memberships.argmax(axis=1))
    assert softened.max(axis=1).mean() <= agreement + 1e-2


def test_modest_memberships_keep_their_power():
    memberships = np.array([[0.6, 0.4], [0.3, 0.7], [0.8, 0.2]])
    assert power_to_agree(memberships, np.array([0, 1, 0])) == 1.0


def test_a_resample_of_small_weight_counts_less() -> None:
    sure = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    moved = sure[[0, 2, 2, 2]]
    full = combine(sure, [sure, moved])
    less = combine(sure, [sure, moved], weights=[1.0, 0.5])
    none = combine(sure, [sure, moved], weights=[0.0, 0.0])
    assert full.memberships[1, 0] < less.memberships[1, 0] < none.memberships[1, 0]
    np.testing.assert_array_equal(none.memberships, sure)
    # The agreement that is reported is that of the resamples themselves.
    assert full.agreement == less.agreement == none.agreement
    np.testing.assert_allclose(less.memberships.sum(axis=1), 1.0)


def test_the_mean_confidence_does_not_exceed_the_agreement() -> None:
    rng = np.random.default_rng(5)
    single = rng.dirichlet([0.2, 0.2, 0.2], size=200)
    parts = [rng.permutation(single) for _ in range(4)]
    found = combine(single, parts)
    assert found.memberships.max(axis=1).mean() <= found.agreement + 2e-3
