from __future__ import annotations

import tracemalloc
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from soffit.metrics import expected_ari, frobenius_ari


def draw(seed: int, n_objects: int, n_clusters: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(n_clusters, 0.6), size=n_objects)


def one_hot(labels) -> np.ndarray:
    return np.eye(max(labels) + 1)[labels]


def frobenius_rand(A: np.ndarray, B: np.ndarray) -> float:
    """The Rand index of the paper, from n x n matrices."""
    n = len(A)
    A_scaled = A.sum() / (A * A).sum() * A
    B_scaled = B.sum() / (B * B).sum() * B
    both = (A_scaled * B_scaled).sum() + ((1 - A_scaled) * (1 - B_scaled)).sum()
    return float((both - n) / (n * (n - 1)))


def brute_force(U: np.ndarray, V: np.ndarray) -> float:
    """Adjust by the mean over every permutation of the objects."""
    A, B = U @ U.T, V @ V.T
    chance = np.mean(
        [frobenius_rand(A, B[np.ix_(order, order)]) for order in permutations(range(len(A)))]
    )
    return float((frobenius_rand(A, B) - chance) / (1 - chance))


@pytest.mark.parametrize(("n_first", "n_second", "seed"), [(2, 2, 11), (3, 3, 17), (4, 2, 23)])
def test_equals_the_mean_over_all_permutations(n_first, n_second, seed):
    U, V = draw(seed, 6, n_first), draw(seed + 2, 6, n_second)
    assert frobenius_ari(U, V) == pytest.approx(brute_force(U, V), abs=1e-10)


def test_labels_against_memberships_by_brute_force():
    labels, V = [0, 0, 1, 1, 2, 2], draw(41, 6, 3)
    expected = brute_force(one_hot(labels), V)
    assert frobenius_ari(labels, V) == pytest.approx(expected, abs=1e-10)
    assert frobenius_ari(V, [f"name {5 - label}" for label in labels]) == pytest.approx(expected)


label_pairs = st.integers(2, 25).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 3), min_size=n, max_size=n),
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
    )
)


@settings(max_examples=60, deadline=None)
@given(label_pairs)
def test_hard_clusterings_give_the_adjusted_rand_index(labels):
    first, second = labels
    expected = adjusted_rand_score(first, second)
    assert frobenius_ari(first, second) == pytest.approx(expected, abs=1e-12)
    assert frobenius_ari(one_hot(first), one_hot(second)) == pytest.approx(expected, abs=1e-10)
    assert frobenius_ari(first, one_hot(second)) == pytest.approx(expected, abs=1e-10)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n_objects=st.integers(2, 20),
    n_first=st.integers(2, 4),
    n_second=st.integers(2, 4),
)
def test_invariants(seed, n_objects, n_first, n_second):
    rng = np.random.default_rng(seed)
    U, V = draw(seed, n_objects, n_first), draw(seed + 1, n_objects, n_second)
    value = frobenius_ari(U, V)
    assert value <= 1 + 1e-9
    assert frobenius_ari(V, U) == pytest.approx(value, abs=1e-8)
    order = rng.permutation(n_objects)
    assert frobenius_ari(U[order], V[order]) == pytest.approx(value, abs=1e-8)
    assert frobenius_ari(U[:, rng.permutation(n_first)], V) == pytest.approx(value, abs=1e-8)
    # An empty cluster changes nothing.
    assert frobenius_ari(np.pad(U, ((0, 0), (0, 1))), V) == pytest.approx(value, abs=1e-8)
    assert frobenius_ari(U, U) == pytest.approx(1.0)


def test_unrelated_memberships_score_nought_on_average():
    U, V = draw(67, 40, 3), draw(71, 40, 3)
    rng = np.random.default_rng(73)
    values = [frobenius_ari(U, V[rng.permutation(40)]) for _ in range(800)]
    assert abs(np.mean(values)) < 4 * np.std(values) / np.sqrt(800)


