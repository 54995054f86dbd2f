"""Bars, heat map and sizes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from soffit.figures import cluster_sizes, membership_bars, membership_heatmap
from soffit.figures.membership_heatmap import row_starts


def test_bars_hold_the_memberships(memberships):
    figure = membership_bars(memberships, [7, 3])
    rows = np.column_stack([trace.x for trace in figure.data])
    np.testing.assert_allclose(rows, memberships[[7, 3]])
    assert figure.layout.yaxis.ticktext == ("7", "3")
    assert figure.layout.barmode == "stack"


def test_bars_by_name(memberships, hostile):
    ids = [hostile, "b", *(str(i) for i in range(498))]
    figure = membership_bars(memberships, ["b", hostile], ids=ids)
    np.testing.assert_allclose(figure.data[0].x, memberships[[1, 0], 0])
    assert "<script" not in figure.to_json()
    assert "bold</b>" not in figure.to_json()


def test_clusters_without_a_share_have_no_bar():
    figure = membership_bars([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0]], [0])
    assert [trace.name for trace in figure.data] == ["0", "2"]


def test_too_many_bars_are_cut_with_a_note(memberships):
    figure = membership_bars(memberships, range(300))
    assert len(figure.data[0].x) == 100
    assert figure.layout.title.subtitle.text == "100 of 300 selected objects shown"


@pytest.mark.parametrize(
    ("objects", "message"),
    [([], "objects is empty"), ([500], "from 0 to 499"), (["x"], "neither a number nor the name")],
)
def test_unknown_objects_are_refused(memberships, objects, message):
    with pytest.raises(ValueError, match=message):
        membership_bars(memberships, objects)


def test_heat_map_is_sorted_by_cluster_and_certainty(memberships):
    z = membership_heatmap(memberships).data[0].z
    assert z.shape == memberships.shape
    assert (np.diff(z.argmax(axis=1)) >= 0).all()
    for cluster in range(4):
        assert (np.diff(z[z.argmax(axis=1) == cluster].max(axis=1)) <= 0).all()
    np.testing.assert_allclose(np.sort(z.ravel()), np.sort(memberships.ravel()))


def test_heat_map_averages_many_objects():
    rows = np.random.default_rng(41).dirichlet([0.3] * 6, size=20_000)
    figure = membership_heatmap(rows)
    z, (labels, counts) = figure.data[0].z, np.moveaxis(figure.data[0].customdata[:, 0], 1, 0)
    assert 900 < len(z) <= 1000
    assert counts.sum() == 20_000
    np.testing.assert_allclose(counts @ z, rows.sum(axis=0), rtol=1e-4)
    np.testing.assert_array_equal(z.argmax(axis=1), labels)
    assert f"20,000 objects averaged to {len(z)} rows" in figure.layout.title.subtitle.text
    assert len(figure.to_json()) < 1_000_000


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(1, 100))
def test_rows_never_mix_clusters(sizes, most):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    first = row_starts(labels, most)
    assert len(first) <= max(most, len(sizes))
    assert first[0] == 0
    assert (np.diff(first) > 0).all()
    for begin, end in zip(first, np.append(first[1:], len(labels)), strict=True):
        assert len(set(labels[begin:end])) == 1


def test_sizes_by_certainty_and_expectation(memberships):
    figure = cluster_sizes(memberships)
    bands = np.array([trace.y for trace in figure.data[:3]])
    labels, certainty = memberships.argmax(axis=1), memberships.max(axis=1)
    np.testing.assert_array_equal(bands.sum(axis=0), np.bincount(labels))
    np.testing.assert_array_equal(bands[0], np.bincount(labels[certainty >= 0.9], minlength=4))
    np.testing.assert_array_equal(bands[2], np.bincount(labels[certainty < 0.6], minlength=4))
    np.testing.assert_allclose(figure.data[3].y, memberships.sum(axis=0))
    unsure = np.count_nonzero(certainty < 0.6)
    assert f"{unsure} of 500 objects are uncertain" in figure.layout.title.subtitle.text


@pytest.mark.parametrize(
    ("tops", "told"),
    [
        ((0.7, 0.6), "No object is uncertain: every largest membership is 0.6 or more"),
        ((0.55, 0.5), "2 of 2 objects are uncertain (largest membership below 0.6)"),
        ((0.7, 0.5), "1 of 2 objects is uncertain (largest membership below 0.6)"),
    ],
)
def test_sizes_say_how_many_are_uncertain(tops, told):
    figure = cluster_sizes([[top, 1 - top] for top in tops])
    assert told in figure.layout.title.subtitle.text
