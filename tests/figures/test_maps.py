"""Maps of clusters and of uncertainty."""

from __future__ import annotations

import numpy as np
import pytest

from soffit.figures import entropy_map, scatter
from soffit.figures.style import colour, symbol


def test_a_trace_a_cluster(resampled, table):
    X = table[0]
    figure = scatter(resampled, X)
    assert [trace.name for trace in figure.data] == ["0", "1", "2"]
    for cluster, trace in enumerate(figure.data):
        members = np.flatnonzero(resampled.labels_ == cluster)
        shown = np.array(trace.text, dtype=int)
        np.testing.assert_array_equal(np.sort(shown), members)
        np.testing.assert_allclose(trace.x, X[shown, 0], rtol=1e-6)
        np.testing.assert_allclose(trace.y, X[shown, 1], rtol=1e-6)
        assert trace.marker.color == colour(cluster)


def test_opacity_follows_certainty(resampled, table):
    for trace in scatter(resampled, table[0]).data:
        certainty = trace.customdata[:, 0]
        assert (np.diff(certainty) <= 0).all()
        assert (np.diff(trace.marker.opacity) <= 0).all()
        np.testing.assert_allclose(
            trace.marker.opacity, 0.12 + 0.8 * (certainty - 1 / 3) / (2 / 3), atol=1e-6
        )


def test_hover_texts_are_escaped(memberships, hostile):
    ids = [f"{hostile} {i}" for i in range(500)]
    X = np.random.default_rng(3).normal(size=(500, 2))
    for figure in (scatter(memberships, X, ids=ids), entropy_map(memberships, X, ids=ids)):
        assert "<script" not in figure.to_json()
        assert "bold</b>" not in figure.to_json()
        assert "&lt;script&gt;" in figure.data[0].text[0]


def test_many_points_are_thinned_drawn_by_webgl_and_small():
    rng = np.random.default_rng(29)
    n = 120_000
    P = rng.dirichlet([0.2] * 30, size=n)
    figure = scatter(P, rng.normal(size=(n, 2)))
    assert {trace.type for trace in figure.data} == {"scattergl"}
    assert sum(len(trace.x) for trace in figure.data) == 20_000
    assert "20,000 of 120,000 objects shown" in figure.layout.title.subtitle.text
    shares = np.bincount(P.argmax(axis=1)) / n
    shown = np.array([len(trace.x) for trace in figure.data]) / 20_000
    np.testing.assert_allclose(shown, shares, atol=2e-4)
    assert len(figure.to_json()) < 2_000_000
    assert figure.data[12].marker.symbol == symbol(12) != figure.data[2].marker.symbol


def test_few_points_are_drawn_as_vectors(memberships):
    figure = scatter(memberships)
    assert {trace.type for trace in figure.data} == {"scatter"}
    notes = figure.layout.title.subtitle.text
    assert notes == "faint points are uncertain · positions from memberships"


def test_numbers_stand_on_the_clusters(memberships):
    figure = scatter(memberships)
    assert [note.text for note in figure.layout.annotations] == [f"<b>{c}</b>" for c in range(4)]


def test_clusters_without_objects_are_left_out():
    figure = scatter(np.array([[0.9, 0.0, 0.1], [0.2, 0.0, 0.8]]))
    assert [trace.name for trace in figure.data] == ["0", "2"]


def test_axes_are_named_by_columns_or_by_the_caller(memberships):
    import polars as pl

    rng = np.random.default_rng(31)
    frame = pl.DataFrame({"<i>a</i>": rng.normal(size=500), "b": rng.normal(size=500)})
    figure = scatter(memberships, frame)
    assert figure.layout.xaxis.title.text == "&lt;i&gt;a&lt;/i&gt;"
    figure = scatter(memberships, frame, axes=("u", "v"))
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.title.text) == ("u", "v")
    assert scatter(memberships).layout.xaxis.showticklabels is False


def test_uncertainty_and_its_parts(resampled, table):
    figure = entropy_map(resampled, table[0])
    assert len(figure.data) == 3
    order = np.argsort(resampled.entropy_, kind="stable")
    parts = (resampled.entropy_, resampled.overlap_, resampled.instability_)
    for trace, values in zip(figure.data, parts, strict=True):
        np.testing.assert_allclose(trace.marker.color, values[order], atol=1e-6)
        assert trace.marker.coloraxis == "coloraxis"
    whole, overlap, instability = (trace.marker.color for trace in figure.data)
    np.testing.assert_allclose(overlap + instability, whole, atol=1e-5)
    assert figure.layout.coloraxis.cmin == 0
    assert figure.layout.coloraxis.cmax == pytest.approx(resampled.entropy_.max())


def test_uncertainty_without_parts_is_one_panel(memberships):
    figure = entropy_map(memberships)
    assert len(figure.data) == 1
    assert (np.diff(figure.data[0].marker.color) >= 0).all()


def test_panels_share_the_points(resampled, table):
    figure = entropy_map(resampled, table[0], max_points=60)
    assert [len(trace.x) for trace in figure.data] == [20, 20, 20]
    assert "20 of 90 objects shown" in figure.layout.title.subtitle.text


def test_inputs_are_left_as_they_are(memberships):
    X = np.random.default_rng(37).normal(size=(500, 5))
    before = memberships.copy(), X.copy()
    memberships.flags.writeable = X.flags.writeable = False
    scatter(memberships, X)
    entropy_map(memberships, X)
    np.testing.assert_array_equal(memberships, before[0])
    np.testing.assert_array_equal(X, before[1])
