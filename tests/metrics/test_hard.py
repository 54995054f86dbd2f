from __future__ import annotations

import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from soffit.metrics import accuracy, adjusted_rand, nmi, purity, rand_index

SCORES = [accuracy, purity, rand_index, adjusted_rand, nmi]
label_pairs = st.integers(1, 30).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(0, 4), min_size=n, max_size=n),
        st.lists(st.integers(0, 6), min_size=n, max_size=n),
    )
)

TRUE = ["a", "a", "a", "b", "b", "c"]
PREDICTED = [1, 1, 0, 0, 0, 0]


def test_by_hand():
    # Table: a -> (0: 1, 1: 2), b -> (0: 2), c -> (0: 1); 15 pairs, 4 true, 7 predicted, 2 both.
    assert accuracy(TRUE, PREDICTED) == pytest.approx(4 / 6)
    assert purity(TRUE, PREDICTED) == pytest.approx(4 / 6)
    assert rand_index(TRUE, PREDICTED) == pytest.approx(8 / 15)
    expected = Fraction(4 * 7, 15)
    assert adjusted_rand(TRUE, PREDICTED) == pytest.approx(
        float((2 - expected) / (Fraction(11, 2) - expected)), abs=1e-15
    )
    entropy_true = -(3 * np.log(3 / 6) + 2 * np.log(2 / 6) + np.log(1 / 6)) / 6
    entropy_of_true_within_clusters = 4 / 6 * (1.5 * np.log(2))
    assert nmi(TRUE, PREDICTED) == pytest.approx(
        (entropy_true - entropy_of_true_within_clusters) / entropy_true
    )


def together(labels):
    """Which pairs of objects have the same label."""
    pairs = combinations(range(len(labels)), 2)
    return np.array([labels[i] == labels[j] for i, j in pairs], dtype=bool)


def entropy(labels):
    shares = np.array(list(Counter(labels).values())) / len(labels)
    return float(-(shares * np.log(shares)).sum())


@settings(max_examples=60, deadline=None)
@given(label_pairs)
def test_pair_scores_follow_from_all_pairs(labels):
    first, second = map(together, labels)
    if first.size == 0:
        assert rand_index(*labels) == adjusted_rand(*labels) == 1.0
        return
    assert rand_index(*labels) == pytest.approx(np.mean(first == second), abs=1e-12)
    a, b = int(first.sum()), int(second.sum())
    chance = Fraction(a * b, first.size)
    spread = Fraction(a + b, 2) - chance
    exact = (int((first & second).sum()) - chance) / spread if spread else 1
    assert adjusted_rand(*labels) == pytest.approx(float(exact), abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(label_pairs)
def test_nmi_follows_from_three_entropies(labels):
    first, second = labels
    h_first, h_second = entropy(first), entropy(second)
    shared = h_first + h_second - entropy(list(zip(first, second, strict=True)))
    means = {
        "max": max(h_first, h_second),
        "min": min(h_first, h_second),
        "arithmetic": (h_first + h_second) / 2,
        "geometric": np.sqrt(h_first * h_second),
    }
    for average, mean in means.items():
        expected = shared / mean if mean > 0 else float(h_first == h_second)
        assert nmi(first, second, average=average) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40, deadline=None)
@given(label_pairs, st.permutations(range(7)))
def test_names_and_order_of_objects_do_not_matter(labels, names):
    first, second = labels
    renamed = [f"cluster {names[label]}" for label in second]
    for score in SCORES:
        value = score(first, second)
        assert score(first, renamed) == pytest.approx(value, abs=1e-12)
        assert score(first[::-1], second[::-1]) == pytest.approx(value, abs=1e-12)
        assert -0.5 <= value <= 1
        assert score(second, second) == pytest.approx(1.0)


@settings(max_examples=30, deadline=None)
@given(label_pairs)
def test_symmetric_scores(labels):
    for score in (accuracy, rand_index, adjusted_rand, nmi):
        assert score(*labels) == pytest.approx(score(*labels[::-1]), abs=1e-12)
    assert purity(*labels) >= accuracy(*labels)


def test_one_cluster_against_several():
    true, one = [0, 0, 1, 1], [5, 5, 5, 5]
    assert accuracy(true, one) == 0.5
    assert purity(true, one) == 0.5
    assert rand_index(true, one) == pytest.approx(2 / 6)
    assert adjusted_rand(true, one) == 0.0
    for average in ("max", "min", "arithmetic", "geometric"):
        assert nmi(true, one, average=average) == 0.0


def test_one_cluster_each_and_one_object():
    for score in SCORES:
        assert score([1, 1, 1], ["x", "x", "x"]) == 1.0
        assert score([3], ["x"]) == 1.0


def test_singletons():
    assert purity([0, 0, 1, 1], range(4)) == 1.0
    assert accuracy([0, 0, 1, 1], range(4)) == 0.5
    assert adjusted_rand(range(4), list("abcd")) == 1.0
    assert adjusted_rand([0, 0, 1, 1], range(4)) == 0.0


def test_nmi_maximum_is_the_strictest():
    values = {average: nmi(TRUE, PREDICTED, average=average) for average in ("max", "min")}
    assert values["max"] == nmi(TRUE, PREDICTED)
    assert values["max"] < nmi(TRUE, PREDICTED, average="arithmetic") < values["min"]


def test_pair_counts_do_not_overflow():
    # a b exceeds 10^22 here, far beyond int64.
    n_objects = 1_000_000
    first = np.arange(n_objects, dtype=np.int8) % 2
    second = first.copy()
    second[0] = 1
    pairs = n_objects * (n_objects - 1) // 2
    half = n_objects // 2
    together = half * (half - 1)
    predicted = ((half - 1) * (half - 2) + (half + 1) * half) // 2
    both = ((half - 1) * (half - 2) + half * (half - 1)) // 2
    by_chance = Fraction(together * predicted, pairs)
    exact = (both - by_chance) / (Fraction(together + predicted, 2) - by_chance)
    assert adjusted_rand(first, second) == float(exact)
    assert 0 < adjusted_rand(first, second) < 1


def test_many_clusters_stay_sparse():
    labels = np.random.default_rng(877).permutation(40_000)
    tracemalloc.start()
    assert adjusted_rand(labels, labels[::-1]) == 1.0
    assert purity(labels, labels[::-1]) == 1.0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40_000 * 8 * 40  # A dense table would need 40,000 times as many.


def test_series_with_another_index_is_read_by_position():
    pandas = pytest.importorskip("pandas")
    true = pandas.Series(["u", "u", "v"], index=[2, 1, 0])
    predicted = pandas.Series([True, True, False], index=[5, 6, 7])
    for score in SCORES:
        assert score(true, predicted) == pytest.approx(1.0)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([0, 1], [0], "2 objects but y_pred describes 1"),
        ([], [], "y_true is empty"),
        ([0.0, np.nan], [0, 1], "y_true contains NaN"),
        ([0, 1], ["a", None], "y_pred contains a missing value"),
        ([0, 1], [[0], [1]], "y_pred must be a vector"),
        (np.array(["2020-01-01", "NaT"], dtype="M8[D]"), [0, 1], "y_true contains NaN"),
    ],
)
def test_bad_labels_are_named(score, true, predicted, message):
    with pytest.raises(ValueError, match=message):
        score(true, predicted)


def test_unknown_average():
    with pytest.raises(ValueError, match="average must be one of"):
        nmi([0, 1], [0, 1], average="mean")