def test_constant_memberships():
    uniform, one = np.full((30, 3), 1 / 3), np.ones((30, 1))
    assert frobenius_ari(uniform, one) == 1.0
    assert frobenius_ari(np.tile([0.1, 0.2, 0.7], (30, 1)), uniform) == 1.0
    noise = 1e-17 * np.random.default_rng(127).normal(size=(30, 3))
    assert frobenius_ari(uniform + noise, uniform) == 1.0
    assert frobenius_ari(uniform, draw(79, 30, 3)) == pytest.approx(0.0, abs=1e-12)
    assert frobenius_ari([0, 1, 2] * 10, one) == pytest.approx(0.0, abs=1e-12)


def test_singletons_and_one_object():
    assert frobenius_ari(np.eye(5), np.eye(5)[::-1]) == 1.0
    assert frobenius_ari([[0.3, 0.7]], [[1.0]]) == 1.0


def test_small_departures_from_uniform_are_resolved():
    pattern = np.repeat([[1.0, -1.0], [-1.0, 1.0]], 500, axis=0)
    slight = 0.5 + 1e-6 * pattern
    unlike = 0.5 + 1e-6 * pattern[np.random.default_rng(83).permutation(1000)]
    assert frobenius_ari(slight, slight) == pytest.approx(1.0)
    assert abs(frobenius_ari(slight, unlike)) < 0.1


def test_no_square_matrix_is_formed():
    U, V = draw(89, 20_000, 3), draw(97, 20_000, 4)
    tracemalloc.start()
    frobenius_ari(U, V)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * U.nbytes


def test_too_many_labels_for_a_dense_table_are_refused(monkeypatch):
    monkeypatch.setattr("soffit._memory.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="frobenius_ari"):
        frobenius_ari(np.arange(50), np.ones((50, 1)))


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([[np.nan, 1.0]], [[1.0]], "first contains NaN"),
        ([[0.5, 0.5]], [[2.0]], "each row of second"),
        (np.eye(2), [0, 1, 1], "2 objects but second describes 3"),
        (np.eye(2), [0.0, np.nan], "second contains NaN"),
        (3.0, np.eye(2), "first must have shape"),
    ],
)
def test_bad_input_is_named(first, second, message):
    with pytest.raises(ValueError, match=message):
        frobenius_ari(first, second)


def test_expected_index_of_hard_memberships_is_the_index():
    first, second = [0, 0, 1, 1, 2, 2, 2], [0, 1, 1, 1, 2, 2, 0]
    expected = adjusted_rand_score(first, second)
    assert expected_ari(one_hot(second), first, n_draws=3) == pytest.approx(expected)
    assert expected_ari(one_hot(second), one_hot(first), n_draws=3) == pytest.approx(expected)


def test_expected_index_by_hand():
    # The third object joins either pair: adjusted Rand 1 or, for {1, 2, 3}, 0 against {1, 2}{3}.
    value = expected_ari([[1, 0], [1, 0], [0.25, 0.75]], [0, 0, 1], n_draws=1500, random_state=101)
    assert value == pytest.approx(0.75, abs=0.05)


def test_expected_index_is_repeatable():
    U, V = draw(103, 30, 3), draw(107, 30, 4)
    first = expected_ari(U, V, n_draws=5, random_state=109)
    assert first == expected_ari(U, V, n_draws=5, random_state=109)
    assert first != expected_ari(U, V, n_draws=5, random_state=113)


def test_expected_index_bad_input():
    with pytest.raises(ValueError, match="n_draws"):
        expected_ari(np.eye(2), [0, 1], n_draws=0)
    with pytest.raises(ValueError, match="2 objects but other describes 1"):
        expected_ari(np.eye(2), [0])
    with pytest.raises(ValueError, match="2 objects but other describes 1"):
        expected_ari(np.eye(2), [[1.0]])
