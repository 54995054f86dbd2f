"""Which rows of a table are equal."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.affinity.distinct import copies_of_rows, first_rows, repeated_rows


@pytest.mark.parametrize("seed", [11, 13, 17, 19, 23])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_equal_rows_and_no_others(seed: int, dtype: type) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (rng.integers(30, 200), rng.integers(1, 7))).astype(dtype)
    copies = copies_of_rows(table)
    assert copies is not None
    first = first_rows(copies)
    np.testing.assert_array_equal(table[first][copies], table)
    assert len(first) == len(np.unique(table, axis=0))
    # Numbered in the order of the first rows.
    assert np.all(np.diff(first) > 0)
    np.testing.assert_array_equal(copies_of_rows(sp.csr_array(table)), copies)


def test_distinct_rows_have_no_copies() -> None:
    table = np.random.default_rng(7).normal(size=(500, 3))
    assert copies_of_rows(table) is None
    assert copies_of_rows(sp.csr_array(table)) is None
    assert copies_of_rows(table[:1]) is None
    # The last column alone tells them apart.
    table = np.column_stack([np.ones((100, 40)), np.arange(100.0)])
    assert copies_of_rows(table) is None


def test_zeros_are_equal_whatever_their_sign_and_storage() -> None:
    table = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    np.testing.assert_array_equal(copies_of_rows(table), [0, 0, 1])
    stored = sp.csr_array(([0.0, 1.0, 1.0, 1.0], ([0, 0, 1, 2], [0, 1, 1, 0])), shape=(3, 2))
    np.testing.assert_array_equal(copies_of_rows(stored), [0, 0, 1])


def test_repeated_rows_come_after_the_first_and_may_have_gaps() -> None:
    table = np.array([[0.0, 1.0], [2.0, np.nan], [-0.0, 1.0], [2.0, np.nan], [np.nan, 2.0]])
    assert repeated_rows(table).tolist() == [2, 3]
    assert repeated_rows(sp.csr_array(table)).tolist() == [2, 3]
    assert not len(repeated_rows(np.eye(3)))


def test_rows_without_columns_are_equal() -> None:
    np.testing.assert_array_equal(copies_of_rows(np.empty((3, 0))), [0, 0, 0])
