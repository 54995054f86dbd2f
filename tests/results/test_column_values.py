"""Clusters that are the values of one or two columns."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.results.differences import telling_columns


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return np.column_stack(
        [rng.normal(size=200), rng.integers(0, 3, 200), rng.integers(0, 2, 200)]
    ).astype(float)


NAMES = ("x", "city", "sex")


def test_one_column(rows):
    assert telling_columns(rows, NAMES, rows[:, 1].astype(int)) == ("city",)
    # A merger of values is determined by them, too.
    assert telling_columns(rows, NAMES, (rows[:, 1] == 2).astype(int)) == ("city",)


def test_two_columns(rows):
    labels = (2 * rows[:, 1] + rows[:, 2]).astype(int)
    assert set(telling_columns(rows, NAMES, labels)) == {"city", "sex"}


def test_a_second_column_that_only_mops_up_is_not_named(rows):
    # As in the biopsy data: the class nearly tells the clusters, a score of ten values the rest.
    rng = np.random.default_rng(1)
    labels = rows[:, 2].astype(int)
    labels[:8] = 1 - labels[:8]
    score = rng.integers(0, 5, 200).astype(float)
    score[:8] = 9
    table = np.column_stack([rows[:, 2], score])
    assert telling_columns(table, ("class", "score"), labels) == ()


def test_a_gap_is_a_value(rows):
    rows[:40, 2] = np.nan
    assert telling_columns(rows, NAMES, np.isnan(rows[:, 2]).astype(int)) == ("sex",)


def test_ordinary_clusters_are_told_by_no_column(rows):
    assert telling_columns(rows, NAMES, (rows[:, 0] > 0).astype(int)) == ()
    labels = rows[:, 1].astype(int)
    labels[::20] = (labels[::20] + 1) % 3
    assert telling_columns(rows, NAMES, labels) == ()


def test_one_cluster_and_a_tiny_one(rows):
    assert telling_columns(rows, NAMES, np.zeros(200, dtype=int)) == ()
    labels = np.zeros(200, dtype=int)
    labels[:2] = 1
    assert telling_columns(rows, NAMES, labels) == ()
