"""The maps that the report and the app offer."""

from __future__ import annotations

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest
from sklearn.datasets import load_wine

from soffit import SoftClustering
from soffit.figures.layouts import layouts
from soffit.io import Source
from soffit.results.summary import Summary


def test_axes_are_named_by_columns_and_their_share_of_the_variance():
    wine = load_wine()
    model = SoftClustering(3, random_state=23).fit(wine.data)
    found = layouts(Summary.of(model, wine.data, columns=wine.feature_names))
    names = [layout.name for layout in found]
    assert names == ["Columns (principal components)", "Graph", "Spectral embedding"]
    first = found[0]
    assert first.axes[0].startswith("PC 1, 36 % of the variance: ")
    assert "flavanoids" in first.axes[0]
    assert "55 % of the variance" in first.reading
    assert 3 <= len(first.arrows) <= 6
    for layout in found:
        assert layout.points.shape == (178, 2)
        assert np.isfinite(layout.points).all()


def test_two_columns_are_drawn_as_they_are():
    X = np.random.default_rng(6).normal(size=(40, 2))
    first = layouts(Summary.of(np.ones((40, 1)), X, columns=["a", "b"]))[0]
    np.testing.assert_array_equal(first.points, X)
    assert first.axes == ("a", "b")
    assert not first.is_metric


def test_columns_that_hide_the_structure_come_second():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(90, 40)) + 3 * np.eye(40)[np.repeat([0, 1, 2], 30)]
    found = layouts(Summary.of(SoftClustering(3, random_state=23).fit(X), X))
    assert found[0].name == "Graph"
    assert found[1].name.startswith("Columns")


def test_linked_nodes_of_a_small_graph_are_near():
    graph = nx.path_graph(12)
    first = layouts(Summary.of(SoftClustering(2, random_state=23).fit(graph)))[0]
    steps = np.linalg.norm(np.diff(first.points, axis=0), axis=1)
    assert steps.max() < 1.5 * steps.min()
    assert np.ptp(first.points[:, 0]) > np.ptp(first.points[:, 1])


def test_parts_of_a_graph_do_not_lie_on_each_other():
    graph = nx.disjoint_union(nx.cycle_graph(8), nx.cycle_graph(8))
    points = layouts(Summary.of(SoftClustering(2, random_state=23).fit(graph)))[0].points
    apart = np.linalg.norm(points[:8, None] - points[8:], axis=2)
    assert apart.min() > 0.5


def test_stored_maps_and_genes_of_annotated_cells():
    rng = np.random.default_rng(13)
    X, umap = rng.normal(size=(30, 4)), rng.normal(size=(30, 2))
    cells = SimpleNamespace(
        obs_names=[f"c{i}" for i in range(30)],
        var_names=list("abcd"),
        obsm={"X_umap": umap, "X_pca": X[:, :3]},
        raw=None,
        X=X,
    )
    source = Source("table", X[:, :3], columns=("PC1", "PC2", "PC3"), origin=cells)
    model = SoftClustering(2, random_state=23).fit(source.data)
    summary = Summary.of(model, source=source)
    assert summary.columns == ("a", "b", "c", "d")
    found = layouts(summary)
    assert found[0].name == "UMAP"
    np.testing.assert_array_equal(found[0].points, umap)


def test_given_positions_come_first_and_are_checked():
    summary = Summary.of(np.eye(4))
    points = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(layouts(summary, points)[0].points, points)
    with pytest.raises(ValueError, match=r"points must have shape \(4, 2\)"):
        layouts(summary, points[:3])
    with pytest.raises(ValueError, match="missing or infinite"):
        layouts(summary, points * np.nan)


def test_equal_objects_are_spread_around_their_place():
    X = np.repeat(np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]]), 20, axis=0)
    first = layouts(Summary.of(np.ones((60, 1)), X))[0]
    assert len(np.unique(first.points, axis=0)) == 60
    assert "spread around their place" in first.reading
