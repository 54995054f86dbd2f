"""Columns in one unit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit.affinity import given_objects as _standardize
from soffit.affinity.given_objects import Standardizer


@pytest.fixture
def table():
    rng = np.random.default_rng(4099)
    return rng.normal(5.0, [1.0, 2.0, 3.0], size=(100, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_are_summed_piece_by_piece(table, dtype, monkeypatch):
    monkeypatch.setattr(_standardize, "_ROWS", 7)
    table = table.astype(dtype)
    found = Standardizer.of(table, True)
    np.testing.assert_allclose(found.center, table.mean(axis=0, dtype=float), rtol=1e-13)
    np.testing.assert_allclose(found.spread, table.std(axis=0, dtype=float), rtol=1e-13)
    applied = found.apply(table)
    assert applied.dtype == dtype
    np.testing.assert_allclose(applied.std(axis=0), 1.0, rtol=1e-5)


def test_auto_acts_on_uneven_columns_only(table):
    assert Standardizer.of(table, "auto").center is None
    uneven = table * [1.0, 1.0, 100.0]
    assert Standardizer.of(uneven, "auto").center is not None
    # Constant columns neither count nor divide by zero.
    constant = np.column_stack([uneven, np.full((len(table), 3), 2.0)])
    found = Standardizer.of(constant, "auto")
    assert found.spread is not None
    assert np.array_equal(found.apply(constant)[:, 3:], np.zeros((len(table), 3)))


def test_nothing_is_done_without_need(table):
    assert Standardizer.of(table, False).apply(table) is table
    assert Standardizer.of(sp.csr_array(table), True).center is None
