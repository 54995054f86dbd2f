"""The benchmark of everyday data: what the methods get, and how they are scored."""

from __future__ import annotations

from dataclasses import replace

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from benchmarks import everyday
from benchmarks._everyday_sets import SETS, EverydaySet

IRIS = next(chosen for chosen in SETS if chosen.name == "iris")


def _set(kind: str) -> EverydaySet:
    return replace(IRIS, kind=kind)


def test_there_are_at_least_30_sets_of_both_groups_with_distinct_names():
    assert len({chosen.name for chosen in SETS}) == len(SETS) >= 30
    assert {chosen.group for chosen in SETS} == {"development", "left out"}
    assert all(chosen.answer for chosen in SETS)


def test_gaps_become_medians_and_texts_one_column_per_value():
    frame = pd.DataFrame({"size": [1.0, np.nan, 3.0, 20.0], "colour": ["red", "blue", None, "red"]})
    points = everyday.prepare(_set("mixed"), frame, standardize=False).points
    np.testing.assert_allclose(
        points[:, 0], (np.array([1, 3, 3, 20]) - 6.75) / np.std([1, 3, 3, 20])
    )
    np.testing.assert_array_equal(points[:, 1:], [[1, 0], [0, 1], [0, 0], [1, 0]])


@pytest.mark.parametrize("standardize", [True, False])
def test_all_methods_get_the_table_that_the_option_asks_for(standardize):
    table = np.random.default_rng(3).normal(size=(30, 2)) * [1.0, 5.0]
    points = everyday.prepare(_set("numbers"), table, standardize).points
    spread = points.std(axis=0)
    np.testing.assert_allclose(spread, 1.0 if standardize else table.std(axis=0))


def test_classical_scaling_keeps_distances():
    points = np.random.default_rng(5).normal(size=(7, 3))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    data = everyday.prepare(_set("distances"), distances, standardize="auto")
    again = np.linalg.norm(data.points[:, None] - data.points, axis=2)
    np.testing.assert_allclose(again, distances, atol=1e-9)


def test_a_graph_is_read_by_the_methods_that_read_weights():
    data = everyday.prepare(_set("graph"), nx.karate_club_graph(), standardize="auto")
    scores = {m: everyday.run_method(m, data, 2, None) for m in ("KMeans", "SpectralClustering")}
    assert scores["KMeans"].clusters is None
    assert scores["SpectralClustering"].clusters == 2


def test_a_crash_is_a_score_of_zero_with_the_message(monkeypatch):
    def fail(data, k):
        raise ZeroDivisionError("too small")

    monkeypatch.setitem(everyday.METHODS, "KMeans", fail)
    score = everyday.run_method("KMeans", everyday.prepare(IRIS, IRIS.read().data, "auto"), 3, None)
    assert score.ari == 0.0
    assert score.note == "ZeroDivisionError: too small"


def test_one_set_from_reading_to_the_table(capsys):
    methods = [everyday.GIVEN, "KMeans", "HDBSCAN"]
    (row,) = everyday.rows_of([IRIS], methods, "auto", 1)
    everyday.print_sets([IRIS], {"iris": row}, methods)
    everyday.print_summary([IRIS], {"iris": row}, methods)
    assert row.scores["KMeans"].ari == pytest.approx(0.730, abs=0.001)
    assert row.scores[everyday.GIVEN].clusters == 3
    text = capsys.readouterr().out
    assert "iris  species  150  4  3" in text
    assert "(2)" in text


def test_numbers_of_clusters_within_one_are_close():
    assert IRIS.is_close(2)
    assert not IRIS.is_close(5)
    assert replace(IRIS, usual=(5, 8)).is_close(9)
    assert replace(IRIS, usual=None).is_close(9) is None
