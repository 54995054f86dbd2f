"""Which columns separate the clusters, and in which order they stand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from soffit import SoftClustering
from soffit.results.profiles import (
    Profile,
    column_groups,
    separating_groups,
    separation,
    seriated,
)
from soffit.results.summary import Summary


def grouped(n_columns=4, seed=41):
    """Three clusters of 20; column j is high in cluster j, the rest is noise."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(3), 20)
    X = rng.normal(size=(60, n_columns))
    X[np.arange(60), labels] += 8.0
    return X, np.eye(3)[labels]


def test_separation_is_the_share_of_variance_between_clusters():
    X, G = grouped()
    summary = Summary.of(G, X)
    found = separation(summary, column_groups(summary))
    labels = G.argmax(axis=1)
    for j, share in enumerate(found):
        between = sum((X[labels == c, j].mean() - X[:, j].mean()) ** 2 / 3 for c in range(3))
        assert share == pytest.approx(between / X[:, j].var())
    assert found[3] < 0.2
    assert found[:3].min() > 0.8


def test_every_cluster_has_a_say_in_what_is_shown():
    X, G = grouped(n_columns=40)
    # A tiny cluster with a column of its own, which explains little of the variance.
    G = np.column_stack([G, np.zeros(60)])
    G[:3] = [0, 0, 0, 1]
    X[:3, 30] += 9.0
    summary = Summary.of(G, X)
    names = {group.name for group in separating_groups(summary, 8)}
    assert {"column 0", "column 1", "column 2", "column 30"} <= names
    assert len(names) == 8


def test_the_values_of_a_text_column_belong_together():
    frame = pd.DataFrame({"colour": ["red", "blue", "green"] * 20, "size": np.arange(60.0) % 7})
    model = SoftClustering(3, metric="gower", random_state=23).fit(frame)
    summary = Summary.of(model, frame)
    groups = {group.name: group for group in column_groups(summary)}
    assert set(groups) == {"colour", "size"}
    assert set(groups["colour"].values) == {"red", "blue", "green"}
    profile = Profile.of(summary)
    rows = [row for row in profile.rows if row.column == "colour"]
    assert len(rows) == 3
    assert all(text.endswith("%") for row in rows for text in row.means)
    places = [place for place, row in enumerate(profile.rows) if row.column == "colour"]
    assert places == list(range(places[0], places[0] + 3))


def test_clusters_and_columns_that_belong_together_stand_together():
    rng = np.random.default_rng(5)
    # Clusters 0 and 2 are alike, and so are 1 and 3; columns come in two kinds.
    centres = np.array([[0, 5, 0, 5], [5, 0, 5, 0], [0.5, 5, 0.5, 4.5], [5, 0.5, 4.5, 0]])
    labels = np.repeat(np.arange(4), 15)
    X = centres[labels] + rng.normal(scale=0.1, size=(60, 4))
    profile = Profile.of(Summary.of(np.eye(4)[labels], X, columns=list("abcd")))
    assert [sorted(profile.clusters[:2]), sorted(profile.clusters[2:])] in (
        [[0, 2], [1, 3]],
        [[1, 3], [0, 2]],
    )
    names = [row.column for row in profile.rows]
    assert sorted(names[:2]) in (["a", "c"], ["b", "d"])
    # What is high in the first clusters is at the top.
    assert profile.rows[0].levels[0] > 0 > profile.rows[-1].levels[0]


def test_words_are_shown_as_shares_of_objects():
    rng = np.random.default_rng(8)
    labels = np.repeat([0, 1], 40)
    counts = (rng.random((80, 50)) < 0.05).astype(float)
    counts[labels == 1, 7] = 3.0
    counts[np.ix_(np.flatnonzero(labels == 0)[:26], [9])] = 1.0
    summary = Summary.of(np.eye(2)[labels], sp.csr_array(counts))
    profile = Profile.of(summary, most=10)
    assert profile.are_shares
    row = next(row for row in profile.rows if row.column == "column 7")
    assert row.means[profile.clusters.index(1)] == "100 %"
    assert profile.n_shown == 10
    assert profile.n_columns == 50
    # What a cluster has sets it apart, not what it lacks.
    assert summary.apart(1)[0].column == "column 7"
    assert summary.apart(1)[0].values()[0] == "100 %"
    assert [found.column for found in summary.apart(0)] == ["column 9"]


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_an_order_has_every_row_once(n):
    points = np.random.default_rng(3).normal(size=(n, 2))
    assert sorted(seriated(points).tolist()) == list(range(n))
    line = np.arange(n)[:, None].astype(float)
    assert seriated(line).tolist() == list(range(n))


def test_there_is_no_profile_without_columns_or_with_one_cluster():
    assert Profile.of(Summary.of(np.eye(3))) is None
    assert Profile.of(Summary.of(np.ones((5, 1)), np.arange(10.0).reshape(5, 2))) is None
    assert Profile.of(Summary.of(np.eye(4), np.ones((4, 3)))) is None
