from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as peers

from soffit.memberships import align
from soffit.metrics import brier, log_loss, posterior_distance

TRUE = ["a", "a", "b"]
MEMBERSHIPS = [[0.2, 0.8], [0.4, 0.6], [0.9, 0.1]]


def draw(seed: int, n_objects: int, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, n_clusters, size=n_objects),
        rng.dirichlet(np.full(n_clusters, 0.5), size=n_objects),
    )


def test_by_hand():
    assert brier(TRUE, MEMBERSHIPS) == pytest.approx((0.08 + 0.32 + 0.02) / 3)
    assert log_loss(TRUE, MEMBERSHIPS) == pytest.approx(-np.log([0.8, 0.6, 0.9]).mean())
    posterior = [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    assert posterior_distance(posterior, MEMBERSHIPS) == pytest.approx((0.2 + 0.1 + 0.1) / 3)


def test_ends_of_the_range():
    certain = np.eye(3)[[0, 1, 2, 2]]
    assert brier([0, 1, 2, 2], certain) == 0.0
    assert log_loss([0, 1, 2, 2], certain) == 0.0
    assert posterior_distance(certain, certain[:, [2, 0, 1]]) == 0.0
    uniform = np.full((6, 3), 1 / 3)
    assert brier([0, 0, 1, 1, 2, 2], uniform) == pytest.approx(2 / 3)
    assert log_loss([0, 0, 1, 1, 2, 2], uniform) == pytest.approx(np.log(3))
    assert posterior_distance(np.eye(3), uniform[:3]) == pytest.approx(2 / 3)


def test_agrees_with_scikit_learn_after_matching():
    labels, memberships = draw(601, 80, 4)
    memberships = 0.02 + 0.92 * memberships
    aligned = align(labels, memberships)
    assert log_loss(labels, memberships) == pytest.approx(peers.log_loss(labels, aligned))
    assert brier(labels, memberships) == pytest.approx(
        ((aligned - np.eye(4)[labels]) ** 2).sum(axis=1).mean()
    )


def test_floor():
    wrong = [[1.0, 0.0]] * 9 + [[0.0, 1.0]] * 9 + [[1.0, 0.0]]
    true = [0] * 9 + [1] * 10
    assert log_loss(true, wrong) == pytest.approx(-np.log(1e-3) / 19)
    assert log_loss(true, wrong, floor=0.1) == pytest.approx(-np.log(0.1) / 19)
    for floor in (0.0, 1.0, -0.5, float("nan")):
        with pytest.raises(ValueError, match="floor"):
            log_loss(true, wrong, floor=floor)


def test_more_clusters_than_classes():
    memberships = [[0.6, 0.4, 0.0], [0.7, 0.0, 0.3], [0.0, 0.2, 0.8]]
    # Clusters 0 and 2 stand for the classes; cluster 1 is compared with zeros.
    assert brier([0, 0, 1], memberships) == pytest.approx((0.32 + 0.18 + 0.08) / 3)
    assert log_loss([0, 0, 1], memberships) == pytest.approx(-np.log([0.6, 0.7, 0.8]).mean())


def test_fewer_clusters_than_classes():
    memberships = [[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.5, 0.5]]
    assert brier([0, 0, 1, 2], memberships) == pytest.approx((0.02 + 0.08 + 0.08 + 1.5) / 4)
    assert log_loss([0, 0, 1, 2], memberships) == pytest.approx(
        -np.log([0.9, 0.8, 0.8, 1e-3]).mean()
    )


def test_posterior_with_another_number_of_clusters():
    posterior = [[0.5, 0.5], [0.0, 1.0]]
    memberships = [[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]]
    # Best matching: 1 -> 0, 0 -> 2 and an empty cluster -> 1.
    assert posterior_distance(posterior, memberships) == pytest.approx(0.3 / 2)
    assert posterior_distance(memberships, posterior) == pytest.approx(0.3 / 2)


def test_one_cluster_and_one_object():
    assert brier([0, 0, 1], np.ones((3, 1))) == pytest.approx(2 / 3)
    assert brier(["z"], [[0.25, 0.75]]) == pytest.approx(0.125)
    assert log_loss(["z"], [[1.0]]) == 0.0
    assert posterior_distance([[1.0]], [[1.0]]) == 0.0
    assert posterior_distance([[1.0]], [[0.5, 0.5]]) == pytest.approx(0.5)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_objects=st.integers(1, 20),
    n_clusters=st.integers(1, 4),
    data=st.data(),
)
def test_smallest_over_all_matchings(seed, n_objects, n_clusters, data):
    labels, memberships = draw(seed, n_objects, n_clusters)
    shuffle = data.draw(st.permutations(range(n_clusters)))
    posterior = draw(seed + 1, n_objects, n_clusters)[1]
    truth = np.eye(n_clusters)[labels]
    orders = [list(order) for order in permutations(range(n_clusters))]
    least = min(((memberships[:, order] - truth) ** 2).sum(axis=1).mean() for order in orders)
    nearest = min(
        0.5 * np.abs(memberships[:, order] - posterior).sum(axis=1).mean() for order in orders
    )
    assert brier(labels, memberships[:, shuffle]) == pytest.approx(least, abs=1e-12)
    distance = posterior_distance(posterior, memberships[:, shuffle])
    assert distance == pytest.approx(nearest, abs=1e-12)
    assert distance <= 1
    assert log_loss(labels, memberships[:, shuffle]) == pytest.approx(
        log_loss([f"name {9 - label}" for label in labels], memberships), abs=1e-9
    )


def test_single_precision_agrees():
    labels, memberships = draw(929, 50, 3)
    single = memberships.astype(np.float32)
    assert brier(labels, single) == pytest.approx(brier(labels, memberships), abs=1e-6)
    assert posterior_distance(memberships, single) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize("score", [brier, log_loss])
@pytest.mark.parametrize(
    ("labels", "memberships", "message"),
    [
        ([0, 1], [[np.nan, 1.0], [0.0, 1.0]], "memberships contains NaN"),
        ([0, 1], [[0.5, 0.6], [0.0, 1.0]], r"row 0 sums to 1\.1"),
        ([0, 1], [[1.0, 0.0]], "2 objects but memberships describes 1"),
        ([0.0, np.nan], np.eye(2), "y_true contains NaN"),
        ([0, 1], [0.5, 0.5], "shape"),
        ([[0], [1]], np.eye(2), "y_true must be a vector"),
    ],
)
def test_bad_input_is_named(score, labels, memberships, message):
    with pytest.raises(ValueError, match=message):
        score(labels, memberships)


def test_bad_posterior_is_named():
    with pytest.raises(ValueError, match="posterior contains NaN"):
        posterior_distance([[np.nan]], [[1.0]])
    with pytest.raises(ValueError, match="each row of posterior"):
        posterior_distance([[0.2, 0.2]], [[1.0]])
    with pytest.raises(ValueError, match="2 objects but memberships describes 1"):
        posterior_distance(np.eye(2), [[1.0]])
