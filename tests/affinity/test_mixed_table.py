"""Scales of mixed tables: what changes distances, and what must not."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.affinity.mixed_table import MixedPreparation
from soffit.mixed_columns import Column, MixedTable
from soffit.neighbors.distances import distances
from soffit.neighbors.mixed.mixed_distance import MixedDistance


def prepared_distances(X, columns):
    preparation = MixedPreparation.of(X, columns)
    return distances(preparation.apply(X), metric=preparation.distance)


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    n = 300
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.lognormal(size=n),
            rng.integers(0, 4, n),
            rng.integers(0, 2, n),
            rng.integers(2007, 2010, n),
        ]
    )
    X[rng.random(X.shape) < 0.05] = np.nan
    columns = (
        Column("a"),
        Column("b"),
        Column("city", ("p", "q", "r", "s")),
        Column("yes"),
        Column("year"),
    )
    return X, columns


def test_units_do_not_matter(table):
    X, columns = table
    other = X * np.array([1000.0, 1e-6, 1.0, 1.0, 1.0]) + np.array([273.15, 0.0, 0.0, 0.0, 0.0])
    assert np.allclose(prepared_distances(X, columns), prepared_distances(other, columns))


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e160, 1e300])
def test_no_unit_overflows_or_vanishes(table, unit):
    X, columns = table
    other = X * np.array([unit, 1.0, 1.0, unit, unit])
    assert np.allclose(prepared_distances(X, columns), prepared_distances(other, columns))


def test_the_largest_numbers_of_both_signs_are_compared():
    most = np.finfo(np.float64).max
    X = np.linspace(-1.0, 1.0, 30)[:, None]
    found = prepared_distances(X * most, (Column("a"),))
    assert np.allclose(found, prepared_distances(X, (Column("a"),)), rtol=0.1)


@pytest.mark.parametrize("far", [1e150, 1e200, 1.79e308])
def test_far_new_rows_have_neighbors(table, far):
    X, columns = table
    preparation = MixedPreparation.of(X, columns)
    new = preparation.apply(np.array([[far, 1.0, 2.0, 0.0, 2008.0]]))
    indices, found = preparation.distance.nearest(new, preparation.apply(X), 5, None)
    assert np.isfinite(found).all()
    assert ((indices >= 0) & (indices < len(X))).all()


def test_distances_beyond_all_numbers_have_no_neighbor():
    distance = MixedDistance(np.ones(1), np.zeros(1), np.zeros(1, dtype=np.int64))
    indices, _ = distance.nearest(np.array([[1e200]]), np.zeros((4, 1)), 2, None)
    assert indices.tolist() == [[-1, -1]]


def test_the_order_and_names_of_categories_do_not_matter(table):
    X, columns = table
    renamed = X.copy()
    renamed[:, 2] = 3 - X[:, 2]
    assert np.array_equal(prepared_distances(X, columns), prepared_distances(renamed, columns))


def test_a_yes_no_column_counts_the_same_in_every_code(table):
    X, columns = table
    as_numbers = X.copy()
    as_numbers[:, 3] = np.where(X[:, 3] == 1, -5.0, np.where(np.isnan(X[:, 3]), np.nan, 20.0))
    as_text = (*columns[:3], Column("yes", ("no", "yes")), columns[4])
    expected = prepared_distances(X, columns)
    assert np.allclose(prepared_distances(as_numbers, columns), expected)
    assert np.allclose(prepared_distances(X, as_text), expected)


def test_permuting_objects_permutes_distances(table):
    X, columns = table
    order = np.random.default_rng(0).permutation(len(X))
    D = prepared_distances(X, columns)
    assert np.allclose(prepared_distances(X[order], columns), D[np.ix_(order, order)])


def test_constant_and_empty_columns_change_nothing(table):
    X, columns = table
    more = np.column_stack([X, np.full(len(X), 7.0), np.full(len(X), np.nan)])
    wider = (*columns, Column("constant"), Column("empty"))
    # Gaps in a column without information are no gaps.
    assert (MixedPreparation.of(more, wider).apply(more)[:, 5:] == 0).all()
    assert np.array_equal(prepared_distances(X, columns), prepared_distances(more, wider))


@pytest.mark.parametrize("spread", [1.0, 1e-9, 1e9])
def test_every_number_column_counts_alike_between_random_objects(spread):
    rng = np.random.default_rng(5)
    X = np.column_stack([rng.normal(size=800), spread * rng.uniform(size=800)])
    preparation = MixedPreparation.of(X, (Column("a"), Column("b")))
    squares = 2 * preparation.apply(X).var(axis=0)
    assert np.allclose(squares, 1.0, atol=0.12)


def test_an_outlier_does_not_flatten_its_column():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 2))
    X[0, 0] = 1e9
    preparation = MixedPreparation.of(X, (Column("a"), Column("b")))
    spread = preparation.apply(X)[1:].std(axis=0)
    assert 0.3 < spread[0] / spread[1] < 1.5


def test_a_text_column_weighs_no_more_than_a_number_column():
    rng = np.random.default_rng(7)
    n = 500
    rare = (rng.random(n) < 0.01).astype(float)
    X = np.column_stack([rng.normal(size=(n, 3)), rng.integers(0, 8, n), rare])
    columns = (*map(Column, "abc"), Column("t", tuple("stuvwxyz")), Column("rare", ("no", "yes")))
    preparation = MixedPreparation.of(X, columns)
    prepared, distance = preparation.apply(X), preparation.distance
    assert 0.02 <= preparation.share < 0.3
    # Random objects: a text column adds at most what a number column adds.
    text = [distance.mismatch[j] * (X[:, None, j] != X[None, :, j]).mean() for j in (3, 4)]
    assert max(text) <= (2 * prepared[:, :3].var(axis=0)).min()
    # Neighbours: about as much.
    near = np.argsort(distances(prepared, metric=distance), axis=1)[:, 15]
    number = np.median(((prepared[:, :3] - prepared[near, :3]) ** 2).mean(axis=1))
    assert np.isclose(number, preparation.share, rtol=0.2)
    assert distance.mismatch.max() <= 2 * preparation.share * (1 + 1e-9)


def test_tables_without_numbers_keep_the_full_weight():
    rng = np.random.default_rng(9)
    X = rng.integers(0, 3, size=(100, 2)).astype(float)
    preparation = MixedPreparation.of(X, (Column("a", tuple("xyz")), Column("b", tuple("xyz"))))
    assert preparation.share == 1.0


def test_the_weight_of_text_falls_with_the_distance_of_neighbours():
    # With more objects neighbours are nearer: a fixed weight would split them by category.
    shares = []
    for n in (100, 1000, 10_000):
        rng = np.random.default_rng(2)
        X = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 2, n)])
        shares.append(MixedPreparation.of(X, (*map(Column, "ab"), Column("c", ("x", "y")))).share)
    assert shares[0] > 3 * shares[1] > 9 * shares[2] > 0


def test_copies_leave_a_weight_for_text():
    X = np.repeat([[0.0, 0], [1.0, 0], [2.0, 1], [5.0, 1], [9.0, 0], [7.5, 1]], 40, axis=0)
    X = np.column_stack([np.random.default_rng(0).permutation(X[:, 0]), X[:, 1]])
    wide = np.column_stack([np.repeat(np.arange(24.0), 10), X])
    columns = (*map(Column, "ab"), Column("c", ("x", "y")))
    assert 0 < MixedPreparation.of(wide, columns).share <= 1


def test_the_share_of_many_objects_does_not_depend_on_their_order():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(size=(2500, 2)), rng.integers(0, 2, 2500)])
    columns = (Column("a"), Column("b"), Column("c", ("x", "y")))
    order = rng.permutation(2500)
    shares = [MixedPreparation.of(rows, columns).share for rows in (X, X[order])]
    assert shares[0] == shares[1]


def test_text_that_differs_everywhere_is_left_out_with_a_warning():
    X = np.column_stack([np.arange(30.0), np.arange(30.0)])
    columns = (Column("x"), Column("name", tuple(map(str, range(30)))))
    with pytest.warns(UserWarning, match="'name' differs between all objects"):
        preparation = MixedPreparation.of(X, columns)
    assert preparation.distance.weights[1] == 0


def test_equal_columns_of_everything_give_equal_objects():
    X = np.ones((10, 2))
    assert (prepared_distances(X, (Column("a"), Column("b", ("x",)))) == 0).all()


def test_single_precision_stays():
    X = np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32)
    preparation = MixedPreparation.of(X, (Column("a"), Column("b")))
    assert preparation.apply(X).dtype == np.float32
    assert MixedTable.of(X).values.dtype == np.float32
