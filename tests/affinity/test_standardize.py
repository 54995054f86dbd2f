"""Columns in one unit."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from soffit._threads import thread_limit
from soffit.affinity import Settings, Standardizer
from soffit.affinity.given_objects import read_objects


@pytest.fixture
def table():
    rng = np.random.default_rng(4099)
    return rng.normal(5.0, [1.0, 2.0, 3.0], size=(100, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_are_summed_piece_by_piece(table, dtype, limits):
    limits(moment_rows=7)
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


def test_two_columns_in_metres_and_kilograms_are_standardized():
    rng = np.random.default_rng(7)
    body = np.column_stack([rng.normal(1.7, 0.1, 40), rng.normal(70.0, 12.0, 40)])
    assert Standardizer.of(body, "auto").is_active
    # The same in centimetres: both columns already weigh the same.
    assert not Standardizer.of(body * [100.0, 1.0], "auto").is_active


def test_a_column_that_outweighs_all_others_together_is_standardized():
    # As in USArrests: no column is ten times the usual one, but distances are those of one alone.
    steps = np.random.default_rng(7).permuted(np.linspace(-1, 1, 200).reshape(50, 4), axis=0)
    rates = 200.0 + steps * [4.0, 80.0, 14.0, 9.0]
    assert Standardizer.of(rates, "auto").is_active
    # Not where the others together still count, or around a common origin.
    assert not Standardizer.of(200.0 + steps * [4.0, 40.0, 14.0, 9.0], "auto").is_active
    assert not Standardizer.of(rates - 200.0, "auto").is_active
    # Coordinates of the plane may be as uneven.
    assert not Standardizer.of(rates[:, [1, 2]], "auto").is_active


def test_two_columns_of_three_in_a_large_unit_are_standardized():
    rng = np.random.default_rng(11)
    assert Standardizer.of(rng.normal(3.0, [900.0, 1000.0, 1.0], (50, 3)), "auto").is_active


def test_nearly_constant_columns_do_not_decide():
    rng = np.random.default_rng(13)
    image = rng.uniform(0.0, 255.0, (200, 4))
    border = np.zeros((200, 12))
    border[:5] = 3.0
    assert not Standardizer.of(np.hstack([image, border]), "auto").is_active


def test_outliers_neither_decide_nor_flatten_a_column():
    rng = np.random.default_rng(17)
    table = rng.normal(5.0, 1.0, (200, 2))
    table[3, 0] = 1e6
    assert not Standardizer.of(table, "auto").is_active
    applied = Standardizer.of(table, True).apply(table)
    assert np.delete(applied, 3, axis=0).std(axis=0).min() > 0.2


def test_columns_around_a_common_origin_may_differ_more(table):
    components = (table - table.mean(axis=0)) * [30.0, 1.0, 1.0]
    assert not Standardizer.of(components, "auto").is_active
    assert not Standardizer.of(components[:20], "auto").is_active
    assert Standardizer.of(components + 50.0, "auto").is_active
    assert Standardizer.of(components * [10.0, 1.0, 1.0], "auto").is_active


def test_a_part_of_the_objects_follows_the_decision_for_all(table):
    # Metres and kilograms, in which the first ten objects happen to be alike.
    table = table * [1.0, 1.0, 100.0]
    table[:10, 2] = np.linspace(300.0, 305.0, 10)
    objects = read_objects(table, affinity="nearest_neighbors", settings=Settings())
    part = objects.inside(np.arange(10))
    assert part.standardize is objects.preparation.is_active is True
    assert not Standardizer.of(part.table, "auto").is_active


@pytest.mark.parametrize(
    ("affinity", "metric", "is_active"),
    [
        ("nearest_neighbors", "euclidean", True),
        ("rbf", "manhattan", True),
        ("nearest_neighbors", "cosine", False),
        ("nearest_neighbors", "canberra", False),
        ("cosine", "euclidean", False),
        (lambda X, Y: X @ Y.T, "euclidean", False),
    ],
)
def test_units_matter_to_distances_made_of_differences(table, affinity, metric, is_active):
    uneven = table * [1.0, 1.0, 100.0]
    settings = Settings(metric=metric)
    assert read_objects(uneven, affinity=affinity, settings=settings).preparation.is_active == (
        is_active
    )
    forced = Settings(metric=metric, standardize=True)
    assert read_objects(uneven, affinity=affinity, settings=forced).preparation.is_active


def test_the_threads_change_nothing(table):
    uneven = table * [1.0, 1.0, 100.0]
    with thread_limit(1):
        one = Standardizer.of(uneven, "auto")
    with thread_limit(3):
        three = Standardizer.of(uneven, "auto")
    np.testing.assert_array_equal(one.spread, three.spread)
