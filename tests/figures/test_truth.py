"""Clusters against known classes."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from soffit.figures import calibration, confusion
from soffit.figures.calibration_plot import merged_bins
from soffit.metrics import accuracy, calibration_curve, calibration_error


def test_matched_clusters_lie_on_the_diagonal(resampled, table):
    labels = table[1]
    trace = confusion(labels, resampled).data[0]
    counts = trace.customdata
    assert np.trace(counts) == round(accuracy(labels, resampled.labels_) * len(labels))
    np.testing.assert_array_equal(counts.sum(axis=1), np.bincount(labels))
    np.testing.assert_allclose(trace.z, counts / counts.sum(axis=1, keepdims=True))


def test_names_and_order():
    truth = ["x", "x", "y", "y", "y", "z"]
    figure = confusion(truth, [5, 5, 2, 2, 5, 9])
    assert figure.layout.yaxis.ticktext == ("x", "y", "z")
    assert figure.layout.xaxis.ticktext == ("5", "2", "9")
    assert figure.data[0].customdata.tolist() == [[2, 0, 0], [1, 2, 0], [0, 0, 1]]
    assert "5 of 6 objects (83.3%)" in figure.layout.title.subtitle.text


def test_more_clusters_than_classes_come_last():
    figure = confusion(["a"] * 4 + ["b"] * 3, [0, 0, 1, 2, 3, 3, 3])
    assert figure.layout.xaxis.ticktext[:2] == ("0", "3")
    assert sorted(figure.layout.xaxis.ticktext[2:]) == ["1", "2"]


def test_classes_without_a_cluster_come_last():
    figure = confusion(["a", "b", "b", "c", "c"], [0, 1, 1, 0, 0])
    assert figure.layout.yaxis.ticktext == ("b", "c", "a")
    assert figure.layout.xaxis.ticktext == ("1", "0")


def test_names_of_classes_are_escaped(hostile):
    figure = confusion([hostile, "b"], [0, 1])
    assert "<script" not in figure.to_json()


def test_large_tables_show_the_largest_classes():
    rng = np.random.default_rng(59)
    truth = rng.zipf(1.5, size=4000) % 200
    figure = confusion(truth, truth)
    assert figure.data[0].z.shape == (60, 60)
    assert f"60 of {len(np.unique(truth))} classes" in figure.layout.title.subtitle.text
    assert np.trace(figure.data[0].customdata) > 3000
    with pytest.raises(ValueError, match="not identifiers"):
        confusion(np.arange(5000), np.arange(5000))


def test_different_lengths_are_refused():
    with pytest.raises(ValueError, match="truth describes 2 objects but labels describes 3"):
        confusion([0, 1], [0, 1, 1])


def test_calibration_curve_is_the_metric_s(memberships):
    rng = np.random.default_rng(61)
    truth = np.array([rng.choice(4, p=row) for row in memberships])
    figure = calibration(truth, memberships, n_bins=10)
    curve = calibration_curve(truth, memberships, n_bins=10)
    np.testing.assert_allclose(figure.data[1].x, curve.confidence)
    np.testing.assert_allclose(figure.data[1].y, curve.accuracy)
    np.testing.assert_array_equal(figure.data[2].y, curve.count)
    assert figure.data[0].x == figure.data[0].y == (0, 1)
    error = calibration_error(truth, memberships, n_bins=10)
    assert figure.layout.title.text == f"Calibration error {error:.2f}"


def test_bars_stand_in_the_middle_of_their_bins():
    rows = np.array([[0.75, 0.25], [0.55, 0.45], [1.0, 0.0], [0.9, 0.1]])
    bars = calibration([0, 0, 0, 1], rows, n_bins=5).data[2]
    np.testing.assert_allclose(bars.x, [0.5, 0.7, 0.9])
    assert bars.y.tolist() == [1, 1, 2]


def test_calibration_has_intervals_and_no_bins_of_a_few_objects():
    rng = np.random.default_rng(19)
    certainty = rng.uniform(0.5, 1.0, size=300)
    right = rng.random(300) < certainty
    memberships = np.column_stack([certainty, 1 - certainty])
    truth = np.where(right, "a", "b")
    curve = calibration_curve(truth, memberships)
    found = merged_bins(curve)
    assert found.least >= 10
    assert found.count.sum() == 300
    assert (found.low <= found.accuracy).all()
    assert (found.accuracy <= found.high).all()
    total = (curve.count * curve.accuracy).sum()
    assert (found.count * found.accuracy).sum() == pytest.approx(total)
    # The Wilson interval of 8 of 10: 0.490 to 0.943.
    few = merged_bins(
        SimpleNamespace(confidence=np.array([0.8]), accuracy=np.array([0.8]), count=np.array([10]))
    )
    assert (few.low[0], few.high[0]) == (
        pytest.approx(0.4902, abs=1e-4),
        pytest.approx(0.9433, abs=1e-4),
    )
    figure = calibration(truth, memberships)
    assert len(figure.data[1].error_y.array) == len(found.count)


def test_the_last_bin_joins_its_neighbour_if_it_is_small():
    curve = SimpleNamespace(
        confidence=np.array([0.5, 0.7, 0.9]),
        accuracy=np.array([0.0, 0.5, 1.0]),
        count=np.array([3, 12, 40]),
    )
    found = merged_bins(curve)
    assert found.count.tolist() == [15, 40]
    assert found.accuracy.tolist() == [0.4, 1.0]
    tiny = SimpleNamespace(
        confidence=np.array([0.5, 0.9]), accuracy=np.array([0.0, 1.0]), count=np.array([1, 2])
    )
    assert merged_bins(tiny).count.tolist() == [3]
