"""Tables of pixels are recognised by their names and by alike neighbours."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from soffit.results.summary import Summary


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def grid_of(X, columns=None):
    return Summary.of(np.ones((len(X), 1)), X, columns=columns).pixels


def test_digits_with_and_without_names(digits):
    for columns in (digits.feature_names, None, [f"pixel{i}" for i in range(1, 65)]):
        grid = grid_of(digits.data, columns)
        assert grid.columns.shape == (8, 8)
        np.testing.assert_allclose(grid.picture(digits.data[3]), digits.images[3] / 16.0)


def test_shuffled_names_give_the_same_picture(digits):
    order = np.random.default_rng(9).permutation(64)
    names = [digits.feature_names[j] for j in order]
    grid = grid_of(digits.data[:, order], names)
    np.testing.assert_allclose(grid.picture(digits.data[3][order]), digits.images[3] / 16.0)


def test_numbers_that_are_not_a_picture():
    noise = np.random.default_rng(4).normal(size=(200, 64))
    assert grid_of(noise) is None
    assert grid_of(noise[:, :63]) is None
    assert grid_of(noise, [f"gene {i}" for i in range(64)]) is None
    assert Summary.of(np.eye(3)).pixels is None
