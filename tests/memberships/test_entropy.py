from __future__ import annotations

import numpy as np
import pytest

from soffit.memberships import entropy


def test_hand_calculation():
    values = entropy([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.25, 0.25, 0.5]])
    np.testing.assert_allclose(values, [0.0, np.log(2), 1.5 * np.log(2)], atol=1e-15)


def test_uniform_rows_reach_the_maximum():
    np.testing.assert_allclose(entropy(np.full((3, 7), 1 / 7)), np.log(7))


@pytest.mark.parametrize(
    ("given", "expected"), [(np.float32, np.float32), (np.float64, np.float64), (int, np.float64)]
)
def test_precision_is_kept(given, expected):
    assert entropy(np.eye(4, dtype=given)).dtype == expected


def test_one_cluster_has_no_uncertainty():
    assert entropy(np.ones((5, 1))).tolist() == [0.0] * 5
    assert entropy([[1 + 1e-9]]).tolist() == [0.0]


def test_input_is_not_changed():
    memberships = np.random.default_rng(713).dirichlet(np.ones(3), size=6)
    kept = memberships.copy()
    entropy(memberships)
    np.testing.assert_array_equal(memberships, kept)


@pytest.mark.parametrize(
    ("memberships", "message"),
    [
        ([0.5, 0.5], "shape"),
        (np.ones((2, 2, 2)), "shape"),
        ([[np.nan, 1.0]], "NaN"),
        ([[np.inf, 0.0]], "infinity"),
        ([[1.1, -0.1]], "negative"),
        (np.ones((0, 3)), "empty"),
    ],
)
def test_bad_values_are_named(memberships, message):
    with pytest.raises(ValueError, match=message):
        entropy(memberships)


def test_not_numbers():
    with pytest.raises(TypeError, match="numbers"):
        entropy([["a", "b"]])
    with pytest.raises(TypeError, match="complex"):
        entropy([[1j, 1.0]])
