from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
import pytest
from sklearn.exceptions import NotFittedError

from soffit import SoftClustering
from soffit.io import Result, Source
from soffit.report._subject import read_subject


def test_names_come_from_frames_graphs_sources_and_arguments(blobs, fitted):
    X, labels = blobs
    frame = pl.DataFrame({"east": X[:, 0], "north": X[:, 1]})
    subject = read_subject(fitted, X=frame)
    assert subject.columns == ("east", "north")
    assert subject.ids is None
    assert subject.id_of(4) == "4"
    source = Source(
        "table", X, ("u", "v"), np.array([f"n{i}" for i in range(90)]), "plant", labels.astype(str)
    )
    subject = read_subject(fitted, source=source)
    assert (subject.columns, subject.id_of(4), subject.id_name) == (("u", "v"), "n4", "plant")
    assert subject.truth is not None
    subject = read_subject(fitted, source=source, ids=range(100, 190))
    assert subject.id_of(4) == "104"
    graph = nx.relabel_nodes(nx.karate_club_graph(), lambda number: f"member {number}")
    subject = read_subject(SoftClustering(2, random_state=23).fit(graph))
    assert (subject.kind, subject.id_of(0), subject.table) == ("graph", "member 0", None)


def test_a_precomputed_matrix_is_no_table(blobs):
    D = np.linalg.norm(blobs[0][:, None] - blobs[0], axis=2)
    model = SoftClustering(3, metric="precomputed", random_state=23).fit(D)
    assert read_subject(model, X=D).table is None


def test_results_count_objects_unless_they_have_names():
    rows = np.array([[0.9, 0.1], [0.4, 0.6]])
    assert read_subject(Result.from_memberships(rows)).ids is None
    assert read_subject(Result.from_memberships(rows, ids=["a", "b"])).ids == ("a", "b")


def test_missing_labels_are_empty(fitted):
    truth = ["a", None, float("nan"), ""] + ["b"] * 86
    subject = read_subject(fitted, truth=truth)
    assert subject.truth.tolist()[:5] == ["a", "", "", "", "b"]
    assert read_subject(fitted, truth=[None] * 90).truth is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": np.zeros((5, 2))}, "X has 5 rows"),
        ({"X": np.full((90, 2), np.nan)}, "missing or infinite"),
        ({"X": np.zeros((90, 2)), "columns": ["a"]}, "columns has 1 names"),
        ({"ids": ["a"]}, "ids has 1 entries"),
        ({"truth": ["a"]}, "truth has 1 labels"),
    ],
)
def test_what_does_not_fit_is_refused(fitted, options, message):
    with pytest.raises(ValueError, match=message):
        read_subject(fitted, **options)


def test_only_fitted_models_and_results_have_reports():
    with pytest.raises(NotFittedError, match="not fitted yet"):
        read_subject(SoftClustering(3))
    with pytest.raises(TypeError, match="fitted model or a result"):
        read_subject(object())
