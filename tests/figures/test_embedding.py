"""Where objects lie."""

from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA

from soffit import CompletelyPositive, SoftClustering
from soffit.datasets import make_gaussians
from soffit.figures import embedding
from soffit.figures.embedding import principal_components
from soffit.figures.layouts import first_layout, layouts, telling_layout
from soffit.results.summary import Summary


def half_and_half(n):
    return np.repeat(np.eye(2), [n // 2, n - n // 2], axis=0)


def test_two_columns_are_their_own_map():
    X = np.random.default_rng(17).normal(size=(10, 2))
    np.testing.assert_array_equal(embedding(half_and_half(10), X), X)


def test_names_of_two_columns_are_the_axes():
    frame = pl.DataFrame({"height <cm>": [1.0, 2.0], "weight": [3.0, 5.0]})
    placed = first_layout(Summary.of(half_and_half(2), frame))
    assert placed.axes == ("height <cm>", "weight")
    np.testing.assert_array_equal(placed.points, [[1, 3], [2, 5]])


@pytest.mark.parametrize("width", [3, 30, 450])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_principal_components(width, storage):
    rng = np.random.default_rng(19)
    X = rng.normal(size=(80, width)) * np.r_[9.0, 5.0, np.ones(width - 2)] + 3.0
    found = principal_components(storage(X))
    expected = PCA(2, svd_solver="full").fit_transform(X)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(1, 3), (2, 3), (2, 450), (3, 3)])
def test_few_objects_keep_their_distances(shape, storage):
    X = np.random.default_rng(29).normal(size=shape) + 1e6
    points = principal_components(storage(X))
    np.testing.assert_allclose(pdist(points), pdist(X), rtol=1e-6)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_equal_objects_lie_on_one_point(storage):
    assert not principal_components(storage(np.full((5, 4), 2.0))).any()


def test_a_line_has_no_second_component():
    X = np.outer(np.arange(6.0), [1.0, 2.0, 2.0])
    points = embedding(half_and_half(6), X)
    np.testing.assert_allclose(np.diff(points[:, 0]), 3.0)
    assert not points[:, 1].any()


def test_one_column_is_spread_out():
    X = np.arange(10.0)[:, None]
    points = embedding(half_and_half(10), X)
    np.testing.assert_array_equal(points[:, 0], X[:, 0])
    assert len(np.unique(points[:, 1])) == 10


def test_the_model_s_standardization_is_used():
    rng = np.random.default_rng(23)
    X = rng.normal(size=(60, 3))
    X[:30] += 6.0
    X[:, 2] *= 1000.0
    model = SoftClustering(2, standardize=True, random_state=3).fit(X)
    expected = PCA(2).fit_transform((X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_allclose(np.abs(embedding(model, X)), np.abs(expected), atol=1e-8)


def test_a_graph_is_placed_by_its_links():
    graph = nx.disjoint_union(nx.complete_graph(12), nx.complete_graph(9))
    graph.add_edge(0, 12)
    model = SoftClustering(2, random_state=5).fit(graph)
    points = embedding(model, graph)
    assert points.shape == (21, 2)
    first, second = points[:12], points[12:]
    gap = np.linalg.norm(first.mean(axis=0) - second.mean(axis=0))
    assert gap > 2 * max(first.std(), second.std())
    np.testing.assert_array_equal(points, embedding(model))


def test_a_precomputed_matrix_is_no_table(table):
    X = table[0][:40]
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    model = CompletelyPositive(3, metric="precomputed", random_state=7).fit(distances)
    placed = first_layout(Summary.of(model, distances))
    assert placed.axes is None
    assert placed.points.shape == (40, 2)
    assert np.isfinite(placed.points).all()


def test_memberships_alone_put_objects_between_their_clusters():
    rows = np.array([[1.0, 0, 0]] * 20 + [[0, 1.0, 0]] * 20 + [[0, 0, 1.0]] * 20 + [[0.5, 0.5, 0]])
    points = embedding(rows)
    middles = [points[20 * c : 20 * c + 20].mean(axis=0) for c in range(3)]
    between = (middles[0] + middles[1]) / 2
    gap = np.linalg.norm(middles[0] - middles[1])
    assert np.linalg.norm(points[60] - between) < 0.4 * gap
    # Equal memberships do not hide one another.
    assert len(np.unique(points.round(9), axis=0)) == 61


def test_one_cluster_and_one_object():
    assert embedding(np.ones((1, 1))).shape == (1, 2)


def test_missing_values_are_refused():
    with pytest.raises(ValueError, match="missing or infinite"):
        embedding(half_and_half(2), [[1.0, np.nan], [2.0, 3.0]])


def test_a_table_of_other_objects_is_refused():
    with pytest.raises(ValueError, match="X has 3 rows, but there are memberships of 4 objects"):
        embedding(half_and_half(4), np.ones((3, 2)))


@pytest.mark.parametrize("n_columns", [2, 30])
def test_the_layout_of_the_app_is_the_first_of_the_report(n_columns):
    X = make_gaussians(150, n_clusters=3, n_features=n_columns, separation=6.0, random_state=7).X
    summary = Summary.of(SoftClustering(3, random_state=7).fit(X), X)
    first = layouts(summary)[0]
    same = telling_layout(summary)
    assert same.name == first.name == ("Columns" if n_columns == 2 else "Graph")
    np.testing.assert_array_equal(same.points, first.points)


def test_names_of_an_axis_fit_along_the_map():
    rng = np.random.default_rng(5)
    X = np.repeat(rng.normal(size=(60, 1)), 3, axis=1) + 0.1 * rng.normal(size=(60, 3))
    frame = pl.DataFrame(X, schema=[f"a rather long column {i}" for i in range(3)])
    summary = Summary.of(SoftClustering(2, random_state=5).fit(frame), frame)
    title = first_layout(summary).axes[0]
    assert title.count("a rather long column") == 1
    short = pl.DataFrame(X, schema=["length", "width", "height"])
    summary = Summary.of(SoftClustering(2, random_state=5).fit(short), short)
    assert first_layout(summary).axes[0].count(" and ") == 1
